/* report.c owns the text and tab-separated formats and the header fields that all formats
 * share. It computes nothing: the numbers come from the profile and from the run. */
#include "watchprof/report.h"

#include "watchprof/report_field.h"
#include "watchprof/report_json.h"
#include "watchprof/table.h"
#include "watchprof/util.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Call paths shown to people per watch; programs get all of them. */
#define TEXT_PATHS_MAX 10

static void report_write_text(FILE *out, const struct report *report);
static void report_write_tsv(FILE *out, const struct report *report);

static const struct {
	const char *name;
	enum report_format format;
	void (*write)(FILE *out, const struct report *report);
} formats[] = {
	{"text", REPORT_TEXT, report_write_text},
	{"tsv", REPORT_TSV, report_write_tsv},
	{"dump", REPORT_TSV, report_write_tsv},
	{"json", REPORT_JSON, report_write_json},
};

bool report_format_is_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return true;
	}
	return false;
}

int report_format_parse(const char *name, enum report_format *format, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (strcmp(formats[i].name, name) == 0) {
			*format = formats[i].format;
			return 0;
		}
	}
	return err_set(err, "unknown report format '%s': use text, tsv (or dump) or json", name);
}

size_t report_fields(const struct report *r, struct report_field fields[REPORT_FIELDS_MAX])
{
	const struct report_field all[] = {
		{"version", FIELD_TEXT, r->version, 0},
		{"command_line", FIELD_TEXT, r->command_line, 0},
		{"command", FIELD_TEXT, r->command, 0},
		{"pid", FIELD_COUNT, "", (uint64_t)r->pid},
		{"build_id", FIELD_TEXT, r->build_id, 0},
		{"machine", FIELD_TEXT, r->machine, 0},
		{"kernel", FIELD_TEXT, r->kernel, 0},
		{"engine", FIELD_TEXT, r->engine, 0},
		{"self_test", FIELD_TEXT, r->self_test, 0},
		{"followed", FIELD_BOOL, "", r->is_followed},
		{"processes_left_out", FIELD_COUNT, r->is_followed ? "" : NULL, r->processes_left_out},
		{"start", FIELD_COUNT, "", r->start_unix_s},
		{"duration", FIELD_SECONDS, "", r->duration_ns},
		{"threads_armed", FIELD_COUNT, "", r->threads_armed},
		{"threads_born", FIELD_COUNT, "", r->threads_born},
		{"threads_unarmed", FIELD_COUNT, "", r->threads_unarmed},
		{"hits", FIELD_COUNT, "", profile_hits(r->profile)},
		{"lost", FIELD_COUNT, "", r->lost},
		{"overrun", FIELD_COUNT, "", profile_overrun(r->profile)},
		{"end", FIELD_TEXT, r->end, 0},
		{"complete", FIELD_BOOL, "", r->complete},
	};
	size_t n = 0;

	static_assert(ARRAY_LEN(all) <= REPORT_FIELDS_MAX, "too many header fields");
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (all[i].text)
			fields[n++] = all[i];
	}
	return n;
}

/* The names of the watches, by number, for table_cell(); the caller frees the array. */
static const char **watch_names(const struct report *report)
{
	const char **names = mem_new(report->n_watches, sizeof(*names));

	for (size_t i = 0; i < report->n_watches; i++)
		names[i] = report->watches[i].text;
	return names;
}

static void field_write(FILE *out, const struct report_field *field)
{
	switch (field->type) {
	case FIELD_TEXT:
		text_escape(out, field->text);
		break;
	case FIELD_COUNT:
		fprintf(out, "%" PRIu64, field->count);
		break;
	case FIELD_SECONDS:
		fprintf(out, "%.6f", (double)field->count / NS_PER_S);
		break;
	case FIELD_BOOL:
		fputs(field->count ? "yes" : "no", out);
		break;
	}
}

static const char *watch_changed(const struct report_watch *watch)
{
	if (!watch->compared)
		return "unknown";
	return watch->changed ? "yes" : "no";
}

/* One `# watch` line: expression, address, length, access, slots, hits, overrun, state,
 * value changed, object; only ever extended at the end. */
