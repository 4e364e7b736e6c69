/* view_threads.c owns the list of threads that made hits. */
#include "model_private.h"

#include <stdlib.h>

#define THREAD_NAME 7 /* of the columns */

static const struct view_column columns[] = {
	{.name = "", .text = column_bar, .importance = 3},
	{.shared = &table_columns[COLUMN_SHARE], .importance = 1},
	{.shared = &table_columns[COLUMN_HITS]},
	{.name = "rate", .is_number = true, .text = column_rate, .importance = 4},
	{.shared = &table_columns[COLUMN_READS], .importance = 5},
	{.shared = &table_columns[COLUMN_WRITES], .importance = 5},
	{.shared = &table_columns[COLUMN_TID]},
	[THREAD_NAME] = {.name = "thread", .is_flexible = true, .importance = 2},
};

static uint64_t key(const struct row *row)
{
	return (uint64_t)(uint32_t)row->pid << 32 | (uint32_t)row->tid;
}

static void build(struct model *model, const struct report *report)
{
	rows_of_group(model, report, GROUP_THREAD);
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
	*out = (struct view_row){.cells = {[THREAD_NAME] = name},
		.full = text_format("thread %d of process %d: %s", row->tid, row->pid, name)};
	row_fill(model, row, out);
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
