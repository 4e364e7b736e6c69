/* safety.c: what becomes of a process whose tracer is killed while a page of it is protected. The
 * tracer is a small one: it runs the two instructions that the processes here make on their page,
 * counts nothing, and is killed at a random moment of its work. The process must go on with all that it
 * has done, its own handlers and dispositions, and what is left in it can be undone from outside.
 * Output: TAP. Arguments: how many kills on the hot page; a seed. */
#include "watchprof/safety.h"

#include "prey.h"
#include "watchprof/agent.h"
#include "watchprof/inject.h"
#include "watchprof/procfs.h"
#include "watchprof/rescue.h"
#include "watchprof/stop.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define KILLS        20
#define HITS_MOST    400     /* before a kill */
#define EARLY_NS     3000000 /* within these the tracer is killed, while it attaches or soon after */
#define AFTER        200000
#define THREADS      2
#define PAGE         4096
#define DATA_SIZE    65536
#define SYSCALL_STOP (SIGTRAP | 0x80)

/* The page, at the same address in all processes of the test, with its own copy in each. */
struct hot {
	long own[THREADS], common;
	char filled[PAGE - sizeof(long[THREADS + 1])];
	char next[PAGE]; /* not protected */
};
static struct hot *hot;

/* --- processes -------------------------------------------------------------------------------- */

/* inc qword [rdi], 3 bytes, and with lock, 4. */
static void increase(long *word)
{
	__asm__ volatile("incq (%0)" : : "D"(word) : "memory", "cc");
}

static void increase_locked(long *word)
{
	__asm__ volatile("lock incq (%0)" : : "D"(word) : "memory", "cc");
}

struct hammer {
	struct prey_board *board;
	size_t n;
	long done;
	pthread_t thread;
};

static void *hammer_run(void *context)
{
	struct hammer *hammer = context;

	hammer->board->ready++;
	for (long left = AFTER; left > 0; left -= hammer->board->go) {
		increase(&hot->own[hammer->n]);
		increase_locked(&hot->common);
		hammer->done++;
	}
	return NULL;
}

/* Threads that do nothing but touch the page; go: only so often any more. The instruction that the tracer was about when it was
 * killed may have run twice. */
static void prey_hammer(struct prey_board *board)
{
	struct hammer hammers[THREADS] = {0};
	long sum = 0, more = 0;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	for (size_t i = 0; i < THREADS; i++) {
		hammers[i].board = board;
		hammers[i].n = i;
		pthread_create(&hammers[i].thread, NULL, hammer_run, &hammers[i]);
	}
	board->ready++;
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(hammers[i].thread, NULL);
		PREY_CHECK(board, hot->own[i] >= hammers[i].done);
		more += hot->own[i] - hammers[i].done;
		sum += hammers[i].done;
	}
	PREY_CHECK(board, hot->common >= sum && hot->common - sum + more <= 1);
}

/* Where a handler of the process notes what it was given. */
static struct {
	sigjmp_buf back;
	struct prey_board *board;
	void *addr;
	int code, value, calls;
	bool is_on_stack, is_usr1_blocked;
	stack_t stack;
} seen;

static void handler(int sig, siginfo_t *info, void *context)
{
	char here;
	sigset_t now;

	(void)sig, (void)context;
	seen.calls++;
	seen.addr = info->si_addr;
	seen.code = info->si_code;
	seen.value = info->si_value.sival_int;
	seen.is_on_stack = &here >= (char *)seen.stack.ss_sp &&
			   &here < (char *)seen.stack.ss_sp + seen.stack.ss_size;
	sigprocmask(SIG_SETMASK, NULL, &now);
	seen.is_usr1_blocked = sigismember(&now, SIGUSR1);
	if (info->si_code > 0)
		siglongjmp(seen.back, 1);
}

/* Not mapped anywhere. */
static char *volatile nowhere = (char *)16;

/* Set the process's own handler. */
static void handler_set(struct prey_board *board, int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags}, former;

	seen.board = board;
	seen.stack = (stack_t){.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&seen.stack, NULL);
	sigaddset(&action.sa_mask, SIGUSR1);
	PREY_CHECK(board,
		sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGSEGV, NULL, &former) == 0);
	PREY_CHECK(board,
		former.sa_sigaction == handler &&
			(former.sa_flags & ~0x04000000) == action.sa_flags); /* SA_RESTORER */
	PREY_CHECK(board,
		sigismember(&former.sa_mask, SIGUSR1) && !sigismember(&former.sa_mask, SIGUSR2));
}

