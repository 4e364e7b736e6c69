/* options.c owns the command line. It checks what can be checked without a target and
 * touches nothing. */
#include "watchprof/options.h"

#include "config.h"
#include "watchprof/hit.h"
#include "watchprof/util.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a ring of hits. */
#define FLIGHT_MIN 4096U
#define FLIGHT_MAX (1ULL << 40)

const char *argp_program_version = "watchprof " PACKAGE_VERSION;
const char *argp_program_bug_address = "<" PACKAGE_BUGREPORT ">";

enum option_key {
	/* Long options without a letter. */
	KEY_REPORT = 0x100,
	KEY_ENGINE,
	KEY_STACK,
	KEY_SELF_TEST,
	KEY_MAX_SITES,
	KEY_GROUP,
	KEY_SORT,
	KEY_LIMIT,
	KEY_FILTER,
	KEY_SKIP_MODULE,
	KEY_STDIN,
	KEY_STDOUT,
	KEY_PENDING,
	KEY_DEBUG_DIR,
	KEY_DEBUGINFOD,
	KEY_LIST_VARS,
	KEY_LIST_MEMBERS,
	KEY_MAX_RATE,
	KEY_CONTROL,
	KEY_TRACE,
	KEY_TRACE_FORMAT,
	KEY_TRACE_STACK,
	KEY_FLIGHT,
	KEY_DECODE,
};

static const struct argp_option argp_options[] = {
	{"event", 'e', "WATCH", 0, "Watch EXPR[/LENGTH][:ACCESS]; may be repeated. EXPR: a variable, "
				   "MODULE!NAME, FILE.c::NAME, A.B[3].C, P->M, *P, (TYPE *)0xADDRESS, "
				   "NAME+OFFSET or 0xADDRESS. ACCESS: "
				   "rw (default), w, r, x", 0},
	{"pid", 'p', "PID", 0, "Attach to this process and all its threads", 0},
	{"follow", 'f', NULL, 0, "Also watch forked children (threads and exec are always followed)", 0},
	{"pending", KEY_PENDING, NULL, 0, "With -p: a name that is unknown waits for a library that has it", 0},
	{"report", KEY_REPORT, "FORMAT", OPTION_ARG_OPTIONAL,
		"No screen: a report at the end; FORMAT is text (default), tsv (or dump), csv, json, "
		"folded, pprof. Several may be given, each followed by its own -o",
		0},
	{"output", 'o', "FILE", 0, "Write the report to FILE", 0},
	{"group", KEY_GROUP, "GROUP", 0,
		"What a row of the report is: function (default), blame, line, path, callers, thread, watch", 0},
	{"sort", KEY_SORT, "KEY", 0, "Sort the rows by hits (default), reads, writes or name", 0},
	{"limit", KEY_LIMIT, "N", 0, "Show the first N rows of each watch only", 0},
	{"filter", KEY_FILTER, "TEXT", 0,
		"Show only hits with TEXT in a function, file or module of their path (or matching it: * ? [)", 0},
	{"skip-module", KEY_SKIP_MODULE, "LIST", 0,
		"Blame the callers of code in these modules (libc,libstdc++,...), not only those of the C "
		"library's string functions; an empty list blames what made the access", 0},
	{"duration", 'd', "SECONDS", 0, "Stop watching after this long", 0},
	{"max-hits", 'n', "N", 0, "Stop watching after exactly N hits", 0},
	{"max-rate", KEY_MAX_RATE, "N", 0,
		"Disarm a watch that has had more than N hits in a second until that second is over; its counts "
		"are then a sample, and every report says so", 0},
	{"interval", 'i', "SECONDS", 0, "Refresh the screen this often (default 1)", 0},
	{"engine", KEY_ENGINE, "ENGINE", 0, "How accesses are caught: dr (debug registers), page (protected pages), or auto (default): dr where that works, else page", 0},
	{"stack", KEY_STACK, "DEPTH", 0, "Frames kept per hit (default 32; 0: function only, fastest)", 0},
	{"max-sites", KEY_MAX_SITES, "N", 0,
		"Keep at most N different sites (default 100000); hits beyond are counted as overrun", 0},
	{"list-vars", KEY_LIST_VARS, "PATTERN", OPTION_ARG_OPTIONAL,
		"List the variables of the target: name, size, type, section, module, file:line", 0},
	{"list-members", KEY_LIST_MEMBERS, "EXPR", 0,
		"List what EXPR can be continued with, in the same form: its members, elements, or what it points at", 0},
	{"debug-dir", KEY_DEBUG_DIR, "DIR", 0,
		"Search DIR for separate debug files, before the system's directory; may be repeated", 0},
	{"debuginfod", KEY_DEBUGINFOD, NULL, 0,
		"Get missing debug info from the servers of $DEBUGINFOD_URLS before the target is touched", 0},
	{"trace", KEY_TRACE, "FILE", OPTION_ARG_OPTIONAL,
		"Write a line for each hit, to FILE or to the standard error", 0},
	{"trace-format", KEY_TRACE_FORMAT, "FORMAT", 0,
		"Format of the trace: text (default), json, or binary, which costs least and is decoded later", 0},
	{"trace-stack", KEY_TRACE_STACK, NULL, 0, "Write the call path of each hit into the trace", 0},
	{"flight", KEY_FLIGHT, "SIZE", 0,
		"Keep the newest hits of the trace in SIZE bytes (K, M, G) of memory, and write them at the end and at SIGUSR2", 0},
	{"decode", KEY_DECODE, "FILE", 0, "Print a binary trace as text, or as --trace-format says", 0},
	{"control", KEY_CONTROL, "PATH", 0,
		"Take commands at a Unix socket while running (list, add, change, clear, pause, resume, zero, report, trace, quit)", 0},
	{"stdin", KEY_STDIN, "FILE", 0, "Input of COMMAND (default: ours, or nothing under the live screen)", 0},
	{"stdout", KEY_STDOUT, "FILE", 0,
		"Write what COMMAND prints, errors as well, to FILE (default: to our output, after the live screen)", 0},
	{"self-test", KEY_SELF_TEST, NULL, 0, "Test whether this machine can catch accesses", 0},
	{"verbose", 'v', NULL, 0, "Say more about what is done", 0},
	{"quiet", 'q', NULL, 0, "Say nothing but errors and the report", 0},
	{0},
};

