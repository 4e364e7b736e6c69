/* trace_decode.c owns the reading of the binary trace. It trusts no byte of it: what does not fit
 * ends the reading with one line that says where. */
#include "json_private.h"
#include "trace_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX (1U << 28)
#define CHUNK      65536

struct decoder {
	FILE *in, *out;
	const char *name; /* of the input */
	const struct trace_form *form;
	struct trace_tables tables;
	struct trace_bytes record, line;
	size_t at;       /* in the record */
	bool is_bad;     /* the record ended too early, or holds what cannot be */
	uint64_t offset; /* of the record in the file */
	uint64_t hits;
	bool is_ended;
};

static uint64_t get_number(struct decoder *decoder)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64 && decoder->at < decoder->record.len; shift += 7) {
		unsigned char byte = (unsigned char)decoder->record.at[decoder->at++];

		if (shift == 63 && byte > 1)
			break;
		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	decoder->is_bad = true;
	return 0;
}

/* A number up to max. */
static uint64_t get_below(struct decoder *decoder, uint64_t max)
{
	uint64_t number = get_number(decoder);

	if (number <= max)
		return number;
	decoder->is_bad = true;
	return 0;
}

static void get_bytes(struct decoder *decoder, void *out, size_t len)
{
	if (len > decoder->record.len - decoder->at) {
		decoder->is_bad = true;
		return;
	}
	if (len > 0)
		memcpy(out, decoder->record.at + decoder->at, len);
	decoder->at += len;
}

/* A text, which the caller frees; NULL: it is empty. */
static char *get_text(struct decoder *decoder)
{
	uint64_t len = get_below(decoder, decoder->record.len - decoder->at);
	char *text;

	if (len == 0)
		return NULL;
	text = mem_new(len + 1, 1);
	get_bytes(decoder, text, len);
	return text;
}

static const char *about_text(struct json_object *about, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(about, key, &value) ? json_object_get_string(value) : NULL;
}

static uint64_t about_number(struct json_object *about, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(about, key, &value) ? json_object_get_uint64(value) : 0;
}

static void take_about(struct decoder *decoder)
{
	char *text = mem_new(decoder->record.len + 1, 1);
	struct json_object *object;
	struct report run;

	get_bytes(decoder, text, decoder->record.len);
	object = json_tokener_parse(text);
	free(text);
	if (!object || !json_object_is_type(object, json_type_object) ||
		about_number(object, "format_version") != TRACE_VERSION) {
		decoder->is_bad = true;
		json_object_put(object);
		return;
	}
	run = (struct report){.version = about_text(object, "version"),
		.command_line = about_text(object, "command_line"),
		.command = about_text(object, "command"),
		.build_id = about_text(object, "build_id"),
		.machine = about_text(object, "machine"),
		.kernel = about_text(object, "kernel"),
		.engine = about_text(object, "engine"),
		.self_test = about_text(object, "self_test"),
		.pid = (pid_t)about_number(object, "pid"),
		.start_unix_s = about_number(object, "start")};
	decoder->tables.with_stack = about_number(object, "with_stack") != 0;
	decoder->form->about(&decoder->line, &decoder->tables, &run);
	json_object_put(object);
}

static void take_module(struct decoder *decoder)
{
	char *path = get_text(decoder), *build_id = get_text(decoder);

	if (!decoder->is_bad)
		decoder->form->module(&decoder->line, path ? path : "", build_id);
	free(path);
	free(build_id);
}

static void take_watch(struct decoder *decoder)
{
	unsigned number = (unsigned)get_below(decoder, WATCHES_MAX - 1);
	char *text = get_text(decoder);

	if (!decoder->is_bad) {
		tables_watch(&decoder->tables, number, text ? text : "");
		decoder->form->watch(&decoder->line, &decoder->tables, number);
	}
	free(text);
}

static int64_t get_signed(struct decoder *decoder)
{
	uint64_t number = get_number(decoder);

	return (int64_t)(number >> 1 ^ -(number & 1));
}

/* The names of an enum. Each has two bytes at least. */
static void take_names(struct decoder *decoder, struct value_type *type)
{
	size_t n = get_below(decoder, decoder->record.len / 2);

	type->names = n ? mem_new(n, sizeof(*type->names)) : NULL;
	while (type->n_names < n && !decoder->is_bad) {
		char *name = get_text(decoder);

		type->names[type->n_names++] = (struct value_name){name ? name : text_copy(""), get_signed(decoder)};
	}
}

