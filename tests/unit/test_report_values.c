/* test_report_values.c checks what reports tell of values and of followed processes, in every format, and reads
 * the pprof form back. */
#include "watchprof/report_values.h"

#include "report_fixture.h"
#include "src/pprof.pb-c.h"
#include "watchprof/util.h"
#include "watchprof/value_type.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

static const struct value_type int_type = {.kind = VALUE_SIGNED, .name = (char *)"int", .size = 4};

static struct value value_of(int32_t number)
{
	struct value value = {.len = sizeof(number)};

	memcpy(value.bytes, &number, sizeof(number));
	return value;
}

/* A watch with all there is to tell. */
static struct report_values values_full(void)
{
	struct report_values values = {.has_filters = true, .filtered = 7, .is_known = true, .type = &int_type,
		.writer = "wri\tter", .written_ns = 1500000000};
	struct value_stats *stats = &values.stats;

	stats->current = value_of(-3);
	stats->writes = 20;
	stats->changed = 15;
	stats->silent = 5;
	stats->among_others = 2;
	stats->unseen = 4;
	stats->unseen_first = 10;
	stats->unseen_last = 30;
	stats->last.time_ns = 1;
	stats->last.pid = 1234;
	stats->last.tid = 1235;
	stats->last.from = value_of(8);
	stats->last.to = value_of(-3);
	stats->has_range = true;
	stats->min = value_of(-5);
	stats->max = value_of(100);
	for (int i = 0; i < 6; i++)
		stats->top[stats->n_top++] = (struct value_count){value_of(i), (uint64_t)(9 - i)};
	stats->others = 3;
	return values;
}

static char *field_text(const struct report_value_field *fields, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(fields[i].key, key) == 0)
			return fields[i].text ? text_copy(fields[i].text)
					      : text_format("%llu", (unsigned long long)fields[i].count);
	}
	return text_copy("(none)");
}

static void test_fields(void **state)
{
	static const char *const wanted[][2] = {{"filtered", "7"}, {"current", "-3 (0xfffffffd)"}, {"writes", "20"},
		{"changed", "15"}, {"silent", "5"}, {"among_others", "2"}, {"unseen", "4"}, {"unseen_first", "10"},
		{"unseen_last", "30"}, {"min", "-5"}, {"max", "100"}, {"last_writer", "wri\tter"}, {"last_pid", "1234"},
		{"last_tid", "1235"}, {"last_time", "1.500000"}, {"others", "3"}};
	struct report_value_field fields[REPORT_VALUE_FIELDS_MAX];
	struct report_values values = values_full();
	size_t n = report_value_fields(&values, fields);

	(void)state;
	assert_true(n <= REPORT_VALUE_FIELDS_MAX);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		char *text = field_text(fields, n, wanted[i][0]);

		if (strcmp(wanted[i][0], "current") == 0)
			assert_memory_equal(text, "-3", 2);
		else
			assert_string_equal(text, wanted[i][1]);
		free(text);
	}
	report_value_free(fields, n);
	values.is_known = false;
	assert_int_equal(report_value_fields(&values, fields), 1);
	values.has_filters = false;
	assert_int_equal(report_value_fields(&values, fields), 0);
}

static char *text_of(const struct report_values *values)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	report_value_text(out, values);
	fclose(out);
	return text;
}

static void test_text(void **state)
{
	struct report_values values = values_full();
	char *text = text_of(&values);

	(void)state;
	assert_non_null(strstr(text, "  7 more filtered\n  value -3"));
	assert_non_null(strstr(text, "; 15 writes changed it, 5 did not; written between -5 and 100\n"));
	assert_non_null(strstr(text, "(as seen after each write: other threads may have written in between)"));
	assert_non_null(strstr(text, "last write by wri\\tter (thread 1235) after 1.500 s: 8"));
	assert_non_null(strstr(text, "; 3 writes of values without a place in the table"));
	assert_non_null(strstr(text, "changed 4 times at least without a counted access"));
	assert_non_null(strstr(text, "found by hits 10 to 30"));
	free(text);
	values.is_known = false;
	text = text_of(&values);
	assert_string_equal(text, "  7 more filtered\n");
	free(text);
}

