/* test_engine_tls.c plays thread-local variables to the unchanged debug register engine on the scripted
 * kernel: each thread's own address, threads that have none yet, and failures at every step. */
#include "engine_help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MODULE 0x7f0000000000
#define OFFSET 0x10
#define DUE    0x900000 /* + the thread's number * 0x100: where its own will be noted */
#define MOVED  0xa00000 /* and what tells that this has moved */

/* Where each thread has its own, by tid - P; 0: not yet. */
struct places {
	uint64_t addr[FAKE_THREADS_MAX];
	bool is_moving, is_unknown;
};

static void locate(void *context, pid_t tid, uint64_t thread_pointer, uint64_t module, uint64_t offset,
	struct place *out)
{
	const struct places *places = context;
	unsigned i = (unsigned)(tid - P);

	assert_int_equal(module, MODULE);
	assert_int_equal(thread_pointer, fake_thread(tid)->regs.fs_base);
	out->addr = places->addr[i] ? places->addr[i] + offset : 0;
	out->due = places->is_unknown ? 0 : DUE + 0x100 * i;
	out->moved = places->is_moving ? MOVED + 0x100 * i : 0;
}

/* Arm n spans of which the first is thread-local. */
static int arm_spans(struct engine *engine, struct places *places, const struct span *spans, size_t n,
	struct err *err)
{
	static const char *const text[] = {"a", "b", "c", "d"};
	const uint64_t modules[] = {MODULE, 0, 0, 0};

	return engine_dr.arm(engine, P,
		&(struct arming){.spans = spans,
			.text = text,
			.n = n,
			.modules = modules,
			.locate = locate,
			.context = places},
		err);
}

static const struct span own = {OFFSET, 8, ACCESS_WRITE};

static int arm_own(struct engine *engine, struct places *places, struct err *err)
{
	return arm_spans(engine, places, &own, 1, err);
}

static void test_each_thread_has_its_own(void **state)
{
	struct places places = {.addr = {0x10000, 0x20000, 0x30000, 0x40000}};
	struct engine *engine = engine_on(3);
	struct err err;

	(void)state;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	assert_string_equal(fake_trace(P), "INT DR7=0 DR0=10010 DR7=90001 DR6=0 CONT");
	assert_string_equal(fake_trace(P + 1), "INT DR7=0 DR0=20010 DR7=90001 DR6=0 CONT");
	assert_string_equal(fake_trace(P + 2), "INT DR7=0 DR0=30010 DR7=90001 DR6=0 CONT");
	fake_trace_clear();
	fake_clone(P, P + 3, FAKE_PARENT_FIRST);
	assert_quiet(engine);
	assert_string_equal(fake_trace(P + 3), "DR7=0 DR0=40010 DR7=90001 DR6=0 CONT");
	for (pid_t tid = P; tid < P + 4; tid++) {
		fake_hit(tid, 1);
		assert_hit(engine, tid, 1);
	}
	assert_int_equal(engine_dr.counts(engine).threads_armed, 4);
	engine_end(engine);
}

/* Blocks that are aligned less than the variable: one thread needs two slots for it. */
static void test_split_by_thread(void **state)
{
	struct places places = {.addr = {0x10000, 0x20004}};
	struct engine *engine = engine_on(2);
	struct err err;

	(void)state;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	assert_string_equal(fake_trace(P), "INT DR7=0 DR0=10010 DR7=90001 DR6=0 CONT");
	assert_string_equal(fake_trace(P + 1), "INT DR7=0 DR0=20014 DR1=20018 DR7=dd0005 DR6=0 CONT");
	fake_hit(P + 1, 2);
	assert_hit(engine, P + 1, 1);
	engine_end(engine);
}

/* More slots than there are, in one thread: nothing is armed. In a thread that comes later: it is counted. */
static void test_too_many_slots_in_a_thread(void **state)
{
	static const struct span spans[] = {{OFFSET, 8, ACCESS_WRITE}, {A, 24, ACCESS_WRITE}};
	struct places places = {.addr = {0x10000, 0x20004, 0x30000, 0x40004}};
	struct engine *engine = engine_on(2);
	struct err err;

	(void)state;
	assert_int_equal(arm_spans(engine, &places, spans, 2, &err), -1);
	assert_non_null(strstr(err.text, "thread 101 lie across more than 4 debug register slots"));
	assert_int_equal(fake_armed(P), 0);
	assert_int_equal(fake_armed(P + 1), 0);
	places.addr[1] = 0x20000;
	assert_int_equal(arm_spans(engine, &places, spans, 2, &err), 0);
	for (pid_t tid = P + 2; tid < P + 4; tid++) {
		fake_clone(P, tid, FAKE_PARENT_FIRST);
		assert_quiet(engine);
	}
	assert_int_equal(fake_armed(P + 2), 0x55);
	assert_int_equal(fake_armed(P + 3), 0);
	assert_int_equal(engine_dr.counts(engine).threads_unarmed, 1);
	assert_int_equal(engine_dr.counts(engine).threads_armed, 3);
	engine_end(engine);
}

