/*
 * contract_life.c: what becomes of armed registers when a tracee gets threads and children, execs,
 * is let go of or loses its tracer, and what hits and stops do to its signals and system calls.
 */
#include "contract.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int body_store(struct bench *b)
{
	store_byte(b->area + WATCHED, 1);
	return 0;
}

/* --- new tasks --- */

static void *thread_store(void *arg)
{
	struct bench *b = arg;

	store_byte(b->area + WATCHED, 1);
	return NULL;
}

/* The leader stores once itself when its thread, or child, has ended. */
static int body_thread(struct bench *b)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_store, b) != 0 || pthread_join(thread, NULL) != 0)
		return 255;
	return body_store(b);
}

static int body_fork(struct bench *b)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		_exit(body_store(b));
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 255;
	return body_store(b);
}

static int body_vfork(struct bench *b)
{
	int status = -1;
	pid_t pid = vfork();

	if (pid == 0) {
		store_byte(b->area + WATCHED, 1);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 255;
	return body_store(b);
}

struct task_row {
	tracee_body *body;
	long option;
	bool arm_new; /* write all registers of the new task before it runs */
	int new_hits; /* hits in the new task */
};

/* What a tracer sees of the first new task, and the hits of both. */
struct family {
	pid_t pid;         /* of the new task; 0 until it was seen */
	uint64_t dr0, dr7; /* at its first stop */
	int hits, new_hits;
	int status; /* the first task's end */
};

static void family_stop(
	struct bench *b, const struct tracee *t, struct family *f, pid_t pid, int status)
{
	const struct task_row *row = b->row;
	struct tracee new_task = {.pid = pid, .go = -1, .dr7 = 0};
	siginfo_t info;

	if (pid != t->pid && f->pid == 0) {
		f->pid = pid;
		f->dr0 = peek(pid, 0);
		f->dr7 = peek(pid, 7);
		if (row->arm_new)
			arm(&new_task, 0, b->area + WATCHED, WATCH_W, 1);
	}
	if (status >> 8 == SIGTRAP && ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0 &&
		info.si_code == TRAP_HWBKPT)
		*(pid == t->pid ? &f->hits : &f->new_hits) += 1;
	if (ptrace(PTRACE_CONT, pid, NULL, NULL) != 0 && errno != ESRCH)
		bail("PTRACE_CONT");
}

static struct family family_finish(struct bench *b, struct tracee *t)
{
	struct family f = {0};
	int status;
	pid_t pid;

	tracee_go(t);
	tracee_resume(t, PTRACE_CONT, 0);
	for (;;) {
		pid = waitpid(-1, &status, __WALL);
		if (pid < 0)
			bail("waitpid");
		if (WIFSTOPPED(status))
			family_stop(b, t, &f, pid, status);
		else if (pid == t->pid)
			break;
	}
	f.status = status;
	return f;
}

/* It starts unarmed, though DR7 reads as if it were armed: nobody may read back to decide. */
static void test_new_task(struct bench *b)
{
	const struct task_row *row = b->row;
	struct tracee t = tracee_start(b, row->body, row->option);
	struct family f;

	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	f = family_finish(b, &t);
	check(b, "a new task was seen", f.pid != 0, true);
	check(b, "its DR0", f.dr0, 0);
	check(b, "its DR7, the parent's", f.dr7, t.dr7);
	check(b, "its hits", (uint64_t)f.new_hits, (uint64_t)row->new_hits);
	check(b, "the first task's hits", (uint64_t)f.hits, 1);
	check(b, "the first task ends with 0", ending(f.status), 0);
}

/* --- exec --- */

static int body_store_exec(struct bench *b)
{
	store_byte(b->area + WATCHED, 1);
	execl("/proc/self/exe", "contract", "--exit", (char *)NULL);
	return 255;
}

static void test_exec_clears(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store_exec, PTRACE_O_TRACEEXEC);
	struct stop s;
	int n;

	for (n = 0; n < 4; n++)
		arm(&t, n, b->area + WATCHED + n, WATCH_W, 1);
	tracee_first_hit(b, &t);
	tracee_resume(&t, PTRACE_CONT, 0);
	s = tracee_wait(&t);
	check(b, "the exec event", (uint64_t)(s.status >> 16), PTRACE_EVENT_EXEC);
	for (n = 0; n < 4; n++)
		check(b, "an address register", peek(t.pid, n), 0);
	check(b, "DR7", peek(t.pid, 7), 0);
	check(b, "the new program ends with 0", ending(tracee_finish(&t, PTRACE_CONT).status), 0);
}

