/* report_json.c owns the JSON form of a report. Every number and name is the one that the
 * other formats show; only the call paths and threads come on top. */
#include "report_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* JSON text must be UTF-8: bytes that are not become \xHH, all else stays (json-c escapes
 * control characters itself). A backslash that was there is doubled in such texts only. */
static struct json_object *json_text(const char *text)
{
	const char *at = text;
	struct json_object *object;
	char *escaped;

	if (!text)
		return NULL;
	while (*at && utf8_sequence(at) && *at != 0x7f &&
		!((unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0))
		at += utf8_sequence(at);
	if (!*at)
		return json_object_new_string(text);
	escaped = text_escaped(text);
	object = json_object_new_string(escaped);
	free(escaped);
	return object;
}

static struct json_object *json_count(uint64_t count)
{
	return json_object_new_uint64(count);
}

static struct json_object *json_address(uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, addr);
	return json_object_new_string(text);
}

static void put(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value))
		die("out of memory");
}

static void add(struct json_object *array, struct json_object *value)
{
	if (json_object_array_add(array, value))
		die("out of memory");
}

static struct json_object *json_field(const struct report_field *field)
{
	switch (field->type) {
	case FIELD_TEXT:
		return json_text(field->text);
	case FIELD_COUNT:
		return json_count(field->count);
	case FIELD_SECONDS:
		return json_object_new_double((double)field->count / NS_PER_S);
	case FIELD_BOOL:
		return json_object_new_boolean(field->count != 0);
	}
	return NULL;
}

/* null where none are known. */
static struct json_object *json_values(const struct report *report, unsigned i)
{
	struct report_value_field fields[REPORT_VALUE_FIELDS_MAX];
	size_t n = report->values ? report_value_fields(&report->values[i], fields) : 0;
	struct json_object *object = n ? json_object_new_object() : NULL;

	for (size_t k = 0; k < n; k++)
		put(object, fields[k].key, fields[k].text ? json_text(fields[k].text) : json_count(fields[k].count));
	report_value_free(fields, n);
	return object;
}

static struct json_object *json_watch(const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];
	struct watch_count count = profile_count(report->profile, i);
	struct json_object *object = json_object_new_object();
	char address[REPORT_ADDRESS_LEN];

	put(object, "watch", json_text(watch->text));
	put(object, "object", json_text(watch->object));
	put(object, "address", json_text(report_address(watch, address)));
	put(object, "length", json_count(watch->len));
	put(object, "access", json_text(watch->access));
	put(object, "slots", json_count(watch->slots));
	put(object, "state", json_text(watch->state));
	put(object, "hits", json_count(count.hits));
	put(object, "overrun", json_count(count.overrun));
	put(object, "values", json_values(report, i));
	put(object, "changed", watch->compared ? json_object_new_boolean(watch->changed) : NULL);
	return object;
}

/* The counts every kind of row begins with; what is not known is null. */
static struct json_object *json_counts(const struct report *report, const struct row *row)
{
	struct json_object *object = json_object_new_object();

	put(object, "watch", json_text(report->watches[row->watch].text));
	put(object, "hits", json_count(row->hits));
	put(object, "share", json_object_new_double(row->share));
	put(object, "reads", row->reads_known ? json_count(row->reads) : NULL);
	put(object, "writes", row->writes_known ? json_count(row->writes) : NULL);
	return object;
}

static void put_loc(struct json_object *object, const struct loc *loc)
{
	put(object, "function", loc ? json_text(loc->function) : NULL);
	put(object, "file", loc ? json_text(loc->file) : NULL);
	put(object, "line", loc && loc->line ? json_count(loc->line) : NULL);
	put(object, "module", loc ? json_text(loc->module) : NULL);
}

static struct json_object *json_function(const struct report *report, const struct row *row)
{
	struct json_object *object = json_counts(report, row);

	put_loc(object, row->loc);
	put(object, "pid", json_count((uint64_t)row->pid));
	put(object, "blame", row->blame ? json_text(row->blame->function) : NULL);
	put(object, "address", row->loc ? json_address(row->loc->addr) : NULL);
	return object;
}

static struct json_object *json_path(const struct report *report, const struct row *row)
{
	static const char *const ends[] = {[PATH_WHOLE] = "whole",
		[PATH_TRUNCATED] = "truncated",
		[PATH_BROKEN] = "broken",
		[PATH_NONE] = "not asked for"};
	struct json_object *object = json_counts(report, row), *frames = json_object_new_array();

	for (size_t i = 0; i < row->n_frames; i++) {
		const struct loc *loc = profile_loc(report->profile, row->frames[i]);
		struct json_object *frame = json_object_new_object();

		put(frame, "address", json_address(loc->addr));
		put_loc(frame, loc);
		put(frame, "inlined", json_object_new_boolean(loc->is_inlined));
		add(frames, frame);
	}
	put(object, "end", json_text(ends[row->path]));
	put(object, "frames", frames);
	return object;
}

static struct json_object *json_thread(const struct report *report, const struct row *row)
{
	struct json_object *object = json_counts(report, row);

	put(object, "pid", json_count((uint64_t)row->pid));
	put(object, "tid", json_count((uint64_t)row->tid));
	return object;
}

static struct json_object *json_rows(const struct report *report, enum group group,
	struct json_object *(*json_row)(const struct report *, const struct row *))
{
	struct json_object *array = json_object_new_array();
	struct query query = report->view.query;
	size_t n;
	struct row *rows;

	query.group = group;
	query.by_process = report->is_followed;
	rows = profile_rows(report->profile, &query, &n);
	for (size_t i = 0; i < n; i++)
		add(array, json_row(report, &rows[i]));
	free(rows);
	return array;
}

static struct json_object *json_process(const struct report_process *process)
{
	struct json_object *object = json_object_new_object();

	put(object, "pid", json_count((uint64_t)process->pid));
	put(object, "parent", process->parent ? json_count((uint64_t)process->parent) : NULL);
	put(object, "hits", json_count(process->hits));
	put(object, "end", json_text(process->end));
	put(object, "command", json_text(process->command));
	return object;
}

void report_write_json(FILE *out, const struct report *report)
{
	struct json_object *root = json_object_new_object(), *array;
	struct report_field fields[REPORT_FIELDS_MAX];
	size_t n = report_fields(report, fields);

	put(root, "format", json_object_new_string("watchprof-report"));
	put(root, "format_version", json_count(1));
	for (size_t i = 0; i < n; i++)
		put(root, fields[i].key, json_field(&fields[i]));
	array = json_object_new_array();
	for (unsigned i = 0; i < report->n_watches; i++)
		add(array, json_watch(report, i));
	put(root, "watches", array);
	array = json_object_new_array();
	for (size_t i = 0; i < report->n_warnings; i++)
		add(array, json_text(report->warnings[i]));
	put(root, "warnings", array);
	array = json_object_new_array();
	for (size_t i = 0; i < report->n_processes; i++)
		add(array, json_process(&report->processes[i]));
	put(root, "processes", array);
	put(root, "functions", json_rows(report, GROUP_FUNCTION, json_function));
	put(root, "lines", json_rows(report, GROUP_LINE, json_function));
	put(root, "threads", json_rows(report, GROUP_THREAD, json_thread));
	put(root, "paths", json_rows(report, GROUP_PATH, json_path));
	fputs(json_object_to_json_string_ext(root,
		      JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE | JSON_C_TO_STRING_SPACED),
		out);
	fputc('\n', out);
	json_object_put(root);
}
