/* session_output.c owns what a run leaves behind: its last reports, and what a launched program wrote under the screen. */
#include "session_private.h"
#include "watchprof/util.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* (Not by read(): the program may still write, at the position that the descriptor shares with it.) */
void session_output_show(const struct session *session, off_t *from)
{
	char bytes[4096];
	ssize_t n;

	while (!session->options->stdout_path && session->output_fd >= 0 &&
		(n = pread(session->output_fd, bytes, sizeof(bytes), *from)) > 0) {
		fwrite(bytes, 1, (size_t)n, stdout);
		*from += n;
	}
}

int session_reports_check(const struct options *options, struct err *err)
{
	for (size_t i = 0; i < options->n_outputs; i++) {
		if (report_check(options->outputs[i].path, err))
			return -1;
	}
	return 0;
}

/* Does somebody have to read what is written there (a pipe, a terminal), who may not? */
static bool has_reader(const char *path)
{
	struct stat st;

	return path ? !path_is_replaceable(path) : fstat(STDOUT_FILENO, &st) || !S_ISREG(st.st_mode);
}

/* From now on the signals that end a run end the program at once, or (false) are taken by the session again. */
static void signals_kill(bool on)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(on ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

/* Those for a reader, or the others. */
static int outputs_save(const struct options *options, bool for_reader, const struct report *report, struct err *err)
{
	struct err further;
	int result = 0;

	for (size_t i = 0; i < options->n_outputs; i++) {
		const struct report_output *output = &options->outputs[i];

		if (has_reader(output->path) == for_reader &&
			report_save(output->path, output->format, report, result ? &further : err))
			result = -1;
	}
	return result;
}

int session_reports_save(struct session *session, const struct report *report, struct err *err)
{
	struct err further;
	int result;

	session_take_signals(session); /* those that came with the end are no wish to end this as well */
	result = outputs_save(session->options, false, report, err);
	signals_kill(true);
	if (outputs_save(session->options, true, report, result ? &further : err))
		result = -1;
	signals_kill(false);
	return result;
}