static void *thread_exec(void *arg)
{
	struct bench *b = arg;

	b->note = (uint64_t)syscall(SYS_gettid);
	body_store_exec(b);
	return NULL;
}

static int body_thread_exec(struct bench *b)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_exec, b) != 0)
		return 255;
	for (;;)
		pause();
}

/* Continues whatever stops until somebody execs; returns the id the event came under. */
static pid_t wait_for_exec(pid_t *thread)
{
	int status;
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, &status, __WALL);
		if (pid < 0)
			bail("waitpid");
		if (!WIFSTOPPED(status))
			continue;
		if (status >> 16 == PTRACE_EVENT_EXEC)
			return pid;
		if (status >> 16 == PTRACE_EVENT_STOP)
			*thread = pid;
		if (ptrace(PTRACE_CONT, pid, NULL, NULL) != 0 && errno != ESRCH)
			bail("PTRACE_CONT");
	}
}

static void test_exec_by_thread(struct bench *b)
{
	struct tracee t =
		tracee_start(b, body_thread_exec, PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE);
	unsigned long former = 0;
	pid_t thread = 0;

	tracee_go(&t);
	tracee_resume(&t, PTRACE_CONT, 0);
	check(b, "the event is under the leader's id", (uint64_t)wait_for_exec(&thread),
		(uint64_t)t.pid);
	if (ptrace(PTRACE_GETEVENTMSG, t.pid, NULL, &former) != 0)
		bail("PTRACE_GETEVENTMSG");
	check(b, "the message is the thread's former id", former, (uint64_t)thread);
	check(b, "the former id is gone",
		syscall(SYS_tgkill, t.pid, thread, 0) == 0 ? 0 : (uint64_t)errno, ESRCH);
	check(b, "the new program ends with 0", ending(tracee_finish(&t, PTRACE_CONT).status), 0);
}

/* --- letting go --- */

static int body_store_twice(struct bench *b)
{
	store_byte(b->area + WATCHED, 1);
	store_byte(b->area + WATCHED, 2);
	return 5;
}

struct detach_row {
	bool at_hit; /* after the first hit, or before the body begins */
	bool disarm; /* DR7 = 0 first */
	int signal;  /* passed on */
	unsigned int ending;
};

static void test_detach(struct bench *b)
{
	const struct detach_row *row = b->row;
	struct tracee t = tracee_start(b, body_store_twice, 0);
	int status;

	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	if (row->at_hit)
		tracee_first_hit(b, &t);
	if (row->disarm)
		check(b, "writing DR7", (uint64_t)poke(&t, 7, 0), 0);
	if (ptrace(PTRACE_DETACH, t.pid, NULL, (long)row->signal) != 0)
		bail("PTRACE_DETACH");
	tracee_go(&t);
	if (waitpid(t.pid, &status, 0) != t.pid)
		bail("waitpid");
	check(b, "the end (1000 + signal)", ending(status), row->ending);
}

static int body_wait_store(struct bench *b)
{
	char byte;

	if (read(b->pipe[0], &byte, 1) != 1)
		return 255;
	return body_store_twice(b);
}

