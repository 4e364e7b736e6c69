/* test_values.c checks what is told of values from the hits of several watches and processes. */
#include "watchprof/values.h"

#include "watchprof/util.h"
#include "watchprof/value_type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t time_ns = 1000;

/* A hit of watch 0 in a process with one thread. */
static void hit(struct values *values, pid_t pid, uint8_t kind, uint32_t left)
{
	struct hit one = {.time_ns = time_ns, .watches = 1, .pid = pid, .tid = pid, .kind = kind, .kinds = {kind},
		.is_alone = true, .n_values = 1, .n_frames = 1, .frames = {0x1001}};

	one.values[0] = (struct hit_value){.watch = 0, .len = sizeof(left)};
	memcpy(one.values[0].bytes, &left, sizeof(left));
	values_add(values, &one);
}

static struct value_stats stats_of(struct values *values)
{
	struct value_stats stats;

	assert_true(values_stats(values, 0, &stats));
	return stats;
}

static void test_nothing(void **state)
{
	struct values *values = values_new();
	struct value_stats stats;

	(void)state;
	assert_false(values_stats(values, 0, &stats));
	values_free(values);
}

/* A hit that does not tell its watches apart did the same to each. */
static void test_kind_of_all(void **state)
{
	struct hit one = {.time_ns = time_ns, .watches = 1, .pid = 5, .tid = 5, .kind = HIT_WRITE, .is_alone = true,
		.n_values = 1, .n_frames = 1, .frames = {0x1001}, .values = {{.watch = 0, .len = 4, .bytes = {7}}}};
	struct values *values = values_new();

	(void)state;
	values_add(values, &one);
	assert_int_equal(stats_of(values).writes, 1);
	values_free(values);
}

static void test_changed_and_silent(void **state)
{
	struct values *values = values_new();
	struct value_stats stats;

	(void)state;
	hit(values, 5, HIT_WRITE, 1); /* what was there before is not known */
	hit(values, 5, HIT_WRITE, 1);
	hit(values, 5, HIT_READ, 1);
	hit(values, 5, HIT_READ | HIT_WRITE, 3);
	stats = stats_of(values);
	assert_int_equal(stats.writes, 3);
	assert_int_equal(stats.changed, 1);
	assert_int_equal(stats.silent, 1);
	assert_int_equal(stats.unseen, 0);
	assert_int_equal(stats.min.bytes[0], 1);
	assert_int_equal(stats.max.bytes[0], 3);
	assert_int_equal(stats.last.addr, 0x1000);
	assert_int_equal(stats.last.from.bytes[0], 1);
	assert_int_equal(stats.last.to.bytes[0], 3);
	values_free(values);
}

/* The last writes are remembered, so many of them, until the watch is another one. */
static void test_history(void **state)
{
	struct values *values = values_new();
	const struct value_history *history;

	(void)state;
	assert_null(values_history(values, 0));
	hit(values, 5, HIT_READ, 9);
	assert_null(values_history(values, 0));
	for (uint32_t i = 0; i < VALUES_HISTORY_MAX + 5; i++) {
		hit(values, i % 2 ? 5 : 6, HIT_WRITE, i);
		history = values_history(values, 0);
		assert_int_equal(value_history_len(history), i < VALUES_HISTORY_MAX ? i + 1 : VALUES_HISTORY_MAX);
		assert_int_equal(value_history_event(history, 0)->to.bytes[0], i);
	}
	assert_int_equal(value_history_event(history, VALUES_HISTORY_MAX - 1)->to.bytes[0], 5);
	assert_int_equal(value_history_event(history, 1)->pid, 5);
	assert_int_equal(value_history_event(history, 1)->from.bytes[0], VALUES_HISTORY_MAX + 1);
	assert_int_equal(value_history_event(history, 1)->addr, 0x1000);
	assert_int_equal(value_history_event(history, 1)->time_ns, time_ns);
	values_forget(values, 0);
	assert_null(values_history(values, 0));
	values_free(values);
}

static void test_start(void **state)
{
	struct values *values = values_new();
	uint32_t before = 9;

	(void)state;
	values_start(values, 0, 5, &before, sizeof(before));
	hit(values, 5, HIT_WRITE, 9);
	assert_int_equal(stats_of(values).silent, 1);
	hit(values, 6, HIT_WRITE, 9); /* another process: its own memory */
	assert_int_equal(stats_of(values).silent, 1);
	assert_int_equal(stats_of(values).changed, 0);
	hit(values, 6, HIT_WRITE, 8);
	hit(values, 5, HIT_WRITE, 9);
	assert_int_equal(stats_of(values).silent, 2);
	assert_int_equal(stats_of(values).changed, 1);
	values_free(values);
}

