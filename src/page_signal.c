/* page_signal.c owns signals while pages are shut: the kernel must find the stack that it puts a handler's frame
 * on, and SIGSEGV must not be blocked. */
#include "page_private.h"

#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <signal.h>

#define SEGV_BIT (1ULL << (SIGSEGV - 1))

void page_mask_clear(pid_t tid, struct page_thread *own)
{
	uint64_t mask;

	if (sys_sigmask_get(tid, &mask) || !(mask & SEGV_BIT))
		return;
	own->is_segv_blocked = true;
	sys_sigmask_set(tid, mask & ~SEGV_BIT);
}

void page_mask_restore(pid_t tid, struct page_thread *own)
{
	uint64_t mask;

	if (own->is_segv_blocked && sys_sigmask_get(tid, &mask) == 0)
		sys_sigmask_set(tid, mask | SEGV_BIT);
	own->is_segv_blocked = false;
}

/* Whether there is a handler is the process's business and may change at any time; nobody else runs when that
 * matters, as rt_sigaction(2) is a stop as well. */
static bool is_caught(pid_t tid, int sig)
{
	struct procfs_status status;

	return procfs_status(tid, &status) && (status.caught >> (sig - 1) & 1);
}

void page_signal_take(struct engine *engine, struct process *process, const struct tracee_event *event)
{
	struct space *space = process->space;

	/* One of its own is a matter between the program and the kernel. */
	if (event->sig == SIGSEGV)
		space_aside(space);
	if (!space_is_watched(space) || !is_caught(event->tid, event->sig)) {
		tracee_resume(engine->tracees, event->thread, event->sig);
		return;
	}
	space_threads_stop(engine, space);
	space_open(space);
	if (tracee_step(engine->tracees, event->thread, event->sig))
		page_mask_clear(event->tid, page_thread(engine, event->thread));
	if (event->sig == SIGSEGV)
		space_back(space);
	space_shut(space);
	space_threads_go(engine, space);
	tracee_resume(engine->tracees, event->thread, 0);
}
