/* test_crowd.c plays stops of many threads to tracee.c on the scripted kernel: whom a wait looks
 * at, and that nobody is overlooked for long when the signals of several merge. */
#include "watchprof/tracee.h"

#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_sys.h"
#include "tracee_help.h"

#define MANY 140 /* more than from where SIGCHLD tells, and some may end */
#define MS   (NS_PER_S / 1000)

/* The crowd is attached to and the state is settled: SIGCHLD tells. */
static struct tracees *crowd(void **state, size_t n)
{
	struct tracees *tracees = tracee_attached(state, n);

	assert_nothing(tracees);
	fake.n_walks = 0;
	return tracees;
}

/* The next event must be a trap of this thread, which runs on then. */
static void assert_trap(struct tracees *tracees, pid_t tid)
{
	struct tracee_event event = tracee_next(tracees);

	assert_int_equal(event.kind, TRACEE_TRAP);
	assert_int_equal(event.tid, tid);
	tracee_resume(tracees, event.thread, 0);
}

static void test_few(void **state)
{
	struct tracees *tracees = crowd(state, 100);

	assert_false(fake.is_telling);
	fake_signal(P + 7, SIGTRAP, FAKE_TKILL);
	assert_trap(tracees, P + 7);
	assert_int_equal(fake.n_walks, 1);
}

/* A hot thread among many: nobody else is looked at, but for one round in sixteen. */
static void test_many(void **state)
{
	struct tracees *tracees = crowd(state, MANY);

	assert_true(fake.is_telling);
	for (unsigned i = 0; i < 160; i++) {
		fake_signal(P + 7, SIGTRAP, FAKE_TKILL);
		assert_trap(tracees, P + 7);
	}
	assert_in_range(fake.n_walks, 1, 160 / 16 * 2);
}

/* Two stop together, and one signal tells. Nobody tells of the other: all are looked at. */
static void test_untold(void **state)
{
	struct tracees *tracees = crowd(state, MANY);
	uint64_t start = fake.now_ns;

	fake_signal(P + 7, SIGTRAP, FAKE_TKILL);
	fake_signal(P + 9, SIGTRAP, FAKE_TKILL);
	assert_int_equal(fake.told, P + 7);
	assert_trap(tracees, P + 7);
	assert_trap(tracees, P + 9);
	assert_true(fake.now_ns - start < 2 * MS);
}

/* One that has stopped lately is looked at without a signal of its own. */
static void test_untold_lately(void **state)
{
	struct tracees *tracees = crowd(state, MANY);

	fake_signal(P + 9, SIGTRAP, FAKE_TKILL);
	assert_trap(tracees, P + 9);
	fake_signal(P + 7, SIGTRAP, FAKE_TKILL);
	fake_signal(P + 9, SIGTRAP, FAKE_TKILL);
	assert_trap(tracees, P + 7);
	assert_trap(tracees, P + 9);
	assert_int_equal(fake.n_walks, 0);
}

/* The first one always tells before the other; six more take the places of those seen lately. */
static void test_fairness(void **state)
{
	struct tracees *tracees = crowd(state, MANY);
	unsigned events = 0;

	for (pid_t tid = P + 1; tid <= P + 7; tid++)
		fake_signal(tid, SIGTRAP, FAKE_TKILL);
	fake_signal(P + 100, SIGTRAP, FAKE_TKILL);
	for (;;) {
		struct tracee_event event = tracee_next(tracees);

		assert_int_equal(event.kind, TRACEE_TRAP);
		if (event.tid == P + 100)
			break;
		assert_true(++events <= 32);
		tracee_resume(tracees, event.thread, 0);
		fake_signal(event.tid, SIGTRAP, FAKE_TKILL);
	}
}

static void eighth_traps(void)
{
	fake.idle = NULL;
	fake_signal(P + 8, SIGTRAP, FAKE_TKILL);
}

/* A signal that is late (its stop was found before), and one from a child that is none of ours. */
static void test_stale(void **state)
{
	struct tracees *tracees = crowd(state, MANY);

	fake.told = P + 3;
	fake.idle = eighth_traps;
	assert_trap(tracees, P + 8);
	fake.told = 7777;
	assert_nothing(tracees);
}

/* Most threads end: the plain wait again, and signals as they were. */
static void test_crowd_leaves(void **state)
{
	struct tracees *tracees = crowd(state, MANY);

	for (pid_t tid = P + 1; tid < P + 20; tid++)
		fake_exit(tid, 0);
	assert_nothing(tracees);
	assert_int_equal(tracees_count(tracees), MANY - 19);
	assert_nothing(tracees);
	assert_false(fake.is_telling);
	fake_signal(P + 100, SIGTRAP, FAKE_TKILL);
	assert_trap(tracees, P + 100);
}

/* A thread that was seen lately ends, and so does the process. */
static void test_end(void **state)
{
	struct tracees *tracees = crowd(state, MANY);

	fake_signal(P + 7, SIGTRAP, FAKE_TKILL);
	assert_trap(tracees, P + 7);
	fake_kill(P);
	assert_event(tracees, TRACEE_EXITED, P);
	assert_int_equal(tracees_count(tracees), 0);
}

/* SIGCHLD is let go with the threads. */
static void test_freed(void **state)
{
	struct tracees *tracees = crowd(state, MANY);

	assert_true(fake.is_telling);
	tracees_free(tracees);
	assert_false(fake.is_telling);
	*state = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, tracee_setup, tracee_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(few),
		TEST(many),
		TEST(untold),
		TEST(untold_lately),
		TEST(fairness),
		TEST(stale),
		TEST(crowd_leaves),
		TEST(end),
		TEST(freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
