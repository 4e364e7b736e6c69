/* page_release.c owns the end of watching by pages: everything in the processes is as it was, and their threads
 * go on. */
#include "page_private.h"

#include "watchprof/procfs.h"
#include "watchprof/stop.h"
#include "watchprof/sys.h"
#include "watchprof/syscall_restart.h"
#include "watchprof/util.h"

#include <signal.h>

#define ROUNDS_MAX 30
#define AWAIT_MAX  3

/* Is the signal of the stop that the thread is in a fault of ours? */
static bool is_own_fault(const struct process *process, const struct thread *thread)
{
	siginfo_t info;

	return thread_stop_signal(thread) == SIGSEGV && sys_siginfo_get(thread_tid(thread), &info) == 0 &&
		info.si_code == SEGV_ACCERR && space_is_near(process->space, (uint64_t)(uintptr_t)info.si_addr, 1) &&
		space_allows(process->space, (uint64_t)(uintptr_t)info.si_addr, 1, HIT_READ);
}

/* A crash came before a step of ours was over: is the signal the step's? */
static bool is_own_step(const struct engine *engine, const struct thread *thread)
{
	siginfo_t info;

	return engine->is_emergency && thread_stop_signal(thread) == SIGTRAP && sys_siginfo_get(thread_tid(thread), &info) == 0 &&
		(info.si_code == TRAP_TRACE || info.si_code == SIGTRAP);
}

/* The pages are open already. What a thread of ours has under way is put back, and it goes. */
static void thread_release(struct engine *engine, struct process *process, struct thread *thread)
{
	struct page_thread *own = thread_mark(thread)->own;
	struct user_regs_struct regs;
	uint64_t watches;
	bool is_own;

	page_call_undo(process, thread);
	/* A call that was ended by our interrupt only. */
	if (stop_decode(thread_status(thread)).kind == STOP_CALL)
		syscall_restart(thread_tid(thread));
	is_own = process && thread_stop_signal(thread) == SIGSEGV &&
		page_breakpoint(process, thread_tid(thread), &regs, &watches);
	/* It stands at a breakpoint of ours that the caller was told of. */
	is_own |= engine->held == thread && engine->held_sig == 0 && thread_stop_signal(thread) == SIGSEGV;
	is_own |= (process && is_own_fault(process, thread)) || is_own_step(engine, thread);
	if (own)
		page_mask_restore(thread_tid(thread), own);
	tracee_leave(engine->tracees, thread, is_own);
}

static void release_stopped(struct engine *engine)
{
	struct thread *thread = tracees_first(engine->tracees, NULL);

	while (thread) {
		if (thread_is_stopped(thread)) {
			thread_release(engine, process_find(engine, thread_pid(thread)), thread);
			thread = tracees_first(engine->tracees, NULL);
		} else {
			thread = tracees_first(engine->tracees, thread);
		}
	}
}

/* Calls that have their buffers elsewhere are put right while pages and scratch are still there. */
static void calls_undo(struct engine *engine)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		if (thread_is_stopped(thread))
			page_call_undo(process_find(engine, thread_pid(thread)), thread);
	}
}

/* The signals of faults that were there before the pages were open; it takes no others away. */
static void faults_await(struct engine *engine)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		for (int i = 0; i < AWAIT_MAX && thread_is_stopped(thread) && thread_stop_signal(thread) == 0 &&
				procfs_is_pending(thread_tid(thread), SIGSEGV);
			i++)
			tracee_await(engine->tracees, thread);
	}
}

static void rseqs_restore(struct engine *engine)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		if (thread_is_stopped(thread))
			page_rseq_restore(process_find(engine, thread_pid(thread)), thread);
	}
}

static bool is_any_bounced(const struct engine *engine)
{
	const struct page_thread *own;

	LIST_FOREACH (own, &engine->threads, all) {
		if (own->bounce)
			return true;
	}
	return false;
}

void page_release_all(struct engine *engine)
{
	struct process *process;

	page_spare_nobody(engine);
	/* A call that cannot be interrupted has its buffer in the scratch area until it ends. */
	for (int round = 0; round == 0 || (round < ROUNDS_MAX && is_any_bounced(engine)); round++) {
		tracees_stop(engine->tracees, 0, STOP_TIMEOUT);
		calls_undo(engine);
	}
	LIST_FOREACH (process, &engine->processes, all) {
		if (space_pid(process->space) == process->pid)
			space_open_for_good(process->space);
	}
	faults_await(engine);
	rseqs_restore(engine);
	LIST_FOREACH (process, &engine->processes, all) {
		if (space_pid(process->space) == process->pid)
			space_leave(process->space);
	}
	for (int round = 0; tracees_count(engine->tracees) > 0; round++) {
		if (round >= 2 && (round >= ROUNDS_MAX || !tracees_are_due(engine->tracees)))
			break;
		if (round > 0)
			tracees_stop(engine->tracees, 0, STOP_TIMEOUT);
		release_stopped(engine);
	}
}