static void take_type(struct decoder *decoder)
{
	unsigned number = (unsigned)get_below(decoder, WATCHES_MAX - 1);
	struct value_type type = {.kind = (enum value_kind)get_below(decoder, VALUE_ENUM)};

	type.size = get_number(decoder);
	type.bit_size = (unsigned)get_below(decoder, 64);
	type.bit_offset = (unsigned)get_below(decoder, 7);
	type.name = get_text(decoder);
	take_names(decoder, &type);
	if (!decoder->is_bad)
		tables_type(&decoder->tables, number, &type);
	value_type_fini(&type);
}

static void take_thread(struct decoder *decoder)
{
	pid_t pid = (pid_t)get_below(decoder, INT32_MAX),
	      tid = (pid_t)get_below(decoder, INT32_MAX);
	char *comm = get_text(decoder);

	if (!decoder->is_bad) {
		uint32_t number = tables_thread(&decoder->tables, pid, tid, comm ? comm : "");

		decoder->form->thread(&decoder->line, &decoder->tables, number);
	}
	free(comm);
}

/* What is inlined at a place, and behind it the function itself, which loc has. Traces of before do not tell. A name has
 * a byte at least. */
static struct inlined *take_inlined(struct decoder *decoder, struct loc *loc)
{
	bool is_told = decoder->at < decoder->record.len;
	size_t n = is_told ? get_below(decoder, decoder->record.len - decoder->at) : 0;
	struct inlined *inlined = mem_new(n + 1, sizeof(*inlined));

	for (size_t i = 0; i < n && !decoder->is_bad; i++)
		inlined[i].function = get_text(decoder);
	loc->inlined = inlined;
	loc->n_inlined = n + 1;
	return inlined;
}

static void take_loc(struct decoder *decoder)
{
	struct inlined *inlined;
	struct loc loc = {.addr = get_number(decoder)};
	uint64_t offset = get_number(decoder);

	loc.line = (unsigned)get_below(decoder, UINT32_MAX);
	loc.function = get_text(decoder);
	loc.file = get_text(decoder);
	loc.module = get_text(decoder);
	inlined = take_inlined(decoder, &loc);
	if (!decoder->is_bad)
		tables_loc(&decoder->tables, &loc, offset);
	for (size_t i = 0; i + 1 < loc.n_inlined; i++)
		free((char *)inlined[i].function);
	free(inlined);
	free((char *)loc.function);
	free((char *)loc.file);
	free((char *)loc.module);
}

static void take_path(struct decoder *decoder)
{
	uint32_t locs[STACK_DEPTH_MAX];
	uint8_t end = (uint8_t)get_below(decoder, PATH_NONE);
	uint16_t n = (uint16_t)get_below(decoder, STACK_DEPTH_MAX);

	for (uint16_t i = 0; i < n; i++) {
		locs[i] = (uint32_t)get_below(decoder, UINT32_MAX);
		decoder->is_bad |= locs[i] >= decoder->tables.n_locs;
	}
	if (!decoder->is_bad)
		tables_path(&decoder->tables, locs, n, end);
}

static void take_reset(struct decoder *decoder)
{
	tables_reset(&decoder->tables);
}

static void take_hit(struct decoder *decoder)
{
	struct trace_tables *tables = &decoder->tables;
	struct trace_record record;

	record.time_ns = tables->last_ns + (uint64_t)get_signed(decoder);
	record.thread = (uint32_t)get_below(decoder, UINT32_MAX);
	record.watches = get_number(decoder);
	record.kind = (uint8_t)get_below(decoder, UINT8_MAX);
	record.path = (uint32_t)get_below(decoder, UINT32_MAX);
	record.values.n_old = (uint8_t)get_below(decoder, TRACE_VALUE_MAX);
	get_bytes(decoder, record.values.old, record.values.n_old);
	record.values.n_new = (uint8_t)get_below(decoder, TRACE_VALUE_MAX);
	get_bytes(decoder, record.values.new, record.values.n_new);
	/* Traces of before had no such field. */
	record.cpu = decoder->at < decoder->record.len ? (uint16_t)get_below(decoder, UINT16_MAX) : 0;
	decoder->is_bad |= record.thread >= tables->n_threads || record.path >= tables->n_paths;
	if (decoder->is_bad)
		return;
	decoder->form->hit(&decoder->line, tables, &record);
	tables->last_ns = record.time_ns;
	decoder->hits++;
}

static void take_dropped(struct decoder *decoder)
{
	uint64_t n = get_number(decoder);

	if (!decoder->is_bad)
		decoder->form->dropped(&decoder->line, n);
}

