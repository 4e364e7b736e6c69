/* test_table.c checks the columns: every cell with everything known and nothing known, and
 * aligned text with hostile and wide names, in the C locale and in a UTF-8 one. */
#include "watchprof/table.h"

#include "watchprof/util.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const watches[] = {"counter:w", "state"};

static const struct loc f_loc = {
	.addr = 0x1000, .function = "f", .file = "src/f.c", .line = 12, .module = "/bin/prog"};

static const struct loc g_loc = {.addr = 0x2000, .function = "g"};

static void assert_cells(const struct row *row, const char *const expected[N_COLUMNS])
{
	for (int c = 0; c < N_COLUMNS; c++) {
		char *cell = table_cell((enum column_id)c, row, &(struct naming){watches, NULL});

		assert_string_equal(cell, expected[c]);
		free(cell);
	}
}

/* Programs read columns by these names in this order: new ones only at the end. */
static void test_columns(void **state)
{
	static const struct column expected[] = {{"hits", true}, {"share", true}, {"reads", true},
		{"writes", true}, {"watch", false}, {"function", false}, {"file", false},
		{"line", true}, {"module", false}, {"pid", true}, {"tid", true}, {"blame", false}, {"path", false}, {"unknown", true}};

	(void)state;
	assert_true(N_COLUMNS >= ARRAY_LEN(expected));
	for (size_t c = 0; c < ARRAY_LEN(expected); c++) {
		assert_string_equal(table_column((enum column_id)c)->name, expected[c].name);
		assert_int_equal(table_column((enum column_id)c)->is_number, expected[c].is_number);
	}
}

static void test_cells(void **state)
{
	static const struct loc empty = {.function = "", .file = "", .module = ""};
	const struct row known = {.watch = 1,
		.hits = 3,
		.reads = 1,
		.writes = 2,
		.share = 2.0 / 3,
		.pid = 4321,
		.tid = 4322,
		.loc = &f_loc,
		.blame = &g_loc};
	const struct row unknown = {.hits = UINT64_MAX, .reads_unknown = UINT64_MAX, .writes_unknown = UINT64_MAX,
		.unknown = UINT64_MAX, .share = 1};
	const struct row nothing = {
		.hits = 0, .loc = &empty};
	const struct row partly = {.hits = 9, .reads = 4, .reads_unknown = 2, .writes_unknown = 3, .unknown = 4};

	(void)state;
	assert_cells(&known, (const char *const[]){"3", "0.6667", "1", "2", "state", "f", "src/f.c",
				     "12", "/bin/prog", "4321", "4322", "g", "-", "0"});
	assert_cells(&unknown, (const char *const[]){"18446744073709551615", "1.0000", "-", "-",
				       "counter:w", "-", "-", "-", "-", "-", "-", "-", "-", "18446744073709551615"});
	assert_cells(&partly, (const char *const[]){"9", "0.0000", "4", "0", "counter:w", "-", "-", "-", "-", "-", "-", "-", "-", "4"});
	assert_cells(&nothing,
		(const char *const[]){"0", "0.0000", "0", "0", "counter:w", "-", "-", "-", "-", "-", "-", "-", "-", "0"});
}

/* Cells carry names as they are; escaping is the writer's job. */
static void test_cells_are_not_escaped(void **state)
{
	const struct loc loc = {.function = "a\tb\n\x1b[31m\xff\\"};
	const struct row row = {.loc = &loc};
	char *cell = table_cell(COLUMN_FUNCTION, &row, &(struct naming){watches, NULL});

	(void)state;
	assert_string_equal(cell, loc.function);
	free(cell);
}

/* Debug info may lack the name of what was inlined. */
static void test_inlined_without_a_name(void **state)
{
	const struct loc loc = {.is_inlined = true};
	const struct row row = {.loc = &loc};
	char *cell = table_cell(COLUMN_FUNCTION, &row, &(struct naming){watches, NULL});

	(void)state;
	assert_string_equal(cell, "?" INLINED);
	free(cell);
}

static char *written(const char *indent, const enum column_id *ids, size_t n_ids,
	const struct row *rows, size_t n_rows)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	table_write(out, indent, ids, n_ids, rows, n_rows, &(struct naming){watches, NULL});
	fclose(out);
	return text;
}

