/* trace_private: what the writers of the trace formats and the decoder share: the tables of places,
 * threads and watches that hits refer to by number, and one table of functions for each format. */
#ifndef WATCHPROF_TRACE_PRIVATE_H
#define WATCHPROF_TRACE_PRIVATE_H

#include "watchprof/trace.h"
#include "watchprof/value_type.h"
#include "watchprof/watch.h"

#define TRACE_MAGIC   "WPTRACE\n"
#define TRACE_VERSION 1

/* Bytes to be written, in memory that grows. */
struct trace_bytes {
	char *at;
	size_t len, cap;
};

void bytes_put(struct trace_bytes *bytes, const void *from, size_t len);
void bytes_text(struct trace_bytes *bytes, const char *text);
void bytes_format(struct trace_bytes *bytes, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A place in the code, with the forms that the formats show made once. */
struct trace_loc {
	uint64_t addr, offset; /* offset in the function: of the saved instruction pointer */
	uint32_t line;
	bool is_entry; /* see struct loc; not in the file */
	char *function, *file, *module; /* or NULL */
	char **inlined; /* what is inlined there, innermost first */
	size_t n_inlined;
	bool is_signal; /* a frame that the kernel made; not in the file */
	char *text;			/* escaped: function+0x12 */
	char *json;			/* an object */
};

struct trace_path {
	size_t first; /* into path_locs */
	uint16_t n;
	uint8_t end; /* enum hit_path */
};

struct trace_thread {
	pid_t pid, tid;
	char *comm;
	char *text, *json; /* escaped; a JSON string */
};

/* A hit in the ring, or on its way to a format. */
struct trace_record {
	uint64_t time_ns; /* since the start */
	uint64_t watches;
	uint32_t thread, path; /* numbers in the tables */
	uint8_t kind;
	uint16_t cpu; /* 1 + the number; 0: not known */
	struct trace_values values;
};

struct trace_tables {
	struct value_type watch_type[WATCHES_MAX];
	char *watch_text[WATCHES_MAX], *watch_json[WATCHES_MAX], *watch_raw[WATCHES_MAX];
	struct trace_loc *locs;
	size_t n_locs, cap_locs;
	struct trace_path *paths;
	size_t n_paths, cap_paths;
	uint32_t *path_locs;
	size_t n_path_locs, cap_path_locs;
	struct trace_thread *threads;
	size_t n_threads, cap_threads;
	bool with_stack; /* paths are more than their first frame */
	uint64_t last_ns; /* of the last hit in the binary form */
};

/* An array that may have moved, with room for so many more elements. */
void *tables_room(void *array, size_t n, size_t *cap, size_t more, size_t size);

void tables_watch(struct trace_tables *tables, unsigned number, const char *text);

/* What its values mean. */
void tables_type(struct trace_tables *tables, unsigned number, const struct value_type *type);

/* A value of a hit of these watches (that of the first of them) by its type, owned by the caller; NULL: its type is not
 * known. */
char *tables_value(const struct trace_tables *tables, uint64_t watches, const uint8_t *bytes, size_t n);

uint32_t tables_loc(struct trace_tables *tables, const struct loc *loc, uint64_t offset);
uint32_t tables_path(struct trace_tables *tables, const uint32_t *locs, uint16_t n, uint8_t end);
uint32_t tables_thread(struct trace_tables *tables, pid_t pid, pid_t tid, const char *comm);

/* Forget places and paths. */
void tables_reset(struct trace_tables *tables);
void tables_free(struct trace_tables *tables);

/* "r", "w", "rw", "x", "?": what is known to have been done. */
const char *trace_kind(uint8_t kind);

/* A value, lowest byte first in memory, as a number in hexadecimal. text has room for 2 + 2 * TRACE_VALUE_MAX + 1. */
void trace_value(const uint8_t *bytes, size_t n, char *text);

/* How a path ends that is not whole, in words; NULL. */
const char *trace_path_end(uint8_t end);

/* One way to write a trace. */
struct trace_form {
	const char *name;
	void (*about)(struct trace_bytes *out, const struct trace_tables *tables, const struct report *run);
	void (*module)(struct trace_bytes *out, const char *path, const char *build_id);
	void (*watch)(struct trace_bytes *out, const struct trace_tables *tables, unsigned number);
	void (*thread)(struct trace_bytes *out, const struct trace_tables *tables, uint32_t number);
	void (*loc)(struct trace_bytes *out, const struct trace_tables *tables, uint32_t number);
	void (*path)(struct trace_bytes *out, const struct trace_tables *tables, uint32_t number);
	void (*reset)(struct trace_bytes *out);
	void (*hit)(struct trace_bytes *out, struct trace_tables *tables, const struct trace_record *record);
	void (*dropped)(struct trace_bytes *out, uint64_t n);
	void (*end)(struct trace_bytes *out, const struct trace_counts *counts, const char *why);
};

extern const struct trace_form trace_form_text, trace_form_json, trace_form_binary;
const struct trace_form *trace_form_of(enum trace_format format);

/* The forms of JSON that are made once; the caller frees them. */
char *trace_json_string(const char *text);
char *trace_json_loc(const struct trace_loc *loc);

/* Types of records in the binary form. */
enum trace_type {
	TYPE_ABOUT = 'A',
	TYPE_MODULE = 'M',
	TYPE_WATCH = 'W',
	TYPE_TYPE = 'V',
	TYPE_THREAD = 'T',
	TYPE_LOC = 'L',
	TYPE_PATH = 'P',
	TYPE_RESET = 'R',
	TYPE_HIT = 'H',
	TYPE_DROPPED = 'D',
	TYPE_END = 'E',
};

#endif
