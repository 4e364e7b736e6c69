/* test_dr.c checks the debug register arithmetic: DR7 against literals from the Intel SDM
 * (volume 3, "Debug registers"), splitting against every byte, limits and messages, and what
 * each DR6 value means against a simulated processor. */
#include "watchprof/dr.h"

#include "unit_help.h"
#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define W  ACCESS_WRITE
#define RW ACCESS_READ_WRITE
#define R  ACCESS_READ
#define X  ACCESS_EXECUTE

static const char *const names[] = {"w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7"};

/* Plan spans that must fit. */
static struct dr_image planned(const struct span *spans, size_t n)
{
	struct dr_image image;
	struct err err = {0};

	if (dr_plan(spans, names, n, &image, &err))
		print_error("refused: %s\n", err.text);
	assert_int_equal(err.status, 0);
	return image;
}

/* Plan spans that must not fit: nothing is planned, and the message comes back. */
static struct err refused(const struct span *spans, size_t n)
{
	static const struct dr_image nothing;
	struct dr_image image;
	struct err err = {0};

	memset(&image, 0x5a, sizeof(image));
	assert_int_equal(dr_plan(spans, names, n, &image, &err), -1);
	assert_int_equal(err.status, ERR_FAILED);
	assert_int_equal(image.n_slots, 0);
	assert_true(image.dr7 == 0);
	assert_memory_equal(image.slot, nothing.slot, sizeof(image.slot));
	return err;
}

static void assert_slot(const struct dr_slot *slot, uint64_t addr, unsigned len,
	enum watch_access access, uint64_t watches)
{
	assert_true(slot->addr == addr);
	assert_int_equal(slot->len, len);
	assert_int_equal(slot->access, access);
	assert_true(slot->watches == watches);
}

/* Figure "Debug Registers DR6 and DR7": L0..L3 are bits 0, 2, 4, 6; R/W0 is bits 16-17 (00
 * execute, 01 write, 11 read or write), LEN0 bits 18-19 (00 one byte, 01 two, 10 eight, 11 four);
 * slot n is 4n bits higher. Each row: the DR7 of 1, 2, 3 and 4 equal slots. */
