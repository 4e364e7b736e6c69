/* model: the live screen as lines of text. Pure: time, size and keys come in, lines and wishes
 * go out; it knows no terminal. */
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
	LINE_HOT, /* source code that made hits */
	LINE_DIM,
};

struct model_line {
	char *text; /* UTF-8, or ASCII only if the model is not utf8; never wider than asked for */
	enum line_style style;
};

/* What the model asks of the system; each may be NULL, and may return NULL where there is nothing.
 * The answers are owned by the caller. */
struct model_eyes {
	void *context;
	char *(*source)(void *context, pid_t pid, const char *path, size_t *len); /* a file as the target sees it */
	char *(*thread_name)(void *context, pid_t pid, pid_t tid);
	char *(*log)(void *context, int fd, size_t *len); /* the end of what was written to fd */
	/* The lines of --list-vars. The first call begins to ask; true once the answer is there (*text is NULL
	 * if it failed). */
	bool (*variables)(void *context, pid_t pid, char **text);
	/* The same for the lines of --list-members of an expression; if that has none, one line that tells why. */
	bool (*members)(void *context, pid_t pid, const char *expr, char **text);
};

/* is_utf8: whether bars and dots may be other characters than ASCII. */
struct model *model_new(bool is_utf8, const struct model_eyes *eyes);
void model_free(struct model *model);

/* The screen is this big. */
void model_size(struct model *model, size_t width, size_t height);

/* Take a sample of the counts at now_ns. A paused model keeps what it shows, until the user asks
 * for something else. */
void model_update(struct model *model, const struct report *report, uint64_t now_ns);

/* Take a key; line: where on the screen, for those of the mouse. What concerns the run is
 * handed up. */
struct frontend_wish model_key(struct model *model, int key, size_t line);

/* Show a message until the next key. */
void model_tell(struct model *model, const char *text);

/* Is it waiting for an answer of its eyes? Then it is to be updated soon. */
bool model_is_waiting(const struct model *model);

/* The run has ended: this is shown until q. */
void model_finish(struct model *model);

/* The screen: as many lines as it is high, owned by the caller (model_lines_free). */
struct model_line *model_draw(struct model *model);
void model_lines_free(struct model_line *lines, size_t height);

/* Where the cursor stands while a line is typed; false: nowhere. */
bool model_cursor(const struct model *model, size_t *line, size_t *column);

#endif