static const char argp_doc[] =
	"Count who reads and writes a variable of a running program, by function and call path.\v"
	"Exit status: that of the launched COMMAND (128+N if signal N ended it), or 0 after "
	"attaching; 124: nothing on this machine can catch accesses; 125: watchprof failed; "
	"126: COMMAND cannot be executed; 127: COMMAND not found.";

static const char argp_args[] = "-p PID -e WATCH...\n-e WATCH... -- COMMAND [ARG...]\n"
				"--list-vars[=PATTERN] -p PID\n--list-vars[=PATTERN] -- COMMAND\n--list-members=EXPR -p PID\n--self-test\n--decode FILE";

/* What the parser callback works on: the options under construction, and the first failure. */
struct parsing {
	struct options *options;
	struct err *err;
};

static int count_parse(const char *option, const char *text, uint64_t max, uint64_t *out,
	struct err *err)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || *out > max)
		return err_set(err, "%s: '%s' is not a number from 0 to %llu", option, text,
			(unsigned long long)max);
	return 0;
}

static int seconds_parse(const char *option, const char *text, uint64_t *out_ns, struct err *err)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !isfinite(seconds) || seconds <= 0 || seconds > 1e9)
		return err_set(err, "%s: '%s' is not a number of seconds above 0", option, text);
	*out_ns = (uint64_t)(seconds * NS_PER_S);
	if (*out_ns == 0)
		*out_ns = 1;
	return 0;
}