static void test_dr7(void **state)
{
	static const struct {
		enum watch_access access;
		unsigned len;
		uint64_t dr7[4];
	} cases[] = {
		{X, 1, {0x1, 0x5, 0x15, 0x55}},
		{W, 1, {0x10001, 0x110005, 0x1110015, 0x11110055}},
		{W, 2, {0x50001, 0x550005, 0x5550015, 0x55550055}},
		{W, 4, {0xd0001, 0xdd0005, 0xddd0015, 0xdddd0055}},
		{W, 8, {0x90001, 0x990005, 0x9990015, 0x99990055}},
		{RW, 1, {0x30001, 0x330005, 0x3330015, 0x33330055}},
		{RW, 2, {0x70001, 0x770005, 0x7770015, 0x77770055}},
		{RW, 4, {0xf0001, 0xff0005, 0xfff0015, 0xffff0055}},
		{RW, 8, {0xb0001, 0xbb0005, 0xbbb0015, 0xbbbb0055}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct span spans[4];

		for (unsigned n = 1; n <= 4; n++) {
			struct dr_image image;

			spans[n - 1] = (struct span){0x1000 * n, cases[i].len, cases[i].access};
			image = planned(spans, n);
			assert_int_equal(image.n_slots, n);
			for (unsigned s = 0; s < n; s++)
				assert_slot(&image.slot[s], 0x1000 * (s + 1), cases[i].len,
					cases[i].access, 1ULL << s);
			assert_true(image.dr7 == cases[i].dr7[n - 1]);
		}
	}
}

static void test_dr7_of_different_slots(void **state)
{
	static const struct span spans[] = {
		{0x4000, 8, RW}, {0x3000, 2, W}, {0x2000, 4, RW}, {0x401000, 300, X}};
	struct dr_image image = planned(spans, 4);

	(void)state;
	assert_slot(&image.slot[0], 0x401000, 1, X, 8);
	assert_slot(&image.slot[1], 0x3000, 2, W, 2);
	assert_slot(&image.slot[2], 0x2000, 4, RW, 4);
	assert_slot(&image.slot[3], 0x4000, 8, RW, 1);
	assert_true(image.dr7 == 0xbf500055);
}

static void test_dr7_one_byte(void **state)
{
	static const struct span spans[] = {
		{0x4000, 8, RW}, {0x3000, 2, W}, {0x2000, 4, RW}, {0x401000, 1, X}};
	struct dr_image image = planned(spans, 4), empty = planned(NULL, 0);

	(void)state;
	assert_true(dr7_one_byte(&image) == 0x33100055);
	assert_true(image.dr7 == 0xbf500055); /* the image stays */
	assert_true(dr7_one_byte(&empty) == 0);
	image = planned(spans + 1, 1);
	assert_true(dr7_one_byte(&image) == 0x10001);
}

/* The fewest naturally aligned pieces: a row for each addr % 8, a digit for each length from
 * 1 to 32. Computed once by dynamic programming, that is not by the method of dr.c. */
static void test_slots_needed(void **state)
{
	static const char *const pieces[8] = {
		"11212231"
		"22323342"
		"33434453"
		"44545564",
		"12233434"
		"45455645"
		"56566756"
		"67677867",
		"11223233"
		"43445344"
		"54556455"
		"65667566",
		"12232334"
		"34453445"
		"45564556"
		"56675667",
		"11212232"
		"33423343"
		"44534454"
		"55645565",
		"12233434"
		"45344545"
		"56455656"
		"67566767",
		"11223233"
		"42334344"
		"53445455"
		"64556566",
		"12232334"
		"23343445"
		"34454556"
		"45565667",
	};
	int failures = 0;

	(void)state;
	for (unsigned align = 0; align < 8; align++) {
		for (unsigned len = 1; len <= 32; len++) {
			struct span span = {0x7f0000001000 + align, len, RW};
			unsigned expected = (unsigned)(pieces[align][len - 1] - '0');

			if (dr_slots_needed(&span) == expected)
				continue;
			print_error("%u bytes at %u: %u slots, not %u\n", len, align,
				dr_slots_needed(&span), expected);
			failures++;
		}
	}
	assert_int_equal(failures, 0);
}

/* Every plan of one span: pieces are aligned, do not overlap, and cover exactly its bytes. */
static void check_cover(const struct span *span, const struct dr_image *image)
{
	unsigned char covered[64] = {0};
	uint64_t base = span->addr - 16;

	for (unsigned s = 0; s < image->n_slots; s++) {
		const struct dr_slot *slot = &image->slot[s];

		assert_true(slot->len == 1 || slot->len == 2 || slot->len == 4 || slot->len == 8);
		assert_true(slot->addr % slot->len == 0);
		assert_true(slot->watches == 1);
		for (unsigned b = 0; b < slot->len; b++)
			covered[slot->addr - base + b]++;
	}
	for (unsigned b = 0; b < ARRAY_LEN(covered); b++)
		assert_int_equal(covered[b], b >= 16 && b < 16 + span->len);
}

static void test_splitting_covers_exactly(void **state)
{
	(void)state;
	for (unsigned align = 0; align < 8; align++) {
		for (unsigned len = 1; len <= 32; len++) {
			struct span span = {0x7f0000001000 + align, len, W};
			struct dr_image image;

			if (dr_slots_needed(&span) > 4) {
				refused(&span, 1);
				continue;
			}
			image = planned(&span, 1);
			assert_int_equal(image.n_slots, dr_slots_needed(&span));
			check_cover(&span, &image);
		}
	}
}

static void test_sizes_of_the_cases(void **state)
{
	static const struct span packed = {0x1001, 4, W}, three = {0x1000, 24, RW},
				 four = {0x1000, 32, RW};
	struct dr_image image = planned(&packed, 1);

	(void)state;
	assert_int_equal(image.n_slots, 3); /* short before long */
	assert_slot(&image.slot[0], 0x1001, 1, W, 1);
	assert_slot(&image.slot[1], 0x1004, 1, W, 1);
	assert_slot(&image.slot[2], 0x1002, 2, W, 1);
	image = planned(&three, 1);
	assert_int_equal(image.n_slots, 3);
	for (unsigned s = 0; s < 3; s++)
		assert_slot(&image.slot[s], 0x1000 + 8 * s, 8, RW, 1);
	image = planned(&four, 1);
	assert_int_equal(image.n_slots, 4);
	assert_slot(&image.slot[3], 0x1018, 8, RW, 1);
}

static void test_too_large(void **state)
{
	static const uint64_t lengths[] = {33, 40, 64, 4096, 1ULL << 40, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct span spans[] = {{0x1000, 4, W}, {0x2000, lengths[i], W}};
		struct err err = refused(spans, 2);
		char number[32];

		snprintf(number, sizeof(number), "%llu", (unsigned long long)lengths[i]);
		assert_non_null(strstr(err.text, "w1"));
		assert_non_null(strstr(err.text, number));
		assert_non_null(strstr(err.text, "32"));
	}
}

/* 32 bytes that are not aligned take more than four slots. */
static void test_too_crooked(void **state)
{
	static const struct span span = {0x1004, 32, RW};
	struct err err = refused(&span, 1);

	(void)state;
	assert_non_null(strstr(err.text, "5 debug register slots"));
	assert_non_null(strstr(err.text, "4"));
	assert_non_null(strstr(err.text, "w0 takes 5"));
}

static void test_too_many(void **state)
{
	static const struct span five[] = {
		{0x1000, 4, W}, {0x2000, 4, W}, {0x3000, 4, W}, {0x4000, 4, RW}, {0x5000, 1, RW}};
	static const struct span structs[] = {{0x1000, 24, W}, {0x2000, 0, W}, {0x3001, 4, W}};
	struct err err = refused(five, 5);

	(void)state;
	assert_non_null(strstr(err.text, "5 debug register slots"));
	assert_non_null(strstr(err.text, "has 4"));
	for (unsigned i = 0; i < 5; i++) {
		char part[32];

		snprintf(part, sizeof(part), "w%u takes 1;", i);
		assert_non_null(strstr(err.text, part));
	}
	err = refused(structs, 3);
	assert_non_null(strstr(err.text, "6 debug register slots"));
	assert_non_null(strstr(err.text, "w0 takes 3;"));
	assert_non_null(strstr(err.text, "w2 takes 3;"));
	assert_null(strstr(err.text, "w1"));
	planned(five, 4);
}

/* The most that can be asked for: 64 watches of 32 bytes, none of them aligned. */
static void test_far_too_many(void **state)
{
	struct span spans[WATCHES_MAX];
	const char *text[WATCHES_MAX];
	struct dr_image image;
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < WATCHES_MAX; i++) {
		spans[i] = (struct span){0x1001 + 0x100 * i, 32, i % 2 ? W : RW};
		text[i] = "a_name_that_is_quite_long_as_names_in_real_programs_sometimes_are_and_"
			  "longer_still";
	}
	assert_int_equal(dr_plan(spans, text, WATCHES_MAX, &image, &err), -1);
	assert_int_equal(image.n_slots, 0);
	assert_non_null(strstr(err.text, "448 debug register slots"));
}

