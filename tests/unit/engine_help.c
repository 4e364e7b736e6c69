/* engine_help.c owns the common part of the engine's tests. It decides nothing about them. */
#include "engine_help.h"

int engine_setup(void **state)
{
	(void)state;
	fake_reset();
	return 0;
}

int engine_teardown(void **state)
{
	(void)state;
	if (fake.violation[0])
		print_error("forbidden: %s\n", fake.violation);
	fake.idle = NULL;
	fake.fail_at = 0;
	fake.steps = 0;
	die_hooks_run(); /* closes what a failed test has left open */
	return fake.violation[0] ? -1 : 0;
}

struct engine *engine_on(size_t n)
{
	struct target target = {.pid = P};
	struct engine *engine;
	struct err err;
	pid_t pid = 0;

	fake_process(P, n);
	engine = engine_dr.open(&target, &pid, &err);
	assert_non_null(engine);
	assert_int_equal(pid, P);
	fake_trace_clear();
	return engine;
}

int engine_arm_as(struct engine *engine, size_t i, struct span span, uint64_t hook, struct err *err)
{
	struct span spans[WATCHES_MAX] = {0};
	const char *text[WATCHES_MAX];

	for (size_t n = 0; n < ARRAY_LEN(text); n++)
		text[n] = "watch";
	spans[i] = span;
	return engine_dr.arm(engine, P,
		&(struct arming){.spans = spans, .text = text, .n = i + 1, .hook = hook}, err);
}

void engine_arm_rw(struct engine *engine, uint64_t addr, uint64_t len)
{
	struct err err;

	assert_int_equal(
		engine_arm_as(engine, 0, (struct span){addr, len, ACCESS_READ_WRITE}, 0, &err), 0);
	fake_trace_clear();
}

enum engine_event engine_next(struct engine *engine, struct engine_note *note)
{
	return engine_dr.next(engine, note, fake.now_ns + 5 * FAKE_TICK_NS);
}

void assert_quiet(struct engine *engine)
{
	struct engine_note note;

	assert_int_equal(engine_next(engine, &note), ENGINE_DEADLINE);
}

void assert_hit(struct engine *engine, pid_t tid, uint64_t watches)
{
	struct engine_note note;

	assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
	assert_int_equal(note.hit.tid, tid);
	assert_int_equal(note.hit.pid, P);
	assert_int_equal(note.hit.watches, watches);
}

uint64_t engine_end(struct engine *engine)
{
	uint64_t start = fake.now_ns;

	engine_dr.close(engine);
	for (size_t i = 0; i < fake.n_threads; i++) {
		const struct fake_thread *t = &fake.threads[i];

		if (!fake_is_live(t) || t->is_deaf)
			continue;
		if (t->is_traced || t->is_stopped)
			fail_msg("thread %d stays traced", t->tid);
		if (t->live_dr7)
			fail_msg("thread %d stays armed", t->tid);
	}
	return fake.now_ns - start;
}
