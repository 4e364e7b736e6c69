/* view_tree.c owns the two trees of call paths: from the accesses to their callers, and from
 * where the threads begin down to the accesses. */
#include "model_private.h"

#include <stdlib.h>
#include <string.h>

#define FOLD_SHARE 0.01
#define INDENT_MAX 40 /* deeper nodes stand below each other */

#define NODE_NAME 5 /* of the columns */

static const struct view_column columns[] = {
	{.name = "", .text = column_bar, .importance = 3},
	{.shared = &table_columns[COLUMN_SHARE], .importance = 1},
	{.shared = &table_columns[COLUMN_HITS]},
	{.shared = &table_columns[COLUMN_READS], .importance = 5},
	{.shared = &table_columns[COLUMN_WRITES], .importance = 5},
	[NODE_NAME] = {.name = "call path", .is_flexible = true},
	{.name = "line", .text = column_place, .is_flexible = true, .importance = 6},
	{.shared = &table_columns[COLUMN_MODULE], .is_flexible = true, .importance = 7},
};

/* A node from sample to sample: the functions down to it. */
static uint64_t node_key(const struct model *model, const struct row *node)
{
	uint64_t key = 0;

	for (size_t i = 0; i < node->n_frames; i++) {
		size_t frame = model->view == &view_callees ? node->n_frames - 1 - i : i;
		const char *name = profile_loc(model->report->profile, node->frames[frame])->function;

		name = name ? name : "?";
		key = hash_bytes(key + 1, name, strlen(name));
	}
	return key;
}

/* Unfolded by the user or not; where nothing was said, what is too little to matter is folded. */
static bool node_opens(void *context, const struct row *node)
{
	const struct model *model = context;
	uint64_t key = model->n_folds ? node_key(model, node) : 0;

	for (size_t i = 0; i < model->n_folds; i++) {
		if (model->folds[i].key == key)
			return !model->folds[i].is_folded;
	}
	return !model->is_all_folded &&
		(double)node->hits >= FOLD_SHARE * (double)profile_count(model->report->profile, node->watch).hits;
}

static void tree_build(struct model *model, const struct report *report, bool is_inverted)
{
	struct query query = {.sort = model->sort,
		.filter = model->filter,
		.is_inverted = is_inverted,
		.opens = node_opens,
		.context = model,
		.watches = 1ULL << model->watch};

	model->raw = profile_tree(report->profile, &query, &model->n_raw);
	model->n_rows = model->n_raw;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
}

static bool has_children(const struct model *model, size_t i)
{
	const struct row *row = &model->raw[i];

	return row->is_closed || (i + 1 < model->n_raw && row[1].n_frames > row->n_frames);
}

static void callers_build(struct model *model, const struct report *report)
{
	tree_build(model, report, false);
}

static void callees_build(struct model *model, const struct report *report)
{
	tree_build(model, report, true);
}

static char *node_name(const struct model *model, size_t i)
{
	const struct row *row = &model->raw[i];
	char *name = model_function(model, row), *text;
	const char *end = table_path_end(row);
	int depth = row->n_frames ? row->n_frames - 1 : 0;

	text = text_format("%*s%c %s%s%s", depth < INDENT_MAX ? depth : INDENT_MAX, "",
		!has_children(model, i) ? ' ' : row->is_closed ? '+' : '-',
		name, end ? " < " : "", end ? end : "");
	free(name);
	return text;
}

static void format(struct model *model, const struct report *report, size_t i, struct view_row *out)
{
	const struct row *row = &model->raw[i];

	(void)report;
	*out = (struct view_row){.fold_key = has_children(model, i) ? node_key(model, row) : 0,
		.is_folded = row->is_closed,
		.cells = {[NODE_NAME] = node_name(model, i)},
		.full = model_full(model, row)};
	row_fill(model, row, out);
}

const struct view view_callers = {
	.action = ACTION_CALLERS,
	.name = "callers",
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.build = callers_build,
	.format = format,
};

const struct view view_callees = {
	.action = ACTION_CALLEES,
	.name = "callees",
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.build = callees_build,
	.format = format,
};