static void tsv_watch(FILE *out, const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];
	struct watch_count count = profile_count(report->profile, i);

	fputs("# watch\t", out);
	text_escape(out, watch->text);
	fprintf(out, "\t0x%" PRIx64 "\t%" PRIu64 "\t%s\t%u\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t", watch->addr,
		watch->len, watch->access, watch->slots, count.hits, count.overrun, watch->state,
		watch_changed(watch));
	text_escape(out, watch->object ? watch->object : "-");
	fputc('\n', out);
}

/* One `# process` line: pid, parent, hits, end, command. */
static void tsv_process(FILE *out, const struct report_process *process)
{
	fprintf(out, "# process\t%d\t%d\t%" PRIu64 "\t", process->pid, process->parent, process->hits);
	text_escape(out, process->end);
	fputc('\t', out);
	text_escape(out, process->command);
	fputc('\n', out);
}

static void report_write_tsv(FILE *out, const struct report *report)
{
	struct report_field fields[REPORT_FIELDS_MAX];
	size_t n = report_fields(report, fields), n_rows;
	struct query query = {.group = GROUP_FUNCTION, .by_process = report->is_followed};
	struct row *rows = profile_rows(report->profile, &query, &n_rows);
	const char **names = watch_names(report);

	fputs("# watchprof-report 1\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "# %s\t", fields[i].key);
		field_write(out, &fields[i]);
		fputc('\n', out);
	}
	for (unsigned i = 0; i < report->n_watches; i++)
		tsv_watch(out, report, i);
	for (size_t i = 0; i < report->n_processes; i++)
		tsv_process(out, &report->processes[i]);
	for (size_t i = 0; i < report->n_warnings; i++) {
		fputs("# warning\t", out);
		text_escape(out, report->warnings[i]);
		fputc('\n', out);
	}
	for (int c = 0; c < N_COLUMNS; c++)
		fprintf(out, "%s%s", c ? "\t" : "", table_column((enum column_id)c)->name);
	fputc('\n', out);
	for (size_t r = 0; r < n_rows; r++) {
		for (int c = 0; c < N_COLUMNS; c++) {
			char *cell = table_cell((enum column_id)c, &rows[r], names);

			if (c)
				fputc('\t', out);
			text_escape(out, cell);
			free(cell);
		}
		fputc('\n', out);
	}
	free(names);
	free(rows);
}

/* Why a watch has no hits, as far as it can be told. */
static const char *silence_reason(const struct report_watch *watch)
{
	if (!watch->len)
		return "never armed";
	if (strcmp(watch->state, "armed") != 0)
		return watch->state;
	if (!watch->compared)
		return "no access seen";
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
	fputs("\nended: ", out);
	text_escape(out, text_or_unknown(report->end));
	fputs(report->complete ? "\n" : "; INCOMPLETE\n", out);
	for (size_t i = 0; i < report->n_warnings; i++) {
		fputs("warning: ", out);
		text_escape(out, report->warnings[i]);
		fputc('\n', out);
	}
}

/* Was a write counted for the watch, or could one of its hits have been one? */
static bool may_have_written(const struct report *report, unsigned watch)
{
	size_t n;
	struct row *rows = profile_rows(report->profile, &(struct query){.group = GROUP_THREAD}, &n);
	bool may = profile_count(report->profile, watch).overrun > 0;

	for (size_t i = 0; i < n; i++)
		may |= rows[i].watch == watch && (rows[i].writes > 0 || !rows[i].writes_known);
	free(rows);
	return may;
}

static void text_watch(FILE *out, const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];
	struct watch_count count = profile_count(report->profile, i);

	fputs("\nwatch ", out);
	text_escape(out, watch->text);
	if (watch->len)
		fprintf(out, ": %" PRIu64 " byte%s at 0x%" PRIx64 ", access %s, %u slot%s", watch->len,
			watch->len == 1 ? "" : "s", watch->addr, watch->access, watch->slots,
			watch->slots == 1 ? "" : "s");
	if (watch->object) {
		fputs(", ", out);
		text_escape(out, watch->object);
	}
	if (strcmp(watch->state, "armed") != 0)
		fprintf(out, " [%s]", watch->state);
	fprintf(out, "\n  %" PRIu64 " hits", count.hits);
	if (count.hits == 0)
		fprintf(out, ": %s; self-test: %s", silence_reason(watch), text_or_unknown(report->self_test));
	else if (watch->compared && watch->changed && !may_have_written(report, i))
		fputs("; its value changed without a counted write (the kernel, or another process)", out);
	fputc('\n', out);
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
	static const char *const ends[] = {
		[PATH_TRUNCATED] = " < [truncated]", [PATH_BROKEN] = " < [broken]", [PATH_NONE] = ""};

	fprintf(out, "  %10" PRIu64 "  ", row->hits);
	for (size_t i = 0; i < row->n_frames; i++) {
		const struct loc *loc = profile_loc(report->profile, row->frames[i]);

		if (i)
			fputs(" < ", out);
		text_escape(out, loc->function ? loc->function : "?");
	}
	fprintf(out, "%s\n", ends[row->path] ? ends[row->path] : "");
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

