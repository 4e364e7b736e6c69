/* test_model.c checks the live screen's model: its lines at several sizes against files in
 * tests/golden (WATCHPROF_UPDATE_GOLDEN=1 rewrites them), and what keys do to it. */
#include "report_fixture.h"
#include "unit_help.h"
#include "watchprof/model.h"
#include "watchprof/report_values.h"
#include "watchprof/value_type.h"
#include "watchprof/util.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <cmocka.h>

#define SECOND NS_PER_S

/* A target of its own: its files and threads. */
static char *fake_source(void *context, pid_t pid, const char *path, size_t *len)
{
	char *text = NULL;
	FILE *out;

	(void)context;
	if (pid != 1234 || strcmp(path, "src/state.c") != 0)
		return NULL;
	out = open_memstream(&text, len);
	assert_non_null(out);
	for (int i = 1; i <= 60; i++)
		fprintf(out, "\t%s%d; /* gr\xc3\xb6\xc3\x9f\xe6\x97\xa5\tcode \033[7m */\n", i == 20 ? "counter += " : "local_", i);
	fclose(out);
	return text;
}

static char *fake_thread_name(void *context, pid_t pid, pid_t tid)
{
	(void)context;
	return pid == 1234 && tid != 1236 ? text_format("worker\t%d", tid) : NULL;
}

static char *fake_log(void *context, int fd, size_t *len)
{
	(void)context;
	assert_int_equal(fd, 77);
	*len = strlen("one\ntwo \033[1m\nthree");
	return text_copy("one\ntwo \033[1m\nthree");
}

static bool fake_variables(void *context, pid_t pid, char **text)
{
	static int asked;

	(void)context;
	(void)pid;
	if (asked++ == 0)
		return false; /* not yet there */
	*text = text_copy("counter\t4\tint\t.bss\t/bin/prog\tsrc/main.c:3\n"
			  "account\t8\tstruct account *\t.data\t/bin/prog\tsrc/main.c:4\n"
			  "state\t4\tint\t.bss\t/bin/prog\tsrc/a.c:3\n"
			  "state\t4\tint\t.bss\t/bin/prog\tsrc/b.c:3\n"
			  "n_counters\t8\tsize_t\t.bss\t/lib/libc.so.6\t-\n"
			  "std::vector<int, std::allocator<int> >::counter\t24\t-\t.bss\t/bin/prog\t-\n");
	return true;
}

/* Parts of account, a pointer, with all that parts may be. */
static bool fake_members(void *context, pid_t pid, const char *expr, char **text)
{
	static const struct {
		const char *expr, *text;
	} all[] = {
		{"account", "*account\t40\tstruct account\t-\t/bin/prog\t-\n"
			    "account->sum\t8\tlong\t-\t/bin/prog\t+0\n"
			    "account->is_open\t1\tunsigned int:1\t-\t/bin/prog\t+8 bit 3\n"
			    "account->names\t24\tstruct name []\t-\t/bin/prog\t+16 of base\n"},
		{"account->names", "account->names[0]\t4\tunion name\t-\t/bin/prog\t+0\n"
				   "account->names[1]\t4\tunion name\t-\t/bin/prog\t+4\n"},
		{"b.c::state", "watchprof: b.c::state has no members: its type is int\033\n"},
	};
	static int asked;

	(void)context;
	(void)pid;
	*text = NULL;
	if (asked++ % 2 == 0)
		return false; /* not yet there */
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (strcmp(all[i].expr, expr) == 0)
			*text = text_copy(all[i].text);
	}
	return true;
}

static const struct model_eyes eyes = {.members = fake_members, .variables = fake_variables, .source = fake_source, .thread_name = fake_thread_name, .log = fake_log};

/* The screen as text, the style of each line before it. */
static void screen_write(FILE *out, struct model *model, size_t width, size_t height)
{
	static const char marks[] = {[LINE_PLAIN] = ' ',
		[LINE_TITLE] = 'T',
		[LINE_HEADING] = 'H',
		[LINE_SELECTED] = '>',
		[LINE_ALERT] = '!',
		[LINE_HOT] = '*',
		[LINE_DIM] = '.'};
	struct model_line *lines;

	model_size(model, width, height);
	lines = model_draw(model);
	for (size_t i = 0; i < height; i++)
		fprintf(out, "%c|%s\n", marks[lines[i].style], lines[i].text);
	model_lines_free(lines, height);
}

static char *screen_text(struct model *model, size_t width, size_t height)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	screen_write(out, model, width, height);
	fclose(out);
	return text;
}

