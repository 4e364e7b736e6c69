/* test_err.c checks the making of failure texts: what is set, replaced, added and cut. */
#include "watchprof/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A failure with something behind it that must stay as it is. */
struct guarded {
	struct err err;
	char guard[64];
};

static void guarded_init(struct guarded *guarded)
{
	memset(guarded, 0, sizeof(guarded->err));
	memset(guarded->guard, 'g', sizeof(guarded->guard));
}

static void assert_guarded(const struct guarded *guarded)
{
	assert_non_null(memchr(guarded->err.text, '\0', sizeof(guarded->err.text)));
	for (size_t i = 0; i < sizeof(guarded->guard); i++)
		assert_int_equal(guarded->guard[i], 'g');
}

static void test_set(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(err_set(&err, "%s: cannot do %d of %c", "thing", 7, 'x'), -1);
	assert_int_equal(err.status, 125);
	assert_string_equal(err.text, "thing: cannot do 7 of x");
}

static void test_set_replaces(void **state)
{
	struct err err = {0};

	(void)state;
	err_set_status(&err, ERR_NOT_FOUND, "a long first message");
	err_set(&err, "short");
	assert_int_equal(err.status, 125);
	assert_string_equal(err.text, "short");
}

static void test_statuses(void **state)
{
	static const struct {
		int status, number;
	} statuses[] = {{ERR_NO_ENGINE, 124}, {ERR_FAILED, 125}, {ERR_NOT_EXECUTABLE, 126},
		{ERR_NOT_FOUND, 127}};

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		struct err err = {0};

		assert_int_equal(err_set_status(&err, statuses[i].status, "why %zu", i), -1);
		assert_int_equal(err.status, statuses[i].number);
		assert_int_equal(strncmp(err.text, "why ", 4), 0);
	}
}

static void test_append(void **state)
{
	struct err err = {0};

	(void)state;
	err_set_status(&err, ERR_NO_ENGINE, "ambiguous");
	assert_int_equal(err_append(&err, "\n  %s:%d", "a.c", 3), -1);
	assert_int_equal(err_append(&err, "\n  %s:%d", "b.c", 4), -1);
	assert_string_equal(err.text, "ambiguous\n  a.c:3\n  b.c:4");
	assert_int_equal(err.status, 124);
}

/* A per cent sign in an argument is text and not a format. */
static void test_percent_is_text(void **state)
{
	struct err err = {0};

	(void)state;
	err_set(&err, "%s", "100%n%s");
	err_append(&err, "%s", "%d");
	assert_string_equal(err.text, "100%n%s%d");
}

static void test_too_long(void **state)
{
	static char text[3 * sizeof(((struct err *)0)->text)];
	struct guarded guarded;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	guarded_init(&guarded);
	err_set(&guarded.err, "%s", text);
	assert_guarded(&guarded);
	assert_int_equal(strlen(guarded.err.text), sizeof(guarded.err.text) - 1);
	assert_int_equal(err_append(&guarded.err, "%s", "more"), -1);
	assert_guarded(&guarded);
	assert_int_equal(strlen(guarded.err.text), sizeof(guarded.err.text) - 1);
	assert_int_equal(guarded.err.text[sizeof(guarded.err.text) - 2], 'a');
}

/* Lists of candidates grow by err_append(): every fill level up to the last byte. */
static void test_append_up_to_the_end(void **state)
{
	struct guarded guarded;

	(void)state;
	guarded_init(&guarded);
	err_set(&guarded.err, "start");
	for (size_t len = 5; len < 2 * sizeof(guarded.err.text); len += 3) {
		size_t most = sizeof(guarded.err.text) - 1;

		assert_int_equal(strlen(guarded.err.text), len < most ? len : most);
		err_append(&guarded.err, "abc");
		assert_guarded(&guarded);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_set_replaces),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_percent_is_text),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_append_up_to_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
