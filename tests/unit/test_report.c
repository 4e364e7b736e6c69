/* test_report.c checks the reports: each format against a file in tests/golden, and read back
 * by a reader of its own (json-c for JSON), so that a golden file with a wrong number in it
 * cannot pass; then how reports are saved when the disk or the directory says no.
 *
 * WATCHPROF_UPDATE_GOLDEN=1 in the environment rewrites the golden files; look at the
 * difference before you commit it. */
#include "watchprof/report.h"

#include "report_fixture.h"
#include "unit_help.h"
#include "watchprof/util.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <locale.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The sums of the full run, added up by hand from report_fixture.c. */
#define FULL_HITS            1947
#define FULL_OVERRUN         5
#define FULL_COUNTER         1350
#define FULL_COUNTER_OVERRUN 5
#define FULL_MAP             932
#define FULL_MAP_OVERRUN     2

static char *written(enum report_format format, const struct report *report)
{
	struct err err = {0};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(report_write(out, format, report, &err), 0);
	fclose(out);
	assert_int_equal(strlen(text), len); /* no NUL in it */
	return text;
}

/* Rewrite a golden file, if that was asked for. */
static void golden_update(const char *name, const char *text)
{
	char *path = text_format("%s/%s", GOLDEN_DIR, name);

	if (getenv("WATCHPROF_UPDATE_GOLDEN"))
		file_write(path, text);
	free(path);
}

static void assert_golden(const char *name, const char *text)
{
	char *path = text_format("%s/%s", GOLDEN_DIR, name), *golden = file_read(path);

	if (!golden)
		print_error("%s is missing\n", path);
	assert_non_null(golden);
	assert_string_equal(text, golden);
	free(golden);
	free(path);
}

/* Text for people is aligned by the locale; what programs read is the same in all. */
static void test_golden(void **state)
{
	static const struct {
		const char *name, *locale;
		enum report_format format;
		bool is_master; /* the file is made from this one */
	} cases[] = {
		{"report-utf8.txt", "C.UTF-8", REPORT_TEXT, true},
		{"report-c.txt", "C", REPORT_TEXT, true},
		{"report.tsv", "C.UTF-8", REPORT_TSV, true},
		{"report.tsv", "C", REPORT_TSV, false},
		{"report.json", "C.UTF-8", REPORT_JSON, true},
		{"report.json", "C", REPORT_JSON, false},
		{"report.csv", "C.UTF-8", REPORT_CSV, true},
		{"report.csv", "C", REPORT_CSV, false},
		{"report.folded", "C.UTF-8", REPORT_FOLDED, true},
		{"report.folded", "C", REPORT_FOLDED, false},
	};
	struct report report = fixture_full();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *text;

		assert_non_null(setlocale(LC_ALL, cases[i].locale));
		text = written(cases[i].format, &report);
		setlocale(LC_ALL, "C");
		if (cases[i].is_master)
			golden_update(cases[i].name, text);
		assert_golden(cases[i].name, text);
		free(text);
	}
	fixture_free(&report);
}

/* What a row is, in which order, and how many. */
static void test_golden_views(void **state)
{
	static const struct {
		const char *name;
		enum report_format format;
		struct report_view view;
	} cases[] = {
		{"view-blame.txt", REPORT_TEXT, {.query = {.group = GROUP_BLAME}}},
		{"view-line.txt", REPORT_TEXT, {.query = {.group = GROUP_LINE, .limit = 3}}},
		{"view-path.txt", REPORT_TEXT, {.query = {.group = GROUP_PATH, .filter = "read_it"}}},
		{"view-callers.txt", REPORT_TEXT, {.query = {.group = GROUP_PATH}, .is_tree = true}},
		{"view-thread.txt", REPORT_TEXT, {.query = {.group = GROUP_THREAD}}},
		{"view-watch.txt", REPORT_TEXT, {.query = {.group = GROUP_WATCH}}},
		{"view-callers.tsv", REPORT_TSV, {.query = {.group = GROUP_PATH, .limit = 2}, .is_tree = true}},
		{"view-path.tsv", REPORT_TSV, {.query = {.group = GROUP_PATH, .sort = SORT_NAME}}},
	};
	struct report report = fixture_full();

	(void)state;
	assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *text;

		report.view = cases[i].view;
		text = written(cases[i].format, &report);
		golden_update(cases[i].name, text);
		assert_golden(cases[i].name, text);
		free(text);
	}
	setlocale(LC_ALL, "C");
	fixture_free(&report);
}