static void assert_golden(const char *name, char *text)
{
	char *path = text_format("%s/%s", GOLDEN_DIR, name), *golden;

	if (getenv("WATCHPROF_UPDATE_GOLDEN"))
		file_write(path, text);
	golden = file_read(path);
	assert_non_null(golden);
	assert_string_equal(text, golden);
	free(golden);
	free(path);
	free(text);
}

/* A key, and the sample that follows it. */
static struct frontend_wish press(struct model *model, const struct report *report, int key)
{
	struct frontend_wish wish = model_key(model, key, 0);

	model_update(model, report, 2 * SECOND);
	return wish;
}

static struct frontend_wish type(struct model *model, const struct report *report, const char *keys)
{
	struct frontend_wish wish = {.kind = WISH_NONE};

	while (*keys)
		wish = press(model, report, (unsigned char)*keys++);
	return wish;
}

static struct value_history history;

/* What the first watch held. */
static const struct value_type counter_type = {.kind = VALUE_SIGNED, .name = "short", .size = 2};
static const struct report_values values[7] = {{.is_known = true,
	.type = &counter_type,
	.stats = {.current = {1, {3}},
		.writes = 1345,
		.changed = 1300,
		.silent = 40,
		.last = {.time_ns = SECOND, .pid = 1234, .tid = 1235},
		.top = {{{1, {3}}, 1000}, {{2, {0xff, 0xff}}, 300}},
		.n_top = 2,
		.others = 45},
	.history = &history,
	.writer = "update",
	.written_ns = SECOND / 2}};

/* Its last writes: more than are kept. */
static void history_fill(void)
{
	history.n = VALUES_HISTORY_MAX + 3;
	for (size_t i = 0; i < VALUES_HISTORY_MAX; i++)
		history.events[i] = (struct value_event){.time_ns = SECOND - (VALUES_HISTORY_MAX + 2 - i) % VALUES_HISTORY_MAX * 1000000,
			.pid = 1234,
			.tid = 1235,
			.image = 1,
			.addr = i % 3 ? 0x401014 : 0x401094,
			.from = {i % 4 ? 1 : 0, {(unsigned char)i}},
			.to = {1, {(unsigned char)(i + 1)}}};
}

static struct model *model_filled(bool is_utf8, struct report *report)
{
	struct model *model = model_new(is_utf8, &eyes);

	history_fill();
	*report = fixture_full();
	report->values = values;
	model_size(model, 120, 40);
	model_update(model, report, SECOND);
	return model;
}

/* What is shown at every size; the model's own size is the last one. */
static void assert_golden_sizes(const char *name, bool is_utf8, struct model *model, const struct report *report)
{
	static const size_t sizes[][2] = {{80, 24}, {120, 40}, {41, 10}, {10, 3}};
	char *text = NULL, *file = text_format("model-%s-%s.txt", name, is_utf8 ? "utf8" : "ascii");
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
		model_size(model, sizes[s][0], sizes[s][1]);
		model_update(model, report, (3 + s) * SECOND);
		fprintf(out, "%zux%zu\n", sizes[s][0], sizes[s][1]);
		screen_write(out, model, sizes[s][0], sizes[s][1]);
	}
	fclose(out);
	assert_golden(file, text);
	free(file);
}

/* Every view at every size. */
static void test_golden(void **state)
{
	static const struct {
		const char *name;
		int key;
	} views[] = {{"functions", '1'}, {"callers", '2'}, {"callees", '3'}, {"threads", '4'}, {"source", '5'}, {"values", '6'}, {"watches", '7'}};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(views); i++) {
		struct report report;
		struct model *model = model_filled(i % 2, &report);

		press(model, &report, views[i / 2].key);
		assert_golden_sizes(views[i / 2].name, i % 2, model, &report);
		model_free(model);
		fixture_free(&report);
	}
}

/* So are the pages that stand in place of a view. */
static void test_pages_at_every_size(void **state)
{
	static const struct {
		const char *name, *keys;
	} pages[] = {{"help-page", "?"}, {"details-page", "\t\r"}, {"log-page", "o"}, {"picker-page", "+stat"}};
	static const int fd = 77;

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(pages); i++) {
		struct report report;
		struct model *model = model_filled(i % 2, &report);

		report.output_fd = &fd;
		type(model, &report, pages[i / 2].keys);
		for (int k = 0; k < 9 && model_is_waiting(model); k++)
			model_update(model, &report, 2 * SECOND);
		assert_golden_sizes(pages[i / 2].name, i % 2, model, &report);
		model_free(model);
		fixture_free(&report);
	}
}

