/* agent.c: the agent and the calls injected into threads, on real processes. Each row of the table
 * is a process that does one thing when it is stopped; agents are made and freed in it, and what
 * can be seen of it must be the same before and after, for us and for itself. Output: TAP. An
 * argument: how many rounds. */
#include "watchprof/agent.h"

#include "prey.h"
#include "watchprof/inject.h"
#include "watchprof/procfs.h"
#include "watchprof/rseq_registration.h"
#include "watchprof/stop.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/rseq.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS    50
#define LOOKS_MAX 100
#define DATA_SIZE (1 << 20)
#define WAIT_MS   150

/* --- what a process may be doing ---------------------------------------------------------------
 */

static void prey_read(struct prey_board *board)
{
	char byte = 0;

	board->ready = 1;
	PREY_CHECK(board, read(board->pipe[0], &byte, 1) == 1 && byte == 'x');
}

static void prey_nanosleep(struct prey_board *board)
{
	struct timespec time = {0, WAIT_MS * 1000000L}, left;

	board->ready = 1;
	PREY_CHECK(board, nanosleep(&time, &left) == 0);
}

static void prey_futex(struct prey_board *board)
{
	struct timespec time = {0, WAIT_MS * 1000000L};
	int word = 7;

	board->ready = 1;
	PREY_CHECK(board, syscall(SYS_futex, &word, FUTEX_WAIT, 7, &time, NULL, 0) == -1 &&
				  errno == ETIMEDOUT);
}

static void prey_futex_wake(struct prey_board *board)
{
	board->ready = 1;
	PREY_CHECK(board, syscall(SYS_futex, &board->go, FUTEX_WAIT, 0, NULL, NULL, 0) == 0 ||
				  errno == EAGAIN);
}

static void prey_epoll(struct prey_board *board)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, board->pipe[0], &event);
	board->ready = 1;
	PREY_CHECK(board, syscall(SYS_epoll_wait, epoll, &event, 1, WAIT_MS) == 0);
}

static void prey_epoll_pwait(struct prey_board *board)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);
	sigset_t mask, now;

	sigfillset(&mask);
	epoll_ctl(epoll, EPOLL_CTL_ADD, board->pipe[0], &event);
	board->ready = 1;
	PREY_CHECK(board, epoll_pwait(epoll, &event, 1, WAIT_MS, &mask) == 0);
	sigprocmask(SIG_SETMASK, NULL, &now);
	PREY_CHECK(board, !sigismember(&now, SIGUSR1));
}

static void prey_ppoll(struct prey_board *board)
{
	struct timespec time = {0, WAIT_MS * 1000000L};
	struct pollfd fd = {.fd = board->pipe[0], .events = POLLIN};
	sigset_t mask;

	sigfillset(&mask);
	board->ready = 1;
	PREY_CHECK(board, ppoll(&fd, 1, &time, &mask) == 0);
}

static void prey_sigtimedwait(struct prey_board *board)
{
	struct timespec time = {0, WAIT_MS * 1000000L};
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	board->ready = 1;
	PREY_CHECK(board, sigtimedwait(&mask, NULL, &time) == -1 && errno == EAGAIN);
}

static struct prey_board *signalled; /* by a handler, which gets no argument */

static void count_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	signalled->sum += info->si_value.sival_int;
	signalled->count++;
}

static void handler_set(struct prey_board *board, int sig)
{
	struct sigaction action = {.sa_sigaction = count_signal, .sa_flags = SA_SIGINFO};

	signalled = board;
	sigaction(sig, &action, NULL);
}

/* The signal is blocked but in the call: it must come, once, and end the call. */
static void prey_sigsuspend(struct prey_board *board)
{
	sigset_t mask, none;

	handler_set(board, SIGUSR1);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	sigemptyset(&none);
	board->ready = 1;
	PREY_CHECK(board, sigsuspend(&none) == -1 && errno == EINTR);
	PREY_CHECK(board, board->count == 1);
	sigprocmask(SIG_SETMASK, NULL, &none);
	PREY_CHECK(board, sigismember(&none, SIGUSR1));
}

