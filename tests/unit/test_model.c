/* test_model.c checks the live screen's model: its lines at several sizes against files in
 * tests/golden (WATCHPROF_UPDATE_GOLDEN=1 rewrites them), and what keys do to it. */
#include "report_fixture.h"
#include "unit_help.h"
#include "watchprof/model.h"
#include "watchprof/util.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SECOND NS_PER_S

/* The screen as one text, the style of each line before it. */
static char *screen_text(struct model *model, size_t width, size_t height)
{
	static const char marks[] = {[LINE_PLAIN] = ' ',
		[LINE_TITLE] = 'T',
		[LINE_HEADING] = 'H',
		[LINE_SELECTED] = '>',
		[LINE_ALERT] = '!'};
	struct model_line *lines = model_draw(model, width, height);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	for (size_t i = 0; i < height; i++)
		fprintf(out, "%c|%s\n", marks[lines[i].style], lines[i].text);
	fclose(out);
	model_lines_free(lines, height);
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

static struct model *model_filled(bool is_utf8, struct report *report)
{
	struct model *model = model_new(is_utf8);

	*report = fixture_full();
	model_update(model, report, SECOND);
	return model;
}

static void test_golden(void **state)
{
	static const struct {
		const char *name;
		bool is_utf8;
		size_t width, height;
	} cases[] = {
		{"model-80x24-utf8.txt", true, 80, 24},
		{"model-80x24-ascii.txt", false, 80, 24},
		{"model-120x40-utf8.txt", true, 120, 40},
		{"model-41x10-ascii.txt", false, 41, 10},
		{"model-10x3-ascii.txt", false, 10, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct report report;
		struct model *model = model_filled(cases[i].is_utf8, &report);

		assert_golden(cases[i].name, screen_text(model, cases[i].width, cases[i].height));
		model_free(model);
		fixture_free(&report);
	}
}

static void test_other_views(void **state)
{
	struct report report;
	struct model *model = model_filled(true, &report);

	(void)state;
	model_act(model, ACTION_PATHS);
	model_update(model, &report, 2 * SECOND);
	assert_golden("model-paths.txt", screen_text(model, 100, 24));
	model_act(model, ACTION_NEXT_WATCH);
	model_update(model, &report, 2 * SECOND);
	assert_golden("model-next-watch.txt", screen_text(model, 100, 24));
	model_act(model, ACTION_HELP);
	assert_golden("model-help.txt", screen_text(model, 80, 24));
	model_free(model);
	fixture_free(&report);
}

/* No line is wider than the screen and none is missing, at any size. */
static void test_every_size(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);

	(void)state;
	for (size_t width = 1; width < 140; width += 3) {
		for (size_t height = 1; height < 50; height += 2) {
			struct model_line *lines = model_draw(model, width, height);

			for (size_t i = 0; i < height; i++) {
				assert_non_null(lines[i].text);
				assert_null(strpbrk(lines[i].text, "\n\t\033"));
			}
			model_lines_free(lines, height);
			model_act(model, width % 2 ? ACTION_DOWN : ACTION_PAGE_UP);
		}
	}
	model_free(model);
	fixture_free(&report);
}

static bool shows(struct model *model, const char *text)
{
	char *screen = screen_text(model, 120, 30);
	bool is_there = strstr(screen, text) != NULL;

	free(screen);
	return is_there;
}

static void test_keys(void **state)
{
	struct report report;
	struct model *model = model_filled(false, &report);

	(void)state;
	assert_int_equal(model_act(model, keys_action('q')), FRONTEND_QUIT);
	assert_int_equal(model_act(model, keys_action('z')), FRONTEND_ZERO);
	assert_int_equal(model_act(model, keys_action('!')), FRONTEND_GO_ON);
	assert_int_equal(model_act(model, keys_action(KEY_CODE_NONE)), FRONTEND_GO_ON);
	assert_false(shows(model, "PAUSED"));
	model_act(model, keys_action(' '));
	assert_true(shows(model, "PAUSED"));
	model_act(model, keys_action(' '));
	assert_false(shows(model, "PAUSED"));
	model_finish(model);
	assert_true(shows(model, "The run has ended"));
	assert_int_equal(model_act(model, keys_action('z')), FRONTEND_GO_ON);
	model_free(model);
	fixture_free(&report);
}

/* Every key of the help is one that dispatches, and the other way round. */
static void test_help_is_the_table(void **state)
{
	size_t n;
	const struct key_binding *table = keys_table(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(keys_action(table[i].key), table[i].action);
		assert_true((table[i].key_name != NULL) == (table[i].help != NULL));
	}
}

/* A paused screen does not change while counting goes on. */
static void test_pause(void **state)
{
	struct report report, other = fixture_bare();
	struct model *model = model_filled(false, &report);
	char *before, *after;

	(void)state;
	model_act(model, ACTION_PAUSE);
	before = screen_text(model, 80, 24);
	model_update(model, &other, 9 * SECOND);
	after = screen_text(model, 80, 24);
	assert_string_equal(before, after);
	free(before);
	free(after);
	model_free(model);
	fixture_free(&report);
	fixture_free(&other);
}

static void test_nothing_yet(void **state)
{
	struct report report = fixture_bare();
	struct model *model = model_new(true);

	(void)state;
	assert_true(shows(model, "starting"));
	model_update(model, &report, SECOND);
	assert_true(shows(model, "watchprof"));
	model_act(model, ACTION_DOWN);
	model_act(model, ACTION_LAST);
	assert_true(shows(model, "q quit"));
	model_free(model);
	fixture_free(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_other_views),
		cmocka_unit_test(test_every_size),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_help_is_the_table),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_nothing_yet),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
