/* model: the live screen as lines of text. Pure: time and size come in, lines go out; it
 * knows no terminal. */
#ifndef WATCHPROF_MODEL_H
#define WATCHPROF_MODEL_H

#include "watchprof/frontend.h"
#include "watchprof/keys.h"
#include "watchprof/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct model;

enum line_style {
	LINE_PLAIN,
	LINE_TITLE,
	LINE_HEADING,
	LINE_SELECTED,
	LINE_ALERT,
};

struct model_line {
	char *text; /* UTF-8, or ASCII only if the model is not utf8; never wider than asked for */
	enum line_style style;
};

/* utf8: whether bars and dots may be other characters than ASCII. */
struct model *model_new(bool is_utf8);
void model_free(struct model *model);

/* Take a new sample of the counts at now_ns, for rates. A paused model keeps what it shows. */
void model_update(struct model *model, const struct report *report, uint64_t now_ns);

/* Do what a key asks for; what concerns the run is handed up. */
enum frontend_wish model_act(struct model *model, enum action action);

/* The run has ended: this is shown until q. */
void model_finish(struct model *model);

/* The screen of this size: height lines, owned by the caller (model_lines_free). */
struct model_line *model_draw(struct model *model, size_t width, size_t height);
void model_lines_free(struct model_line *lines, size_t height);

#endif
