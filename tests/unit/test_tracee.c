/* test_tracee.c plays legal orders of stops to tracee.c on the scripted kernel: who is
 * resumed with what, which stops become events, who is stopped and released. Attaching and
 * launching is in test_attach.c. */
#include "watchprof/tracee.h"

#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "fake_sys.h"
#include "../../src/tracee_private.h"
#include "tracee_help.h"

#define ROW "row %zu"

/* Signals and job control. */

static void test_signals_pass(void **state)
{
	static const int signals[] = {
		SIGHUP, SIGINT, SIGSEGV, SIGUSR1, SIGTERM, SIGCHLD, SIGALRM, 40};
	struct tracees *tracees = tracee_attached(state, 2);
	char expected[32];

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		fake_trace_clear();
		fake_signal(P + 1, signals[i], 0);
		assert_nothing(tracees);
		snprintf(expected, sizeof(expected), "CONT:%d", signals[i]);
		assert_string_equal(fake_trace(P + 1), expected);
		assert_int_equal(fake_thread(P + 1)->delivered[signals[i]], 1);
	}
	assert_string_equal(fake_trace(P), "");
}

static void test_trap_is_held(void **state)
{
	struct tracees *tracees = tracee_attached(state, 1);
	struct tracee_event event;

	fake_signal(P, SIGTRAP, FAKE_TKILL);
	event = tracee_next(tracees);
	assert_int_equal(event.kind, TRACEE_TRAP);
	assert_int_equal(event.sig, SIGTRAP);
	assert_true(thread_is_stopped(event.thread));
	assert_int_equal(thread_stop_signal(event.thread), SIGTRAP);
	assert_string_equal(fake_trace(P), "");
	tracee_resume(tracees, event.thread, event.sig);
	assert_string_equal(fake_trace(P), "CONT:5");
	assert_int_equal(thread_stop_signal(event.thread), 0);
}

static void test_group_stop(void **state)
{
	struct tracees *tracees = tracee_attached(state, 2);

	fake_signal(P, SIGTSTP, 0);
	assert_nothing(tracees);
	assert_string_equal(fake_trace(P), "CONT:20 LISTEN");
	assert_string_equal(fake_trace(P + 1), "LISTEN");
	fake_trace_clear();
	fake_group_cont(P);
	assert_nothing(tracees);
	assert_string_equal(fake_trace(P), "CONT CONT:18");
	assert_string_equal(fake_trace(P + 1), "CONT");
	assert_true(fake_is_running(P));
	assert_true(fake_is_running(P + 1));
}

static void group_continues(pid_t tid)
{
	(void)tid;
	fake_group_cont(P);
}

/* SIGCONT between the report of the stop and the answer to it. */
static void test_group_stop_ends_early(void **state)
{
	struct tracees *tracees = tracee_attached(state, 1);

	fake_at(FAKE_LISTEN, 1, group_continues);
	fake_group_stop(P, SIGSTOP);
	assert_nothing(tracees);
	assert_string_equal(fake_trace(P), "LISTEN CONT CONT:18");
	assert_true(fake_is_running(P));
}

/* New threads. */

static void test_new_thread(void **state)
{
	struct tracees *tracees = tracee_attached(state, 1);
	pid_t child = P + 10;

	for (int order = FAKE_PARENT_FIRST; order <= FAKE_CHILD_LATE; order++, child++) {
		struct tracee_event event;

		fake_trace_clear();
		fake_clone(P, child, (enum fake_order)order);
		if (order == FAKE_CHILD_LATE) {
			assert_nothing(tracees);
			assert_true(fake_is_running(P));
			fake_wake(child);
		}
		event = tracee_next(tracees);
		assert_int_equal(event.kind, TRACEE_VISIT);
		assert_int_equal(event.tid, child);
		assert_int_equal(event.pid, P);
		assert_true(event.born);
		assert_false(fake_is_running(child));
		tracee_resume(tracees, event.thread, event.sig);
		assert_nothing(tracees);
		assert_string_equal(fake_trace(child), "CONT");
		assert_string_equal(fake_trace(P), "CONT");
	}
	assert_int_equal(tracees_count(tracees), 4);
}

/* It ends before its first stop was seen: nothing is left of it, whoever comes first. */
static void test_new_thread_ends(void **state)
{
	struct tracees *tracees = tracee_attached(state, 1);

	for (int order = FAKE_PARENT_FIRST; order <= FAKE_CHILD_LATE; order++) {
		fake_clone(P, P + 10, (enum fake_order)order);
		fake_exit(P + 10, 0);
		assert_nothing(tracees);
		assert_int_equal(tracees_count(tracees), 1);
		assert_true(fake_is_running(P));
	}
}

