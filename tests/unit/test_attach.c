/* test_attach.c plays attaches and launches to tracee.c on the scripted kernel: who is seized
 * while threads come and go, and what a refusal is told as. */
#include "watchprof/tracee.h"

#include "watchprof/util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake_sys.h"
#include "tracee_help.h"

#define ROW "row %zu"

/* Attach. */

static void test_attach_all(void **state)
{
	struct err err;

	fake_process(P, 3);
	assert_int_equal(tracees_attach(*state, P, &err), 0);
	assert_string_equal(fake_trace(0), "100.SEIZE 101.SEIZE 102.SEIZE");
	assert_int_equal(tracees_count(*state), 3);
	for (pid_t tid = P; tid < P + 3; tid++)
		assert_true(fake_is_running(tid));
	assert_nothing(*state);
}

static void second_clones(pid_t tid)
{
	(void)tid;
	fake_clone(P + 1, P + 5, FAKE_PARENT_FIRST);
}

/* Born of a thread that is not yet seized: nobody tells, a further scan finds it. */
static void test_attach_born_of_untraced(void **state)
{
	struct err err;

	fake_process(P, 2);
	fake_at(FAKE_SEIZE, 1, second_clones);
	assert_int_equal(tracees_attach(*state, P, &err), 0);
	assert_int_equal(tracees_count(*state), 3);
	assert_true(fake_thread(P + 5)->is_traced);
	assert_nothing(*state);
}

/* Born of a thread that is seized: it is traced by itself, and tells so by its first stop. */
static void test_attach_born_of_traced(void **state)
{
	struct tracee_event event;
	struct err err;

	fake_process(P, 2);
	fake_at(FAKE_TASKS, 2, second_clones);
	assert_int_equal(tracees_attach(*state, P, &err), 0);
	event = tracee_next(*state);
	assert_int_equal(event.kind, TRACEE_VISIT);
	assert_int_equal(event.tid, P + 5);
	assert_true(event.born);
	tracee_resume(*state, event.thread, 0);
	assert_nothing(*state);
	assert_true(fake_is_running(P + 1));
	assert_true(fake_is_running(P + 5));
	assert_int_equal(tracees_count(*state), 3);
}

static void newborn_ends(pid_t tid)
{
	fake_exit(tid, 0);
}

static void second_clones_in_vain(pid_t tid)
{
	second_clones(tid);
	fake_at(FAKE_SEIZE, 2, newborn_ends);
}

/* The last scan finds a thread that is gone when it is seized: no failure of the attach. */
static void test_attach_thread_ends(void **state)
{
	struct err err = {0};
	int result;

	fake_process(P, 2);
	fake_at(FAKE_SEIZE, 1, second_clones_in_vain);
	result = tracees_attach(*state, P, &err);
	assert_string_equal(fake_trace(P + 5), "SEIZE!3");
	assert_string_equal(err.text, "");
	assert_int_equal(result, 0);
	assert_int_equal(tracees_count(*state), 2);
}

static void test_attach_dead_leader(void **state)
{
	struct err err;

	fake_process(P, 3);
	fake_exit(P, 0);
	assert_int_equal(tracees_attach(*state, P, &err), 0);
	assert_int_equal(tracees_count(*state), 2);
	assert_true(fake_thread(P + 1)->is_traced);
	assert_true(fake_thread(P + 2)->is_traced);
	fake_exit(P + 1, 0);
	fake_exit(P + 2, 0);
	assert_int_equal(tracee_next(*state).kind, TRACEE_NONE);
}

static void test_attach_group_stopped(void **state)
{
	struct err err;

	fake_process(P, 2);
	fake_group_stop(P, SIGSTOP);
	assert_int_equal(tracees_attach(*state, P, &err), 0);
	assert_nothing(*state);
	assert_string_equal(fake_trace(P), "SEIZE LISTEN");
	assert_string_equal(fake_trace(P + 1), "SEIZE LISTEN");
}

