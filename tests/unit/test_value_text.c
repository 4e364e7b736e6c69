/* test_value_text.c checks what watched bytes mean by their type: every kind in every size. */
#include "watchprof/value_text.h"

#include "watchprof/util.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct value_name colors[] = {{(char *)"RED", -1}, {(char *)"GREEN", 7}, {(char *)"LIME", 7}};
static struct value_name large[] = {{(char *)"MOST", -1}, {(char *)"LEAST", INT64_MIN}};
static struct value_name states[] = {{(char *)"IDLE", 0}, {(char *)"TOP", 0xffffffff}};
static struct value_name odd[] = {{(char *)"A\033[1m", 1}};

#define BYTES(...) sizeof((unsigned char[]){__VA_ARGS__}), {__VA_ARGS__}

struct text_case {
	struct value_type type;
	const char *text;
	struct value value;
};

static const struct text_case cases[] = {
	/* Of no known type. */
	{{0}, "?", {0}},
	{{0}, "0xff (255)", {BYTES(0xff)}},
	{{0}, "0x80000001 (2147483649)", {BYTES(1, 0, 0, 0x80)}},
	{{0}, "0x0 (0)", {BYTES(0, 0, 0, 0, 0, 0, 0, 0)}},
	{{0}, "0102ab", {BYTES(1, 2, 0xab)}},
	/* Integers. */
	{{VALUE_SIGNED, .size = 1}, "-1", {BYTES(0xff)}},
	{{VALUE_SIGNED, .size = 2}, "-32768", {BYTES(0, 0x80)}},
	{{VALUE_SIGNED, .size = 4}, "-2", {BYTES(0xfe, 0xff, 0xff, 0xff)}},
	{{VALUE_SIGNED, .size = 8}, "-9223372036854775808", {BYTES(0, 0, 0, 0, 0, 0, 0, 0x80)}},
	{{VALUE_SIGNED, .size = 8}, "9223372036854775807", {BYTES(255, 255, 255, 255, 255, 255, 255, 0x7f)}},
	{{VALUE_SIGNED, .size = 16}, "-170141183460469231731687303715884105728",
		{BYTES(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80)}},
	{{VALUE_SIGNED, .size = 16}, "-1",
		{BYTES(255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255)}},
	{{VALUE_UNSIGNED, .size = 1}, "255", {BYTES(0xff)}},
	{{VALUE_UNSIGNED, .size = 2}, "65535", {BYTES(0xff, 0xff)}},
	{{VALUE_UNSIGNED, .size = 4}, "4294967295", {BYTES(0xff, 0xff, 0xff, 0xff)}},
	{{VALUE_UNSIGNED, .size = 8}, "18446744073709551615", {BYTES(255, 255, 255, 255, 255, 255, 255, 255)}},
	{{VALUE_UNSIGNED, .size = 16}, "340282366920938463463374607431768211455",
		{BYTES(255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255)}},
	{{VALUE_UNSIGNED, .size = 4}, "?", {0}},
	/* Another length than the type's: a part of it, or more. */
	{{VALUE_SIGNED, .size = 8}, "0xff (255)", {BYTES(0xff)}},
	{{VALUE_SIGNED, .size = 1}, "0xffff (65535)", {BYTES(0xff, 0xff)}},
	/* Bit-fields: only their bits. */
	{{VALUE_UNSIGNED, .size = 1, .bit_size = 3, .bit_offset = 1}, "5", {BYTES(0xfb)}},
	{{VALUE_SIGNED, .size = 1, .bit_size = 3, .bit_offset = 1}, "-3", {BYTES(0xfb)}},
	{{VALUE_SIGNED, .size = 1, .bit_size = 1}, "-1", {BYTES(1)}},
	{{VALUE_BOOL, .size = 1, .bit_size = 1, .bit_offset = 7}, "true", {BYTES(0x80)}},
	{{VALUE_UNSIGNED, .size = 2, .bit_size = 12, .bit_offset = 4}, "2748", {BYTES(0xc5, 0xab)}},
	{{VALUE_UNSIGNED, .size = 3, .bit_size = 17, .bit_offset = 2}, "131071", {BYTES(0xff, 0xff, 0xff)}},
	{{VALUE_UNSIGNED, .size = 9, .bit_size = 64, .bit_offset = 4}, "18446744073709551615",
		{BYTES(0xf0, 255, 255, 255, 255, 255, 255, 255, 0x0f)}},
	{{VALUE_ENUM, .size = 1, .bit_size = 4, .bit_offset = 2, .names = colors, .n_names = 3}, "RED", {BYTES(0xfc)}},
	/* Enums. */
	{{VALUE_ENUM, .size = 4, .names = colors, .n_names = 3}, "RED", {BYTES(0xff, 0xff, 0xff, 0xff)}},
	{{VALUE_ENUM, .size = 4, .names = colors, .n_names = 3}, "GREEN", {BYTES(7, 0, 0, 0)}},
	{{VALUE_ENUM, .size = 4, .names = colors, .n_names = 3}, "-2", {BYTES(0xfe, 0xff, 0xff, 0xff)}},
	{{VALUE_ENUM, .size = 1, .names = colors, .n_names = 3}, "RED", {BYTES(0xff)}},
	{{VALUE_ENUM, .size = 8, .names = large, .n_names = 2}, "LEAST", {BYTES(0, 0, 0, 0, 0, 0, 0, 0x80)}},
	{{VALUE_ENUM, .size = 4, .names = states, .n_names = 2}, "TOP", {BYTES(0xff, 0xff, 0xff, 0xff)}},
	{{VALUE_ENUM, .size = 4, .names = states, .n_names = 2}, "4294967294", {BYTES(0xfe, 0xff, 0xff, 0xff)}},
	{{VALUE_ENUM, .size = 2}, "258", {BYTES(2, 1)}},
	{{VALUE_ENUM, .size = 1, .names = odd, .n_names = 1}, "A\\x1b[1m", {BYTES(1)}},
	/* Floating-point numbers: the shortest text that means the same. */
	{{VALUE_FLOAT, .size = 4}, "1.5", {BYTES(0, 0, 0xc0, 0x3f)}},
	{{VALUE_FLOAT, .size = 4}, "0.1", {BYTES(0xcd, 0xcc, 0xcc, 0x3d)}},
	{{VALUE_FLOAT, .size = 4}, "16777215", {BYTES(0xff, 0xff, 0x7f, 0x4b)}},
	{{VALUE_FLOAT, .size = 4}, "-inf", {BYTES(0, 0, 0x80, 0xff)}},
	{{VALUE_FLOAT, .size = 4}, "nan", {BYTES(0, 0, 0xc0, 0xff)}},
	{{VALUE_FLOAT, .size = 4}, "-0", {BYTES(0, 0, 0, 0x80)}},
	{{VALUE_FLOAT, .size = 8}, "0.1", {BYTES(0x9a, 0x99, 0x99, 0x99, 0x99, 0x99, 0xb9, 0x3f)}},
	{{VALUE_FLOAT, .size = 8}, "0.30000000000000004", {BYTES(0x34, 0x33, 0x33, 0x33, 0x33, 0x33, 0xd3, 0x3f)}},
	{{VALUE_FLOAT, .size = 8}, "1000000", {BYTES(0, 0, 0, 0, 0x80, 0x84, 0x2e, 0x41)}},
	{{VALUE_FLOAT, .size = 16}, "1.5", {BYTES(0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0x3f, 9, 9, 9, 9, 9, 9)}},
	{{VALUE_FLOAT, .size = 10}, "-1.5", {BYTES(0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0xbf)}},
	{{VALUE_FLOAT, .name = (char *)"_Float128", .size = 16}, "0000000000000000000000000000ff3f",
		{BYTES(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0x3f)}},
	{{VALUE_FLOAT, .size = 2}, "0x3c00 (15360)", {BYTES(0, 0x3c)}},
	/* Truth. */
	{{VALUE_BOOL, .size = 1}, "false", {BYTES(0)}},
	{{VALUE_BOOL, .size = 1}, "true", {BYTES(1)}},
	{{VALUE_BOOL, .size = 1}, "2", {BYTES(2)}},
	{{VALUE_BOOL, .size = 4}, "true", {BYTES(1, 0, 0, 0)}},
	/* Characters. */
	{{VALUE_CHARS, .size = 8}, "\"abc\"", {BYTES('a', 'b', 'c', 0, 0, 0, 0, 0)}},
	{{VALUE_CHARS, .size = 3}, "\"abc\"", {BYTES('a', 'b', 'c')}},
	{{VALUE_CHARS, .size = 6}, "\"ab\"...", {BYTES('a', 'b', 0, 'd', 0, 0)}},
	{{VALUE_CHARS, .size = 2}, "\"\"", {BYTES(0, 0)}},
	{{VALUE_CHARS, .size = 8}, "\"\\\"\\\\\\n\\x1b\\xff\xc3\xa4\"", {BYTES('"', '\\', '\n', 27, 0xff, 0xc3, 0xa4, 0)}},
	{{VALUE_CHARS, .size = 64}, "\"abcd\"", {BYTES('a', 'b', 'c', 'd')}},
	/* Pointers. */
	{{VALUE_POINTER, .size = 8}, "0x0", {BYTES(0, 0, 0, 0, 0, 0, 0, 0)}},
	{{VALUE_POINTER, .size = 8}, "place+0x10", {BYTES(0x10, 0x10, 0, 0, 0, 0, 0, 0)}},
	{{VALUE_POINTER, .size = 8}, "place", {BYTES(0, 0x10, 0, 0, 0, 0, 0, 0)}},
	{{VALUE_POINTER, .size = 8}, "0x7f0000000001", {BYTES(1, 0, 0, 0, 0, 0x7f, 0, 0)}},
};

