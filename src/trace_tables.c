/* trace_tables.c owns the tables that the hits of a trace refer to, and the words that all its
 * formats share. It reads and writes no file. */
#include "trace_private.h"
#include "watchprof/util.h"
#include "watchprof/value_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum trace_format format;
	const struct trace_form *form;
} formats[] = {
	{"text", TRACE_TEXT, &trace_form_text},
	{"json", TRACE_JSON, &trace_form_json},
	{"binary", TRACE_BINARY, &trace_form_binary},
};

int trace_format_parse(const char *name, enum trace_format *format, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (strcmp(formats[i].name, name) == 0) {
			*format = formats[i].format;
			return 0;
		}
	}
	return err_set(err, "unknown trace format '%s': use text, json or binary", name);
}

const struct trace_form *trace_form_of(enum trace_format format)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (formats[i].format == format)
			return formats[i].form;
	}
	return &trace_form_text;
}

void bytes_put(struct trace_bytes *bytes, const void *from, size_t len)
{
	if (bytes->len + len > bytes->cap) {
		bytes->cap = (bytes->len + len) * 2;
		bytes->at = mem_resize(bytes->at, bytes->cap, 1);
	}
	if (len > 0)
		memcpy(bytes->at + bytes->len, from, len);
	bytes->len += len;
}

void bytes_text(struct trace_bytes *bytes, const char *text)
{
	bytes_put(bytes, text, strlen(text));
}

