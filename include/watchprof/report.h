/* report: the end of a run, written for people and for programs. */
#ifndef WATCHPROF_REPORT_H
#define WATCHPROF_REPORT_H

#include "watchprof/code.h"
#include "watchprof/err.h"
#include "watchprof/profile.h"
#include "watchprof/report_values.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum report_format {
	REPORT_TEXT,
	REPORT_TSV,
	REPORT_JSON,
	REPORT_CSV,
	REPORT_FOLDED,
	REPORT_PPROF,
};

/* A report to be written. */
struct report_output {
	enum report_format format;
	char *path; /* NULL: stdout */
};

/* What the tables of a report show, and in which order. The formats for other programs' viewers
 * (folded, pprof) always have the call paths. */
struct report_view {
	struct query query;
	bool is_tree; /* the tree of callers instead of rows */
};

/* One watch as the report shows it. */
struct report_watch {
	const char *text;   /* as the user typed it */
	const char *object; /* what it was resolved to: name, file:line, module; may be NULL */
	const char *access;
	uint64_t addr, len; /* last armed; len 0: never */
	unsigned slots;	    /* debug register slots it takes by itself */
	const char *state;  /* "armed", "pending", "ended at exec": how it stood at the end */
	bool changed;	    /* the bytes at the end differ from those at the start */
	bool compared;	    /* they could be compared */
	bool is_tls;	    /* thread-local: it has another address in each thread */
	double armed_share; /* of the time that it was to be watched; below 1: its counts are a sample */
};

/* The address as every output shows it: 0xADDRESS or "per thread". Returns text. */
#define REPORT_ADDRESS_LEN 24
const char *report_address(const struct report_watch *watch, char text[REPORT_ADDRESS_LEN]);

/* One followed process. */
struct report_process {
	pid_t pid, parent; /* parent 0: unknown */
	const char *command, *end;
	uint64_t hits; /* of all watches; an access that touched two counts twice */
};

/* A run, as plain data. Strings may be NULL where they do not apply. */
struct report {
	const struct profile *profile;
	struct code_source code; /* for those who show instructions; read NULL: there is none */
	struct report_view view;
	const struct report_watch *watches;
	const struct report_values *values; /* by watch; NULL: none are known */
	size_t n_watches;
	const char *version, *command_line, *command, *build_id, *machine, *kernel, *engine;
	const char *self_test;
	pid_t pid;
	bool is_followed; /* forked children were watched, too: rows are by process */
	const struct report_process *processes; /* without the first */
	size_t n_processes;
	uint64_t processes_left_out; /* more than the list takes */
	uint64_t start_unix_s;
	uint64_t duration_ns;
	uint64_t threads_armed; /* all that ever were: those found and those born later */
	uint64_t threads_born;	/* of these, born while watched */
	uint64_t masked_off;	  /* reported by the processor for bytes that a masked access left out: no hits */
	uint64_t threads_unarmed; /* threads whose registers could not be written */
	uint64_t threads_now;	  /* threads that live */
	uint64_t stopped_ns;	  /* how long threads stood at their hits, all added up: an estimate */
	uint64_t lost;		  /* hits known to have happened and not counted */
	/* Of the page engine: */
	bool is_paged;
	uint64_t neighbours;	     /* stops at accesses to other bytes of watched pages */
	uint64_t stepped;	     /* instructions that threads had to run themselves, the others standing */
	uint64_t windows, window_ns; /* how often, and how long, other threads ran while pages were open: nothing was seen */
	uint64_t traps_unblocked; /* hits that found SIGTRAP blocked in their thread */
	uint64_t max_rate;	  /* of hits of a watch in a second; 0: no limit */
	bool is_sampled;	  /* watches were disarmed for part of the time */
	bool is_traced;
	bool is_tracing; /* just now */
	uint64_t trace_hits, trace_dropped, trace_overwritten;
	const char *end;	  /* how the target ended, or why watching stopped */
	bool complete;		  /* every hit was counted from arming to the end */
	const int *output_fd;	  /* what a launched program has written, where that is kept; or NULL */
	const char *const *warnings;
	size_t n_warnings;
};

/* A format by its name ("dump" is tsv). Returns 0, or -1 with the names in the message. */
int report_format_parse(const char *name, enum report_format *format, struct err *err);

/* Is this the name of a format? */
bool report_format_is_name(const char *name);

/* Write the report. Fails (-1) where the stream does. */
int report_write(FILE *out, enum report_format format, const struct report *report,
	struct err *err);

/* Could a report be saved under this name? For the time before a target is touched. A device or a pipe is not
 * opened. */
int report_check(const char *path, struct err *err);

/* Write it to a file: to a temporary name beside path, then renamed, so that path
 * never holds half a report; a device or a pipe is written to itself. NULL: stdout, flushed. */
int report_save(const char *path, enum report_format format, const struct report *report,
	struct err *err);

#endif
