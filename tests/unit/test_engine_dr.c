/* test_engine_dr.c plays arming, hits, new threads, new images and the hook to the unchanged
 * debug register engine on the scripted kernel. Leaving is in test_engine_close.c. */
#include "engine_help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ARMED_RW8 "DR7=0 DR0=601040 DR7=b0001 DR6=0"

static const struct span span_a = {A, 8, ACCESS_READ_WRITE};
static const struct span span_b = {B, 4, ACCESS_READ_WRITE};

/* Arming. */

static void test_arm_sequence(void **state)
{
	struct engine *engine = engine_on(3);
	struct engine_counts counts;
	struct err err;

	(void)state;
	assert_int_equal(engine_arm_as(engine, 0, span_a, 0, &err), 0);
	for (pid_t tid = P; tid < P + 3; tid++) {
		assert_string_equal(fake_trace(tid), "INT " ARMED_RW8 " CONT");
		assert_true(fake_is_running(tid));
	}
	fake_trace_clear();
	assert_int_equal(engine_arm_as(engine, 0, span_b, 0, &err), 0);
	assert_string_equal(fake_trace(P + 1), "INT DR7=0 DR0=602080 DR7=f0001 DR6=0 CONT");
	fake_trace_clear();
	assert_int_equal(engine_arm_as(engine, 0, (struct span){0}, 0, &err), 0);
	assert_string_equal(fake_trace(P + 1), "INT DR7=0 DR6=0 CONT");
	counts = engine_dr.counts(engine);
	assert_int_equal(counts.threads_armed, 3);
	assert_int_equal(counts.threads_born, 0);
	assert_int_equal(counts.threads_unarmed, 0);
	engine_end(engine);
}

static int arm_four(struct engine *engine)
{
	struct span spans[4];
	const char *text[4] = {"a", "b", "c", "d"};
	struct err err;

	for (unsigned i = 0; i < 4; i++)
		spans[i] = (struct span){A + 8 * i, 8, ACCESS_READ_WRITE};
	return engine_dr.arm(
		engine, P, &(struct arming){.spans = spans, .text = text, .n = 4}, &err);
}

static void test_arm_four_slots(void **state)
{
	struct engine *engine = engine_on(1);

	(void)state;
	assert_int_equal(arm_four(engine), 0);
	assert_string_equal(fake_trace(P), "INT DR7=0 DR0=601040 DR1=601048 DR2=601050 DR3=601058 "
					   "DR7=bbbb0055 DR6=0 CONT");
	engine_end(engine);
}

/* What cannot be planned touches nobody. */
static void test_arm_not_planned(void **state)
{
	struct engine *engine = engine_on(1);
	struct span too_long = {A, 33, ACCESS_WRITE};
	struct err err;

	(void)state;
	engine_arm_rw(engine, A, 8);
	assert_int_equal(engine_arm_as(engine, 0, too_long, 0, &err), -1);
	assert_int_equal(
		engine_arm_as(engine, 0, (struct span){A, 32, ACCESS_WRITE}, 0x401000, &err), -1);
	assert_string_equal(fake_trace(P), "");
	fake_hit(P, 1);
	assert_hit(engine, P, 1);
	engine_end(engine);
}

