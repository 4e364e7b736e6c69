/* page_signal.c owns signals while pages are shut: the kernel must find the stack that it puts a handler's frame
 * on, and SIGSEGV must not be blocked. */
#include "page_private.h"

#include "watchprof/procfs.h"
#include "watchprof/stop.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#define BIT(sig) (1ULL << ((sig) - 1))
#define SEGV_BIT BIT(SIGSEGV)
/* The return address, and then the context (struct rt_sigframe of the kernel's asm/sigframe.h). */
#define FRAME_MASK (sizeof(uint64_t) + offsetof(ucontext_t, uc_sigmask))

void page_mask_clear(pid_t tid, struct page_thread *own)
{
	uint64_t mask;

	if (sys_sigmask_get(tid, &mask) || !(mask & SEGV_BIT))
		return;
	own->is_segv_blocked = true;
	sys_sigmask_set(tid, mask & ~SEGV_BIT);
}

void page_mask_take(pid_t tid, struct page_thread *own)
{
	own->is_segv_blocked = false;
	page_mask_clear(tid, own);
}

void page_mask_restore(pid_t tid, struct page_thread *own)
{
	uint64_t mask;

	if (own->is_stepped)
		sys_sigmask_set(tid, own->mask);
	if (own->is_segv_blocked && sys_sigmask_get(tid, &mask) == 0)
		sys_sigmask_set(tid, mask | SEGV_BIT);
	own->is_segv_blocked = false;
}

/* A handler has begun, with its frame at the stack pointer: the mask that is put back when it returns is the program's own. */
static void frame_mask_set(const struct space *space, pid_t tid)
{
	struct user_regs_struct regs;
	uint64_t mask;

	if (sys_regs_get(tid, &regs) || !space_read(space, regs.rsp + FRAME_MASK, &mask, sizeof(mask)))
		return;
	mask |= SEGV_BIT;
	space_write(space, regs.rsp + FRAME_MASK, &mask, sizeof(mask));
}

/* Whether there is a handler is the process's business and may change at any time; nobody else runs when that
 * matters, as rt_sigaction(2) is a stop as well. */
static bool is_caught(const struct procfs_status *status, int sig)
{
	return status->caught >> (sig - 1) & 1;
}

/* The first process of a namespace of process ids has no signals but those that it has a handler for: what is sent to it has no
 * effect (pid_namespaces(7)). */
static bool is_first(const struct procfs_status *status)
{
	return status->inner_tgid == 1;
}

/* Does it end the process? Manual page signal(7). */
static bool is_fatal(const struct procfs_status *status, int sig)
{
	static const uint64_t others = BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) |
		BIT(SIGURG) | BIT(SIGWINCH);

	return !is_first(status) && !((status->caught | status->ignored | others) >> (sig - 1) & 1);
}

static bool has_ended(pid_t tid)
{
	struct procfs_status status;

	return !procfs_status(tid, &status) || strchr("ZX", status.state);
}

/* A process ends: the kernel walks its lists of robust locks, which have to be open. */
static void signal_end(struct engine *engine, struct process *process, const struct tracee_event *event)
{
	uint64_t deadline = clock_now_ns() + NS_PER_S;

	space_threads_stop(engine, process->space);
	space_open(process->space);
	tracee_resume(engine->tracees, event->thread, event->sig);
	while (!has_ended(event->tid) && clock_now_ns() < deadline)
		sched_yield();
	space_shut(process->space);
	space_threads_go(engine, process->space);
}

/* A signal that no handler takes. Of its own disposition of SIGSEGV (is_aside) ours takes the place again where nothing comes of the
 * signal: it is ignored, or the process the first one, and somebody has sent it. One that the kernel raises for a fault ends a
 * process that ignores it all the same (force_sig()). */
static void signal_pass(struct engine *engine, struct space *space, const struct tracee_event *event,
	const struct procfs_status *status, bool is_aside)
{
	int sig = event->sig;
	siginfo_t info;

	if (is_aside && (is_first(status) || (status->ignored & SEGV_BIT)) && sys_siginfo_get(event->tid, &info) == 0 &&
		info.si_code <= 0) {
		space_back(space);
		sig = 0;
	}
	tracee_resume(engine->tracees, event->thread, sig);
}

void page_signal_take(struct engine *engine, struct process *process, const struct tracee_event *event)
{
	struct space *space = process->space;
	struct procfs_status status = {0};
	struct page_thread *own;
	/* One of its own is a matter between the program and the kernel, also while nothing is watched for the moment. */
	bool is_aside = event->sig == SIGSEGV && space_aside(space);
	bool is_known = (is_aside || space_is_armed(space)) && procfs_status(event->tid, &status);
	/* Others meet neither our pages nor the program's own disposition meanwhile. */
	bool is_alone = is_aside || space_is_watched(space);

	if (is_known && space_is_watched(space) && is_fatal(&status, event->sig)) {
		signal_end(engine, process, event);
		return;
	}
	if (!is_known || !is_caught(&status, event->sig)) {
		signal_pass(engine, space, event, &status, is_aside);
		return;
	}
	if (is_alone) {
		space_threads_stop(engine, space);
		space_open(space);
	}
	if (tracee_step(engine->tracees, event->thread, event->sig)) {
		own = page_thread(engine, event->thread);
		own->is_due_aside = own->due_at != 0;
		if (own->is_segv_blocked)
			frame_mask_set(space, event->tid);
		if (space_is_armed(space))
			page_mask_clear(event->tid, own); /* what was blocked before is, too */
	}
	if (is_aside)
		space_back(space);
	if (is_alone) {
		space_shut(space);
		space_threads_go(engine, space);
	}
	tracee_resume(engine->tracees, event->thread, 0);
}

void page_signal_begin(struct thread *thread)
{
	const struct stop stop = stop_decode(thread_status(thread));
	pid_t tid = thread_tid(thread);
	struct procfs_status now;
	uint64_t mask;
	int status;

	if (stop.kind != STOP_SIGNAL || sys_sigmask_get(tid, &mask) || !procfs_status(tid, &now) || now.blocked == mask ||
		!(now.caught & BIT(stop.value)))
		return;
	if (sys_step(tid, stop.value) || sys_wait_stop(tid, &status))
		return;
	/* A stop that is asked for is the first thing on its way: nothing of the handler runs. */
	if (stop_decode(status).kind == STOP_SIGNAL && stop_decode(status).value == SIGTRAP && sys_interrupt(tid) == 0 &&
		sys_cont(tid, 0) == 0)
		sys_wait_stop(tid, &status);
	thread_status_set(thread, status);
}