/* A second process that seizes, arms and says so, and is then killed. */
static void doomed_tracer(const struct bench *b, pid_t target, long options, int ready)
{
	struct tracee t = {.pid = target, .go = -1, .dr7 = 0};

	if (ptrace(PTRACE_SEIZE, target, NULL, options) != 0 ||
		ptrace(PTRACE_INTERRUPT, target, NULL, NULL) != 0)
		_exit(1);
	if (waitpid(target, NULL, __WALL) != target)
		_exit(1);
	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	tracee_resume(&t, PTRACE_CONT, 0);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Returns when the tracer has armed the target and is dead and gone. */
static void trace_and_die(const struct bench *b, pid_t target, long options)
{
	int ready[2];
	char byte;
	pid_t tracer;

	if (pipe(ready) != 0)
		bail("pipe");
	tracer = fork();
	if (tracer < 0)
		bail("fork");
	if (tracer == 0)
		doomed_tracer(b, target, options, ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		bail("the second tracer failed");
	close(ready[0]);
	kill(tracer, SIGKILL);
	if (waitpid(tracer, NULL, 0) != tracer)
		bail("waitpid");
}

struct death_row {
	long options; /* of the tracer that is killed */
	bool rescue;  /* seize afterwards and write DR7 = 0 */
	unsigned int ending;
};

static void test_tracer_dies(struct bench *b)
{
	const struct death_row *row = b->row;
	struct tracee t = tracee_start(b, body_wait_store, 0);
	int status;

	tracee_go(&t);
	if (ptrace(PTRACE_DETACH, t.pid, NULL, NULL) != 0)
		bail("PTRACE_DETACH");
	trace_and_die(b, t.pid, row->options);
	if (row->rescue) {
		if (ptrace(PTRACE_SEIZE, t.pid, NULL, NULL) != 0 ||
			ptrace(PTRACE_INTERRUPT, t.pid, NULL, NULL) != 0)
			bail("seizing after the tracer's death");
		tracee_wait(&t);
		check(b, "writing DR7", (uint64_t)poke(&t, 7, 0), 0);
		if (ptrace(PTRACE_DETACH, t.pid, NULL, NULL) != 0)
			bail("PTRACE_DETACH");
	}
	if ((row->options & PTRACE_O_EXITKILL) == 0 && write(b->pipe[1], "g", 1) != 1)
		bail("write");
	if (waitpid(t.pid, &status, 0) != t.pid)
		bail("waitpid");
	check(b, "the end (1000 + signal)", ending(status), row->ending);
}

/* --- the target's own SIGTRAP --- */

static void own_handler(int signal)
{
	(void)signal;
}

struct signal_row {
	bool blocked;
	bool ignored; /* or else: own handler */
	bool restore; /* PTRACE_SETSIGMASK at the hit */
	unsigned int blocked_after, default_after;
};

/* Exit status: bit 0: SIGTRAP is blocked after the hit, bit 1: its action is the default one. */
static int body_signal(struct bench *b)
{
	const struct signal_row *row = b->row;
	struct sigaction action = {.sa_handler = row->ignored ? SIG_IGN : own_handler};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	if (sigaction(SIGTRAP, &action, NULL) != 0 ||
		sigprocmask(row->blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL) != 0)
		return 255;
	store_byte(b->area + WATCHED, 1);
	if (sigprocmask(SIG_BLOCK, NULL, &set) != 0 || sigaction(SIGTRAP, NULL, &action) != 0)
		return 255;
	return sigismember(&set, SIGTRAP) | (action.sa_handler == SIG_DFL) << 1;
}

static void test_signal(struct bench *b)
{
	const struct signal_row *row = b->row;
	const uint64_t mask = 1ull << (SIGTRAP - 1);
	struct tracee t = tracee_start(b, body_signal, 0);

	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	tracee_first_hit(b, &t);
	if (row->restore && ptrace(PTRACE_SETSIGMASK, t.pid, sizeof(mask), &mask) != 0)
		bail("PTRACE_SETSIGMASK");
	check(b, "bit 0: blocked, bit 1: default action",
		ending(tracee_finish(&t, PTRACE_CONT).status),
		row->blocked_after | row->default_after << 1);
}

/* --- stops inside system calls --- */

/* 0: the pipe became readable; or the error number of epoll_wait(2). */
static int body_epoll(struct bench *b)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, b->pipe[0], &event) != 0)
		return 255;
	return epoll_wait(fd, &event, 1, -1) == 1 ? 0 : errno;
}

static int body_nanosleep(struct bench *b)
{
	struct timespec time = {.tv_nsec = 200 * 1000 * 1000};

	(void)b;
	return nanosleep(&time, NULL) == 0 ? 0 : errno;
}

static void registers_get(const struct tracee *t, struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_GETREGS, t->pid, NULL, regs) != 0)
		bail("PTRACE_GETREGS");
}

/* Leaves the tracee at the entry of this system call. */
static void run_to_syscall(struct tracee *t, unsigned long long number)
{
	struct user_regs_struct regs;
	struct stop s;

	tracee_go(t);
	do {
		tracee_resume(t, PTRACE_SYSCALL, 0);
		s = tracee_wait(t);
		if (!WIFSTOPPED(s.status))
			bail("the tracee ended before its system call");
		registers_get(t, &regs);
	} while (s.status >> 8 != (SIGTRAP | 0x80) || regs.orig_rax != number ||
		 (long long)regs.rax != -ENOSYS);
}

struct interrupt_row {
	tracee_body *body;
	unsigned long long number; /* of the system call */
	bool eintr;                /* it returns EINTR */
	bool repair;
	unsigned int ending;
};

