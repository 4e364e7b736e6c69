/* inject: system calls that a stopped thread of a tracee makes for us, and the thread exactly as it
 * was afterwards: registers, a system call that it was interrupted in, signal mask, and the signal
 * that it stood at. It runs not one instruction but the `syscall` it is pointed to, between stops
 * at the call's entry and exit: a tracer that is killed on the way leaves no trap and no changed
 * code behind, and the thread finds the way back by itself (inject_site.h). */
#ifndef WATCHPROF_INJECT_H
#define WATCHPROF_INJECT_H

#include "watchprof/inject_site.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* The six signals that an instruction's fault may raise: blocked, they would end the process
 * (force_sig() in the kernel). */
#define INJECT_SYNCHRONOUS                                                                         \
	(1ULL << (SIGILL - 1) | 1ULL << (SIGTRAP - 1) | 1ULL << (SIGBUS - 1) |                     \
		1ULL << (SIGFPE - 1) | 1ULL << (SIGSEGV - 1) | 1ULL << (SIGSYS - 1))

/* A thread that makes calls for us. The fields are inject.c's. */
struct inject {
	pid_t tid;
	struct inject_site site;
	uint64_t rsp; /* of our calls */
	bool has_way;
	struct user_regs_struct regs; /* as they will be restored */
	uint64_t mask;
	int sig; /* it stands at this signal; 0: none */
	siginfo_t info;
	bool has_moved; /* it stands at the exit of a call of ours */
	int status;
	pid_t born;
};

/* Begin. status is the wait status of the thread's present stop: one without a signal
 * (PTRACE_EVENT_STOP: asked for, or of job control), a signal-delivery stop, or the exit of a
 * system call. A restartable sequence that it stands in begins anew, as after any interruption
 * (rseq(2)).
 * 0, -ESRCH (it has ended; nothing more is to be done), -EINVAL (another stop), or -EAGAIN: it
 * stands at a signal that ended a call with a signal mask of its own (sigsuspend, ppoll): that
 * cannot be restored; take another stop. */
int inject_begin(struct inject *inject, pid_t tid, int status, const struct inject_site *site);

/* One call. *result is what the kernel gave (-errno). 0; -ESRCH: the thread has ended; -EPERM: a
 * filter traps the call. */
int inject_call(struct inject *inject, long nr, const uint64_t args[6], int64_t *result);

/* The stack pointer for a thread that a call (clone) is to make, from where it finds its end by
 * itself when the tracer is killed; 0: there is none. Its frame stays after inject_end() until
 * inject_way_clear(). */
uint64_t inject_child_stack(const struct inject *inject);

/* The thread that the last call has made, as we see it; 0: none. */
pid_t inject_born(const struct inject *inject);

/* End: the thread stands at a stop of the same kind as at first, with the same signal; *status is
 * its wait status. A job-control stop may have begun or ended meanwhile: go by *status, not by the
 * former one. 0 or -ESRCH. */
int inject_end(struct inject *inject, int *status);

#endif