static void test_arm_refused_by_kernel(void **state)
{
	static const struct {
		uint64_t addr;
		unsigned foreign;
		const char *text;
	} rows[] = {
		{A, 4, "in use by another tool"},
		{A, 3, "in use by another tool"}, /* a second slot is needed */
		{1ULL << 47, 0, "not in user memory"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		struct engine *engine;

		fake_reset();
		engine = engine_on(2);
		fake.foreign_slots = rows[i].foreign;
		assert_int_equal(engine_arm_as(engine, 0,
					 (struct span){rows[i].addr, 16, ACCESS_WRITE}, 0, &err),
			-1);
		if (!strstr(err.text, rows[i].text))
			fail_msg("row %zu: '%s'", i, err.text);
		for (pid_t tid = P; tid < P + 2; tid++) {
			assert_int_equal(fake_armed(tid), 0);
			assert_true(fake_is_running(tid));
		}
		assert_int_equal(engine_dr.counts(engine).threads_armed, 0);
		engine_end(engine);
	}
}

/* Kernels that check an address against the length that a disabled slot had (bug 200965). */
static void test_arm_old_kernel(void **state)
{
	struct engine *engine = engine_on(2);

	(void)state;
	fake.is_old_kernel = true;
	engine_arm_rw(engine, A, 8);
	engine_arm_rw(engine, A + 1, 1);
	for (pid_t tid = P; tid < P + 2; tid++) {
		assert_int_equal(fake_thread(tid)->dr[0], A + 1);
		assert_int_equal(fake_thread(tid)->live_dr7, 0x30001);
	}
	engine_end(engine);
}

/* Every thread has the same registers as before, or all have the new ones. */
static void assert_all_or_none(int result, const struct fake_thread *before, int error, unsigned k)
{
	for (size_t i = 0; i < 3; i++) {
		const struct fake_thread *t = &fake.threads[i];

		if (!fake_is_running(t->tid))
			fail_msg("errno %d at step %u: thread %d does not run", error, k, t->tid);
		if (result && (t->live_dr7 != before[i].live_dr7 ||
				      (t->live_dr7 && t->dr[0] != before[i].dr[0])))
			fail_msg("errno %d at step %u: thread %d has %llx after a failure", error,
				k, t->tid, (unsigned long long)t->live_dr7);
		if (!result && error != ESRCH && t->dr[1] != B) /* the shorter piece is slot 0 */
			fail_msg("errno %d at step %u: thread %d not armed", error, k, t->tid);
	}
}

static bool arm_failure_play(int error, unsigned k, bool was_armed)
{
	struct fake_thread before[3];
	struct engine *engine;
	struct err err = {0};
	bool has_failed;
	int result;

	fake_reset();
	engine = engine_on(3);
	if (was_armed)
		engine_arm_rw(engine, A, 8);
	memcpy(before, fake.threads, sizeof(before));
	fake_fail(FAKE_DR_SET, k, error);
	result = engine_arm_as(engine, 0, (struct span){B, 12, ACCESS_WRITE}, 0, &err);
	has_failed = fake.has_failed;
	fake.fail_at = 0;
	if (has_failed && (error == ENOSPC || error == EPERM))
		assert_int_equal(result, -1);
	if (error == ESRCH || !has_failed)
		assert_int_equal(result, 0);
	if (result)
		assert_int_equal(engine_dr.counts(engine).threads_armed, was_armed ? 3 : 0);
	assert_all_or_none(result, before, error, k);
	engine_arm_rw(engine, A, 8); /* and it works afterwards */
	fake_hit(P + 1, 1);
	assert_hit(engine, P + 1, 1);
	engine_end(engine);
	fake_check();
	return has_failed;
}

static void test_arm_fails_at_each_step(void **state)
{
	static const int errors[] = {ENOSPC, EINVAL, EPERM, ESRCH};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		for (int was_armed = 0; was_armed <= 1; was_armed++) {
			unsigned k = 1;

			while (arm_failure_play(errors[i], k, was_armed))
				k++;
			assert_true(k > 15); /* three threads, five writes each */
		}
	}
}

static void process_killed(pid_t tid)
{
	(void)tid;
	fake_kill(P);
}

static void test_killed_at_each_step_of_arming(void **state)
{
	unsigned k = 0;
	bool has_failed;

	(void)state;
	do {
		struct engine_note note;
		struct engine *engine;
		struct err err;

		fake_reset();
		engine = engine_on(3);
		fake_at(FAKE_ANY, ++k, process_killed);
		engine_arm_as(engine, 0, span_a, 0, &err);
		has_failed = fake.has_failed;
		if (has_failed) {
			assert_int_equal(engine_next(engine, &note), ENGINE_EXITED);
			assert_int_equal(note.status, SIGKILL);
			assert_int_equal(engine_next(engine, &note), ENGINE_END);
		}
		engine_end(engine);
	} while (has_failed);
	assert_true(k > 15);
}

/* A thread that cannot be stopped in time is written when it stops. */
static void test_arm_stale_thread(void **state)
{
	struct engine *engine = engine_on(3);
	struct err err;

	(void)state;
	fake_thread(P + 1)->is_deaf = true;
	assert_int_equal(engine_arm_as(engine, 0, span_a, 0, &err), 0);
	assert_int_equal(fake_armed(P), 1);
	assert_int_equal(fake_armed(P + 1), 0);
	assert_int_equal(fake_armed(P + 2), 1);
	assert_quiet(engine);
	fake_wake(P + 1);
	assert_quiet(engine);
	assert_string_equal(fake_trace(P + 1), "INT " ARMED_RW8 " CONT");
	assert_int_equal(engine_dr.counts(engine).threads_armed, 3);
	fake_hit(P + 1, 1);
	assert_hit(engine, P + 1, 1);
	engine_end(engine);
}