/* All registers in use, and nothing but them. */
static void prey_spin(struct prey_board *board)
{
	double factor = 1.0;
	long sum = 0, i;

	board->ready++;
	for (i = 0; !board->go; i++) {
		sum += i;
		factor = factor * 0.5 + 0.5;
	}
	PREY_CHECK(board, sum == i * (i - 1) / 2 && factor == 1.0);
}

static void spin_in_handler(int sig)
{
	(void)sig;
	prey_spin(signalled);
}

static void prey_handler(struct prey_board *board)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigaction action = {.sa_handler = spin_in_handler, .sa_flags = SA_ONSTACK};

	signalled = board;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

static void *thread_read(void *context)
{
	struct prey_board *board = context;
	struct procfs_status status;

	while (procfs_status(getpid(), &status) && status.state != 'Z')
		sched_yield();
	board->tid = gettid();
	prey_read(board);
	return NULL;
}

/* Another thread than the leader, which has exited. */
static void prey_headless(struct prey_board *board)
{
	pthread_t thread;

	pthread_create(&thread, NULL, thread_read, board);
	syscall(SYS_exit, 0);
}

static void *thread_spin(void *context)
{
	prey_spin(context);
	return NULL;
}

static void prey_threads(struct prey_board *board)
{
	pthread_t threads[3];
	char byte = 0;

	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_create(&threads[i], NULL, thread_spin, board);
	while (board->ready < (int)ARRAY_LEN(threads))
		sched_yield();
	PREY_CHECK(board, read(board->pipe[0], &byte, 1) == 1);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
}

/* Signals with values come all the time. */
#define SENT 2000
static void prey_signals(struct prey_board *board)
{
	handler_set(board, SIGRTMIN);
	board->ready = 1;
	while (board->count < SENT) {
		double factor = 1.0;

		for (unsigned i = 0; i < 1000; i++)
			factor = factor * 0.5 + 0.5;
		PREY_CHECK(board, factor == 1.0);
	}
	PREY_CHECK(board, board->sum == (long)SENT * (SENT - 1) / 2);
}

/* Its child is the one in question; it counts the stops that it is told of. */
static void prey_parent(struct prey_board *board)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		for (;;)
			pause();
	}
	board->tid = child;
	board->ready = 1;
	while (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status))
		board->count++;
}

static void prey_filtered(struct prey_board *board)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {1, &allow};

	PREY_CHECK(board, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
				  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	prey_read(board);
}

/* Where libc has registered an area, another one is refused. */
static void prey_rseq(struct prey_board *board)
{
	static struct rseq area;

	syscall(SYS_rseq, &area, 32, 0, 0x53053053);
	prey_read(board);
}

static void prey_raw_exit(struct prey_board *board)
{
	prey_read(board);
	syscall(SYS_exit, 7);
}

/* --- the tests -------------------------------------------------------------------------------- */

static unsigned n_tests, n_bad, rounds = ROUNDS;

static void check(bool good, const char *name)
{
	n_bad += !good;
	printf("%s %u - %s\n", good ? "ok" : "not ok", ++n_tests, name);
	fflush(stdout);
}

struct scene {
	const char *name;
	prey_fn *run;
	long call;  /* that it sleeps in; -1: none */
	bool wakes; /* ends by a byte in its pipe */
	int sig;    /* ends by this signal */
};

static const struct scene scenes[] = {
	{"asleep in read", prey_read, SYS_read, true, 0},
	{"asleep in nanosleep", prey_nanosleep, SYS_clock_nanosleep, false, 0},
	{"asleep in futex, with a time", prey_futex, SYS_futex, false, 0},
	{"asleep in futex", prey_futex_wake, SYS_futex, false, 0},
	{"asleep in epoll_wait", prey_epoll, SYS_epoll_wait, false, 0},
	{"asleep in epoll_pwait, with a mask", prey_epoll_pwait, SYS_epoll_pwait, false, 0},
	{"asleep in ppoll, with a mask", prey_ppoll, SYS_ppoll, false, 0},
	{"asleep in sigtimedwait", prey_sigtimedwait, SYS_rt_sigtimedwait, false, 0},
	{"asleep in sigsuspend, with a mask", prey_sigsuspend, SYS_rt_sigsuspend, false, SIGUSR1},
	{"running", prey_spin, -1, false, 0},
	{"in a signal handler on its own stack", prey_handler, -1, false, 0},
	{"without its first thread", prey_headless, SYS_read, true, 0},
	{"among running threads", prey_threads, SYS_read, true, 0},
};

