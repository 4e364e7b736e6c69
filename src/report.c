/* report.c owns the choice of formats, the header fields that all of them share, and the files. It
 * computes nothing: the numbers come from the profile and from the run. */
#include "watchprof/report.h"

#include "report_private.h"
#include "watchprof/report_field.h"
#include "watchprof/util.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name;
	enum report_format format;
	void (*write)(FILE *out, const struct report *report);
} formats[] = {
	{"text", REPORT_TEXT, report_write_text},
	{"tsv", REPORT_TSV, report_write_tsv},
	{"dump", REPORT_TSV, report_write_tsv},
	{"csv", REPORT_CSV, report_write_csv},
	{"json", REPORT_JSON, report_write_json},
	{"folded", REPORT_FOLDED, report_write_folded},
	{"pprof", REPORT_PPROF, report_write_pprof},
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
	return err_set(err, "unknown report format '%s': use text, tsv (or dump), csv, json, folded or pprof", name);
}

/* Was a write counted for the watch, or could one of its hits have been one? */
static bool may_have_written(const struct report *report, unsigned watch)
{
	struct row totals[WATCHES_MAX];

	profile_totals(report->profile, totals);
	return totals[watch].writes > 0 || totals[watch].writes_unknown > 0 ||
		profile_count(report->profile, watch).overrun > 0;
}

bool report_is_uncounted(const struct report *report, unsigned watch)
{
	return report->watches[watch].compared && report->watches[watch].changed && !report_filtered(report, watch) &&
		!may_have_written(report, watch);
}

static uint64_t uncounted_changes(const struct report *report)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < report->n_watches; i++)
		n += report_is_uncounted(report, i);
	return n;
}

uint64_t report_filtered(const struct report *report, unsigned watch)
{
	return report->values ? report->values[watch].filtered : 0;
}

uint64_t report_unknown(const struct report *report, unsigned watch)
{
	struct row totals[WATCHES_MAX];

	profile_totals(report->profile, totals);
	return totals[watch].unknown;
}

char *report_watch_line(const struct report *report, unsigned watch)
{
	const struct report_watch *w = &report->watches[watch];

	char address[REPORT_ADDRESS_LEN];

	return text_format("%s: %" PRIu64 " bytes, address %s, access %s, %s, %" PRIu64
			   " hits, armed for %.1f %% of the time, %" PRIu64 " filtered, %" PRIu64 " of unknown kind",
		w->text, w->len, report_address(w, address), w->access, w->state, profile_count(report->profile, watch).hits,
		w->armed_share * 100, report_filtered(report, watch), report_unknown(report, watch));
}

/* Hits that did not meet the filters of their watch. */
static uint64_t filtered(const struct report *report)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < report->n_watches; i++)
		n += report_filtered(report, i);
	return n;
}

void report_run_fields(const struct report *r, struct report_field fields[RUN_FIELDS])
{
	const struct report_field all[RUN_FIELDS] = {
		{"version", FIELD_TEXT, r->version, 0},
		{"command_line", FIELD_TEXT, r->command_line, 0},
		{"command", FIELD_TEXT, r->command, 0},
		{"pid", FIELD_COUNT, "", (uint64_t)r->pid},
		{"build_id", FIELD_TEXT, r->build_id, 0},
		{"machine", FIELD_TEXT, r->machine, 0},
		{"kernel", FIELD_TEXT, r->kernel, 0},
		{"engine", FIELD_TEXT, r->engine, 0},
		{"self_test", FIELD_TEXT, r->self_test, 0},
		{"start", FIELD_COUNT, "", r->start_unix_s},
	};

	memcpy(fields, all, sizeof(all));
}

static size_t field_put(struct report_field *fields, size_t n, const struct report_field *field)
{
	fields[n] = *field;
	return n + (field->text != NULL);
}