static int event_option(struct options *options, char *arg, struct err *err)
{
	struct watch watch;

	if (options->n_watches == WATCHES_MAX)
		return err_set(err, "-e: more than %d watches", WATCHES_MAX);
	if (watch_parse(arg, &watch, err))
		return -1;
	options->watches =
		mem_resize(options->watches, options->n_watches + 1, sizeof(*options->watches));
	options->watches[options->n_watches++] = watch;
	return 0;
}

static int pid_option(struct options *options, char *arg, struct err *err)
{
	uint64_t pid;

	if (strchr(arg, ','))
		return err_set(err, "-p: several processes at once are not supported; give one PID");
	if (options->pid)
		return err_set(err, "-p: given twice; one process can be watched at a time");
	if (count_parse("-p", arg, INT_MAX, &pid, err))
		return -1;
	if (pid == 0)
		return err_set(err, "-p: 0 is no process");
	options->pid = (pid_t)pid;
	return 0;
}

static struct report_output *output_add(struct options *options)
{
	options->outputs =
		mem_resize(options->outputs, options->n_outputs + 1, sizeof(*options->outputs));
	options->outputs[options->n_outputs] = (struct report_output){.format = REPORT_TEXT};
	return &options->outputs[options->n_outputs++];
}

/* The first one takes the -o that stood before it, if any. */
static int report_option(struct options *options, char *arg, struct err *err)
{
	bool is_named = !options->report && options->n_outputs > 0;
	struct report_output *output = is_named ? &options->outputs[0] : output_add(options);

	options->report = true;
	return arg ? report_format_parse(arg, &output->format, err) : 0;
}

static int output_option(struct options *options, char *arg, struct err *err)
{
	struct report_output *output =
		options->n_outputs ? &options->outputs[options->n_outputs - 1] : output_add(options);

	if (!*arg)
		return err_set(err, "-o: an empty file name");
	free(output->path);
	output->path = text_copy(arg);
	return 0;
}

/* A word that stands for a number. */
struct choice {
	const char *name;
	int value;
};

static int choice_parse(
	const char *option, const char *arg, const struct choice *choices, size_t n, int *out, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(arg, choices[i].name) == 0) {
			*out = choices[i].value;
			return 0;
		}
	}
	err_set(err, "%s: '%s' is none of", option, arg);
	for (size_t i = 0; i < n; i++)
		err_append(err, "%s %s", i ? "," : "", choices[i].name);
	return -1;
}

#define GROUP_CALLERS (-1) /* no group of rows: a tree */

static int group_option(struct options *options, char *arg, struct err *err)
{
	static const struct choice groups[] = {{"function", GROUP_FUNCTION}, {"blame", GROUP_BLAME},
		{"line", GROUP_LINE}, {"path", GROUP_PATH}, {"callers", GROUP_CALLERS},
		{"thread", GROUP_THREAD}, {"watch", GROUP_WATCH}};
	int group;

	if (choice_parse("--group", arg, groups, ARRAY_LEN(groups), &group, err))
		return -1;
	options->view.is_tree = group == GROUP_CALLERS;
	options->view.query.group = group == GROUP_CALLERS ? GROUP_PATH : (enum group)group;
	return 0;
}

static int sort_option(struct options *options, char *arg, struct err *err)
{
	static const struct choice sorts[] = {
		{"hits", SORT_HITS}, {"reads", SORT_READS}, {"writes", SORT_WRITES}, {"name", SORT_NAME}};
	int sort;

	if (choice_parse("--sort", arg, sorts, ARRAY_LEN(sorts), &sort, err))
		return -1;
	options->view.query.sort = (enum sort)sort;
	return 0;
}

static int limit_option(struct options *options, char *arg, struct err *err)
{
	uint64_t limit;

	if (count_parse("--limit", arg, SIZE_MAX, &limit, err))
		return -1;
	if (limit == 0)
		return err_set(err, "--limit: 0 rows would show nothing");
	options->view.query.limit = limit;
	return 0;
}

static int filter_option(struct options *options, char *arg, struct err *err)
{
	if (!*arg)
		return err_set(err, "--filter: an empty text is in every name");
	options->view.query.filter = arg;
	return 0;
}

