/* view_functions.c owns the histogram of functions. */
#include "model_private.h"

#include <string.h>

static const struct view_column columns[] = {
	{.name = "#", .is_number = true, .importance = 6},
	{.name = "", .text = column_bar, .importance = 3},
	{.shared = &table_columns[COLUMN_SHARE], .importance = 1},
	{.shared = &table_columns[COLUMN_HITS]},
	{.name = "rate", .is_number = true, .text = column_rate, .importance = 4},
	{.shared = &table_columns[COLUMN_READS], .importance = 5},
	{.shared = &table_columns[COLUMN_WRITES], .importance = 5},
	{.shared = &table_columns[COLUMN_FUNCTION], .is_flexible = true},
	{.name = "line", .text = column_place, .is_flexible = true, .importance = 7},
	{.shared = &table_columns[COLUMN_MODULE], .is_flexible = true, .importance = 8},
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
	rows_of_group(model, report, GROUP_FUNCTION);
}

static void format(struct model *model, const struct report *report, size_t i, struct view_row *out)
{
	const struct row *row = &model->raw[i];

	(void)report;
	*out = (struct view_row){.cells = {text_format("%zu", model->is_reversed ? model->n_rows - i : i + 1)},
		.full = model_full(model, row)};
	row_fill(model, row, out);
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
