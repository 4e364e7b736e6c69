/* trap_mask: SIGTRAP in a thread's signal mask. The kernel forces the signal of a hit upon
 * the thread: where it is blocked, the kernel unblocks it and takes away the program's handler
 * (force_sig() in the kernel; tests/vm/contract_life.c). The mask can be put back from outside, the handler cannot. */
#ifndef WATCHPROF_TRAP_MASK_H
#define WATCHPROF_TRAP_MASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What is known of one thread. Zero: nothing yet. */
struct trap_mask {
	uint64_t others;  /* the other blocked signals, when the mask was last seen */
	bool is_known;
	bool is_blocking; /* the thread has SIGTRAP blocked, so far as is known */
};

/* Look at the mask of a stopped thread that is not at a hit, where the mask is as the program
 * set it. */
void trap_mask_note(pid_t tid, struct trap_mask *mask);

/* For a thread at the stop of a hit: put SIGTRAP back into its mask if it was there. That is known
 * of threads noted before, as long as their mask is the same; of others it is assumed where everything
 * else is blocked (sigfillset). True if it was put back. */
bool trap_mask_restore(pid_t tid, struct trap_mask *mask);

/* Is a SIGTRAP still to come, for a stopped thread whose DR6 tells of a hit? One that a tracer was told of
 * before it died is not: the kernel forgets the signal of a stop when its status is fetched
 * (wait_task_stopped() in the kernel), and DR6 tells of it for ever. */
bool trap_is_due(pid_t tid);

#endif
