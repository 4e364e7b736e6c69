/* waiting: how to wait for the next stop where stops come fast. To sleep until it comes is cheap
 * where the tracer gets the processor that the thread leaves; where another processor is idle, the
 * scheduler spreads the two, and both are woken from sleep for each hit. To look again and again
 * for a moment before sleeping then halves the cost of a hit; where all processors are busy it
 * doubles it. Which of them holds is not asked but tried. */
#ifndef WATCHPROF_WAITING_H
#define WATCHPROF_WAITING_H

#include <stdbool.h>
#include <stdint.h>

enum waiting_way { WAITING_ASLEEP, WAITING_AWAKE, WAITING_WAYS };

/* Windows of hits, one after the other; some make a round, all waited for in one way. All 0 at the
 * start. */
struct waiting {
	uint8_t way;        /* of the round under way; an enum waiting_way */
	uint8_t chosen;     /* the better one so far; a round in the other way is a trial */
	unsigned n;         /* hits of the window */
	unsigned n_windows; /* of the round, that have ended */
	uint64_t start_ns;  /* of the window */
	uint64_t best_ns;   /* what the cheapest window of the round cost */
	uint64_t cost_ns;   /* the same of the last round in the chosen way; 0: not known */
	uint64_t trial_ns;  /* when the other way is due to be tried */
	uint64_t period_ns; /* how long after the last trial that is */
};

/* Take note of a hit at now_ns (CLOCK_MONOTONIC). Returns for how long to stay awake, waiting for
 * the next stop, before sleeping: 0, or some nanoseconds. */
uint64_t waiting_note(struct waiting *waiting, uint64_t now_ns);

#endif