static int skip_module_option(struct options *options, char *arg, struct err *err)
{
	(void)err;
	blame_rules_add(&options->blame, arg);
	return 0;
}

static int stdin_option(struct options *options, char *arg, struct err *err)
{
	(void)err;
	options->stdin_path = arg;
	return 0;
}

static int stdout_option(struct options *options, char *arg, struct err *err)
{
	(void)err;
	options->stdout_path = arg;
	return 0;
}

static int duration_option(struct options *options, char *arg, struct err *err)
{
	return seconds_parse("--duration", arg, &options->duration_ns, err);
}

static int interval_option(struct options *options, char *arg, struct err *err)
{
	return seconds_parse("--interval", arg, &options->interval_ns, err);
}

static int max_hits_option(struct options *options, char *arg, struct err *err)
{
	if (count_parse("--max-hits", arg, UINT64_MAX - 1, &options->max_hits, err))
		return -1;
	return options->max_hits ? 0 : err_set(err, "--max-hits: 0 hits would measure nothing");
}

static int max_rate_option(struct options *options, char *arg, struct err *err)
{
	if (count_parse("--max-rate", arg, UINT32_MAX, &options->max_rate, err))
		return -1;
	return options->max_rate ? 0 : err_set(err, "--max-rate: 0 hits in a second would measure nothing");
}

static int engine_option(struct options *options, char *arg, struct err *err)
{
	static const char *const names[] = {[ENGINE_AUTO] = "auto", [ENGINE_DR] = "dr", [ENGINE_PAGE] = "page"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(arg, names[i]) == 0) {
			options->engine = (enum engine_choice)i;
			return 0;
		}
	}
	return err_set(err, "--engine: unknown engine '%s': use auto, dr or page", arg);
}

static int stack_option(struct options *options, char *arg, struct err *err)
{
	uint64_t depth;

	if (count_parse("--stack", arg, STACK_DEPTH_MAX, &depth, err))
		return -1;
	options->stack = (unsigned)depth;
	return 0;
}

static int max_sites_option(struct options *options, char *arg, struct err *err)
{
	uint64_t sites;

	if (count_parse("--max-sites", arg, 100000000, &sites, err))
		return -1;
	if (sites == 0)
		return err_set(err, "--max-sites: at least 1 is needed");
	options->max_sites = sites;
	return 0;
}

static int list_vars_option(struct options *options, char *arg, struct err *err)
{
	(void)err;
	options->list_vars = true;
	options->list_pattern = arg;
	return 0;
}

static int list_members_option(struct options *options, char *arg, struct err *err)
{
	(void)err;
	options->list_vars = true;
	options->list_members = arg;
	return 0;
}

static int debug_dir_option(struct options *options, char *arg, struct err *err)
{
	if (!*arg)
		return err_set(err, "--debug-dir: an empty name of a directory");
	options->debug_dirs =
		mem_resize(options->debug_dirs, options->n_debug_dirs + 1, sizeof(*options->debug_dirs));
	options->debug_dirs[options->n_debug_dirs++] = arg;
	return 0;
}

static int debuginfod_option(struct options *options, char *arg, struct err *err)
{
	(void)arg;
	(void)err;
	options->debuginfod = true;
	return 0;
}

static int trace_option(struct options *options, char *arg, struct err *err)
{
	if (arg && !*arg)
		return err_set(err, "--trace: an empty file name");
	options->is_traced = true;
	options->trace_path = arg;
	return 0;
}

static int trace_format_option(struct options *options, char *arg, struct err *err)
{
	options->has_trace_format = true;
	return trace_format_parse(arg, &options->trace_format, err);
}

static int trace_stack_option(struct options *options, char *arg, struct err *err)
{
	(void)arg;
	(void)err;
	options->trace_stack = true;
	return 0;
}