/* A fault of its own: its handler sees it as ever. */
static void fault(struct prey_board *board, volatile char *at, int code, bool on_stack)
{
	int before = seen.calls;

	if (sigsetjmp(seen.back, 1) == 0)
		*at = 1;
	PREY_CHECK(board, seen.calls == before + 1 && seen.addr == (void *)at && seen.code == code);
	PREY_CHECK(board, seen.is_on_stack == on_stack && seen.is_usr1_blocked);
}

static void sent(struct prey_board *board, int value)
{
	int before = seen.calls;

	sigqueue(getpid(), SIGSEGV, (union sigval){.sival_int = value});
	PREY_CHECK(board, seen.calls == before + 1 && seen.code == SI_QUEUE && seen.value == value);
}

/* The disposition that a child sees, in the kernel's form. */
static uint64_t vfork_seen[4];

static void wait_go(struct prey_board *board)
{
	board->ready = 1;
	while (!board->go)
		sched_yield();
}

/* The page, then its own faults. */
static void prey_own_handler(struct prey_board *board)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	handler_set(board, SA_ONSTACK);
	wait_go(board);
	increase(&hot->common);
	PREY_CHECK(board, hot->common == 1 && seen.calls == 0);
	fault(board, nowhere, SEGV_MAPERR, true);
	fault(board, nowhere, SEGV_MAPERR, true);
	sent(board, 5);
}

/* Its own faults at once. */
static void prey_own_first(struct prey_board *board)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	handler_set(board, 0);
	wait_go(board);
	fault(board, nowhere, SEGV_MAPERR, false);
	increase(&hot->common);
	PREY_CHECK(board, hot->common == 1);
	sent(board, 6);
}

/* A signal that is sent, before anything else. */
static void prey_sent_first(struct prey_board *board)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	handler_set(board, SA_ONSTACK);
	wait_go(board);
	sent(board, 7);
	PREY_CHECK(board, seen.is_on_stack);
	increase(&hot->common);
	PREY_CHECK(board, hot->common == 1);
}

/* It has made the page read-only itself: a write is its affair, a read is not. */
static void prey_own_barrier(struct prey_board *board)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	mprotect(hot, PAGE, PROT_READ);
	handler_set(board, SA_ONSTACK);
	wait_go(board);
	PREY_CHECK(board, *(volatile long *)&hot->common == 0 && seen.calls == 0);
	fault(board, hot->filled, SEGV_ACCERR, true);
	fault(board, hot->filled, SEGV_ACCERR, true);
}

static void prey_barrier_first(struct prey_board *board)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	mprotect(hot, PAGE, PROT_READ);
	handler_set(board, SA_ONSTACK);
	wait_go(board);
	fault(board, hot->filled, SEGV_ACCERR, true);
	PREY_CHECK(board, *(volatile long *)&hot->common == 0 && seen.calls == 1);
}

static void prey_default(struct prey_board *board)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	signal(SIGSEGV, SIG_DFL);
	wait_go(board);
	increase(&hot->common);
	*nowhere = 1;
}

static void prey_ignored(struct prey_board *board)
{
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	signal(SIGSEGV, SIG_IGN);
	wait_go(board);
	kill(getpid(), SIGSEGV);
	increase(&hot->common);
	PREY_CHECK(board, hot->common == 1);
	kill(getpid(), SIGSEGV);
	PREY_CHECK(board, signal(SIGSEGV, SIG_DFL) == SIG_IGN);
}

