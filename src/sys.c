/* sys.c owns the system calls that trace. It keeps no state, and decides nothing but to ask twice for what lets a thread go on. */
#include "watchprof/sys.h"

#include "watchprof/util.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SEIZE_OPTIONS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

/* Of linux/ptrace.h (5.13), which libc's headers of that time lack. */
#define GET_RSEQ_CONFIGURATION 0x420f

HIT_PATH static long request(enum __ptrace_request what, pid_t tid, uintptr_t addr, uintptr_t data)
{
	return ptrace(what, tid, (void *)addr, (void *)data) < 0 ? -errno : 0;
}

/* As request(), of what a thread cannot do without: it would stay stopped. The kernel refuses it for a thread that is gone
 * alone; whatever else refused it, it is made once more. */
HIT_PATH static int insist(enum __ptrace_request what, pid_t tid, int sig)
{
	long result = request(what, tid, 0, (uintptr_t)sig);

	return (int)(result && result != -ESRCH ? request(what, tid, 0, (uintptr_t)sig) : result);
}

int sys_seize(pid_t tid, bool with_children)
{
	return (int)request(PTRACE_SEIZE, tid, 0,
		SEIZE_OPTIONS | (with_children ? PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK : 0));
}

int sys_interrupt(pid_t tid)
{
	return insist(PTRACE_INTERRUPT, tid, 0);
}

HIT_PATH int sys_cont(pid_t tid, int sig)
{
	return insist(PTRACE_CONT, tid, sig);
}

int sys_step(pid_t tid, int sig)
{
	return insist(PTRACE_SINGLESTEP, tid, sig);
}

HIT_PATH int sys_syscall(pid_t tid, int sig)
{
	return insist(PTRACE_SYSCALL, tid, sig);
}

int sys_listen(pid_t tid)
{
	return insist(PTRACE_LISTEN, tid, 0);
}

int sys_detach(pid_t tid, int sig)
{
	return insist(PTRACE_DETACH, tid, sig);
}

void sys_run_first(pid_t tid)
{
	const struct sched_param lowest = {.sched_priority = 1};

	sched_setscheduler(tid, SCHED_FIFO, &lowest);
}

static uintptr_t debugreg_offset(unsigned n)
{
	return offsetof(struct user, u_debugreg) + n * sizeof(((struct user *)0)->u_debugreg[0]);
}

HIT_PATH static int user_word_get(pid_t tid, uintptr_t offset, uint64_t *value)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKUSER, tid, (void *)offset, NULL);
	if (errno)
		return -errno;
	*value = (uint64_t)word;
	return 0;
}

int sys_debugreg_get(pid_t tid, unsigned n, uint64_t *value)
{
	return user_word_get(tid, debugreg_offset(n), value);
}

HIT_PATH int sys_sp_get(pid_t tid, uint64_t *sp)
{
	return user_word_get(tid, offsetof(struct user, regs.rsp), sp);
}

HIT_PATH int sys_debugreg_set(pid_t tid, unsigned n, uint64_t value)
{
	return (int)request(PTRACE_POKEUSER, tid, debugreg_offset(n), value);
}

HIT_PATH int sys_regs_get(pid_t tid, struct user_regs_struct *regs)
{
	return (int)request(PTRACE_GETREGS, tid, 0, (uintptr_t)regs);
}

ssize_t sys_xstate_get(pid_t tid, void *out, size_t len)
{
	struct iovec area = {.iov_base = out, .iov_len = len};
	int result = (int)request(PTRACE_GETREGSET, tid, NT_X86_XSTATE, (uintptr_t)&area);

	return result ? result : (ssize_t)area.iov_len;
}

int sys_xstate_set(pid_t tid, const void *area, size_t len)
{
	struct iovec vector = {.iov_base = (void *)(uintptr_t)area, .iov_len = len};

	return (int)request(PTRACE_SETREGSET, tid, NT_X86_XSTATE, (uintptr_t)&vector);
}

int sys_fpregs_get(pid_t tid, struct user_fpregs_struct *out)
{
	return (int)request(PTRACE_GETFPREGS, tid, 0, (uintptr_t)out);
}

int sys_fpregs_set(pid_t tid, const struct user_fpregs_struct *in)
{
	return (int)request(PTRACE_SETFPREGS, tid, 0, (uintptr_t)in);
}

/* As 64-bit code numbers it. Of 32-bit code's (arch/x86/entry/syscalls/syscall_32.tbl) only the ends are known. */
static uint64_t call_number(const struct __ptrace_syscall_info *info)
{
	if (info->arch == AUDIT_ARCH_X86_64)
		return info->entry.nr;
	switch (info->entry.nr) {
	case 1:
		return SYS_exit;
	case 252:
		return SYS_exit_group;
	default:
		return SYS_CALL_FOREIGN;
	}
}

