/* test_engine_hit.c plays hits, and traps that are none, to the debug register engine on the
 * scripted kernel: what is counted, what is passed on, who runs again. */
#include "engine_help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Arm n spans as watches 0 to n-1. */
static void arm_spans(struct engine *engine, const struct span *spans, size_t n)
{
	const char *text[WATCHES_MAX];
	struct err err;

	for (size_t i = 0; i < n; i++)
		text[i] = "watch";
	assert_int_equal(engine_dr.arm(engine, P,
				 &(struct arming){.spans = spans, .text = text, .n = n}, &err),
		0);
	fake_trace_clear();
}

static void test_every_set_of_slots(void **state)
{
	static const struct span spans[] = {
		{A, 8, ACCESS_READ_WRITE},
		{A + 8, 8, ACCESS_READ_WRITE},
		{A + 16, 8, ACCESS_READ_WRITE},
		{A + 24, 8, ACCESS_READ_WRITE},
	};
	struct engine *engine = engine_on(2);

	(void)state;
	arm_spans(engine, spans, 4);
	for (uint64_t slots = 1; slots <= 15; slots++) {
		fake_trace_clear();
		fake_hit(P + 1, slots);
		assert_hit(engine, P + 1, slots);
		assert_string_equal(fake_trace(P + 1), "DR6=0 CONT");
		assert_true(fake_is_running(P + 1));
	}
	assert_quiet(engine);
	assert_string_equal(fake_trace(P), "");
	engine_end(engine);
}

static unsigned dr6_reads(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < fake.n_requests; i++)
		n += fake.requests[i].what == FAKE_DR_GET && fake.requests[i].a == 6;
	return n;
}

/* With one slot, the code of the signal says that it fired. */
static void test_one_slot_needs_no_dr6(void **state)
{
	static const struct span spans[] = {{A, 8, ACCESS_READ_WRITE}, {A + 8, 8, ACCESS_READ_WRITE}};
	struct engine *engine = engine_on(2);

	(void)state;
	arm_spans(engine, spans, 1);
	fake_hit(P + 1, 1);
	assert_hit(engine, P + 1, 1);
	assert_int_equal(dr6_reads(), 0);
	assert_string_equal(fake_trace(P + 1), "DR6=0 CONT");
	arm_spans(engine, spans, 2);
	fake_hit(P + 1, 2);
	assert_hit(engine, P + 1, 2);
	assert_int_equal(dr6_reads(), 1);
	engine_end(engine);
}

/* A program may send itself a signal with the code of a hit: it stands elsewhere than that says. */
static void test_forged_hit(void **state)
{
	static const struct span span = {A, 8, ACCESS_READ_WRITE};
	struct engine *engine = engine_on(2);

	(void)state;
	arm_spans(engine, &span, 1);
	fake_thread(P + 1)->regs.rip = 0x401000;
	fake_signal(P + 1, SIGTRAP, FAKE_HWBKPT);
	fake_thread(P + 1)->info.si_addr = NULL;
	assert_quiet(engine);
	assert_true(fake_is_running(P + 1));
	fake_hit(P + 1, 1);
	assert_hit(engine, P + 1, 1);
	engine_end(engine);
}

static void test_hit_is_complete(void **state)
{
	struct engine *engine = engine_on(2);
	struct engine_note note;

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_thread(P + 1)->regs.rip = 0x405678;
	fake_hit(P + 1, 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
	assert_int_equal(note.pid, P);
	assert_int_equal(note.hit.pid, P);
	assert_int_equal(note.hit.tid, P + 1);
	assert_int_equal(note.hit.path, PATH_NONE);
	assert_int_equal(note.hit.n_frames, 1);
	assert_int_equal(note.hit.frames[0], 0x405678);
	assert_in_range(note.hit.time_ns, 1000 * NS_PER_S, fake.now_ns);
	engine_end(engine);
}

static void test_kind(void **state)
{
	static const struct {
		struct span span;
		uint8_t kind;
	} rows[] = {
		{{A, 8, ACCESS_WRITE}, HIT_WRITE | HIT_READ_UNKNOWN},
		{{A, 8, ACCESS_READ_WRITE}, HIT_READ_UNKNOWN | HIT_WRITE_UNKNOWN},
		{{0x401000, 1, ACCESS_EXECUTE}, HIT_EXECUTE},
	};
	struct engine *engine = engine_on(1);
	struct engine_note note;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		arm_spans(engine, &rows[i].span, 1);
		fake_hit(P, 1);
		assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
		assert_int_equal(note.hit.watches, 1);
		assert_int_equal(note.hit.kind, rows[i].kind);
	}
	engine_end(engine);
}