/* No hits (case 90): a valid report with an empty table in every format. */
static void test_golden_without_hits(void **state)
{
	static const char *const names[] = {
		[REPORT_TEXT] = "bare.txt",
		[REPORT_TSV] = "bare.tsv",
		[REPORT_JSON] = "bare.json",
		[REPORT_CSV] = "bare.csv",
		[REPORT_FOLDED] = "bare.folded"};
	struct report report = fixture_bare();

	(void)state;
	report.engine = "dr";
	report.self_test = "ok, 2 of 2 hits";
	report.end = "exited with status 0";
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *text = written((enum report_format)i, &report);

		golden_update(names[i], text);
		assert_golden(names[i], text);
		free(text);
	}
	fixture_free(&report);
}

/* A text that does not apply is left out or shown as unknown, never as "(null)". */
static void test_texts_that_do_not_apply(void **state)
{
	struct report report = fixture_bare();

	(void)state;
	for (int format = REPORT_TEXT; format <= REPORT_JSON; format++) {
		char *text = written((enum report_format)format, &report);

		assert_null(strstr(text, "(null)"));
		free(text);
	}
	fixture_free(&report);
}

/* Nothing in a text but newlines and tabs is a control character, and all of it is UTF-8. */
static void assert_harmless(const char *text)
{
	for (const char *at = text; *at;) {
		size_t len = utf8_sequence(at);

		assert_true(len > 0);
		assert_true((unsigned char)*at >= 0x20 || *at == '\n' || *at == '\t');
		assert_false(*at == 0x7f);
		assert_false(
			len == 2 && (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0);
		at += len;
	}
}

/* Take the carriage returns that are part of a line's end away. */
static void strip_returns(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++) {
		if (at[0] != '\r' || at[1] != '\n')
			*to++ = *at;
	}
	*to = '\0';
}

static void test_hostile_names_are_harmless(void **state)
{
	struct report report = fixture_full();

	(void)state;
	for (int format = REPORT_TEXT; format <= REPORT_FOLDED; format++) {
		char *text = written((enum report_format)format, &report);

		if (format == REPORT_CSV) /* its lines end in CR LF */
			strip_returns(text);
		if (format == REPORT_JSON)
			assert_null(strchr(text, '\t'));
		assert_harmless(text);
		assert_true(text[strlen(text) - 1] == '\n');
		free(text);
	}
	fixture_free(&report);
}


/* A reader of tab-separated reports. Lines are cut in place; fields by column name. */
struct tsv {
	char *text, *header, *rows;
	size_t n_columns;
};

static struct tsv tsv_open(char *text)
{
	struct tsv tsv = {.text = text};
	char *line = text;

	while (*line == '#')
		line = strchr(line, '\n') + 1;
	tsv.header = line;
	tsv.rows = strchr(line, '\n');
	*tsv.rows++ = '\0';
	for (tsv.n_columns = 1; (line = strchr(line, '\t')); line++)
		tsv.n_columns++;
	return tsv;
}

/* Field n of a line that ends at a newline or NUL, unescaped, into a buffer. */
static void field_copy(const char *line, size_t n, char *out, size_t size)
{
	size_t len = 0;

	while (n--) {
		line += strcspn(line, "\t\n");
		assert_int_equal(*line, '\t');
		line++;
	}
	for (; *line && *line != '\t' && *line != '\n'; line++) {
		static const char named[][2] = {
			{'t', '\t'}, {'n', '\n'}, {'r', '\r'}, {'\\', '\\'}};
		unsigned byte = (unsigned char)*line;
		size_t i = 0;

		if (byte == '\\') {
			line++;
			while (i < ARRAY_LEN(named) && named[i][0] != *line)
				i++;
			if (i < ARRAY_LEN(named)) {
				byte = (unsigned char)named[i][1];
			} else {
				assert_int_equal(sscanf(line, "x%2x", &byte), 1);
				line += 2;
			}
		}
		assert_true(len + 1 < size);
		out[len++] = (char)byte;
	}
	out[len] = '\0';
}