static void process_killed(pid_t tid)
{
	(void)tid;
	fake_kill(P);
}

static void test_attach_killed(void **state)
{
	for (unsigned k = 1; k <= 4; k++) {
		struct tracees *tracees = tracees_new(false);
		struct err err = {0};

		fake_reset();
		fake_process(P, 3);
		fake_at(FAKE_ANY, k, process_killed);
		if (tracees_attach(tracees, P, &err))
			assert_non_null(strstr(err.text, "process 100"));
		else
			assert_int_equal(tracee_next(tracees).kind, TRACEE_EXITED);
		tracees_free(tracees);
	}
	(void)state;
}

struct refusal {
	int failure; /* of the first seize; 0: as the world is */
	bool exists;
	char state;
	pid_t tracer;
	uid_t me, uid, euid;
	int scope;
	int status;
	const char *text;
};

static const struct refusal refusals[] = {
	{ENOSYS, true, 0, 0, 0, 0, 0, 0, ERR_NO_ENGINE, "does not provide ptrace"},
	{0, false, 0, 0, 0, 0, 0, 0, ERR_FAILED, "there is no process 100"},
	{ESRCH, true, 0, 0, 0, 0, 0, 0, ERR_FAILED, "process 100 (victim) ended while"},
	{EIO, true, 0, 0, 0, 0, 0, 0, ERR_FAILED, "cannot be attached to: Input/output error"},
	{0, true, 0, 77, 0, 0, 0, 0, ERR_FAILED, "already traced by process 77 (gdb)"},
	{0, true, 0, 77, 1000, 0, 0, 1, ERR_FAILED, "already traced by process 77 (gdb)"},
	{EPERM, true, 0, 0, 1000, 0, 0, 0, ERR_FAILED, "belongs to user 0;"},
	{EPERM, true, 0, 0, 1000, 1001, 1001, 1, ERR_FAILED, "belongs to user 1001;"},
	{EPERM, true, 0, 0, 1000, 1000, 1000, 1, ERR_FAILED, "only a parent attach"},
	{EPERM, true, 0, 0, 1000, 1000, 1000, 2, ERR_FAILED, "only an administrator attach"},
	{EPERM, true, 0, 0, 1000, 1000, 1000, 3, ERR_FAILED, "allows no tracing at all"},
	{EPERM, true, 0, 0, 0, 0, 0, 3, ERR_FAILED, "allows no tracing at all"},
	{EPERM, true, 0, 0, 1000, 1000, 1000, 0, ERR_FAILED, "untraceable"},
	{EPERM, true, 0, 0, 0, 1000, 1000, 0, ERR_FAILED, "CAP_SYS_PTRACE"},
	{EACCES, true, 0, 0, 0, 1000, 1000, 1, ERR_FAILED, "CAP_SYS_PTRACE"},
};

static void refusal_play(struct tracees *tracees, const struct refusal *refusal, size_t row)
{
	struct err err = {0};

	fake_reset();
	fake_process(77, 1);
	fake_thread(77)->name = "gdb";
	if (refusal->exists) {
		fake_process(P, 1);
		fake_thread(P)->tracer = refusal->tracer;
		fake_thread(P)->uid = refusal->uid;
		fake_thread(P)->euid = refusal->euid;
		fake_thread(P)->is_zombie = refusal->state == 'Z';
	}
	fake.euid = refusal->me;
	fake.ptrace_scope = refusal->scope;
	if (refusal->failure)
		fake_fail(FAKE_SEIZE, 1, refusal->failure);
	assert_int_equal(tracees_attach(tracees, P, &err), -1);
	if (!strstr(err.text, refusal->text))
		fail_msg(ROW ": '%s' does not say '%s'", row, err.text, refusal->text);
	assert_int_equal(err.status, refusal->status);
	assert_int_equal(tracees_count(tracees), 0);
}

static void test_attach_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
		refusal_play(*state, &refusals[i], i);
}

