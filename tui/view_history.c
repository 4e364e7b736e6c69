/* view_history.c owns the view of the last writes: when, by whom, and what they left in the watched bytes. */
#include "model_private.h"
#include "watchprof/report_values.h"

#include <stdlib.h>

static const struct view_column columns[] = {
	{.name = "time", .is_number = true},
	{.shared = &table_columns[COLUMN_TID], .importance = 3},
	{.name = "value written", .is_flexible = true},
	{.name = "before", .is_flexible = true, .importance = 2},
	{.shared = &table_columns[COLUMN_FUNCTION], .is_flexible = true, .importance = 1},
	{.name = "line", .is_flexible = true, .importance = 4},
};

static const struct value_history *history_of(const struct model *model, const struct report *report)
{
	return report->values ? report->values[model->watch].history : NULL;
}

static void build(struct model *model, const struct report *report)
{
	const struct value_history *history = history_of(model, report);

	model->n_rows = history ? value_history_len(history) : 0;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
}

/* A value as the watch's type has it; "-" where it is not known. */
static char *value_cell(const struct model *model, const struct report_values *values, const struct value *value)
{
	char *text = value->len ? report_value(values, value) : text_copy("-"), *safe = cell_safe(text, model->is_utf8);

	free(text);
	return safe;
}

/* From the start of the run: the last write has its time on both clocks. */
static double seconds_of(const struct report_values *values, const struct value_event *event)
{
	return ((double)values->written_ns - (double)(values->stats.last.time_ns - event->time_ns)) / NS_PER_S;
}

static void format(struct model *model, const struct report *report, size_t i, struct view_row *out)
{
	const struct report_values *values = &report->values[model->watch];
	const struct value_history *history = history_of(model, report);
	const struct value_event *event =
		value_history_event(history, model->is_reversed ? model->n_rows - 1 - i : i);
	const struct loc *loc = profile_find(report->profile, event->image, event->addr);
	char *to = value_cell(model, values, &event->to), *from = value_cell(model, values, &event->from);
	char *function = model_name(model, loc ? loc->function : NULL);
	double seconds = seconds_of(values, event);

	*out = (struct view_row){.cells = {text_format("%.6f", seconds), text_format("%d", event->tid), to, from, function,
					 model_place(model, loc)},
		.full = text_format("%.6f s  thread %d of process %d  %s -> %s  by %s", seconds, event->tid, event->pid, from, to,
			function)};
	model_row_place(out, loc);
}

const struct view view_history = {
	.action = ACTION_VALUES,
	.name = "values",
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.build = build,
	.format = format,
};