/* There is no type for reads alone: the slot fires for writes, too, and the kind decides. */
static void test_reads(void **state)
{
	static const struct span spans[] = {{0x1000, 4, W}, {0x2000, 4, R}, {0x3000, 4, RW}, {0x3000, 4, R}};
	struct dr_image image = planned(spans, 4);

	(void)state;
	assert_int_equal(image.n_slots, 3);
	assert_slot(&image.slot[0], 0x1000, 4, W, 0x1);
	assert_slot(&image.slot[1], 0x2000, 4, RW, 0);
	assert_slot(&image.slot[2], 0x3000, 4, RW, 0x4);
	assert_true(image.slot[0].possible == 0);
	assert_true(image.slot[1].possible == 0x2);
	assert_true(image.slot[2].possible == 0x8);
	assert_true(dr_watches_possible(&image, 7) == 0xa);
	assert_true(dr_slots_of(&image, W) == 1 && dr_slots_of(&image, RW) == 6 && dr_slots_of(&image, X) == 0);
}

static void test_kernel_addresses_refused(void **state)
{
	static const struct span spans[] = {{0xffff800000000000, 4, W}, {0xffffffffffffffff, 1, RW},
		{0xfffffffffffffff8, 8, RW}, {0xffffffff81000000, 1, X}, {1ULL << 57, 8, W}};
	static const struct span highest = {0x7ffffffffff8, 8, W};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
		struct err err = refused(&spans[i], 1);

		assert_non_null(strstr(err.text, "w0"));
	}
	planned(&highest, 1);
}

