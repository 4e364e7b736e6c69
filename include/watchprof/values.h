/* values: what the watched bytes held after each hit: who changed them last, how often a write changed
 * nothing, which values were written. Bounded: of the most different values, some are counted together. */
#ifndef WATCHPROF_VALUES_H
#define WATCHPROF_VALUES_H

#include "watchprof/hit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VALUES_TOP_MAX 16 /* different values counted by themselves */

struct value {
	uint8_t len; /* bytes; 0: not known */
	unsigned char bytes[HIT_VALUE_BYTES];
};

struct value_count {
	struct value value;
	uint64_t writes;
};

/* One write. */
struct value_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	pid_t pid, tid;
	uint32_t image;
	uint64_t addr;		/* in the instruction that wrote */
	struct value from, to; /* from: len 0 where it is not known */
};

/* What is known of the values of one watch, in all processes together. */
struct value_stats {
	struct value current; /* after the last hit that had a value, in whichever process or thread */
	uint64_t writes;      /* hits that wrote for certain, whose new value is known */
	uint64_t changed;     /* of these: the value was another one before */
	uint64_t silent;      /* it was the same; writes - changed - silent: not known */
	/* Of the writes: other threads ran. What one of them wrote before the bytes were read is taken for
	 * this write's, so that for these, values, changed and silent are what was seen, not what was written. */
	uint64_t among_others;
	/* A hit that only read found another value than the hit before had left: somebody that cannot be
	 * counted wrote (the kernel, another process). Only told where the process had one thread: otherwise
	 * a hit of another thread may be on its way. */
	uint64_t unseen;
	uint64_t unseen_first, unseen_last; /* the hits of this watch, from 1, that found it */
	struct value_event last; /* the last write; time_ns 0: none */
	bool has_range;
	struct value min, max; /* of values written, where they are numbers */
	struct value_count top[VALUES_TOP_MAX]; /* most written first */
	size_t n_top;
	uint64_t others; /* writes of values that found no place in top */
};

#define VALUES_HISTORY_MAX 64 /* writes that are remembered of each watch */

/* The last writes of a watch. */
struct value_history {
	struct value_event events[VALUES_HISTORY_MAX]; /* write i, counted from 0, is in i % VALUES_HISTORY_MAX */
	uint64_t n;				       /* writes so far */
};

size_t value_history_len(const struct value_history *history);

/* The last one is 0, that before it 1, up to the length. */
const struct value_event *value_history_event(const struct value_history *history, size_t back);

struct values;
struct value_type;

struct values *values_new(void);
void values_free(struct values *values);

/* The number goes to another watch. */
void values_forget(struct values *values, unsigned watch);

/* What the bytes of a watch mean; type must live as long as the values, or until another is set. NULL: not known.
 * Bits that are not of a bit-field tell nothing. */
void values_type(struct values *values, unsigned watch, const struct value_type *type);

/* What the watch holds is not known any more, in no process and no thread; what was counted stays. */
void values_unknown(struct values *values, unsigned watch);

/* What a watch of a process holds before its first hit, or after what is no hit of it. len 0: that is not known. */
void values_start(struct values *values, unsigned watch, pid_t pid, const void *bytes, size_t len);

/* Of this watch each thread has its own: what it holds is kept by thread. */
void values_by_thread(struct values *values, unsigned watch);

/* The writes of this watch are no hits: that it changes tells nothing. */
void values_without_writes(struct values *values, unsigned watch);

/* What a watch held before a hit and after it, to be asked before values_add(); of unknown ones the length is 0. */
void values_pair(const struct values *values, const struct hit *hit, unsigned watch, struct value *from,
	struct value *to);

/* Take note of a hit. */
void values_add(struct values *values, const struct hit *hit);

/* The picture of a watch; false: no hit of it had values. */
bool values_stats(const struct values *values, unsigned watch, struct value_stats *out);

/* Its last writes; NULL: none. They live until the next hit. */
const struct value_history *values_history(const struct values *values, unsigned watch);

#endif
