/* hit_cpu.c owns the way to the processor that a hit happened on. It makes no system call for it where the
 * thread has a struct rseq, and none at all unless it is asked to. */
#include "watchprof/hit_cpu.h"

#include "watchprof/hit_values.h"
#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

/* cpu_id in struct rseq (linux/rseq.h). The kernel writes it on the way to user mode, so in a thread that stands at
 * its hit it is still the processor of the access. Negative: there is none now. */
#define CPU_OFFSET 4

/* A thread registers its struct rseq soon after its start, and may be hit before. Programs that never do have not to
 * be asked at each hit. */
#define TRIES_MAX 3

void hit_cpu_plan(struct thread_rseq *rseq, pid_t tid, struct hit_pieces *pieces)
{
	struct sys_rseq area;

	pieces->cpu = -1;
	pieces->rseq = rseq;
	if (!rseq->addr && rseq->tries < TRIES_MAX) {
		rseq->tries++;
		rseq->addr = sys_rseq_get(tid, &area) ? 0 : area.addr;
	}
	if (!rseq->addr)
		return;
	pieces->local[pieces->n] = (struct iovec){&pieces->cpu, sizeof(pieces->cpu)};
	pieces->remote[pieces->n++] = (struct iovec){(void *)(uintptr_t)(rseq->addr + CPU_OFFSET), sizeof(pieces->cpu)};
	pieces->len += sizeof(pieces->cpu);
}

/* The pieces could not all be read. If it was for the struct rseq, that is not there any more. */
static bool read_without(struct hit_pieces *pieces, pid_t pid, pid_t tid)
{
	bool are_read;

	pieces->cpu = -1;
	pieces->n = pieces->n_values;
	pieces->len -= sizeof(pieces->cpu);
	are_read = pieces->n && hit_pieces_read(pid, tid, pieces);
	if (are_read || pieces->n == 0)
		*pieces->rseq = (struct thread_rseq){.tries = TRIES_MAX};
	return are_read;
}

HIT_PATH void hit_cpu_take(struct hit_pieces *pieces, bool are_read, pid_t pid, struct hit *hit)
{
	if (!are_read && pieces->n > pieces->n_values)
		are_read = read_without(pieces, pid, hit->tid);
	hit->n_values = are_read ? (uint8_t)pieces->n_values : 0;
	if (!pieces->rseq)
		return;
	if (pieces->cpu < 0)
		pieces->cpu = procfs_processor(hit->tid);
	hit->cpu = pieces->cpu >= 0 && pieces->cpu < UINT16_MAX ? (uint16_t)(pieces->cpu + 1) : 0;
}
