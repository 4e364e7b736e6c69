/* session_writer.c owns the process that writes reports in the middle of a run. It has a copy of the run as it was when
 * it began, and traces nobody, so that no thread waits at a hit until a report is written. There is one at a time. */
#include "session_private.h"
#include "watchprof/control.h"
#include "watchprof/guardian.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct session_writer {
	pid_t pid;
	int fd; /* what it has to say; at its end the file ends */
	char said[sizeof(((struct err *)0)->text)];
	size_t len;
	writer_done_fn *done;
};

/* A child of the first process, which knows what to do with children of no concern to it. To the worker, which waits for
 * whatever it traces, it would be one more. */
static pid_t sibling_fork(void)
{
	fflush(stdout);
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

static _Noreturn void writer_run(struct session *session, writer_fn *work, const void *what, int fd)
{
	char *said;
	int status = 0;

	die_hooks_forget();
	guardian_leave(session->guardian);
	said = work(session, what);
	if (said && write(fd, said, strlen(said)) < 0)
		status = ERR_FAILED;
	fflush(stdout);
	_exit(status);
}

int session_writer_begin(struct session *session, writer_fn *work, const void *what, writer_done_fn *done)
{
	struct session_writer *writer;
	int ends[2];
	pid_t pid;

	if (session->writer)
		return 0;
	if (session->main_image && !session->has_exited)
		session_compare(session);
	if (!session->guardian || pipe2(ends, O_CLOEXEC))
		return -1;
	pid = sibling_fork();
	if (pid == 0)
		writer_run(session, work, what, ends[1]);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -1;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	writer = mem_new(1, sizeof(*writer));
	writer->pid = pid;
	writer->fd = ends[0];
	writer->done = done;
	session->writer = writer;
	session->n_writers++;
	return 1;
}

uint64_t session_writer_job(const struct session *session)
{
	return session->writer ? session->n_writers : 0;
}

void session_writer_tick(struct session *session)
{
	struct session_writer *writer = session->writer;
	ssize_t n = 1;

	if (!writer)
		return;
	while (n > 0 && writer->len < sizeof(writer->said) - 1) {
		n = read(writer->fd, writer->said + writer->len, sizeof(writer->said) - 1 - writer->len);
		writer->len += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close(writer->fd);
	session->writer = NULL;
	if (writer->done)
		writer->done(session, writer->len ? writer->said : NULL);
	free(writer);
	if (session->is_report_due)
		session_write_files(session);
}

/* End it. What it has written of a report that would take the place of a file is taken away. */
static void writer_stop(struct session *session)
{
	pid_t pid = session->writer->pid;

	sys_kill(pid, SIGKILL);
	fcntl(session->writer->fd, F_SETFL, 0);
	session_writer_tick(session);
	for (size_t i = 0; i < session->options->n_outputs; i++) {
		if (session->options->outputs[i].path)
			temporary_unlink(session->options->outputs[i].path, pid);
	}
	session_warn(session, text_copy("a report in the middle of the run was not finished: nobody has read it, and a signal ended that"));
}

void session_writer_wait(struct session *session)
{
	session->is_report_due = false; /* the last one is to come */
	while (session->writer) {
		struct pollfd fds[] = {{.fd = session->writer->fd, .events = POLLIN}, {.fd = session->signal_fd, .events = POLLIN}};

		poll(fds, ARRAY_LEN(fds), -1);
		if (fds[0].revents)
			session_writer_tick(session);
		else if (fds[1].revents && session_take_signals(session))
			writer_stop(session);
	}
}

/* --- what the worker wants written ------------------------------------------------------------- */

static char *files_write(struct session *session, const void *what)
{
	struct err err;
	size_t n;

	(void)what;
	return session_report_files(session, &n, &err) ? text_copy(err.text) : NULL;
}

/* They fail alone: the run goes on, and the last ones tell. */
static void files_done(struct session *session, const char *said)
{
	if (said)
		session_warn(session, text_copy(said));
}

void session_write_files(struct session *session)
{
	int begun = session_writer_begin(session, files_write, NULL, files_done);
	char *said;

	session->is_report_due = begun == 0;
	if (begun >= 0)
		return;
	said = files_write(session, NULL);
	files_done(session, said);
	free(said);
}

/* A report that a user of the screen wants. */
struct wanted {
	const struct frontend_wish *wish;
	const struct report *report;
};

static char *wish_write(struct session *session, const void *what)
{
	const struct wanted *wanted = what;
	struct err err;

	(void)session;
	if (report_save(wanted->wish->text, wanted->wish->format, wanted->report, &err))
		return text_copy(err.text);
	return text_format("a report of %" PRIu64 " hits was written to %s", profile_hits(wanted->report->profile),
		wanted->wish->text);
}

static void wish_done(struct session *session, const char *said)
{
	session->frontend_ops->tell(session->frontend, said ? said : "the report was not written: its writer was killed");
}

void session_write_wish(struct session *session, const struct frontend_wish *wish, const struct report *report)
{
	const struct wanted wanted = {wish, report};
	int begun = session_writer_begin(session, wish_write, &wanted, wish_done);
	char *said;

	if (begun == 0)
		session->frontend_ops->tell(session->frontend, "a report is being written already");
	if (begun >= 0)
		return;
	said = wish_write(session, &wanted);
	wish_done(session, said);
	free(said);
}
