/* dr_release.c owns the way out of the debug register engine: threads are disarmed and let go, with the traps that are
 * under way taken back. It knows nothing of hits. */
#include "dr_private.h"

#include "watchprof/procfs.h"
#include "watchprof/registers.h"
#include "watchprof/sys.h"

#include <signal.h>
#include <stdio.h>

#define AWAIT_MAX  3
#define ROUNDS_MAX 30

/* Is the signal of the stop that the thread is in a trap of our registers? */
static bool is_own_trap(const struct thread *thread)
{
	siginfo_t info = {0};

	return thread_stop_signal(thread) == SIGTRAP && sys_siginfo_get(thread_tid(thread), &info) == 0 &&
		info.si_code == TRAP_HWBKPT;
}

/* Disarm a stopped thread and let it go. At a SIGTRAP stop DR6 speaks of that signal (a hit
 * may have been merged into one of the program's own); at any other, of a trap still to come. */
static void thread_release(struct engine *engine, struct thread *thread)
{
	struct thread_mark *mark = thread_mark(thread);
	uint64_t dr6 = 0;
	bool is_own, has_hit;

	if (mark->generation)
		sys_debugreg_get(thread_tid(thread), 6, &dr6);
	/* A new one shows its parent's DR7 (tests/vm/contract_life.c). */
	if (mark->generation || thread_is_fresh(thread))
		registers_write(thread_tid(thread), &(struct dr_image){0});
	has_hit = (dr6 & DR6_SLOT_BITS) || mark->noted_dr6;
	/* An interrupt that is still pending, or its job-control stop, may come first. */
	for (int i = 0; has_hit && i < AWAIT_MAX && thread_stop_signal(thread) == 0 && trap_is_due(thread_tid(thread)); i++)
		tracee_await(engine->tracees, thread);
	is_own = is_own_trap(thread);
	if (is_own || (has_hit && thread_stop_signal(thread) == SIGTRAP))
		trap_mask_restore(thread_tid(thread), &mark->trap_mask);
	tracee_leave(engine->tracees, thread, is_own);
}

/* From the start each time: while one leaves, others may end. */
static void release_stopped(struct engine *engine)
{
	struct thread *thread = tracees_first(engine->tracees, NULL);

	while (thread) {
		if (thread_is_stopped(thread)) {
			thread_release(engine, thread);
			thread = tracees_first(engine->tracees, NULL);
		} else {
			thread = tracees_first(engine->tracees, thread);
		}
	}
}

/* Does a thread with watches in its registers sleep uninterruptibly, as after vfork(2) until the child executes
 * a program? */
static bool is_any_asleep(const struct engine *engine)
{
	struct procfs_status status;
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		if (!thread_is_stopped(thread) && thread_mark(thread)->image.dr.dr7 &&
			procfs_status(thread_tid(thread), &status) && status.state == 'D')
			return true;
	}
	return false;
}

/* It would die at its next hit: it is waited for, unless a further signal says not to. */
void dr_release_asleep(struct engine *engine)
{
	bool is_told = false;

	while (is_any_asleep(engine) && !sys_is_signalled()) {
		if (!is_told)
			fputs("watchprof: a thread cannot be stopped (vfork, or a disk): it is waited for, as it would die "
			      "of its watches; a signal ends the wait\n", stderr);
		is_told = true;
		dr_release_all(engine);
	}
	dr_release_all(engine); /* who has woken since it was looked at */
}

void dr_release_all(struct engine *engine)
{
	/* A thread born meanwhile shows itself in the second round. One that the others leave no
	 * processor for is waited for: left as it is, it would die at its next hit. */
	for (int round = 0; tracees_count(engine->tracees) > 0; round++) {
		if (round >= 2 && (round >= ROUNDS_MAX || !tracees_are_due(engine->tracees)))
			break;
		tracees_stop(engine->tracees, 0, STOP_TIMEOUT);
		release_stopped(engine);
	}
}