/* The signal to stop is pending from before the call can sleep: whether it sleeps first makes no
 * difference. */
static void test_interrupt(struct bench *b)
{
	const struct interrupt_row *row = b->row;
	struct tracee t = tracee_start(b, row->body, PTRACE_O_TRACESYSGOOD);
	struct user_regs_struct regs;

	run_to_syscall(&t, row->number);
	tracee_resume(&t, PTRACE_CONT, 0);
	if (ptrace(PTRACE_INTERRUPT, t.pid, NULL, NULL) != 0)
		bail("PTRACE_INTERRUPT");
	check(b, "the stop is an event", (uint64_t)(tracee_wait(&t).status >> 16),
		PTRACE_EVENT_STOP);
	registers_get(&t, &regs);
	check(b, "the call is known", regs.orig_rax, row->number);
	check(b, "it has returned EINTR", (long long)regs.rax == -EINTR, row->eintr);
	if (row->repair) {
		regs.rip -= 2; /* the syscall instruction */
		regs.rax = regs.orig_rax;
		regs.orig_rax = (unsigned long long)-1;
		if (ptrace(PTRACE_SETREGS, t.pid, NULL, &regs) != 0)
			bail("PTRACE_SETREGS");
		if (write(b->pipe[1], "x", 1) != 1)
			bail("write");
	}
	check(b, "the end (an error number)", ending(tracee_finish(&t, PTRACE_CONT).status),
		row->ending);
}

/* --- stopped processes, dead leaders --- */

/* The state letter of /proc/PID/stat. */
static char state_of(pid_t pid)
{
	char path[64], text[256];
	const char *end;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return '?';
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	end = strrchr(text, ')');
	return end != NULL && end[1] == ' ' ? end[2] : '?';
}

static void test_group_stop(struct bench *b)
{
	struct tracee t = tracee_start(b, body_wait_store, 0);
	int status;

	tracee_go(&t);
	if (ptrace(PTRACE_DETACH, t.pid, NULL, NULL) != 0)
		bail("PTRACE_DETACH");
	kill(t.pid, SIGSTOP);
	if (waitpid(t.pid, &status, WUNTRACED) != t.pid)
		bail("waitpid");
	if (ptrace(PTRACE_SEIZE, t.pid, NULL, NULL) != 0)
		bail("PTRACE_SEIZE");
	check(b, "status of the first stop", (uint64_t)(tracee_wait(&t).status >> 8),
		SIGSTOP | PTRACE_EVENT_STOP << 8);
	if (ptrace(PTRACE_DETACH, t.pid, NULL, NULL) != 0)
		bail("PTRACE_DETACH");
	while (state_of(t.pid) != 'T') /* no event tells; the alarm ends a test that hangs */
		;
	kill(t.pid, SIGCONT);
	if (write(b->pipe[1], "g", 1) != 1 || waitpid(t.pid, &status, 0) != t.pid)
		bail("ending the tracee");
	check(b, "the end", ending(status), 5);
}

static void *thread_wait(void *arg)
{
	_exit(body_wait_store(arg));
}

static int body_leader_exits(struct bench *b)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_wait, b) != 0)
		return 255;
	return (int)syscall(SYS_exit, 0);
}

static bool link_readable(const char *format, pid_t pid, pid_t tid)
{
	char path[64], target[256];

	snprintf(path, sizeof(path), format, (int)pid, (int)tid);
	return readlink(path, target, sizeof(target)) > 0;
}

static void test_leader_exits(struct bench *b)
{
	struct tracee t = tracee_start(b, body_leader_exits, PTRACE_O_TRACECLONE);
	unsigned long tid = 0;
	int status;

	tracee_go(&t);
	tracee_resume(&t, PTRACE_CONT, 0);
	check(b, "the clone event", (uint64_t)(tracee_wait(&t).status >> 16), PTRACE_EVENT_CLONE);
	if (ptrace(PTRACE_GETEVENTMSG, t.pid, NULL, &tid) != 0 ||
		waitpid((pid_t)tid, &status, __WALL) != (pid_t)tid)
		bail("waiting for the new thread");
	if (ptrace(PTRACE_CONT, (pid_t)tid, NULL, NULL) != 0)
		bail("PTRACE_CONT");
	tracee_resume(&t, PTRACE_CONT, 0);
	while (state_of(t.pid) != 'Z')
		;
	check(b, "/proc/PID/exe", link_readable("/proc/%d/exe", t.pid, 0), false);
	check(b, "/proc/PID/task/TID/exe", link_readable("/proc/%d/task/%d/exe", t.pid, (pid_t)tid),
		true);
	if (write(b->pipe[1], "g", 1) != 1)
		bail("write");
	while (waitpid(-1, &status, __WALL) != t.pid)
		;
	check(b, "the end", ending(status), 5);
}