/* A thread that has none yet waits for it in the same slot; that is no hit. */
static void test_wait_for_its_own(void **state)
{
	struct places places = {.addr = {0x10000}};
	struct engine *engine = engine_on(2);
	struct err err;

	(void)state;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	assert_string_equal(fake_trace(P + 1), "INT DR7=0 DR0=900100 DR7=90001 DR6=0 CONT");
	fake_trace_clear();
	fake_hit(P + 1, 1); /* something else was noted there */
	assert_quiet(engine);
	assert_int_equal(fake_thread(P + 1)->dr[0], 0x900100);
	places.addr[1] = 0x20000;
	fake_hit(P + 1, 1);
	assert_quiet(engine);
	assert_int_equal(fake_thread(P + 1)->dr[0], 0x20010);
	assert_int_equal(fake_thread(P)->dr[0], 0x10010);
	fake_hit(P + 1, 1);
	assert_hit(engine, P + 1, 1);
	assert_int_equal(engine_dr.counts(engine).lost, 0);
	assert_int_equal(engine_dr.counts(engine).threads_armed, 2);
	engine_end(engine);
}

/* What it waits at may move: where a slot is left, that is noticed. */
static void test_wait_moves(void **state)
{
	static const struct span spans[] = {{OFFSET, 8, ACCESS_WRITE}, {A, 24, ACCESS_WRITE}};
	struct places places = {.is_moving = true};
	struct engine *engine = engine_on(1);
	struct err err;

	(void)state;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	assert_string_equal(fake_trace(P), "INT DR7=0 DR0=900000 DR1=a00000 DR7=990005 DR6=0 CONT");
	places.addr[0] = 0x10000;
	fake_hit(P, 2);
	assert_quiet(engine);
	assert_int_equal(fake_thread(P)->dr[0], 0x10010);
	assert_int_equal(fake_armed(P), 1);
	places.addr[0] = 0;
	assert_int_equal(arm_spans(engine, &places, spans, 2, &err), 0);
	assert_int_equal(fake_armed(P), 0x55);
	assert_int_equal(fake_thread(P)->dr[3], 0x900000);
	engine_end(engine);
}

/* Nothing is known to wait at: the thread is armed for the rest. A new arming finds it. */
static void test_wait_for_nothing(void **state)
{
	static const struct span spans[] = {{OFFSET, 8, ACCESS_WRITE}, {A, 8, ACCESS_WRITE}};
	struct places places = {.is_unknown = true};
	struct engine *engine = engine_on(1);
	struct err err;

	(void)state;
	assert_int_equal(arm_spans(engine, &places, spans, 2, &err), 0);
	assert_string_equal(fake_trace(P), "INT DR7=0 DR0=601040 DR7=90001 DR6=0 CONT");
	fake_hit(P, 1);
	assert_hit(engine, P, 2);
	places.addr[0] = 0x10000;
	assert_int_equal(arm_spans(engine, &places, spans, 2, &err), 0);
	assert_int_equal(fake_armed(P), 5);
	assert_int_equal(engine_dr.counts(engine).threads_unarmed, 1); /* for a while it was not armed in full */
	engine_end(engine);
}

/* Other tools use the slot that would be spare. */
static void test_wait_without_spare(void **state)
{
	struct places places = {.is_moving = true};
	struct engine *engine = engine_on(1);
	struct err err;

	(void)state;
	fake.foreign_slots = 3;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	assert_int_equal(fake_armed(P), 1);
	assert_int_equal(fake_thread(P)->dr[0], 0x900000);
	engine_end(engine);
}

static void turns_deaf(pid_t tid)
{
	fake_thread(tid)->is_deaf = true;
}

/* A hit of a thread's own and a hit of the slot that waits, both not yet reported when all is armed anew. */
static void test_rearm_with_hits_in_flight(void **state)
{
	struct places places = {.addr = {0x10000}};
	struct engine *engine = engine_on(2);
	struct err err;

	(void)state;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	fake_hit_late(P, 1);
	fake_hit_late(P + 1, 1);
	places.addr[1] = 0x20000;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	assert_int_equal(fake_thread(P + 1)->dr[0], 0x20010);
	assert_hit(engine, P, 1);
	assert_quiet(engine);
	assert_int_equal(engine_dr.counts(engine).lost, 0);
	engine_end(engine);
}