static void test_write(void **state)
{
	static const enum column_id ids[] = {COLUMN_HITS, COLUMN_SHARE, COLUMN_READS,
		COLUMN_FUNCTION, COLUMN_LINE, COLUMN_MODULE};
	const struct row rows[] = {
		{.hits = 1000, .share = 0.9990, .reads = 5, .loc = &f_loc},
		{.hits = 3, .share = 0.0030, .reads = 1, .reads_unknown = 2},
		{.hits = 1, .share = 0.0010, .reads_unknown = 1},
	};
	char *text = written("  ", ids, ARRAY_LEN(ids), rows, 3);

	(void)state;
	assert_string_equal(text, "  hits  share  reads  function  line  module\n"
				  "  1000  99.9%      5  f           12  /bin/prog\n"
				  "     3   0.3%     1+  -            -  -\n"
				  "     1   0.1%      -  -            -  -\n");
	free(text);
}

/* Only a header; one column; a number as the last column. */
static void test_write_edges(void **state)
{
	static const enum column_id ids[] = {COLUMN_FUNCTION, COLUMN_LINE};
	const struct row row = {.loc = &f_loc};
	char *text = written("", ids, 2, NULL, 0);

	(void)state;
	assert_string_equal(text, "function  line\n");
	free(text);
	text = written("> ", ids, 1, &row, 1);
	assert_string_equal(text, "> function\n> f\n");
	free(text);
	text = written("", ids, 2, &row, 1);
	assert_string_equal(text, "function  line\nf           12\n");
	free(text);
}

static void assert_written_in(const char *locale, const char *expected)
{
	static const enum column_id ids[] = {COLUMN_FUNCTION, COLUMN_LINE};
	const struct loc locs[] = {
		{.function = "gr\xc3\xb6\xc3\x9f"
			     "e",
			.line = 1},
		{.function = "\xe6\x97\xa5\xe6\x9c\xac", .line = 2},
		{.function = "e\xcc\x81", .line = 3}, /* a combining accent has no width */
		{.function = "a\tb\x1b\xff", .line = 4},
		{.function = "plain", .line = 5},
	};
	struct row rows[ARRAY_LEN(locs)];
	char *text;

	for (size_t i = 0; i < ARRAY_LEN(locs); i++)
		rows[i] = (struct row){.loc = &locs[i]};
	assert_non_null(setlocale(LC_ALL, locale));
	text = written("", ids, 2, rows, ARRAY_LEN(rows));
	setlocale(LC_ALL, "C");
	assert_string_equal(text, expected);
	free(text);
}

/* Case 87: aligned by screen columns where the locale knows them, by bytes elsewhere. */
static void test_wide_names(void **state)
{
	(void)state;
	assert_written_in("C.UTF-8", "function      line\n"
				     "gr\xc3\xb6\xc3\x9f"
				     "e"
				     "            1\n"
				     "\xe6\x97\xa5\xe6\x9c\xac"
				     "             2\n"
				     "e\xcc\x81"
				     "                3\n"
				     "a\\tb\\x1b\\xff"
				     "     4\n"
				     "plain"
				     "            5\n");
	assert_written_in("C", "function      line\n"
			       "gr\xc3\xb6\xc3\x9f"
			       "e"
			       "          1\n"
			       "\xe6\x97\xa5\xe6\x9c\xac"
			       "           2\n"
			       "e\xcc\x81"
			       "              3\n"
			       "a\\tb\\x1b\\xff"
			       "     4\n"
			       "plain"
			       "            5\n");
}

/* Names longer than any buffer stay whole and aligned, ASCII and not, in every locale. */
static void test_long_names(void **state)
{
	static const char *const locales[] = {"C", "C.UTF-8"};
	static const enum column_id ids[] = {COLUMN_FUNCTION, COLUMN_LINE};
	char *long_name = mem_new(20001, 1);
	const struct loc locs[] = {
		{.function = long_name, .line = 7}, {.function = "f", .line = 8}};
	const struct row rows[] = {{.loc = &locs[0]}, {.loc = &locs[1]}};

	(void)state;
	memset(long_name, 'n', 20000);
	for (size_t i = 0; i < ARRAY_LEN(locales); i++) {
		char *text, *line;

		assert_non_null(setlocale(LC_ALL, locales[i]));
		text = written("", ids, 2, rows, 2);
		setlocale(LC_ALL, "C");
		line = strtok(text, "\n");
		for (int l = 0; l < 3; l++, line = strtok(NULL, "\n"))
			assert_int_equal(strlen(line), 20000 + 2 + 4);
		free(text);
	}
	free(long_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_cells_are_not_escaped),
		cmocka_unit_test(test_inlined_without_a_name),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_write_edges),
		cmocka_unit_test(test_wide_names),
		cmocka_unit_test(test_long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