/* Depth without any memory to read: the top frame is there all the same. */
static void test_path_without_memory(void **state)
{
	struct target target = {.pid = P, .stack = 32};
	struct engine *engine;
	struct engine_note note;
	struct err err;
	pid_t pid;

	(void)state;
	fake_process(P, 1);
	engine = engine_dr.open(&target, &pid, &err);
	assert_non_null(engine);
	engine_arm_rw(engine, A, 8);
	fake_hit(P, 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
	assert_int_equal(note.hit.n_frames, 1);
	assert_int_equal(note.hit.frames[0], fake_thread(P)->regs.rip);
	assert_int_not_equal(note.hit.path, PATH_WHOLE);
	assert_int_not_equal(note.hit.path, PATH_NONE);
	assert_true(fake_is_running(P));
	engine_end(engine);
}

static struct engine *engine_with_cpu(void)
{
	struct target target = {.pid = P, .has_cpu = true};
	struct engine *engine;
	struct err err;
	pid_t pid;

	fake_process(P, 2);
	engine = engine_dr.open(&target, &pid, &err);
	assert_non_null(engine);
	fake.has_memory = true;
	fake_thread(P)->rseq = 0x7000;
	fake_thread(P)->cpu_id = 3;
	fake_thread(P)->processor = 7; /* it has moved on, the access was before */
	fake_thread(P + 1)->processor = 5;
	return engine;
}

static size_t count_requests(enum fake_request what)
{
	size_t n = 0;

	for (size_t i = 0; i < fake.n_requests; i++)
		n += fake.requests[i].what == what;
	return n;
}

/* The processor of a hit of thread tid; -1: it is not known. */
static int hit_cpu(struct engine *engine, pid_t tid)
{
	struct engine_note note;

	fake_hit(tid, 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
	assert_int_equal(note.hit.tid, tid);
	return note.hit.cpu - 1;
}

/* From the thread's struct rseq, which is asked for once; without one, from its stat. */
static void test_processor(void **state)
{
	static const struct span spans[] = {{A, 8, ACCESS_READ_WRITE}, {0x401000, 1, ACCESS_EXECUTE}};
	struct engine *engine;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
		fake_reset();
		engine = engine_with_cpu();
		arm_spans(engine, &spans[i], 1);
		for (int k = 0; k < 10; k++)
			assert_int_equal(hit_cpu(engine, P), 3);
		assert_int_equal(count_requests(FAKE_RSEQ), 1);
		for (int k = 0; k < 10; k++)
			assert_int_equal(hit_cpu(engine, P + 1), 5);
		assert_int_equal(count_requests(FAKE_RSEQ), 4);
		engine_end(engine);
	}
}

/* A struct rseq that is not in use, or gone. */
static void test_processor_without_rseq(void **state)
{
	struct engine *engine = engine_with_cpu();
	struct engine_note note;

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_thread(P)->cpu_id = -1;
	assert_int_equal(hit_cpu(engine, P), 7);
	fake_thread(P)->cpu_id = 3;
	assert_int_equal(hit_cpu(engine, P), 3);
	fake_thread(P)->rseq = 0x8000;
	fake.has_memory = false;
	fake_hit(P, 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
	assert_int_equal(note.hit.cpu - 1, 7);
	assert_int_equal(note.hit.n_values, 0);
	engine_end(engine);
}

/* Nobody asks: nothing is asked. */
static void test_processor_not_wanted(void **state)
{
	struct engine *engine = engine_on(1);

	(void)state;
	fake_thread(P)->rseq = 0x7000;
	engine_arm_rw(engine, A, 8);
	assert_int_equal(hit_cpu(engine, P), -1);
	assert_int_equal(count_requests(FAKE_RSEQ), 0);
	engine_end(engine);
}

/* Somebody's SIGTRAP was pending when the hit came: one signal, with the other's code. The
 * hit counts and the signal is delivered. */
static void test_merged_with_foreign(void **state)
{
	static const int codes[] = {FAKE_TKILL, FAKE_INT3, 0};
	struct engine *engine = engine_on(1);

	(void)state;
	engine_arm_rw(engine, A, 8);
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		fake_trace_clear();
		fake_thread(P)->is_deaf = true;
		fake_signal(P, SIGTRAP, codes[i]);
		fake_hit_late(P, 1);
		fake_wake(P);
		assert_hit(engine, P, 1);
		assert_string_equal(fake_trace(P), "DR6=0 CONT:5");
		assert_quiet(engine);
		assert_int_equal(fake_thread(P)->delivered[SIGTRAP], i + 1);
	}
	engine_end(engine);
}

/* int3 of the program, raise(SIGTRAP), kill(2): none of ours, even right after a hit. */
static void test_foreign_traps(void **state)
{
	static const int codes[] = {FAKE_INT3, FAKE_TKILL, 0, 1, 2};
	struct engine *engine = engine_on(1);
	struct err err;

	(void)state;
	for (int round = 0; round < 2; round++) {
		unsigned before = fake_thread(P)->delivered[SIGTRAP];

		for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
			fake_trace_clear();
			fake_signal(P, SIGTRAP, codes[i]);
			assert_quiet(engine);
			assert_non_null(strstr(fake_trace(P), "CONT:5"));
		}
		assert_int_equal(fake_thread(P)->delivered[SIGTRAP], before + ARRAY_LEN(codes));
		assert_int_equal(
			engine_arm_as(engine, 0, (struct span){A, 8, ACCESS_WRITE}, 0, &err), 0);
		fake_hit(P, 1);
		assert_hit(engine, P, 1);
	}
	assert_int_equal(engine_dr.counts(engine).lost, 0);
	engine_end(engine);
}

