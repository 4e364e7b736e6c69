/* tui.c owns the live frontend: it moves keys into the model and its lines to the screen. */
#include "watchprof/frontend.h"
#include "watchprof/model.h"
#include "watchprof/screen.h"
#include "watchprof/util.h"

#include <stdbool.h>
#include <stdlib.h>

struct frontend {
	struct screen *screen;
	struct model *model;
	uint64_t interval_ns, next_ns;
};

static int tui_open(struct frontend **out, uint64_t interval_ns, struct err *err)
{
	struct frontend *frontend = mem_new(1, sizeof(*frontend));

	frontend->interval_ns = interval_ns;
	frontend->screen = screen_open();
	if (!frontend->screen) {
		free(frontend);
		return err_set(err, "the terminal cannot be used for the live screen; --report needs none");
	}
	frontend->model = model_new(screen_is_utf8());
	*out = frontend;
	return 0;
}

static void draw(struct frontend *frontend)
{
	size_t width, height;
	struct model_line *lines;

	screen_size(frontend->screen, &width, &height);
	lines = model_draw(frontend->model, width, height);
	screen_draw(frontend->screen, lines, height);
	model_lines_free(lines, height);
}

/* All keys that were typed. *typed tells whether there were any. */
static enum frontend_wish keys_take(struct frontend *frontend, bool *typed)
{
	enum frontend_wish wish = FRONTEND_GO_ON;
	int key;

	*typed = false;
	while (wish == FRONTEND_GO_ON) {
		key = screen_key(frontend->screen);
		if (key == KEY_CODE_NONE)
			break;
		if (key == KEY_CODE_GONE)
			return FRONTEND_QUIT;
		*typed = true;
		wish = model_act(frontend->model, keys_action(key));
	}
	return wish;
}

static enum frontend_wish tui_tick(struct frontend *frontend, const struct report *report, uint64_t now_ns)
{
	bool typed;
	enum frontend_wish wish = keys_take(frontend, &typed);

	if (typed || now_ns >= frontend->next_ns) {
		frontend->next_ns = now_ns + frontend->interval_ns;
		model_update(frontend->model, report, now_ns);
		draw(frontend);
	}
	return wish;
}

static void tui_finish(struct frontend *frontend)
{
	model_finish(frontend->model);
	frontend->next_ns = 0;
}

static void tui_close(struct frontend *frontend)
{
	if (!frontend)
		return;
	screen_close(frontend->screen);
	model_free(frontend->model);
	free(frontend);
}

const struct frontend_ops frontend_tui = {
	.name = "tui",
	.open = tui_open,
	.tick = tui_tick,
	.finish = tui_finish,
	.close = tui_close,
};