static char *place_name(void *context, uint64_t addr)
{
	uint64_t start = *(const uint64_t *)context;

	if (addr < start || addr >= start + 0x20)
		return NULL;
	return addr == start ? text_copy("place") : text_format("place+0x%" PRIx64, addr - start);
}

static void test_text(void **state)
{
	uint64_t start = 0x1000;
	const struct value_places places = {place_name, &start};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *text = value_text(&cases[i].value, &cases[i].type, &places);

		if (strcmp(text, cases[i].text))
			fail_msg("case %zu: %s, not %s", i, text, cases[i].text);
		free(text);
	}
}

static void test_without(void **state)
{
	const struct value_type pointer = {.kind = VALUE_POINTER, .size = 8};
	const struct value value = {8, {0, 0x10}};
	char *text = value_text(&value, NULL, NULL);

	(void)state;
	assert_string_equal(text, "0x1000 (4096)");
	free(text);
	text = value_text(&value, &pointer, NULL);
	assert_string_equal(text, "0x1000");
	free(text);
}

/* Is a before b by type? */
static int order_of(const struct value_type *type, uint64_t a, uint64_t b)
{
	struct value x = {.len = (uint8_t)type->size}, y = x;
	struct value_number first, second;
	int order;

	memcpy(x.bytes, &a, sizeof(a));
	memcpy(y.bytes, &b, sizeof(b));
	assert_true(value_number(&x, type, &first));
	assert_true(value_number(&y, type, &second));
	return value_number_order(&first, &second, &order) ? order : 2;
}