/* May the process itself read there? */
static bool is_readable(pid_t pid, uint64_t addr)
{
	char byte;
	struct iovec local = {&byte, 1}, remote = {(void *)(uintptr_t)addr, 1};

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1;
}

/* The agent does what it is for. */
static bool agent_works(const struct prey *prey, struct agent *agent)
{
	uint64_t scratch, word = 0;
	size_t size;
	int64_t result;
	bool good;

	scratch = agent_scratch(agent, &size);
	good = size == DATA_SIZE &&
	       sys_memory_force_write(agent_memory(agent), scratch + size - 8, "watched", 8) == 8;
	good = good && agent_protect(agent, scratch + size - 4096, 4096, PROT_NONE) == 0;
	good = good && !is_readable(prey->pid, scratch + size - 8);
	good = good &&
	       sys_memory_force_read(agent_memory(agent), scratch + size - 8, &word, 8) == 8 &&
	       memcmp(&word, "watched", 8) == 0;
	good = good && agent_protect(agent, 1, 1, PROT_READ) == -EINVAL;
	good = good && agent_call(agent, SYS_getpid, (const uint64_t[6]){0}, &result) == 0 &&
	       result == prey->pid;
	return good && agent_call(agent, SYS_gettid, (const uint64_t[6]){0}, &result) == 0 &&
	       result == agent_tid(agent);
}

/* One agent in a stopped thread, whose registers must be as they were. */
static bool round_run(const struct prey *prey, int *status)
{
	struct user_regs_struct before, after;
	struct err err = {0};
	struct agent *agent;
	int former = *status;
	bool good;

	sys_regs_get(prey->tid, &before);
	agent = agent_new(prey->pid, prey->tid, status, DATA_SIZE, &err);
	if (!agent) {
		printf("# %s\n", err.text);
		return false;
	}
	sys_regs_get(prey->tid, &after);
	good = memcmp(&before, &after, sizeof(before)) == 0 && *status == former;
	if (!good)
		printf("# status %x, was %x; rip %llx, was %llx; rax %llx, was %llx\n", *status,
			former, after.rip, before.rip, after.rax, before.rax);
	good = good && agent_works(prey, agent);
	agent_free(agent);
	return good;
}

/* Is what is seen of it the same again, as soon as it has gone on so far? A call that begins anew is seen before it has set
 * its mask, too. True also where the sleep has ended meanwhile. */
static bool is_as_before(const struct prey *prey, const struct scene *scene, const char *before)
{
	char *after = NULL;
	bool is_same = false;

	for (unsigned i = 0; i < LOOKS_MAX && !is_same; i++) {
		free(after);
		after = prey_picture(prey);
		is_same = strcmp(before, after) == 0 || !prey_await(prey, scene->call);
	}
	if (!is_same)
		printf("# before:\n%s# after:\n%s", before, after);
	free(after);
	return is_same;
}

/* Agents come and go in it. What is seen of it must be the same when it has gone on. */
static bool rounds_run(const struct prey *prey, const struct scene *scene)
{
	char *before = prey_picture(prey);
	unsigned n = 0;
	bool good = true;
	int status;

	/* A sleep may end meanwhile. */
	while (n < rounds && good && (status = prey_stop(prey))) {
		good = round_run(prey, &status);
		sys_cont(prey->tid, 0);
		n++;
		if (!good || !prey_await(prey, scene->call))
			break;
		good = is_as_before(prey, scene, before);
	}
	free(before);
	return good && n > 0;
}

static void scene_play(const struct scene *scene)
{
	struct prey prey = prey_start(scene->run);
	bool good;

	prey_await(&prey, scene->call);
	prey_seize(&prey, false);
	good = rounds_run(&prey, scene);
	prey_stop(&prey);
	prey_detach(&prey, 0);
	prey.board->go = 1;
	syscall(SYS_futex, &prey.board->go, FUTEX_WAKE, 1, NULL, NULL, 0);
	if (scene->wakes && write(prey.board->pipe[1], "x", 1) != 1)
		good = false;
	if (scene->sig)
		kill(prey.pid, scene->sig);
	check(prey_end(&prey) == 0 && good, scene->name);
}