/* Meanwhile it has a hit of the former watches: that one is lost, and said to be. */
static void stale_hit_play(bool is_late)
{
	struct engine *engine = engine_on(2);
	struct err err;

	engine_arm_rw(engine, A, 8);
	fake_thread(P + 1)->is_deaf = true;
	assert_int_equal(engine_arm_as(engine, 1, span_b, 0, &err), 0);
	if (!is_late) {
		fake_thread(P + 1)->must_stop = false;
		fake_hit(P + 1, 1);
		fake_wake(P + 1);
	} else {
		fake_hit_late(P + 1, 1);
		fake_wake(P + 1);
	}
	assert_quiet(engine);
	assert_int_equal(engine_dr.counts(engine).lost, 1);
	assert_int_equal(fake_thread(P + 1)->dr[0], B);
	assert_int_equal(fake_thread(P + 1)->live_dr7, DR7_RW4);
	assert_int_equal(fake_thread(P + 1)->delivered[SIGTRAP], 0);
	fake_hit(P + 1, 1);
	assert_hit(engine, P + 1, 2);
	engine_end(engine);
}

static void test_stale_thread_hits(void **state)
{
	(void)state;
	stale_hit_play(false);
}

/* The same, but the answer to the interrupt comes before the trap. */
static void test_stale_thread_has_hit(void **state)
{
	(void)state;
	stale_hit_play(true);
}

/* Re-arming while a hit is under way: it belongs to the watch that it hit. */
static void in_flight_play(void (*hit)(pid_t, uint64_t), size_t i, struct span span, bool fails)
{
	struct engine *engine;
	struct err err;
	int result;

	fake_reset();
	engine = engine_on(2);
	engine_arm_rw(engine, A, 8);
	hit(P, 1);
	if (fails)
		fake_fail(FAKE_DR_SET, 7, ENOSPC);
	result = engine_arm_as(engine, i, span, 0, &err);
	assert_int_equal(result, fails ? -1 : 0);
	assert_hit(engine, P, 1);
	assert_quiet(engine);
	assert_int_equal(engine_dr.counts(engine).lost, 0);
	fake_hit(P, 1);
	if (span.len)
		assert_hit(engine, P, fails ? 1 : 1 << i);
	assert_quiet(engine);
	engine_end(engine);
}

static void test_rearm_with_hit_in_flight(void **state)
{
	(void)state;
	in_flight_play(fake_hit, 1, span_b, false);
	in_flight_play(fake_hit_late, 1, span_b, false);
	in_flight_play(fake_hit, 0, (struct span){0}, false);
	in_flight_play(fake_hit_late, 0, (struct span){0}, false);
}

static void test_failed_rearm_with_hit_in_flight(void **state)
{
	(void)state;
	in_flight_play(fake_hit, 1, span_b, true);
	in_flight_play(fake_hit_late, 1, span_b, true);
}

/* Turn watch 0 at A and watch 1 at B off as --max-rate does. */
static int limit(struct engine *engine, uint64_t off, struct err *err)
{
	const struct span spans[] = {{A, 8, ACCESS_READ_WRITE}, {B, 4, ACCESS_READ_WRITE}};
	static const char *const text[] = {"a", "b"};

	return engine_dr.arm(engine, P,
		&(struct arming){.spans = spans, .text = text, .n = 2, .off = off, .is_limit = true}, err);
}

/* Who does not hit what is off is neither interrupted nor written. */
static void test_limit(void **state)
{
	struct engine *engine = engine_on(3);
	struct err err;

	(void)state;
	assert_int_equal(limit(engine, 0, &err), 0); /* the first arming reaches everybody */
	fake_trace_clear();
	assert_int_equal(limit(engine, 2, &err), 0);
	fake_hit(P, 2);
	assert_hit(engine, P, 1);
	assert_int_equal(limit(engine, 3, &err), 0);
	for (pid_t tid = P; tid < P + 3; tid++)
		assert_int_equal(fake_armed(tid), tid == P ? 1 : 5); /* one slot, or two */
	assert_string_equal(fake_trace(P + 1), "");
	fake_hit(P + 1, 1); /* its last one */
	assert_hit(engine, P + 1, 2);
	assert_int_equal(fake_armed(P + 1), 0);
	assert_quiet(engine);
	assert_int_equal(engine_dr.counts(engine).lost, 0);
	fake_trace_clear();
	assert_int_equal(limit(engine, 0, &err), 0);
	assert_string_equal(fake_trace(P + 2), "");
	for (pid_t tid = P; tid < P + 3; tid++) {
		assert_int_equal(fake_armed(tid), 5);
		fake_hit(tid, 2);
		assert_hit(engine, tid, 1);
	}
	engine_end(engine);
}

