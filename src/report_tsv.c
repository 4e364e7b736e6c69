/* report_tsv.c owns the tab-separated report: lines that begin with # tell about the run, then comes a
 * table with a header line. Fields and columns are only ever added, the former by name, the latter at
 * the end. */
#include "report_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>

/* One `# watch` line: expression, address, length, access, slots, hits, overrun, state,
 * value changed, object, share of the time armed, filtered, of unknown kind; only ever extended at the end. */
static void tsv_watch(FILE *out, const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];
	struct watch_count count = profile_count(report->profile, i);
	char address[REPORT_ADDRESS_LEN];

	fputs("# watch\t", out);
	text_escape(out, watch->text);
	fprintf(out, "\t%s\t%" PRIu64 "\t%s\t%u\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s\t",
		report_address(watch, address), watch->len, watch->access, watch->slots, count.hits, count.overrun,
		watch->state, report_changed(watch));
	text_escape(out, watch->object ? watch->object : "-");
	fprintf(out, "\t%.6f\t%" PRIu64 "\t%" PRIu64 "\n", watch->armed_share, report_filtered(report, i),
		report_unknown(report, i));
}

/* One `# value` line for each field: watch, key, value. */
static void tsv_values(FILE *out, const struct report *report, unsigned i)
{
	struct report_value_field fields[REPORT_VALUE_FIELDS_MAX];
	size_t n = report->values ? report_value_fields(&report->values[i], fields) : 0;

	for (size_t k = 0; k < n; k++) {
		fputs("# value\t", out);
		text_escape(out, report->watches[i].text);
		fprintf(out, "\t%s\t", fields[k].key);
		if (fields[k].text)
			text_escape(out, fields[k].text);
		else
			fprintf(out, "%" PRIu64, fields[k].count);
		fputc('\n', out);
	}
	report_value_free(fields, n);
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

void report_write_tsv(FILE *out, const struct report *report)
{
	struct report_field fields[REPORT_FIELDS_MAX];
	size_t n = report_fields(report, fields), n_rows;
	struct row *rows = report_rows(report, &n_rows);
	const char **names = report_watch_names(report);
	struct naming naming = {names, report->profile};

	fputs("# watchprof-report 1\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "# %s\t", fields[i].key);
		report_field_write(out, &fields[i]);
		fputc('\n', out);
	}
	for (unsigned i = 0; i < report->n_watches; i++)
		tsv_watch(out, report, i);
	for (unsigned i = 0; i < report->n_watches; i++)
		tsv_values(out, report, i);
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
			char *cell = table_cell((enum column_id)c, &rows[r], &naming);

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