/* The field of a row by the name of its column. */
static void row_field(
	const struct tsv *tsv, const char *row, const char *column, char *out, size_t size)
{
	char name[64] = "";

	for (size_t c = 0; c < tsv->n_columns; c++) {
		field_copy(tsv->header, c, name, sizeof(name));
		if (strcmp(name, column) == 0) {
			field_copy(row, c, out, size);
			return;
		}
	}
	fail();
}

/* A row by number; NULL behind the last. Every row has as many fields as the header. */
static const char *row_at(const struct tsv *tsv, size_t n)
{
	const char *row = tsv->rows;
	size_t fields = 1;

	while (n-- && *row)
		row = strchr(row, '\n') + 1;
	if (!*row)
		return NULL;
	for (size_t i = 0; row[i] != '\n'; i++)
		fields += row[i] == '\t';
	assert_int_equal(fields, tsv->n_columns);
	return row;
}

static uint64_t row_number(const struct tsv *tsv, const char *row, const char *column)
{
	char text[64], *end;
	uint64_t number;

	row_field(tsv, row, column, text, sizeof(text));
	number = strtoull(text, &end, 10);
	assert_true(*text && !*end);
	return number;
}

/* Read the rows back: sums by watch, and every hostile name as it was (case 92). */
static void test_tsv_read_back(void **state)
{
	struct report report = fixture_full();
	struct tsv tsv = tsv_open(written(REPORT_TSV, &report));
	uint64_t sums[2] = {0};
	unsigned found = 0;
	const char *row;

	(void)state;
	for (size_t r = 0; (row = row_at(&tsv, r)); r++) {
		char watch[128], function[128], share[32];
		uint64_t hits = row_number(&tsv, row, "hits");
		unsigned w;

		row_field(&tsv, row, "watch", watch, sizeof(watch));
		row_field(&tsv, row, "function", function, sizeof(function));
		row_field(&tsv, row, "share", share, sizeof(share));
		w = strcmp(watch, report.watches[1].text) == 0;
		assert_true(w || strcmp(watch, "counter:w") == 0);
		sums[w] += hits;
		assert_true(strtod(share, NULL) > 0 && strlen(share) == 6 && share[1] == '.');
		for (unsigned i = 0; i < HOSTILE_NAMES; i++) {
			if (strcmp(function, hostile_names[i]) != 0)
				continue;
			found |= 1U << i;
			assert_int_equal(hits, 30 - i);
			assert_int_equal(row_number(&tsv, row, "line"), 8 + i);
			assert_int_equal(row_number(&tsv, row, "reads"), 30 - i);
			assert_int_equal(row_number(&tsv, row, "writes"), 0);
		}
	}
	assert_int_equal(found, (1U << HOSTILE_NAMES) - 1);
	assert_int_equal(sums[0], FULL_COUNTER - FULL_COUNTER_OVERRUN);
	assert_int_equal(sums[1], FULL_MAP - FULL_MAP_OVERRUN);
	free(tsv.text);
	fixture_free(&report);
}

/* The text behind "# KEY\t" of a header line; NULL where there is none. */
static const char *tsv_header(const char *text, const char *key)
{
	char *start = text_format("\n# %s\t", key);
	const char *at = strstr(text, start);

	at = at ? at + strlen(start) : NULL;
	free(start);
	return at;
}

static void test_tsv_header(void **state)
{
	static const struct {
		const char *key, *value;
	} expected[] = {{"version", "9.8.7"},
		{"command_line", "watchprof -e counter:w -- prog a\tb"},
		{"command", "/bin/prog\x1b[0m"}, {"pid", "1234"}, {"engine", "dr"},
		{"self_test", "ok, 2 of 2 hits"}, {"start", "1700000000"}, {"duration", "1.234568"},
		{"threads_armed", "5"}, {"threads_born", "3"}, {"threads_unarmed", "1"},
		{"hits", "1947"}, {"lost", "4"}, {"overrun", "5"}, {"end", "exited with status 3"},
		{"complete", "no"}};
	struct report report = fixture_full();
	char *text = written(REPORT_TSV, &report), value[256];
	const char *watch = text;

	(void)state;
	assert_int_equal(strncmp(text, "# watchprof-report 1\n", 21), 0);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		const char *at = tsv_header(text, expected[i].key);

		assert_non_null(at);
		field_copy(at, 0, value, sizeof(value));
		assert_string_equal(value, expected[i].value);
	}
	/* expression, address, length, access, slots, hits, overrun, state, changed, object */
	for (size_t i = 0; i < report.n_watches; i++) {
		static const char *const changed[] = {
			"yes", "yes", "no", "yes", "unknown", "unknown", "unknown"};

		watch = tsv_header(watch, "watch");
		assert_non_null(watch);
		field_copy(watch, 0, value, sizeof(value));
		assert_string_equal(value, report.watches[i].text);
		field_copy(watch, 7, value, sizeof(value));
		assert_string_equal(value, report.watches[i].state);
		field_copy(watch, 8, value, sizeof(value));
		assert_string_equal(value, changed[i]);
		field_copy(watch, 9, value, sizeof(value));
		assert_string_equal(
			value, report.watches[i].object ? report.watches[i].object : "-");
	}
	free(text);
	fixture_free(&report);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		print_error("no member %s\n", key);
	assert_true(json_object_object_get_ex(object, key, NULL));
	return value;
}