/* Two kinds of signals wait: ours comes first, and each is dealt with as what it is. */
static void test_hit_and_signal(void **state)
{
	struct engine *engine = engine_on(1);

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_thread(P)->is_deaf = true;
	fake_signal(P, SIGUSR1, 0);
	fake_hit_late(P, 1);
	fake_wake(P);
	assert_hit(engine, P, 1);
	assert_quiet(engine);
	assert_string_equal(fake_trace(P), "DR6=0 CONT CONT:10");
	assert_int_equal(fake_thread(P)->delivered[SIGTRAP], 0);
	assert_int_equal(fake_thread(P)->delivered[SIGUSR1], 1);
	engine_end(engine);
}

static void test_two_threads_at_once(void **state)
{
	struct engine *engine = engine_on(3);

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_hit(P + 1, 1);
	fake_hit(P, 1);
	fake_hit(P + 2, 1);
	assert_hit(engine, P + 1, 1);
	assert_false(fake_is_running(P));
	assert_false(fake_is_running(P + 2));
	assert_hit(engine, P, 1);
	assert_hit(engine, P + 2, 1);
	assert_quiet(engine);
	engine_end(engine);
}

/* One thread that hits without end, and waits that always see it first. */
static void test_fairness(void **state)
{
	struct engine *engine = engine_on(3);
	struct engine_note note;
	unsigned hits = 0;

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake.by_list = true;
	fake_hit(P, 1);
	fake_hit(P + 2, 1);
	do {
		assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
		if (note.hit.tid == P)
			fake_hit(P, 1);
		assert_true(++hits <= 32);
	} while (note.hit.tid != P + 2);
	engine_end(engine);
}

static void process_killed(pid_t tid)
{
	(void)tid;
	fake_kill(P);
}

static void test_killed_at_hit(void **state)
{
	(void)state;
	for (unsigned k = 1; k <= 6; k++) {
		struct engine *engine;
		struct engine_note note;
		enum engine_event event;

		fake_reset();
		engine = engine_on(2);
		engine_arm_rw(engine, A, 8);
		fake_hit(P, 1);
		fake_at(FAKE_ANY, k, process_killed);
		event = engine_next(engine, &note);
		if (event == ENGINE_HIT)
			event = engine_next(engine, &note);
		if (fake.has_failed) {
			assert_int_equal(event, ENGINE_EXITED);
			assert_int_equal(note.status, SIGKILL);
			assert_int_equal(engine_next(engine, &note), ENGINE_END);
		}
		engine_end(engine);
	}
}

/* A group stop in which nothing is lost: hits before it count, nobody leaves it early. */
static void test_group_stop(void **state)
{
	struct engine *engine = engine_on(2);

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_hit(P, 1);
	fake_group_stop(P, SIGSTOP);
	assert_hit(engine, P, 1);
	assert_quiet(engine);
	assert_string_equal(fake_trace(P), "DR6=0 CONT LISTEN");
	assert_string_equal(fake_trace(P + 1), "LISTEN");
	engine_arm_rw(engine, B, 8);
	assert_false(fake_is_running(P));
	assert_false(fake_is_running(P + 1));
	assert_int_equal(fake_thread(P + 1)->dr[0], B);
	fake_group_cont(P);
	assert_quiet(engine);
	fake_hit(P + 1, 1);
	assert_hit(engine, P + 1, 1);
	engine_end(engine);
}

static void test_signals_pass(void **state)
{
	static const int signals[] = {SIGINT, SIGUSR1, SIGSEGV, SIGCHLD, 40};
	struct engine *engine = engine_on(1);

	(void)state;
	engine_arm_rw(engine, A, 8);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		fake_signal(P, signals[i], 0);
		assert_quiet(engine);
		assert_int_equal(fake_thread(P)->delivered[signals[i]], 1);
		assert_true(fake_is_running(P));
	}
	engine_end(engine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, engine_setup, engine_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_set_of_slots),
		TEST(one_slot_needs_no_dr6),
		TEST(forged_hit),
		TEST(hit_is_complete),
		TEST(kind),
		TEST(path_without_memory),
		TEST(processor),
		TEST(processor_without_rseq),
		TEST(processor_not_wanted),
		TEST(merged_with_foreign),
		TEST(foreign_traps),
		TEST(hit_and_signal),
		TEST(two_threads_at_once),
		TEST(fairness),
		TEST(killed_at_hit),
		TEST(group_stop),
		TEST(signals_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
