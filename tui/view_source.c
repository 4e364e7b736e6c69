/* view_source.c owns the source file with the hits of each line beside the code. Where there is no
 * file to show, and when it is asked for again, it lists the instructions. */
#include "model_private.h"

#include <stdlib.h>
#include <string.h>

#define TAB 8

static const struct view_column columns[] = {
	{.shared = &table_columns[COLUMN_HITS]},
	{.shared = &table_columns[COLUMN_SHARE], .importance = 2},
	{.name = "", .importance = 3},
	{.name = "line", .is_number = true, .importance = 1},
	{.name = "code", .is_flexible = true, .is_cut_last = true},
};

static bool is_in_source(const struct model *model, const struct loc *loc)
{
	return loc && loc->line && loc->file && model->source.path && strcmp(loc->file, model->source.path) == 0;
}

/* The hits of the lines of the file; returns the hottest one. */
static size_t lines_count(struct model *model)
{
	struct source *source = &model->source;
	size_t hottest = 1;

	memset(source->hits, 0, (source->n + 1) * sizeof(*source->hits));
	for (size_t i = 0; i < model->n_raw; i++) {
		const struct loc *loc = model->raw[i].loc;

		if (!is_in_source(model, loc) || loc->line > source->n)
			continue;
		source->hits[loc->line - 1] += model->raw[i].hits;
		if (source->hits[loc->line - 1] > source->hits[hottest - 1])
			hottest = loc->line;
	}
	return hottest;
}

/* The file that was asked for, or that of the hottest place; NULL: its line is not known. */
static const char *file_choose(const struct model *model)
{
	const struct row *hottest = NULL;

	if (model->choice != SOURCE_HOTTEST)
		return model->choice == SOURCE_WANTED ? model->wanted : NULL;
	for (size_t i = 0; i < model->n_raw; i++) {
		if (!hottest || model->raw[i].hits > hottest->hits)
			hottest = &model->raw[i];
	}
	return hottest && hottest->loc && hottest->loc->line ? hottest->loc->file : NULL;
}

static void build(struct model *model, const struct report *report)
{
	const char *file;
	size_t hottest;
	bool is_other;

	model->raw = model_rows(model, report, GROUP_LINE, &model->n_raw);
	file = file_choose(model);
	is_other = file && (!model->source.path || strcmp(file, model->source.path) != 0);
	if (file)
		source_open(&model->source, &model->eyes, report->pid, file);
	else
		source_fini(&model->source);
	if (!model->source.bytes || model->is_code) {
		free(model->raw);
		instructions_build(model, report);
		return;
	}
	hottest = lines_count(model);
	model->n_rows = model->source.n;
	if (is_other || !model->source.is_settled)
		model->selected_rank = model->choice == SOURCE_WANTED ? model->wanted_line : hottest;
	model->source.is_settled = true;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
}

/* A line of code with its tabs as blanks. */
static char *code_text(const struct model *model, const char *line)
{
	size_t len, column = 0;
	char *text = NULL, *safe;
	FILE *out = cell_open(&text, &len);

	for (; *line && *line != '\r'; line++) {
		size_t blanks = *line == '\t' ? TAB - column % TAB : 0;

		if (blanks)
			fprintf(out, "%*s", (int)blanks, "");
		else
			fputc(*line, out);
		column += blanks ? blanks : 1;
	}
	cell_close(out);
	safe = cell_safe(text, model->is_utf8);
	free(text);
	return safe;
}

static void code_format(struct model *model, size_t i, struct view_row *out)
{
	uint64_t hits = model->source.hits[i], all = model->watches[model->watch].hits;
	double share = all ? (double)hits / (double)all : 0;
	char *code = code_text(model, model->source.lines[i]);
	char *path = cell_safe(model->source.path, model->is_utf8);

	*out = (struct view_row){.cells = {hits ? model_count(hits, true) : text_copy(""),
					 hits ? text_format("%.1f%%", share * 100) : text_copy(""),
					 cell_bar(share, BAR_WIDTH, model->is_utf8), text_format("%zu", i + 1), code},
		.full = text_format("%s:%zu  %s", path, i + 1, code),
		.line = (unsigned)i + 1,
		.is_hot = hits > 0};
	free(path);
}

static void format(struct model *model, const struct report *report, size_t i, struct view_row *out)
{
	(void)report;
	if (model->source.bytes && !model->is_code)
		code_format(model, i, out);
	else
		instructions_format(model, i, out);
}

const struct view view_source = {
	.action = ACTION_SOURCE,
	.name = "source",
	.columns = columns,
	.n_columns = ARRAY_LEN(columns),
	.build = build,
	.format = format,
};