static uint64_t number(struct json_object *object, const char *key)
{
	assert_int_equal(json_object_get_type(member(object, key)), json_type_int);
	return json_object_get_uint64(member(object, key));
}

static const char *string(struct json_object *object, const char *key)
{
	assert_int_equal(json_object_get_type(member(object, key)), json_type_string);
	return json_object_get_string(member(object, key));
}

static struct json_object *json_read(char *text)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *root;

	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	root = json_tokener_parse_ex(tokener, text, (int)strlen(text) + 1);
	if (!root)
		print_error("%s\n", json_tokener_error_desc(json_tokener_get_error(tokener)));
	assert_non_null(root);
	json_tokener_free(tokener);
	free(text);
	return root;
}

/* The sum of the hits in one list of rows, for each of the two watches that have some. */
static void assert_sums(struct json_object *root, const struct report *report, const char *list)
{
	struct json_object *rows = member(root, list);
	uint64_t sums[2] = {0};

	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		unsigned w = strcmp(string(row, "watch"), report->watches[1].text) == 0;
		double share = json_object_get_double(member(row, "share"));
		double all = w ? FULL_MAP : FULL_COUNTER;

		sums[w] += number(row, "hits");
		assert_true(share * all > (double)number(row, "hits") - 1e-6);
		assert_true(share * all < (double)number(row, "hits") + 1e-6);
	}
	assert_int_equal(sums[0], FULL_COUNTER - FULL_COUNTER_OVERRUN);
	assert_int_equal(sums[1], FULL_MAP - FULL_MAP_OVERRUN);
}

static void test_json_numbers(void **state)
{
	struct report report = fixture_full();
	struct json_object *root = json_read(written(REPORT_JSON, &report)), *threads;

	(void)state;
	assert_string_equal(string(root, "format"), "watchprof-report");
	assert_int_equal(number(root, "format_version"), 1);
	assert_int_equal(number(root, "pid"), 1234);
	assert_int_equal(number(root, "hits"), FULL_HITS);
	assert_int_equal(number(root, "overrun"), FULL_OVERRUN);
	assert_int_equal(number(root, "lost"), 4);
	assert_int_equal(number(root, "threads_armed"), 5);
	assert_int_equal(number(root, "start"), 1700000000);
	assert_true(json_object_get_double(member(root, "duration")) == 1.23456789);
	assert_int_equal(json_object_get_type(member(root, "complete")), json_type_boolean);
	assert_false(json_object_get_boolean(member(root, "complete")));
	assert_int_equal(json_object_array_length(member(root, "warnings")), 2);
	assert_sums(root, &report, "functions");
	assert_sums(root, &report, "threads");
	assert_sums(root, &report, "paths");
	threads = member(root, "threads");
	assert_int_equal(json_object_array_length(threads), 4);
	assert_int_equal(number(json_object_array_get_idx(threads, 0), "tid"), 1234);
	assert_int_equal(number(json_object_array_get_idx(threads, 0), "hits"), 1012);
	assert_null(member(json_object_array_get_idx(threads, 0), "reads")); /* unknown: null */
	assert_int_equal(number(json_object_array_get_idx(threads, 0), "writes"), 1012);
	json_object_put(root);
	fixture_free(&report);
}

