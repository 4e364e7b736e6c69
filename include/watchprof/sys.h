/* sys: every request to the kernel that concerns a tracee, as typed functions. The one
 * place that calls ptrace, waitpid and process_vm_readv; tests put a scripted
 * twin (tests/unit/fake_calls.c) in its place.
 *
 * Results are 0 (or a count) or a negative errno. -ESRCH means that the thread has
 * vanished or is not stopped: that is no failure, the next wait tells. */
#ifndef WATCHPROF_SYS_H
#define WATCHPROF_SYS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* PTRACE_SEIZE with thread and exec events, system call stops told from SIGTRAP, and with fork and vfork events if forked children
 * are to be traced as well. The thread is not stopped. */
int sys_seize(pid_t tid, bool with_children);

/* Ask a seized thread to stop; the stop is reported by sys_wait(). */
int sys_interrupt(pid_t tid);

/* Let a stopped thread go on: delivering sig (0: none); or, from a job-control
 * stop, staying stopped (sys_listen); or for good, untraced (sys_detach). */
int sys_cont(pid_t tid, int sig);
int sys_listen(pid_t tid);
int sys_detach(pid_t tid, int sig);

/* As sys_cont(), for one instruction. */
int sys_step(pid_t tid, int sig);

/* As sys_cont(), until the next entry into or exit from a system call: a stop by SIGTRAP | 0x80. */
int sys_syscall(pid_t tid, int sig);

/* Where that is allowed, run the thread before all ordinary ones as soon as there is something to do for it (SCHED_FIFO, sched(7)). */
void sys_run_first(pid_t tid);

/* The thread's virtual debug register n (0-3, 6, 7). The thread must be stopped. */
int sys_debugreg_get(pid_t tid, unsigned n, uint64_t *value);
int sys_debugreg_set(pid_t tid, unsigned n, uint64_t value);

/* The stack pointer alone. */
int sys_sp_get(pid_t tid, uint64_t *sp);

int sys_regs_get(pid_t tid, struct user_regs_struct *regs);
int sys_regs_set(pid_t tid, const struct user_regs_struct *regs);
/* Only where it goes on: less than half the cost of all registers. */
int sys_ip_set(pid_t tid, uint64_t ip);

/* Copy the xsave area (NT_X86_XSTATE) of a stopped thread, len bytes at most. Returns its length. */
ssize_t sys_xstate_get(pid_t tid, void *out, size_t len);
int sys_xstate_set(pid_t tid, const void *area, size_t len);

/* x87 and xmm registers, in the form of fxsave. */
int sys_fpregs_get(pid_t tid, struct user_fpregs_struct *out);
int sys_fpregs_set(pid_t tid, const struct user_fpregs_struct *in);

/* The number of a call of 32-bit code, which 64-bit code can make, too (int $0x80): its own numbers mean other calls. */
#define SYS_CALL_FOREIGN (UINT64_MAX - 1)

/* At a STOP_CALL: does the call begin? *nr and args are what it was made with, then; or *result, where it ends. */
enum sys_call_stop { SYS_CALL_NONE, SYS_CALL_ENTRY, SYS_CALL_EXIT };
enum sys_call_stop sys_call_info(pid_t tid, uint64_t *nr, uint64_t args[6], int64_t *result);

int sys_siginfo_get(pid_t tid, siginfo_t *info);
int sys_siginfo_set(pid_t tid, const siginfo_t *info); /* in a signal-delivery stop: what is delivered */
int sys_eventmsg_get(pid_t tid, unsigned long *message);

/* The blocked signals, bit n-1 for signal n. */
int sys_sigmask_get(pid_t tid, uint64_t *mask);
int sys_sigmask_set(pid_t tid, uint64_t mask);

/* The next state change of any tracee or child. Returns its tid, 0 (nothing, when block is
 * false), -EINTR (a signal came; a timer may be used as a deadline), or -ECHILD. */
pid_t sys_wait(int *status, bool block);