static void test_unseen(void **state)
{
	struct values *values = values_new();
	struct hit many = {.watches = 1, .pid = 5, .tid = 6, .kinds = {HIT_READ}, .n_values = 1, .n_frames = 1};

	(void)state;
	hit(values, 5, HIT_READ, 1);
	hit(values, 5, HIT_READ, 2);
	hit(values, 5, HIT_WRITE, 7);
	hit(values, 5, HIT_READ | HIT_WRITE_UNKNOWN, 8); /* it may have been itself */
	hit(values, 5, HIT_READ, 9);
	assert_int_equal(stats_of(values).unseen, 2);
	assert_int_equal(stats_of(values).unseen_first, 2);
	assert_int_equal(stats_of(values).unseen_last, 5);
	/* With several threads, one of them may have written, and its hit is still to come. */
	many.values[0] = (struct hit_value){.watch = 0, .len = 4, .bytes = {77}};
	values_add(values, &many);
	assert_int_equal(stats_of(values).unseen, 2);
	/* Where writes are not watched, nothing can be told. */
	values_without_writes(values, 0);
	hit(values, 5, HIT_READ, 78);
	assert_int_equal(stats_of(values).unseen, 2);
	values_free(values);
}

/* Writes beside which other threads ran are told: what is seen after them may be another's. */
static void test_among_others(void **state)
{
	struct values *values = values_new();
	struct hit one = {.watches = 1, .pid = 5, .tid = 6, .kinds = {HIT_WRITE}, .n_values = 1, .n_frames = 1};

	(void)state;
	hit(values, 5, HIT_WRITE, 1);
	assert_int_equal(stats_of(values).among_others, 0);
	one.values[0] = (struct hit_value){.watch = 0, .len = 4, .bytes = {2}};
	values_add(values, &one);
	values_add(values, &one);
	one.kinds[0] = HIT_READ;
	values_add(values, &one);
	assert_int_equal(stats_of(values).among_others, 2);
	values_by_thread(values, 0); /* nobody else has a thread's own */
	one.kinds[0] = HIT_WRITE;
	values_add(values, &one);
	assert_int_equal(stats_of(values).among_others, 2);
	values_free(values);
}

static void test_by_thread(void **state)
{
	struct values *values = values_new();
	struct hit one = {.watches = 1, .pid = 5, .tid = 6, .kinds = {HIT_WRITE}, .n_values = 1, .n_frames = 1};

	(void)state;
	values_by_thread(values, 0);
	one.values[0] = (struct hit_value){.watch = 0, .len = 1, .bytes = {1}};
	values_add(values, &one);
	one.tid = 7;
	values_add(values, &one);
	assert_int_equal(stats_of(values).silent, 0);
	one.tid = 6;
	values_add(values, &one);
	assert_int_equal(stats_of(values).silent, 1);
	values_free(values);
}

static void test_forget(void **state)
{
	struct values *values = values_new();
	struct value_stats stats;

	(void)state;
	hit(values, 5, HIT_WRITE, 1);
	values_without_writes(values, 0);
	values_forget(values, 0);
	assert_false(values_stats(values, 0, &stats));
	hit(values, 5, HIT_READ, 2);
	hit(values, 5, HIT_READ, 3);
	assert_int_equal(stats_of(values).writes, 0);
	assert_int_equal(stats_of(values).unseen, 1);
	assert_int_equal(stats_of(values).unseen_first, 2);
	values_free(values);
}

static void test_top_is_bounded(void **state)
{
	struct values *values = values_new();
	struct value_stats stats;

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 20; i++)
			hit(values, 5, HIT_WRITE, i);
	}
	hit(values, 5, HIT_WRITE, 15);
	stats = stats_of(values);
	assert_int_equal(stats.n_top, VALUES_TOP_MAX);
	assert_int_equal(stats.top[0].writes, 4);
	assert_int_equal(stats.top[0].value.bytes[0], 15);
	assert_int_equal(stats.others, 12);
	values_free(values);
}

/* The range is that of the type. */
static void test_range(void **state)
{
	const struct value_type number = {.kind = VALUE_SIGNED, .size = 4}, chars = {.kind = VALUE_CHARS, .size = 16};
	struct values *values = values_new();

	(void)state;
	values_type(values, 0, &number);
	hit(values, 5, HIT_WRITE, 5);
	hit(values, 5, HIT_WRITE, (uint32_t)-3);
	assert_int_equal(stats_of(values).min.bytes[0], 0xfd);
	assert_int_equal(stats_of(values).max.bytes[0], 5);
	values_type(values, 0, NULL); /* another program has another type */
	assert_false(stats_of(values).has_range);
	hit(values, 5, HIT_WRITE, 9);
	assert_int_equal(stats_of(values).min.bytes[0], 9);
	values_type(values, 0, &chars);
	hit(values, 5, HIT_WRITE, 9);
	assert_true(stats_of(values).has_range); /* four of sixteen characters are a number */
	values_free(values);
}