static void test_json_watches(void **state)
{
	static const uint64_t hits[] = {FULL_COUNTER, FULL_MAP, 0, 0, 0, 0, 0};
	static const uint64_t overrun[] = {FULL_COUNTER_OVERRUN, FULL_MAP_OVERRUN, 0, 0, 0, 0, 0};
	struct report report = fixture_full();
	struct json_object *root = json_read(written(REPORT_JSON, &report)), *watches;

	(void)state;
	watches = member(root, "watches");
	assert_int_equal(json_object_array_length(watches), report.n_watches);
	for (size_t i = 0; i < report.n_watches; i++) {
		struct json_object *watch = json_object_array_get_idx(watches, i);
		struct json_object *changed = member(watch, "changed");

		assert_string_equal(string(watch, "watch"), report.watches[i].text);
		assert_string_equal(string(watch, "state"), report.watches[i].state);
		assert_string_equal(string(watch, "access"), report.watches[i].access);
		assert_true(strtoull(string(watch, "address"), NULL, 16) == report.watches[i].addr);
		assert_true(number(watch, "length") == report.watches[i].len);
		assert_true(number(watch, "hits") == hits[i]);
		assert_true(number(watch, "overrun") == overrun[i]);
		assert_int_equal(!!changed, report.watches[i].compared);
		assert_int_equal(json_object_get_boolean(changed), report.watches[i].changed);
	}
	assert_null(member(json_object_array_get_idx(watches, 5), "object"));
	json_object_put(root);
	fixture_free(&report);
}

/* JSON carries names as they are; what cannot stand there is escaped as in the other formats. */
static void test_json_names(void **state)
{
	struct report report = fixture_full();
	struct json_object *root = json_read(written(REPORT_JSON, &report)), *rows;
	unsigned found = 0;

	(void)state;
	rows = member(root, "functions");
	for (size_t r = 0; r < json_object_array_length(rows); r++) {
		struct json_object *row = json_object_array_get_idx(rows, r),
				   *name = member(row, "function");

		for (unsigned i = 0; name && i < HOSTILE_NAMES; i++) {
			char *escaped = text_escaped(hostile_names[i]);
			const char *shown = json_object_get_string(name);

			if (strcmp(shown, hostile_names[i]) == 0 ||
				((i == 4 || i == 6) && strcmp(shown, escaped) == 0))
				found |= 1U << i;
			free(escaped);
		}
	}
	assert_int_equal(found, (1U << HOSTILE_NAMES) - 1);
	json_object_put(root);
	fixture_free(&report);
}

/* The three reasons of a silent watch, and what stands out in the text: lost hits, overrun,
 * an incomplete run, a watch that waits or ended. */
static void test_text_says_so(void **state)
{
	static const char *const parts[] = {
		"1.235 s",
		"4 LOST",
		"5 of them without a place in the table",
		"ended: exited with status 3; INCOMPLETE\n",
		"watch quiet:w: 1 byte at 0x404048, access w, 1 slot, quiet, main.c:4\n"
		"  0 hits: no access seen, value unchanged; self-test: ok, 2 of 2 hits\n",
		"  0 hits: its value changed without a counted access (the kernel, or another "
		"process)",
		"watch unmapped:w: 8 bytes at 0x404058, access w, 1 slot, unmapped, main.c:6\n"
		"  0 hits: no access seen, value not compared at the end; self-test",
		"watch plugin.so!later:w [pending]\n  0 hits: never armed",
		"[ended at exec]\n",
		"  1350 hits\n",
		"< [truncated]\n",
		"< [broken]\n",
		"call paths (the hottest):",
		"warning: a warning with a\\ttab and \\x1b[7m\n",
	};
	struct report report = fixture_full();
	char *text = written(REPORT_TEXT, &report);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!strstr(text, parts[i]))
			print_error("missing: %s\n", parts[i]);
		assert_non_null(strstr(text, parts[i]));
	}
	free(text);
	fixture_free(&report);
}

/* A clean run has none of these words. */
static void test_text_of_a_clean_run(void **state)
{
	static const char *const parts[] = {
		"LOST", "overrun", "INCOMPLETE", "warning", "[", "without a"};
	struct report report = fixture_bare();
	char *text;

	(void)state;
	report.engine = report.self_test = report.end = "x";
	text = written(REPORT_TEXT, &report);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		assert_null(strstr(text, parts[i]));
	free(text);
	fixture_free(&report);
}

/* Design, section 2: if the value changed without a counted write, the report says that too,
 * even where reads were counted. */
