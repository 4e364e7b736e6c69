/* trace: one record for each hit, in order, as text, JSON or a compact binary form that is made
 * into one of the others later (trace_decode). Names are looked up once for each new place, never
 * per hit. */
#ifndef WATCHPROF_TRACE_H
#define WATCHPROF_TRACE_H

#include "watchprof/err.h"
#include "watchprof/hit.h"
#include "watchprof/profile.h"
#include "watchprof/report.h"
#include "watchprof/value_type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define TRACE_VALUE_MAX 32 /* bytes: what four slots cover */
#define TRACE_COMM_MAX  16 /* with the final NUL (TASK_COMM_LEN of the kernel) */

enum trace_format {
	TRACE_TEXT,
	TRACE_JSON,
	TRACE_BINARY,
};

/* Where the trace gets what it does not know, once for each new place or thread. */
struct trace_source {
	/* As locate_fn; *offset: of addr in its function. */
	void (*locate)(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out,
		uint64_t *offset);
	void (*comm)(void *context, pid_t tid, char comm[TRACE_COMM_MAX]);
	void *context;
};

struct trace_options {
	enum trace_format format;
	const char *path; /* NULL: standard error */
	bool with_stack;  /* call paths, not only the function */
	size_t flight; /* bytes for a ring of the newest hits; 0: everything is written as it comes
			*/
};

/* What a hit changed. A length of 0: not known. */
struct trace_values {
	uint8_t n_old, n_new;
	uint8_t old[TRACE_VALUE_MAX], new[TRACE_VALUE_MAX];
};

struct trace_counts {
	uint64_t hits;    /* that came while the trace was on */
	uint64_t dropped; /* of these, not written, as the reader was too slow or the file failed */
	uint64_t overwritten; /* of these, given up for newer ones in the ring */
};

struct trace;

/* Open the file, which is truncated when the trace begins. NULL with err set. */
struct trace *trace_open(
	const struct trace_options *options, const struct trace_source *source, struct err *err);

/* What the trace begins with: the run (its report, as far as it is known now), the modules and the threads as they are now,
 * then the watches. To be called in this order, before the first hit. Times begin at start_ns
 * (CLOCK_MONOTONIC). */
void trace_begin(struct trace *trace, uint64_t start_ns, const struct report *run);
void trace_module(struct trace *trace, const char *path, const char *build_id);
void trace_thread(struct trace *trace, pid_t pid, pid_t tid, const char *comm);

/* The text of watch number i, and what its values mean; again whenever it has another one. */
void trace_watch(struct trace *trace, unsigned number, const char *text, const struct value_type *type);

/* One hit. values may be NULL. Never waits for a reader. */
void trace_hit(struct trace *trace, const struct hit *hit, const struct trace_values *values);

/* Write what is buffered as far as that is possible without waiting. True: the trace has failed
 * since the last call, and err tells; nothing more is written. */
bool trace_flush(struct trace *trace, struct err *err);

/* Write the ring into a file of its own, which is replaced (with flight only). */
int trace_dump(struct trace *trace, const char *path, const char *why, struct err *err);

/* The end: dump the ring, or write what is buffered, waiting for a slow reader until stop_fd (-1:
 * none) can be read from. -1 with err set where it fails; the counts stay good until trace_free().
 */
int trace_close(struct trace *trace, const char *why, int stop_fd, struct err *err);
struct trace_counts trace_counts(const struct trace *trace);
void trace_free(struct trace *trace);

/* Make a binary trace into text or JSON. name: of the input, in messages. -1: it is no trace, or
 * one that is damaged or cut off; what came before has been written. */
int trace_decode(FILE *in, const char *name, FILE *out, enum trace_format format, struct err *err);

/* A format by its name. */
int trace_format_parse(const char *name, enum trace_format *format, struct err *err);

#endif
