/* report_folded.c owns the folded stacks: a line for each call path, the frames from the outermost
 * inward with semicolons between, a blank, the hits. Flame graph programs read that. They take no
 * comments, but pass over lines that do not end in a number: what is told about the run ends in a
 * quotation mark. */
#include "report_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>

static void folded_about(FILE *out, const struct report *report)
{
	struct report_field fields[REPORT_FIELDS_MAX];
	size_t n = report_fields(report, fields);

	for (size_t i = 0; i < n; i++) {
		fprintf(out, "# %s=\"", fields[i].key);
		report_field_write(out, &fields[i]);
		fputs("\"\n", out);
	}
	for (unsigned i = 0; i < report->n_watches; i++) {
		char *line = report_watch_line(report, i);

		fputs("# watch=\"", out);
		text_escape(out, line);
		fputs("\"\n", out);
		free(line);
	}
	for (size_t i = 0; i < report->n_warnings; i++) {
		fputs("# warning=\"", out);
		text_escape(out, report->warnings[i]);
		fputs("\"\n", out);
	}
}

/* A frame must not have the separator in it. */
static void folded_frame(FILE *out, const char *name, bool is_inlined)
{
	char *escaped = text_escaped(name && *name ? name : "?");

	for (char *at = escaped; *at; at++)
		fputc(*at == ';' ? ':' : *at, out);
	fputs(is_inlined ? INLINED : "", out);
	free(escaped);
}

void report_write_folded(FILE *out, const struct report *report)
{
	size_t n;
	struct row *rows = report_paths(report, &n);

	folded_about(out, report);
	for (size_t i = 0; i < n; i++) {
		const char *end = table_path_end(&rows[i]);

		folded_frame(out, report->watches[rows[i].watch].text, false);
		if (end)
			fprintf(out, ";%s", end);
		for (size_t f = rows[i].n_frames; f-- > 0;) {
			const struct loc *loc = profile_loc(report->profile, rows[i].frames[f]);

			fputc(';', out);
			folded_frame(out, loc->function, loc->is_inlined);
		}
		fprintf(out, " %" PRIu64 "\n", rows[i].hits);
	}
	free(rows);
}