/* A zombie is told from a process that ended this very moment. */
static void test_attach_zombie(void **state)
{
	static const struct refusal zombie = {0, true, 'Z', 0, 0, 0, 0, 0, ERR_FAILED,
		"has ended already and waits for its parent"};

	refusal_play(*state, &zombie, 0);
}

/* A set-user-id program that I started: the user it runs as is the one in the way. */
static void test_attach_setuid(void **state)
{
	static const struct refusal setuid = {
		EPERM, true, 0, 0, 1000, 1000, 0, 0, ERR_FAILED, "user 0"};

	refusal_play(*state, &setuid, 0);
}

/* Launch. */

static char *const command[] = {"victim", NULL};

static void test_launch(void **state)
{
	struct tracee_event event;
	struct err err;
	sigset_t mask;
	pid_t pid;

	sigemptyset(&mask);
	assert_int_equal(tracees_launch(*state, command, &mask, -1, -1, &pid, &err), 0);
	event = tracee_next(*state);
	assert_int_equal(event.kind, TRACEE_EXEC);
	assert_int_equal(event.pid, pid);
	assert_false(fake_is_running(pid));
	tracee_resume(*state, event.thread, 0);
	assert_true(fake_is_running(pid));
	fake_exit(pid, 3);
	event = tracee_next(*state);
	assert_int_equal(event.kind, TRACEE_EXITED);
	assert_int_equal(event.status, 3 << 8);
	assert_int_equal(tracee_next(*state).kind, TRACEE_NONE);
}

static void launched_is_killed(void)
{
	fake_kill(300);
}

static void test_launch_refused(void **state)
{
	static const struct {
		int launch, exec, status;
		const char *text;
	} rows[] = {
		{-ENOSYS, 0, ERR_NO_ENGINE, "ptrace"},
		{-EPERM, 0, ERR_NO_ENGINE, "ptrace"},
		{-EAGAIN, 0, ERR_FAILED, "no process could be started"},
		{0, ENOENT, ERR_NOT_FOUND, "victim: command not found"},
		{0, EACCES, ERR_NOT_EXECUTABLE, "victim: cannot be executed: Permission denied"},
		{0, ENOEXEC, ERR_NOT_EXECUTABLE, "victim: cannot be executed"},
		{0, -1, ERR_FAILED, "victim: ended before"},
	};
	sigset_t mask;
	pid_t pid;

	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};

		fake_reset();
		fake.launch_result = rows[i].launch;
		fake.exec_result = rows[i].exec;
		fake.idle = rows[i].exec == -1 ? launched_is_killed : NULL;
		assert_int_equal(tracees_launch(*state, command, &mask, -1, -1, &pid, &err), -1);
		if (!strstr(err.text, rows[i].text))
			fail_msg(ROW ": '%s' does not say '%s'", i, err.text, rows[i].text);
		assert_int_equal(err.status, rows[i].status);
		assert_int_equal(tracees_count(*state), 0);
	}
}

static void launched_gets_signals(void)
{
	if (fake.steps < 3)
		fake_signal(300, SIGUSR1, 0);
	else
		fake_exec(300);
}

static void test_launch_signal(void **state)
{
	struct err err;
	sigset_t mask;
	pid_t pid;

	sigemptyset(&mask);
	fake.exec_result = -1;
	fake.idle = launched_gets_signals;
	assert_int_equal(tracees_launch(*state, command, &mask, -1, -1, &pid, &err), 0);
	fake.idle = NULL;
	assert_string_equal(fake_trace(300), "CONT:10");
	assert_event(*state, TRACEE_EXEC, 300);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, tracee_setup, tracee_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(attach_all),
		TEST(attach_born_of_untraced),
		TEST(attach_born_of_traced),
		TEST(attach_thread_ends),
		TEST(attach_dead_leader),
		TEST(attach_group_stopped),
		TEST(attach_killed),
		TEST(attach_refused),
		TEST(attach_zombie),
		TEST(attach_setuid),
		TEST(launch),
		TEST(launch_refused),
		TEST(launch_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
