/* test_filter.c checks filters: what they accept and refuse as text, and which hits meet them. */
#include "watchprof/filter.h"

#include "watchprof/util.h"
#include "watchprof/value_type.h"
#include "watchprof/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct filters parsed(const char *text)
{
	struct filters filters;
	struct err err = {0};

	if (filters_parse("v:w", text, &filters, &err))
		fail_msg("%s: refused: %s", text, err.text);
	return filters;
}

/* Does a write from one value to another, of len bytes, meet the filters? */
static bool meets_typed(const char *text, uint64_t from, uint64_t to, uint8_t len, const struct value_type *type)
{
	struct filters filters = parsed(text), copy = filters_copy(&filters);
	struct value before = {.len = len}, after = {.len = len};
	struct filter_facts facts = {
		.is_write = true, .from = &before, .to = &after, .thread = "worker-3", .function = "parse_line", .type = type};
	bool result;

	memcpy(before.bytes, &from, sizeof(from));
	memcpy(after.bytes, &to, sizeof(to));
	result = filters_pass(&filters, &facts);
	assert_int_equal(filters_pass(&copy, &facts), result);
	filters_fini(&copy);
	filters_fini(&filters);
	return result;
}

static bool meets(const char *text, uint64_t from, uint64_t to, uint8_t len)
{
	return meets_typed(text, from, to, len, NULL);
}

static struct value_name names[] = {{(char *)"IDLE", 0}, {(char *)"BUSY", 2}, {(char *)"GONE", -1}};

static const struct value_type has_sign = {.kind = VALUE_SIGNED, .size = 4}, no_sign = {.kind = VALUE_UNSIGNED, .size = 4},
			       real = {.kind = VALUE_FLOAT, .size = 4}, truth = {.kind = VALUE_BOOL, .size = 4},
			       phase = {.kind = VALUE_ENUM, .name = (char *)"enum phase", .size = 4, .names = names, .n_names = 3},
			       field = {.kind = VALUE_UNSIGNED, .size = 4, .bit_size = 2, .bit_offset = 4};