/* The registers cannot be had again: each thread has what it had, and all are let go. */
static void test_limit_fails(void **state)
{
	struct engine *engine = engine_on(2);
	struct err err;

	(void)state;
	assert_int_equal(limit(engine, 0, &err), 0);
	assert_int_equal(limit(engine, 1, &err), 0);
	fake_hit(P, 2);
	assert_hit(engine, P, 1);
	fake_fail(FAKE_DR_SET, 4, ENOSPC);
	assert_int_equal(limit(engine, 0, &err), -1);
	assert_int_equal(fake_armed(P), 1);
	assert_int_equal(fake_armed(P + 1), 5);
	fake_hit(P + 1, 2);
	assert_hit(engine, P + 1, 1);
	engine_end(engine);
}

static void stopped(void *observer, pid_t pid)
{
	*(int *)observer += pid == P && !fake_is_running(P) && !fake_is_running(P + 1) && fake_armed(P + 1) == 1;
}

/* The observer is called while all threads stand, and not where the arming has failed. */
static void test_observer(void **state)
{
	const struct span span = {A, 8, ACCESS_READ_WRITE};
	struct engine *engine = engine_on(2);
	static const char *const text[] = {"a"};
	int calls = 0;
	struct arming arming = {.spans = &span, .text = text, .n = 1, .stopped = stopped, .observer = &calls};
	struct err err;

	(void)state;
	assert_int_equal(engine_dr.arm(engine, P, &arming, &err), 0);
	assert_int_equal(calls, 1);
	fake_fail(FAKE_DR_SET, 7, ENOSPC);
	assert_int_equal(engine_dr.arm(engine, P, &arming, &err), -1);
	assert_int_equal(calls, 1);
	engine_end(engine);
}

/* New threads. */

static void test_new_thread_is_armed(void **state)
{
	(void)state;
	for (int order = FAKE_PARENT_FIRST; order <= FAKE_CHILD_LATE; order++) {
		struct engine *engine;

		fake_reset();
		engine = engine_on(1);
		engine_arm_rw(engine, A, 8);
		fake_clone(P, P + 1, (enum fake_order)order);
		assert_quiet(engine);
		fake_wake(P + 1);
		assert_quiet(engine);
		assert_string_equal(fake_trace(P + 1), ARMED_RW8 " CONT");
		assert_string_equal(fake_trace(P), "CONT");
		assert_int_equal(engine_dr.counts(engine).threads_armed, 2);
		assert_int_equal(engine_dr.counts(engine).threads_born, 1);
		fake_hit(P + 1, 1);
		assert_hit(engine, P + 1, 1);
		engine_end(engine);
	}
}

static void test_new_thread_ends_unseen(void **state)
{
	struct engine *engine = engine_on(1);

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_clone(P, P + 1, FAKE_CHILD_LATE);
	fake_exit(P + 1, 0);
	assert_quiet(engine);
	assert_int_equal(engine_dr.counts(engine).threads_armed, 1);
	fake_hit(P, 1);
	assert_hit(engine, P, 1);
	assert_quiet(engine);
	engine_end(engine);
}

/* No slot is left for it: it runs unarmed, and that is counted. */
static void test_new_thread_cannot_be_armed(void **state)
{
	struct engine *engine = engine_on(1);

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake.foreign_slots = 4;
	fake_clone(P, P + 1, FAKE_PARENT_FIRST);
	assert_quiet(engine);
	assert_true(fake_is_running(P + 1));
	assert_int_equal(fake_armed(P + 1), 0);
	assert_int_equal(engine_dr.counts(engine).threads_unarmed, 1);
	assert_int_equal(engine_dr.counts(engine).threads_armed, 1);
	fake_signal(P + 1, SIGTRAP, FAKE_TKILL); /* not tried again and again */
	assert_quiet(engine);
	assert_int_equal(engine_dr.counts(engine).threads_unarmed, 1);
	engine_end(engine);
}

/* Born before anything was watched: it is armed with the others, and counted with them. */
static void test_thread_born_before_arming(void **state)
{
	struct engine *engine = engine_on(1);

	(void)state;
	fake_clone(P, P + 1, FAKE_PARENT_FIRST);
	assert_quiet(engine);
	engine_arm_rw(engine, A, 8);
	assert_int_equal(fake_armed(P + 1), 1);
	assert_int_equal(engine_dr.counts(engine).threads_armed, 2);
	engine_end(engine);
}