static void test_new_process_is_let_go(void **state)
{
	struct tracees *tracees = tracee_attached(state, 1);

	fake_clone_process(P, 200, FAKE_PARENT_FIRST);
	assert_nothing(tracees);
	assert_string_equal(fake_trace(200), "DETACH");
	assert_string_equal(fake_trace(P), "CONT");
	assert_true(fake_is_running(200));
	assert_false(fake_thread(200)->is_traced);
	assert_int_equal(tracees_count(tracees), 1);
}

static void test_tid_reuse(void **state)
{
	struct tracees *tracees = tracee_attached(state, 2);
	struct tracee_event event;

	fake_exit(P + 1, 0);
	assert_true(tracees_stop(tracees, P, NS_PER_S)); /* the end is taken, and waits */
	tracees_go(tracees, P);
	fake_clone(P, P + 1, FAKE_CHILD_FIRST);
	event = tracee_next(tracees);
	assert_int_equal(event.kind, TRACEE_VISIT);
	assert_int_equal(event.tid, P + 1);
	assert_true(event.born);
	tracee_resume(tracees, event.thread, 0);
	assert_nothing(tracees);
	assert_int_equal(tracees_count(tracees), 2);
}

/* Exec. */

/* Stops of other threads wait in the queue when a thread execs. */
static void exec_play(struct tracees *tracees, pid_t tid)
{
	struct tracee_event event;

	fake_signal(P + 2, SIGTRAP, FAKE_TKILL);
	fake_signal(P + 3, SIGUSR1, 0);
	fake_clone(P + 4, P + 9, FAKE_CHILD_FIRST);
	assert_true(tracees_stop(tracees, P, NS_PER_S));
	tracees_go(tracees, P);
	fake_exec(tid);
	while ((event = tracee_next(tracees)).kind == TRACEE_TRAP || event.kind == TRACEE_VISIT)
		tracee_resume(tracees, event.thread, event.sig);
	assert_int_equal(event.kind, TRACEE_EXEC);
	assert_int_equal(event.tid, P);
	assert_int_equal(event.pid, P);
	assert_false(fake_is_running(P));
	assert_int_equal(tracees_count(tracees), 1);
	tracee_resume(tracees, event.thread, 0);
	assert_true(fake_is_running(P));
	assert_nothing(tracees);
	assert_true(tracees_stop(tracees, 0, NS_PER_S));
	tracees_go(tracees, 0);
	assert_true(fake_is_running(P));
}

static void test_exec_by_leader(void **state)
{
	exec_play(tracee_attached(state, 5), P);
}

static void test_exec_by_thread(void **state)
{
	exec_play(tracee_attached(state, 5), P + 1);
}

/* The leader had ended before the attach and was never traced; its id comes back to life. */
static void test_exec_after_leader(void **state)
{
	struct tracees *tracees = *state;
	struct tracee_event event;
	struct err err;

	fake_process(P, 3);
	fake_exit(P, 0);
	assert_int_equal(tracees_attach(tracees, P, &err), 0);
	fake_exec(P + 1);
	assert_event(tracees, TRACEE_EXEC, P);
	assert_false(fake_is_running(P));
	assert_int_equal(tracees_count(tracees), 1);
	tracee_resume(tracees, tracees_first(tracees, NULL), 0);
	fake_exit(P, 4);
	event = tracee_next(tracees);
	assert_int_equal(event.kind, TRACEE_EXITED);
	assert_int_equal(event.status, 4 << 8);
}

static void second_execs(pid_t tid)
{
	(void)tid;
	fake_exec(P + 1);
}

/* While all are being stopped: those that are gone without a word are not waited for. */
static void test_exec_while_stopping(void **state)
{
	struct tracees *tracees = tracee_attached(state, 3);
	uint64_t start = fake.now_ns;

	fake_at(FAKE_INTERRUPT, 1, second_execs);
	assert_true(tracees_stop(tracees, P, NS_PER_S));
	assert_true(fake.now_ns - start < NS_PER_S / 2);
	tracees_go(tracees, P);
	assert_event(tracees, TRACEE_EXEC, P);
	assert_false(fake_is_running(P));
	assert_int_equal(tracees_count(tracees), 1);
}

