/* test_waiting.c: how the tracer chooses between sleeping and staying awake, on machines that are
 * made up: what a hit costs in either way. */
#include "watchprof/util.h"
#include "watchprof/waiting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct machine {
	struct waiting waiting;
	uint64_t now_ns;
	uint64_t cost_ns[WAITING_WAYS];
	uint64_t n[WAITING_WAYS]; /* hits waited for in either way */
};

/* Let hits come for some time. */
static void run(struct machine *machine, uint64_t ns)
{
	uint64_t end = machine->now_ns + ns;

	machine->n[WAITING_ASLEEP] = machine->n[WAITING_AWAKE] = 0;
	while (machine->now_ns < end) {
		enum waiting_way way = waiting_note(&machine->waiting, machine->now_ns)
					       ? WAITING_AWAKE
					       : WAITING_ASLEEP;

		machine->n[way]++;
		machine->now_ns += machine->cost_ns[way];
	}
}

/* The part of the last run's hits that was waited for in a way, in thousandths. */
static unsigned share(const struct machine *machine, enum waiting_way way)
{
	return (unsigned)(machine->n[way] * 1000 /
			  (machine->n[WAITING_ASLEEP] + machine->n[WAITING_AWAKE]));
}

static void test_quiet_machine(void **state)
{
	struct machine machine = {.now_ns = 1, .cost_ns = {60000, 30000}};

	(void)state;
	run(&machine, NS_PER_S);
	run(&machine, 100 * NS_PER_S);
	assert_true(share(&machine, WAITING_AWAKE) > 990);
}

static void test_busy_machine(void **state)
{
	struct machine machine = {.now_ns = 1, .cost_ns = {20000, 40000}};

	(void)state;
	run(&machine, NS_PER_S);
	run(&machine, 100 * NS_PER_S);
	assert_true(share(&machine, WAITING_ASLEEP) > 995);
	assert_true(machine.n[WAITING_AWAKE] > 0); /* now and then it is tried */
}

/* On the one processor that there is, to be awake keeps the thread from running: a trial ends
 * when it has cost as much as 300 hits. */
static void test_one_processor(void **state)
{
	struct machine machine = {.now_ns = 1, .cost_ns = {20000, 120000}};

	(void)state;
	run(&machine, 100 * NS_PER_S);
	/* After 0.5, 1, 2, 4, 8, 16 seconds and then every 30. */
	assert_in_range(machine.n[WAITING_AWAKE], 1, 11 * (300 / 6 + 2));
	assert_true(machine.n[WAITING_ASLEEP] > 4990000 - 11 * 300);
}

/* Where it makes little difference, nobody is kept from sleeping. */
static void test_no_difference(void **state)
{
	struct machine machine = {.now_ns = 1, .cost_ns = {20000, 19000}};

	(void)state;
	run(&machine, 100 * NS_PER_S);
	assert_true(share(&machine, WAITING_ASLEEP) > 990);
}

/* Other work comes, and to be awake has become dear: it ends soon. */
static void test_becomes_busy(void **state)
{
	struct machine machine = {.now_ns = 1, .cost_ns = {60000, 30000}};

	(void)state;
	run(&machine, 20 * NS_PER_S);
	machine.cost_ns[WAITING_ASLEEP] = 20000;
	machine.cost_ns[WAITING_AWAKE] = 45000;
	run(&machine, 10 * NS_PER_S);
	assert_in_range(machine.n[WAITING_AWAKE], 1, 10000);
	/* And it goes again. */
	machine.cost_ns[WAITING_ASLEEP] = 60000;
	machine.cost_ns[WAITING_AWAKE] = 30000;
	run(&machine, 40 * NS_PER_S);
	run(&machine, 10 * NS_PER_S);
	assert_true(share(&machine, WAITING_AWAKE) > 990);
}

/* Hits that come seldom are slept for, whatever was chosen before. */
static void test_rare_hits(void **state)
{
	struct machine machine = {.now_ns = 1, .cost_ns = {60000, 30000}};

	(void)state;
	run(&machine, 5 * NS_PER_S);
	machine.cost_ns[WAITING_ASLEEP] = machine.cost_ns[WAITING_AWAKE] = 150000;
	run(&machine, NS_PER_S);
	run(&machine, 100 * NS_PER_S);
	assert_int_equal(machine.n[WAITING_AWAKE], 0);
}

/* A run that ends soon is not tried with. */
static void test_short_run(void **state)
{
	struct machine machine = {.now_ns = 1, .cost_ns = {60000, 30000}};

	(void)state;
	run(&machine, NS_PER_S / 3);
	assert_int_equal(machine.n[WAITING_AWAKE], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quiet_machine),
		cmocka_unit_test(test_busy_machine),
		cmocka_unit_test(test_one_processor),
		cmocka_unit_test(test_no_difference),
		cmocka_unit_test(test_becomes_busy),
		cmocka_unit_test(test_rare_hits),
		cmocka_unit_test(test_short_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
