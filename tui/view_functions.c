/* view_functions.c owns the histogram of functions. */
#include "model_private.h"

#include <string.h>

static const struct view_column columns[] = {
	{.name = "#", .is_number = true, .importance = 6},
	{.name = "", .importance = 3},
	{.name = "share", .is_number = true, .importance = 1},
	{.name = "hits", .is_number = true},
	{.name = "rate", .is_number = true, .importance = 4},
	{.name = "reads", .is_number = true, .importance = 5},
	{.name = "writes", .is_number = true, .importance = 5},
	{.name = "function", .is_flexible = true},
	{.name = "line", .is_flexible = true, .importance = 7},
	{.name = "module", .is_flexible = true, .importance = 8},
};

static uint64_t key(const struct row *row)
{
	const struct loc *of[] = {row->loc, row->blame};
	uint64_t hash = (uint64_t)row->pid;

	for (size_t i = 0; i < ARRAY_LEN(of) && of[i]; i++) {
		if (of[i]->function)
			hash = hash_bytes(hash, of[i]->function, strlen(of[i]->function));
		if (of[i]->unit)
			hash = hash_bytes(hash, of[i]->unit, strlen(of[i]->unit));
	}
	return hash;
}

static void build(struct model *model, const struct report *report)
{
	model->raw = model_rows(model, report, GROUP_FUNCTION, &model->n_raw);
	model->n_rows = model->n_raw;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
}

static void format(struct model *model, const struct report *report, size_t i, struct view_row *out)
{
	const struct row *row = &model->raw[i];

	(void)report;
	*out = (struct view_row){
		.cells = {text_format("%zu", model->is_reversed ? model->n_rows - i : i + 1),
			cell_bar(row->share, BAR_WIDTH, model->is_utf8), text_format("%.1f%%", row->share * 100),
			model_count(row->hits, true), model_rate(model, key(row)),
			table_bound(row->reads, row->reads_unknown, row->hits), table_bound(row->writes, row->writes_unknown, row->hits),
			model_function(model, row), model_place(model, row->loc),
			model_module(model, row->loc)},
		.full = model_full(model, row),
		.raw = row};
	model_row_place(out, row->loc);
}

const struct view view_functions = {
	.action = ACTION_FUNCTIONS,
	.name = "functions",
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.build = build,
	.format = format,
	.key = key,
};