static void test_empty_spans(void **state)
{
	static const struct span spans[] = {
		{0, 0, RW}, {0x1000, 4, W}, {0x2000, 0, X}, {0x1000, 0, RW}};
	struct dr_image image = planned(spans, 4), none = planned(spans, 1),
			nothing = planned(NULL, 0);

	(void)state;
	assert_int_equal(dr_slots_needed(&spans[0]), 0);
	assert_int_equal(dr_slots_needed(&spans[2]), 0);
	assert_int_equal(image.n_slots, 1);
	assert_slot(&image.slot[0], 0x1000, 4, W, 2);
	assert_int_equal(none.n_slots, 0);
	assert_true(none.dr7 == 0 && nothing.dr7 == 0);
	assert_true(dr_watches_hit(&none, 0xf) == 0);
}

static void test_sharing(void **state)
{
	static const struct span twins[] = {
		{0x1000, 24, W}, {0x1000, 24, W}, {0x1008, 8, W}, {0x1010, 8, W}};
	struct dr_image image = planned(twins, 4);

	(void)state;
	assert_int_equal(image.n_slots, 3);
	assert_slot(&image.slot[0], 0x1000, 8, W, 0x3);
	assert_slot(&image.slot[1], 0x1008, 8, W, 0x7);
	assert_slot(&image.slot[2], 0x1010, 8, W, 0xb);
}

/* Case 9 (a): one slot for both; the kind of the access decides whether the write watch is hit. */
static void test_write_and_read_write(void **state)
{
	static const struct span spans[2][2] = {
		{{0x1000, 4, W}, {0x1000, 4, RW}}, {{0x1000, 4, RW}, {0x1000, 4, W}}};

	(void)state;
	for (unsigned swapped = 0; swapped < 2; swapped++) {
		struct dr_image image = planned(spans[swapped], 2);
		uint64_t read_write = swapped ? 1 : 2, write = swapped ? 2 : 1;

		assert_int_equal(image.n_slots, 1);
		assert_slot(&image.slot[0], 0x1000, 4, RW, read_write);
		assert_true(image.dr7 == 0xf0001);
		assert_true(dr_watches_hit(&image, 1) == read_write);
		assert_true(dr_watches_possible(&image, 1) == write);
	}
}

/* A write watch of a part of a read-write watch, and pieces that stick out on either side. */
static void test_implied_watches(void **state)
{
	static const struct span inside[] = {{0x1000, 16, RW}, {0x1004, 4, W}, {0x1006, 2, RW}};
	static const struct span around[] = {{0x1002, 2, RW}, {0x1000, 8, W}};
	struct dr_image image = planned(inside, 3);

	(void)state;
	assert_int_equal(image.n_slots, 4);
	assert_slot(&image.slot[0], 0x1004, 4, W, 0x3);
	assert_slot(&image.slot[1], 0x1006, 2, RW, 0x5);
	assert_slot(&image.slot[2], 0x1000, 8, RW, 0x1);
	assert_slot(&image.slot[3], 0x1008, 8, RW, 0x1);
	image = planned(around, 2);
	assert_slot(&image.slot[0], 0x1000, 8, W, 0x2);
	assert_slot(&image.slot[1], 0x1002, 2, RW, 0x1);
}

/* Only the first byte of an execute watch counts: a watch inside the same function, or a
 * data watch over it, is another matter. */
static void test_execute(void **state)
{
	static const struct span spans[] = {
		{0x401000, 200, X}, {0x401008, 1, X}, {0x401003, 400, X}, {0x401000, 8, RW}};
	struct dr_image image = planned(spans, 4);

	(void)state;
	assert_int_equal(dr_slots_needed(&spans[0]), 1);
	assert_int_equal(image.n_slots, 4);
	assert_slot(&image.slot[0], 0x401000, 1, X, 0x1);
	assert_slot(&image.slot[1], 0x401003, 1, X, 0x4);
	assert_slot(&image.slot[2], 0x401008, 1, X, 0x2);
	assert_slot(&image.slot[3], 0x401000, 8, RW, 0x8);
	assert_true(dr_slots_of(&image, ACCESS_EXECUTE) == 0x7);
}

