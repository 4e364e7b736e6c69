/* model.c owns the sample that the live screen shows. It keeps texts, not pointers into the
 * profile, so that a paused screen stays as it was; only rows in sight are made into texts. */
#include "model_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct model *model_new(bool is_utf8, const struct model_eyes *eyes)
{
	struct model *model = mem_new(1, sizeof(*model));

	model->is_utf8 = is_utf8;
	model->view = &view_functions;
	if (eyes)
		model->eyes = *eyes;
	return model;
}

static void row_clear(struct view_row *row)
{
	for (size_t i = 0; i < CELLS_MAX; i++)
		free(row->cells[i]);
	free(row->full);
	free(row->file);
}

static void rows_clear(struct model *model)
{
	for (size_t i = 0; i < model->n_rows; i++) {
		if (model->rows[i].cells[0])
			row_clear(&model->rows[i]);
	}
	free(model->rows);
	model->rows = NULL;
	model->n_rows = 0;
}

void model_free(struct model *model)
{
	if (!model)
		return;
	rows_clear(model);
	header_clear(model);
	pager_clear(&model->pager);
	rates_fini(&model->rates);
	source_fini(&model->source);
	instructions_fini(&model->instructions);
	picker_fini(&model->picker);
	for (size_t i = 0; i < WATCHES_MAX; i++)
		free(model->watch_texts[i]);
	free(model->filter);
	free(model->search);
	free(model->wanted);
	free(model->folds);
	free(model->wish_text);
	free(model->message);
	free(model);
}

void model_size(struct model *model, size_t width, size_t height)
{
	bool is_other = width != model->width;

	model->width = width;
	model->height = height;
	/* Their lines are as long as the screen is wide. */
	if (is_other && model->pager.page == PAGE_HELP)
		page_help(model);
	if (is_other && model->pager.page == PAGE_DETAILS) {
		pager_clear(&model->pager);
		model->is_stale = true;
	}
}

void model_tell(struct model *model, const char *text)
{
	free(model->message);
	model->message = cell_safe(text, model->is_utf8);
}

const char *path_base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static void rows_reverse(const struct model *model, struct row *rows, size_t n)
{
	for (size_t i = 0; model->is_reversed && i < n / 2; i++) {
		struct row row = rows[i];

		rows[i] = rows[n - 1 - i];
		rows[n - 1 - i] = row;
	}
}

struct row *model_rows(const struct model *model, const struct report *report, enum group group, size_t *n)
{
	struct query query = {.group = group,
		.sort = model->sort,
		.by_process = report->is_followed,
		.filter = model->filter,
		.watches = 1ULL << model->watch};
	struct row *rows = profile_rows(report->profile, &query, n);

	rows_reverse(model, rows, *n);
	return rows;
}

void rows_of_group(struct model *model, const struct report *report, enum group group)
{
	model->raw = model_rows(model, report, group, &model->n_raw);
	model->n_rows = model->n_raw;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
}

char *model_count(uint64_t count, bool is_known)
{
	return is_known ? text_format("%" PRIu64, count) : text_copy("-");
}

char *model_name(const struct model *model, const char *name)
{
	return cell_safe(name && *name ? name : "-", model->is_utf8);
}

char *model_function(const struct model *model, const struct row *row)
{
	char *name = table_cell(COLUMN_FUNCTION, row, NULL), *safe = cell_safe(name, model->is_utf8);

	free(name);
	return safe;
}

char *model_place(const struct model *model, const struct loc *loc)
{
	char *place, *safe;

	if (!loc || !loc->line)
		return text_copy("-");
	place = text_format("%s:%u", path_base(loc->file), loc->line);
	safe = cell_safe(place, model->is_utf8);
	free(place);
	return safe;
}

char *model_module(const struct model *model, const struct loc *loc)
{
	return model_name(model, loc ? path_base(loc->module) : NULL);
}

char *model_full(const struct model *model, const struct row *row)
{
	static const struct loc nowhere;
	const struct loc *loc = row->loc ? row->loc : &nowhere;
	bool is_blamed = row->blame && row->blame != row->loc && row->blame->function;
	char *text = text_format("%s%s%s  %s:%u  %s", loc->function ? loc->function : "?", is_blamed ? "  for " : "",
		is_blamed ? row->blame->function : "", loc->file ? loc->file : "?", loc->line,
		loc->module ? loc->module : "?");
	char *safe = cell_safe(text, model->is_utf8);

	free(text);
	return safe;
}

