/* view_values.c owns the view of what the watched bytes held: the values written most often, and how
 * the watch stands. */
#include "model_private.h"
#include "watchprof/report_values.h"

#include <stdlib.h>

static const struct view_column columns[] = {
	{.name = "#", .is_number = true, .importance = 6},
	{.name = "", .importance = 3},
	{.shared = &table_columns[COLUMN_SHARE], .importance = 1},
	{.shared = &table_columns[COLUMN_WRITES]},
	{.name = "value written", .is_flexible = true},
};

static const struct report_values *values_of(const struct model *model, const struct report *report)
{
	const struct report_values *values = report->values ? &report->values[model->watch] : NULL;

	return values && values->is_known ? values : NULL;
}

/* A row for each value, one for all others together, and then what else is known. */
static void build(struct model *model, const struct report *report)
{
	const struct report_values *values = values_of(model, report);

	model->n_rows = values ? values->stats.n_top + (values->stats.others > 0) : 0;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
}

static char *top_text(const struct report_values *values, size_t i)
{
	return i < values->stats.n_top ? report_value(values, &values->stats.top[i].value) : text_copy("[others]");
}

static void format(struct model *model, const struct report *report, size_t i, struct view_row *out)
{
	const struct report_values *values = values_of(model, report);
	const struct value_stats *stats = &values->stats;
	uint64_t writes = i < stats->n_top ? stats->top[i].writes : stats->others;
	double share = stats->writes ? (double)writes / (double)stats->writes : 0;
	char *text = top_text(values, i), *safe = cell_safe(text, model->is_utf8);

	*out = (struct view_row){.cells = {text_format("%zu", i + 1), cell_bar(share, BAR_WIDTH, model->is_utf8),
					 text_format("%.1f%%", share * 100), model_count(writes, true), safe},
		.full = text_copy(safe)};
	free(text);
}

const struct view view_values = {
	.action = ACTION_VALUES,
	.name = "values",
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.build = build,
	.format = format,
};