static void test_pages(void **state)
{
	struct report report;
	struct model *model = model_filled(true, &report);
	static const int fd = 77;

	(void)state;
	press(model, &report, '?');
	assert_golden("model-help.txt", screen_text(model, 80, 65));
	press(model, &report, '?');
	type(model, &report, "\t");
	assert_golden("model-next-watch.txt", screen_text(model, 100, 24));
	press(model, &report, KEY_CODE_ENTER);
	assert_golden("model-details.txt", screen_text(model, 60, 40));
	press(model, &report, KEY_CODE_ESCAPE);
	type(model, &report, "1jj5");
	assert_golden("model-instructions.txt", screen_text(model, 100, 24));
	report.output_fd = &fd;
	type(model, &report, "o");
	assert_golden("model-log.txt", screen_text(model, 60, 12));
	model_free(model);
	fixture_free(&report);
}

/* No line is wider than the screen and none is missing, at any size, in any view. */
static void test_every_size(void **state)
{
	static const char keys[] = "1234567jG\t?o\r\033l";

	(void)state;
	for (int is_utf8 = 0; is_utf8 < 2; is_utf8++) {
		struct report report;
		struct model *model = model_filled(is_utf8, &report);
		size_t n = 0;

		for (size_t width = 1; width < 140; width += 3) {
			for (size_t height = 1; height < 50; height += 2) {
				struct model_line *lines;

				model_size(model, width, height);
				press(model, &report, keys[n++ % (sizeof(keys) - 1)]);
				lines = model_draw(model);
				for (size_t i = 0; i < height; i++) {
					wchar_t wide[512];

					assert_non_null(lines[i].text);
					assert_null(strpbrk(lines[i].text, "\n\t\033"));
					assert_true(mbstowcs(wide, lines[i].text, ARRAY_LEN(wide)) < ARRAY_LEN(wide));
					assert_in_range(wcswidth(wide, ARRAY_LEN(wide)), 0, width);
				}
				model_lines_free(lines, height);
			}
		}
		model_free(model);
		fixture_free(&report);
	}
}

static bool selects(struct model *model, const char *text);

static bool shows(struct model *model, const char *text)
{
	char *screen = screen_text(model, 120, 40);
	bool is_there = strstr(screen, text) != NULL;

	free(screen);
	return is_there;
}

/* The code of update(), and of a long function that has the hostile names' places in it. */
static bool fake_code(void *context, uint32_t image, uint64_t addr, struct code *out)
{
	bool is_long = addr >= 0x401080;
	uint64_t start = is_long ? 0x401080 : 0x401010;

	(void)context;
	assert_int_equal(image, 1);
	if (addr < 0x401010 || (addr >= 0x401020 && !is_long))
		return false;
	*out = (struct code){.function = text_copy(is_long ? "std::vector<int, \033[1m>::push" : "update"),
		.offset = is_long ? 0x100 : 0,
		.n = is_long ? 300 : 5};
	out->insns = mem_new(out->n, sizeof(*out->insns));
	for (size_t i = 0; i < out->n; i++)
		out->insns[i] = (struct code_insn){start + (is_long ? i : 3 * i), is_long ? 1 : 3,
			text_format("mov %%eax, 0x%zx(%%rip) <gr\xc3\xb6\xc3\x9f\xe6\x97\xa5>", i)};
	return true;
}

/* Without a source file, and with one when it is asked for again: instructions. */
static void test_instructions(void **state)
{
	(void)state;
	for (int is_utf8 = 0; is_utf8 < 2; is_utf8++) {
		struct report report;
		struct model *model = model_filled(is_utf8, &report);

		report.code.read = fake_code;
		type(model, &report, "\tG5"); /* the last function's place has no file to be read */
		assert_true(selects(model, "-  0x401044"));
		type(model, &report, "1jj5");
		press(model, &report, 'g');
		press(model, &report, 'j');
		assert_golden_sizes("instructions", is_utf8, model, &report);
		/* The selection stays with its instruction. */
		type(model, &report, "jj");
		assert_true(selects(model, "+0x6 "));
		press(model, &report, 'r');
		assert_true(selects(model, "+0x6 "));
		assert_false(shows(model, "src/state.c:20")); /* no hits are there */
		model_free(model);
		fixture_free(&report);
	}
}

/* The last writes, in the values' view when it is asked for again. */
static void test_history(void **state)
{
	(void)state;
	for (int is_utf8 = 0; is_utf8 < 2; is_utf8++) {
		struct report report;
		struct model *model = model_filled(is_utf8, &report);

		type(model, &report, "66");
		assert_golden_sizes("history", is_utf8, model, &report);
		press(model, &report, 'G');
		assert_true(selects(model, "0.437000")); /* the oldest that is kept */
		press(model, &report, 'r');
		assert_true(selects(model, "0.500000"));
		press(model, &report, '\t');
		assert_true(shows(model, "no value is known yet"));
		press(model, &report, '6');
		assert_true(shows(model, "value written"));
		model_free(model);
		fixture_free(&report);
	}
}

