/* test_options.c checks the command line: what each option sets, where the command begins, every
 * kind of bad value and its message, and the ways out through argp, in children. */
#include "watchprof/options.h"

#include "unit_help.h"
#include "watchprof/hit.h"
#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARGS_MAX 80

/* A command line in the making; the words before the first NULL are given to it. */
struct line {
	char *argv[ARGS_MAX];
	int argc;
};

static struct line line_of(const char *const *words)
{
	struct line line = {.argv = {(char *)"watchprof"}, .argc = 1};

	while (*words)
		line.argv[line.argc++] = (char *)*words++;
	return line;
}

/* Parse words that must be right; the options live as long as the line. */
static struct options parsed(struct line *line)
{
	struct options options;
	struct err err;

	if (options_parse(line->argc, line->argv, &options, &err))
		print_error("refused: %s\n", err.text);
	assert_int_equal(err.status, 0);
	return options;
}

/* Parse words that must be refused. Returns 1 where they are not, or for another reason. */
static int refusal_check(const char *const *words, const char *reason)
{
	static const struct options nothing;
	struct line line = line_of(words);
	struct options options;
	struct err err;
	int result;

	memset(&options, 0x5a, sizeof(options));
	result = options_parse(line.argc, line.argv, &options, &err);
	if (result == 0) {
		print_error("accepted: %s\n", options.command_line);
		options_fini(&options);
		return 1;
	}
	assert_int_equal(result, -1);
	assert_int_equal(err.status, ERR_FAILED);
	assert_memory_equal(&options, &nothing, sizeof(options));
	if (strstr(err.text, reason))
		return 0;
	print_error("'%s' does not say '%s'\n", err.text, reason);
	return 1;
}

static void test_defaults(void **state)
{
	struct line line = line_of((const char *const[]){"-e", "v", "-p", "42", NULL});
	struct options options = parsed(&line);

	(void)state;
	assert_int_equal(options.n_watches, 1);
	assert_string_equal(options.watches[0].name, "v");
	assert_int_equal(options.pid, 42);
	assert_null(options.command);
	assert_string_equal(options.command_line, "watchprof -e v -p 42");
	assert_false(options.report);
	assert_int_equal(options.n_outputs, 1);
	assert_int_equal(options.outputs[0].format, REPORT_TEXT);
	assert_null(options.outputs[0].path);
	assert_int_equal(options.view.query.group, GROUP_FUNCTION);
	assert_true(options.blame.helpers);
	assert_int_equal(options.blame.n_modules, 0);
	assert_true(options.duration_ns == 0);
	assert_true(options.interval_ns == NS_PER_S);
	assert_true(options.max_hits == 0);
	assert_int_equal(options.max_sites, 100000);
	assert_int_equal(options.stack, STACK_DEPTH_DEFAULT);
	assert_int_equal(options.engine, ENGINE_AUTO);
	assert_false(options.self_test);
	assert_int_equal(options.n_debug_dirs, 0);
	assert_false(options.debuginfod);
	assert_int_equal(options.verbosity, 0);
	options_fini(&options);
}

