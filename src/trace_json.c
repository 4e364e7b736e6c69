/* trace_json.c owns the trace in JSON: one object a line, each with its type. */
#include "json_private.h"
#include "trace_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>

/* An object as a line's text; it is freed. */
static char *json_line(struct json_object *object)
{
	char *text = text_copy(json_object_to_json_string_ext(
		object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));

	json_object_put(object);
	return text;
}

char *trace_json_string(const char *text)
{
	return json_line(json_text(text));
}

char *trace_json_loc(const struct trace_loc *loc)
{
	struct json_object *object = json_object_new_object(), *inlined = json_object_new_array();

	json_put(object, "address", json_address(loc->addr));
	json_put(object, "function", json_text(loc->function));
	json_put(object, "offset", json_count(loc->offset));
	json_put(object, "file", json_text(loc->file));
	json_put(object, "line", loc->line ? json_count(loc->line) : NULL);
	json_put(object, "module", json_text(loc->module));
	for (size_t i = 0; i < loc->n_inlined; i++)
		json_add(inlined, json_text(loc->inlined[i]));
	json_put(object, "inlined", inlined);
	return json_line(object);
}

static struct json_object *typed(const char *type)
{
	struct json_object *object = json_object_new_object();

	json_put(object, "type", json_object_new_string(type));
	return object;
}

static void json_write(struct trace_bytes *out, struct json_object *object)
{
	char *line = json_line(object);

	bytes_text(out, line);
	bytes_text(out, "\n");
	free(line);
}

static void json_about(
	struct trace_bytes *out, const struct trace_tables *tables, const struct report *run)
{
	struct json_object *object = typed("trace");

	(void)tables;
	json_put(object, "format_version", json_count(TRACE_VERSION));
	json_run(object, run);
	json_write(out, object);
}

static void json_module(struct trace_bytes *out, const char *path, const char *build_id)
{
	struct json_object *object = typed("module");

	json_put(object, "module", json_text(path));
	json_put(object, "build_id", json_text(build_id));
	json_write(out, object);
}

static void json_watch(struct trace_bytes *out, const struct trace_tables *tables, unsigned number)
{
	struct json_object *object = typed("watch");

	json_put(object, "watch", json_text(tables->watch_raw[number]));
	json_write(out, object);
}

static void json_thread(struct trace_bytes *out, const struct trace_tables *tables, uint32_t number)
{
	const struct trace_thread *thread = &tables->threads[number];
	struct json_object *object;

	if (number == 0)
		return; /* it stands for what is not known */
	object = typed("thread");
	json_put(object, "pid", json_count((uint64_t)thread->pid));
	json_put(object, "tid", json_count((uint64_t)thread->tid));
	json_put(object, "comm", json_text(thread->comm));
	json_write(out, object);
}

/* Places and paths are in the objects of the hits. */
static void json_number(struct trace_bytes *out, const struct trace_tables *tables, uint32_t number)
{
	(void)out;
	(void)tables;
	(void)number;
}

static void json_reset(struct trace_bytes *out)
{
	(void)out;
}

static void json_value(struct trace_bytes *out, const char *key, const uint8_t *bytes, size_t n)
{
	char text[3 + 2 * TRACE_VALUE_MAX];

	if (n == 0) {
		bytes_format(out, ",\"%s\":null", key);
		return;
	}
	trace_value(bytes, n, text);
	bytes_format(out, ",\"%s\":\"%s\"", key, text);
}

/* The same by its type. */
static void json_typed(struct trace_bytes *out, const char *key, char *text)
{
	char *json = text ? trace_json_string(text) : NULL;

	bytes_format(out, ",\"%s\":", key);
	bytes_text(out, json ? json : "null");
	free(json);
	free(text);
}

static void json_path(
	struct trace_bytes *out, const struct trace_tables *tables, const struct trace_path *path)
{
	bytes_format(out, ",\"path_end\":\"%s\",\"path\":[", json_path_end(path->end));
	for (uint16_t i = 0; i < path->n; i++) {
		if (i)
			bytes_text(out, ",");
		bytes_text(out, tables->locs[tables->path_locs[path->first + i]].json);
	}
	bytes_text(out, "]");
}

static void json_hit(
	struct trace_bytes *out, struct trace_tables *tables, const struct trace_record *record)
{
	const struct trace_thread *thread = &tables->threads[record->thread];
	const struct trace_path *path = &tables->paths[record->path];
	bool is_first = true;

	bytes_format(out, "{\"type\":\"hit\",\"time\":%" PRIu64 ",\"pid\":%d,\"tid\":%d,\"comm\":",
		record->time_ns, thread->pid, thread->tid);
	bytes_text(out, thread->json);
	if (record->cpu)
		bytes_format(out, ",\"cpu\":%d,\"watches\":[", record->cpu - 1);
	else
		bytes_text(out, ",\"cpu\":null,\"watches\":[");
	for (uint64_t left = record->watches; left; left &= left - 1) {
		const char *json = tables->watch_json[__builtin_ctzll(left)];

		if (!is_first)
			bytes_text(out, ",");
		bytes_text(out, json ? json : "null");
		is_first = false;
	}
	bytes_format(out, "],\"kind\":\"%s\"", trace_kind(record->kind));
	json_value(out, "old", record->values.old, record->values.n_old);
	json_value(out, "new", record->values.new, record->values.n_new);
	json_typed(out, "old_value", tables_value(tables, record->watches, record->values.old, record->values.n_old));
	json_typed(out, "new_value", tables_value(tables, record->watches, record->values.new, record->values.n_new));
	bytes_text(out, ",\"place\":");
	bytes_text(out, path->n ? tables->locs[tables->path_locs[path->first]].json : "null");
	if (tables->with_stack)
		json_path(out, tables, path);
	bytes_text(out, "}\n");
}

static void json_dropped(struct trace_bytes *out, uint64_t n)
{
	bytes_format(out, "{\"type\":\"dropped\",\"hits\":%" PRIu64 "}\n", n);
}

static void json_end(struct trace_bytes *out, const struct trace_counts *counts, const char *why)
{
	struct json_object *object = typed("end");

	json_put(object, "hits", json_count(counts->hits));
	json_put(object, "dropped", json_count(counts->dropped));
	json_put(object, "overwritten", json_count(counts->overwritten));
	json_put(object, "end", json_text(why));
	json_write(out, object);
}

const struct trace_form trace_form_json = {
	.name = "json",
	.about = json_about,
	.module = json_module,
	.watch = json_watch,
	.thread = json_thread,
	.loc = json_number,
	.path = json_number,
	.reset = json_reset,
	.hit = json_hit,
	.dropped = json_dropped,
	.end = json_end,
};