static void test_changed_without_a_counted_write(void **state)
{
	static const struct report_watch watch = {
		"v:rw", NULL, "rw", 0x404040, 4, 1, "armed", true, true, false, 1};
	const struct hit read = {.watches = 1,
		.kind = HIT_READ,
		.pid = 1,
		.tid = 1,
		.n_frames = 1,
		.frames = {0x1000}};
	struct report report = fixture_bare();
	char *text;

	(void)state;
	report.engine = report.self_test = report.end = "x";
	report.watches = &watch;
	profile_add((struct profile *)report.profile, &read);
	text = written(REPORT_TEXT, &report);
	assert_non_null(strstr(text, "changed without a counted"));
	free(text);
	fixture_free(&report);
}

/* A thread-local variable has no one address. */
static void test_thread_local(void **state)
{
	static const struct report_watch watch = {
		"tv:w", "tv, thread-local", "w", 8, 4, 1, "armed", false, false, true, 1};
	static const struct {
		enum report_format format;
		const char *part;
	} rows[] = {
		{REPORT_TEXT, "watch tv:w: 4 bytes per thread, access w, 1 slot, tv, thread-local\n"},
		{REPORT_TSV, "# watch\ttv:w\tper thread\t4\tw\t1\t0\t0\tarmed\tunknown\ttv, thread-local\t1.000000\t0\t0\n"},
		{REPORT_CSV, "per thread"},
		{REPORT_JSON, "\"per thread\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct report report = fixture_bare();
		char *text;

		report.engine = report.self_test = report.end = "x";
		report.watches = &watch;
		text = written(rows[i].format, &report);
		if (!strstr(text, rows[i].part))
			fail_msg("no '%s' in:\n%s", rows[i].part, text);
		free(text);
		fixture_free(&report);
	}
}

static void test_format_names(void **state)
{
	static const struct {
		const char *name;
		enum report_format format;
	} names[] = {{"text", REPORT_TEXT}, {"tsv", REPORT_TSV}, {"dump", REPORT_TSV},
		{"json", REPORT_JSON}, {"csv", REPORT_CSV}, {"folded", REPORT_FOLDED},
		{"pprof", REPORT_PPROF}};
	static const char *const bad[] = {"", "TEXT", "tsv ", "jso", "jsonl", "./json"};
	enum report_format format = REPORT_TEXT;
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_true(report_format_is_name(names[i].name));
		assert_int_equal(report_format_parse(names[i].name, &format, &err), 0);
		assert_int_equal(format, names[i].format);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_false(report_format_is_name(bad[i]));
		assert_int_equal(report_format_parse(bad[i], &format, &err), -1);
		for (size_t n = 0; n < ARRAY_LEN(names); n++)
			assert_non_null(strstr(err.text, names[n].name));
	}
}

static void test_save(void **state)
{
	struct report report = fixture_full();
	char *directory = scratch_new(), *path = text_format("%s/report.tsv", directory), *text;
	struct err err = {0};

	(void)state;
	assert_int_equal(report_check(path, &err), 0);
	assert_int_equal(scratch_entries(directory), 0); /* looking leaves nothing behind */
	assert_int_equal(report_save(path, REPORT_JSON, &report, &err), 0);
	assert_int_equal(report_save(path, REPORT_TSV, &report, &err), 0); /* over an old one */
	assert_int_equal(scratch_entries(directory), 1);
	text = file_read(path);
	assert_golden("report.tsv", text);
	free(text);
	file_write(path, "old");
	assert_int_equal(report_check(path, &err), 0);
	text = file_read(path);
	assert_string_equal(text, "old");
	free(text);
	free(path);
	scratch_free(directory);
	fixture_free(&report);
}

/* Whoever has the old report open keeps it whole: the new one is another file. */
static void test_save_replaces(void **state)
{
	struct report report = fixture_bare();
	char *directory = scratch_new(), *path = text_format("%s/r", directory), old[8] = "";
	struct err err = {0};
	FILE *reader;

	(void)state;
	file_write(path, "old\n");
	reader = fopen(path, "re");
	assert_int_equal(report_save(path, REPORT_TSV, &report, &err), 0);
	assert_int_equal(fread(old, 1, sizeof(old), reader), 4);
	assert_string_equal(old, "old\n");
	fclose(reader);
	free(path);
	scratch_free(directory);
	fixture_free(&report);
}