static void test_everything(void **state)
{
	struct line line = line_of((const char *const[]){"--event=a.c::v/4:w", "-ens::v", "--pid=7",
		"--report=json", "-oout.json", "-d", "0.5", "-n", "1000", "-i", "2", "--engine=dr",
		"--stack", "0", "--max-sites=1", "--group=line", "--sort=writes", "--limit=20",
		"--filter=parse_*", "--skip-module=libfoo,libstdc++", "--pending", "-vvq", "--debug-dir=first",
		"--debug-dir", "second", "--debuginfod", NULL});
	struct options options = parsed(&line);

	(void)state;
	assert_int_equal(options.n_watches, 2);
	assert_string_equal(options.watches[0].file, "a.c");
	assert_int_equal(options.watches[0].access, ACCESS_WRITE);
	assert_string_equal(options.watches[1].text, "ns::v");
	assert_int_equal(options.pid, 7);
	assert_true(options.report);
	assert_int_equal(options.n_outputs, 1);
	assert_int_equal(options.outputs[0].format, REPORT_JSON);
	assert_string_equal(options.outputs[0].path, "out.json");
	assert_int_equal(options.view.query.group, GROUP_LINE);
	assert_false(options.view.is_tree);
	assert_int_equal(options.view.query.sort, SORT_WRITES);
	assert_int_equal(options.view.query.limit, 20);
	assert_string_equal(options.view.query.filter, "parse_*");
	assert_int_equal(options.blame.n_modules, 2);
	assert_string_equal(options.blame.modules[1], "libstdc++");
	assert_true(options.duration_ns == 500000000);
	assert_true(options.max_hits == 1000);
	assert_true(options.interval_ns == 2 * NS_PER_S);
	assert_int_equal(options.engine, ENGINE_DR);
	assert_int_equal(options.stack, 0);
	assert_int_equal(options.max_sites, 1);
	assert_int_equal(options.verbosity, 1);
	assert_true(options.is_pending);
	assert_int_equal(options.n_debug_dirs, 2);
	assert_string_equal(options.debug_dirs[0], "first");
	assert_string_equal(options.debug_dirs[1], "second");
	assert_true(options.debuginfod);
	options_fini(&options);
}

static void test_files_of_the_command(void **state)
{
	struct line line = line_of((const char *const[]){"-e", "v", "--stdin=in", "--stdout", "out", "true", NULL});
	struct options options = parsed(&line);

	(void)state;
	assert_string_equal(options.stdin_path, "in");
	assert_string_equal(options.stdout_path, "out");
	options_fini(&options);
}

/* The last of several values counts, and nothing of the first leaks; but each report is one more. */
static void test_repeated(void **state)
{
	struct line line =
		line_of((const char *const[]){"-e", "v", "-o", "a", "-o", "b", "-d", "1", "-d", "3",
			"--report=tsv", "--report=text", "--stack=7", "--stack=256", "true", NULL});
	struct options options = parsed(&line);

	(void)state;
	assert_int_equal(options.n_outputs, 2);
	assert_string_equal(options.outputs[0].path, "b");
	assert_int_equal(options.outputs[0].format, REPORT_TSV);
	assert_null(options.outputs[1].path);
	assert_true(options.duration_ns == 3 * NS_PER_S);
	assert_int_equal(options.outputs[1].format, REPORT_TEXT);
	assert_int_equal(options.stack, 256);
	options_fini(&options);
}