/* An answer that never came because of the exec is not awaited for ever after. */
static void test_exec_before_answer(void **state)
{
	struct tracees *tracees = tracee_attached(state, 2);
	struct tracee_event event;

	fake_thread(P)->is_deaf = true;
	assert_false(tracees_stop(tracees, P, NS_PER_S));
	tracees_go(tracees, P);
	fake_exec(P + 1);
	event = tracee_next(tracees);
	assert_int_equal(event.kind, TRACEE_EXEC);
	tracee_resume(tracees, event.thread, 0);
	assert_true(tracees_stop(tracees, P, NS_PER_S));
	assert_false(fake_is_running(P));
}

/* Ends. */

static void test_leader_ends_first(void **state)
{
	struct tracees *tracees = tracee_attached(state, 3);
	struct tracee_event event;

	fake_exit(P, 7);
	assert_nothing(tracees);
	fake_exit(P + 1, 1);
	assert_nothing(tracees);
	fake_exit(P + 2, 2);
	event = tracee_next(tracees);
	assert_int_equal(event.kind, TRACEE_EXITED);
	assert_int_equal(event.pid, P);
	assert_int_equal(event.status, 7 << 8);
	assert_null(event.thread);
	assert_int_equal(tracee_next(tracees).kind, TRACEE_NONE);
}

static void test_killed(void **state)
{
	struct tracees *tracees = tracee_attached(state, 3);
	struct tracee_event event;

	fake_signal(P + 1, SIGUSR1, 0); /* a stop that the end replaces */
	fake_kill(P);
	event = tracee_next(tracees);
	assert_int_equal(event.kind, TRACEE_EXITED);
	assert_int_equal(event.status, SIGKILL);
	assert_int_equal(tracee_next(tracees).kind, TRACEE_NONE);
	assert_string_equal(fake_trace(0), "");
}

/* The end of a thread replaces its stop that waits in the queue. */
static void test_killed_while_queued(void **state)
{
	struct tracees *tracees = tracee_attached(state, 4);

	fake_signal(P + 2, SIGTRAP, FAKE_TKILL);
	fake_signal(P + 1, SIGUSR1, 0);
	assert_true(tracees_stop(tracees, P, NS_PER_S));
	tracees_go(tracees, P);
	fake_kill(P);
	assert_true(tracees_stop(tracees, P, NS_PER_S));
	tracees_go(tracees, P);
	assert_int_equal(tracee_next(tracees).kind, TRACEE_EXITED);
	assert_int_equal(tracee_next(tracees).kind, TRACEE_NONE);
}

/* Waits look at threads in a fixed order; the first one is always ready. */
static void test_fairness(void **state)
{
	struct tracees *tracees = tracee_attached(state, 3);
	unsigned events = 0;

	fake.by_list = true;
	fake_signal(P, SIGTRAP, FAKE_TKILL);
	fake_signal(P + 2, SIGTRAP, FAKE_TKILL);
	for (;;) {
		struct tracee_event event = tracee_next(tracees);

		assert_int_equal(event.kind, TRACEE_TRAP);
		if (event.tid == P + 2)
			break;
		assert_true(++events <= 32);
		tracee_resume(tracees, event.thread, 0);
		fake_signal(P, SIGTRAP, FAKE_TKILL);
	}
}

/* Stop all and go on. */

static void test_stop_and_go(void **state)
{
	struct tracees *tracees = tracee_attached(state, 3);

	fake_group_stop(P, SIGSTOP);
	assert_nothing(tracees);
	fake_trace_clear();
	assert_true(tracees_stop(tracees, P, NS_PER_S));
	for (struct thread *t = NULL; (t = tracees_first(tracees, t));)
		assert_true(thread_is_stopped(t));
	tracees_go(tracees, P);
	assert_nothing(tracees);
	for (pid_t tid = P; tid < P + 3; tid++)
		assert_string_equal(fake_trace(tid), "INT LISTEN");
	fake_group_cont(P);
	assert_nothing(tracees);
	fake_trace_clear();
	assert_true(tracees_stop(tracees, 0, NS_PER_S));
	tracees_go(tracees, 0);
	assert_nothing(tracees);
	for (pid_t tid = P; tid < P + 3; tid++)
		assert_string_equal(fake_trace(tid), "INT CONT");
}