static void test_instructions_again(void **state)
{
	struct report report;
	struct model *model = model_filled(true, &report);

	(void)state;
	report.code.read = fake_code;
	model_key(model, '5', 0); /* faster than the screen is made */
	press(model, &report, '5');
	assert_true(selects(model, "+0x3 "));
	press(model, &report, '5');
	assert_true(selects(model, "counter += 20"));
	press(model, &report, '5');
	assert_true(selects(model, "+0x3 "));
	assert_true(shows(model, "update+0x3  0x401013"));
	press(model, &report, KEY_CODE_ENTER);
	assert_true(shows(model, "source      src/state.c:20"));
	press(model, &report, KEY_CODE_ESCAPE);
	press(model, &report, '5');
	assert_true(selects(model, "counter += 20"));
	model_free(model);
	fixture_free(&report);
}

static void test_wishes(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);
	struct frontend_wish wish;

	(void)state;
	assert_int_equal(press(model, &report, 'q').kind, WISH_QUIT);
	assert_int_equal(press(model, &report, KEY_CODE_F10).kind, WISH_QUIT);
	assert_int_equal(press(model, &report, 'z').kind, WISH_ZERO);
	assert_int_equal(press(model, &report, '!').kind, WISH_NONE);
	assert_int_equal(press(model, &report, KEY_CODE_NONE).kind, WISH_NONE);
	wish = type(model, &report, "wj\025out.json\r");
	assert_int_equal(wish.kind, WISH_REPORT);
	assert_int_equal(wish.format, REPORT_JSON);
	assert_string_equal(wish.text, "out.json");
	wish = type(model, &report, "ws\r");
	assert_string_equal(wish.text, "watchprof.tsv");
	assert_int_equal(wish.format, REPORT_TSV);
	assert_int_equal(type(model, &report, "wt\025\r").kind, WISH_NONE);
	assert_int_equal(type(model, &report, "w\033q").kind, WISH_QUIT);
	wish = type(model, &report, "i0.25\r");
	assert_int_equal(wish.kind, WISH_INTERVAL);
	assert_int_equal(wish.interval_ns, SECOND / 4);
	assert_int_equal(type(model, &report, "i0\r").kind, WISH_NONE);
	assert_true(shows(model, "the interval is"));
	press(model, &report, 'j');
	assert_false(shows(model, "the interval is"));
	model_tell(model, "told\033[1m");
	assert_true(shows(model, "!|told\\x1b[1m"));
	model_finish(model);
	assert_int_equal(press(model, &report, 'z').kind, WISH_NONE);
	assert_true(shows(model, "The run has ended"));
	assert_int_equal(type(model, &report, "wt\r").kind, WISH_REPORT);
	model_free(model);
	fixture_free(&report);
}

/* Does the selected row have this text in it? */
static bool selects(struct model *model, const char *text)
{
	struct model_line *lines;
	bool is_there = false;

	model_size(model, 120, 40);
	lines = model_draw(model);
	for (size_t i = 0; i < 40; i++)
		is_there |= lines[i].style == LINE_SELECTED && strstr(lines[i].text, text);
	model_lines_free(lines, 40);
	return is_there;
}

static void test_moving(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);

	(void)state;
	press(model, &report, '\t');
	assert_true(selects(model, "  1 "));
	type(model, &report, "jj");
	assert_true(selects(model, "  3 "));
	press(model, &report, KEY_CODE_UP);
	assert_true(selects(model, "  2 "));
	press(model, &report, 'G');
	press(model, &report, KEY_CODE_DOWN);
	assert_true(selects(model, " 12 "));
	press(model, &report, 'g');
	assert_true(selects(model, "  1 "));
	press(model, &report, KEY_CODE_WHEEL_DOWN);
	assert_true(selects(model, "  4 "));
	press(model, &report, KEY_CODE_PAGE_DOWN);
	assert_true(selects(model, " 12 "));
	press(model, &report, KEY_CODE_PAGE_UP);
	assert_true(selects(model, "  1 "));
	model_key(model, KEY_CODE_CLICK, 39); /* the line of the keys */
	assert_true(selects(model, "  1 "));
	for (size_t line = 0; line < 40; line++) {
		model_key(model, KEY_CODE_CLICK, line);
		model_update(model, &report, 2 * SECOND);
		if (!selects(model, "  1 "))
			break;
	}
	assert_true(selects(model, "  2 "));
	model_free(model);
	fixture_free(&report);
}

