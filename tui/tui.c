/* tui.c owns the live frontend: it moves keys into the model and its lines to the screen. */
#include "eyes.h"
#include "watchprof/frontend.h"
#include "watchprof/model.h"
#include "watchprof/procfs.h"
#include "watchprof/screen.h"
#include "watchprof/util.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* While the shell has the terminal. */
enum absence {
	ABSENCE_NONE,
	ABSENCE_BEGINS, /* the first process has been asked to stop */
	ABSENCE_LASTS,	/* it has stopped */
};

#define ABSENCE_BEGINS_NS NS_PER_S /* a process without a shell above it does not stop (setpgid(2)) */

struct frontend {
	struct screen *screen;
	struct model *model;
	struct model_eyes eyes;
	uint64_t interval_ns, next_ns;
	bool may_leave;
	enum absence absence;
	uint64_t left_ns;
};

static int tui_open(struct frontend **out, uint64_t interval_ns, bool may_leave, struct err *err)
{
	struct frontend *frontend = mem_new(1, sizeof(*frontend));

	frontend->interval_ns = interval_ns;
	frontend->may_leave = may_leave;
	frontend->screen = screen_open();
	if (!frontend->screen) {
		free(frontend);
		return err_set(err, "the terminal cannot be used for the live screen; --report needs none");
	}
	frontend->eyes = eyes_new();
	frontend->model = model_new(screen_is_utf8(), &frontend->eyes);
	*out = frontend;
	return 0;
}

static void draw(struct frontend *frontend, const struct report *report, uint64_t now_ns)
{
	size_t width, height, line = 0, column = 0;
	struct model_line *lines;
	bool has_cursor;

	screen_size(frontend->screen, &width, &height);
	model_size(frontend->model, width, height);
	model_update(frontend->model, report, now_ns);
	lines = model_draw(frontend->model);
	has_cursor = model_cursor(frontend->model, &line, &column);
	screen_draw(frontend->screen, lines, height, has_cursor, line, column);
	model_lines_free(lines, height);
}

/* The process that the shell knows is the first of the two (guardian.h): that one stops. */
static void leave(struct frontend *frontend)
{
	/* Where this is the only process, the target would stop with it, at its next hit. */
	if (!frontend->may_leave) {
		model_tell(frontend->model, "^Z: watchprof has no second process here, and the target would be stopped with it");
		return;
	}
	screen_leave(frontend->screen);
	frontend->absence = ABSENCE_BEGINS;
	frontend->left_ns = clock_now_ns();
	kill(getppid(), SIGTSTP);
}

/* Does the shell have the terminal, also where somebody else has stopped the first process? */
static bool is_away(struct frontend *frontend, uint64_t now_ns)
{
	struct procfs_status status;
	bool is_stopped = frontend->may_leave && procfs_status(getppid(), &status) && status.state == 'T';

	if (is_stopped)
		frontend->absence = ABSENCE_LASTS;
	else if (frontend->absence == ABSENCE_BEGINS && now_ns - frontend->left_ns < ABSENCE_BEGINS_NS)
		return true;
	if (is_stopped || !screen_is_ours(frontend->screen))
		return true;
	if (frontend->absence != ABSENCE_NONE)
		frontend->next_ns = 0;
	frontend->absence = ABSENCE_NONE;
	return false;
}

/* The keys that were typed, up to one with a wish. *typed tells whether there were any. */
static struct frontend_wish keys_take(struct frontend *frontend, bool *typed)
{
	struct frontend_wish wish = {.kind = WISH_NONE};
	size_t line = 0;
	int key;

	*typed = false;
	while (wish.kind == WISH_NONE) {
		key = screen_key(frontend->screen, &line);
		if (key == KEY_CODE_NONE)
			break;
		if (key == KEY_CODE_GONE)
			return (struct frontend_wish){.kind = WISH_QUIT};
		*typed = true;
		wish = model_key(frontend->model, key, line);
		if (wish.kind == WISH_SUSPEND) {
			leave(frontend);
			wish.kind = WISH_NONE;
			break;
		}
		if (wish.kind == WISH_INTERVAL) {
			frontend->interval_ns = wish.interval_ns;
			wish.kind = WISH_NONE;
		}
	}
	return wish;
}

static struct frontend_wish tui_tick(struct frontend *frontend, const struct report *report, uint64_t now_ns)
{
	bool typed;
	struct frontend_wish wish;

	if (is_away(frontend, now_ns))
		return (struct frontend_wish){.kind = WISH_NONE};
	wish = keys_take(frontend, &typed);
	if (frontend->absence != ABSENCE_NONE)
		return wish;
	if (typed || now_ns >= frontend->next_ns || model_is_waiting(frontend->model)) {
		if (now_ns >= frontend->next_ns)
			frontend->next_ns = now_ns + frontend->interval_ns;
		draw(frontend, report, now_ns);
	}
	if (wish.kind != WISH_NONE)
		frontend->next_ns = 0; /* show what comes of it */
	return wish;
}

static void tui_tell(struct frontend *frontend, const char *text)
{
	model_tell(frontend->model, text);
	frontend->next_ns = 0;
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
	eyes_free(&frontend->eyes);
	free(frontend);
}

const struct frontend_ops frontend_tui = {
	.name = "tui",
	.farewell = screen_farewell,
	.open = tui_open,
	.tick = tui_tick,
	.tell = tui_tell,
	.finish = tui_finish,
	.close = tui_close,
};