static char *written(enum report_format format, const struct report *report, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	struct err err;

	assert_non_null(out);
	assert_int_equal(report_write(out, format, report, &err), 0);
	fclose(out);
	return text;
}

/* A run with values and followed processes, in a format; the length where it is asked for. */
static char *full_written(enum report_format format, size_t *size)
{
	static const struct report_process processes[] = {{1300, 1234, "/bin/chi\tld", "exited with status 0", 12},
		{1301, 0, "/bin/other", "still running", 3}};
	struct report report = fixture_full();
	struct report_values values[7] = {values_full()};
	char *text;
	size_t len;

	report.values = values;
	report.is_followed = true;
	report.processes = processes;
	report.n_processes = ARRAY_LEN(processes);
	report.processes_left_out = 5;
	text = written(format, &report, &len);
	fixture_free(&report);
	if (size)
		*size = len;
	return text;
}

static void has_all(enum report_format format, const char *const *wanted, size_t n)
{
	char *text = full_written(format, NULL);

	for (size_t i = 0; i < n; i++) {
		if (!strstr(text, wanted[i]))
			print_error("not in the report: %s\n", wanted[i]);
		assert_non_null(strstr(text, wanted[i]));
	}
	free(text);
}

static void test_formats(void **state)
{
	static const char *const text[] = {"7 more filtered", "process 1300, child of 1234: 12 hits, exited with status 0: /bin/chi\\tld\n",
		"and 5 more processes\n"};
	static const char *const tsv[] = {"# value\tcounter:w\tfiltered\t7\n", "# value\tcounter:w\tlast_writer\twri\\tter\n",
		"# process\t1300\t1234\t12\texited with status 0\t/bin/chi\\tld\n", "# process\t1301\t0\t3\tstill running\t/bin/other\n"};
	static const char *const csv[] = {"value 1,min,-5,", "value 1,last_writer,wri\\tter,", "process 1300,parent,1234,",
		"process 1300,hits,12,", "process 1301,command,/bin/other,"};
	static const char *const json[] = {"\"min\": -5", "\"max\": 100", "\"last_writer\": \"wri\\tter\"", "\"unseen\": 4",
		"\"pid\": 1300"};

	(void)state;
	has_all(REPORT_TEXT, text, ARRAY_LEN(text));
	has_all(REPORT_TSV, tsv, ARRAY_LEN(tsv));
	has_all(REPORT_CSV, csv, ARRAY_LEN(csv));
	has_all(REPORT_JSON, json, ARRAY_LEN(json));
}

static Pprof__Profile *pprof_read(const char *bytes, size_t len)
{
	static uint8_t plain[1 << 20];
	z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)len, .next_out = plain, .avail_out = sizeof(plain)};

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	inflateEnd(&stream);
	return pprof__profile__unpack(NULL, sizeof(plain) - stream.avail_out, plain);
}

static bool has_function(const Pprof__Profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->n_function; i++) {
		if (strcmp(profile->string_table[profile->function[i]->name], name) == 0)
			return true;
	}
	return false;
}

/* Hits of both watches but those overrun; every number leads somewhere. */
static void test_pprof(void **state)
{
	size_t len;
	char *bytes = full_written(REPORT_PPROF, &len);
	Pprof__Profile *profile = pprof_read(bytes, len);
	int64_t hits = 0;

	(void)state;
	assert_non_null(profile);
	assert_string_equal(profile->string_table[0], "");
	assert_string_equal(profile->string_table[profile->sample_type[0]->type], "hits");
	for (size_t i = 0; i < profile->n_sample; i++) {
		const Pprof__Sample *sample = profile->sample[i];

		assert_int_equal(sample->n_value, profile->n_sample_type);
		hits += sample->value[0];
		for (size_t k = 0; k < sample->n_location_id; k++)
			assert_in_range(sample->location_id[k], 1, profile->n_location);
	}
	assert_int_equal(hits, 1350 - 5 + 932 - 2);
	for (size_t i = 0; i < profile->n_location; i++) {
		for (size_t k = 0; k < profile->location[i]->n_line; k++)
			assert_in_range(profile->location[i]->line[k]->function_id, 1, profile->n_function);
	}
	assert_true(has_function(profile, "update"));
	assert_true(has_function(profile, "state_set"));
	assert_int_equal(profile->duration_nanos, 1234567890);
	pprof__profile__free_unpacked(profile, NULL);
	free(bytes);
}