/* A process that queues signals with the values 0, 1, ... */
static pid_t sender_start(pid_t pid)
{
	pid_t sender = fork();

	if (sender)
		return sender;
	for (int i = 0; i < SENT;) {
		if (sigqueue(pid, SIGRTMIN, (union sigval){.sival_int = i}) == 0)
			i++;
		else
			sched_yield(); /* the queue is full */
	}
	_exit(0);
}

/* A round at the stop of status; if that is of a signal, it is there as it was afterwards. */
static bool signal_round(struct prey *prey, int *status, unsigned *at_signals)
{
	bool is_signal = stop_decode(*status).kind == STOP_SIGNAL;
	siginfo_t before, after;

	*at_signals += is_signal;
	if (is_signal && sys_siginfo_get(prey->tid, &before))
		return false;
	if (!round_run(prey, status))
		return false;
	return !is_signal || (sys_siginfo_get(prey->tid, &after) == 0 && before.si_code == after.si_code &&
				     before.si_pid == after.si_pid && before.si_value.sival_int == after.si_value.sival_int);
}

/* Agents in a thread that stands at a signal when it is stopped, or at the next one: no signal and no value is
 * lost. */
static void signals_test(void)
{
	struct prey prey = prey_start(prey_signals);
	unsigned at_signals = 0;
	bool good = true;
	pid_t sender;
	int status;

	prey_seize(&prey, false);
	sender = sender_start(prey.pid);
	while (good && prey.board->count < SENT && (status = prey_stop(&prey))) {
		bool is_signal = stop_decode(status).kind == STOP_SIGNAL;

		good = signal_round(&prey, &status, &at_signals);
		sys_cont(prey.tid, is_signal ? stop_decode(status).value : 0);
		if (is_signal || sys_wait_stop(prey.tid, &status))
			continue;
		good = good && signal_round(&prey, &status, &at_signals); /* the next signal */
		sys_cont(prey.tid, stop_decode(status).kind == STOP_SIGNAL ? stop_decode(status).value : 0);
	}
	while (prey.board->count < SENT && sys_wait_stop(prey.tid, &status) == 0)
		sys_cont(prey.tid,
			stop_decode(status).kind == STOP_SIGNAL ? stop_decode(status).value : 0);
	waitpid(sender, NULL, 0);
	printf("# %u of them at signals, good %d, %ld counted\n", at_signals, good, (long)prey.board->count);
	check(prey_end(&prey) == 0 && good && at_signals > 0, "at signals with values");
}

static char state_of(pid_t pid)
{
	struct procfs_status status;

	return procfs_status(pid, &status) ? status.state : '?';
}

/* The stop goes on where it was, and so do the process and what its parent is told. */
static bool job_stops(const struct prey *prey, int *status)
{
	struct err err = {0};
	struct agent *agent = agent_new(prey->pid, prey->tid, status, DATA_SIZE, &err);
	bool good = agent != NULL;

	/* It is continued and stopped again. */
	good = good && sys_listen(prey->tid) == 0 && kill(prey->pid, SIGCONT) == 0;
	good = good && sys_wait_stop(prey->tid, status) == 0 &&
	       stop_decode(*status).kind == STOP_TRAPPED;
	good = good && sys_cont(prey->tid, 0) == 0 && sys_wait_stop(prey->tid, status) == 0 &&
	       stop_decode(*status).value == SIGCONT;
	good = good && sys_cont(prey->tid, SIGCONT) == 0 && kill(prey->pid, SIGTSTP) == 0;
	good = good && sys_wait_stop(prey->tid, status) == 0 &&
	       stop_decode(*status).value == SIGTSTP;
	good = good && sys_cont(prey->tid, SIGTSTP) == 0 && sys_wait_stop(prey->tid, status) == 0 &&
	       stop_decode(*status).kind == STOP_GROUP;
	if (good) {
		agent_settle(agent);
		while (prey->board->count < 2) /* its parent is told of this stop, too */
			sched_yield();
		good = agent_works(prey, agent);
		agent_settle(agent);
	}
	agent_free(agent);
	return good;
}