/* Where the command begins, how many words it has, and what the report option took. */
static void test_report_and_command(void **state)
{
	static const struct {
		const char *words[12];
		int command; /* index in argv, program name included */
		bool report;
		enum report_format format;
	} cases[] = {
		{{"-e", "v", "./prog"}, 3, false, REPORT_TEXT},
		{{"-e", "v", "--", "./prog"}, 4, false, REPORT_TEXT},
		{{"-e", "v", "--report", "./prog"}, 4, true, REPORT_TEXT},
		{{"--report", "-e", "v", "./prog"}, 4, true, REPORT_TEXT},
		{{"-e", "v", "--report", "json", "./prog"}, 5, true, REPORT_JSON},
		{{"-e", "v", "--report", "dump", "./prog", "json"}, 5, true, REPORT_TSV},
		{{"-e", "v", "--report=tsv", "json"}, 4, true, REPORT_TSV},
		{{"-e", "v", "--report", "--", "json"}, 5, true, REPORT_TEXT},
		{{"-e", "v", "--report", "jsonx"}, 4, true, REPORT_TEXT},
		/* The command's options are its own, whatever they look like. */
		{{"-e", "v", "./prog", "-e", "x", "-p", "3", "--report=bad", "--help"}, 3, false,
			REPORT_TEXT},
		{{"-e", "v", "--", "./prog", "--version", "-q", "--nonsense"}, 4, false,
			REPORT_TEXT},
		{{"-e", "v", "--", "./prog", "--", "-x"}, 4, false, REPORT_TEXT},
		{{"-e", "v", "./prog", "--", "-x"}, 3, false, REPORT_TEXT},
		{{"-e", "v", "--", "--report"}, 4, false, REPORT_TEXT},
		{{"-e", "v", "--", "-p"}, 4, false, REPORT_TEXT},
		{{"-e", "v", "--", "json"}, 4, false, REPORT_TEXT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct line line = line_of(cases[i].words);
		struct options options = parsed(&line);

		assert_ptr_equal(options.command, line.argv + cases[i].command);
		assert_null(options.command[line.argc - cases[i].command]);
		assert_int_equal(options.report, cases[i].report);
		assert_int_equal(options.n_outputs, 1);
		assert_int_equal(options.outputs[0].format, cases[i].format);
		assert_int_equal(options.n_watches, 1);
		assert_int_equal(options.pid, 0);
		assert_int_equal(options.verbosity, 0);
		options_fini(&options);
	}
}

/* argv[argc] may be anything but is NULL by the standard, and parsing must not reorder. */
static void test_argv_stays(void **state)
{
	static const char *const words[] = {
		"-e", "v", "--report", "json", "prog", "-x", "a b", "", NULL};
	struct line line = line_of(words);
	struct options options = parsed(&line);

	(void)state;
	for (int i = 1; i < line.argc; i++)
		assert_ptr_equal(line.argv[i], words[i - 1]);
	assert_string_equal(options.command_line, "watchprof -e v --report json prog -x a b ");
	options_fini(&options);
}

static void test_targets(void **state)
{
	static const struct {
		const char *words[8];
		const char *reason;
	} cases[] = {
		{{NULL}, "no target"},
		{{"-e", "v"}, "no target"},
		{{"-e", "v", "--"}, "no target"},
		{{"--report", "json"}, "no target"},
		{{"-p", "5", "--report"}, "no watch"},
		{{"--report", "./prog"}, "no watch"},
		{{"--report", "--", "./prog", "-e", "v"}, "no watch"},
		{{"-e", "v", "-p", "5", "./prog"}, "one of them"},
		{{"-e", "v", "-p", "5", "--", "./prog"}, "one of them"},
	};
	int failures = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		failures += refusal_check(cases[i].words, cases[i].reason);
	assert_int_equal(failures, 0);
}

/* Every option with a value, and the values it must not take. */
static void test_bad_values(void **state)
{
	static const struct {
		const char *option, *reason;
		const char *values[16];
	} cases[] = {
		{"--pid", "-p",
			{"", "0", "-1", "+5", "abc", "5x", " 5", "5 ", "0x5", "1.5", "2147483648",
				"99999999999999999999999", "1,2", "1,"}},
		{"--max-hits", "--max-hits",
			{"", "0", "-1", "+1", "1e3", "1.0", "10k", " 1", "18446744073709551615",
				"18446744073709551616"}},
		{"--max-rate", "--max-rate", {"", "0", "-1", "x", "1.5", "4294967296"}},
		{"--control", "--control", {""}},
		{"--trace-format", "unknown trace format", {"", "tsv", "Text"}},
		{"--flight", "--flight", {"", "K", "4095", "1", "4k", "0x1000", "-1", "1T", "2000000000G"}},
		{"--stack", "--stack",
			{"", "257", "-1", "32x", "4294967296", "18446744073709551648"}},
		{"--max-sites", "--max-sites", {"", "0", "-1", "x", "100000001"}},
		{"--duration", "--duration",
			{"", "0", "-1", "-0.5", "x", "5s", "1,5", "nan", "inf", "1e10", "0.0",
				"1e400"}},
		{"--interval", "--interval", {"", "0", "-1", "x", "1s", "nan", "inf", "1e10"}},
		{"--engine", "--engine", {"", "DR", "pages", "auto ", "drx"}},
		{"--report", "report format", {"", "xml", "JSON", "json ", "text,json"}},
		{"--output", "-o", {""}},
		{"--group", "--group", {"", "Function", "lines", "tree"}},
		{"--sort", "--sort", {"", "hit", "share"}},
		{"--limit", "--limit", {"", "0", "-1", "x", "18446744073709551616"}},
		{"--filter", "--filter", {""}},
	};
	int failures = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t v = 0; cases[i].values[v]; v++) {
			char *word = text_format("%s=%s", cases[i].option, cases[i].values[v]);
			const char *const words[] = {"-e", "v", word, "prog", NULL};

			failures += refusal_check(words, cases[i].reason);
			free(word);
		}
	}
	assert_int_equal(failures, 0);
}

