/* syscall_restart: make a system call that an interrupt ended with EINTR start again. */
#ifndef WATCHPROF_SYSCALL_RESTART_H
#define WATCHPROF_SYSCALL_RESTART_H

#include <sys/types.h>

/* For a thread at the stop that answers PTRACE_INTERRUPT (sig 0), or at the delivery of a signal
 * that it will discard: without a tracer neither would have woken it. Some calls never restart by
 * themselves (signal(7): epoll_wait, sigtimedwait, ...): the program would see an EINTR that it
 * could not get without us. A call with a timeout begins its whole timeout again. Left
 * alone if another signal is waiting that would have interrupted the call anyway. */
void syscall_restart(pid_t tid, int sig);

#endif
