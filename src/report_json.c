/* report_json.c owns the JSON form of a report. Every number and name is the one that the
 * other formats show; only the call paths and threads come on top. */
#include "json_private.h"
#include "report_private.h"
#include "watchprof/table.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Rows are lines. */
#define ROW_FLAGS (JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

struct frames;
typedef struct json_object *json_row_fn(const struct report *report, const struct row *row, struct frames *frames);

static struct json_object *json_value(const struct report_value_field *field)
{
	if (!field->text)
		return json_count(field->count);
	return field->is_number ? json_object_new_double_s(strtod(field->text, NULL), field->text) : json_text(field->text);
}

/* null where none are known. */
static struct json_object *json_values(const struct report *report, unsigned i)
{
	struct report_value_field fields[REPORT_VALUE_FIELDS_MAX];
	size_t n = report->values ? report_value_fields(&report->values[i], fields) : 0;
	struct json_object *object = n ? json_object_new_object() : NULL;

	for (size_t k = 0; k < n; k++)
		json_put(object, fields[k].key, json_value(&fields[k]));
	report_value_free(fields, n);
	return object;
}

static struct json_object *json_watch(const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];
	struct json_object *object = json_watch_head(report, i);

	json_put(object, "overrun", json_count(profile_count(report->profile, i).overrun));
	json_put(object, "values", json_values(report, i));
	json_put(object, "changed", watch->compared ? json_object_new_boolean(watch->changed) : NULL);
	json_put(object, "armed_share", json_object_new_double(watch->armed_share));
	json_put(object, "filtered", json_count(report_filtered(report, i)));
	json_put(object, "unknown", json_count(report_unknown(report, i)));
	return object;
}

/* null where nothing is known of it. */
static struct json_object *json_bound(uint64_t count, uint64_t unknown, uint64_t hits)
{
	return table_is_open(count, unknown, hits) ? NULL : json_count(count);
}

/* The counts every kind of row begins with. */
static struct json_object *json_counts(const struct report *report, const struct row *row)
{
	struct json_object *object = json_object_new_object();

	json_put(object, "watch", json_text(report->watches[row->watch].text));
	json_put(object, "hits", json_count(row->hits));
	json_put(object, "share", json_object_new_double(row->share));
	json_put(object, "reads", json_bound(row->reads, row->reads_unknown, row->hits));
	json_put(object, "writes", json_bound(row->writes, row->writes_unknown, row->hits));
	json_put(object, "unknown", json_count(row->unknown));
	return object;
}

static void put_loc(struct json_object *object, const struct loc *loc)
{
	json_put(object, "function", loc ? json_text(loc->function) : NULL);
	json_put(object, "file", loc ? json_text(loc->file) : NULL);
	json_put(object, "line", loc && loc->line ? json_count(loc->line) : NULL);
	json_put(object, "module", loc ? json_text(loc->module) : NULL);
}

static struct json_object *json_function(const struct report *report, const struct row *row, struct frames *frames)
{
	struct json_object *object = json_counts(report, row);

	(void)frames;
	put_loc(object, row->loc);
	json_put(object, "pid", json_count((uint64_t)row->pid));
	json_put(object, "blame", row->blame ? json_text(row->blame->function) : NULL);
	json_put(object, "address", row->loc ? json_address(row->loc->addr) : NULL);
	return object;
}

/* The frames of all places that were written, made once each: there may be many more frames than places. */
struct frames {
	struct json_object **object; /* by the index of the place */
	size_t n;
};

static struct json_object *json_frame(struct frames *frames, const struct report *report, uint32_t index)
{
	const struct loc *loc = profile_loc(report->profile, index);
	struct json_object *frame;

	frames->object = mem_reach(frames->object, index, &frames->n, sizeof(*frames->object));
	if (frames->object[index])
		return frames->object[index];
	frame = json_object_new_object();
	json_put(frame, "address", json_address(loc->addr));
	put_loc(frame, loc);
	json_put(frame, "inlined", json_object_new_boolean(loc->is_inlined));
	/* Its text stands for it: quicker to write, and smaller. */
	frames->object[index] = json_object_new_boolean(true);
	json_object_set_serializer(frames->object[index], json_object_userdata_to_json_string,
		text_copy(json_object_to_json_string_ext(frame, ROW_FLAGS)), json_object_free_userdata);
	json_object_put(frame);
	return frames->object[index];
}

