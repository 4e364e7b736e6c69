/* test_eyes.c checks what the screen asks another watchprof for. That is this test's own program, which tells of the
 * state it was begun in. */
#include "eyes.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* In place of watchprof -q --list-vars --pid=PID: the arguments and the signals that are blocked, a line each. */
static int asked(int argc, char **argv)
{
	sigset_t blocked;

	for (int i = 1; i < argc; i++)
		puts(argv[i]);
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		if (sigismember(&blocked, sig) == 1)
			printf("blocked: %d\n", sig);
	}
	return 0;
}

/* The session blocks the signals that it takes: who is asked has to end by them all the same. */
static void test_variables(void **state)
{
	struct model_eyes eyes = eyes_new();
	sigset_t taken, former;
	char *text = NULL;

	(void)state;
	sigemptyset(&taken);
	sigaddset(&taken, SIGTERM);
	sigaddset(&taken, SIGPIPE);
	sigprocmask(SIG_BLOCK, &taken, &former);
	while (!eyes.variables(eyes.context, 42, &text))
		sched_yield();
	sigprocmask(SIG_SETMASK, &former, NULL);
	assert_non_null(text);
	assert_string_equal(text, "-q\n--list-vars\n--pid=42\n");
	free(text);
	eyes_free(&eyes);
}

static void test_members(void **state)
{
	struct model_eyes eyes = eyes_new();
	char *text = NULL;

	(void)state;
	while (!eyes.members(eyes.context, 42, "a b", &text))
		sched_yield();
	assert_non_null(text);
	assert_string_equal(text, "-q\n--list-members=a b\n--pid=42\n");
	free(text);
	eyes_free(&eyes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_members),
	};

	if (argc > 1)
		return asked(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