/* Under a tracer that steps aside: its own calls of sigaction and its own faults are as ever. */
static void prey_traced(struct prey_board *board)
{
	struct sigaction former = {.sa_handler = SIG_DFL};

	sigaction(SIGSEGV, &former, NULL); /* sanitizers have another one */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	wait_go(board);
	PREY_CHECK(board, sigaction(SIGSEGV, NULL, &former) == 0 && former.sa_handler == SIG_DFL &&
				  (former.sa_flags & ~0x04000000) == 0);
	increase(&hot->common);
	handler_set(board, SA_ONSTACK);
	increase(&hot->common);
	fault(board, nowhere, SEGV_MAPERR, true);
	sent(board, 8);
	handler_set(board, SA_RESETHAND);
	increase_locked(&hot->common);
	fault(board, nowhere, SEGV_MAPERR, false);
	PREY_CHECK(board, sigaction(SIGSEGV, NULL, &former) == 0 && former.sa_handler == SIG_DFL);
	PREY_CHECK(board, syscall(SYS_rt_sigaction, SIGSEGV, 1, NULL, 8) == -1 && errno == EFAULT);
	PREY_CHECK(
		board, syscall(SYS_rt_sigaction, SIGSEGV, NULL, NULL, 7) == -1 && errno == EINVAL);
	increase(&hot->common); /* the fourth; the tracer has counted */
}

/* General and vector registers in use. */
static void prey_numbers(struct prey_board *board)
{
	double factor = 1.0, other = 3.0;
	long sum = 0, i;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	board->ready = 1;
	for (i = 0; !board->go; i++) {
		sum += i;
		factor = factor * 0.5 + 0.5;
		other = 9.0 / other;
	}
	PREY_CHECK(board, sum == i * (i - 1) / 2 && factor == 1.0 && other == 3.0);
}

static void prey_asleep(struct prey_board *board)
{
	sigset_t mask;
	char byte = 0;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	board->ready = 1;
	PREY_CHECK(board, read(board->pipe[0], &byte, 1) == 1 && byte == 'x');
	sigprocmask(SIG_SETMASK, NULL, &mask);
	PREY_CHECK(board, sigismember(&mask, SIGUSR2) && !sigismember(&mask, SIGUSR1));
}

/* Its children are not watched: they find the page open, and its own disposition. */
static void prey_forks(struct prey_board *board)
{
	struct sigaction former;
	pid_t child;
	int status = -1;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	handler_set(board, SA_ONSTACK);
	wait_go(board);
	increase(&hot->common);
	child = fork();
	if (child == 0) {
		hot->common++;
		PREY_CHECK(board, hot->common == 2 && sigaction(SIGSEGV, NULL, &former) == 0);
		PREY_CHECK(board, former.sa_sigaction == handler);
		fault(board, nowhere, SEGV_MAPERR, true);
		_exit(0);
	}
	PREY_CHECK(board, waitpid(child, &status, 0) == child && status == 0);
	/* This one borrows the memory, and is traced. */
	child = vfork();
	if (child == 0) {
		increase(&hot->common);
		syscall(SYS_rt_sigaction, SIGSEGV, NULL, vfork_seen, 8);
		_exit(0);
	}
	PREY_CHECK(board, waitpid(child, &status, 0) == child && status == 0);
	PREY_CHECK(board, vfork_seen[0] == (uint64_t)(uintptr_t)handler);
	increase(&hot->common);
}

/* --- the tracer ------------------------------------------------------------------------------- */

struct tracer {
	struct prey prey;
	struct agent *agent;
	struct safety *safety;
	pid_t delivered; /* to this thread a signal of its own is being given, the safety handler is
			    aside */
	bool with_calls;
	unsigned n_children; /* the first is made by fork, the second by vfork: prey_forks() */
};

/* One of the two instructions. */
static bool run_instruction(struct tracer *tracer, pid_t tid, const siginfo_t *info)
{
	static const unsigned char inc[] = {0x48, 0xff, 0x07},
				   lock_inc[] = {0xf0, 0x48, 0xff, 0x07};
	int memory = agent_memory(tracer->agent);
	struct user_regs_struct before, after;
	unsigned char code[4];
	long word;

	if (sys_regs_get(tid, &before) || info->si_code != SEGV_ACCERR ||
		(uint64_t)(uintptr_t)info->si_addr - (uint64_t)(uintptr_t)hot >= PAGE ||
		sys_memory_force_read(memory, before.rip, code, sizeof(code)) != sizeof(code))
		return false;
	after = before;
	if (memcmp(code, inc, sizeof(inc)) == 0)
		after.rip += sizeof(inc);
	else if (memcmp(code, lock_inc, sizeof(lock_inc)) == 0)
		after.rip += sizeof(lock_inc);
	else
		return false;
	if (sys_memory_force_read(memory, before.rdi, &word, sizeof(word)) != sizeof(word))
		return false;
	word++;
	sys_memory_force_write(memory, before.rdi, &word, sizeof(word));
	sys_regs_set(tid, &after);
	tracer->prey.board->count++;
	return true;
}

