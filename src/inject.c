/* inject.c owns the making of system calls in a stopped thread and the undoing of all traces of
 * that. It knows no call but as a number, and never waits for another thread than its own. */
#include "watchprof/inject.h"

#include "watchprof/call_table.h"
#include "watchprof/procfs.h"
#include "watchprof/stop.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <linux/rseq.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define SYSCALL_STOP     (SIGTRAP | 0x80)
#define RESTARTS_MAX     100
#define SIGSYS_SECCOMP                                                                             \
	1 /* si_code of a SIGSYS by a filter; 2: by user dispatch (asm-generic/siginfo.h) */
#define SIGSYS_DISPATCH 2
#define BIT(sig)        (1ULL << ((sig)-1))

/* In a restartable sequence the kernel moves an interrupted thread to the sequence's abort handler
 * before it runs on (rseq(2)). It would do so no more: on the way to our call it sees that the
 * thread is outside, and forgets the sequence. */
static void sequence_abort(struct inject *inject)
{
	int memory_fd = inject->site.memory_fd;
	struct sys_rseq rseq;
	struct rseq_cs cs;
	uint64_t at;

	if (sys_rseq_get(inject->tid, &rseq) || !rseq.addr)
		return;
	if (sys_memory_force_read(memory_fd, rseq.addr + offsetof(struct rseq, rseq_cs), &at,
		    sizeof(at)) != sizeof(at) ||
		!at || sys_memory_force_read(memory_fd, at, &cs, sizeof(cs)) != sizeof(cs))
		return;
	if (inject->regs.rip - cs.start_ip < cs.post_commit_offset)
		inject->regs.rip = cs.abort_ip;
}

int inject_begin(struct inject *inject, pid_t tid, int status, const struct inject_site *site)
{
	struct stop stop = stop_decode(status);
	bool is_exit = WIFSTOPPED(status) && status >> 8 == SYSCALL_STOP;
	struct procfs_status now;
	int result;

	*inject = (struct inject){.tid = tid, .site = *site, .status = status};
	if (stop.kind != STOP_SIGNAL && stop.kind != STOP_TRAPPED && stop.kind != STOP_GROUP &&
		!is_exit)
		return -EINVAL;
	result = sys_regs_get(tid, &inject->regs);
	if (!result)
		result = sys_sigmask_get(tid, &inject->mask);
	if (!result && stop.kind == STOP_SIGNAL) {
		inject->sig = stop.value;
		result = sys_siginfo_get(tid, &inject->info);
	}
	if (result)
		return result;
	/* While a call with a mask of its own is under way, ptrace shows the mask that will be
	 * restored, and setting one ends that. A call that is started again sets it again; a
	 * handler would be run with another one. */
	if (inject->sig && procfs_status(tid, &now) && now.blocked != inject->mask)
		return -EAGAIN;
	sequence_abort(inject);
	inject->rsp = inject_way_lay(site, tid, &inject->regs, inject->mask);
	inject->has_way = inject->rsp != 0;
	if (!inject->has_way)
		inject->rsp = inject->regs.rsp;
	/* What the program has blocked, and maybe waits for it, stays blocked. */
	return sys_sigmask_set(tid, ~(INJECT_SYNCHRONOUS & ~inject->mask));
}

/* A signal of the six came from outside meanwhile: it is kept for the end. */
static int signal_keep(struct inject *inject, int sig)
{
	siginfo_t info;
	int result = sys_siginfo_get(inject->tid, &info);

	if (result)
		return result;
	if (sig == SIGSYS && (info.si_code == SIGSYS_SECCOMP || info.si_code == SIGSYS_DISPATCH))
		return -EPERM;
	if (!inject->sig) {
		inject->sig = sig;
		inject->info = info;
	}
	return 0;
}

/* Let the thread run to the next entry into or exit from a call. */
static int syscall_run(struct inject *inject)
{
	unsigned long message;
	struct stop stop;
	int result;

	for (;;) {
		result = sys_syscall(inject->tid, 0);
		if (!result)
			result = sys_wait_stop(inject->tid, &inject->status);
		if (result)
			return result;
		if (inject->status >> 8 == SYSCALL_STOP)
			return 0;
		stop = stop_decode(inject->status);
		if (stop.kind == STOP_CLONE && sys_eventmsg_get(inject->tid, &message) == 0)
			inject->born = (pid_t)message;
		else if (stop.kind == STOP_SIGNAL)
			result = signal_keep(inject, stop.value);
		if (result)
			return result;
	}
}

static int call_once(struct inject *inject, long nr, const uint64_t args[6], int64_t *result)
{
	struct user_regs_struct regs = inject->regs;
	int failure;

	regs.rip = inject->site.syscall_at;
	regs.rsp = inject->rsp;
	regs.rax = (uint64_t)nr;
	regs.orig_rax = UINT64_MAX; /* no call is to be started again on the way */
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	failure = sys_regs_set(inject->tid, &regs);
	inject->has_moved = true;
	if (!failure)
		failure = syscall_run(inject);
	if (!failure)
		failure = syscall_run(inject);
	if (!failure)
		failure = sys_regs_get(inject->tid, &regs);
	*result = (int64_t)regs.rax;
	return failure;
}

int inject_call(struct inject *inject, long nr, const uint64_t args[6], int64_t *result)
{
	int failure;
	unsigned n = 0;

	/* A job-control stop that begins makes clone give up (copy_process() in the kernel); it
	 * comes on the way to the next attempt. */
	do {
		inject->born = 0;
		failure = call_once(inject, nr, args, result);
	} while (!failure && call_is_restarted(*result) && ++n < RESTARTS_MAX);
	return failure;
}

uint64_t inject_child_stack(const struct inject *inject)
{
	return inject->has_way ? inject_way_child(&inject->site) : 0;
}

pid_t inject_born(const struct inject *inject)
{
	return inject->born;
}

/* Run to the next stop that is not of a system call, delivering sig. */
static int stop_run(struct inject *inject, int sig)
{
	int result = sys_cont(inject->tid, sig);

	return result ? result : sys_wait_stop(inject->tid, &inject->status);
}

/* The same signal again, and nothing else before it: it is sent at the call's exit (manual page of
 * ptrace, "Signal injection and suppression"), and arrives at once, without what it carried, which
 * is put back. */
static int signal_return(struct inject *inject)
{
	struct stop stop = {STOP_OTHER, 0};
	int sig = inject->sig, result = sys_sigmask_set(inject->tid, ~BIT(sig));

	while (!result && stop.kind != STOP_SIGNAL) {
		result = stop_run(inject, sig);
		stop = stop_decode(inject->status);
		sig = 0;
	}
	return result ? result : sys_siginfo_set(inject->tid, &inject->info);
}

int inject_end(struct inject *inject, int *status)
{
	int result = 0;

	/* Whether a call has to be started again is looked at where signals are: the thread has to
	 * stop there, not at the exit of ours (arch_do_signal_or_restart() in the kernel). A stop
	 * that is asked for is the first thing there. Until its registers are restored the thread
	 * has its way back, and last of all these. */
	if (inject->has_moved && inject->sig) {
		result = signal_return(inject);
	} else if (inject->has_moved) {
		result = sys_interrupt(inject->tid);
		if (!result)
			result = stop_run(inject, 0);
	}
	if (!result)
		result = sys_sigmask_set(inject->tid, inject->mask);
	if (!result)
		result = sys_regs_set(inject->tid, &inject->regs);
	if (!result && inject->has_way)
		inject_way_clear(&inject->site, !inject->born);
	*status = inject->status;
	return result;
}
