/* report_folded.c owns the folded stacks: a line for each call path, the frames from the outermost
 * inward with semicolons between, a blank, the hits. Flame graph programs read that. They take no
 * comments, but pass over lines that do not end in a number: what is told about the run ends in a
 * quotation mark. */
#include "report_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* A name as a frame, which must not have the separator in it; the caller frees it. */
static char *frame_text(const char *name)
{
	char *escaped = text_escaped(name && *name ? name : "?");

	for (char *at = escaped; (at = strchr(at, ';'));)
		*at = ':';
	return escaped;
}

/* The frames of all places that were written, made once each. */
struct frames {
	char **text; /* by the index of the place */
	size_t n;
};

static const char *frame_of(struct frames *frames, const struct report *report, uint32_t index)
{
	const struct loc *loc = profile_loc(report->profile, index);

	frames->text = mem_reach(frames->text, index, &frames->n, sizeof(*frames->text));
	if (!frames->text[index]) {
		char *name = frame_text(loc->function);

		frames->text[index] = text_format("%s%s", name, loc->is_inlined ? INLINED : "");
		free(name);
	}
	return frames->text[index];
}

static void frames_free(struct frames *frames)
{
	for (size_t i = 0; i < frames->n; i++)
		free(frames->text[i]);
	free(frames->text);
}

static void folded_row(
	FILE *out, const struct report *report, struct frames *frames, const struct row *row)
{
	const char *end = table_path_end(row);
	char *watch = frame_text(report->watches[row->watch].text);

	fputs(watch, out);
	free(watch);
	if (end)
		fprintf(out, ";%s", end);
	for (size_t f = row->n_frames; f-- > 0;) {
		fputc(';', out);
		fputs(frame_of(frames, report, row->frames[f]), out);
	}
	fprintf(out, " %" PRIu64 "\n", row->hits);
}

void report_write_folded(FILE *out, const struct report *report)
{
	struct frames frames = {0};
	size_t n;
	struct row *rows = report_paths(report, &n);

	folded_about(out, report);
	for (size_t i = 0; i < n; i++)
		folded_row(out, report, &frames, &rows[i]);
	frames_free(&frames);
	free(rows);
}