static void test_search(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);

	(void)state;
	press(model, &report, 'n');
	assert_true(shows(model, "nothing is searched for"));
	type(model, &report, "\t/_KG");
	assert_true(shows(model, " |/_KG"));
	press(model, &report, '\r');
	assert_true(selects(model, "_kg"));
	type(model, &report, "/read_it\r");
	assert_true(selects(model, "read_it"));
	press(model, &report, 'n');
	assert_true(selects(model, "read_it"));
	type(model, &report, "/nowhere\r");
	assert_true(shows(model, "not found"));
	assert_true(selects(model, "read_it"));
	/* On a paused screen as well. */
	type(model, &report, " g/_kg\r");
	assert_true(selects(model, "_kg"));
	model_free(model);
	fixture_free(&report);
}

/* Where on its line the screen has a text for the first time. */
static size_t column_of(struct model *model, const char *text)
{
	char *screen = screen_text(model, 120, 40), *rest = screen, *line, *found = NULL;
	size_t column = SIZE_MAX;

	while (!found && (line = strsep(&rest, "\n"))) {
		found = strstr(line, text);
		if (found)
			column = (size_t)(found - line);
	}
	free(screen);
	assert_true(column != SIZE_MAX);
	return column;
}

/* The heading is above its columns, with and without the mark of the reversed order. */
static void test_heading(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);

	(void)state;
	type(model, &report, "sw");
	assert_true(shows(model, " writes function"));
	assert_int_equal(column_of(model, "line       module"), column_of(model, "state.c:20 prog"));
	type(model, &report, "r");
	assert_true(shows(model, " writes^ function"));
	assert_int_equal(column_of(model, "line       module"), column_of(model, "state.c:20 prog"));
	model_free(model);
	fixture_free(&report);
}

static void test_filter_and_sort(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);

	(void)state;
	type(model, &report, "\t\\_kg\r");
	assert_true(shows(model, "FILTER _kg"));
	assert_false(shows(model, "update"));
	press(model, &report, KEY_CODE_ESCAPE);
	assert_false(shows(model, "FILTER"));
	assert_true(shows(model, "update"));
	type(model, &report, "\\nowhere\r");
	assert_true(shows(model, "no hits pass the filter"));
	press(model, &report, KEY_CODE_ESCAPE);
	assert_true(selects(model, "update")); /* 335 hits, all of them writes as well */
	type(model, &report, "sr");
	assert_true(selects(model, "update"));
	type(model, &report, "r");
	assert_false(selects(model, "update"));
	assert_true(shows(model, "reads^"));
	type(model, &report, "rsn");
	assert_false(selects(model, "update"));
	type(model, &report, "sz"); /* no such column: as it was */
	assert_false(selects(model, "update"));
	type(model, &report, "sh");
	assert_true(selects(model, "update"));
	model_free(model);
	fixture_free(&report);
}

static void test_folding(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);

	(void)state;
	press(model, &report, '2');
	assert_true(selects(model, "- state_set (inlined)"));
	assert_true(shows(model, "- libc.so.6"));
	press(model, &report, 'x');
	assert_true(selects(model, "+ state_set (inlined)"));
	assert_false(shows(model, "- libc.so.6"));
	press(model, &report, 'x');
	assert_true(shows(model, "- libc.so.6"));
	press(model, &report, 'X');
	assert_false(shows(model, "- state_set"));
	assert_false(shows(model, "- read_it"));
	press(model, &report, 'x');
	assert_true(shows(model, "- state_set"));
	press(model, &report, '2');
	assert_true(shows(model, "[1 functions]"));
	press(model, &report, 'x'); /* there is nothing to fold */
	model_free(model);
	fixture_free(&report);
}

/* The list of watches leads to each of them; Tab goes round. */
static void test_watches(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);

	(void)state;
	type(model, &report, "7jj\r");
	assert_true(shows(model, "watch 3 of 7"));
	assert_true(shows(model, "[1 functions]"));
	type(model, &report, "\t\t\t\t\t");
	assert_true(shows(model, "watch 1 of 7"));
	model_free(model);
	fixture_free(&report);
}

static void test_watch_wishes(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);
	struct frontend_wish wish;

	(void)state;
	wish = press(model, &report, '-');
	assert_int_equal(wish.kind, WISH_CLEAR);
	assert_string_equal(wish.text, "counter:w");
	wish = type(model, &report, "eb");
	assert_int_equal(wish.kind, WISH_CHANGE);
	assert_string_equal(wish.text, "counter:rw");
	assert_int_equal(type(model, &report, "e\033").kind, WISH_NONE);
	wish = type(model, &report, "\ter");
	assert_string_equal(wish.text, "std::map<int, \"a\tb\">::v/16:r");
	type(model, &report, "7jj");
	assert_string_equal(press(model, &report, '-').text, "by_the_kernel:rw"); /* two below the second one */
	press(model, &report, 't');
	assert_true(shows(model, "trace to file: watchprof.trace"));
	wish = type(model, &report, "\025a.trace\r");
	assert_int_equal(wish.kind, WISH_TRACE);
	assert_true(wish.on);
	assert_string_equal(wish.text, "a.trace");
	assert_int_equal(type(model, &report, "t\025\r").kind, WISH_NONE);
	report.is_traced = report.is_tracing = true;
	model_update(model, &report, 3 * SECOND);
	assert_true(shows(model, ", TRACED"));
	wish = press(model, &report, 't');
	assert_int_equal(wish.kind, WISH_TRACE);
	assert_false(wish.on);
	assert_null(wish.text);
	report.is_tracing = false;
	model_update(model, &report, 4 * SECOND);
	assert_false(shows(model, ", TRACED"));
	assert_true(press(model, &report, 't').on);
	model_finish(model);
	assert_int_equal(type(model, &report, "-ew+t").kind, WISH_NONE);
	model_free(model);
	fixture_free(&report);
}