/* Places where no report can be: each is named, with the reason, before and after a run. */
static void test_save_refused(void **state)
{
	struct report report = fixture_bare();
	char *directory = scratch_new(), *file = text_format("%s/file", directory);
	char *paths[] = {text_format("%s/no/such", directory),
		text_format("%s/file/below", directory), text_copy(directory),
		text_format("%s/new/", directory)};

	(void)state;
	file_write(file, "untouched");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct err err = {0};

		assert_int_equal(report_check(paths[i], &err), -1);
		assert_non_null(strstr(err.text, paths[i]));
		err = (struct err){0};
		assert_int_equal(report_save(paths[i], REPORT_TEXT, &report, &err), -1);
		assert_int_equal(err.status, ERR_FAILED);
		assert_non_null(strstr(err.text, paths[i]));
		assert_int_equal(scratch_entries(directory), 1);
		free(paths[i]);
	}
	free(file);
	scratch_free(directory);
	fixture_free(&report);
}

/* What a child is to save, and what must come of it. */
struct saving {
	const struct report *report;
	const char *path;
};

/* As a user who may not write there; prints the message. */
static void save_as_nobody(void *context)
{
	struct saving *saving = context;
	struct err err = {0};

	if (geteuid() == 0 && setuid(65534))
		return;
	if (report_save(saving->path, REPORT_TEXT, saving->report, &err))
		fputs(err.text, stdout);
}

/* With a limit on the size of files in place of a disk that is full. */
static void save_with_little_room(void *context)
{
	struct saving *saving = context;
	const struct rlimit limit = {1000, 1000};
	struct err err = {0};

	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	if (report_save(saving->path, REPORT_JSON, saving->report, &err))
		fputs(err.text, stdout);
}

static void test_save_without_permission(void **state)
{
	struct report report = fixture_bare();
	char *directory = scratch_new(), *path = text_format("%s/r", directory), output[4096];
	struct saving saving = {&report, path};

	(void)state;
	assert_int_equal(chmod(directory, 0555), 0);
	assert_int_equal(
		child_run(save_as_nobody, &saving, output, sizeof(output)), CHILD_RETURNED);
	assert_non_null(strstr(output, path));
	assert_non_null(strstr(output, "Permission denied"));
	assert_int_equal(scratch_entries(directory), 0);
	assert_int_equal(chmod(directory, 0755), 0);
	free(path);
	scratch_free(directory);
	fixture_free(&report);
}

/* The disk fills up half-way: an error, the old report as it was, nothing half beside it. */
static void test_save_with_little_room(void **state)
{
	struct report report = fixture_full();
	char *directory = scratch_new(), *path = text_format("%s/r", directory), output[4096],
	     *text;
	struct saving saving = {&report, path};

	(void)state;
	file_write(path, "the old report");
	assert_int_equal(
		child_run(save_with_little_room, &saving, output, sizeof(output)), CHILD_RETURNED);
	assert_non_null(strstr(output, "File too large"));
	text = file_read(path);
	assert_string_equal(text, "the old report");
	assert_int_equal(scratch_entries(directory), 1);
	free(text);
	free(path);
	scratch_free(directory);
	fixture_free(&report);
}

/* A name for a device in a directory of our own. The tests may run as root: a rename that goes
 * wrong must hit this name and not the device in /dev. */
static char *device_name(const char *directory, const char *device)
{
	char *name = text_format("%s/device", directory);

	assert_int_equal(symlink(device, name), 0);
	return name;
}