/* A number of bytes, with K, M or G for powers of 1024. */
static int flight_option(struct options *options, char *arg, struct err *err)
{
	static const struct choice units[] = {{"", 0}, {"K", 10}, {"M", 20}, {"G", 30}};
	size_t digits = strspn(arg, "0123456789");
	char *number = text_format("%.*s", (int)digits, arg);
	int shift = 0, result;
	uint64_t size;

	result = count_parse("--flight", number, FLIGHT_MAX, &size, err);
	free(number);
	if (result || choice_parse("--flight: the unit", arg + digits, units, ARRAY_LEN(units), &shift, err))
		return -1;
	if (size > FLIGHT_MAX >> shift || size << shift < FLIGHT_MIN)
		return err_set(err, "--flight: '%s' is not a size from %u to %llu bytes", arg, FLIGHT_MIN,
			(unsigned long long)FLIGHT_MAX);
	options->flight = size << shift;
	return 0;
}

static int decode_option(struct options *options, char *arg, struct err *err)
{
	(void)err;
	options->decode = arg;
	return 0;
}

static int control_option(struct options *options, char *arg, struct err *err)
{
	if (!*arg)
		return err_set(err, "--control: an empty file name");
	options->control = arg;
	return 0;
}

static int self_test_option(struct options *options, char *arg, struct err *err)
{
	(void)arg;
	(void)err;
	options->self_test = true;
	return 0;
}

static int pending_option(struct options *options, char *arg, struct err *err)
{
	(void)arg;
	(void)err;
	options->is_pending = true;
	return 0;
}

static int follow_option(struct options *options, char *arg, struct err *err)
{
	(void)arg;
	(void)err;
	options->is_followed = true;
	return 0;
}

static int verbose_option(struct options *options, char *arg, struct err *err)
{
	(void)arg;
	(void)err;
	options->verbosity++;
	return 0;
}

static int quiet_option(struct options *options, char *arg, struct err *err)
{
	(void)arg;
	(void)err;
	options->verbosity--;
	return 0;
}

static const struct {
	int key;
	int (*parse)(struct options *options, char *arg, struct err *err);
} option_parsers[] = {
	{'e', event_option},
	{'p', pid_option},
	{'f', follow_option},
	{KEY_PENDING, pending_option},
	{KEY_REPORT, report_option},
	{'o', output_option},
	{'d', duration_option},
	{'n', max_hits_option},
	{'i', interval_option},
	{KEY_MAX_RATE, max_rate_option},
	{KEY_CONTROL, control_option},
	{KEY_TRACE, trace_option},
	{KEY_TRACE_FORMAT, trace_format_option},
	{KEY_TRACE_STACK, trace_stack_option},
	{KEY_FLIGHT, flight_option},
	{KEY_DECODE, decode_option},
	{KEY_ENGINE, engine_option},
	{KEY_STACK, stack_option},
	{KEY_MAX_SITES, max_sites_option},
	{KEY_GROUP, group_option},
	{KEY_SORT, sort_option},
	{KEY_LIMIT, limit_option},
	{KEY_FILTER, filter_option},
	{KEY_SKIP_MODULE, skip_module_option},
	{KEY_STDIN, stdin_option},
	{KEY_STDOUT, stdout_option},
	{KEY_LIST_VARS, list_vars_option},
	{KEY_LIST_MEMBERS, list_members_option},
	{KEY_DEBUG_DIR, debug_dir_option},
	{KEY_DEBUGINFOD, debuginfod_option},
	{KEY_SELF_TEST, self_test_option},
	{'v', verbose_option},
	{'q', quiet_option},
};

/* Each report has a place of its own. */
static int check_outputs(struct options *options, struct err *err)
{
	if (options->n_outputs == 0)
		output_add(options);
	for (size_t i = 0; i < options->n_outputs; i++) {
		for (size_t j = 0; j < i; j++) {
			const char *one = options->outputs[i].path, *other = options->outputs[j].path;

			if (!one && !other)
				return err_set(err, "two reports on the standard output: give one of them a "
						    "file with -o, after its --report");
			if (one && other && strcmp(one, other) == 0)
				return err_set(err, "two reports in one file, %s: give each its own", one);
		}
	}
	return 0;
}