void bytes_format(struct trace_bytes *bytes, const char *format, ...)
{
	char text[256];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	bytes_put(bytes, text, len < (int)sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

void *tables_room(void *array, size_t n, size_t *cap, size_t more, size_t size)
{
	if (n + more <= *cap)
		return array;
	*cap = (n + more) * 2;
	return mem_resize(array, *cap, size);
}

void tables_watch(struct trace_tables *tables, unsigned number, const char *text)
{
	free(tables->watch_raw[number]);
	free(tables->watch_text[number]);
	free(tables->watch_json[number]);
	tables->watch_raw[number] = text_copy(text);
	tables->watch_text[number] = text_escaped(text);
	tables->watch_json[number] = trace_json_string(text);
}

void tables_type(struct trace_tables *tables, unsigned number, const struct value_type *type)
{
	value_type_fini(&tables->watch_type[number]);
	tables->watch_type[number] = value_type_copy(type);
}

char *tables_value(const struct trace_tables *tables, uint64_t watches, const uint8_t *bytes, size_t n)
{
	const struct value_type *type = watches ? &tables->watch_type[__builtin_ctzll(watches)] : NULL;
	struct value value = {.len = (uint8_t)n};

	if (n > sizeof(value.bytes))
		return NULL;
	memcpy(value.bytes, bytes, n);
	return value_kind_of(&value, type) == VALUE_OTHER ? NULL : value_text(&value, type, NULL);
}

static char *keep(const char *text)
{
	return text ? text_copy(text) : NULL;
}

/* What is inlined there; the last one that is told of is the function itself. */
static void inlined_keep(struct trace_loc *kept, const struct loc *loc)
{
	kept->n_inlined = loc->n_inlined > 1 ? loc->n_inlined - 1 : 0;
	kept->inlined = kept->n_inlined ? mem_new(kept->n_inlined, sizeof(*kept->inlined)) : NULL;
	for (size_t i = 0; i < kept->n_inlined; i++)
		kept->inlined[i] = text_copy(loc->inlined[i].function ? loc->inlined[i].function : "?");
}

/* "inner (inlined) < outer+0x12", escaped. */
static char *loc_text(const struct trace_loc *loc)
{
	struct trace_bytes text = {0};

	for (size_t i = 0; i <= loc->n_inlined; i++) {
		const char *raw = i < loc->n_inlined ? loc->inlined[i] : loc->function ? loc->function : "?";
		char *name = text_escaped(raw);

		bytes_text(&text, name);
		if (i < loc->n_inlined)
			bytes_text(&text, INLINED " < ");
		else
			bytes_format(&text, "+0x%" PRIx64, loc->offset);
		free(name);
	}
	bytes_put(&text, "", 1);
	return text.at;
}

uint32_t tables_loc(struct trace_tables *tables, const struct loc *loc, uint64_t offset)
{
	struct trace_loc *kept;

	tables->locs =
		tables_room(tables->locs, tables->n_locs, &tables->cap_locs, 1, sizeof(*tables->locs));
	kept = &tables->locs[tables->n_locs];
	*kept = (struct trace_loc){
		.addr = loc->addr, .offset = offset, .line = loc->line, .is_entry = loc->is_entry};
	kept->function = keep(loc->function);
	kept->file = keep(loc->file);
	kept->module = keep(loc->module);
	inlined_keep(kept, loc);
	kept->text = loc_text(kept);
	kept->json = trace_json_loc(kept);
	return (uint32_t)tables->n_locs++;
}

uint32_t tables_path(struct trace_tables *tables, const uint32_t *locs, uint16_t n, uint8_t end)
{
	tables->path_locs = tables_room(tables->path_locs, tables->n_path_locs, &tables->cap_path_locs, n,
		sizeof(*tables->path_locs));
	for (uint16_t i = 0; i < n; i++)
		tables->path_locs[tables->n_path_locs + i] = locs[i];
	tables->paths =
		tables_room(tables->paths, tables->n_paths, &tables->cap_paths, 1, sizeof(*tables->paths));
	tables->paths[tables->n_paths] = (struct trace_path){tables->n_path_locs, n, end};
	tables->n_path_locs += n;
	return (uint32_t)tables->n_paths++;
}

uint32_t tables_thread(struct trace_tables *tables, pid_t pid, pid_t tid, const char *comm)
{
	struct trace_thread *thread;

	tables->threads = tables_room(tables->threads, tables->n_threads, &tables->cap_threads, 1,
		sizeof(*tables->threads));
	thread = &tables->threads[tables->n_threads];
	*thread = (struct trace_thread){
		pid, tid, text_copy(comm), text_escaped(comm), trace_json_string(comm)};
	return (uint32_t)tables->n_threads++;
}

void tables_reset(struct trace_tables *tables)
{
	for (size_t i = 0; i < tables->n_locs; i++) {
		free(tables->locs[i].function);
		free(tables->locs[i].file);
		free(tables->locs[i].module);
		free(tables->locs[i].text);
		free(tables->locs[i].json);
		for (size_t k = 0; k < tables->locs[i].n_inlined; k++)
			free(tables->locs[i].inlined[k]);
		free(tables->locs[i].inlined);
	}
	for (size_t i = 0; i < tables->n_threads; i++) {
		free(tables->threads[i].comm);
		free(tables->threads[i].text);
		free(tables->threads[i].json);
	}
	tables->n_locs = tables->n_paths = tables->n_path_locs = tables->n_threads = 0;
}

void tables_free(struct trace_tables *tables)
{
	tables_reset(tables);
	for (size_t i = 0; i < WATCHES_MAX; i++) {
		value_type_fini(&tables->watch_type[i]);
		free(tables->watch_raw[i]);
		free(tables->watch_text[i]);
		free(tables->watch_json[i]);
	}
	free(tables->locs);
	free(tables->paths);
	free(tables->path_locs);
	free(tables->threads);
}

const char *trace_kind(uint8_t kind)
{
	static const char *const known[] = {
		[0] = "?", [HIT_READ] = "r", [HIT_WRITE] = "w", [HIT_READ | HIT_WRITE] = "rw"};

	return kind & HIT_EXECUTE ? "x" : known[kind & (HIT_READ | HIT_WRITE)];
}

void trace_value(const uint8_t *bytes, size_t n, char *text)
{
	size_t high = n;

	while (high > 1 && bytes[high - 1] == 0)
		high--;
	text += sprintf(text, "0x%x", n ? bytes[high - 1] : 0);
	for (size_t i = high; i-- > 1;)
		text += sprintf(text, "%02x", bytes[i - 1]);
}

const char *trace_path_end(uint8_t end)
{
	static const char *const ends[] = {[PATH_WHOLE] = NULL,
		[PATH_TRUNCATED] = "[truncated]",
		[PATH_BROKEN] = "[broken]",
		[PATH_NONE] = NULL};

	return end < ARRAY_LEN(ends) ? ends[end] : NULL;
}