static void test_typed(void **state)
{
	static const struct {
		const char *text;
		const struct value_type *type;
		uint64_t to;
		bool meets;
	} cases[] = {
		{"new<0", &has_sign, 0xffffffff, true},
		{"new<0", &no_sign, 0xffffffff, false},
		{"new>100", &has_sign, 0xffffffff, false},
		{"new==-1", &has_sign, 0xffffffff, true},
		{"new==-1", &no_sign, 0xffffffff, true},
		{"new==0xffffffff", &has_sign, 0xffffffff, true},
		{"new==4294967295", &has_sign, 0xffffffff, false},
		{"new>-0", &has_sign, 0, false},
		{"new==-0", &has_sign, 0, true},
		{"new>1.5", &has_sign, 2, true},
		{"new>1.5", &has_sign, 1, false},
		{"new>-1.5", &has_sign, 0xffffffff, true},
		{"new==BUSY", &phase, 2, true},
		{"new==BUSY", &phase, 0, false},
		{"new>IDLE", &phase, 2, true},
		{"new<IDLE", &phase, 0xffffffff, true},
		{"new==GONE", &phase, 0xffffffff, true},
		{"new==2", &phase, 2, true},
		{"new==true", &truth, 1, true},
		{"new!=false", &truth, 0, false},
		{"new>1.5", &real, 0x40000000, true},	/* 2 */
		{"new==1.5", &real, 0x3fc00000, true},
		{"new<=-1.5", &real, 0xbfc00000, true},
		{"new<0", &real, 0xbfc00000, true},
		{"new>1e30", &real, 0x7f800000, true},	/* infinity */
		{"new!=0", &real, 0x7fc00000, false},	/* not a number: in no order */
		{"new==0x2", &real, 0x40000000, true},
		{"new==3", &field, 0x30, true},
		{"new==3", &field, 0xffffffff, true},
		{"new==-1", &field, 0x30, true},
		{"new==BUSY", &has_sign, 2, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (meets_typed(cases[i].text, 0, cases[i].to, 4, cases[i].type) != cases[i].meets)
			fail_msg("case %zu: %s", i, cases[i].text);
	}
}

static void test_check(void **state)
{
	static const struct {
		const char *text;
		const struct value_type *type;
		uint64_t len;
		const char *message;
	} cases[] = {
		{"new==BUSY", &phase, 4, NULL},
		{"new==1.5", &has_sign, 4, NULL},
		{"changed", NULL, 16, NULL},
		{"new==1", NULL, 8, NULL},
		{"new==true", &truth, 4, NULL},
		{"new==NONE", &phase, 4, "v:w: 'NONE' in a filter is no number, and enum phase has no such name; it has IDLE, BUSY, GONE"},
		{"old!=BUSY", NULL, 4, "v:w: 'BUSY' in a filter is no number, and the type of the variable has no names"},
		{"new==1", NULL, 16,
			"v:w: new and old are compared as numbers, and the 16 bytes are none; name a member or an element, or "
			"give a length of 1, 2, 4 or 8"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct filters filters = parsed(cases[i].text);
		struct err err = {0};
		int result = filters_check("v:w", &filters, cases[i].type, cases[i].len, &err);

		assert_int_equal(result, cases[i].message ? -1 : 0);
		if (cases[i].message)
			assert_string_equal(err.text, cases[i].message);
		filters_fini(&filters);
	}
}

/* Names of a target's debug info are escaped in the message, which goes to a terminal. */
static void test_hostile_names(void **state)
{
	struct value_name hostile[] = {{(char *)"A\x1b[2J", 1}};
	const struct value_type type = {
		.kind = VALUE_ENUM, .name = (char *)"enum \x1b]0;x", .size = 4, .names = hostile, .n_names = 1};
	struct filters filters;
	struct err err = {0};

	(void)state;
	assert_int_equal(filters_parse("v:w", "new==B", &filters, &err), 0);
	assert_int_equal(filters_check("v:w", &filters, &type, 4, &err), -1);
	assert_null(strchr(err.text, '\x1b'));
	assert_non_null(strstr(err.text, "enum \\x1b]0;x has no such name; it has A\\x1b[2J"));
	filters_fini(&filters);
}

static void test_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t from, to;
		uint8_t len;
		bool meets;
	} cases[] = {
		{"new==3", 1, 3, 4, true},
		{"new==3", 3, 4, 4, false},
		{"new==0x10", 0, 16, 8, true},
		{"old!=0", 0, 1, 4, false},
		{"old!=0", 1, 1, 4, true},
		{"new>100", 0, 100, 1, false},
		{"new>100", 0, 101, 1, true},
		{"new>=100", 0, 100, 2, true},
		{"new<5", 0, 5, 4, false},
		{"new<=5", 0, 5, 4, true},
		{"new==-1", 0, 0xffffffff, 4, true},
		{"new==-1", 0, 0xffffffff, 8, false},
		{"new<-1", 0, 0xfe, 1, true},
		{"new>-1", 0, 0xfe, 1, false},
		{"new>-1", 0, 1, 1, true},
		{"new>200", 0, 0xfe, 1, true},
		{"changed", 4, 5, 4, true},
		{"changed", 5, 5, 4, false},
		{"changed,new==5", 4, 5, 4, true},
		{"changed,new==5", 4, 6, 4, false},
		{"thread=worker*", 0, 0, 4, true},
		{"thread=worker", 0, 0, 4, false},
		{"func=parse_*,thread=*-3", 0, 0, 4, true},
		{"func=parse_*,thread=*-4", 0, 0, 4, false},
		{"new==0", 0, 0, 16, false}, /* no number */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (meets(cases[i].text, cases[i].from, cases[i].to, cases[i].len) != cases[i].meets)
			fail_msg("case %zu: %s", i, cases[i].text);
	}
}

/* What is not known meets nothing. */
static void test_unknown(void **state)
{
	static const char *const texts[] = {"changed", "new==0", "new!=0", "old<1", "thread=*", "func=*"};
	const struct value unknown = {0};
	const struct filter_facts facts = {.from = &unknown, .to = &unknown};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct filters filters = parsed(texts[i]);

		assert_false(filters_pass(&filters, &facts));
		filters_fini(&filters);
	}
}

static void test_refused(void **state)
{
	static const char *const texts[] = {"", "changed,", ",changed", "changes", "changed=1", "new", "new=3", "new==",
		"new==-x", "new==1.5.2", "new==1x5", "new==-", "new==a-b", "new==3x", "new== 3", "new==+3", "old=>3", "thread", "thread=", "func", "func!=a",
		"new==99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct filters filters;
		struct err err = {0};

		if (filters_parse("v:w", texts[i], &filters, &err) != -1)
			fail_msg("accepted: %s", texts[i]);
		assert_non_null(strstr(err.text, "v:w"));
		assert_int_equal(filters.n, 0);
	}
}

/* The message has the filter as it was typed. */
static void test_refused_is_quoted(void **state)
{
	static const char *const texts[] = {"changed=1", "thread", "thread=", "func!=a", "changes"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		char *quoted = text_format("v:w: bad filter '%s':", texts[i]);
		struct filters filters;
		struct err err = {0};

		assert_int_equal(filters_parse("v:w", texts[i], &filters, &err), -1);
		assert_int_equal(strncmp(err.text, quoted, strlen(quoted)), 0);
		free(quoted);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_typed),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_is_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
