/* hit_values: the watched bytes as a hit leaves them. */
#ifndef WATCHPROF_HIT_VALUES_H
#define WATCHPROF_HIT_VALUES_H

#include "watchprof/dr.h"
#include "watchprof/hit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct thread_rseq;

/* What is to be read at a hit: the watched bytes, into its values, and behind them, if hit_cpu_plan() is called, the
 * processor. */
#define HIT_PIECES_MAX (HIT_VALUES_MAX + 1)
struct hit_pieces {
	struct iovec local[HIT_PIECES_MAX], remote[HIT_PIECES_MAX];
	size_t n, len;
	size_t n_values; /* of n */
	struct thread_rseq *rseq; /* NULL: the processor is not wanted */
	int32_t cpu;
};

/* Those of the watches that are, or may be, hit: as many as a hit has room for. The hit must live as long. */
void hit_pieces_plan(const struct dr_image *dr, uint64_t watches, struct hit *hit, struct hit_pieces *out);

/* Where no stack is to be read with them: in the cheapest way. There must be some. False: they are not known. */
bool hit_pieces_read(pid_t pid, pid_t tid, const struct hit_pieces *values);

#endif