/* The trap of a slot that waits is under way when all is armed anew and the run ends: it is swallowed. */
static void test_waiting_trap_noted(void **state)
{
	struct places places = {0};
	struct engine *engine = engine_on(1);
	struct err err;

	(void)state;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	fake_hit_late(P, 1);
	fake_at(FAKE_CONT, 1, turns_deaf);
	places.addr[0] = 0x10000;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	fake_thread(P)->is_deaf = false;
	engine_end(engine);
	assert_int_equal(fake_thread(P)->delivered[SIGTRAP], 0);
	assert_true(fake_is_running(P));
}

static bool failure_play(enum fake_request what, int error, unsigned k)
{
	struct places places = {.addr = {0x10000, 0x20000, 0}};
	struct engine *engine;
	struct err err = {0};
	bool has_failed;
	int result;

	fake_reset();
	engine = engine_on(3);
	fake_fail(what, k, error);
	result = arm_own(engine, &places, &err);
	has_failed = fake.has_failed;
	fake.fail_at = 0;
	if (result != (has_failed && error != ESRCH ? -1 : 0))
		fail_msg("request %d, errno %d, step %u: result %d: %s", what, error, k, result, fake_trace(0));
	for (pid_t tid = P; tid < P + 3; tid++) {
		assert_true(fake_is_running(tid));
		if (result)
			assert_int_equal(fake_armed(tid), 0);
	}
	assert_int_equal(arm_own(engine, &places, &err), 0); /* and it works afterwards */
	for (pid_t tid = P; tid < P + 3; tid++)
		assert_int_equal(fake_armed(tid), 1);
	fake_hit(P + 1, 1);
	assert_hit(engine, P + 1, 1);
	engine_end(engine);
	fake_check();
	return has_failed;
}

static void test_arm_fails_at_each_step(void **state)
{
	static const int errors[] = {ENOSPC, EPERM, ESRCH};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		unsigned k = 1;

		while (failure_play(FAKE_DR_SET, errors[i], k))
			k++;
		assert_true(k > 12); /* three threads, four writes each */
		k = 4; /* the first three look after interrupted system calls */
		while (failure_play(FAKE_REGS_GET, errors[i], k))
			k++;
		assert_int_equal(k, 7);
	}
}

/* When its block comes, the thread's registers cannot be written, or it is killed. */
static void test_due_fails_at_each_step(void **state)
{
	static const int errors[] = {ENOSPC, ESRCH};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		unsigned k = 0;
		bool has_failed;

		do {
			struct places places = {.addr = {0x10000}};
			struct engine *engine;
			struct err err;

			fake_reset();
			engine = engine_on(2);
			assert_int_equal(arm_own(engine, &places, &err), 0);
			places.addr[1] = 0x20000;
			fake_fail(FAKE_DR_SET, ++k, errors[i]);
			fake_hit(P + 1, 1);
			assert_quiet(engine);
			has_failed = fake.has_failed;
			fake.fail_at = 0;
			assert_int_equal(engine_dr.counts(engine).lost, 0);
			fake_hit(P, 1);
			assert_hit(engine, P, 1);
			engine_end(engine);
		} while (has_failed);
		assert_true(k > 4);
	}
}

static void test_exec_forgets(void **state)
{
	struct places places = {.addr = {0x10000}};
	struct engine *engine = engine_on(1);
	struct engine_note note;
	struct err err;

	(void)state;
	assert_int_equal(arm_own(engine, &places, &err), 0);
	fake_exec(P);
	assert_int_equal(engine_next(engine, &note), ENGINE_IMAGE);
	fake_trace_clear();
	assert_int_equal(engine_arm_as(engine, 0, (struct span){A, 8, ACCESS_WRITE}, 0, &err), 0);
	assert_quiet(engine);
	assert_int_equal(fake_thread(P)->dr[0], A);
	engine_end(engine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, engine_setup, engine_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(each_thread_has_its_own),
		TEST(split_by_thread),
		TEST(too_many_slots_in_a_thread),
		TEST(wait_for_its_own),
		TEST(wait_moves),
		TEST(wait_for_nothing),
		TEST(wait_without_spare),
		TEST(rearm_with_hits_in_flight),
		TEST(waiting_trap_noted),
		TEST(arm_fails_at_each_step),
		TEST(due_fails_at_each_step),
		TEST(exec_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
