/* places: where the threads of one address space have their own of the watched thread-local variables. A place
 * belongs to a thread pointer, the base of the fs segment: a forked child's thread has its parent's, and a thread that
 * begins where another one has ended has the same. */
#ifndef WATCHPROF_PLACES_H
#define WATCHPROF_PLACES_H

#include "watchprof/engine.h"
#include "watchprof/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One of these, by a thread. */
struct placed {
	uint64_t thread_pointer;
	struct span span;
	unsigned watch;
	bool is_due; /* not the variable: what is written when the thread gets it */
};

struct places;

/* For an arming, with no thread yet. NULL: no span is thread-local. */
struct places *places_new(const struct arming *arming);

struct places *places_copy(const struct places *places); /* of NULL: NULL */
void places_free(struct places *places);

/* Look up what a thread has. *is_partial: it has none of a variable, and nothing is known that tells when it gets one. Returns
 * whether anything has changed. */
bool places_take(struct places *places, pid_t tid, uint64_t thread_pointer, bool *is_partial);

/* A thread has ended; or only this one is left. Returns whether anything has changed. */
bool places_drop(struct places *places, uint64_t thread_pointer);
bool places_keep(struct places *places, uint64_t thread_pointer);

/* All of them; of NULL none. */
const struct placed *places_list(const struct places *places, size_t *n);

/* The watches of which a thread's own are touched by its access, in a way that they ask for. */
uint64_t places_touched(const struct places *places, uint64_t thread_pointer, uint64_t addr, uint64_t len, unsigned kind);

/* Does a write of the thread's tell that it may have got one? Then places_take() is due. */
bool places_is_due(const struct places *places, uint64_t thread_pointer, uint64_t addr, uint64_t len);

/* A thread's own of a watch; 0 where it has none. */
uint64_t places_watch(const struct places *places, uint64_t thread_pointer, unsigned watch, uint64_t *addr);

#endif