static void frames_free(struct frames *frames)
{
	for (size_t i = 0; i < frames->n; i++)
		json_object_put(frames->object[i]);
	free(frames->object);
}

static struct json_object *json_path(const struct report *report, const struct row *row, struct frames *frames)
{
	struct json_object *object = json_counts(report, row), *array = json_object_new_array();

	for (size_t i = 0; i < row->n_frames; i++)
		json_add(array, json_object_get(json_frame(frames, report, row->frames[i])));
	json_put(object, "end", json_text(json_path_end(row->path)));
	json_put(object, "frames", array);
	return object;
}

static struct json_object *json_thread(const struct report *report, const struct row *row, struct frames *frames)
{
	struct json_object *object = json_counts(report, row);

	(void)frames;
	json_put(object, "pid", json_count((uint64_t)row->pid));
	json_put(object, "tid", json_count((uint64_t)row->tid));
	return object;
}

/* One array of rows, a row a line: written as it is made, so that it takes no memory. */
static void rows_write(FILE *out, const struct report *report, const char *key, enum group group, json_row_fn *json_row)
{
	struct query query = report->view.query;
	struct frames frames = {0};
	size_t n;
	struct row *rows;

	query.group = group;
	query.by_process = report->is_followed;
	rows = profile_rows(report->profile, &query, &n);
	fprintf(out, ",\n  \"%s\": [", key);
	for (size_t i = 0; i < n; i++) {
		struct json_object *object = json_row(report, &rows[i], &frames);

		fputs(i ? ",\n    " : "\n    ", out);
		fputs(json_object_to_json_string_ext(object, ROW_FLAGS), out);
		json_object_put(object);
	}
	fputs(n ? "\n  ]" : "]", out);
	frames_free(&frames);
	free(rows);
}

static struct json_object *json_process(const struct report_process *process)
{
	struct json_object *object = json_object_new_object();

	json_put(object, "pid", json_count((uint64_t)process->pid));
	json_put(object, "parent", process->parent ? json_count((uint64_t)process->parent) : NULL);
	json_put(object, "hits", json_count(process->hits));
	json_put(object, "end", json_text(process->end));
	json_put(object, "command", json_text(process->command));
	return object;
}

void report_write_json(FILE *out, const struct report *report)
{
	struct json_object *root = json_object_new_object(), *array;
	struct report_field fields[REPORT_FIELDS_MAX];
	size_t n = report_fields(report, fields), len;
	const char *text;

	json_put(root, "format", json_object_new_string("watchprof-report"));
	json_put(root, "format_version", json_count(1));
	for (size_t i = 0; i < n; i++)
		json_put(root, fields[i].key, json_field(&fields[i]));
	array = json_object_new_array();
	for (unsigned i = 0; i < report->n_watches; i++)
		json_add(array, json_watch(report, i));
	json_put(root, "watches", array);
	array = json_object_new_array();
	for (size_t i = 0; i < report->n_warnings; i++)
		json_add(array, json_text(report->warnings[i]));
	json_put(root, "warnings", array);
	array = json_object_new_array();
	for (size_t i = 0; i < report->n_processes; i++)
		json_add(array, json_process(&report->processes[i]));
	json_put(root, "processes", array);
	text = json_object_to_json_string_length(root,
		JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE | JSON_C_TO_STRING_SPACED, &len);
	fwrite(text, 1, len - strlen("\n}"), out);
	rows_write(out, report, "functions", GROUP_FUNCTION, json_function);
	rows_write(out, report, "lines", GROUP_LINE, json_function);
	rows_write(out, report, "threads", GROUP_THREAD, json_thread);
	rows_write(out, report, "paths", GROUP_PATH, json_path);
	fputs("\n}\n", out);
	json_object_put(root);
}
