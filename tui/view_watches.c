/* view_watches.c owns the list of all watches side by side. */
#include "model_private.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct view_column columns[] = {
	{.name = "#", .is_number = true, .importance = 6},
	{.shared = &table_columns[COLUMN_WATCH], .is_flexible = true},
	{.name = "access", .importance = 4},
	{.shared = &table_columns[COLUMN_HITS]},
	{.name = "rate", .is_number = true, .importance = 1},
	{.name = "", .importance = 3},
	{.shared = &table_columns[COLUMN_READS], .importance = 5},
	{.shared = &table_columns[COLUMN_WRITES], .importance = 5},
	{.name = "state", .importance = 2},
	{.name = "address", .importance = 7},
	{.name = "object", .is_flexible = true, .importance = 8},
};

static void build(struct model *model, const struct report *report)
{
	(void)report;
	model->n_rows = model->n_watches;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
}

static void format(struct model *model, const struct report *report, size_t i, struct view_row *out)
{
	const struct report_watch *watch = &report->watches[i];
	const struct watch_sample *sample = &model->watches[i];
	char *name = cell_safe(watch->text, model->is_utf8);
	char address[REPORT_ADDRESS_LEN];
	char *object = cell_safe(watch->object ? watch->object : "-", model->is_utf8);

	*out = (struct view_row){
		.cells = {text_format("%zu", i + 1), name, text_copy(watch->access), model_count(sample->hits, true),
			sample->has_rate ? text_format("%.0f/s", sample->rate) : text_copy("-"),
			cell_graph(sample->history, sample->n_history, model->is_utf8),
			NULL, NULL, cell_safe(watch->state, model->is_utf8),
			watch->len ? text_format("%s/%" PRIu64, report_address(watch, address), watch->len) : text_copy("-"), object},
		.full = text_format("%s  %s", name, object),
		.is_hot = i == model->watch};
	row_fill(model, &sample->totals, out); /* reads and writes */
}

const struct view view_watches = {
	.action = ACTION_WATCHES,
	.name = "watches",
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.build = build,
	.format = format,
};