/* Other fields of the byte that change are nothing to tell. */
static void test_bit_field(void **state)
{
	const struct value_type field = {.kind = VALUE_UNSIGNED, .size = 4, .bit_size = 3, .bit_offset = 4};
	struct values *values = values_new();
	uint32_t before = 0xff3;

	(void)state;
	values_type(values, 0, &field);
	values_start(values, 0, 5, &before, sizeof(before));
	hit(values, 5, HIT_WRITE, 0x7f);
	assert_int_equal(stats_of(values).silent, 1);
	hit(values, 5, HIT_WRITE, 0x6f);
	hit(values, 5, HIT_READ, 0x60);
	assert_int_equal(stats_of(values).changed, 1);
	assert_int_equal(stats_of(values).unseen, 0);
	assert_int_equal(stats_of(values).n_top, 2);
	values_free(values);
}

/* Of many processes each is remembered, and at last the oldest is not. */
static void test_many(void **state)
{
	enum { N = 65536 };
	struct values *values = values_new();
	struct value_stats stats;

	(void)state;
	for (pid_t pid = 1; pid <= N; pid++)
		hit(values, pid, HIT_WRITE, 1);
	for (pid_t pid = N; pid >= 1; pid--)
		hit(values, pid, HIT_WRITE, 2);
	assert_int_equal(stats_of(values).changed, N);
	hit(values, N + 1, HIT_WRITE, 1);
	hit(values, 1, HIT_WRITE, 3);
	hit(values, 3, HIT_WRITE, 3);
	stats = stats_of(values);
	assert_int_equal(stats.changed, N + 1);
	assert_int_equal(stats.silent, 0);
	assert_int_equal(stats.writes, 2 * N + 3);
	values_free(values);
}

/* What was counted stays, what comes next is compared with nothing. */
static void test_unknown(void **state)
{
	struct values *values = values_new();
	struct value_stats stats;

	(void)state;
	hit(values, 5, HIT_WRITE, 1);
	hit(values, 5, HIT_WRITE, 2);
	values_unknown(values, 0);
	hit(values, 5, HIT_READ, 3);
	hit(values, 5, HIT_WRITE, 3);
	values_start(values, 0, 5, NULL, 0);
	hit(values, 5, HIT_WRITE, 4);
	stats = stats_of(values);
	assert_int_equal(stats.writes, 4);
	assert_int_equal(stats.changed, 1);
	assert_int_equal(stats.silent, 1);
	assert_int_equal(stats.unseen, 0);
	values_free(values);
}

/* What a watch held before and after a hit; of another watch nothing is known. */
static void test_pair(void **state)
{
	struct values *values = values_new();
	struct hit one = {.watches = 1, .pid = 5, .tid = 6, .kind = HIT_WRITE, .kinds = {HIT_WRITE}, .n_values = 1};
	struct value from, to;
	uint32_t held;

	(void)state;
	one.values[0] = (struct hit_value){.watch = 0, .len = 4, .bytes = {9}};
	values_pair(values, &one, 0, &from, &to);
	assert_int_equal(from.len, 0);
	assert_int_equal(to.len, 4);
	hit(values, 5, HIT_WRITE, 8);
	values_pair(values, &one, 0, &from, &to);
	memcpy(&held, from.bytes, sizeof(held));
	assert_int_equal(held, 8);
	memcpy(&held, to.bytes, sizeof(held));
	assert_int_equal(held, 9);
	values_pair(values, &one, 1, &from, &to);
	assert_int_equal(from.len + to.len, 0);
	values_free(values);
}

/* Of the other watches all stays known. */
static void test_unknown_of_one(void **state)
{
	struct values *values = values_new();
	const uint32_t one = 1;

	(void)state;
	values_start(values, 0, 5, &one, sizeof(one));
	values_start(values, 1, 5, &one, sizeof(one));
	values_unknown(values, 1);
	hit(values, 5, HIT_WRITE, 2);
	assert_int_equal(stats_of(values).changed, 1);
	values_free(values);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_kind_of_all),
		cmocka_unit_test(test_changed_and_silent),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_unseen),
		cmocka_unit_test(test_among_others),
		cmocka_unit_test(test_by_thread),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_top_is_bounded),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_pair),
		cmocka_unit_test(test_unknown_of_one),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_bit_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
