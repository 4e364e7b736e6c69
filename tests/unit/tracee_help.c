/* tracee_help.c: see tracee_help.h. */
#include "tracee_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_sys.h"

int tracee_setup(void **state)
{
	fake_reset();
	*state = tracees_new(false);
	return 0;
}

int tracee_teardown(void **state)
{
	tracees_free(*state);
	if (fake.violation[0])
		print_error("forbidden: %s\n", fake.violation);
	return fake.violation[0] ? -1 : 0;
}

struct tracees *tracee_attached(void **state, size_t n)
{
	struct err err;

	fake_process(P, n);
	assert_int_equal(tracees_attach(*state, P, &err), 0);
	fake_trace_clear();
	return *state;
}

struct tracee_event tracee_next(struct tracees *tracees)
{
	struct tracee_event event;

	tracees_next(tracees, fake.now_ns + 5 * FAKE_TICK_NS, &event);
	return event;
}

void assert_event(struct tracees *tracees, enum tracee_event_kind kind, pid_t tid)
{
	struct tracee_event event = tracee_next(tracees);

	assert_int_equal(event.kind, kind);
	assert_int_equal(event.tid, tid);
}

void assert_nothing(struct tracees *tracees)
{
	assert_int_equal(tracee_next(tracees).kind, TRACEE_DEADLINE);
}