static void report_write_text(FILE *out, const struct report *report)
{
	static const enum column_id ids[] = {COLUMN_HITS, COLUMN_SHARE, COLUMN_READS, COLUMN_WRITES,
		COLUMN_FUNCTION, COLUMN_FILE, COLUMN_LINE, COLUMN_MODULE, COLUMN_PID};
	size_t n_ids = ARRAY_LEN(ids) - !report->is_followed;
	const char **names = watch_names(report);
	size_t n_rows, n_paths, row = 0, path = 0, end;
	struct row *rows = profile_rows(report->profile,
		&(struct query){.group = GROUP_FUNCTION, .by_process = report->is_followed}, &n_rows);
	struct row *paths = profile_rows(report->profile, &(struct query){.group = GROUP_PATH}, &n_paths);

	text_head(out, report);
	text_processes(out, report);
	for (unsigned i = 0; i < report->n_watches; i++) {
		text_watch(out, report, i);
		end = watch_rows(rows, n_rows, i, &row);
		if (end > row)
			table_write(out, "  ", ids, n_ids, rows + row, end - row, names);
		end = watch_rows(paths, n_paths, i, &path);
		if (end > path && paths[path].path != PATH_NONE)
			fprintf(out, "  call paths%s:\n", end - path > TEXT_PATHS_MAX ? " (the hottest)" : "");
		for (size_t p = path; p < end && p < path + TEXT_PATHS_MAX; p++) {
			if (paths[p].path != PATH_NONE)
				text_path(out, report, &paths[p]);
		}
	}
	free(paths);
	free(rows);
	free(names);
}

int report_write(FILE *out, enum report_format format, const struct report *report, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (formats[i].format == format) {
			formats[i].write(out, report);
			break;
		}
	}
	if (fflush(out) || ferror(out))
		return err_set(err, "the report could not be written: %s", strerror(errno));
	return 0;
}

/* A regular file is replaced by rename; anything else (/dev/null, a pipe) is written to. */
static bool may_rename(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

/* The name under which a report is written before it gets its own. */
static char *temporary_name(const char *path)
{
	return may_rename(path) ? text_format("%s.%d.tmp", path, (int)getpid()) : text_copy(path);
}

static int unwritable(const char *path, struct err *err)
{
	return err_set(err, "%s: the report cannot be written there: %s", path, strerror(errno));
}

int report_check(const char *path, struct err *err)
{
	char *temporary = path ? temporary_name(path) : NULL;
	bool is_new = path && strcmp(temporary, path) != 0;
	FILE *out = path ? fopen(temporary, is_new ? "we" : "ae") : NULL;
	int result = 0;

	if (path && !out)
		result = unwritable(path, err);
	if (out)
		fclose(out);
	if (out && is_new)
		unlink(temporary);
	free(temporary);
	return result;
}

int report_save(const char *path, enum report_format format, const struct report *report,
	struct err *err)
{
	char *temporary;
	FILE *out;
	int result;

	if (!path)
		return report_write(stdout, format, report, err);
	temporary = temporary_name(path);
	out = fopen(temporary, "we");
	if (!out) {
		unwritable(path, err);
		free(temporary);
		return -1;
	}
	result = report_write(out, format, report, err);
	if (result)
		err_set(err, "%s: the report could not be written: %s", path, strerror(errno));
	if (fclose(out) && result == 0)
		result = err_set(err, "%s: the report could not be written: %s", path, strerror(errno));
	if (result == 0 && strcmp(temporary, path) != 0 && rename(temporary, path))
		result = err_set(err, "%s: the report could not be moved there: %s", path, strerror(errno));
	if (result && strcmp(temporary, path) != 0)
		unlink(temporary);
	free(temporary);
	return result;
}