/* Counts at the end of their numbers are written as they are, in every format. */
static void test_limits(void **state)
{
	static const enum report_format formats[] = {REPORT_TEXT, REPORT_TSV, REPORT_CSV, REPORT_JSON};
	static const char most[] = "18446744073709551615";
	struct report_process process = {1300, 1234, "child", "exited", UINT64_MAX};
	struct report_values values[7] = {values_full()};
	struct report report = fixture_full();

	(void)state;
	values[0].filtered = values[0].stats.writes = values[0].stats.changed = values[0].stats.unseen = UINT64_MAX;
	report.values = values;
	report.is_followed = true;
	report.processes = &process;
	report.n_processes = 1;
	report.lost = report.traps_unblocked = UINT64_MAX;
	report.duration_ns = INT64_MAX;
	for (size_t f = 0; f < ARRAY_LEN(formats); f++) {
		size_t len, n = 0;
		char *text = written(formats[f], &report, &len);

		for (const char *at = text; (at = strstr(at, most)); at += strlen(most))
			n++;
		assert_true(n >= 4);
		assert_non_null(strstr(text, "9223372036.8"));
		free(text);
	}
	fixture_free(&report);
}

/* A run of more than a day: times, and counts beyond 32 bits and nearly at 64, are told to the last digit. */
static void test_day(void **state)
{
	static const struct {
		enum report_format format;
		const char *duration, *written;
	} rows[] = {
		{REPORT_TEXT, ", 90000.250 s, ", " after 90000.125 s: "},
		{REPORT_TSV, "# duration\t90000.250000\n", "\t90000.125000"},
		{REPORT_CSV, "run,duration,90000.250000,", "value 1,last_time,90000.125000,"},
		{REPORT_JSON, "\"duration\": 90000.25,", "\"90000.125000\""},
		{REPORT_FOLDED, "# duration=\"90000.250000\"\n", ""},
	};
	static const uint64_t hits[] = {UINT32_MAX - 1000, 1ULL << 53, UINT64_MAX - 10000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(hits); i++) {
		size_t r = i / ARRAY_LEN(hits);
		struct report_values values[7] = {values_full()};
		struct report report = fixture_full();
		char *path = text_format("%" PRIu64, fixture_long(&report, hits[i % ARRAY_LEN(hits)]));
		char *all = text_format("%" PRIu64, profile_hits(report.profile)), *text;
		size_t len;

		values[0].written_ns = LONG_NS - NS_PER_S / 8;
		report.values = values;
		text = written(rows[r].format, &report, &len);
		assert_non_null(strstr(text, all));
		assert_non_null(strstr(text, path));
		assert_non_null(strstr(text, rows[r].duration));
		assert_non_null(strstr(text, rows[r].written));
		free(text);
		free(path);
		free(all);
		fixture_free(&report);
	}
}

/* The numbers of pprof have a sign. */
static void test_day_pprof(void **state)
{
	struct report report = fixture_full();
	uint64_t path = fixture_long(&report, INT64_MAX - 10000);
	size_t len, n = 0;
	char *bytes = written(REPORT_PPROF, &report, &len);
	Pprof__Profile *profile = pprof_read(bytes, len);

	(void)state;
	assert_non_null(profile);
	for (size_t i = 0; i < profile->n_sample; i++)
		n += profile->sample[i]->value[0] == (int64_t)path;
	assert_int_equal(n, 1);
	assert_int_equal(profile->duration_nanos, LONG_NS);
	pprof__profile__free_unpacked(profile, NULL);
	free(bytes);
	fixture_free(&report);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_pprof),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_day),
		cmocka_unit_test(test_day_pprof),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
