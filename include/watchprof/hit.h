/* hit: one counted access, as a complete value without pointers. After the engine has
 * handed it over, nobody needs the thread any more. */
#ifndef WATCHPROF_HIT_H
#define WATCHPROF_HIT_H

#include "watchprof/util.h"
#include "watchprof/watch.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STACK_DEPTH_MAX	    256
#define STACK_DEPTH_DEFAULT 32

/* What is known of the access. A write watch proves the write and leaves the read open. */
enum hit_kind {
	HIT_READ = 1,
	HIT_WRITE = 2,
	HIT_EXECUTE = 4,
	HIT_READ_UNKNOWN = 8,	/* it may have read */
	HIT_WRITE_UNKNOWN = 16, /* it may have written */
};

/* All kinds are less. */
#define HIT_KINDS 32

enum hit_path {
	PATH_WHOLE,	/* ends where the thread began */
	PATH_TRUNCATED, /* the depth limit, or the end of what was copied of the stack */
	PATH_BROKEN,	/* no unwind rule, or no progress */
	PATH_NONE,	/* no path was asked for: the top frame only */
};

/* The bytes of a watch right behind the access. Other threads run meanwhile: they may have written them again, which is
 * another hit. */
#define HIT_VALUES_MAX	4
#define HIT_VALUE_BYTES 32

struct hit_value {
	uint8_t watch, len;
	unsigned char bytes[HIT_VALUE_BYTES];
};

struct hit {
	uint64_t time_ns; /* CLOCK_MONOTONIC when the stop was seen */
	uint64_t watches; /* bit i: watch i of the session was touched */
	pid_t pid, tid;	  /* thread group and thread */
	uint32_t image;	  /* which program image of pid (a new number after exec) */
	uint8_t kind;	  /* set of enum hit_kind */
	uint8_t path;	  /* enum hit_path */
	uint16_t n_frames;
	uint16_t cpu; /* 1 + the number of the processor; 0: not known, or not asked for */
	/* frames[0]: the saved instruction pointer: behind the access, or the instruction itself where is_at.
	 * Then return addresses, innermost first. */
	uint64_t frames[STACK_DEPTH_MAX];
	/* Bit i: frame i is a signal's, put there by the kernel; the frame behind it did not call, but
	 * was interrupted at the instruction that it goes on with. */
	uint64_t signals[STACK_DEPTH_MAX / 64];
	/* For each bit of watches: what was done to that one; 0: the same as kind. One instruction may
	 * read a variable and write another. */
	uint8_t kinds[WATCHES_MAX];
	bool is_at;    /* for HIT_EXECUTE, and where the instruction is under way: a rep, a gather, a scatter */
	bool is_alone; /* nobody else was traced that might have accessed the bytes meanwhile */
	uint8_t n_values;
	struct hit_value values[HIT_VALUES_MAX]; /* of some watches, also of such as were not hit after all */
};

/* What was done to one of its watches: a set of enum hit_kind. */
static inline uint8_t hit_kind_of(const struct hit *hit, unsigned watch)
{
	return hit->kinds[watch] ? hit->kinds[watch] : hit->kind;
}

/* Is a frame a signal's? */
static inline bool hit_is_signal(const struct hit *hit, size_t i)
{
	return hit->signals[i / 64] >> i % 64 & 1;
}

/* Is the address of a frame that of its instruction? Else it is behind that: a frame is in the instruction before the
 * saved address, unless that has not run yet, or was interrupted. */
static inline bool hit_frame_is_exact(const struct hit *hit, size_t i)
{
	return i == 0 ? hit->is_at : hit_is_signal(hit, i - 1) || hit_is_signal(hit, i);
}

/* Is the access that of the second frame? So it is at a call through a watched pointer: there the saved address is the
 * callee's first instruction already (the first frame is_entry), and the caller's return address is the next one. */
static inline bool hit_is_of_caller(bool is_entry, bool is_at, size_t n_frames)
{
	return is_entry && !is_at && n_frames > 1;
}

/* Of the first n frames, and how they end. */
static inline uint64_t hit_path_hash(const struct hit *hit, size_t n, uint8_t end)
{
	uint64_t hash = hash_mix(hash_mix(0, hit->image), (uint64_t)end << 1 | hit->is_at);

	for (size_t i = 0; i < n; i++)
		hash = hash_mix(hash, hit->frames[i]);
	return hash;
}

#endif