static void job_test(void)
{
	struct prey parent = prey_start(prey_parent),
		    prey = {parent.board->tid, parent.board->tid, parent.board};
	int status;
	bool good;

	kill(prey.pid, SIGSTOP);
	while (prey.board->count < 1)
		sched_yield();
	prey_seize(&prey, false);
	good = sys_wait_stop(prey.tid, &status) == 0 && stop_decode(status).kind == STOP_GROUP;
	for (unsigned i = 0; i < rounds && good; i++)
		good = round_run(&prey, &status) && stop_decode(status).kind == STOP_GROUP;
	good = good && job_stops(&prey, &status);
	good = sys_detach(prey.tid, 0) == 0 && good;
	/* Untraced, it is still stopped. */
	while (good && state_of(prey.pid) != 'T')
		sched_yield();
	kill(prey.pid, SIGKILL);
	check(prey_end(&parent) == 0 && good, "stopped by job control");
}

/* Where it cannot be done, nothing is left behind. */
static void refusal_test(
	const char *name, prey_fn *run, const struct rlimit *limit, const char *text)
{
	struct prey prey = prey_start(run);
	struct user_regs_struct before_regs, after_regs;
	struct err err = {0};
	struct agent *agent;
	char *before, *after;
	int status;
	bool good;

	prey_await(&prey, SYS_read);
	before = prey_picture(&prey);
	prey_seize(&prey, false);
	if (limit)
		prlimit(prey.pid, RLIMIT_AS, limit, NULL);
	status = prey_stop(&prey);
	sys_regs_get(prey.tid, &before_regs);
	agent = agent_new(prey.pid, prey.tid, &status, DATA_SIZE, &err);
	sys_regs_get(prey.tid, &after_regs);
	after = prey_picture(&prey);
	good = !agent && strstr(err.text, text) && !strchr(err.text, '\n') &&
	       stop_decode(status).kind == STOP_TRAPPED;
	good = good && strcmp(before, after) == 0 &&
	       memcmp(&before_regs, &after_regs, sizeof(before_regs)) == 0;
	if (!good)
		printf("# %s\n%s%s", err.text, before, after);
	free(before);
	free(after);
	prey_detach(&prey, 0);
	good = write(prey.board->pipe[1], "x", 1) == 1 && good;
	check(prey_end(&prey) == 0 && good, name);
}

/* The registration of restartable sequences goes and comes back. */
static void rseq_test(void)
{
	struct prey prey = prey_start(prey_rseq);
	struct sys_rseq former, now;
	int memory = sys_memory_open(prey.pid), status;
	struct inject_site site;
	bool good = true;

	prey_await(&prey, SYS_read);
	prey_seize(&prey, false);
	status = prey_stop(&prey);
	inject_site_find(prey.pid, memory, &site);
	for (unsigned i = 0; i < rounds && good; i++) {
		good = rseq_withdraw(prey.tid, &status, &site, &former) == 0 && former.addr;
		good = good && sys_rseq_get(prey.tid, &now) == 0 && !now.addr;
		good = good && rseq_restore(prey.tid, &status, &site, &former) == 0;
		good = good && sys_rseq_get(prey.tid, &now) == 0 &&
		       memcmp(&now, &former, sizeof(now)) == 0;
	}
	close(memory);
	prey_detach(&prey, 0);
	good = write(prey.board->pipe[1], "x", 1) == 1 && good;
	check(prey_end(&prey) == 0 && good, "restartable sequences");
}

/* The process is killed while the agent makes calls, and before one. */
static void kill_test(void)
{
	struct prey prey = prey_start(prey_threads);
	struct err err = {0};
	struct agent *agent;
	bool good = true;
	int64_t result;
	int status;

	prey_await(&prey, SYS_read);
	prey_seize(&prey, false);
	status = prey_stop(&prey);
	agent = agent_new(prey.pid, prey.tid, &status, DATA_SIZE, &err);
	good = agent && agent_works(&prey, agent) && !agent_is_alone(agent, 0);
	kill(prey.pid, SIGKILL);
	while (good && agent_call(agent, SYS_getpid, (const uint64_t[6]){0}, &result) == 0)
		;
	good = good && agent_call(agent, SYS_getpid, (const uint64_t[6]){0}, &result) == -ESRCH;
	agent_free(agent);
	/* The others, which are not waited for by the agent. */
	while (sys_wait(&status, true) != prey.pid)
		;
	check(good && WIFSIGNALED(status), "killed under the agent");
}