/* --- the table --- */

static const struct task_row new_thread = {body_thread, PTRACE_O_TRACECLONE, false, 0};
static const struct task_row new_fork = {body_fork, PTRACE_O_TRACEFORK, false, 0};
static const struct task_row new_vfork = {body_vfork, PTRACE_O_TRACEVFORK, false, 0};
static const struct task_row armed_thread = {body_thread, PTRACE_O_TRACECLONE, true, 1};
static const struct task_row armed_fork = {body_fork, PTRACE_O_TRACEFORK, true, 1};
static const struct task_row armed_vfork = {body_vfork, PTRACE_O_TRACEVFORK, true, 1};

static const struct detach_row detach_clean = {true, true, 0, 5};
static const struct detach_row detach_signal = {true, true, SIGTRAP, 1000 + SIGTRAP};
static const struct detach_row detach_armed = {false, false, 0, 1000 + SIGTRAP};

static const struct death_row death_plain = {0, false, 1000 + SIGTRAP};
static const struct death_row death_exitkill = {PTRACE_O_EXITKILL, false, 1000 + SIGKILL};
static const struct death_row death_rescue = {0, true, 5};

static const struct signal_row signal_blocked = {true, false, false, 0, 1};
static const struct signal_row signal_restored = {true, false, true, 1, 1};
static const struct signal_row signal_ignored = {false, true, false, 0, 1};
static const struct signal_row signal_handled = {false, false, false, 0, 0};

static const struct interrupt_row epoll_plain = {body_epoll, SYS_epoll_wait, true, false, EINTR};
static const struct interrupt_row epoll_repaired = {body_epoll, SYS_epoll_wait, true, true, 0};
static const struct interrupt_row nanosleep_plain = {
	body_nanosleep, SYS_clock_nanosleep, false, false, 0};

static const struct test tests[] = {
	{"a new thread is unarmed, its DR7 lies", test_new_task, &new_thread},
	{"a forked child is unarmed, its DR7 lies", test_new_task, &new_fork},
	{"a vfork child is unarmed, its DR7 lies", test_new_task, &new_vfork},
	{"a new thread written in full hits", test_new_task, &armed_thread},
	{"a forked child written in full hits", test_new_task, &armed_fork},
	{"a vfork child written in full hits, the parent still does", test_new_task, &armed_vfork},
	{"exec has cleared all registers at its event", test_exec_clears, NULL},
	{"exec by a thread: the leader's id, the former id in the message", test_exec_by_thread,
		NULL},
	{"detach at a hit with DR7 = 0 and no signal is survived", test_detach, &detach_clean},
	{"detach at a hit that passes SIGTRAP on kills", test_detach, &detach_signal},
	{"detach while armed kills at the next access", test_detach, &detach_armed},
	{"a killed tracer: the next access kills the target with SIGTRAP", test_tracer_dies,
		&death_plain},
	{"a killed tracer with EXITKILL: the target dies at once", test_tracer_dies,
		&death_exitkill},
	{"a killed tracer: another that writes DR7 = 0 saves the target", test_tracer_dies,
		&death_rescue},
	{"a hit unblocks SIGTRAP and resets its handler", test_signal, &signal_blocked},
	{"PTRACE_SETSIGMASK restores the mask, not the handler", test_signal, &signal_restored},
	{"a hit resets an ignored SIGTRAP to the default", test_signal, &signal_ignored},
	{"a hit leaves an unblocked handler alone", test_signal, &signal_handled},
	{"PTRACE_INTERRUPT makes epoll_wait return EINTR", test_interrupt, &epoll_plain},
	{"the repair restarts epoll_wait", test_interrupt, &epoll_repaired},
	{"nanosleep resumes by itself", test_interrupt, &nanosleep_plain},
	{"a stopped process shows its group-stop and stays stopped", test_group_stop, NULL},
	{"a dead leader has no exe link, its live thread has", test_leader_exits, NULL},
};

const struct test_table life_tests = {tests, sizeof(tests) / sizeof(tests[0])};