enum sys_call_stop sys_call_info(pid_t tid, uint64_t *nr, uint64_t args[6], int64_t *result)
{
	struct __ptrace_syscall_info info = {0};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, (void *)sizeof(info), &info) < 0)
		return SYS_CALL_NONE;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
		*result = info.exit.rval;
		return SYS_CALL_EXIT;
	}
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return SYS_CALL_NONE;
	*nr = call_number(&info);
	memcpy(args, info.entry.args, sizeof(info.entry.args));
	return SYS_CALL_ENTRY;
}

HIT_PATH int sys_regs_set(pid_t tid, const struct user_regs_struct *regs)
{
	return (int)request(PTRACE_SETREGS, tid, 0, (uintptr_t)regs);
}

HIT_PATH int sys_ip_set(pid_t tid, uint64_t ip)
{
	return (int)request(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rip), ip);
}

HIT_PATH int sys_siginfo_get(pid_t tid, siginfo_t *info)
{
	return (int)request(PTRACE_GETSIGINFO, tid, 0, (uintptr_t)info);
}

int sys_siginfo_set(pid_t tid, const siginfo_t *info)
{
	return (int)request(PTRACE_SETSIGINFO, tid, 0, (uintptr_t)info);
}

int sys_rseq_get(pid_t tid, struct sys_rseq *out)
{
	int result = (int)request((enum __ptrace_request)GET_RSEQ_CONFIGURATION, tid, sizeof(*out), (uintptr_t)out);

	return result < 0 ? result : 0;
}

int sys_eventmsg_get(pid_t tid, unsigned long *message)
{
	return (int)request(PTRACE_GETEVENTMSG, tid, 0, (uintptr_t)message);
}

HIT_PATH int sys_sigmask_get(pid_t tid, uint64_t *mask)
{
	return (int)request(PTRACE_GETSIGMASK, tid, sizeof(*mask), (uintptr_t)mask);
}

int sys_sigmask_set(pid_t tid, uint64_t mask)
{
	return (int)request(PTRACE_SETSIGMASK, tid, sizeof(mask), (uintptr_t)&mask);
}

HIT_PATH pid_t sys_wait(int *status, bool block)
{
	pid_t tid = waitpid(-1, status, __WALL | (block ? 0 : WNOHANG));

	return tid < 0 ? -errno : tid;
}

pid_t sys_wait_one(pid_t tid, int *status)
{
	pid_t found = waitpid(tid, status, __WALL | WNOHANG);

	return found < 0 ? -errno : found;
}

/* A wait status from what waitid() tells. */
static int status_make(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return (info->si_status & 0xff) << 8;
	case CLD_KILLED:
		return info->si_status & 0x7f;
	case CLD_DUMPED:
		return (info->si_status & 0x7f) | 0x80;
	default:
		return info->si_status << 8 | 0x7f; /* the event of a stop by ptrace is in it */
	}
}

int sys_wait_stop(pid_t tid, int *status)
{
	siginfo_t info;

	/* Without WEXITED: a thread that ends meanwhile is ECHILD, and still to be waited for. */
	while (waitid(P_PID, (id_t)tid, &info, WSTOPPED | __WALL)) {
		if (errno != EINTR)
			return -ESRCH;
	}
	*status = status_make(&info);
	return 0;
}

void sys_tell(bool on)
{
	struct sigaction action;
	sigset_t set;

	sigaction(SIGCHLD, NULL, &action);
	if (on)
		action.sa_handler = SIG_DFL; /* one that is ignored is not sent */
	action.sa_flags = on ? action.sa_flags & ~SA_NOCLDSTOP : action.sa_flags | SA_NOCLDSTOP;
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

pid_t sys_wait_told(uint64_t timeout_ns)
{
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / NS_PER_S), .tv_nsec = (long)(timeout_ns % NS_PER_S)};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigtimedwait(&set, &info, &timeout) < 0)
		return errno == EINTR ? -EINTR : 0;
	return info.si_pid;
}