/* What had stopped by itself is told later, once. */
static void test_stop_loses_nothing(void **state)
{
	struct tracees *tracees = tracee_attached(state, 3);
	struct tracee_event event;

	fake_signal(P, SIGTRAP, FAKE_TKILL);
	fake_signal(P + 1, SIGUSR1, 0);
	fake_clone(P + 2, P + 9, FAKE_PARENT_FIRST);
	assert_true(tracees_stop(tracees, P, NS_PER_S));
	tracees_go(tracees, P);
	event = tracee_next(tracees);
	assert_int_equal(event.kind, TRACEE_TRAP);
	tracee_resume(tracees, event.thread, event.sig);
	event = tracee_next(tracees);
	assert_int_equal(event.kind, TRACEE_VISIT);
	assert_int_equal(event.tid, P + 9);
	tracee_resume(tracees, event.thread, event.sig);
	assert_nothing(tracees);
	assert_int_equal(fake_thread(P)->delivered[SIGTRAP], 1);
	assert_int_equal(fake_thread(P + 1)->delivered[SIGUSR1], 1);
	for (pid_t tid = P; tid < P + 3; tid++)
		assert_true(fake_is_running(tid));
	assert_true(fake_is_running(P + 9));
}

static void stalled(pid_t tid)
{
	(void)tid;
	fake.now_ns += 3 * NS_PER_S;
}

/* We ourselves were not let run for longer than the time: all have stopped meanwhile. */
static void test_stop_stalled(void **state)
{
	struct tracees *tracees = tracee_attached(state, 3);

	fake_at(FAKE_INTERRUPT, 3, stalled);
	assert_true(tracees_stop(tracees, P, NS_PER_S));
	tracees_go(tracees, P);
}

static void test_stop_timeout(void **state)
{
	struct tracees *tracees = tracee_attached(state, 3);
	struct tracee_event event;
	uint64_t start = fake.now_ns;

	fake_thread(P + 1)->is_deaf = true;
	assert_false(tracees_stop(tracees, P, NS_PER_S));
	/* The others do not stand for it. */
	assert_in_range(fake.now_ns - start, 1, 2 * FAKE_TICK_NS);
	tracees_go(tracees, P);
	assert_nothing(tracees);
	assert_true(fake_is_running(P));
	assert_true(fake_is_running(P + 2));
	fake_syscall(P + 1, SYS_epoll_wait, -EINTR);
	fake_wake(P + 1);
	event = tracee_next(tracees);
	assert_int_equal(event.kind, TRACEE_VISIT);
	assert_int_equal(event.tid, P + 1);
	assert_false(event.born);
	tracee_resume(tracees, event.thread, 0);
	assert_string_equal(fake_trace(P + 1), "INT SETREGS CONT");
}

static void thread_ends(pid_t tid)
{
	fake_exit(tid, 0);
}

static void test_stop_while_ending(void **state)
{
	for (unsigned k = 1; k <= 3; k++) {
		struct tracees *tracees = tracees_new(false);
		uint64_t start;

		fake_reset();
		tracee_attached((void **)&tracees, 3);
		start = fake.now_ns;
		fake_at(FAKE_INTERRUPT, k, thread_ends);
		assert_true(tracees_stop(tracees, P, NS_PER_S));
		assert_true(fake.now_ns - start < NS_PER_S / 2);
		tracees_go(tracees, P);
		assert_nothing(tracees);
		tracees_free(tracees);
	}
	(void)state;
}

static void test_stop_without_leader(void **state)
{
	struct tracees *tracees = tracee_attached(state, 3);
	uint64_t start = fake.now_ns;

	fake_exit(P, 0);
	assert_true(tracees_stop(tracees, P, NS_PER_S));
	assert_true(fake.now_ns - start < NS_PER_S / 2);
	assert_false(fake_is_running(P + 1));
	assert_false(fake_is_running(P + 2));
	tracees_go(tracees, P);
	assert_true(fake_is_running(P + 1));
}

/* After a crash of our own. */

static struct thread *thread_of(const struct tracees *tracees, pid_t tid)
{
	struct thread *t = NULL;

	while ((t = tracees_first(tracees, t)) && thread_tid(t) != tid)
		continue;
	assert_non_null(t);
	return t;
}

/* Stops that were waited for, and then we crashed: the kernel is asked which they are, and only one at a
 * signal is let go with a signal. PTRACE_DETACH with one at a system call would send it that. */