void model_row_place(struct view_row *out, const struct loc *loc)
{
	if (loc) {
		out->addr = loc->addr;
		out->image = profile_image(loc);
	}
	if (!loc || !loc->line || !loc->file)
		return;
	out->file = text_copy(loc->file);
	out->line = loc->line;
}

static void row_make(struct model *model, size_t i)
{
	if (!model->rows[i].cells[0])
		model->view->format(model, model->report, i, &model->rows[i]);
}

/* Go to the next row with the text that is searched for, round the end. */
static void search_run(struct model *model)
{
	model->is_search_due = false;
	for (size_t n = 1; model->search && *model->search && n <= model->n_rows; n++) {
		size_t i = (model->selected + n) % model->n_rows;

		if (model->report)
			row_make(model, i);
		if (model->rows[i].full && strcasestr(model->rows[i].full, model->search)) {
			model->selected = i;
			return;
		}
	}
	if (model->search && *model->search)
		model_tell(model, "not found");
}

static void window_settle(struct model *model)
{
	size_t first, room = model_room(model, &first);

	if (model->selected >= model->n_rows)
		model->selected = model->n_rows ? model->n_rows - 1 : 0;
	if (model->selected < model->top)
		model->top = model->selected;
	if (model->selected >= model->top + room)
		model->top = model->selected - room + 1;
	if (model->top + room > model->n_rows)
		model->top = model->n_rows > room ? model->n_rows - room : 0;
}

/* What may be seen before the next sample: all of it, where there will be none. */
static void rows_make(struct model *model)
{
	size_t begin = model->is_paused ? 0 : model->top;
	size_t end = model->is_paused ? model->n_rows : model->top + model->height;

	for (size_t i = begin; i < end && i < model->n_rows; i++)
		row_make(model, i);
}

static void view_sample(struct model *model)
{
	model->n_raw = 0;
	rows_clear(model);
	model->view->build(model, model->report);
	if (model->view->key && (!model->rates.time_ns || model->now_ns - model->rates.time_ns >= RATE_NS))
		rates_sample(&model->rates, model->raw, model->n_raw, model->view->key, model->now_ns);
	if (model->selected_rank) {
		model->selected = model->selected_rank - 1;
		model->top = model->selected > model->height / 3 ? model->selected - model->height / 3 : 0;
	}
	model->selected_rank = 0;
	window_settle(model);
	if (model->is_search_due)
		search_run(model);
	window_settle(model);
	rows_make(model);
}

/* What the keys are about: the texts of the watches. */
static void texts_sample(struct model *model, const struct report *report)
{
	for (unsigned i = 0; i < model->n_watches; i++) {
		if (model->watch_texts[i] && strcmp(model->watch_texts[i], report->watches[i].text) == 0)
			continue;
		free(model->watch_texts[i]);
		model->watch_texts[i] = text_copy(report->watches[i].text);
	}
}

static void sample(struct model *model, const struct report *report)
{
	model->is_stale = false;
	model->has_sample = true;
	model->report = report;
	if (model->is_newest_due && report->n_watches > model->n_watches && model->n_watches) {
		model->watch = (unsigned)report->n_watches - 1;
		model->selected = model->top = 0;
		model->is_newest_due = false;
		rates_fini(&model->rates);
	}
	model->n_watches = (unsigned)(report->n_watches < WATCHES_MAX ? report->n_watches : WATCHES_MAX);
	if (model->watch >= model->n_watches)
		model->watch = 0;
	model->is_traced = report->is_traced;
	model->is_tracing = report->is_tracing;
	texts_sample(model, report);
	header_sample(model, report, model->now_ns);
	if (model->n_watches)
		view_sample(model);
	if (model->pager.page == PAGE_DETAILS && model->pager.n == 0)
		page_details(model, report);
	free(model->raw);
	model->raw = NULL;
	model->report = NULL;
}

void model_update(struct model *model, const struct report *report, uint64_t now_ns)
{
	model->now_ns = now_ns;
	if (model->is_paused && !model->is_stale) {
		if (model->is_search_due)
			search_run(model);
		window_settle(model);
	} else {
		sample(model, report);
	}
	if (report->n_watches == 0 && !model->was_picked)
		model_act(model, ACTION_ADD, 0);
	model->was_picked = true;
	if (model->pager.page == PAGE_LOG)
		page_log(model, report);
	if (model->pager.page == PAGE_PICKER)
		picker_update(model, report);
}

bool model_is_waiting(const struct model *model)
{
	return model->pager.page == PAGE_PICKER &&
		(!model->picker.is_there || !branches_are_there(&model->picker.branches));
}

void model_finish(struct model *model)
{
	model->is_finished = true;
	model->is_paused = false;
}