/* The edges that must still be taken. */
static void test_good_values(void **state)
{
	struct line line = line_of(
		(const char *const[]){"-e", "v", "-p", "2147483647", "-n", "18446744073709551614",
			"--max-sites", "100000000", "-d", "1e9", "-i", "0.001", NULL});
	struct options options = parsed(&line);

	(void)state;
	assert_int_equal(options.pid, 2147483647);
	assert_true(options.max_hits == 18446744073709551614ULL);
	assert_int_equal(options.max_sites, 100000000);
	assert_true(options.duration_ns == 1000000000ULL * NS_PER_S);
	assert_true(options.interval_ns == 1000000);
	options_fini(&options);
	line = line_of((const char *const[]){"-e", "v", "-d", "1e-12", "x", NULL});
	options = parsed(&line);
	assert_true(options.duration_ns == 1); /* not 0, which means for ever */
	options_fini(&options);
}

static void test_several_processes(void **state)
{
	static const char *const list[] = {"-e", "v", "-p", "1,2", NULL};
	static const char *const twice[] = {"-e", "v", "-p", "1", "-p", "2", NULL};

	(void)state;
	assert_int_equal(
		refusal_check(list, "several processes") + refusal_check(twice, "twice"), 0);
}

/* A bad watch is refused with its own message, whatever came before it. */
static void test_bad_watch(void **state)
{
	static const char *const words[] = {"-e", "good", "-e", "v:rwx", "-p", "bad", NULL};
	static const char *const empty[] = {"-e", "", "prog", NULL};

	(void)state;
	assert_int_equal(
		refusal_check(words, "bad access 'rwx'") + refusal_check(empty, "empty watch"), 0);
}

static void test_many_watches(void **state)
{
	const char *words[ARGS_MAX];
	struct options options;
	struct line line;
	size_t n = 0;

	(void)state;
	while (n < 64)
		words[n++] = "-ev/1:w";
	words[n] = "prog";
	words[n + 1] = NULL;
	line = line_of(words);
	options = parsed(&line);
	assert_int_equal(options.n_watches, 64);
	assert_string_equal(options.watches[63].text, "v/1:w");
	options_fini(&options);
	words[n++] = "-elast";
	words[n] = "prog";
	words[n + 1] = NULL;
	assert_int_equal(refusal_check(words, "64"), 0);
}

static void test_list_vars(void **state)
{
	struct line all = line_of((const char *const[]){"--list-vars", "-p", "7", NULL});
	struct line some = line_of((const char *const[]){"--list-vars=a*", "prog", NULL});
	struct line members = line_of((const char *const[]){"--list-members=a.b", "prog", NULL});
	struct options options = parsed(&all);

	(void)state;
	assert_true(options.list_vars);
	assert_null(options.list_pattern);
	options_fini(&options);
	options = parsed(&some);
	assert_true(options.list_vars);
	assert_string_equal(options.list_pattern, "a*");
	assert_int_equal(refusal_check((const char *const[]){"--list-vars", NULL}, "no target"), 0);
	options_fini(&options);
	options = parsed(&members);
	assert_true(options.list_vars);
	assert_string_equal(options.list_members, "a.b");
	options_fini(&options);
}

static void test_self_test(void **state)
{
	struct line line = line_of((const char *const[]){"--self-test", NULL});
	struct options options = parsed(&line);

	(void)state;
	assert_true(options.self_test);
	assert_int_equal(options.n_watches, 0);
	options_fini(&options);
}

static void parse_in_child(void *context)
{
	struct line line = line_of(context);
	struct options options;
	struct err err;

	if (options_parse(line.argc, line.argv, &options, &err) == 0)
		options_fini(&options);
}

