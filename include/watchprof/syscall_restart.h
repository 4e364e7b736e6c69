/* syscall_restart: make a system call that an interrupt ended with EINTR start again. */
#ifndef WATCHPROF_SYSCALL_RESTART_H
#define WATCHPROF_SYSCALL_RESTART_H

#include <sys/types.h>

/* For a thread at the stop that answers PTRACE_INTERRUPT, or at the delivery of a signal that the
 * program may discard: without a tracer neither would have woken it. Some calls never restart by
 * themselves (signal(7): epoll_wait, sigtimedwait, ...): the program would see an EINTR that it
 * could not get without us. They are made to restart unless a handler runs, which is for the
 * kernel to decide. A call with a timeout begins its whole timeout again. */
void syscall_restart(pid_t tid);

#endif
