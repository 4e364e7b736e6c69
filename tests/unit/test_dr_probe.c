/* test_dr_probe.c plays machines to the self-test of debug registers: such as fire, such as accept
 * everything and never fire, such as refuse. The probe's child is real, its tracing is not. */
#include "watchprof/dr_probe.h"

#include "watchprof/util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "fake_sys.h"

struct machine {
	enum fake_request fail_what;
	unsigned fail_at;
	int fail_with;
	unsigned hits; /* for the two accesses */
	int result, status;
	const char *text;
};

static unsigned hits_left;

/* The child runs: its hits, one by one, then its end. */
static void child_goes_on(void)
{
	pid_t child = fake.threads[0].tid;

	if (fake.n_threads == 0)
		return;
	if (hits_left > 0) {
		hits_left--;
		fake_hit(child, 1);
	} else {
		fake_exit(child, 0);
	}
}

static void machine_play(const struct machine *machine)
{
	struct err err = {0};

	fake_reset();
	fake.adopts = true;
	fake.idle = child_goes_on;
	hits_left = machine->hits;
	if (machine->fail_at)
		fake_fail(machine->fail_what, machine->fail_at, machine->fail_with);
	assert_int_equal(dr_probe(&err), machine->result);
	while (waitpid(-1, NULL, 0) > 0)
		;
	fake_check();
	if (machine->result == 0)
		return;
	assert_int_equal(err.status, machine->status);
	if (!strstr(err.text, machine->text))
		fail_msg("'%s' does not say '%s'", err.text, machine->text);
}

static void test_fires(void **state)
{
	static const struct machine machine = {0, 0, 0, 2, 0, 0, NULL};

	(void)state;
	machine_play(&machine);
	assert_non_null(strstr(fake_trace(0), "DR6=0"));
}

static void test_does_not_fire(void **state)
{
	static const struct machine machines[] = {
		{0, 0, 0, 0, -1, ERR_NO_ENGINE, "never fire"},
		{0, 0, 0, 1, -1, ERR_NO_ENGINE, "1 hits instead of 2"},
		{0, 0, 0, 3, -1, ERR_NO_ENGINE, "3 hits instead of 2"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(machines); i++)
		machine_play(&machines[i]);
}

static void test_refuses(void **state)
{
	static const struct machine machines[] = {
		{FAKE_SEIZE, 1, ENOSYS, 0, -1, ERR_NO_ENGINE, "seize: Function not implemented"},
		{FAKE_SEIZE, 1, EPERM, 0, -1, ERR_NO_ENGINE, "seize: Operation not permitted"},
		{FAKE_DR_SET, 1, ENOSPC, 0, -1, ERR_FAILED, "in use by another tool"},
		{FAKE_DR_SET, 2, ENOSPC, 0, -1, ERR_FAILED, "in use by another tool"},
		{FAKE_DR_SET, 1, EIO, 0, -1, ERR_NO_ENGINE, "set: Input/output error"},
		{FAKE_DR_SET, 2, EINVAL, 0, -1, ERR_NO_ENGINE, "set: Invalid argument"},
		{FAKE_INTERRUPT, 1, EPERM, 0, -1, ERR_NO_ENGINE, "set: Operation not permitted"},
		{FAKE_CONT, 1, EPERM, 0, -1, ERR_NO_ENGINE, "cont: Operation not permitted"},
		{FAKE_CONT, 2, EPERM, 2, -1, ERR_NO_ENGINE, "cont: Operation not permitted"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(machines); i++)
		machine_play(&machines[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fires),
		cmocka_unit_test(test_does_not_fire),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