static void first_clones(pid_t tid)
{
	(void)tid;
	fake_clone(P, P + 9, FAKE_PARENT_FIRST);
}

static void test_thread_born_during_rearming(void **state)
{
	struct engine *engine = engine_on(2);

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_at(FAKE_INTERRUPT, 1, first_clones);
	engine_arm_rw(engine, B, 8);
	assert_quiet(engine);
	for (pid_t tid = P; tid < P + 2; tid++)
		assert_int_equal(fake_thread(tid)->dr[0], B);
	assert_int_equal(fake_thread(P + 9)->dr[0], B);
	assert_int_equal(fake_armed(P + 9), 1);
	assert_true(fake_is_running(P + 9));
	assert_int_equal(engine_dr.counts(engine).threads_armed, 3);
	assert_int_equal(engine_dr.counts(engine).threads_born, 1);
	engine_end(engine);
}

static void test_new_process_runs_unarmed(void **state)
{
	struct engine *engine = engine_on(1);

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_clone_process(P, 200, FAKE_PARENT_FIRST);
	assert_quiet(engine);
	assert_string_equal(fake_trace(200), "DETACH");
	assert_true(fake_is_running(200));
	assert_int_equal(fake_armed(200), 0);
	engine_end(engine);
}

/* New images. */

static void exec_play(pid_t tid)
{
	struct engine *engine;
	struct engine_note note;
	struct err err;
	uint32_t image;

	fake_reset();
	engine = engine_on(3);
	engine_arm_rw(engine, A, 8);
	fake_hit(P, 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
	image = note.hit.image;
	fake_trace_clear();
	fake_exec(tid);
	assert_int_equal(engine_next(engine, &note), ENGINE_IMAGE);
	assert_int_equal(note.pid, P);
	assert_string_equal(fake_trace(P), "");
	assert_int_equal(engine_arm_as(engine, 0, span_a, 0, &err), 0);
	assert_string_equal(fake_trace(P), ARMED_RW8);
	assert_false(fake_is_running(P));
	assert_quiet(engine);
	assert_string_equal(fake_trace(P), ARMED_RW8 " CONT");
	fake_hit(P, 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
	assert_int_not_equal(note.hit.image, image);
	engine_end(engine);
}

static void test_exec(void **state)
{
	(void)state;
	exec_play(P);
	exec_play(P + 1);
}

/* A hit that was under way in another thread when one of them exec'd: nobody is left to count. */
static void test_exec_with_hits_queued(void **state)
{
	struct engine *engine = engine_on(4);
	struct engine_note note;
	enum engine_event event;

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_hit(P + 2, 1);
	fake_hit(P + 3, 1);
	assert_hit(engine, P + 2, 1);
	engine_arm_rw(engine, A, 8); /* the other one waits in the queue now */
	fake_exec(P + 1);
	do {
		event = engine_next(engine, &note);
	} while (event == ENGINE_HIT);
	assert_int_equal(event, ENGINE_IMAGE);
	assert_false(fake_is_running(P));
	assert_quiet(engine);
	assert_true(fake_is_running(P));
	engine_end(engine);
}

static void second_execs(pid_t tid)
{
	(void)tid;
	fake_exec(P + 1);
}

/* The exec comes while the former image is being armed again. */
static void test_exec_while_arming(void **state)
{
	struct engine *engine = engine_on(3);
	struct engine_note note;
	struct err err;
	uint64_t start = fake.now_ns;

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_at(FAKE_INTERRUPT, 1, second_execs);
	assert_int_equal(engine_arm_as(engine, 0, span_b, 0, &err), 0);
	assert_int_equal(engine_next(engine, &note), ENGINE_IMAGE);
	assert_false(fake_is_running(P));
	engine_end(engine); /* nothing of the former image may be left armed */
	fake_check();
	assert_true(fake.now_ns - start < NS_PER_S / 2);
}

/* It comes while the leader is held at the hook: what is held then is the new image. */
static void test_exec_while_held(void **state)
{
	struct engine *engine = engine_on(2);
	struct engine_note note;
	struct err err;

	(void)state;
	assert_int_equal(engine_arm_as(engine, 0, span_a, 0x401000, &err), 0);
	fake_hit(P, 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_MODULES);
	fake_at(FAKE_INTERRUPT, 1, second_execs);
	engine_arm_as(engine, 0, span_b, 0, &err);
	assert_int_equal(engine_next(engine, &note), ENGINE_IMAGE);
	assert_false(fake_is_running(P));
	assert_quiet(engine);
	assert_true(fake_is_running(P));
	engine_end(engine);
}

static void test_process_ends(void **state)
{
	struct engine *engine = engine_on(3);
	struct engine_note note;

	(void)state;
	engine_arm_rw(engine, A, 8);
	fake_exit(P, 7);
	assert_quiet(engine);
	fake_hit(P + 1, 1);
	assert_hit(engine, P + 1, 1);
	fake_exit(P + 1, 1);
	assert_quiet(engine);
	fake_exit(P + 2, 2);
	assert_int_equal(engine_next(engine, &note), ENGINE_EXITED);
	assert_int_equal(note.pid, P);
	assert_int_equal(note.status, 7 << 8);
	assert_int_equal(engine_next(engine, &note), ENGINE_END);
	engine_end(engine);
}

/* The hook. */

#define HOOK 0x401000

static void test_hook(void **state)
{
	struct engine *engine = engine_on(2);
	struct engine_note note;
	struct err err;

	(void)state;
	assert_int_equal(engine_arm_as(engine, 0, span_a, HOOK, &err), 0);
	assert_string_equal(fake_trace(P), "INT DR7=0 DR0=401000 DR1=601040 DR7=b00005 DR6=0 CONT");
	fake_trace_clear();
	fake_hit(P, 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_MODULES);
	assert_int_equal(note.pid, P);
	assert_string_equal(fake_trace(P), "DR6=0");
	assert_int_equal(engine_arm_as(engine, 0, span_b, HOOK, &err), 0); /* while it is held */
	assert_false(fake_is_running(P));
	assert_true(fake_is_running(P + 1));
	assert_int_equal(fake_thread(P)->dr[1], B);
	assert_quiet(engine);
	assert_true(fake_is_running(P));
	assert_int_equal(fake_thread(P)->delivered[SIGTRAP], 0);
	engine_end(engine);
}

static void test_hook_together_with_data(void **state)
{
	struct engine *engine = engine_on(1);
	struct engine_note note;
	struct err err;

	(void)state;
	assert_int_equal(
		engine_arm_as(engine, 0, (struct span){A, 8, ACCESS_WRITE}, HOOK, &err), 0);
	fake_hit(P, 3);
	assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
	assert_int_equal(note.hit.watches, 1);
	assert_int_equal(note.hit.kind & HIT_EXECUTE, 0);
	assert_false(fake_is_running(P));
	assert_int_equal(engine_next(engine, &note), ENGINE_MODULES);
	assert_false(fake_is_running(P));
	assert_quiet(engine);
	assert_true(fake_is_running(P));
	engine_end(engine);
}

static void test_killed_at_hook(void **state)
{
	struct engine *engine = engine_on(2);
	struct engine_note note;
	struct err err;

	(void)state;
	assert_int_equal(engine_arm_as(engine, 0, span_a, HOOK, &err), 0);
	fake_hit(P, 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_MODULES);
	fake_kill(P);
	engine_arm_as(engine, 0, span_b, 0, &err);
	assert_int_equal(engine_next(engine, &note), ENGINE_EXITED);
	assert_int_equal(engine_next(engine, &note), ENGINE_END);
	engine_end(engine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, engine_setup, engine_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(arm_sequence),
		TEST(arm_four_slots),
		TEST(arm_not_planned),
		TEST(arm_refused_by_kernel),
		TEST(arm_old_kernel),
		TEST(arm_fails_at_each_step),
		TEST(killed_at_each_step_of_arming),
		TEST(arm_stale_thread),
		TEST(stale_thread_hits),
		TEST(stale_thread_has_hit),
		TEST(rearm_with_hit_in_flight),
		TEST(failed_rearm_with_hit_in_flight),
		TEST(limit),
		TEST(limit_fails),
		TEST(observer),
		TEST(new_thread_is_armed),
		TEST(new_thread_ends_unseen),
		TEST(new_thread_cannot_be_armed),
		TEST(thread_born_before_arming),
		TEST(thread_born_during_rearming),
		TEST(new_process_runs_unarmed),
		TEST(exec),
		TEST(exec_with_hits_queued),
		TEST(exec_while_arming),
		TEST(exec_while_held),
		TEST(process_ends),
		TEST(hook),
		TEST(hook_together_with_data),
		TEST(killed_at_hook),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