/* At the entry of a call of rt_sigaction(SIGSEGV), or at its exit. */
static void call_see(struct tracer *tracer, pid_t tid)
{
	struct user_regs_struct regs;

	if (sys_regs_get(tid, &regs) || regs.orig_rax != SYS_rt_sigaction || regs.rdi != SIGSEGV)
		return;
	if ((long)regs.rax == -ENOSYS)
		safety_aside(tracer->safety);
	else
		safety_back(tracer->safety);
}

static void resume(const struct tracer *tracer, pid_t tid, int sig)
{
	if (tracer->with_calls)
		sys_syscall(tid, sig);
	else
		sys_cont(tid, sig);
}

/* A child's first stop. */
static void child_release(pid_t child, int status, bool shares_memory)
{
	struct rescue rescue;

	if (!rescue_find(child, &rescue))
		die("nothing is found in the child");
	if ((!shares_memory && rescue_open(&rescue, child, &status)) ||
		rescue_close(&rescue, child, &status, shares_memory))
		die("the child cannot be given back");
	rescue_end(&rescue);
	if (shares_memory)
		sys_cont(child, 0);
	else
		sys_detach(child, 0);
}

/* One stop, which is taken when all that the thread needs is done. */
static void stop_serve(struct tracer *tracer, pid_t tid, int status)
{
	struct stop stop = stop_decode(status);
	int sig = stop.kind == STOP_SIGNAL ? stop.value : 0;
	struct procfs_status now;
	siginfo_t info;

	if (stop.kind == STOP_TRAPPED && procfs_status(tid, &now) && now.tgid == tid &&
		tid != tracer->prey.pid) {
		sys_wait_one(tid, &status);
		child_release(tid, status, tracer->n_children++ > 0);
		return;
	}
	if (tracer->delivered == tid) {
		tracer->delivered = 0;
		safety_back(tracer->safety);
	}
	if (status >> 8 == SYSCALL_STOP)
		call_see(tracer, tid);
	if (sig == SIGSEGV && sys_siginfo_get(tid, &info) == 0) {
		if (run_instruction(tracer, tid, &info)) {
			sig = 0;
		} else if (tracer->with_calls) {
			tracer->delivered = tid;
			safety_aside(tracer->safety);
		}
	}
	sys_wait_one(tid, &status);
	resume(tracer, tid, sig);
}

/* The next state change of any tracee, which is still to be waited for: until then the signal that a thread stands at is
 * delivered to it if the tracer dies (ptrace_stop() and wait_task_stopped() in the kernel). 0: there is none. */
static pid_t wait_look(int *status)
{
	siginfo_t info = {.si_pid = 0};

	if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL))
		return 0;
	/* The event of a stop by ptrace is in it. */
	*status = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED ? info.si_status << 8 | 0x7f : 0;
	return info.si_pid;
}

/* Protect the page, and serve until killed, or the process has ended. */
static void tracer_run(struct tracer *tracer, uint64_t prot)
{
	struct safety_range range = {(uint64_t)(uintptr_t)hot, PAGE, prot};
	struct err err = {0};
	int status;
	pid_t tid;

	prey_seize(&tracer->prey, true);
	status = prey_stop(&tracer->prey);
	tracer->agent = agent_new(tracer->prey.pid, tracer->prey.tid, &status, DATA_SIZE, &err);
	tracer->safety = tracer->agent ? safety_new(tracer->agent, &err) : NULL;
	if (!tracer->safety)
		die("%s", err.text);
	if (safety_ranges_set(tracer->safety, &range, 1) ||
		agent_protect(tracer->agent, range.start, range.len, PROT_NONE))
		die("the page cannot be protected");
	tracer->prey.board->sum = 1;
	resume(tracer, tracer->prey.tid, 0);
	while ((tid = wait_look(&status)) > 0) {
		if (WIFSTOPPED(status))
			stop_serve(tracer, tid, status);
		else if (sys_wait_one(tid, &status) == tracer->prey.pid)
			break;
	}
	agent_forget(tracer->agent);
	free(tracer->safety);
}

