/* test_cell.c checks the measuring and cutting of texts for the screen: characters of two columns and of
 * none, hostile bytes, names that differ in their middle. */
#include "cell.h"
#include "unit_help.h"
#include "watchprof/util.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void assert_text(char *got, const char *expected)
{
	assert_string_equal(got, expected);
	free(got);
}

static void test_safe(void **state)
{
	(void)state;
	assert_text(cell_safe("plain", true), "plain");
	assert_text(cell_safe("a\tb\033[1m\\", true), "a\\tb\\x1b[1m\\\\");
	assert_text(cell_safe("gr\u00f6\u00df", true), "gr\u00f6\u00df");
	assert_text(cell_safe("gr\u00f6\u00df", false), "gr\\xc3\\xb6\\xc3\\x9f");
	/* Not assigned: no terminal agrees on its width. */
	assert_text(cell_safe("\U000e0fff", true), "\\xf3\\xa0\\xbf\\xbf");
	assert_text(cell_safe("", true), "");
}

static void test_width(void **state)
{
	(void)state;
	assert_int_equal(cell_width(""), 0);
	assert_int_equal(cell_width("abc"), 3);
	assert_int_equal(cell_width("\u65e5\u672c"), 4);
	assert_int_equal(cell_width("e\u0301"), 1);
}

static void test_part(void **state)
{
	(void)state;
	assert_text(cell_part("abcdef", 0, 3), "abc");
	assert_text(cell_part("abcdef", 4, 9), "ef");
	assert_text(cell_part("abcdef", 9, 3), "");
	/* No half of a wide character, and no accent without its letter. */
	assert_text(cell_part("\u65e5\u672c", 0, 3), "\u65e5");
	assert_text(cell_part("\u65e5\u672c", 1, 3), "\u672c");
	assert_text(cell_part("e\u0301x", 0, 1), "e\u0301");
	assert_text(cell_part("abc", 0, 0), "");
}

static void test_middle(void **state)
{
	(void)state;
	assert_text(cell_middle("abc", 3, 0, true), "abc");
	assert_text(cell_middle("abcdefghijklmnop", 9, 0, true), "abcd\u2026mnop");
	assert_text(cell_middle("abcdefghijklmnop", 9, 0, false), "abcd..nop");
	assert_text(cell_middle("abcdefghijklmnop", 5, 0, true), "abcde");
	/* The sixth letter is what tells it apart. */
	assert_text(cell_middle("abcdefghijklmnopqrstuvwxyz", 12, 10, true), "abc\u2026ijklmno\u2026");
	assert_text(cell_middle("abcdefghijklmnopqrstuvwxyz", 12, 25, true), "abcdef\u2026vwxyz");
	for (size_t width = 1; width < 40; width++) {
		for (size_t differs = 0; differs < 30; differs++) {
			char *cut = cell_middle("\u65e5\u672cabcdefghijklmnopqrstuvwxyz", width, differs, width % 2);

			assert_true(cell_width(cut) <= width);
			free(cut);
		}
	}
}

static void test_collapse(void **state)
{
	(void)state;
	assert_text(cell_collapse("f", true), "f");
	assert_text(cell_collapse("std::map<int, std::pair<a, b> >::find(int)", true), "std::map<\u2026>::find(int)");
	assert_text(cell_collapse("a<b>::c<d>", false), "a<..>::c<..>");
	assert_text(cell_collapse("X<int>::operator<<(int)", true), "X<\u2026>::operator<<(int)");
	assert_text(cell_collapse("X::operator->()", true), "X::operator->()");
	assert_text(cell_collapse("operator<=>", true), "operator<=>");
	assert_text(cell_collapse("a<b", true), "a<b");
	assert_text(cell_collapse("a>b", true), "a>b");
}

static void test_bar_and_graph(void **state)
{
	static const double values[] = {0, 1, 2, 7};

	(void)state;
	assert_text(cell_bar(0, 3, true), "   ");
	assert_text(cell_bar(1, 3, true), "\u2588\u2588\u2588");
	assert_text(cell_bar(0.5, 3, true), "\u2588\u258c ");
	assert_text(cell_bar(0.5, 3, false), "## ");
	assert_text(cell_graph(values, 4, true), "\u2581\u2582\u2583\u2588");
	assert_text(cell_graph(values, 4, false), "_.:#");
	assert_text(cell_graph(values, 1, true), "\u2581");
	assert_text(cell_graph(values, 0, true), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_part),
		cmocka_unit_test(test_middle),
		cmocka_unit_test(test_collapse),
		cmocka_unit_test(test_bar_and_graph),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
