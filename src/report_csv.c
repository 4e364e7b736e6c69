/* report_csv.c owns the comma-separated report (RFC 4180). Such a file has one header and the same
 * fields in every record, so the first field tells what the record is: a row of the table, or something
 * about the run, which has a key and a value. */
#include "report_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One field; text is quoted where it has to be. Control characters are escaped as in every other
 * format: they must not reach a terminal. */
static void csv_text(FILE *out, const char *text)
{
	char *escaped = text_escaped(text);

	if (escaped[strcspn(escaped, "\",")] == '\0') {
		fputs(escaped, out);
	} else {
		fputc('"', out);
		for (const char *at = escaped; *at; at++) {
			if (*at == '"')
				fputc('"', out);
			fputc(*at, out);
		}
		fputc('"', out);
	}
	free(escaped);
}

/* A record about the run. */
static void csv_about(FILE *out, const char *record, const char *key, const char *value)
{
	csv_text(out, record);
	fputc(',', out);
	csv_text(out, key);
	fputc(',', out);
	csv_text(out, value);
	for (int c = 0; c < N_COLUMNS; c++)
		fputc(',', out);
	fputs("\r\n", out);
}

static void csv_fields(FILE *out, const struct report *report)
{
	struct report_field fields[REPORT_FIELDS_MAX];
	size_t n = report_fields(report, fields);

	csv_about(out, "run", "format", "watchprof-report 1");
	for (size_t i = 0; i < n; i++) {
		char *value = report_field_text(&fields[i]);

		csv_about(out, "run", fields[i].key, value);
		free(value);
	}
	for (size_t i = 0; i < report->n_warnings; i++)
		csv_about(out, "warning", "", report->warnings[i]);
}

/* What is known of a watch, a record each. */
static void csv_watch(FILE *out, const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];
	struct watch_count count = profile_count(report->profile, i);
	char address[REPORT_ADDRESS_LEN];
	const struct {
		const char *key;
		char *value;
	} all[] = {
		{"watch", text_copy(watch->text)},
		{"address", text_copy(report_address(watch, address))},
		{"length", text_format("%" PRIu64, watch->len)},
		{"access", text_copy(watch->access)},
		{"slots", text_format("%u", watch->slots)},
		{"hits", text_format("%" PRIu64, count.hits)},
		{"overrun", text_format("%" PRIu64, count.overrun)},
		{"state", text_copy(watch->state)},
		{"changed", text_copy(report_changed(watch))},
		{"object", text_copy(watch->object ? watch->object : "-")},
		{"armed_share", text_format("%.6f", watch->armed_share)},
		{"filtered", text_format("%" PRIu64, report_filtered(report, i))},
		{"unknown", text_format("%" PRIu64, report_unknown(report, i))},
	};
	char *record = text_format("watch %u", i + 1);

	for (size_t k = 0; k < ARRAY_LEN(all); k++) {
		csv_about(out, record, all[k].key, all[k].value);
		free(all[k].value);
	}
	free(record);
}

static void csv_values(FILE *out, const struct report *report, unsigned i)
{
	struct report_value_field fields[REPORT_VALUE_FIELDS_MAX];
	size_t n = report->values ? report_value_fields(&report->values[i], fields) : 0;
	char *record = text_format("value %u", i + 1);

	for (size_t k = 0; k < n; k++) {
		char *text = fields[k].text ? text_copy(fields[k].text) : text_format("%" PRIu64, fields[k].count);

		csv_about(out, record, fields[k].key, text);
		free(text);
	}
	free(record);
	report_value_free(fields, n);
}

static void csv_process(FILE *out, const struct report_process *process)
{
	char *record = text_format("process %d", process->pid);
	char *parent = text_format("%d", process->parent), *hits = text_format("%" PRIu64, process->hits);

	csv_about(out, record, "parent", parent);
	csv_about(out, record, "hits", hits);
	csv_about(out, record, "end", process->end);
	csv_about(out, record, "command", process->command);
	free(hits);
	free(parent);
	free(record);
}

static void csv_row(FILE *out, const struct row *row, const struct naming *naming)
{
	fputs("row,,", out);
	for (int c = 0; c < N_COLUMNS; c++) {
		char *cell = table_cell((enum column_id)c, row, naming);

		fputc(',', out);
		csv_text(out, cell);
		free(cell);
	}
	fputs("\r\n", out);
}

void report_write_csv(FILE *out, const struct report *report)
{
	const char **names = report_watch_names(report);
	struct naming naming = {names, report->profile};
	size_t n;
	struct row *rows = report_rows(report, &n);

	fputs("record,key,value", out);
	for (int c = 0; c < N_COLUMNS; c++)
		fprintf(out, ",%s", table_column((enum column_id)c)->name);
	fputs("\r\n", out);
	csv_fields(out, report);
	for (unsigned i = 0; i < report->n_watches; i++)
		csv_watch(out, report, i);
	for (unsigned i = 0; i < report->n_watches; i++)
		csv_values(out, report, i);
	for (size_t i = 0; i < report->n_processes; i++)
		csv_process(out, &report->processes[i]);
	for (size_t i = 0; i < n; i++)
		csv_row(out, &rows[i], &naming);
	free(rows);
	free(names);
}
