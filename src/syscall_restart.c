/* syscall_restart.c owns the repair of interrupted system calls (signal(7), "Interruption of system calls and library
 * functions by stop signals": PTRACE_INTERRUPT does the same). It touches only calls known to return EINTR without any
 * effect. */
#include "watchprof/syscall_restart.h"

#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Calls that give EINTR after any stop, or (sockets) when a timeout is set on them; each
 * has done nothing when it does. connect and close are not among them: a second one differs. */
static const long restartable[] = {
	SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_rt_sigtimedwait, SYS_semop,
	SYS_semtimedop, SYS_io_getevents, SYS_io_pgetevents, SYS_read, SYS_readv, SYS_write,
	SYS_writev, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_sendmmsg,
	SYS_accept, SYS_accept4, SYS_msgrcv, SYS_msgsnd, SYS_io_uring_enter,
};

static bool is_restartable(long call)
{
	for (size_t i = 0; i < ARRAY_LEN(restartable); i++) {
		if (restartable[i] == call)
			return true;
	}
	return false;
}

/* What a call returns inside the kernel to be started again, or to give EINTR if a handler is to run:
 * arch_do_signal_or_restart() decides when all signals have been dealt with. */
#define ERESTARTNOHAND 514

void syscall_restart(pid_t tid)
{
	struct user_regs_struct regs;

	if (sys_regs_get(tid, &regs) || (long)regs.orig_rax < 0 || (long)regs.rax != -EINTR ||
		!is_restartable((long)regs.orig_rax))
		return;
	regs.rax = (unsigned long long)-ERESTARTNOHAND;
	sys_regs_set(tid, &regs);
}