/* The variable picker: names that fit, best first; what is chosen becomes a watch. */
static void test_picker(void **state)
{
	struct report report;
	struct model *model = model_filled(true, &report);
	struct frontend_wish wish;

	(void)state;
	press(model, &report, '+');
	assert_true(shows(model, "being listed"));
	assert_true(model_is_waiting(model));
	model_size(model, 80, 12);
	model_update(model, &report, 2 * SECOND);
	assert_false(model_is_waiting(model));
	assert_golden("model-picker.txt", screen_text(model, 80, 12));
	type(model, &report, "count");
	assert_golden("model-picker-count.txt", screen_text(model, 80, 12));
	report.engine = "page";
	model_update(model, &report, 2 * SECOND);
	assert_false(shows(model, "slots"));
	wish = type(model, &report, ":w\r");
	assert_int_equal(wish.kind, WISH_ADD);
	assert_string_equal(wish.text, "counter:w");
	assert_true(shows(model, "[1 functions]"));
	/* Of two of a name the file is needed. */
	type(model, &report, "+stat");
	press(model, &report, KEY_CODE_DOWN);
	assert_string_equal(press(model, &report, '\r').text, "b.c::state");
	/* An expression is taken as it is, also one that begins with a variable. */
	assert_string_equal(type(model, &report, "+account->sum\r").text, "account->sum");
	assert_string_equal(type(model, &report, "+acc\t/8\r").text, "account/8");
	assert_string_equal(type(model, &report, "+acc:w,changed\r").text, "account:w,changed");
	assert_string_equal(type(model, &report, "+0x1000/4\r").text, "0x1000/4");
	/* Typed faster than the list is shown. */
	press(model, &report, '+');
	model_key(model, 's', 0);
	model_key(model, 't', 0);
	model_key(model, KEY_CODE_DOWN, 0);
	assert_string_equal(model_key(model, '\r', 0).text, "b.c::state");
	assert_int_equal(type(model, &report, "+count\033").kind, WISH_NONE);
	assert_true(shows(model, "[1 functions]"));
	model_free(model);
	fixture_free(&report);
}

static void until_there(struct model *model, const struct report *report)
{
	for (int i = 0; i < 9 && model_is_waiting(model); i++)
		model_update(model, report, 2 * SECOND);
	assert_false(model_is_waiting(model));
}

/* A variable is unfolded, and what it holds, too. */
static void test_unfold(void **state)
{
	(void)state;
	for (int is_utf8 = 0; is_utf8 < 2; is_utf8++) {
		struct report report;
		struct model *model = model_filled(is_utf8, &report);

		type(model, &report, "+accou");
		until_there(model, &report);
		press(model, &report, KEY_CODE_RIGHT);
		assert_true(model_is_waiting(model));
		assert_true(shows(model, "being listed"));
		until_there(model, &report);
		for (int i = 0; i < 4; i++)
			press(model, &report, KEY_CODE_DOWN);
		press(model, &report, KEY_CODE_RIGHT);
		until_there(model, &report);
		press(model, &report, KEY_CODE_DOWN);
		assert_golden_sizes("unfolded", is_utf8, model, &report);
		assert_string_equal(type(model, &report, "\r").text, "account->names[0]");
		model_free(model);
		fixture_free(&report);
	}
}

