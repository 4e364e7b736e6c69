/* test_engine_close.c plays every way of leaving a target to the debug register engine on the
 * scripted kernel: all disarmed, traps of ours swallowed, those of others passed on, stopped what
 * was stopped; and whole runs in which any one request fails. */
#include "engine_help.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct engine *armed_on(size_t n)
{
	struct engine *engine;

	fake_reset();
	engine = engine_on(n);
	engine_arm_rw(engine, A, 8);
	return engine;
}

/* Close; nobody was waited for longer than needed, and nothing forbidden was done. */
static void end_quickly(struct engine *engine)
{
	assert_true(engine_end(engine) < NS_PER_S / 2);
	fake_check();
}

static void test_running(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	end_quickly(engine);
	for (pid_t tid = P; tid < P + 3; tid++) {
		assert_string_equal(fake_trace(tid), "INT DR7=0 DR6=0 DETACH");
		assert_true(fake_is_running(tid));
	}
}

static void test_never_armed(void **state)
{
	struct engine *engine = engine_on(2);

	(void)state;
	end_quickly(engine);
	assert_true(fake_is_running(P));
	assert_true(fake_is_running(P + 1));
}

/* What the target had stopped with when it was left, and with what it leaves. */
static void test_stopped_by_itself(void **state)
{
	static const struct {
		int sig, code;
		const char *trace;
	} rows[] = {
		{SIGTRAP, FAKE_HWBKPT, "INT DR7=0 DR6=0 DETACH"},
		{SIGTRAP, FAKE_TKILL, "INT DR7=0 DR6=0 DETACH:5"},
		{SIGTRAP, FAKE_INT3, "INT DR7=0 DR6=0 DETACH:5"},
		{SIGUSR1, 0, "INT DR7=0 DR6=0 DETACH:10"},
		{SIGSEGV, 1, "INT DR7=0 DR6=0 DETACH:11"},
		{SIGTERM, 0, "INT DR7=0 DR6=0 DETACH:15"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct engine *engine = armed_on(2);

		if (rows[i].code == FAKE_HWBKPT)
			fake_hit(P + 1, 1);
		else
			fake_signal(P + 1, rows[i].sig, rows[i].code);
		end_quickly(engine);
		assert_string_equal(fake_trace(P + 1), rows[i].trace);
		assert_string_equal(fake_trace(P), rows[0].trace);
		assert_int_equal(fake_thread(P + 1)->delivered[rows[i].sig],
			rows[i].code == FAKE_HWBKPT ? 0 : 1);
	}
}

/* It has hit, and the interrupt is answered before the trap: that is awaited and swallowed. */
static void test_trap_in_flight(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	fake_hit_late(P + 1, 1);
	end_quickly(engine);
	assert_string_equal(fake_trace(P + 1), "INT DR7=0 DR6=0 CONT DETACH");
	assert_int_equal(fake_thread(P + 1)->delivered[SIGTRAP], 0);
	assert_true(fake_is_running(P + 1));
}

/* DR6 tells of a hit whose trap a tracer had taken before it died: nothing comes that could be awaited. */
static void test_trap_taken_by_another(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	fake_hit_late(P + 1, 1);
	fake_thread(P + 1)->trap.si_signo = 0;
	end_quickly(engine);
	assert_string_equal(fake_trace(P + 1), "INT DR7=0 DR6=0 DETACH");
	assert_true(fake_is_running(P + 1));
}

static void test_all_traps_in_flight(void **state)
{
	struct engine *engine = armed_on(4);

	(void)state;
	for (pid_t tid = P; tid < P + 4; tid++)
		fake_hit_late(tid, 1);
	end_quickly(engine);
	for (pid_t tid = P; tid < P + 4; tid++)
		assert_string_equal(fake_trace(tid), "INT DR7=0 DR6=0 CONT DETACH");
}

static void turns_deaf(pid_t tid)
{
	fake_thread(tid)->is_deaf = true;
}

/* Noted at a re-arming, and not yet reported: DR6 has nothing to say about it any more. */
static void test_trap_noted(void **state)
{
	(void)state;
	for (int is_trapped = 0; is_trapped <= 1; is_trapped++) {
		struct engine *engine = armed_on(1);

		fake_hit_late(P, 1);
		if (!is_trapped)
			fake_at(FAKE_CONT, 1, turns_deaf);
		engine_arm_rw(engine, B, 8);
		fake_thread(P)->is_deaf = false;
		end_quickly(engine);
		assert_string_equal(fake_trace(P),
			is_trapped ? "INT DR7=0 DR6=0 DETACH" : "INT DR7=0 DR6=0 CONT DETACH");
		assert_int_equal(fake_thread(P)->delivered[SIGTRAP], 0);
		assert_true(fake_is_running(P));
	}
}

/* The other signal comes while the trap is awaited: it stays with the thread. */
static void test_trap_in_flight_and_signal(void **state)
{
	struct engine *engine = armed_on(1);

	(void)state;
	fake_hit_late(P, 1);
	fake_thread(P)->pending |= 1ULL << (SIGUSR1 - 1);
	end_quickly(engine);
	assert_int_equal(fake_thread(P)->delivered[SIGTRAP], 0);
	assert_int_equal(fake_thread(P)->delivered[SIGUSR1], 1);
}

static void second_killed(pid_t tid)
{
	(void)tid;
	fake_kill(P);
}

static void test_killed_with_trap_in_flight(void **state)
{
	struct engine *engine = armed_on(2);

	(void)state;
	fake_hit_late(P, 1);
	fake_hit_late(P + 1, 1);
	fake_at(FAKE_CONT, 1, second_killed);
	end_quickly(engine);
}

/* A hit that was merged into somebody's pending SIGTRAP: no trap of ours will come, and theirs
 * is delivered. */
static void test_merged_trap(void **state)
{
	struct engine *engine = armed_on(1);

	(void)state;
	fake_thread(P)->is_deaf = true;
	fake_signal(P, SIGTRAP, FAKE_TKILL);
	fake_hit_late(P, 1);
	fake_wake(P);
	end_quickly(engine);
	assert_int_equal(fake_thread(P)->delivered[SIGTRAP], 1);
}

static void test_merged_trap_in_flight(void **state)
{
	struct engine *engine = armed_on(1);

	(void)state;
	fake_thread(P)->is_deaf = true;
	fake_signal(P, SIGTRAP, FAKE_TKILL);
	fake_hit_late(P, 1);
	fake_thread(P)->is_deaf = false;
	end_quickly(engine);
	assert_int_equal(fake_thread(P)->delivered[SIGTRAP], 1);
}

static void test_group_stopped(void **state)
{
	(void)state;
	for (int is_seen = 0; is_seen <= 1; is_seen++) {
		struct engine *engine = armed_on(2);

		fake_group_stop(P, SIGSTOP);
		if (is_seen)
			assert_quiet(engine);
		end_quickly(engine);
		for (pid_t tid = P; tid < P + 2; tid++) {
			assert_false(fake_thread(tid)->is_traced);
			assert_int_equal(fake_thread(tid)->job_sig, SIGSTOP);
			assert_int_equal(fake_thread(tid)->delivered[SIGSTOP], 0);
		}
	}
}

/* About to be stopped by a signal when it is left. */
static void test_stop_signal_is_delivered(void **state)
{
	struct engine *engine = armed_on(2);

	(void)state;
	fake_signal(P, SIGTSTP, 0);
	engine_end(engine);
	fake_check();
	assert_int_equal(fake_thread(P)->job_sig, SIGTSTP);
	assert_int_equal(fake_thread(P + 1)->job_sig, SIGTSTP);
}

static void test_group_stopped_with_trap_in_flight(void **state)
{
	struct engine *engine = armed_on(2);

	(void)state;
	fake_hit_late(P + 1, 1);
	fake_group_stop(P, SIGSTOP);
	end_quickly(engine);
	assert_int_equal(fake_thread(P + 1)->delivered[SIGTRAP], 0);
	assert_int_equal(fake_thread(P + 1)->job_sig, SIGSTOP);
}

static void test_held_at_hook(void **state)
{
	struct engine *engine = engine_on(2);
	struct engine_note note;
	struct err err;

	(void)state;
	assert_int_equal(
		engine_arm_as(engine, 0, (struct span){A, 8, ACCESS_WRITE}, 0x401000, &err), 0);
	fake_hit(P, 3);
	assert_int_equal(engine_next(engine, &note), ENGINE_HIT);
	end_quickly(engine);
	assert_true(fake_is_running(P));
	assert_int_equal(fake_thread(P)->delivered[SIGTRAP], 0);
}

static void test_held_at_exec(void **state)
{
	struct engine *engine = armed_on(2);
	struct engine_note note;

	(void)state;
	fake_exec(P + 1);
	assert_int_equal(engine_next(engine, &note), ENGINE_IMAGE);
	end_quickly(engine);
	assert_true(fake_is_running(P));
}

static void second_execs(pid_t tid)
{
	(void)tid;
	fake_exec(P + 1);
}

static void test_exec_while_closing(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	fake_at(FAKE_INTERRUPT, 1, second_execs);
	end_quickly(engine);
	assert_true(fake_is_running(P));
}

/* One thread sleeps uninterruptibly: the others leave, and a signal ends the wait for it. */
static void test_deaf_thread(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	fake_thread(P + 1)->is_deaf = true;
	fake.is_signalled = true;
	assert_true(engine_end(engine) < 5 * NS_PER_S);
	assert_true(fake_is_running(P));
	assert_true(fake_is_running(P + 2));
	assert_int_equal(fake_armed(P), 0);
	assert_int_equal(fake_armed(P + 2), 0);
}

static void second_wakes_late(void)
{
	if (fake.now_ns < 1100 * NS_PER_S)
		return;
	assert_true(fake_is_running(P)); /* long ago */
	assert_int_equal(fake_armed(P), 0);
	fake_wake(P + 1);
}

/* Without one it is waited for, however long that takes: armed and untraced it would die. */
static void test_deaf_thread_wakes_late(void **state)
{
	struct engine *engine = armed_on(2);

	(void)state;
	fake_thread(P + 1)->is_deaf = true;
	fake.idle = second_wakes_late;
	assert_true(engine_end(engine) > 90 * NS_PER_S);
	assert_false(fake_thread(P + 1)->is_traced);
	assert_int_equal(fake_armed(P + 1), 0);
}

static void second_wakes(void)
{
	if (fake.now_ns % (16 * FAKE_TICK_NS) > 12 * FAKE_TICK_NS)
		fake_wake(P + 1);
}

static void test_deaf_thread_wakes(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	fake_thread(P + 1)->is_deaf = true;
	fake.idle = second_wakes;
	engine_end(engine);
	assert_false(fake_thread(P + 1)->is_traced);
	assert_int_equal(fake_armed(P + 1), 0);
}

static void second_gets_a_processor(void)
{
	if (fake.now_ns > 1012 * NS_PER_S)
		fake_wake(P + 1);
}

/* Others take all the processors for 12 seconds: the thread is waited for, and the rest is free. */
static void test_starved_thread(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	fake_thread(P + 1)->is_deaf = true;
	fake_thread(P + 1)->state = 'R';
	fake.idle = second_gets_a_processor;
	assert_in_range(engine_end(engine), 10 * NS_PER_S, 14 * NS_PER_S);
	assert_false(fake_thread(P + 1)->is_traced);
	assert_int_equal(fake_armed(P + 1), 0);
}

/* The same while its trap is awaited. */
static void test_starved_trap(void **state)
{
	struct engine *engine = armed_on(2);

	(void)state;
	fake_hit_late(P + 1, 1);
	fake_at(FAKE_CONT, 1, turns_deaf);
	fake.idle = second_gets_a_processor;
	engine_end(engine);
	assert_int_equal(fake_thread(P + 1)->delivered[SIGTRAP], 0);
	assert_true(fake_is_running(P + 1));
}

static void test_dead_leader(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	fake_exit(P, 0);
	end_quickly(engine);
	assert_true(fake_is_running(P + 1));
	assert_true(fake_is_running(P + 2));
}

static void test_everybody_gone(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	fake_kill(P);
	end_quickly(engine);
}

static void first_clones(pid_t tid)
{
	(void)tid;
	fake_clone(P, P + 9, FAKE_PARENT_FIRST);
}

static void test_thread_born_while_closing(void **state)
{
	struct engine *engine = armed_on(2);

	(void)state;
	fake_at(FAKE_INTERRUPT, 1, first_clones);
	end_quickly(engine);
	assert_true(fake_is_running(P + 9));
	assert_int_equal(fake_thread(P + 9)->delivered[SIGTRAP], 0);
}

static void newborn_wakes(void)
{
	if (fake_find_living(P + 9))
		fake_wake(P + 9);
}

static void first_clones_slowly(pid_t tid)
{
	(void)tid;
	fake_clone(P, P + 9, FAKE_CHILD_LATE);
	fake.idle = newborn_wakes;
}

/* Its creator's event is the last stop that comes; its own first stop follows a moment later. */
static void test_thread_born_at_the_last_moment(void **state)
{
	struct engine *engine = armed_on(2);

	(void)state;
	fake_at(FAKE_INTERRUPT, 1, first_clones_slowly);
	end_quickly(engine);
	assert_false(fake_thread(P + 9)->is_traced);
	assert_true(fake_is_running(P + 9));
}

static void process_wakes(void)
{
	if (fake_find_living(200))
		fake_wake(200);
}

static void test_process_born_at_the_last_moment(void **state)
{
	(void)state;
	for (int order = FAKE_PARENT_FIRST; order <= FAKE_CHILD_LATE; order++) {
		struct engine *engine = armed_on(1);

		fake_clone_process(P, 200, (enum fake_order)order);
		fake.idle = process_wakes;
		end_quickly(engine);
		assert_false(fake_thread(200)->is_traced);
		assert_true(fake_is_running(200));
	}
}

/* In a child: the emergency exit of a process that ends right afterwards frees nothing. */
static void test_emergency(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		bool is_clear = true;

		armed_on(2);
		fake_hit_late(P, 1);
		die_hooks_run();
		for (pid_t tid = P; tid < P + 2; tid++)
			is_clear = is_clear && fake_is_running(tid) && fake_armed(tid) == 0;
		fake_check();
		_exit(is_clear ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A whole run, in which the plan of fake.fail_* comes true somewhere. */
static void run_script(void)
{
	struct target target = {.pid = P};
	struct engine_note note;
	struct engine *engine;
	struct err err;
	pid_t pid;

	engine = engine_dr.open(&target, &pid, &err);
	if (!engine)
		return;
	engine_arm_as(engine, 0, (struct span){A, 12, ACCESS_WRITE}, 0x401000, &err);
	fake_hit(P, 2);
	fake_hit(P + 1, 4);
	fake_signal(P + 2, SIGTRAP, FAKE_TKILL);
	for (int i = 0; i < 3; i++)
		engine_next(engine, &note);
	if (fake_find_living(P) && fake_is_running(P))
		fake_clone(P, P + 9, FAKE_PARENT_FIRST);
	engine_next(engine, &note);
	if (fake_find_living(P + 9) && fake_is_running(P + 9))
		fake_hit_late(P + 9, 1);
	engine_arm_as(engine, 1, (struct span){B, 4, ACCESS_READ_WRITE}, 0, &err);
	fake_group_stop(P, SIGSTOP);
	for (int i = 0; i < 3; i++)
		engine_next(engine, &note);
	if (fake_find_living(P))
		fake_group_cont(P);
	engine_next(engine, &note);
	if (fake_find_living(P + 1) && fake_is_running(P + 1))
		fake_hit_late(P + 1, 1);
	if (fake_find_living(P + 2) && fake_is_running(P + 2))
		fake_signal(P + 2, SIGUSR1, 0);
	engine_dr.close(engine);
}

/* Requests that the kernel refuses for dead threads alone, and whose failure for a living one
 * nothing could make good: to disarm it, to let it run, to tell whose trap there is. */
static bool is_excused(unsigned k)
{
	const struct fake_entry *failed = &fake.requests[k - 1];

	if (k > fake.n_requests)
		return false;
	return failed->what == FAKE_CONT || failed->what == FAKE_LISTEN ||
	       failed->what == FAKE_SIGINFO || failed->what == FAKE_DR_GET ||
	       (failed->what == FAKE_DR_SET && failed->a == 7 && failed->b == 0);
}

/* What was detached, or stands still, is not armed. */
static void assert_harmless(int error, unsigned k)
{
	if (is_excused(k))
		return;
	if (fake.violation[0])
		fail_msg("errno %d at step %u: %s", error, k, fake.violation);
	for (size_t i = 0; i < fake.n_threads; i++) {
		const struct fake_thread *t = &fake.threads[i];

		if (fake_is_live(t) && t->live_dr7 && (!t->is_traced || t->is_stopped))
			fail_msg("errno %d at step %u: thread %d is left with DR7 %llx", error, k,
				t->tid, (unsigned long long)t->live_dr7);
	}
}

static unsigned run_play(int error, void (*happen)(pid_t tid))
{
	unsigned k = 0;

	do {
		fake_reset();
		fake_process(P, 3);
		fake_process(200, 1); /* the script's hands stay busy when P is gone */
		if (happen)
			fake_at(FAKE_ANY, ++k, happen);
		else
			fake_fail(FAKE_ANY, ++k, error);
		run_script();
		assert_harmless(error, k);
	} while (fake.has_failed);
	return k;
}

static void test_any_request_fails(void **state)
{
	static const int errors[] = {ESRCH, EPERM, EIO};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		assert_true(run_play(errors[i], NULL) > 60);
}

static void test_killed_at_any_request(void **state)
{
	(void)state;
	assert_true(run_play(0, second_killed) > 60);
}

/* A job-control stop that waits in the queue when the run ends, with a trap in flight behind it. */
static void test_queued_group_stop_with_trap_in_flight(void **state)
{
	struct engine *engine = armed_on(3);

	(void)state;
	for (int i = 0; i < 15; i++) {
		fake_hit(P, 1);
		assert_hit(engine, P, 1);
	}
	fake_hit_late(P + 1, 1);
	fake.by_list = true;
	fake_thread(P)->is_deaf = true; /* its stop is asked for only when the others have theirs */
	fake_hit_late(P, 1);
	fake_group_stop(P, SIGSTOP);
	fake_thread(P)->must_stop = false;
	fake_wake(P);
	assert_hit(engine, P, 1); /* all that was ready is taken before it is told */
	end_quickly(engine);
	assert_int_equal(fake_thread(P + 1)->delivered[SIGTRAP], 0);
	assert_int_equal(fake_thread(P + 1)->job_sig, SIGSTOP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, engine_setup, engine_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(running),
		TEST(never_armed),
		TEST(stopped_by_itself),
		TEST(trap_in_flight),
		TEST(all_traps_in_flight),
		TEST(trap_taken_by_another),
		TEST(trap_noted),
		TEST(trap_in_flight_and_signal),
		TEST(killed_with_trap_in_flight),
		TEST(merged_trap),
		TEST(merged_trap_in_flight),
		TEST(group_stopped),
		TEST(stop_signal_is_delivered),
		TEST(group_stopped_with_trap_in_flight),
		TEST(held_at_hook),
		TEST(held_at_exec),
		TEST(exec_while_closing),
		TEST(deaf_thread),
		TEST(deaf_thread_wakes),
		TEST(deaf_thread_wakes_late),
		TEST(starved_thread),
		TEST(starved_trap),
		TEST(dead_leader),
		TEST(everybody_gone),
		TEST(thread_born_while_closing),
		TEST(thread_born_at_the_last_moment),
		TEST(process_born_at_the_last_moment),
		TEST(emergency),
		TEST(any_request_fails),
		TEST(killed_at_any_request),
		TEST(queued_group_stop_with_trap_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