/* The agent begins a call and somebody crashes: n reports of it (entry, exit) are taken, and one is not. */
static bool crash_in_call(const struct agent *agent, unsigned n)
{
	pid_t tid = agent_tid(agent);
	struct user_regs_struct regs;
	int status;

	if (sys_regs_get(tid, &regs))
		return false;
	regs.rip -= 2; /* at the instruction again */
	regs.rax = SYS_getpid;
	regs.orig_rax = UINT64_MAX;
	if (sys_regs_set(tid, &regs))
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (sys_syscall(tid, 0) || sys_wait_stop(tid, &status))
			return false;
	}
	return n == 2 || sys_syscall(tid, 0) == 0;
}

static void recover_test(void)
{
	struct prey prey = prey_start(prey_read);
	struct err err = {0};
	struct agent *agent;
	bool good;
	int status;

	prey_await(&prey, SYS_read);
	prey_seize(&prey, false);
	status = prey_stop(&prey);
	agent = agent_new(prey.pid, prey.tid, &status, DATA_SIZE, &err);
	good = agent != NULL;
	for (unsigned i = 0; i < 3 * rounds && good; i++) {
		good = crash_in_call(agent, i % 3);
		agent_recover(agent);
		/* Nothing is left to be told. */
		good = good && sys_wait_one(agent_tid(agent), &status) == 0 && agent_works(&prey, agent);
	}
	/* At an entry, which was told. */
	good = good && crash_in_call(agent, 0) && sys_wait_stop(agent_tid(agent), &status) == 0;
	agent_recover(agent);
	good = good && agent_works(&prey, agent);
	agent_free(agent);
	prey_detach(&prey, 0);
	good = write(prey.board->pipe[1], "x", 1) == 1 && good;
	check(prey_end(&prey) == 0 && good, "a crash while the agent makes a call");
}

/* Run to the entry of a call. */
static bool run_to_entry(const struct prey *prey, long call)
{
	struct user_regs_struct regs;
	int status;

	do {
		if (sys_syscall(prey->tid, 0) || sys_wait_stop(prey->tid, &status) ||
			sys_regs_get(prey->tid, &regs))
			return false;
	} while ((long)regs.orig_rax != call || (long)regs.rax != -ENOSYS);
	return true;
}

/* The last thread but the agent ends. If the agent goes before it does, the process's exit status
 * is the thread's own; if it goes later, the process ends all the same. */
static void alone_test(const char *name, bool is_late, int expected)
{
	struct prey prey = prey_start(prey_raw_exit);
	struct err err = {0};
	struct agent *agent;
	int status;
	bool good;

	prey_await(&prey, SYS_read);
	prey_seize(&prey, false);
	status = prey_stop(&prey);
	agent = agent_new(prey.pid, prey.tid, &status, DATA_SIZE, &err);
	good = agent && agent_is_alone(agent, prey.tid) && !agent_is_alone(agent, 0);
	good = write(prey.board->pipe[1], "x", 1) == 1 && good;
	good = good && run_to_entry(&prey, SYS_exit);
	if (!is_late)
		agent_free(agent);
	sys_cont(prey.tid, 0);
	while (good && is_late && !agent_is_alone(agent, 0))
		sched_yield();
	if (is_late)
		agent_free(agent);
	check(prey_end(&prey) == expected && good, name);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = (unsigned)atoi(argv[1]);
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
		scene_play(&scenes[i]);
	signals_test();
	job_test();
	refusal_test("no memory", prey_read, &(struct rlimit){1 << 20, 1 << 20},
		"memory: Cannot allocate memory");
	refusal_test("filtered calls", prey_filtered, NULL, "seccomp");
	rseq_test();
	kill_test();
	recover_test();
	alone_test("freed before the last thread", false, 7);
	alone_test("freed after the last thread", true, 0);
	printf("1..%u\n", n_tests);
	return n_bad ? 1 : 0;
}
