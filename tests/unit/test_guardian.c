/* test_guardian.c checks that the worker never waits for the first process: that one may be stopped for hours (^Z) while
 * the target goes on; and that it guards any number of processes. With real processes; the worker is one of the test's. */
#include "watchprof/guardian.h"
#include "watchprof/procfs.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PIDS	 20000 /* more than a pipe has room for */
#define MANY	 8000  /* that it has room for */
#define LEFT	 7     /* the worker's status */
#define HUNG	 8
#define RESCUED	 9
#define HANGS_S	 60    /* a worker that waits is ended */
#define NOBODY	 0x3f000000 /* no process has such an id (PID_MAX_LIMIT) */

static int n_expected, n_rescued;

/* The first process ends when it has come to all that are expected. */
static void rescue(pid_t pid, pid_t ward, int *ward_status)
{
	(void)pid;
	(void)ward;
	(void)ward_status;
	if (++n_rescued == n_expected)
		_exit(RESCUED);
}

static void hung(int sig)
{
	(void)sig;
	kill(getppid(), SIGCONT);
	_exit(HUNG);
}

static _Noreturn void worker(struct guardian *guardian, pid_t n, bool says_farewell)
{
	struct procfs_status first = {0};

	signal(SIGALRM, hung);
	alarm(HANGS_S);
	kill(getppid(), SIGSTOP);
	while (first.state != 'T')
		procfs_status(getppid(), &first);
	for (pid_t i = 0; i < n; i++) {
		guardian_watch(guardian, NOBODY + i);
		if (says_farewell)
			guardian_forget(guardian, NOBODY + i);
	}
	kill(getppid(), SIGCONT);
	if (says_farewell)
		guardian_free(guardian);
	_exit(LEFT);
}

/* The status of the first process. */
static int first_run(pid_t n, bool says_farewell)
{
	pid_t first = fork();
	sigset_t none;
	int status;

	if (first == 0) {
		struct guardian *guardian;

		sigemptyset(&none);
		guardian = guardian_new(&none, rescue, NULL);
		if (!guardian)
			_exit(1);
		worker(guardian, n, says_farewell);
	}
	assert_true(first > 0);
	assert_int_equal(waitpid(first, &status, 0), first);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_stopped(void **state)
{
	(void)state;
	n_expected = 1;
	/* All has come through in its order, so that nobody is left to be rescued. */
	assert_int_equal(first_run(PIDS, true), LEFT);
}

static void test_no_farewell(void **state)
{
	(void)state;
	n_expected = 1;
	assert_int_equal(first_run(PIDS, false), RESCUED);
}

static void test_many(void **state)
{
	(void)state;
	n_expected = MANY;
	assert_int_equal(first_run(MANY, false), RESCUED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_no_farewell),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
