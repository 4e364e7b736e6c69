/* test_stop.c checks the decoding of wait statuses, each written as the number that
 * waitpid(2) gives: exit code << 8; signal | 0x80 for a core; event << 16 | signal << 8 | 0x7f. */
#include "watchprof/stop.h"

#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_stop(int status, enum stop_kind kind, int value)
{
	struct stop stop = stop_decode(status);

	if (stop.kind != kind || stop.value != value)
		print_error("status 0x%x: kind %d, value %d; expected kind %d, value %d\n",
			(unsigned)status, stop.kind, stop.value, kind, value);
	assert_int_equal(stop.kind, kind);
	assert_int_equal(stop.value, value);
}

static void test_exits(void **state)
{
	(void)state;
	for (int code = 0; code < 256; code++)
		assert_stop(code << 8, STOP_EXITED, code);
}

static void test_killed(void **state)
{
	(void)state;
	for (int signal = 1; signal <= 64; signal++) {
		assert_stop(signal, STOP_KILLED, signal);
		assert_stop(signal | 0x80, STOP_KILLED, signal); /* with a core file */
	}
}

static void test_signals(void **state)
{
	(void)state;
	for (int signal = 1; signal <= 64; signal++)
		assert_stop(signal << 8 | 0x7f, STOP_SIGNAL, signal);
}

static void test_event_stop(void **state)
{
	static const struct {
		int status;
		enum stop_kind kind;
		int value;
	} cases[] = {
		{0x80057f, STOP_TRAPPED, 0}, /* SIGTRAP: PTRACE_INTERRUPT, or a new thread */
		{0x80137f, STOP_GROUP, 19},  /* SIGSTOP */
		{0x80147f, STOP_GROUP, 20},  /* SIGTSTP */
		{0x80157f, STOP_GROUP, 21},  /* SIGTTIN */
		{0x80167f, STOP_GROUP, 22},  /* SIGTTOU */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_stop(cases[i].status, cases[i].kind, cases[i].value);
}

static void test_events(void **state)
{
	(void)state;
	assert_stop(0x01057f, STOP_FORK, 0);
	assert_stop(0x02057f, STOP_VFORK, 0);
	assert_stop(0x03057f, STOP_CLONE, 0);
	assert_stop(0x04057f, STOP_EXEC, 0);
}

static void test_events_not_asked_for(void **state)
{
	(void)state;
	assert_stop(0x05057f, STOP_OTHER, 0); /* vfork done */
	assert_stop(0x06057f, STOP_OTHER, 0); /* exit */
	assert_stop(0x07057f, STOP_OTHER, 0); /* seccomp */
	for (int event = 8; event < 256; event++) {
		if (event != 0x80)
			assert_stop(event << 16 | 0x057f, STOP_OTHER, 0);
	}
	assert_stop(0xffff, STOP_OTHER, 0); /* continued: only where WCONTINUED was asked for */
}

/* SIGTRAP | 0x80 is a system call and no signal: delivering signal 133 would fail. */
static void test_syscall_stop(void **state)
{
	(void)state;
	assert_stop(0x857f, STOP_CALL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_event_stop),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_events_not_asked_for),
		cmocka_unit_test(test_syscall_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