static void take_end(struct decoder *decoder)
{
	struct trace_counts counts;
	char *why;

	counts.hits = get_number(decoder);
	counts.dropped = get_number(decoder);
	counts.overwritten = get_number(decoder);
	why = get_text(decoder);
	if (!decoder->is_bad)
		decoder->form->end(&decoder->line, &counts, why);
	decoder->is_ended = true;
	free(why);
}

static const struct {
	enum trace_type type;
	void (*take)(struct decoder *decoder);
} takers[] = {
	{TYPE_ABOUT, take_about},
	{TYPE_MODULE, take_module},
	{TYPE_WATCH, take_watch},
	{TYPE_TYPE, take_type},
	{TYPE_THREAD, take_thread},
	{TYPE_LOC, take_loc},
	{TYPE_PATH, take_path},
	{TYPE_RESET, take_reset},
	{TYPE_HIT, take_hit},
	{TYPE_DROPPED, take_dropped},
	{TYPE_END, take_end},
};

static int cut_off(const struct decoder *decoder, struct err *err)
{
	return err_set(err,
		"%s: the trace is cut off after %" PRIu64 " hits, in the record at byte %" PRIu64,
		decoder->name, decoder->hits, decoder->offset);
}

static int damaged(const struct decoder *decoder, struct err *err)
{
	return err_set(err,
		"%s: the trace is damaged: the record at byte %" PRIu64 ", after %" PRIu64
		" hits, makes no sense",
		decoder->name, decoder->offset, decoder->hits);
}

/* The length of a record: 0, or -1 where the file ends or it cannot be. */
static int length_read(struct decoder *decoder, uint64_t *len, struct err *err)
{
	*len = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		int byte = getc(decoder->in);

		if (byte == EOF)
			return cut_off(decoder, err);
		*len |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return *len < RECORD_MAX ? 0 : damaged(decoder, err);
	}
	return damaged(decoder, err);
}

/* Read a record, piece by piece: a length that is wrong must not take memory. */
static int record_read(struct decoder *decoder, struct err *err)
{
	char chunk[CHUNK];
	uint64_t left;

	if (length_read(decoder, &left, err))
		return -1;
	decoder->record.len = 0;
	while (left > 0) {
		size_t n = fread(chunk, 1, left < CHUNK ? left : CHUNK, decoder->in);

		if (n == 0)
			return cut_off(decoder, err);
		bytes_put(&decoder->record, chunk, n);
		left -= n;
	}
	return 0;
}

/* Types that are not known come from a later version; they are passed over. */
static int record_take(struct decoder *decoder, int type, struct err *err)
{
	decoder->at = 0;
	decoder->line.len = 0;
	for (size_t i = 0; i < ARRAY_LEN(takers); i++) {
		if ((int)takers[i].type == type)
			takers[i].take(decoder);
	}
	if (decoder->is_bad)
		return damaged(decoder, err);
	if (fwrite(decoder->line.at, 1, decoder->line.len, decoder->out) != decoder->line.len)
		return err_set(err, "the decoded trace could not be written");
	return 0;
}

static int decode(struct decoder *decoder, struct err *err)
{
	char magic[sizeof(TRACE_MAGIC) - 1];
	int type;

	if (fread(magic, 1, sizeof(magic), decoder->in) != sizeof(magic) ||
		memcmp(magic, TRACE_MAGIC, sizeof(magic)) != 0)
		return err_set(err,
			"%s: not a binary trace of watchprof (made with --trace-format=binary)",
			decoder->name);
	decoder->offset = sizeof(magic);
	while ((type = getc(decoder->in)) != EOF) {
		bool is_first = decoder->offset == sizeof(magic);

		if (is_first && type != TYPE_ABOUT)
			return damaged(decoder, err);
		if (record_read(decoder, err) || record_take(decoder, type, err))
			return -1;
		decoder->offset += 1 + decoder->record.len;
		for (size_t len = type == TYPE_HIT ? 0x7f : 0xfffffff; len > 0; len >>= 7)
			decoder->offset++;
	}
	return decoder->is_ended ? 0 : cut_off(decoder, err);
}

int trace_decode(FILE *in, const char *name, FILE *out, enum trace_format format, struct err *err)
{
	struct decoder decoder = {
		.in = in, .out = out, .name = name, .form = trace_form_of(format)};
	int result = decode(&decoder, err);

	tables_free(&decoder.tables);
	free(decoder.record.at);
	free(decoder.line.at);
	if (fflush(out) && result == 0)
		result = err_set(err, "the decoded trace could not be written");
	return result;
}
