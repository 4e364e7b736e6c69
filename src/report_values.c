/* report_values.c owns the wording of what is known of a watch's values. It knows no format but text. */
#include "watchprof/report_values.h"

#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TOP_TEXT_MAX 5 /* values shown to people */

char *report_value(const struct report_values *values, const struct value *value)
{
	return value_text(value, values->type, values->places.name ? &values->places : NULL);
}

/* Numbers of no known type are shown in decimal alone where they are the ends of a range. */
static bool is_plain(const struct report_values *values, const struct value *value)
{
	enum value_kind kind = value_kind_of(value, values->type);

	return kind == VALUE_OTHER || kind == VALUE_SIGNED || kind == VALUE_UNSIGNED || kind == VALUE_FLOAT;
}

static char *bound_text(const struct report_values *values, const struct value *value)
{
	return is_plain(values, value) ? value_number_text(value, values->type) : report_value(values, value);
}

/* "42 x 7, ..." of the first n values. */
static char *top_text(const struct report_values *values, size_t n)
{
	const struct value_stats *stats = &values->stats;
	char *list = text_copy("");

	for (size_t i = 0; i < stats->n_top && i < n; i++) {
		char *value = report_value(values, &stats->top[i].value);
		char *longer = text_format("%s%s%s x %" PRIu64, list, i ? ", " : "", value, stats->top[i].writes);

		free(value);
		free(list);
		list = longer;
	}
	return list;
}

static void put_count(struct report_value_field *fields, size_t *n, const char *key, uint64_t count)
{
	fields[(*n)++] = (struct report_value_field){.key = key, .count = count};
}

static void put_text(struct report_value_field *fields, size_t *n, const char *key, char *text)
{
	fields[(*n)++] = (struct report_value_field){.key = key, .text = text};
}

/* Infinity is no number in JSON. */
static void put_bound(const struct report_values *values, struct report_value_field *fields, size_t *n, const char *key,
	const struct value *value)
{
	put_text(fields, n, key, bound_text(values, value));
	fields[*n - 1].is_number = is_plain(values, value) && !strstr(fields[*n - 1].text, "inf");
}

static size_t last_fields(const struct report_values *values, struct report_value_field *fields, size_t n)
{
	const struct value_stats *stats = &values->stats;

	put_text(fields, &n, "last_writer", text_copy(values->writer ? values->writer : "?"));
	put_count(fields, &n, "last_pid", (uint64_t)stats->last.pid);
	put_count(fields, &n, "last_tid", (uint64_t)stats->last.tid);
	put_text(fields, &n, "last_time",
		text_format("%.6f", (double)values->written_ns / NS_PER_S));
	put_text(fields, &n, "last_from", report_value(values, &stats->last.from));
	put_text(fields, &n, "last_to", report_value(values, &stats->last.to));
	put_text(fields, &n, "frequent", top_text(values, VALUES_TOP_MAX));
	put_count(fields, &n, "others", stats->others);
	return n;
}

size_t report_value_fields(const struct report_values *values, struct report_value_field *fields)
{
	const struct value_stats *stats = &values->stats;
	size_t n = 0;

	if (values->has_filters)
		put_count(fields, &n, "filtered", values->filtered);
	if (!values->is_known)
		return n;
	put_text(fields, &n, "current", report_value(values, &stats->current));
	put_count(fields, &n, "writes", stats->writes);
	put_count(fields, &n, "changed", stats->changed);
	put_count(fields, &n, "silent", stats->silent);
	if (stats->among_others)
		put_count(fields, &n, "among_others", stats->among_others);
	put_count(fields, &n, "unseen", stats->unseen);
	if (stats->unseen) {
		put_count(fields, &n, "unseen_first", stats->unseen_first);
		put_count(fields, &n, "unseen_last", stats->unseen_last);
	}
	if (stats->has_range) {
		put_bound(values, fields, &n, "min", &stats->min);
		put_bound(values, fields, &n, "max", &stats->max);
	}
	return stats->last.time_ns ? last_fields(values, fields, n) : n;
}

void report_value_free(struct report_value_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(fields[i].text);
}

static void last_text(FILE *out, const struct report_values *values)
{
	const struct value_stats *stats = &values->stats;
	char *from = report_value(values, &stats->last.from), *to = report_value(values, &stats->last.to);
	char *top = top_text(values, TOP_TEXT_MAX);

	fputs("  last write by ", out);
	text_escape(out, values->writer ? values->writer : "?");
	fprintf(out, " (thread %d) after %.3f s: %s -> %s\n", stats->last.tid, (double)values->written_ns / NS_PER_S,
		from, to);
	fprintf(out, "  written most: %s%s", top, stats->n_top > TOP_TEXT_MAX || stats->others ? ", ..." : "");
	if (stats->others)
		fprintf(out, "; %" PRIu64 " writes of values without a place in the table", stats->others);
	fputc('\n', out);
	free(top);
	free(to);
	free(from);
}

static void range_text(FILE *out, const struct report_values *values)
{
	char *min = bound_text(values, &values->stats.min), *max = bound_text(values, &values->stats.max);

	fprintf(out, "; written between %s and %s", min, max);
	free(max);
	free(min);
}

void report_value_text(FILE *out, const struct report_values *values)
{
	const struct value_stats *stats = &values->stats;
	char *current;

	if (values->has_filters)
		fprintf(out, "  %" PRIu64 " more filtered\n", values->filtered);
	if (!values->is_known)
		return;
	current = report_value(values, &stats->current);
	fprintf(out, "  value %s", current);
	free(current);
	if (stats->writes)
		fprintf(out, "; %" PRIu64 " writes changed it, %" PRIu64 " did not", stats->changed, stats->silent);
	if (stats->has_range)
		range_text(out, values);
	if (stats->among_others)
		fputs("\n  (as seen after each write: other threads may have written in between)", out);
	fputc('\n', out);
	if (stats->last.time_ns)
		last_text(out, values);
	if (stats->unseen)
		fprintf(out, "  changed %" PRIu64 " times at least without a counted access (the kernel, or another process): "
			"found by hits %" PRIu64 " to %" PRIu64 "\n", stats->unseen, stats->unseen_first, stats->unseen_last);
}