/* The start of the run comes later than where the run was, as it always did. */
size_t report_fields(const struct report *r, struct report_field fields[REPORT_FIELDS_MAX])
{
	struct report_field run[RUN_FIELDS];
	const struct report_field more[] = {
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
		{"masked_off", FIELD_COUNT, r->masked_off ? "" : NULL, r->masked_off},
		{"end", FIELD_TEXT, r->end, 0},
		{"complete", FIELD_BOOL, "", r->complete},
		{"uncounted_changes", FIELD_COUNT, "", uncounted_changes(r)},
		{"traps_unblocked", FIELD_COUNT, "", r->traps_unblocked},
		{"max_rate", FIELD_COUNT, r->max_rate ? "" : NULL, r->max_rate},
		{"sampled", FIELD_BOOL, "", r->is_sampled},
		{"trace_hits", FIELD_COUNT, r->is_traced ? "" : NULL, r->trace_hits},
		{"trace_dropped", FIELD_COUNT, r->is_traced ? "" : NULL, r->trace_dropped},
		{"trace_overwritten", FIELD_COUNT, r->is_traced ? "" : NULL, r->trace_overwritten},
		{"filtered", FIELD_COUNT, "", filtered(r)},
		{"unknown_kinds", FIELD_COUNT, "", profile_unknown(r->profile)},
		{"neighbours", FIELD_COUNT, r->is_paged ? "" : NULL, r->neighbours},
		{"stepped", FIELD_COUNT, r->is_paged ? "" : NULL, r->stepped},
		{"windows", FIELD_COUNT, r->is_paged ? "" : NULL, r->windows},
		{"window_time", FIELD_SECONDS, r->is_paged ? "" : NULL, r->window_ns},
	};
	size_t n = 0;

	static_assert(RUN_FIELDS + ARRAY_LEN(more) <= REPORT_FIELDS_MAX, "too many header fields");
	report_run_fields(r, run);
	for (size_t i = 0; i < RUN_FIELDS - 1; i++)
		n = field_put(fields, n, &run[i]);
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		n = field_put(fields, n, &more[i]);
	return n;
}

struct row *report_rows(const struct report *report, size_t *n)
{
	struct query query = report->view.query;

	query.by_process = report->is_followed;
	return report->view.is_tree ? profile_tree(report->profile, &query, n)
				    : profile_rows(report->profile, &query, n);
}

struct row *report_paths(const struct report *report, size_t *n)
{
	struct query query = report->view.query;

	query.group = GROUP_PATH;
	return profile_rows(report->profile, &query, n);
}

const char **report_watch_names(const struct report *report)
{
	const char **names = mem_new(report->n_watches, sizeof(*names));

	for (size_t i = 0; i < report->n_watches; i++)
		names[i] = report->watches[i].text;
	return names;
}

const char *report_changed(const struct report_watch *watch)
{
	if (!watch->compared)
		return "unknown";
	return watch->changed ? "yes" : "no";
}

void report_field_write(FILE *out, const struct report_field *field)
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

const char *report_address(const struct report_watch *watch, char text[REPORT_ADDRESS_LEN])
{
	if (watch->is_tls)
		snprintf(text, REPORT_ADDRESS_LEN, "per thread");
	else
		snprintf(text, REPORT_ADDRESS_LEN, "0x%" PRIx64, watch->addr);
	return text;
}

char *report_field_text(const struct report_field *field)
{
	char *text = NULL;
	size_t len;
	FILE *out;

	if (field->type == FIELD_TEXT)
		return text_copy(field->text);
	out = open_memstream(&text, &len);
	if (!out)
		die("out of memory");
	report_field_write(out, field);
	if (fclose(out) || !text)
		die("out of memory");
	return text;
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

static bool is_directory(const char *path)
{
	struct stat st;

	errno = EISDIR;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int unwritable(const char *path, struct err *err)
{
	return err_set(err, "%s: the report cannot be written there: %s", path, strerror(errno));
}

/* Can a report be made beside path? */
static int replacement_check(const char *path, struct err *err)
{
	char *temporary;
	FILE *out = temporary_open(path, &temporary);
	int result = out ? 0 : unwritable(path, err);

	if (out) {
		fclose(out);
		unlink(temporary);
	}
	free(temporary);
	return result;
}

int report_check(const char *path, struct err *err)
{
	if (!path)
		return 0;
	if (path_is_replaceable(path))
		return replacement_check(path, err);
	/* Not opened: the reader of a pipe would take that for the whole report. */
	return access(path, W_OK) || is_directory(path) ? unwritable(path, err) : 0;
}

static int stream_save(FILE *out, const char *path, enum report_format format, const struct report *report,
	struct err *err)
{
	int result = report_write(out, format, report, err);

	if (result)
		err_set(err, "%s: the report could not be written: %s", path, strerror(errno));
	if (fclose(out) && result == 0)
		result = err_set(err, "%s: the report could not be written: %s", path, strerror(errno));
	return result;
}

int report_save(const char *path, enum report_format format, const struct report *report,
	struct err *err)
{
	char *temporary = NULL;
	FILE *out;
	int result;

	if (!path)
		return report_write(stdout, format, report, err);
	out = path_is_replaceable(path) ? temporary_open(path, &temporary) : fopen(path, "we");
	result = out ? stream_save(out, path, format, report, err) : unwritable(path, err);
	if (result == 0 && temporary && rename(temporary, path))
		result = err_set(err, "%s: the report could not be moved there: %s", path, strerror(errno));
	if (result && temporary)
		unlink(temporary);
	free(temporary);
	return result;
}