/* The ways out through argp: asked-for texts on stdout with 0, usage errors with 125. */
static void test_exits(void **state)
{
	static const struct {
		const char *words[8];
		int status;
		const char *output;
	} cases[] = {
		{{"--help"}, 0, "--event=WATCH"},
		{{"--help"}, 0, "Exit status"},
		{{"-?"}, 0, "--max-sites"},
		{{"--usage"}, 0, "Usage: watchprof"},
		{{"--version"}, 0, "watchprof "},
		{{"-V"}, 0, "watchprof "},
		{{"-e", "v", "--help", "prog"}, 0, "--report[=FORMAT]"},
		{{"--nonsense", "prog"}, 125, "--nonsense"},
		{{"-Z", "prog"}, 125, "Z"},
		{{"-e"}, 125, "requires an argument"},
		{{"--stack"}, 125, "requires an argument"},
		{{"--debug-dir"}, 125, "requires an argument"},
		{{"--self-test=x"}, 125, "--self-test"},
		{{"--m", "1"}, 125, "ambiguous"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char output[16384];
		int status =
			child_run(parse_in_child, (void *)cases[i].words, output, sizeof(output));

		if (status != cases[i].status || !strstr(output, cases[i].output))
			print_error(
				"%s: status %d, output %s\n", cases[i].words[0], status, output);
		assert_int_equal(status, cases[i].status);
		assert_non_null(strstr(output, cases[i].output));
	}
}

/* What goes beside the report. */
static void test_traces_and_control(void **state)
{
	static const char *const words[] = {"--trace=t", "--trace-format=binary", "--trace-stack", "--flight=2M", "--control=s",
		"-f", "-e", "x", "true", NULL};
	static const char *const decoding[] = {"--decode=t", "--trace-format=json", NULL};
	struct line line = line_of(words), decode_line = line_of(decoding);
	struct options options = parsed(&line);

	(void)state;
	assert_true(options.is_traced && options.trace_stack && options.is_followed);
	assert_string_equal(options.trace_path, "t");
	assert_int_equal(options.flight, 2 << 20);
	assert_string_equal(options.control, "s");
	options_fini(&options);
	options = parsed(&decode_line);
	assert_string_equal(options.decode, "t");
	options_fini(&options);
}

static void test_what_does_not_fit_together(void **state)
{
	static const struct {
		const char *words[8];
		const char *reason;
	} cases[] = {
		{{"--debug-dir=", "-e", "x", "true"}, "an empty name of a directory"},
		{{"--trace=", "-e", "x", "true"}, "an empty file name"},
		{{"--control=", "-e", "x", "true"}, "an empty file name"},
		{{"--flight=1", "--trace=t", "-e", "x", "true"}, "is not a size"},
		{{"--flight=64K", "-e", "x", "true"}, "Give --trace=FILE as well"},
		{{"--trace-stack", "-e", "x", "true"}, "give --trace as well"},
		{{"--report", "--trace-format=json", "-e", "x", "true"}, "--trace-format: there is no trace; give --trace as well"},
		{{"--trace", "--trace-format=binary", "-e", "x", "true"}, "with --trace=FILE"},
		{{"--report=tsv", "--report=json", "-e", "x", "true"}, "two reports on the standard output"},
		{{"--report=tsv", "-o", "a", "--report=json", "-o", "a", "true"}, "two reports in one file"},
		{{"--stdin=/dev/null", "-p", "1", "-e", "x"}, "--stdin is for a launched COMMAND"},
		{{"--stdout=out", "-p", "1", "-e", "x"}, "--stdout is for a launched COMMAND"},
	};
	int failures = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		failures += refusal_check(cases[i].words, cases[i].reason);
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_files_of_the_command),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_report_and_command),
		cmocka_unit_test(test_argv_stays),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_good_values),
		cmocka_unit_test(test_several_processes),
		cmocka_unit_test(test_bad_watch),
		cmocka_unit_test(test_many_watches),
		cmocka_unit_test(test_list_vars),
		cmocka_unit_test(test_self_test),
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_traces_and_control),
		cmocka_unit_test(test_what_does_not_fit_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