/* What the options of a trace need of each other. */
static int check_trace(const struct options *options, struct err *err)
{
	if (options->is_traced && options->trace_format == TRACE_BINARY && !options->trace_path)
		return err_set(err, "--trace-format=binary: give the trace a file, with --trace=FILE");
	if (options->flight && !options->trace_path)
		return err_set(err, "--flight: where shall the newest hits be written? Give --trace=FILE as well");
	if (options->trace_stack && !options->is_traced && !options->decode)
		return err_set(err, "--trace-stack: there is no trace; give --trace as well");
	return 0;
}

int options_check_quiet(const struct options *options, struct err *err)
{
	if (options->n_watches == 0)
		return err_set(err, "no watch: name a variable with -e, as in -e counter:w "
				    "(--list-vars lists candidates)");
	if (options->has_trace_format && !options->is_traced && !options->control)
		return err_set(err, "--trace-format: there is no trace; give --trace as well");
	return 0;
}

static int check_whole(struct options *options, struct err *err)
{
	if (check_outputs(options, err) || check_trace(options, err))
		return -1;
	if (options->self_test || options->decode)
		return 0;
	if (options->pid && options->command)
		return err_set(err, "-p attaches and -- COMMAND launches: give one of them");
	if (!options->pid && !options->command)
		return err_set(err, "no target: give -p PID to attach or -- COMMAND to launch "
				    "(watchprof --help tells more)");
	if (options->pid && (options->stdin_path || options->stdout_path))
		return err_set(err, "%s is for a launched COMMAND: a process that runs already has its files open",
			options->stdin_path ? "--stdin" : "--stdout");
	return options->report && !options->list_vars ? options_check_quiet(options, err) : 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct parsing *parsing = state->input;

	if (key == ARGP_KEY_ARG) {
		/* The first word that is no option starts the command; its options are its own. */
		parsing->options->command = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	}
	/* `--report json`: the format may stand after a blank. */
	if (key == KEY_REPORT && !arg && state->next < state->argc &&
		report_format_is_name(state->argv[state->next]))
		arg = state->argv[state->next++];
	for (size_t i = 0; i < ARRAY_LEN(option_parsers); i++) {
		if (option_parsers[i].key == key)
			return option_parsers[i].parse(parsing->options, arg, parsing->err) ? EINVAL : 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static char *join(int argc, char *const *argv)
{
	char *joined = NULL;
	size_t len;
	FILE *out = open_memstream(&joined, &len);

	if (!out)
		die("out of memory");
	for (int i = 0; i < argc; i++)
		fprintf(out, "%s%s", i ? " " : "", argv[i]);
	if (fclose(out) || !joined)
		die("out of memory");
	return joined;
}

int options_parse(int argc, char **argv, struct options *options, struct err *err)
{
	static const struct argp argp = {argp_options, parse_option, argp_args, argp_doc, 0, 0, 0};
	struct parsing parsing = {options, err};

	*options = (struct options){
		.stack = STACK_DEPTH_DEFAULT, .max_sites = SITES_MAX_DEFAULT, .interval_ns = NS_PER_S};
	*err = (struct err){0};
	blame_rules_init(&options->blame);
	argp_err_exit_status = ERR_FAILED;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &parsing) && !err->status)
		err_set(err, "the options could not be understood");
	if (!err->status)
		check_whole(options, err);
	if (err->status) {
		options_fini(options);
		return -1;
	}
	options->command_line = join(argc, argv);
	return 0;
}

void options_fini(struct options *options)
{
	for (size_t i = 0; i < options->n_watches; i++)
		watch_fini(&options->watches[i]);
	free(options->watches);
	for (size_t i = 0; i < options->n_outputs; i++)
		free(options->outputs[i].path);
	free(options->outputs);
	blame_rules_fini(&options->blame);
	free(options->debug_dirs);
	free(options->command_line);
	*options = (struct options){0};
}
