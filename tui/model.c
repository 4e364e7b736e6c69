/* model.c owns what the live screen shows and where the user is in it. It copies what it
 * needs of a report, so that a paused screen stays as it was. */
#include "watchprof/model.h"

#include "watchprof/table.h"
#include "watchprof/util.h"
#include "watchprof/watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define ROWS_MAX	 1000 /* shown of one watch; the report has all */
#define BAR_WIDTH	 10
#define WIDTH_LEAST	 20
#define HEIGHT_LEAST	 5

/* One row as it is shown. */
struct shown {
	uint64_t hits;
	double share;
	char *reads, *writes;
	char *name;  /* function, or the whole path */
	char *place; /* file:line */
	char *module;
};

struct model {
	bool is_utf8, is_paused, is_help, is_paths, is_finished;
	unsigned watch;
	size_t selected, top;
	/* The last sample. */
	char *title, *target, *watch_line, *alert;
	struct shown *rows;
	size_t n_rows;
	unsigned n_watches;
	uint64_t hits[WATCHES_MAX], sample_ns;
	double rate[WATCHES_MAX];
};

struct model *model_new(bool is_utf8)
{
	struct model *model = mem_new(1, sizeof(*model));

	model->is_utf8 = is_utf8;
	return model;
}

static void sample_clear(struct model *model)
{
	for (size_t i = 0; i < model->n_rows; i++) {
		free(model->rows[i].reads);
		free(model->rows[i].writes);
		free(model->rows[i].name);
		free(model->rows[i].place);
		free(model->rows[i].module);
	}
	free(model->rows);
	free(model->title);
	free(model->target);
	free(model->watch_line);
	free(model->alert);
	model->rows = NULL;
	model->n_rows = 0;
	model->title = model->target = model->watch_line = model->alert = NULL;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	sample_clear(model);
	free(model);
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static char *escaped_take(char *text)
{
	char *escaped = text_escaped(text);

	free(text);
	return escaped;
}

static struct shown row_show(const struct model *model, const struct profile *profile, const struct row *row)
{
	static const struct loc nowhere;
	const struct loc *loc = row->loc ? row->loc : &nowhere;
	struct shown shown = {.hits = row->hits, .share = row->share};

	shown.reads = table_cell(COLUMN_READS, row, NULL);
	shown.writes = table_cell(COLUMN_WRITES, row, NULL);
	shown.name = escaped_take(
		model->is_paths ? table_path(profile, row) : table_cell(COLUMN_FUNCTION, row, NULL));
	shown.place = escaped_take(loc->line ? text_format("%s:%u", base_name(loc->file), loc->line)
					     : text_copy("-"));
	shown.module = escaped_take(text_copy(loc->module ? base_name(loc->module) : "-"));
	return shown;
}

static void rows_sample(struct model *model, const struct report *report)
{
	struct query query = {.group = model->is_paths ? GROUP_PATH : GROUP_FUNCTION};
	size_t n;
	struct row *rows = profile_rows(report->profile, &query, &n);

	model->rows = mem_new(n < ROWS_MAX ? n : ROWS_MAX, sizeof(*model->rows));
	for (size_t i = 0; i < n && model->n_rows < ROWS_MAX; i++) {
		if (rows[i].watch == model->watch)
			model->rows[model->n_rows++] = row_show(model, report->profile, &rows[i]);
	}
	free(rows);
}

static void rates_sample(struct model *model, const struct report *report, uint64_t now_ns)
{
	double seconds = model->sample_ns ? (double)(now_ns - model->sample_ns) / NS_PER_S : 0;

	for (unsigned i = 0; i < report->n_watches && i < WATCHES_MAX; i++) {
		uint64_t hits = profile_count(report->profile, i).hits;

		if (seconds > 0 && hits >= model->hits[i])
			model->rate[i] = (double)(hits - model->hits[i]) / seconds;
		model->hits[i] = hits;
	}
	model->sample_ns = now_ns;
}

static void heads_sample(struct model *model, const struct report *report)
{
	const struct report_watch *watch = &report->watches[model->watch];
	char address[REPORT_ADDRESS_LEN];

	model->title = escaped_take(text_format("watchprof: %s (pid %d)", report->command ? report->command : "?",
		report->pid));
	model->target = escaped_take(text_format("%s, engine %s, %" PRIu64 " threads armed, %" PRIu64 " hits, %.0f s",
		report->end, report->engine, report->threads_armed, profile_hits(report->profile),
		(double)report->duration_ns / NS_PER_S));
	model->watch_line = escaped_take(text_format(
		"watch %u of %zu: %s  %s/%" PRIu64 " %s  %" PRIu64 " hits  %.0f/s%s%s", model->watch + 1,
		report->n_watches, watch->text, report_address(watch, address), watch->len, watch->access,
		model->hits[model->watch], model->rate[model->watch],
		strcmp(watch->state, "armed") == 0 ? "" : "  ", strcmp(watch->state, "armed") == 0 ? "" : watch->state));
	if (report->lost || profile_overrun(report->profile))
		model->alert = text_format("LOST %" PRIu64 "  OVERRUN %" PRIu64, report->lost,
			profile_overrun(report->profile));
	else if (report->n_warnings)
		model->alert = text_escaped(report->warnings[report->n_warnings - 1]);
}

void model_update(struct model *model, const struct report *report, uint64_t now_ns)
{
	if (model->is_paused || report->n_watches == 0)
		return;
	model->n_watches = (unsigned)report->n_watches;
	if (model->watch >= model->n_watches)
		model->watch = 0;
	sample_clear(model);
	rates_sample(model, report, now_ns);
	heads_sample(model, report);
	rows_sample(model, report);
	if (model->selected >= model->n_rows)
		model->selected = model->n_rows ? model->n_rows - 1 : 0;
}

void model_finish(struct model *model)
{
	model->is_finished = true;
	model->is_paused = false;
}

static void select_move(struct model *model, long by)
{
	long to = (long)model->selected + by;

	if (to >= (long)model->n_rows)
		to = (long)model->n_rows - 1;
	model->selected = to < 0 ? 0 : (size_t)to;
}

enum frontend_wish model_act(struct model *model, enum action action)
{
	static const struct {
		enum action action;
		long by;
	} moves[] = {
		{ACTION_DOWN, 1},
		{ACTION_UP, -1},
		{ACTION_PAGE_DOWN, 20},
		{ACTION_PAGE_UP, -20},
		{ACTION_FIRST, -ROWS_MAX},
		{ACTION_LAST, ROWS_MAX},
	};

	for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
		if (moves[i].action == action)
			select_move(model, moves[i].by);
	}
	model->is_help = action == ACTION_HELP && !model->is_help;
	if (action == ACTION_NEXT_WATCH && model->n_watches)
		model->watch = (model->watch + 1) % model->n_watches;
	if (action == ACTION_PATHS)
		model->is_paths = !model->is_paths;
	if (action == ACTION_PAUSE)
		model->is_paused = !model->is_paused && !model->is_finished;
	if (action == ACTION_QUIT)
		return FRONTEND_QUIT;
	return action == ACTION_ZERO && !model->is_finished ? FRONTEND_ZERO : FRONTEND_GO_ON;
}