static pid_t tracer_start(const struct prey *prey, uint64_t prot, bool with_calls)
{
	struct tracer tracer = {.prey = *prey, .with_calls = with_calls};
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tracer_run(&tracer, prot);
	_exit(0);
}

static void tracer_kill(pid_t tracer)
{
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
}

/* --- the tests -------------------------------------------------------------------------------- */

static unsigned n_tests, n_bad;

static void check(bool good, const char *name)
{
	n_bad += !good;
	printf("%s %u - %s\n", good ? "ok" : "not ok", ++n_tests, name);
	fflush(stdout);
}

/* Kill the tracer after some hits: the rest of the process's work is done without it. */
static int hammer_round(void)
{
	struct prey prey = prey_start(prey_hammer);
	long hits = random() % HITS_MOST;
	pid_t tracer;

	while (prey.board->ready <= THREADS)
		sched_yield();
	tracer = tracer_start(&prey, PROT_READ | PROT_WRITE, false);
	while (prey.board->count < hits || !prey.board->sum)
		sched_yield();
	tracer_kill(tracer);
	prey.board->go = 1;
	return prey_end(&prey);
}

/* The tracer is killed at any moment of its attaching. */
static void early_test(const char *name, prey_fn *run, unsigned kills)
{
	unsigned bad = 0, early = 0;

	for (unsigned i = 0; i < kills; i++) {
		struct prey prey = prey_start(run);
		pid_t tracer = tracer_start(&prey, PROT_READ | PROT_WRITE, false);
		uint64_t end = clock_now_ns() + (uint64_t)random() % EARLY_NS;

		while (clock_now_ns() < end && !prey.board->sum)
			sched_yield();
		early += !prey.board->sum;
		tracer_kill(tracer);
		prey.board->go = 1;
		bad += write(prey.board->pipe[1], "x", 1) != 1;
		bad += prey_end(&prey) != 0;
	}
	printf("# %u kills, %u of them before all was set up: %u bad\n", kills, early, bad);
	check(bad * 100 <= kills, name);
}

static void hammer_test(unsigned kills)
{
	unsigned wrong = 0, dead = 0;

	for (unsigned i = 0; i < kills; i++) {
		int status = hammer_round();

		wrong += status == 1;
		dead += status > 1;
	}
	printf("# %u kills: %u died, %u have a wrong sum\n", kills, dead, wrong);
	check((dead + wrong) * 100 <= kills, "killed on a hot page");
}

/* The tracer is killed before the process does what it does. */
static void orphan_test(const char *name, prey_fn *run, uint64_t prot, int expected)
{
	struct prey prey = prey_start(run);
	pid_t tracer = tracer_start(&prey, prot, false);

	while (!prey.board->sum)
		sched_yield();
	tracer_kill(tracer);
	prey.board->go = 1;
	check(prey_end(&prey) == expected, name);
}

static void traced_test(const char *name, prey_fn *run, long hits)
{
	struct prey prey = prey_start(run);
	pid_t tracer = tracer_start(&prey, PROT_READ | PROT_WRITE, true);
	bool good;

	while (!prey.board->sum)
		sched_yield();
	prey.board->go = 1;
	waitpid(tracer, NULL, 0);
	good = prey.board->count == hits;
	check(prey_end(&prey) == 0 && good, name);
}

/* All threads of the process, stopped; the first one's status. Signals that they stand at are noted
 * for the way back. */
struct crowd {
	pid_t tids[8];
	int sigs[8];
	size_t n;
};

/* One that ends meanwhile is out of it: the agent. */
static void crowd_stop(struct crowd *crowd, int *first)
{
	size_t left = 0;
	int status;

	for (size_t i = 0; i < crowd->n; i++) {
		if (sys_interrupt(crowd->tids[i]) || sys_wait_stop(crowd->tids[i], &status)) {
			sys_wait_one(crowd->tids[i], &status);
			continue;
		}
		if (left == 0)
			*first = status;
		crowd->tids[left] = crowd->tids[i];
		crowd->sigs[left++] =
			stop_decode(status).kind == STOP_SIGNAL ? stop_decode(status).value : 0;
	}
	crowd->n = left;
}