static void test_every_dr6(void **state)
{
	static const struct span spans[] = {{0x1000, 8, W}, {0x2000, 8, W}, {0x3000, 8, W}};
	static const uint64_t garbage[] = {0, 0xffff0ff0, 0xffff0ff0 | 1 << 14, 0xfffffffffffffff0};
	struct dr_image image = planned(spans, 3);

	(void)state;
	for (uint64_t dr6 = 0; dr6 < 16; dr6++) {
		/* The fourth slot is free: its bit means nothing. */
		for (size_t g = 0; g < ARRAY_LEN(garbage); g++)
			assert_true(dr_watches_hit(&image, garbage[g] | dr6) == (dr6 & 7));
	}
}

/* A processor: which slots an access of len bytes at addr fires, as DR6 bits. */
static uint64_t processor(const struct dr_image *image, uint64_t addr, unsigned len, bool is_write)
{
	uint64_t dr6 = 0;

	for (unsigned s = 0; s < image->n_slots; s++) {
		const struct dr_slot *slot = &image->slot[s];

		if (addr < slot->addr + slot->len && slot->addr < addr + len &&
			(is_write || slot->access == ACCESS_READ_WRITE))
			dr6 |= 1ULL << s;
	}
	return dr6;
}

/* Every access to the neighbourhood of some spans hits just the watches it touches; where the
 * processor names the lowest slot only, never one that it did not touch. */
static void check_accesses(const struct span *spans, size_t n, const struct dr_image *image)
{
	for (uint64_t addr = 0x1000; addr < 0x1030; addr++) {
		for (unsigned form = 0; form < 12; form++) {
			unsigned len = 1U << (form / 2);
			uint64_t touched = 0, dr6 = processor(image, addr, len, form % 2), lowest, asked = 0;

			for (size_t i = 0; i < n; i++) {
				if (spans[i].len && addr < spans[i].addr + spans[i].len &&
					spans[i].addr < addr + len &&
					spans[i].access & (form % 2 ? W : R))
					touched |= 1ULL << i;
				asked |= (uint64_t)((spans[i].access & (form % 2 ? W : R)) != 0) << i;
			}
			assert_true((dr_watches_hit(image, dr6) | (dr_watches_possible(image, dr6) & asked)) == touched);
			assert_true((dr_watches_hit(image, dr6) & ~touched) == 0);
			dr6 &= -dr6;
			lowest = dr_watches_hit(image, dr6) | (dr_watches_possible(image, dr6) & asked);
			assert_true((lowest & ~touched) == 0);
		}
	}
}

static void test_against_a_processor(void **state)
{
	uint64_t seed = 3;
	unsigned planned_count = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t n = random_next(&seed) % 4 + 1;
		struct span spans[4];
		struct dr_image image;
		struct err err = {0};

		for (size_t i = 0; i < n; i++)
			spans[i] = (struct span){0x1008 + random_next(&seed) % 16,
				random_next(&seed) % 17, (enum watch_access[]){W, RW, R}[random_next(&seed) % 3]};
		if (dr_plan(spans, names, n, &image, &err))
			continue;
		planned_count++;
		check_accesses(spans, n, &image);
	}
	assert_true(planned_count > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dr7),
		cmocka_unit_test(test_dr7_of_different_slots),
		cmocka_unit_test(test_dr7_one_byte),
		cmocka_unit_test(test_slots_needed),
		cmocka_unit_test(test_splitting_covers_exactly),
		cmocka_unit_test(test_sizes_of_the_cases),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_too_crooked),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_far_too_many),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_kernel_addresses_refused),
		cmocka_unit_test(test_empty_spans),
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_write_and_read_write),
		cmocka_unit_test(test_implied_watches),
		cmocka_unit_test(test_execute),
		cmocka_unit_test(test_every_dr6),
		cmocka_unit_test(test_against_a_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
