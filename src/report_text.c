/* report_text.c owns the report for people: aligned, in sentences, and as short as it can be. */
#include "report_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Call paths shown per watch beside another table; programs get all of them. */
#define TEXT_PATHS_MAX 10

/* Why a watch has no hits, as far as it can be told. */
static const char *silence_reason(const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];

	if (report_filtered(report, i))
		return "no access met the filters";
	if (!watch->len)
		return "never armed";
	if (strcmp(watch->state, "armed") != 0)
		return watch->state;
	if (!watch->compared)
		return "no access seen, value not compared at the end";
	return watch->changed ? "its value changed without a counted access "
				"(the kernel, or another process)"
			      : "no access seen, value unchanged";
}

static const char *text_or_unknown(const char *text)
{
	return text ? text : "?";
}

static void text_head(FILE *out, const struct report *report)
{
	fputs("watchprof: ", out);
	text_escape(out, report->command ? report->command : "?");
	fprintf(out, " (pid %d), %.3f s, engine %s, %" PRIu64 " threads armed, %" PRIu64 " hits", report->pid,
		(double)report->duration_ns / NS_PER_S, text_or_unknown(report->engine), report->threads_armed,
		profile_hits(report->profile));
	if (report->lost)
		fprintf(out, ", %" PRIu64 " LOST", report->lost);
	if (profile_overrun(report->profile))
		fprintf(out, ", %" PRIu64 " of them without a place in the table (overrun; see --max-sites)",
			profile_overrun(report->profile));
	if (report->is_paged)
		fprintf(out, "\npages: %" PRIu64 " stops at other bytes of the watched pages, %" PRIu64 " of all stops by single steps, "
			"%" PRIu64 " windows of %.3f s in all in which other threads were not watched", report->neighbours, report->stepped,
			report->windows, (double)report->window_ns / NS_PER_S);
	fputs("\nended: ", out);
	text_escape(out, text_or_unknown(report->end));
	fputs(report->complete ? "\n" : "; INCOMPLETE\n", out);
	for (size_t i = 0; i < report->n_warnings; i++) {
		fputs("warning: ", out);
		text_escape(out, report->warnings[i]);
		fputc('\n', out);
	}
}

static void text_watch(FILE *out, const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];
	struct watch_count count = profile_count(report->profile, i);
	char address[REPORT_ADDRESS_LEN];

	fputs("\nwatch ", out);
	text_escape(out, watch->text);
	if (watch->len)
		fprintf(out, ": %" PRIu64 " byte%s %s%s, access %s", watch->len, watch->len == 1 ? "" : "s",
			watch->is_tls ? "" : "at ", report_address(watch, address), watch->access);
	if (watch->len && watch->slots)
		fprintf(out, ", %u slot%s", watch->slots, watch->slots == 1 ? "" : "s");
	if (watch->object) {
		fputs(", ", out);
		text_escape(out, watch->object);
	}
	if (strcmp(watch->state, "armed") != 0)
		fprintf(out, " [%s]", watch->state);
	fprintf(out, "\n  %" PRIu64 " hits", count.hits);
	if (count.hits == 0)
		fprintf(out, ": %s; self-test: %s", silence_reason(report, i), text_or_unknown(report->self_test));
	else if (report_is_uncounted(report, i))
		fputs("; its value changed without a counted write (the kernel, or another process)", out);
	fputc('\n', out);
	if (watch->armed_share < 1)
		fprintf(out, "  a SAMPLE: the watch was armed for %.1f %% of the time (--max-rate, or a pause)\n",
			watch->armed_share * 100);
	if (report->values)
		report_value_text(out, &report->values[i]);
}

static void text_processes(FILE *out, const struct report *report)
{
	for (size_t i = 0; i < report->n_processes; i++) {
		const struct report_process *process = &report->processes[i];

		fprintf(out, "process %d, child of %d: %" PRIu64 " hits, ", process->pid, process->parent,
			process->hits);
		text_escape(out, process->end);
		fputs(": ", out);
		text_escape(out, process->command);
		fputc('\n', out);
	}
	if (report->processes_left_out)
		fprintf(out, "and %" PRIu64 " more processes\n", report->processes_left_out);
}

