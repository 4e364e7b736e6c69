/* main.c owns the beginning and the end of the program: options, signals, the one place that
 * prints a failure. */
#include "config.h"
#include "watchprof/cut_file.h"
#include "watchprof/engine.h"
#include "watchprof/frontend.h"
#include "watchprof/message.h"
#include "watchprof/options.h"
#include "watchprof/screen.h"
#include "watchprof/procfs.h"
#include "watchprof/session.h"
#include "watchprof/symbols.h"
#include "watchprof/trace.h"
#include "watchprof/util.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A crash of our own: disarm and detach as well as can be, then die of the same signal. That may crash in turn (in the
 * middle of malloc(), nothing can be allocated): what is left to be done is done then, and the first signal stays the one. */
static void crash(int sig)
{
	static volatile sig_atomic_t first;

	if (!first)
		first = sig;
	signal(sig, SIG_DFL);
	die_hooks_run();
	raise(first);
}

static void bus_error(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (!cut_file_go_on(info))
		crash(sig);
}

static void crash_handlers_install(void)
{
	static const int signals[] = {SIGSEGV, SIGILL, SIGFPE, SIGABRT};
	struct sigaction action = {.sa_handler = crash, .sa_flags = SA_NODEFER};
	struct sigaction bus = {.sa_sigaction = bus_error, .sa_flags = SA_NODEFER | SA_SIGINFO};

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &action, NULL);
	sigaction(SIGBUS, &bus, NULL);
}

/* Test the engines, or the one that is chosen. Success is that one of them works. */
static int self_test(const struct options *options, struct err *err)
{
	static const struct {
		const struct engine_ops *engine;
		enum engine_choice choice;
		const char *name;
	} tests[] = {{&engine_dr, ENGINE_DR, "debug registers"}, {&engine_page, ENGINE_PAGE, "page engine"}};
	struct err failure;
	int n_working = 0;

	for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
		bool works;

		if (options->engine != ENGINE_AUTO && options->engine != tests[i].choice)
			continue;
		works = tests[i].engine->probe(&failure) == 0;
		printf("%s: %s\n", tests[i].name, works ? "ok, one write and one read gave two hits" : failure.text);
		n_working += works;
	}
	return n_working ? 0 : err_set_status(err, ERR_NO_ENGINE, "nothing can catch accesses on this machine");
}

/* Where debug registers are dead, pages; session_arm() tells so. */
static const struct engine_ops *engine_choose(const struct options *options)
{
	struct err err;

	if (options->engine == ENGINE_PAGE)
		return &engine_page;
	if (options->engine == ENGINE_DR || engine_dr.probe(&err) == 0 || err.status != ERR_NO_ENGINE || engine_page.probe(&err))
		return &engine_dr; /* which says why, if it does not work */
	return &engine_page;
}

/* The list itself. */
static int list_write(const struct options *options, struct symbols *symbols, struct err *err)
{
	struct watch watch;
	int result;

	if (!options->list_members) {
		symbols_list(symbols, options->list_pattern, stdout);
		return 0;
	}
	if (watch_parse(options->list_members, &watch, err))
		return -1;
	result = symbols_members(symbols, &watch, stdout, err);
	watch_fini(&watch);
	return result;
}

/* The variables of a running process, or of the file of a command, which is not run. */
static int list_vars(const struct options *options, struct err *err)
{
	struct symbols_source source = {.debug_dirs = options->debug_dirs,
		.n_debug_dirs = options->n_debug_dirs,
		.is_debuginfod = options->debuginfod,
		.is_quiet = options->verbosity < 0};
	char *path = options->pid ? NULL : path_search(options->command[0]);
	struct symbols *symbols;
	const char *warning;
	int result;

	if (options->pid && !procfs_may_inspect(options->pid))
		return err_set(err, "process %d does not exist, or may not be looked into (other user's; as root it may)",
			(int)options->pid);
	if (!options->pid && !path)
		return err_set_status(err, ERR_NOT_FOUND, "%s: not found in PATH", options->command[0]);
	symbols = options->pid ? symbols_new(options->pid, &source) : symbols_new_file(path, &source, err);
	free(path);
	if (!symbols)
		return -1;
	symbols_fetch(symbols);
	result = list_write(options, symbols, err);
	while ((warning = symbols_warning(symbols)) && options->verbosity >= 0)
		message_write(stderr, "warning: ", warning);
	symbols_free(symbols);
	symbols_source_fini(&source);
	return result;
}

/* A trace that was made earlier, and maybe elsewhere. */
static int decode(const struct options *options, struct err *err)
{
	FILE *in = fopen(options->decode, "re");
	int result;

	if (!in)
		return err_set(err, "%s: %s", options->decode, strerror(errno));
	result = options->trace_format == TRACE_BINARY
		? err_set(err, "--decode: it is binary already; use --trace-format=text or json")
		: trace_decode(in, options->decode, stdout, options->trace_format, err);
	fclose(in);
	return result;
}

static const struct frontend_ops *frontend_choose(const struct options *options)
{
#if ENABLE_TUI
	const char *why;

	if (options->report || !isatty(STDOUT_FILENO) || (options->is_traced && !options->trace_path))
		return &frontend_quiet;
	if (screen_is_possible(&why))
		return &frontend_tui;
	fprintf(stderr, "watchprof: no live screen (%s); a report comes at the end\n", why);
#endif
	(void)options;
	return &frontend_quiet;
}

/* What could not be written to the standard output is told, where nothing was before. (The buffer may have been written
 * in the middle: that it is empty now does not mean that all went well.) */
static int output_end(int status)
{
	bool is_bad = ferror(stdout);
	char *text;

	errno = 0;
	is_bad |= fflush(stdout) != 0;
	if (!is_bad || status)
		return status;
	text = text_format("standard output: %s", errno ? strerror(errno) : "not everything could be written");
	message_write(stderr, "", text);
	free(text);
	return ERR_FAILED;
}

int main(int argc, char **argv)
{
	const struct frontend_ops *frontend = NULL;
	struct options options;
	struct err err = {0};
	sigset_t blocked, mask;
	int status = 0, result;

	/* Not LC_NUMERIC: numbers in options and reports have a point everywhere. */
	setlocale(LC_CTYPE, "");
	crash_handlers_install();
	result = options_parse(argc, argv, &options, &err);
	if (result == 0 && options.self_test) {
		result = self_test(&options, &err);
	} else if (result == 0 && options.list_vars) {
		result = list_vars(&options, &err);
	} else if (result == 0 && options.decode) {
		result = decode(&options, &err);
	} else if (result == 0) {
		frontend = frontend_choose(&options);
		if (frontend == &frontend_quiet)
			result = options_check_quiet(&options, &err);
	}
	if (result == 0 && frontend) {
		session_signals(&blocked);
		/* ^Z stops the first process (guardian.c), so that the shell has its prompt; a
		 * stopped worker would freeze the target at its next hit. */
		sigaddset(&blocked, SIGTSTP);
		sigprocmask(SIG_BLOCK, &blocked, &mask);
		result = session_run(&options, engine_choose(&options), frontend, &mask, &status, &err);
	}
	if (result) {
		message_write(stderr, "", err.text);
		status = err.status;
	}
	options_fini(&options);
	return output_end(status);
}
