/* test_filter.c checks filters: what they accept and refuse as text, and which hits meet them. */
#include "watchprof/filter.h"

#include "watchprof/util.h"
#include "watchprof/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
static bool meets(const char *text, uint64_t from, uint64_t to, uint8_t len)
{
	struct filters filters = parsed(text), copy = filters_copy(&filters);
	struct value before = {.len = len}, after = {.len = len};
	struct filter_facts facts = {
		.is_write = true, .from = &before, .to = &after, .thread = "worker-3", .function = "parse_line"};
	bool result;

	memcpy(before.bytes, &from, sizeof(from));
	memcpy(after.bytes, &to, sizeof(to));
	result = filters_pass(&filters, &facts);
	assert_int_equal(filters_pass(&copy, &facts), result);
	filters_fini(&copy);
	filters_fini(&filters);
	return result;
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
		"new==x", "new==3x", "new== 3", "new==+3", "old=>3", "thread", "thread=", "func", "func!=a",
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
