/* hit_cpu: the processor that a hit happened on. */
#ifndef WATCHPROF_HIT_CPU_H
#define WATCHPROF_HIT_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hit;
struct hit_pieces;

/* Where a thread's struct rseq (rseq(2)) lies; zero for a new one and after exec. */
struct thread_rseq {
	uint64_t addr;  /* 0: not known */
	unsigned tries; /* how often the kernel was asked */
};

/* Have the processor of the standing thread read together with the watched bytes, as the last of the pieces. Without a
 * struct rseq there is nothing to read; then hit_cpu_take() asks the kernel. */
void hit_cpu_plan(struct thread_rseq *rseq, pid_t tid, struct hit_pieces *pieces);

/* The thread still stands and the pieces were read, or not. Sets hit->n_values and hit->cpu. */
void hit_cpu_take(struct hit_pieces *pieces, bool are_read, pid_t pid, struct hit *hit);

#endif