static void text_path(FILE *out, const struct report *report, const struct row *row)
{
	char *path = table_path(report->profile, row);

	fprintf(out, "  %10" PRIu64 "  ", row->hits);
	text_escape(out, path);
	fputc('\n', out);
	free(path);
}

/* Rows of one watch in an answer that is sorted by watch: *first .. returned end. */
static size_t watch_rows(const struct row *rows, size_t n, unsigned watch, size_t *first)
{
	size_t end;

	while (*first < n && rows[*first].watch < watch)
		++*first;
	for (end = *first; end < n && rows[end].watch == watch; end++)
		;
	return end;
}

/* The hottest call paths of a watch. */
static void text_paths(FILE *out, const struct report *report, const struct row *paths, size_t n)
{
	if (n == 0 || paths[0].n_frames < 1 || paths[0].path == PATH_NONE)
		return;
	fprintf(out, "  call paths%s:\n", n > TEXT_PATHS_MAX ? " (the hottest)" : "");
	for (size_t i = 0; i < n && i < TEXT_PATHS_MAX; i++) {
		if (paths[i].path != PATH_NONE)
			text_path(out, report, &paths[i]);
	}
}

/* The tree of callers of a watch: who made the hits, and below it, indented, who called it. */
static void text_tree(FILE *out, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *end = table_path_end(&rows[i]);

		fprintf(out, "  %10" PRIu64 "  %5.1f%%  %*s", rows[i].hits, rows[i].share * 100,
			2 * (rows[i].n_frames - 1), "");
		text_escape(out, rows[i].loc->function ? rows[i].loc->function : "?");
		if (end)
			fprintf(out, " %s", end);
		fputc('\n', out);
	}
}

/* Is any of these rows the doing of another function than the one that it shows? */
static bool is_blame_elsewhere(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (rows[i].blame != rows[i].loc)
			return true;
	}
	return false;
}

/* Has any of these rows hits of a kind that is not known? */
static bool is_any_unknown(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (rows[i].unknown)
			return true;
	}
	return false;
}

/* The table of a watch, with the columns that mean something for its rows. */
static void text_table(FILE *out, const struct report *report, const struct row *rows, size_t n,
	const struct naming *naming)
{
	static const enum column_id by_place[] = {COLUMN_FUNCTION, COLUMN_FILE, COLUMN_LINE, COLUMN_MODULE};
	enum column_id ids[N_COLUMNS] = {COLUMN_HITS, COLUMN_SHARE, COLUMN_READS, COLUMN_WRITES};
	enum group group = report->view.query.group;
	size_t n_ids = 4;

	if (is_any_unknown(rows, n))
		ids[n_ids++] = COLUMN_UNKNOWN;
	if (group == GROUP_FUNCTION || group == GROUP_BLAME || group == GROUP_LINE) {
		memcpy(ids + n_ids, by_place, sizeof(by_place));
		n_ids += ARRAY_LEN(by_place);
		if (is_blame_elsewhere(rows, n))
			ids[n_ids++] = COLUMN_BLAME;
	}
	if (group == GROUP_PATH)
		ids[n_ids++] = COLUMN_PATH;
	if (report->is_followed || group == GROUP_THREAD)
		ids[n_ids++] = COLUMN_PID;
	if (group == GROUP_THREAD)
		ids[n_ids++] = COLUMN_TID;
	table_write(out, "  ", ids, n_ids, rows, n, naming);
}

void report_write_text(FILE *out, const struct report *report)
{
	enum group group = report->view.query.group;
	const char **names = report_watch_names(report);
	struct naming naming = {names, report->profile};
	size_t n_rows, n_paths, row = 0, path = 0, end;
	struct row *rows = report_rows(report, &n_rows), *paths = report_paths(report, &n_paths);

	text_head(out, report);
	text_processes(out, report);
	for (unsigned i = 0; i < report->n_watches; i++) {
		text_watch(out, report, i);
		end = watch_rows(rows, n_rows, i, &row);
		if (end > row && report->view.is_tree)
			text_tree(out, rows + row, end - row);
		else if (end > row)
			text_table(out, report, rows + row, end - row, &naming);
		end = watch_rows(paths, n_paths, i, &path);
		if (end > path && (group == GROUP_FUNCTION || group == GROUP_BLAME))
			text_paths(out, report, paths + path, end - path);
	}
	free(paths);
	free(rows);
	free(names);
}
