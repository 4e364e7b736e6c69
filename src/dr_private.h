/* dr_private: what the files of the debug register engine share. dr_release.c is its end. */
#ifndef WATCHPROF_DR_PRIVATE_H
#define WATCHPROF_DR_PRIVATE_H

#include "watchprof/access.h"
#include "watchprof/dr.h"
#include "watchprof/engine.h"
#include "watchprof/stack.h"
#include "watchprof/thread_image.h"
#include "watchprof/tracee.h"
#include "watchprof/unwind.h"
#include "watchprof/util.h"
#include "watchprof/waiting.h"

#include <signal.h>
#include <sys/queue.h>

#define STOP_TIMEOUT NS_PER_S

/* Processes are found at each hit, and there may be thousands. */
#define PROCESS_CHAINS 1024U

/* What is armed in one process. */
struct process {
	pid_t pid, parent;
	bool is_unborn; /* its first stop is still to come, and its parent is another one since, or has ended */
	uint32_t image;
	uint32_t generation; /* of what follows; a thread with another one has to be written */
	uint32_t newest;     /* the last number that a generation was given */
	uint32_t base;	     /* since then, only what is off has changed: hits of older ones are lost */
	uint32_t full;	     /* the one with nothing off; 0: none since base */
	uint64_t off, hook;
	struct dr_image dr;
	struct armed *armed; /* what differs by thread; NULL: every thread has dr */
	struct boundaries boundaries; /* that the session knows */
	struct unwinder *unwinder; /* made when the first hit needs it */
	struct accesses *accesses; /* likewise */
	LIST_ENTRY(process) all, chain;
};

struct engine {
	struct tracees *tracees;
	LIST_HEAD(, process) processes, chains[PROCESS_CHAINS]; /* all, and by their id */
	unsigned stack;
	struct stack_reader *reader;
	struct waiting waiting;
	bool has_cpu;	     /* hits tell their processor */
	bool has_processors; /* more than one: it may pay to wait awake */
	struct thread *held; /* stopped until the next call of next() */
	int held_sig;
	bool hook_due; /* the held thread is at the hook */
	pid_t hook_pid, hook_tid;
	uint32_t hook_image;
	uint32_t images;
	struct engine_counts counts;
};

/* Disarm all threads and let them go, and what is born meanwhile. It changes nothing of the engine but its threads, so
 * that it may be called after a crash. */
void dr_release_all(struct engine *engine);

/* After that: threads that sleep uninterruptibly with watches in their registers, which they would die of, are waited
 * for. A signal to watchprof ends the wait. */
void dr_release_asleep(struct engine *engine);

#endif