int sys_memory_open(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

HIT_PATH ssize_t sys_memory_force_read(int fd, uint64_t addr, void *out, size_t len)
{
	ssize_t n = pread(fd, out, len, (off_t)addr);

	return n < 0 ? -errno : n;
}

HIT_PATH ssize_t sys_memory_force_write(int fd, uint64_t addr, const void *data, size_t len)
{
	ssize_t n = pwrite(fd, data, len, (off_t)addr);

	return n < 0 ? -errno : n;
}

/* Pages that the page engine has shut refuse process_vm_readv(2), but not this. */
static ssize_t read_shut(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n)
{
	int fd = sys_memory_open(pid);
	ssize_t sum = 0;

	if (fd < 0)
		return -EFAULT;
	for (size_t i = 0; i < n; i++) {
		ssize_t got = sys_memory_force_read(
			fd, (uint64_t)(uintptr_t)remote[i].iov_base, local[i].iov_base, remote[i].iov_len);

		sum += got > 0 ? got : 0;
		if (got != (ssize_t)remote[i].iov_len)
			break;
	}
	close(fd);
	return sum ? sum : -EFAULT;
}

ssize_t sys_memory_read_allowed(pid_t pid, uint64_t addr, void *out, size_t len)
{
	struct iovec local = {out, len}, remote = {(void *)(uintptr_t)addr, len};
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : n;
}

ssize_t sys_memory_read(pid_t pid, uint64_t addr, void *out, size_t len)
{
	const struct iovec local = {out, len}, remote = {(void *)(uintptr_t)addr, len};
	ssize_t n = sys_memory_read_allowed(pid, addr, out, len);

	return n == -EFAULT ? read_shut(pid, &local, &remote, 1) : n;
}

ssize_t sys_memory_write(pid_t pid, uint64_t addr, const void *data, size_t len)
{
	struct iovec local = {(void *)(uintptr_t)data, len}, remote = {(void *)(uintptr_t)addr, len};
	ssize_t n = process_vm_writev(pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : n;
}

HIT_PATH int sys_word_get(pid_t tid, uint64_t addr, uint64_t *word)
{
	errno = 0;
	*word = (uint64_t)ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)addr, NULL);
	return -errno;
}

HIT_PATH ssize_t sys_memory_gather(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n)
{
	ssize_t got = process_vm_readv(pid, local, n, remote, n, 0);

	if (got < 0 && errno == EFAULT)
		return read_shut(pid, local, remote, n);
	return got < 0 ? -errno : got;
}

/* The child's part of a launch: wait to be released, exec, tell why it failed. */
static _Noreturn void launch_child(char *const *argv, const sigset_t *mask, int input_fd, int output_fd, int go,
	int result)
{
	char byte;
	int failure;

	if (read(go, &byte, 1) != 1)
		_exit(127); /* the tracer gave up or is gone */
	if ((input_fd >= 0 && dup2(input_fd, STDIN_FILENO) < 0) ||
		(output_fd >= 0 && (dup2(output_fd, STDOUT_FILENO) < 0 || dup2(output_fd, STDERR_FILENO) < 0)))
		_exit(126);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	failure = errno;
	if (write(result, &failure, sizeof(failure)) < 0)
		_exit(126);
	_exit(failure == ENOENT ? 127 : 126);
}

int sys_launch(char *const *argv, const sigset_t *mask, int input_fd, int output_fd, bool with_children,
	struct launch *launch)
{
	int go[2], result[2], failure;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(result, O_CLOEXEC)) {
		failure = errno;
		goto close_go;
	}
	launch->pid = fork();
	if (launch->pid == 0) {
		close(go[1]);
		launch_child(argv, mask, input_fd, output_fd, go[0], result[1]);
	}
	failure = launch->pid < 0 ? errno : -sys_seize(launch->pid, with_children);
	if (failure)
		goto end_child;
	close(go[0]);
	close(result[1]);
	launch->go_fd = go[1];
	launch->result_fd = result[0];
	return 0;
end_child:
	if (launch->pid > 0) {
		kill(launch->pid, SIGKILL);
		waitpid(launch->pid, NULL, 0);
	}
	close(result[0]);
	close(result[1]);
close_go:
	close(go[0]);
	close(go[1]);
	return -failure;
}

void sys_launch_go(struct launch *launch)
{
	ssize_t n = write(launch->go_fd, "", 1);

	(void)n; /* where the child has died, the wait tells */
	close(launch->go_fd);
	launch->go_fd = -1;
}

int sys_launch_result(struct launch *launch)
{
	int failure = 0;

	if (read(launch->result_fd, &failure, sizeof(failure)) != (ssize_t)sizeof(failure))
		failure = 0;
	close(launch->result_fd);
	launch->result_fd = -1;
	return -failure;
}

void sys_kill(pid_t pid, int sig)
{
	kill(pid, sig);
}

bool sys_is_signalled(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
		(sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) || sigismember(&pending, SIGHUP) ||
			sigismember(&pending, SIGQUIT));
}

bool sys_shares_memory(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

unsigned sys_processors(void)
{
	cpu_set_t set;

	/* More processors than the set has room for are more than one. */
	return sched_getaffinity(0, sizeof(set), &set) ? UINT_MAX : (unsigned)CPU_COUNT(&set);
}

static void tick(int sig)
{
	(void)sig; /* its only work is to interrupt a wait */
}

void sys_ticks(uint64_t period_ns)
{
	struct timeval period = {.tv_sec = (time_t)(period_ns / NS_PER_S),
		.tv_usec = (suseconds_t)(period_ns % NS_PER_S / 1000)};
	struct itimerval timer = {period, period};
	struct sigaction action = {.sa_handler = tick};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}
