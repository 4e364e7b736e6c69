/* trace_text.c owns the trace for people: a line for each hit, fields separated by tabs, and lines
 * that begin with # about all else. */
#include "trace_private.h"
#include "watchprof/report_field.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>

static void text_field(struct trace_bytes *out, const char *key, const char *value)
{
	char *escaped;

	if (!value)
		return;
	escaped = text_escaped(value);
	bytes_text(out, "# ");
	bytes_text(out, key);
	bytes_text(out, "\t");
	bytes_text(out, escaped);
	bytes_text(out, "\n");
	free(escaped);
}

static void text_about(
	struct trace_bytes *out, const struct trace_tables *tables, const struct report *run)
{
	struct report_field fields[RUN_FIELDS];

	bytes_format(out, "# watchprof-trace %d\n", TRACE_VERSION);
	report_run_fields(run, fields);
	for (size_t i = 0; i < RUN_FIELDS; i++) {
		if (fields[i].type == FIELD_TEXT)
			text_field(out, fields[i].key, fields[i].text);
		else
			bytes_format(out, "# %s\t%" PRIu64 "\n", fields[i].key, fields[i].count);
	}
	bytes_text(out, "# time\ttask\tcpu\twatch\tkind\told\tnew\tfunction");
	bytes_text(out, tables->with_stack ? "\tpath\n" : "\n");
}

static void text_module(struct trace_bytes *out, const char *path, const char *build_id)
{
	/* Where a trace is decoded, the build id is a text like any other. */
	char *name = text_escaped(path), *id = text_escaped(build_id ? build_id : "-");

	bytes_text(out, "# module\t");
	bytes_text(out, name);
	bytes_text(out, "\t");
	bytes_text(out, id);
	bytes_text(out, "\n");
	free(id);
	free(name);
}

static void text_watch(struct trace_bytes *out, const struct trace_tables *tables, unsigned number)
{
	bytes_text(out, "# watch\t");
	bytes_text(out, tables->watch_text[number]);
	bytes_text(out, "\n");
}

static void text_thread(struct trace_bytes *out, const struct trace_tables *tables, uint32_t number)
{
	const struct trace_thread *thread = &tables->threads[number];

	if (number == 0)
		return; /* it stands for what is not known */
	bytes_format(out, "# thread\t%d\t%d\t", thread->pid, thread->tid);
	bytes_text(out, thread->text);
	bytes_text(out, "\n");
}

/* Places and paths are in the lines of the hits. */
static void text_number(struct trace_bytes *out, const struct trace_tables *tables, uint32_t number)
{
	(void)out;
	(void)tables;
	(void)number;
}

static void text_reset(struct trace_bytes *out)
{
	(void)out;
}

static void text_value(struct trace_bytes *out, const struct trace_tables *tables, uint64_t watches,
	const uint8_t *bytes, size_t n)
{
	char *typed = tables_value(tables, watches, bytes, n), text[3 + 2 * TRACE_VALUE_MAX] = "-";

	if (n > 0 && !typed)
		trace_value(bytes, n, text);
	bytes_text(out, "\t");
	bytes_text(out, typed ? typed : text);
	free(typed);
}

static void text_path(
	struct trace_bytes *out, const struct trace_tables *tables, const struct trace_path *path)
{
	const char *end = trace_path_end(path->end);

	bytes_text(out, "\t");
	for (uint16_t i = 0; i < path->n; i++) {
		if (i)
			bytes_text(out, " < ");
		bytes_text(out, tables->locs[tables->path_locs[path->first + i]].text);
	}
	if (end) {
		bytes_text(out, " ");
		bytes_text(out, end);
	}
}

static void text_hit(
	struct trace_bytes *out, struct trace_tables *tables, const struct trace_record *record)
{
	const struct trace_thread *thread = &tables->threads[record->thread];
	const struct trace_path *path = &tables->paths[record->path];
	bool is_first = true;

	bytes_format(out, "%" PRIu64 ".%09" PRIu64 "\t", record->time_ns / (uint64_t)NS_PER_S,
		record->time_ns % (uint64_t)NS_PER_S);
	bytes_text(out, thread->text);
	bytes_format(out, "-%d\t", thread->tid);
	if (record->cpu)
		bytes_format(out, "%d\t", record->cpu - 1);
	else
		bytes_text(out, "-\t");
	for (uint64_t left = record->watches; left; left &= left - 1) {
		const char *text = tables->watch_text[__builtin_ctzll(left)];

		if (!is_first)
			bytes_text(out, " ");
		bytes_text(out, text ? text : "?");
		is_first = false;
	}
	bytes_text(out, "\t");
	bytes_text(out, trace_kind(record->kind));
	text_value(out, tables, record->watches, record->values.old, record->values.n_old);
	text_value(out, tables, record->watches, record->values.new, record->values.n_new);
	bytes_text(out, "\t");
	bytes_text(out, path->n ? tables->locs[tables->path_locs[path->first]].text : "?");
	if (tables->with_stack)
		text_path(out, tables, path);
	bytes_text(out, "\n");
}

static void text_dropped(struct trace_bytes *out, uint64_t n)
{
	bytes_format(out, "# dropped\t%" PRIu64 "\n", n);
}

static void text_end(struct trace_bytes *out, const struct trace_counts *counts, const char *why)
{
	bytes_format(out,
		"# hits\t%" PRIu64 "\n# dropped_in_all\t%" PRIu64 "\n# overwritten\t%" PRIu64 "\n",
		counts->hits, counts->dropped, counts->overwritten);
	text_field(out, "end", why);
}

const struct trace_form trace_form_text = {
	.name = "text",
	.about = text_about,
	.module = text_module,
	.watch = text_watch,
	.thread = text_thread,
	.loc = text_number,
	.path = text_number,
	.reset = text_reset,
	.hit = text_hit,
	.dropped = text_dropped,
	.end = text_end,
};