/* The text cut (or not) to width screen columns. */
static char *fit(const char *text, size_t width)
{
	size_t used = 0, columns = 0;

	while (text[used]) {
		size_t len = utf8_sequence(text + used);
		wchar_t wide = 0;
		int cells = 1;

		if (len > 1 && mbtowc(&wide, text + used, len) > 0)
			cells = wcwidth(wide) < 0 ? 1 : wcwidth(wide);
		if (columns + (size_t)cells > width)
			break;
		columns += (size_t)cells;
		used += len ? len : 1;
	}
	return text_format("%.*s", (int)used, text);
}

/* A bar of BAR_WIDTH columns: eighths of blocks, or # where only ASCII may be used. */
static void bar_write(FILE *out, double share, bool is_utf8)
{
	static const char *const blocks[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
	int eighths = (int)(share * BAR_WIDTH * 8 + 0.5);

	for (int i = 0; i < BAR_WIDTH; i++) {
		int fill = eighths - 8 * i;

		fill = fill < 0 ? 0 : fill > 8 ? 8 : fill;
		fputs(is_utf8 ? blocks[fill] : fill >= 4 ? "#" : " ", out);
	}
}

static char *row_line(const struct model *model, size_t i)
{
	const struct shown *row = &model->rows[i];
	char *line = NULL;
	size_t len;
	FILE *out = open_memstream(&line, &len);

	if (!out)
		die("out of memory");
	bar_write(out, row->share, model->is_utf8);
	fprintf(out, " %5.1f%% %10" PRIu64 " %8s %8s  %s", row->share * 100, row->hits, row->reads, row->writes,
		row->name);
	if (!model->is_paths)
		fprintf(out, "  %s  %s", row->place, row->module);
	if (fclose(out) || !line)
		die("out of memory");
	return line;
}

/* Append a line, cut to width, if there is room. */
static void line_put(struct model_line *lines, size_t *n, size_t height, size_t width, const char *text,
	enum line_style style)
{
	if (*n >= height)
		return;
	lines[*n].text = fit(text, width);
	lines[*n].style = style;
	++*n;
}

static void draw_help(struct model_line *lines, size_t *n, size_t width, size_t height)
{
	size_t n_bindings;
	const struct key_binding *bindings = keys_table(&n_bindings);

	line_put(lines, n, height, width, "Keys", LINE_TITLE);
	for (size_t i = 0; i < n_bindings; i++) {
		char *text;

		if (!bindings[i].key_name)
			continue;
		text = text_format("  %-8s %s", bindings[i].key_name, bindings[i].help);
		line_put(lines, n, height, width, text, LINE_PLAIN);
		free(text);
	}
}

static void draw_rows(struct model *model, struct model_line *lines, size_t *n, size_t width, size_t height)
{
	size_t room = height > *n + 1 ? height - *n - 1 : 1; /* the last line is for the keys */

	if (model->selected < model->top)
		model->top = model->selected;
	if (model->selected >= model->top + room)
		model->top = model->selected - room + 1;
	for (size_t i = model->top; i < model->n_rows && i < model->top + room; i++) {
		char *text = row_line(model, i);

		line_put(lines, n, height - 1, width, text, i == model->selected ? LINE_SELECTED : LINE_PLAIN);
		free(text);
	}
}

static void draw_main(struct model *model, struct model_line *lines, size_t *n, size_t width, size_t height)
{
	char *heading = text_format("%-*s %6s %10s %8s %8s  %s", BAR_WIDTH, "", "share", "hits", "reads", "writes",
		model->is_paths ? "call path" : "function");

	line_put(lines, n, height, width, model->title ? model->title : "watchprof", LINE_TITLE);
	line_put(lines, n, height, width, model->target ? model->target : "starting", LINE_PLAIN);
	line_put(lines, n, height, width, model->watch_line ? model->watch_line : "", LINE_PLAIN);
	if (model->alert)
		line_put(lines, n, height, width, model->alert, LINE_ALERT);
	line_put(lines, n, height, width, heading, LINE_HEADING);
	draw_rows(model, lines, n, width, height);
	free(heading);
	while (*n + 1 < height)
		line_put(lines, n, height, width, "", LINE_PLAIN);
	line_put(lines, n, height, width,
		model->is_finished ? "The run has ended. q quit  p paths  Tab watch  ? help"
		: model->is_paused ? "PAUSED (space goes on)  q quit  ? help"
				   : "q quit  p paths  Tab watch  space pause  z zero  ? help",
		model->is_paused ? LINE_ALERT : LINE_HEADING);
}

struct model_line *model_draw(struct model *model, size_t width, size_t height)
{
	struct model_line *lines = mem_new(height, sizeof(*lines));
	size_t n = 0;

	if (width < WIDTH_LEAST || height < HEIGHT_LEAST)
		line_put(lines, &n, height, width, "too small", LINE_ALERT);
	else if (model->is_help)
		draw_help(lines, &n, width, height);
	else
		draw_main(model, lines, &n, width, height);
	while (n < height)
		line_put(lines, &n, height, width, "", LINE_PLAIN);
	return lines;
}

void model_lines_free(struct model_line *lines, size_t height)
{
	for (size_t i = 0; i < height; i++)
		free(lines[i].text);
	free(lines);
}