static void assert_still_device(const char *name, const char *directory)
{
	struct stat st;

	assert_int_equal(lstat(name, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat(name, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(scratch_entries(directory), 1);
}

/* What is no regular file is written to and stays what it is. */
static void test_save_to_a_device(void **state)
{
	struct report report = fixture_full();
	char *directory = scratch_new(), *name = device_name(directory, "/dev/null");
	struct err err = {0};

	(void)state;
	assert_int_equal(report_check(name, &err), 0);
	assert_still_device(name, directory);
	assert_int_equal(report_save(name, REPORT_TSV, &report, &err), 0);
	assert_still_device(name, directory);
	free(name);
	scratch_free(directory);
	fixture_free(&report);
}

/* Looking whether a report can go into a pipe does not end the wait of its reader. */
static void test_check_of_a_pipe(void **state)
{
	char *directory = scratch_new(), *name = text_format("%s/pipe", directory);
	struct pollfd reader = {.events = POLLIN};
	struct err err = {0};

	(void)state;
	assert_int_equal(mkfifo(name, 0600), 0);
	reader.fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader.fd >= 0);
	assert_int_equal(report_check(name, &err), 0);
	assert_int_equal(poll(&reader, 1, 0), 0); /* nobody has had it open for writing */
	close(reader.fd);
	free(name);
	scratch_free(directory);
}

/* Somebody else's link at the temporary name is not written through. */
static void test_save_past_a_link(void **state)
{
	struct report report = fixture_bare();
	char *directory = scratch_new(), *path = text_format("%s/r", directory), *victim = text_format("%s/v", directory);
	char *link = text_format("%s.%d.tmp", path, (int)getpid()), *text;
	struct err err = {0};

	(void)state;
	file_write(victim, "untouched");
	assert_int_equal(symlink(victim, link), 0);
	assert_int_equal(report_save(path, REPORT_TSV, &report, &err), 0);
	text = file_read(victim);
	assert_string_equal(text, "untouched");
	assert_int_equal(scratch_entries(directory), 2);
	free(text);
	free(link);
	free(victim);
	free(path);
	scratch_free(directory);
	fixture_free(&report);
}

static void test_save_to_a_full_device(void **state)
{
	struct report report = fixture_full();
	char *directory = scratch_new(), *name = device_name(directory, "/dev/full");
	struct err err = {0};

	(void)state;
	for (int format = REPORT_TEXT; format <= REPORT_JSON; format++) {
		assert_int_equal(report_save(name, (enum report_format)format, &report, &err), -1);
		assert_int_equal(err.status, ERR_FAILED);
		assert_non_null(strstr(err.text, "No space left on device"));
		assert_still_device(name, directory);
	}
	free(name);
	scratch_free(directory);
	fixture_free(&report);
}

/* House rule 5: what, on what, why. */
static void test_write_error_names_the_file(void **state)
{
	struct report report = fixture_full();
	char *directory = scratch_new(), *name = device_name(directory, "/dev/full");
	struct err err = {0};

	(void)state;
	assert_int_equal(report_save(name, REPORT_TSV, &report, &err), -1);
	assert_non_null(strstr(err.text, name));
	free(name);
	scratch_free(directory);
	fixture_free(&report);
}

static void save_to_stdout(void *context)
{
	struct saving *saving = context;
	struct err err = {0};

	if (saving->path && !freopen(saving->path, "we", stdout))
		return;
	if (report_save(NULL, REPORT_TSV, saving->report, &err))
		fprintf(stderr, "%s", err.text);
}

static void test_save_to_stdout(void **state)
{
	struct report report = fixture_full();
	struct saving saving = {&report, NULL};
	char output[65536];

	(void)state;
	assert_int_equal(
		child_run(save_to_stdout, &saving, output, sizeof(output)), CHILD_RETURNED);
	assert_golden("report.tsv", output);
	saving.path = "/dev/full";
	child_run(save_to_stdout, &saving, output, sizeof(output));
	assert_non_null(strstr(output, "No space left on device"));
	fixture_free(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_golden_views),
		cmocka_unit_test(test_golden_without_hits),
		cmocka_unit_test(test_texts_that_do_not_apply),
		cmocka_unit_test(test_hostile_names_are_harmless),
		cmocka_unit_test(test_tsv_read_back),
		cmocka_unit_test(test_tsv_header),
		cmocka_unit_test(test_json_numbers),
		cmocka_unit_test(test_json_watches),
		cmocka_unit_test(test_json_names),
		cmocka_unit_test(test_text_says_so),
		cmocka_unit_test(test_text_of_a_clean_run),
		cmocka_unit_test(test_changed_without_a_counted_write),
		cmocka_unit_test(test_thread_local),
		cmocka_unit_test(test_format_names),
		cmocka_unit_test(test_save),
		cmocka_unit_test(test_save_replaces),
		cmocka_unit_test(test_save_refused),
		cmocka_unit_test(test_save_without_permission),
		cmocka_unit_test(test_save_with_little_room),
		cmocka_unit_test(test_save_to_a_device),
		cmocka_unit_test(test_check_of_a_pipe),
		cmocka_unit_test(test_save_past_a_link),
		cmocka_unit_test(test_save_to_a_full_device),
		cmocka_unit_test(test_write_error_names_the_file),
		cmocka_unit_test(test_save_to_stdout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
