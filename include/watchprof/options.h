/* options: the command line as plain data. */
#ifndef WATCHPROF_OPTIONS_H
#define WATCHPROF_OPTIONS_H

#include "watchprof/blame.h"
#include "watchprof/err.h"
#include "watchprof/report.h"
#include "watchprof/trace.h"
#include "watchprof/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum engine_choice {
	ENGINE_AUTO, /* debug registers, if the self-test fires; else pages */
	ENGINE_DR,
	ENGINE_PAGE,
};

struct options {
	struct watch *watches;
	size_t n_watches;
	pid_t pid;	/* thread group to attach to; 0: launch */
	char **command; /* NULL-terminated, points into argv; NULL: attach */
	char *command_line; /* all of argv with blanks between, for the report */
	bool is_pending;  /* after an attach, too, a name that is unknown waits for a library */
	bool is_followed; /* watch forked children, too */
	bool report;	/* no screen even on a terminal */
	struct report_output *outputs; /* the reports to write at the end: at least one */
	size_t n_outputs;
	struct report_view view;
	struct blame_rules blame;
	uint64_t duration_ns;  /* 0: until the end */
	uint64_t interval_ns;  /* of the screen */
	uint64_t max_hits;     /* 0: no limit */
	uint64_t max_rate;     /* hits of a watch in a second; 0: no limit */
	size_t max_sites;
	unsigned stack; /* frames kept per hit; 0: function only */
	enum engine_choice engine;
	bool list_vars; /* only list the variables of the target */
	const char *list_pattern; /* of these names; points into argv; NULL: all */
	const char *list_members; /* only list what this expression can be continued with; or NULL */
	char **debug_dirs; /* point into argv */
	size_t n_debug_dirs;
	bool debuginfod;
	const char *control; /* path of the control socket, points into argv; NULL: none */
	bool is_traced;
	const char *trace_path; /* points into argv; NULL: standard error */
	enum trace_format trace_format;
	bool has_trace_format; /* it was given */
	bool trace_stack; /* call paths in the trace */
	size_t flight;	  /* bytes of a ring instead of a stream; 0: no ring */
	const char *decode; /* only decode this trace; NULL: no */
	const char *stdin_path, *stdout_path; /* of the launched program; point into argv; NULL: not given */
	bool self_test;
	int verbosity; /* 0 as usual, above: more, below: quiet */
};

/* Parse a command line. --help, --usage, --version and options that getopt does not know
 * print their text and exit (status 0; ERR_FAILED for the last), as argp(3) does;
 * all else that is wrong comes back as -1 with its message. On success the
 * caller ends with options_fini(). argv is kept by reference. */
int options_parse(int argc, char **argv, struct options *options, struct err *err);

/* What a run without the live screen needs: there nobody can add a watch or begin a trace later. */
int options_check_quiet(const struct options *options, struct err *err);

void options_fini(struct options *options);

#endif