static void test_recover(void **state)
{
	static const struct {
		int sig;
		const char *trace; /* how it is let go */
	} rows[] = {
		{0, "DETACH"},     /* at a system call */
		{0, "DETACH"},     /* at the event of a new thread */
		{0, "INT DETACH"}, /* the answer to an interrupt */
		{SIGUSR1, "DETACH:10"},
		{SIGTRAP, "DETACH:5"}, /* sent by tgkill(2) */
		{SIGTRAP, "DETACH:5"}, /* an int3 of its own */
	};
	struct tracees *tracees = tracee_attached(state, ARRAY_LEN(rows) + 1);
	pid_t last = P + (pid_t)ARRAY_LEN(rows);
	int status;

	tracees_report_all(tracees);
	fake_call_stop(P);
	fake_clone(P + 1, P + 20, FAKE_CHILD_LATE);
	sys_interrupt(P + 2);
	fake_signal(P + 3, SIGUSR1, 0);
	fake_signal(P + 4, SIGTRAP, FAKE_TKILL);
	fake_signal(P + 5, SIGTRAP, FAKE_INT3);
	while (sys_wait(&status, false) > 0)
		continue;
	for (struct thread *t = NULL; (t = tracees_first(tracees, t));)
		assert_false(thread_is_stopped(t));
	tracees_recover(tracees);
	tracees->is_emergency = false; /* in which no memory is given back */
	assert_false(thread_is_stopped(thread_of(tracees, last)));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct thread *t = thread_of(tracees, P + (pid_t)i);

		if (!thread_is_stopped(t) || thread_stop_signal(t) != rows[i].sig)
			fail_msg(ROW ": it stands at signal %d", i, thread_stop_signal(t));
		tracee_leave(tracees, t, false);
		assert_string_equal(fake_trace(P + (pid_t)i), rows[i].trace);
		assert_int_equal(fake_thread(P + (pid_t)i)->delivered[SIGTRAP], rows[i].sig == SIGTRAP);
	}
	assert_int_equal(fake_thread(P + 3)->delivered[SIGUSR1], 1);
}

/* System calls that an interrupt ended. */

/* The kernel restarts a call that returns this within it, unless a handler is to run. */
#define ERESTARTNOHAND 514

static void test_syscall_restart(void **state)
{
	static const struct {
		long call;
		int result;
		bool is_repaired;
	} rows[] = {
		{SYS_epoll_wait, -EINTR, true},
		{SYS_epoll_pwait, -EINTR, true},
		{SYS_rt_sigtimedwait, -EINTR, true},
		{SYS_semtimedop, -EINTR, true},
		{SYS_io_getevents, -EINTR, true},
		{SYS_recvfrom, -EINTR, true},
		{SYS_accept4, -EINTR, true},
		{SYS_epoll_wait, 0, false},
		{SYS_epoll_wait, 1, false},
		{SYS_epoll_wait, -EBADF, false},
		{SYS_nanosleep, -516, false}, /* ERESTART_RESTARTBLOCK: restarts itself */
		{SYS_connect, -EINTR, false},
		{SYS_close, -EINTR, false},
		{-1, -EINTR, false}, /* in no call: a value that only looks like it */
	};
	struct tracees *tracees = tracee_attached(state, 1);
	struct fake_thread *t = fake_thread(P);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t rip = t->regs.rip;
		int expected = rows[i].is_repaired ? -ERESTARTNOHAND : rows[i].result;

		t->regs.orig_rax = (unsigned long long)-1;
		fake_syscall(P, rows[i].call, rows[i].result);
		assert_true(tracees_stop(tracees, P, NS_PER_S));
		if ((long)t->regs.rax != expected)
			fail_msg(ROW ": call %ld", i, rows[i].call);
		assert_int_equal(t->regs.rip, rip);
		assert_int_equal((long)t->regs.orig_rax, rows[i].call);
		tracees_go(tracees, P);
		assert_nothing(tracees);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, tracee_setup, tracee_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(signals_pass),
		TEST(trap_is_held),
		TEST(group_stop),
		TEST(group_stop_ends_early),
		TEST(new_thread),
		TEST(new_thread_ends),
		TEST(new_process_is_let_go),
		TEST(tid_reuse),
		TEST(exec_by_leader),
		TEST(exec_by_thread),
		TEST(exec_after_leader),
		TEST(exec_while_stopping),
		TEST(exec_before_answer),
		TEST(leader_ends_first),
		TEST(killed),
		TEST(killed_while_queued),
		TEST(fairness),
		TEST(stop_and_go),
		TEST(stop_loses_nothing),
		TEST(stop_stalled),
		TEST(stop_timeout),
		TEST(stop_while_ending),
		TEST(stop_without_leader),
		TEST(recover),
		TEST(syscall_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