/* The next state change of this tracee or child, without waiting: its tid, 0 (nothing), or a negative errno.
 * sys_wait() looks at every tracee in turn; this costs the same however many there are. */
pid_t sys_wait_one(pid_t tid, int *status);

/* Wait until this tracee stops, through signals. -ESRCH: it has ended, or is no tracee; its end is left to be
 * waited for. */
int sys_wait_stop(pid_t tid, int *status);

/* From now on (on) state changes are kept for sys_wait_told(), by SIGCHLD; or no more: then the kernel does not look who might
 * want it at each stop. (A program that is launched has no flag of it: execve(2).) */
void sys_tell(bool on);

/* Wait until a thread tells of a state change: its tid, 0 (none within the time), or -EINTR. sys_wait_one()
 * then gets it, if it has not been waited for already. Of several threads that change together only one
 * may tell (signals merge): now and then sys_wait() is needed. */
pid_t sys_wait_told(uint64_t timeout_ns);

/* Copy memory of a process. Returns the number of bytes copied, which is fewer than
 * len where a page is missing, or a negative errno if none was. */
ssize_t sys_memory_read(pid_t pid, uint64_t addr, void *out, size_t len);

/* The same, only where the process itself may read: not what PROT_NONE protects. */
ssize_t sys_memory_read_allowed(pid_t pid, uint64_t addr, void *out, size_t len);

/* The same the other way round: only where the process itself may write. */
ssize_t sys_memory_write(pid_t pid, uint64_t addr, const void *data, size_t len);

/* One aligned word of a stopped thread's memory: half the cost of sys_memory_read(). */
int sys_word_get(pid_t tid, uint64_t addr, uint64_t *word);

/* The same for n pieces in one call, in order, local[i] as long as remote[i]. Returns the bytes of all. */
struct iovec;
ssize_t sys_memory_gather(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n);

/* Memory of a process whatever its protection (FOLL_FORCE in the kernel; private mappings only where it is written),
 * through a descriptor that the caller closes. Each returns the number of bytes or a negative errno; 0: the
 * process has ended, or runs another program now. */
int sys_memory_open(pid_t pid);
ssize_t sys_memory_force_read(int fd, uint64_t addr, void *out, size_t len);
ssize_t sys_memory_force_write(int fd, uint64_t addr, const void *data, size_t len);

/* The restartable sequences of a stopped thread (rseq(2)); addr 0: none are registered. -EIO: the kernel cannot tell. */
struct sys_rseq {
	uint64_t addr;
	uint32_t size, signature, flags, pad;
};
int sys_rseq_get(pid_t tid, struct sys_rseq *out);

/* Fork a child that is seized (with_children as for sys_seize) and stands before execvp(argv), with the given
 * signal mask; with input_fd >= 0 it reads from there, with output_fd >= 0 it writes there, errors as well.
 * sys_launch_go() lets it exec; sys_launch_result() then tells how that went. Where the exec failed, the child
 * ends by itself. */
struct launch {
	pid_t pid;
	int go_fd, result_fd;
};
int sys_launch(char *const *argv, const sigset_t *mask, int input_fd, int output_fd, bool with_children,
	struct launch *launch);

/* Release the child. It runs to its exec, which sys_wait() reports. */
void sys_launch_go(struct launch *launch);

/* After the child's exec stop or end: 0, or the negative errno of the exec that failed. Closes the descriptor. */
int sys_launch_result(struct launch *launch);

/* Send a signal to a process (kill(2)). One that has ended already is no failure. */
void sys_kill(pid_t pid, int sig);

/* Do two processes have the same memory (vfork)? */
bool sys_shares_memory(pid_t a, pid_t b);

/* How many processors this process may run on. */
unsigned sys_processors(void);

/* Does a signal that asks to end (INT, TERM, HUP, QUIT) wait for us, blocked? */
bool sys_is_signalled(void);

/* Wake sys_wait() with -EINTR about every period_ns from now on; 0 ends that. A wake-up that
 * comes between two waits is lost, the next one is not. */
void sys_ticks(uint64_t period_ns);

#endif