static void test_order(void **state)
{
	const struct value_type has_sign = {.kind = VALUE_SIGNED, .size = 4}, no_sign = {.kind = VALUE_UNSIGNED, .size = 4},
				real = {.kind = VALUE_FLOAT, .size = 4}, color = {.kind = VALUE_ENUM, .size = 4, .names = colors, .n_names = 3},
				state_type = {.kind = VALUE_ENUM, .size = 4, .names = states, .n_names = 2};

	(void)state;
	assert_int_equal(order_of(&has_sign, 0xffffffff, 1), -1);
	assert_int_equal(order_of(&has_sign, 0xffffffff, 0xfffffffe), 1);
	assert_int_equal(order_of(&no_sign, 0xffffffff, 1), 1);
	assert_int_equal(order_of(&no_sign, 5, 5), 0);
	assert_int_equal(order_of(&color, 0xffffffff, 7), -1);
	assert_int_equal(order_of(&state_type, 0xffffffff, 7), 1);
	assert_int_equal(order_of(&real, 0xbfc00000, 0x3fc00000), -1); /* -1.5, 1.5 */
	assert_int_equal(order_of(&real, 0x80000000, 0), 0);	       /* -0, 0 */
	assert_int_equal(order_of(&real, 0x7fc00000, 0), 2);	       /* not a number */
}

static void test_no_number(void **state)
{
	const struct value_type chars = {.kind = VALUE_CHARS, .size = 16};
	const struct value unknown = {0}, long_one = {16, {'a'}};
	struct value_number number;
	char *text = value_number_text(&long_one, &chars);

	(void)state;
	assert_false(value_number(&unknown, NULL, &number));
	assert_false(value_number(&long_one, NULL, &number));
	assert_false(value_number(&long_one, &chars, &number));
	assert_string_equal(text, "?");
	free(text);
}

static void test_mask(void **state)
{
	const struct value_type field = {.kind = VALUE_UNSIGNED, .size = 2, .bit_size = 9, .bit_offset = 3};
	struct value value = {2, {0xff, 0xff}}, other = {1, {0xff}};

	(void)state;
	value_mask(&value, &field);
	assert_int_equal(value.bytes[0], 0xf8);
	assert_int_equal(value.bytes[1], 0x0f);
	value_mask(&other, &field);
	assert_int_equal(other.bytes[0], 0xff);
	value_mask(&other, NULL);
	assert_int_equal(other.bytes[0], 0xff);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_no_number),
		cmocka_unit_test(test_mask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
