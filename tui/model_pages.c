/* model_pages.c owns the pages of text that stand in place of a view: help, all about a row, what
 * a launched program has written. */
#include "model_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PATHS_SHOWN 20

void pager_clear(struct pager *pager)
{
	for (size_t i = 0; i < pager->n; i++)
		free(pager->lines[i]);
	free(pager->lines);
	*pager = (struct pager){.page = pager->page, .top = pager->top};
}

void pager_add(struct pager *pager, char *line)
{
	pager->lines = mem_resize(pager->lines, pager->n + 1, sizeof(*pager->lines));
	pager->lines[pager->n++] = line;
}

/* A text of any length over as many lines as it needs, none of it cut; taken. */
static void wrap(struct model *model, const char *label, char *text)
{
	char *safe = cell_safe(text, model->is_utf8);
	size_t width = model->width > WIDTH_LEAST ? model->width - 14 : WIDTH_LEAST, total = cell_width(safe);

	for (size_t from = 0; from == 0 || from < total; from += width) {
		char *part = cell_part(safe, from, width);

		pager_add(&model->pager, text_format("  %-11s %s", from ? "" : label, part));
		free(part);
	}
	free(safe);
	free(text);
}

void page_help(struct model *model)
{
	size_t n;
	const struct key_binding *bindings = keys_table(&n);

	pager_clear(&model->pager);
	pager_add(&model->pager, text_copy("Keys"));
	for (size_t i = 0; i < n; i++) {
		if (bindings[i].key_name)
			wrap(model, bindings[i].key_name, text_copy(bindings[i].help));
	}
}

static bool is_same_function(const struct loc *a, const struct loc *b)
{
	return a == b || (a && b && a->function && b->function && strcmp(a->function, b->function) == 0);
}

/* The hottest call paths that begin as the row does. */
static void paths_add(struct model *model, const struct report *report, const struct row *row)
{
	size_t n, shown = 0;
	struct row *paths = model_rows(model, report, GROUP_PATH, &n);

	pager_add(&model->pager, text_copy("Call paths"));
	for (size_t i = 0; i < n && shown < PATHS_SHOWN; i++) {
		char *hits;

		if (!is_same_function(paths[i].loc, row->loc))
			continue;
		hits = text_format("%" PRIu64, paths[i].hits);
		wrap(model, hits, table_path(report->profile, &paths[i]));
		free(hits);
		shown++;
	}
	free(paths);
}

static void row_add(struct model *model, const struct report *report, const struct row *row)
{
	const struct loc *loc = row->loc;

	wrap(model, "watch", text_copy(report->watches[model->watch].text));
	if (loc) {
		wrap(model, "function", text_copy(loc->function ? loc->function : "?"));
		wrap(model, "source", loc->line ? text_format("%s:%u", loc->file, loc->line) : text_copy("-"));
		wrap(model, "module", text_copy(loc->module ? loc->module : "?"));
		wrap(model, "address", text_format("0x%" PRIx64, loc->addr));
	}
	if (row->blame && row->blame != loc)
		wrap(model, "on behalf of", text_copy(row->blame->function ? row->blame->function : "?"));
	wrap(model, "hits", text_format("%" PRIu64 ", %.1f%% of those of the watch", row->hits, row->share * 100));
	wrap(model, "reads", table_bound(row->reads, row->reads_unknown, row->hits));
	wrap(model, "writes", table_bound(row->writes, row->writes_unknown, row->hits));
	if (loc)
		paths_add(model, report, row);
}

void page_details(struct model *model, const struct report *report)
{
	pager_add(&model->pager, text_copy("Details"));
	if (model->selected >= model->n_rows) {
		wrap(model, "", text_copy("there is no row"));
		return;
	}
	wrap(model, "row", text_copy(model->rows[model->selected].full ? model->rows[model->selected].full : ""));
	if (model->rows[model->selected].raw)
		row_add(model, report, model->rows[model->selected].raw);
}

void page_log(struct model *model, const struct report *report)
{
	size_t len = 0;
	char *bytes = NULL;

	bool is_at_end = model->pager.top + model->height > model->pager.n;

	pager_clear(&model->pager);
	pager_add(&model->pager, text_copy("Output of the program"));
	if (!report->output_fd)
		wrap(model, "", text_copy("the program was not launched by watchprof, or has its output elsewhere"));
	else
		wrap(model, "", text_copy("(a program that needs the terminal: run it in another one, and watchprof -p PID here)"));
	if (report->output_fd && model->eyes.log)
		bytes = model->eyes.log(model->eyes.context, *report->output_fd, &len);
	for (char *at = bytes, *end = bytes ? bytes + len : NULL; bytes && at < end;) {
		char *stop = memchr(at, '\n', (size_t)(end - at));

		if (stop)
			*stop = '\0';
		pager_add(&model->pager, cell_safe(at, model->is_utf8));
		at = stop ? stop + 1 : end;
	}
	free(bytes);
	if (is_at_end) /* stay there */
		model->pager.top = model->pager.n + 1 > model->height ? model->pager.n + 1 - model->height : 0;
}
