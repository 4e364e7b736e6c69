/* view_threads.c owns the list of threads that made hits. */
#include "model_private.h"

#include <stdlib.h>

static const struct view_column columns[] = {
	{.name = "", .importance = 3},
	{.name = "share", .is_number = true, .importance = 1},
	{.name = "hits", .is_number = true},
	{.name = "rate", .is_number = true, .importance = 4},
	{.name = "reads", .is_number = true, .importance = 5},
	{.name = "writes", .is_number = true, .importance = 5},
	{.name = "tid", .is_number = true},
	{.name = "thread", .is_flexible = true, .importance = 2},
};

static uint64_t key(const struct row *row)
{
	return (uint64_t)(uint32_t)row->pid << 32 | (uint32_t)row->tid;
}

static void build(struct model *model, const struct report *report)
{
	model->raw = model_rows(model, report, GROUP_THREAD, &model->n_raw);
	model->n_rows = model->n_raw;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
}

static char *thread_name(const struct model *model, const struct row *row)
{
	char *name = model->eyes.thread_name
		? model->eyes.thread_name(model->eyes.context, row->pid, row->tid)
		: NULL;
	char *safe = cell_safe(name ? name : "[ended]", model->is_utf8);

	free(name);
	return safe;
}

static void format(struct model *model, const struct report *report, size_t i, struct view_row *out)
{
	const struct row *row = &model->raw[i];
	char *name = thread_name(model, row);

	(void)report;
	*out = (struct view_row){
		.cells = {cell_bar(row->share, BAR_WIDTH, model->is_utf8), text_format("%.1f%%", row->share * 100),
			model_count(row->hits, true), model_rate(model, key(row)),
			table_bound(row->reads, row->reads_unknown, row->hits), table_bound(row->writes, row->writes_unknown, row->hits),
			text_format("%d", row->tid), name},
		.full = text_format("thread %d of process %d: %s", row->tid, row->pid, name),
		.raw = row};
}

const struct view view_threads = {
	.action = ACTION_THREADS,
	.name = "threads",
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.build = build,
	.format = format,
	.key = key,
};