/* Left goes back to what a row is a part of, and folds it. What has no parts says so. */
static void test_fold_back(void **state)
{
	struct report report;
	struct model *model = model_filled(true, &report);

	(void)state;
	type(model, &report, "+accou");
	press(model, &report, KEY_CODE_RIGHT);
	until_there(model, &report);
	press(model, &report, KEY_CODE_DOWN);
	press(model, &report, KEY_CODE_DOWN);
	assert_true(selects(model, "->sum"));
	press(model, &report, KEY_CODE_LEFT);
	assert_true(selects(model, "- account "));
	press(model, &report, KEY_CODE_LEFT);
	assert_true(selects(model, "+ account "));
	assert_false(shows(model, "->sum"));
	press(model, &report, KEY_CODE_RIGHT);
	assert_true(shows(model, "->sum")); /* it is known */
	model_key(model, KEY_CODE_CLICK, 4);
	model_update(model, &report, 2 * SECOND);
	assert_true(selects(model, "->is_open"));
	assert_string_equal(type(model, &report, ":w\r").text, "account:w"); /* typing begins anew */
	type(model, &report, "+state");
	press(model, &report, KEY_CODE_DOWN);
	press(model, &report, KEY_CODE_RIGHT);
	until_there(model, &report);
	assert_true(shows(model, "has no members: its type is int\\x1b"));
	press(model, &report, KEY_CODE_DOWN);
	press(model, &report, '\t'); /* a text is no choice */
	assert_true(shows(model, "watch: state"));
	type(model, &report, "\033");
	model_free(model);
	fixture_free(&report);
}

/* A path that is typed is completed from the parts of what it has so far. */
static void test_path(void **state)
{
	struct report report;
	struct model *model = model_filled(true, &report);

	(void)state;
	type(model, &report, "+account->");
	until_there(model, &report);
	assert_true(shows(model, "Parts: 4"));
	type(model, &report, "nam");
	assert_true(selects(model, "account->names"));
	type(model, &report, "\t[");
	until_there(model, &report);
	assert_true(shows(model, "Parts: 2"));
	type(model, &report, "1");
	assert_true(selects(model, "account->names[1]"));
	type(model, &report, "7");
	assert_true(selects(model, "account->names[17]"));
	assert_string_equal(type(model, &report, "]/2:w\r").text, "account->names[17]/2:w");
	type(model, &report, "+account->su");
	until_there(model, &report);
	assert_string_equal(type(model, &report, ":r\r").text, "account->sum:r");
	type(model, &report, "+account->sum+1");
	until_there(model, &report);
	assert_string_equal(type(model, &report, "/1\r").text, "account->sum+1/1");
	type(model, &report, "+b.c::stat");
	assert_false(model_is_waiting(model));
	assert_string_equal(type(model, &report, "e\r").text, "b.c::state");
	model_free(model);
	fixture_free(&report);
}

/* Without a watch the picker is there from the beginning. */
static void test_no_watch(void **state)
{
	struct report report = fixture_bare();
	struct model *model = model_new(true, &eyes);

	(void)state;
	report.n_watches = 0;
	model_size(model, 80, 24);
	model_update(model, &report, SECOND);
	assert_true(shows(model, "Variables"));
	press(model, &report, '\033');
	assert_true(shows(model, "nothing is watched"));
	for (const char *key = "1234567jG\t?o\r-exnrsw\033"; *key; key++)
		press(model, &report, *key);
	report.n_watches = 1;
	model_update(model, &report, 2 * SECOND);
	press(model, &report, '1');
	assert_true(shows(model, "> 1 v:w"));
	model_free(model);
	fixture_free(&report);
}

static void test_prompt(void **state)
{
	struct report report;
	struct model *model = model_filled(true, &report);
	size_t line, column;

	(void)state;
	assert_false(model_cursor(model, &line, &column));
	type(model, &report, "/one two\027\b\xc3\xb6");
	assert_true(shows(model, "|/one\xc3\xb6\n"));
	assert_true(model_cursor(model, &line, &column));
	assert_int_equal(line, 39);
	assert_int_equal(column, 5);
	press(model, &report, KEY_CODE_LEFT);
	press(model, &report, KEY_CODE_LEFT);
	press(model, &report, KEY_CODE_DELETE);
	assert_true(shows(model, "|/on\xc3\xb6\n"));
	type(model, &report, "\001X\005Y");
	assert_true(shows(model, "|/Xon\xc3\xb6Y\n"));
	press(model, &report, KEY_CODE_HOME);
	press(model, &report, KEY_CODE_RIGHT);
	type(model, &report, "\013");
	assert_true(shows(model, "|/X\n"));
	for (int i = 0; i < 500; i++)
		press(model, &report, 'w');
	assert_true(model_cursor(model, &line, &column));
	assert_in_range(column, 0, 119);
	press(model, &report, KEY_CODE_ESCAPE);
	assert_false(model_cursor(model, &line, &column));
	model_free(model);
	fixture_free(&report);
}

/* Every key of the help is one that dispatches, and the other way round; each does something. */
static void test_help_is_the_table(void **state)
{
	size_t n;
	const struct key_binding *table = keys_table(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(keys_action(table[i].key), table[i].action);
		assert_true((table[i].key_name != NULL) == (table[i].help != NULL));
		assert_true(table[i].action != ACTION_NONE);
	}
}

