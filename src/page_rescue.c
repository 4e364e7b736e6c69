/* page_rescue.c owns what another process does when the one that watched by pages has been killed: the threads are
 * stopped, and what was put into the process is taken out again. */
#include "page_private.h"

#include "watchprof/rescue.h"
#include "watchprof/util.h"

#include <signal.h>
#include <stdlib.h>

#define ROUNDS_MAX 30
#define RESCUE_NS  (2 * NS_PER_S)

/* Let all threads go, each with the signal that it stands at: a SIGSEGV of ours is for the handler in the process. */
static void rescue_leave(struct tracees *tracees)
{
	struct thread *thread;

	tracees_stop(tracees, 0, STOP_TIMEOUT);
	while ((thread = tracees_first(tracees, NULL)))
		tracee_leave(tracees, thread, false);
}

/* Are all threads where what we have put into the process can be taken away? */
static bool rescue_is_calm(const struct tracees *tracees, const struct rescue *rescue)
{
	pid_t *tids = mem_new(tracees_count(tracees) + 1, sizeof(*tids));
	struct thread *thread = NULL;
	size_t n = 0;
	bool is_calm;

	while ((thread = tracees_first(tracees, thread))) {
		/* One that stands at its signal is about to be called into the handler. */
		if (thread_is_stopped(thread) && thread_stop_signal(thread) != SIGSEGV)
			tids[n++] = thread_tid(thread);
	}
	is_calm = n == tracees_count(tracees) && rescue_is_quiet(rescue, tids, n);
	free(tids);
	return is_calm;
}

/* A thread at a stop at which it can make a call. */
static struct thread *rescue_thread(const struct tracees *tracees)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(tracees, thread)) && !thread_is_stopped(thread))
		;
	return thread;
}

static void rescue_close_all(struct tracees *tracees, const struct rescue *rescue)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		struct tracee_event event;
		struct thread *thread;
		bool is_over;
		int status;

		tracees_stop(tracees, 0, STOP_TIMEOUT);
		thread = rescue_thread(tracees);
		if (!thread)
			return;
		status = thread_status(thread);
		/* Where it stands it may be that it can make no call: at another stop, then. */
		is_over = rescue_open(rescue, thread_tid(thread), &status) == 0 && rescue_is_calm(tracees, rescue) &&
			rescue_close(rescue, thread_tid(thread), &status, false) == 0;
		thread_status_set(thread, status);
		if (is_over)
			return;
		tracees_go(tracees, 0);
		tracees_next(tracees, clock_now_ns() + NS_PER_S / 1000, &event);
		if (event.kind == TRACEE_TRAP || event.kind == TRACEE_VISIT || event.kind == TRACEE_EXEC)
			tracee_resume(tracees, event.thread, event.sig);
	}
}

void page_rescue(pid_t pid, pid_t ward, int *ward_status)
{
	struct tracees *tracees = tracees_new(false);
	struct rescue rescue;

	if (tracees_take_over(tracees, pid, ward, ward_status, RESCUE_NS)) {
		bool is_found = rescue_find(pid, &rescue);

		if (is_found) {
			rescue_breakpoints_out(&rescue);
			rescue_close_all(tracees, &rescue);
		}
		rescue_leave(tracees);
		if (is_found)
			rescue_end(&rescue);
	}
	tracees_free(tracees);
}
