/* trace_binary.c owns the writing of the binary trace: the magic, then records of a type (one
 * byte), a length and that many bytes. Numbers are little-endian base 128 (as in protocol buffers
 * and DWARF's ULEB128), texts a length and bytes. The first record describes the others.
 * trace_decode.c reads it. */
#include "json_private.h"
#include "trace_private.h"
#include "watchprof/util.h"

#include <string.h>

static void put_number(struct trace_bytes *out, uint64_t number)
{
	unsigned char bytes[10];
	size_t n = 0;

	do {
		bytes[n++] = (unsigned char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
		number >>= 7;
	} while (number);
	bytes_put(out, bytes, n);
}

/* NULL is written as an empty text. */
static void put_text(struct trace_bytes *out, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	put_number(out, len);
	bytes_put(out, text, len);
}

/* The length is written over what was left free for it, in so many bytes; a hit's takes one. */
#define LEN_BYTES 4
#define LEN_LIMIT ((size_t)1 << (7 * LEN_BYTES))

static size_t record_begin(struct trace_bytes *out, enum trace_type type)
{
	char head[1 + LEN_BYTES] = {(char)type};

	bytes_put(out, head, sizeof(head));
	return out->len;
}

static void record_end(struct trace_bytes *out, size_t begin)
{
	size_t len = out->len - begin;
	unsigned char *at = (unsigned char *)out->at + begin - LEN_BYTES;

	if (len >= LEN_LIMIT)
		die("a record of a trace is longer than %zu bytes", LEN_LIMIT);
	for (int i = 0; i < LEN_BYTES; i++) {
		at[i] = (unsigned char)((len & 0x7f) | (i < LEN_BYTES - 1 ? 0x80 : 0));
		len >>= 7;
	}
}

/* What the records are made of, in words for who has to read them without this program. */
static const struct {
	const char *type, *fields;
} records[] = {
	{"A", "JSON text: this record"},
	{"M", "module: path text, build_id text"},
	{"W", "watch: number, text"},
	{"V", "what the values of a watch mean: number, kind (0 unknown 1 signed 2 unsigned 3 float 4 bool 5 characters "
	      "6 pointer 7 enum), bytes, bits of a bit-field or 0, its lowest bit, name text, names of an enum, for each "
	      "its text and its number (zigzag)"},
	{"T", "thread, numbered from 0 on: pid, tid, comm text"},
	{"L", "place, numbered from 0 on: address, offset in function, line, function text, file "
	      "text, module text, functions inlined there, innermost first, name text each"},
	{"P", "call path, numbered from 0 on: end (0 whole 1 truncated 2 broken 3 none), frames, "
	      "place number each"},
	{"R", "threads, places and paths are numbered from 0 on again"},
	{"H", "hit: nanoseconds since the last hit (zigzag), thread, watches (bit set), kind (bit "
	      "set: 1 read 2 write "
	      "4 execute 8 read unknown 16 write unknown), path, old length and bytes, new length "
	      "and bytes, 1 + processor or 0"},
	{"D", "hits that were dropped here"},
	{"E", "end: hits, dropped, overwritten, why text"},
};

static void binary_about(
	struct trace_bytes *out, const struct trace_tables *tables, const struct report *run)
{
	struct json_object *object = json_object_new_object(), *fields = json_object_new_object();
	size_t begin;

	bytes_put(out, TRACE_MAGIC, strlen(TRACE_MAGIC));
	json_put(object, "format", json_text("watchprof-trace"));
	json_put(object, "format_version", json_count(TRACE_VERSION));
	json_put(object, "with_stack", json_object_new_boolean(tables->with_stack));
	json_run(object, run);
	for (size_t i = 0; i < ARRAY_LEN(records); i++)
		json_put(fields, records[i].type, json_text(records[i].fields));
	json_put(object, "records", fields);
	begin = record_begin(out, TYPE_ABOUT);
	bytes_text(out, json_object_to_json_string_ext(
				object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	record_end(out, begin);
	json_object_put(object);
}

static void binary_module(struct trace_bytes *out, const char *path, const char *build_id)
{
	size_t begin = record_begin(out, TYPE_MODULE);

	put_text(out, path);
	put_text(out, build_id);
	record_end(out, begin);
}

/* One that has a sign, near 0 in few bytes. */
static void put_signed(struct trace_bytes *out, int64_t number)
{
	put_number(out, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

static void put_type(struct trace_bytes *out, const struct value_type *type, unsigned number)
{
	size_t begin = record_begin(out, TYPE_TYPE);

	put_number(out, number);
	put_number(out, type->kind);
	put_number(out, type->size);
	put_number(out, type->bit_size);
	put_number(out, type->bit_offset);
	put_text(out, type->name);
	put_number(out, type->n_names);
	for (size_t i = 0; i < type->n_names; i++) {
		put_text(out, type->names[i].name);
		put_signed(out, type->names[i].value);
	}
	record_end(out, begin);
}

static void binary_watch(
	struct trace_bytes *out, const struct trace_tables *tables, unsigned number)
{
	size_t begin = record_begin(out, TYPE_WATCH);

	put_number(out, number);
	put_text(out, tables->watch_raw[number]);
	record_end(out, begin);
	put_type(out, &tables->watch_type[number], number);
}

static void binary_thread(
	struct trace_bytes *out, const struct trace_tables *tables, uint32_t number)
{
	const struct trace_thread *thread = &tables->threads[number];
	size_t begin = record_begin(out, TYPE_THREAD);

	put_number(out, (uint64_t)thread->pid);
	put_number(out, (uint64_t)thread->tid);
	put_text(out, thread->comm);
	record_end(out, begin);
}

static void binary_loc(struct trace_bytes *out, const struct trace_tables *tables, uint32_t number)
{
	const struct trace_loc *loc = &tables->locs[number];
	size_t begin = record_begin(out, TYPE_LOC);

	put_number(out, loc->addr);
	put_number(out, loc->offset);
	put_number(out, loc->line);
	put_text(out, loc->function);
	put_text(out, loc->file);
	put_text(out, loc->module);
	put_number(out, loc->n_inlined);
	for (size_t i = 0; i < loc->n_inlined; i++)
		put_text(out, loc->inlined[i]);
	record_end(out, begin);
}

static void binary_path(struct trace_bytes *out, const struct trace_tables *tables, uint32_t number)
{
	const struct trace_path *path = &tables->paths[number];
	size_t begin = record_begin(out, TYPE_PATH);

	put_number(out, path->end);
	put_number(out, path->n);
	for (uint16_t i = 0; i < path->n; i++)
		put_number(out, tables->path_locs[path->first + i]);
	record_end(out, begin);
}

static void binary_reset(struct trace_bytes *out)
{
	record_end(out, record_begin(out, TYPE_RESET));
}

static void binary_hit(
	struct trace_bytes *out, struct trace_tables *tables, const struct trace_record *record)
{
	const struct trace_values *values = &record->values;
	int64_t step = (int64_t)(record->time_ns - tables->last_ns);
	size_t begin;

	bytes_put(out, (char[]){TYPE_HIT, 0}, 2);
	begin = out->len;
	put_signed(out, step);
	put_number(out, record->thread);
	put_number(out, record->watches);
	put_number(out, record->kind);
	put_number(out, record->path);
	put_number(out, values->n_old);
	bytes_put(out, values->old, values->n_old);
	put_number(out, values->n_new);
	bytes_put(out, values->new, values->n_new);
	put_number(out, record->cpu);
	out->at[begin - 1] = (char)(out->len - begin); /* below 128 */
	tables->last_ns = record->time_ns;
}

static void binary_dropped(struct trace_bytes *out, uint64_t n)
{
	size_t begin = record_begin(out, TYPE_DROPPED);

	put_number(out, n);
	record_end(out, begin);
}

static void binary_end(struct trace_bytes *out, const struct trace_counts *counts, const char *why)
{
	size_t begin = record_begin(out, TYPE_END);

	put_number(out, counts->hits);
	put_number(out, counts->dropped);
	put_number(out, counts->overwritten);
	put_text(out, why);
	record_end(out, begin);
}

const struct trace_form trace_form_binary = {
	.name = "binary",
	.about = binary_about,
	.module = binary_module,
	.watch = binary_watch,
	.thread = binary_thread,
	.loc = binary_loc,
	.path = binary_path,
	.reset = binary_reset,
	.hit = binary_hit,
	.dropped = binary_dropped,
	.end = binary_end,
};