/* A paused screen does not change while counting goes on, but for what the user asks. */
static void test_pause(void **state)
{
	struct report report, other = fixture_bare();
	struct model *model = model_filled(false, &report);
	char *before, *after;

	(void)state;
	press(model, &report, ' ');
	before = screen_text(model, 80, 24);
	assert_non_null(strstr(before, "PAUSED"));
	model_update(model, &other, 9 * SECOND);
	after = screen_text(model, 80, 24);
	assert_string_equal(before, after);
	press(model, &report, 'G');
	assert_true(selects(model, "  2 "));
	press(model, &report, '2');
	assert_true(shows(model, "[2 callers]"));
	press(model, &report, ' ');
	assert_false(shows(model, "PAUSED"));
	free(before);
	free(after);
	model_free(model);
	fixture_free(&report);
	fixture_free(&other);
}

/* Rates and the graph come from the samples, at least half a second apart. */
static void test_rates(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);
	struct hit hit = {.watches = 1, .kind = HIT_WRITE, .pid = 1234, .tid = 1234, .image = 1, .n_frames = 1, .frames = {0x401015}};

	(void)state;
	assert_true(shows(model, "-/s"));
	for (int i = 0; i < 100; i++)
		profile_add((struct profile *)report.profile, &hit);
	model_update(model, &report, SECOND + SECOND / 10);
	assert_true(shows(model, "-/s"));
	model_update(model, &report, 3 * SECOND);
	assert_true(shows(model, " 50/s"));
	model_update(model, &report, 4 * SECOND);
	assert_true(shows(model, " 0/s"));
	assert_true(shows(model, "#_"));
	model_free(model);
	fixture_free(&report);
}

/* After more than a day: the time, counts that go beyond 32 bits and nearly to the end of 64, and their rates, which come
 * from differences. Nothing was looked at for a day, either: a paused screen, or one that was stopped. */
static void test_day(void **state)
{
	static const struct {
		uint64_t more;
		const char *hits, *total;
	} rows[] = {{UINT32_MAX - 1400, "4294967345 hits 50/s", "4294967942 hits, 90000 s"},
		{UINT64_MAX - 10000, "18446744073709543065 hits 50/s", "18446744073709543662 hits, 90000 s"}};
	struct hit hit = {.watches = 1, .kind = HIT_WRITE, .pid = 1234, .tid = 1234, .image = 1, .n_frames = 1, .frames = {0x401015}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct report report;
		struct model *model = model_filled(false, &report);

		fixture_long(&report, rows[i].more);
		report.threads_now = 2;
		report.stopped_ns = LONG_NS / 2;
		model_update(model, &report, SECOND + LONG_NS);
		assert_true(shows(model, "stopped 25.0% of the time"));
		for (int n = 0; n < 100; n++)
			profile_add((struct profile *)report.profile, &hit);
		model_update(model, &report, 3 * SECOND + LONG_NS);
		assert_true(shows(model, rows[i].hits));
		assert_true(shows(model, rows[i].total));
		assert_true(shows(model, "stopped 0.0% of the time"));
		report.stopped_ns += LONG_NS;
		model_update(model, &report, 3 * SECOND + 2 * LONG_NS);
		assert_true(shows(model, " 0/s"));
		assert_true(shows(model, "stopped 50.0% of the time"));
		model_free(model);
		fixture_free(&report);
	}
}

static void test_stopped(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);

	(void)state;
	report.threads_now = 2;
	report.stopped_ns = SECOND / 2;
	model_update(model, &report, 2 * SECOND);
	assert_true(shows(model, "stopped 25.0% of the time"));
	model_free(model);
	fixture_free(&report);
}

static void test_nothing_yet(void **state)
{
	struct report report = fixture_bare();
	struct model *model = model_new(true, NULL);

	(void)state;
	assert_true(shows(model, "starting"));
	for (const char *key = "1234567?oG\rx/\rn"; *key; key++) {
		press(model, &report, *key);
		assert_true(shows(model, "q quit") || shows(model, "watchprof"));
	}
	model_free(model);
	fixture_free(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_instructions_again),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_wishes),
		cmocka_unit_test(test_moving),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_heading),
		cmocka_unit_test(test_filter_and_sort),
		cmocka_unit_test(test_folding),
		cmocka_unit_test(test_watches),
		cmocka_unit_test(test_watch_wishes),
		cmocka_unit_test(test_picker),
		cmocka_unit_test(test_unfold),
		cmocka_unit_test(test_fold_back),
		cmocka_unit_test(test_pages_at_every_size),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_no_watch),
		cmocka_unit_test(test_prompt),
		cmocka_unit_test(test_help_is_the_table),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_day),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_nothing_yet),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
