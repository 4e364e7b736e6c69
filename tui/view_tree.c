/* view_tree.c owns the two trees of call paths: from the accesses to their callers, and from
 * where the threads begin down to the accesses. */
#include "model_private.h"

#include <stdlib.h>
#include <string.h>

#define INDENT_MAX 40 /* deeper nodes stand below each other */

static const struct view_column columns[] = {
	{.name = "", .importance = 3},
	{.name = "share", .is_number = true, .importance = 1},
	{.name = "hits", .is_number = true},
	{.name = "reads", .is_number = true, .importance = 5},
	{.name = "writes", .is_number = true, .importance = 5},
	{.name = "call path", .is_flexible = true},
	{.name = "line", .is_flexible = true, .importance = 6},
	{.name = "module", .is_flexible = true, .importance = 7},
};

static bool is_folded(const struct model *model, uint64_t key)
{
	for (size_t i = 0; i < model->n_toggled; i++) {
		if (model->toggled[i] == key)
			return !model->is_all_folded;
	}
	return model->is_all_folded;
}

static uint64_t node_key(uint64_t parent, const struct row *row)
{
	const char *name = row->loc && row->loc->function ? row->loc->function : "?";

	return hash_bytes(parent + 1, name, strlen(name));
}

/* Leave out what lies below folded nodes. The rows are in the order of a walk through the tree. */
static void fold(struct model *model)
{
	uint64_t trail[STACK_DEPTH_MAX + 1] = {0};
	size_t kept = 0, folded_depth = SIZE_MAX;

	model->node_keys = mem_new(model->n_raw, sizeof(*model->node_keys));
	model->node_folded = mem_new(model->n_raw, sizeof(*model->node_folded));
	for (size_t i = 0; i < model->n_raw; i++) {
		size_t depth = model->raw[i].n_frames ? model->raw[i].n_frames - 1U : 0;
		bool has_children = i + 1 < model->n_raw && model->raw[i + 1].n_frames > model->raw[i].n_frames;

		if (depth > folded_depth)
			continue;
		folded_depth = SIZE_MAX;
		trail[depth + 1] = node_key(trail[depth], &model->raw[i]);
		if (has_children && is_folded(model, trail[depth + 1]))
			folded_depth = depth;
		model->node_keys[kept] = has_children ? trail[depth + 1] : 0;
		model->node_folded[kept] = folded_depth == depth;
		model->raw[kept++] = model->raw[i];
	}
	model->n_raw = kept;
}

static void tree_build(struct model *model, const struct report *report, bool is_inverted)
{
	struct query query = {.sort = model->sort,
		.filter = model->filter,
		.is_inverted = is_inverted,
		.watches = 1ULL << model->watch};

	model->raw = profile_tree(report->profile, &query, &model->n_raw);
	fold(model);
	model->n_rows = model->n_raw;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
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
		!model->node_keys[i]	 ? ' '
		: model->node_folded[i] ? '+'
					 : '-',
		name, end ? " < " : "", end ? end : "");
	free(name);
	return text;
}

static void format(struct model *model, const struct report *report, size_t i, struct view_row *out)
{
	const struct row *row = &model->raw[i];

	(void)report;
	*out = (struct view_row){.cells = {cell_bar(row->share, BAR_WIDTH, model->is_utf8),
					 text_format("%.1f%%", row->share * 100), model_count(row->hits, true),
					 model_count(row->reads, row->reads_known),
					 model_count(row->writes, row->writes_known), node_name(model, i),
					 model_place(model, row->loc), model_module(model, row->loc)},
		.full = model_full(model, row)};
	model_row_place(out, row->loc);
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