static void crowd_go(const struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->n; i++)
		sys_cont(crowd->tids[i], crowd->sigs[i]);
}

/* Somebody else undoes what the killed tracer has left. */
static bool rescue_run(const struct prey *prey)
{
	struct crowd crowd = {.n = 0};
	struct rescue rescue;
	size_t n;
	pid_t *tids = procfs_threads(prey->pid, &n);
	bool good, is_quiet;
	int status;

	/* The agent may be among them, and end. */
	for (size_t i = 0; i < n && crowd.n < ARRAY_LEN(crowd.tids); i++) {
		int end;

		if (sys_seize(tids[i], false))
			continue;
		if (sys_interrupt(tids[i]) || sys_wait_stop(tids[i], &status)) {
			sys_wait_one(tids[i], &end);
			continue;
		}
		sys_cont(tids[i],
			stop_decode(status).kind == STOP_SIGNAL ? stop_decode(status).value : 0);
		crowd.tids[crowd.n++] = tids[i];
	}
	free(tids);
	good = rescue_find(prey->pid, &rescue);
	crowd_stop(&crowd, &status);
	good = good && rescue_open(&rescue, crowd.tids[0], &status) == 0;
	while (good && !(is_quiet = rescue_is_quiet(&rescue, crowd.tids, crowd.n))) {
		crowd_go(&crowd);
		crowd_stop(&crowd, &status);
	}
	good = good && rescue_close(&rescue, crowd.tids[0], &status, false) == 0;
	if (good)
		rescue_end(&rescue);
	good = good && !rescue_find(prey->pid, &rescue);
	for (size_t i = 0; i < crowd.n; i++)
		sys_detach(crowd.tids[i], crowd.sigs[i]);
	return good;
}

static void rescue_test(unsigned kills)
{
	bool good = true;

	for (unsigned i = 0; i < kills && good; i++) {
		struct prey prey = prey_start(prey_hammer);
		long hits = random() % HITS_MOST;
		char *before, *after;
		pid_t tracer;

		while (prey.board->ready <= THREADS)
			sched_yield();
		before = prey_picture(&prey);
		tracer = tracer_start(&prey, PROT_READ | PROT_WRITE, false);
		while (prey.board->count < hits || !prey.board->sum)
			sched_yield();
		tracer_kill(tracer);
		good = rescue_run(&prey);
		after = prey_picture(&prey);
		if (strcmp(before, after) != 0) {
			printf("# before:\n%s# after:\n%s", before, after);
			good = false;
		}
		free(before);
		free(after);
		prey.board->go = 1;
		good = prey_end(&prey) == 0 && good;
	}
	check(good, "killed, then undone from outside");
}

int main(int argc, char **argv)
{
	const uint64_t rw = PROT_READ | PROT_WRITE;

	srandom(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	hot = mmap(NULL, sizeof(*hot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (hot == MAP_FAILED)
		die("no memory");
	orphan_test("own handler: the page, then faults of its own", prey_own_handler, rw, 0);
	orphan_test("own handler: a fault of its own, then the page", prey_own_first, rw, 0);
	orphan_test("own handler: a signal that is sent, then the page", prey_sent_first, rw, 0);
	orphan_test("own protection: a read, then writes", prey_own_barrier, PROT_READ, 0);
	orphan_test("own protection: a write, then a read", prey_barrier_first, PROT_READ, 0);
	orphan_test("no handler: dies of its own fault", prey_default, rw, 128 + SIGSEGV);
	orphan_test("ignored", prey_ignored, rw, 0);
	traced_test("hidden from the process's own calls and faults", prey_traced, 4);
	traced_test("children", prey_forks, 3);
	early_test("killed while it attaches to numbers", prey_numbers,
		argc > 1 ? (unsigned)atoi(argv[1]) : KILLS);
	early_test("killed while it attaches to a sleeper", prey_asleep,
		argc > 1 ? (unsigned)atoi(argv[1]) : KILLS);
	rescue_test(argc > 1 ? (unsigned)atoi(argv[1]) : KILLS);
	hammer_test(argc > 1 ? (unsigned)atoi(argv[1]) : KILLS);
	printf("1..%u\n", n_tests);
	return n_bad ? 1 : 0;
}
