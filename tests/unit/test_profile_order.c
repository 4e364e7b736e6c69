/* test_profile_order.c checks what the order of functions costs: string compares and bytes moved are counted (the
 * linker puts its own strcmp() and memmove() before the C library's), so that a way whose work grows with the
 * square of the functions fails at any size. And that the order is the same whenever it was asked for. */
#include "../../src/profile_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FUNCTIONS 20000
#define STRIDE	  7919 /* a prime number: its multiples modulo FUNCTIONS are all numbers below it, in another order */

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
void *__real_memmove(void *to, const void *from, size_t len);
void *__wrap_memmove(void *to, const void *from, size_t len);

static uint64_t n_compared, n_moved;

int __wrap_strcmp(const char *a, const char *b)
{
	n_compared++;
	return __real_strcmp(a, b);
}

void *__wrap_memmove(void *to, const void *from, size_t len)
{
	n_moved += len;
	return __real_memmove(to, from, len);
}

/* The function of an address, by the context: each has one of its own, or ten have one. */
static void locate(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out)
{
	static char name[32];
	const unsigned *shared = context;

	(void)pid;
	(void)image;
	snprintf(name, sizeof(name), "f%08" PRIu64, addr / 16 / *shared);
	*out = (struct loc){.addr = addr, .function = name, .module = "/bin/prog", .line = 1};
}

static void add(struct profile *profile, uint64_t number)
{
	struct hit hit = {.pid = 1, .tid = 1, .watches = 1, .kind = HIT_WRITE, .n_frames = 1, .is_at = true, .frames = {16 * number}};

	profile_add(profile, &hit);
}

static struct row *ask(const struct profile *profile, size_t *n)
{
	return profile_rows(profile, &(struct query){.group = GROUP_FUNCTION, .sort = SORT_NAME}, n);
}

/* What n functions cost, in whatever order they come: descending is the worst for whoever inserts. */
static uint64_t cost(uint64_t n, uint64_t stride)
{
	unsigned shared = 1;
	struct profile *profile = profile_new(n, locate, &shared);
	size_t n_rows;

	n_compared = n_moved = 0;
	for (uint64_t i = n; i-- > 0;)
		add(profile, i * stride % n);
	free(ask(profile, &n_rows));
	assert_int_equal(n_rows, n);
	profile_free(profile);
	return n_compared + n_moved / sizeof(uint32_t);
}

/* Twice the functions are a little more than twice the work, not four times. */
static void test_cost(void **state)
{
	(void)state;
	assert_true(cost(FUNCTIONS, 1) > FUNCTIONS); /* it is counted */
	assert_in_range(cost(2 * FUNCTIONS, 1), 1, 5 * cost(FUNCTIONS, 1) / 2);
	assert_in_range(cost(2 * FUNCTIONS, STRIDE), 1, 5 * cost(FUNCTIONS, STRIDE) / 2);
}

/* A location that comes changes none that is there, nor its function: by nothing is a run slowed down by what it has
 * seen before. */
static void test_none_is_touched(void **state)
{
	unsigned shared = 1;
	const size_t n = 1000;
	struct profile *profile = profile_new(n, locate, &shared);
	struct loc_entry *locs = mem_new(n, sizeof(*locs));
	struct function *functions = mem_new(n, sizeof(*functions));
	size_t n_rows;

	(void)state;
	add(profile, n - 1);
	for (size_t i = n - 1; i-- > 0;) {
		size_t before = profile->n_locs;

		/* In between there is an order to be kept. */
		if (i == n / 2)
			free(ask(profile, &n_rows));
		memcpy(locs, profile->locs, before * sizeof(*locs));
		memcpy(functions, profile->functions, before * sizeof(*functions));
		add(profile, i);
		assert_int_equal(profile->n_locs, before + 1);
		assert_memory_equal(profile->locs, locs, before * sizeof(*locs));
		assert_memory_equal(profile->functions, functions, before * sizeof(*functions));
	}
	free(functions);
	free(locs);
	profile_free(profile);
}

/* The screen asks ten times a second: where nothing is new no name is looked at, and of what is new, few. */
static void test_asked_again(void **state)
{
	unsigned shared = 1;
	struct profile *profile = profile_new(FUNCTIONS, locate, &shared);
	size_t n;

	(void)state;
	for (uint64_t i = 1; i < FUNCTIONS; i++)
		add(profile, i * STRIDE % FUNCTIONS);
	free(ask(profile, &n));
	assert_int_equal(n, FUNCTIONS - 1);
	n_compared = 0;
	free(ask(profile, &n));
	assert_int_equal(n_compared, 0);
	add(profile, 0);
	free(ask(profile, &n));
	assert_int_equal(n, FUNCTIONS);
	/* It is found between 20,000 by at most 15 questions. */
	assert_in_range(n_compared, 1, 15);
	profile_free(profile);
}

/* Functions of several locations, which come in turn, some before and some after the order was asked for. */
static void test_order_of_questions_is_nothing(void **state)
{
	unsigned shared = 10;

	(void)state;
	for (size_t pause = 1; pause <= FUNCTIONS; pause = pause * 7 + 100) {
		struct profile *profile = profile_new(FUNCTIONS, locate, &shared);
		struct row *rows;
		size_t n;

		for (uint64_t i = 0; i < 2000; i++) {
			add(profile, i * STRIDE % 2000);
			if (i % pause == pause - 1)
				free(ask(profile, &n));
		}
		rows = ask(profile, &n);
		assert_int_equal(n, 200);
		for (size_t i = 0; i < n; i++) {
			char name[32];

			snprintf(name, sizeof(name), "f%08zu", i);
			assert_string_equal(rows[i].loc->function, name);
			assert_int_equal(rows[i].hits, 10);
		}
		free(rows);
		profile_free(profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_none_is_touched),
		cmocka_unit_test(test_asked_again),
		cmocka_unit_test(test_order_of_questions_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
