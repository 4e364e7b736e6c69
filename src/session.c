/* session.c owns the run: it opens the two doors, moves events from the engine into the
 * profile, gives the frontend its turn, and ends in order: disarm, detach, report. */
#include "watchprof/session.h"

#include "session_private.h"
#include "watchprof/attach_error.h"
#include "watchprof/control.h"
#include "watchprof/control_socket.h"
#include "watchprof/cut_file.h"
#include "watchprof/message.h"
#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PREPARE_MAX 20
#define TICK_NS	 (NS_PER_S / 10)
#define GRACE_NS (NS_PER_S / 2) /* for a launched program to end of a signal it was sent */

void session_signals(sigset_t *set)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
	struct sigaction action;

	sigemptyset(set);
	sigaddset(set, GUARDIAN_GONE);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		/* What was ignored from outside (nohup) stays ignored. */
		if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
	}
}

void session_warn(struct session *session, char *text)
{
	for (size_t i = 0; i < session->n_warnings; i++) {
		if (strcmp(session->warnings[i], text) == 0) {
			free(text); /* said already */
			return;
		}
	}
	session->warnings =
		mem_resize(session->warnings, session->n_warnings + 1, sizeof(*session->warnings));
	session->warnings[session->n_warnings++] = text;
	if (session->options->verbosity >= 0 && session->frontend_ops == &frontend_quiet)
		message_write(stderr, "warning: ", text);
}

void session_say(const struct session *session, const char *format, ...)
{
	va_list args;
	char *text;

	if (session->options->verbosity <= 0 || session->frontend_ops != &frontend_quiet)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		die("out of memory");
	va_end(args);
	message_write(stderr, "", text);
	free(text);
}

static void locate(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out)
{
	const struct session *session = context;
	struct session_image *found = session_image_find(session, image);

	(void)pid;
	if (found)
		symbols_locate(found->symbols, addr, out);
}

/* Count hits anew. */
static void counts_begin(struct session *session)
{
	session->profile = profile_new(session->options->max_sites, locate, session);
	session->values = values_new();
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (!(session->options->watches[i].access & ACCESS_WRITE))
			values_without_writes(session->values, (unsigned)i);
		values_type(session->values, (unsigned)i, &session->watches[i].type);
	}
	session->report_values = mem_new(WATCHES_MAX, sizeof(*session->report_values));
	profile_blame(session->profile, &session->options->blame);
}

void session_zero(struct session *session)
{
	profile_free(session->profile);
	values_free(session->values);
	for (size_t i = 0; i < WATCHES_MAX; i++)
		session->watches[i].filtered = 0;
	free(session->report_values);
	counts_begin(session);
	session_remember(session);
}

void session_end(struct session *session, char *why)
{
	free(session->end);
	session->end = why;
	session->is_done = true;
}

/* Signals that do not end the run. */
static bool take_request(struct session *session, int sig)
{
	struct err err;

	if (sig == SIGUSR1 && session->engine)
		session_write_files(session);
	if (sig == SIGUSR2 && session->options->flight && session_trace_dump(session, &err))
		session_warn(session, text_copy(err.text));
	return sig == SIGPIPE || sig == SIGUSR1 || sig == SIGUSR2;
}

/* A launched program gets the signals that were sent to us alone; those of the terminal (sent by
 * the kernel to the whole foreground group) it has had. Returns whether the signal is one that ends a run. */
static bool take_signal(struct session *session, const struct signalfd_siginfo *info)
{
	int sig = (int)info->ssi_signo;

	if (take_request(session, sig))
		return false;
	if (sig == GUARDIAN_GONE) {
		session_end(session, text_copy("watchprof was killed"));
		return true;
	}
	if (session->is_launch && session->pid && !session->has_exited && info->ssi_code != SI_KERNEL)
		sys_kill(session->pid, sig);
	if (!session->is_launch || session->signal)
		session_end(session, text_format("interrupted by SIG%s", sigabbrev_np(sig)));
	session->signal = sig;
	session->grace_ns = clock_now_ns() + GRACE_NS;
	return true;
}

bool session_take_signals(struct session *session)
{
	struct signalfd_siginfo info;
	bool is_any = false;

	while (read(session->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		is_any |= take_signal(session, &info);
	return is_any;
}

/* Say once what has come to light: files that were cut off, and hits that found SIGTRAP blocked. */
static void tell_findings(struct session *session)
{
	if (cut_file_pages() && !session->is_cut_told)
		session_warn(session, text_copy("a file that the target runs was cut off or could not be read: names and call paths are missing"));
	session->is_cut_told |= cut_file_pages() > 0;
	if (session->is_mask_told || session->ops->counts(session->engine).traps_unblocked == 0)
		return;
	session->is_mask_told = true;
	session_warn(session, text_copy("a thread had SIGTRAP blocked at a hit: its signal mask was put back, but a handler "
					"that the program had for SIGTRAP is lost (the kernel resets it)"));
}

/* What is asked of the watches, and what came of it. */
static void wish_watch(struct session *session, const struct frontend_wish *wish)
{
	static const struct {
		int (*grant)(struct session *session, const char *text, struct err *err);
		const char *done;
	} grants[] = {
		[WISH_ADD] = {session_watch_add, "is watched"},
		[WISH_CHANGE] = {session_watch_change, "is watched; the counts of the former watch stay"},
		[WISH_CLEAR] = {session_watch_clear, "is not watched any more; its counts stay"},
	};
	struct err err = {0};
	char *said;

	if (grants[wish->kind].grant(session, wish->text, &err))
		said = text_copy(err.text);
	else
		said = text_format("%s %s", wish->text, grants[wish->kind].done);
	session->frontend_ops->tell(session->frontend, said);
	free(said);
}

static void wish_trace(struct session *session, const struct frontend_wish *wish)
{
	struct err err = {0};

	session->frontend_ops->tell(session->frontend,
		session_trace(session, wish->on, wish->text, &err) ? err.text : wish->on ? "hits are traced" : "hits are not traced");
}

static void take_wish(struct session *session, struct frontend_wish wish, const struct report *report)
{
	switch (wish.kind) {
	case WISH_NONE:
	case WISH_INTERVAL:
	case WISH_SUSPEND:
		break;
	case WISH_QUIT:
		session_end(session, text_copy("ended by the user"));
		break;
	case WISH_ZERO:
		session_zero(session);
		break;
	case WISH_REPORT:
		session_write_wish(session, &wish, report);
		break;
	case WISH_ADD:
	case WISH_CHANGE:
	case WISH_CLEAR:
		wish_watch(session, &wish);
		break;
	case WISH_TRACE:
		wish_trace(session, &wish);
		break;
	}
}

void session_tick(struct session *session, uint64_t now_ns)
{
	struct report_watch watches[WATCHES_MAX];
	struct report report;

	session->next_tick_ns = now_ns + TICK_NS;
	session_take_signals(session);
	tell_findings(session);
	session_check_cost(session);
	session_limit_tick(session, now_ns);
	session_glance(session);
	session_trace_tick(session);
	session_writer_tick(session);
	if (session->control)
		control_socket_serve(session->control, session);
	if (session->signal && now_ns >= session->grace_ns && !session->is_done)
		session_end(session, text_format("interrupted by SIG%s", sigabbrev_np(session->signal)));
	if (session->options->duration_ns && now_ns - session->start_ns >= session->options->duration_ns &&
		!session->is_done)
		session_end(session, text_format("the duration of %.3f s was reached",
					     (double)session->options->duration_ns / NS_PER_S));
	if (session->frontend_ops == &frontend_quiet)
		return;
	report = session_report(session, watches);
	take_wish(session, session->frontend_ops->tick(session->frontend, &report, now_ns), &report);
}

static void drop_image(struct session *session, const struct engine_note *note)
{
	if (note->is_last)
		session_images_drop(session, note->old_image);
}

static void take_exit(struct session *session, const struct engine_note *note)
{
	guardian_forget(session->guardian, note->pid);
	session_take_end(session, note->pid, note->status);
	drop_image(session, note);
	if (note->pid != session->pid)
		return;
	session->has_exited = true;
	session->status = note->status;
	if (WIFSIGNALED(note->status))
		session_end(session, text_format("the target was killed by signal %d (%s)", WTERMSIG(note->status),
					     strsignal(WTERMSIG(note->status))));
	else
		session_end(session, text_format("the target exited with status %d", WEXITSTATUS(note->status)));
	/* Its children go on, and are followed to their ends. */
	session->is_done = !session->options->is_followed;
}

HIT_PATH static int take_hit(struct session *session, struct engine_note *note, struct err *err)
{
	struct session_image *image = session_image_run(session, note->hit.pid, note->hit.image);
	uint64_t passed;

	if (image)
		note->hit.image = image->id;
	if (image && session_check_hit(session, image, &note->hit, err))
		return -1;
	if (!note->hit.watches)
		return 0;
	if (session->own.max_rate)
		session_limit_hit(session, &note->hit);
	passed = session_filter(session, &note->hit);
	if (session->is_tracing)
		session_trace_values(session, &note->hit, passed);
	values_add(session->values, &note->hit);
	note->hit.watches = passed;
	if (!passed)
		return 0;
	profile_add(session->profile, &note->hit);
	if (session->is_tracing)
		session_trace_hit(session, &note->hit);
	if (session->options->max_hits && profile_hits(session->profile) >= session->options->max_hits)
		session_end(session, text_format("the limit of %" PRIu64 " hits was reached", session->options->max_hits));
	return 0;
}

/* When the next tick is due: ten times a second, or when the duration or the second of a limit ends. */
static uint64_t deadline(const struct session *session)
{
	uint64_t end = session->start_ns + session->options->duration_ns, limit = session_limit_end(session);
	uint64_t due = session->next_tick_ns;

	if (session->options->duration_ns && end < due)
		due = end;
	return limit && limit < due ? limit : due;
}

static int take_modules(struct session *session, const struct engine_note *note, struct err *err)
{
	struct session_image *image = session_image_run(session, note->pid, note->image);

	if (!image)
		return 0;
	if (image->pid != note->pid)
		return session_take_child_modules(session, note->pid, note->tid, image, err);
	if (session_take_modules(session, image, note->tid, err))
		return -1;
	session_trace_modules(session, image);
	return 0;
}

/* A child was forked, watched as its parent. Without a known parent its names are looked up anew. */
static int take_fork(struct session *session, const struct engine_note *note, struct err *err)
{
	session_say(session, "process %d was forked by %d", note->pid, note->parent);
	guardian_watch(session->guardian, note->pid);
	session_take_fork(session, note->pid, note->parent, note->image);
	if (!note->parent)
		return session_take_image(session, note->pid, note->image, err);
	if (session_take_child(session, note->pid, err))
		return -1;
	session_remember_child(session, session_image_run(session, note->pid, note->image), note->pid);
	return 0;
}

HIT_PATH static int take_event(struct session *session, enum engine_event event, struct engine_note *note,
	struct err *err)
{
	switch (event) {
	case ENGINE_HIT:
		return take_hit(session, note, err);
	case ENGINE_IMAGE:
		session_say(session, "process %d runs a new program", note->pid);
		session_take_exec(session, note->pid, note->image);
		if (session_hold(session) && session_take_image(session, note->pid, note->image, err))
			return -1;
		session_trace_modules(session, session_image_find(session, note->image));
		drop_image(session, note);
		return 0;
	case ENGINE_MODULES:
		return take_modules(session, note, err);
	case ENGINE_FORK:
		return take_fork(session, note, err);
	case ENGINE_EXITED:
		take_exit(session, note);
		return 0;
	case ENGINE_DEADLINE:
		return 0;
	case ENGINE_END:
		if (!session->has_exited)
			session_end(session, text_copy("the target has vanished"));
		session->is_done = true;
		return 0;
	}
	return 0;
}

HIT_PATH static int loop(struct session *session, struct err *err)
{
	struct engine_note *note = mem_new(1, sizeof(*note));
	int result = 0;

	while (!session->is_done && result == 0) {
		enum engine_event event = session->ops->next(session->engine, note, deadline(session));
		uint64_t now_ns = event == ENGINE_HIT ? note->hit.time_ns : clock_now_ns();

		result = take_event(session, event, note, err);
		if (result == 0 && now_ns >= deadline(session)) {
			session_tick(session, now_ns);
			result = session_check_modules(session, err);
		}
	}
	free(note);
	return result;
}

static void describe(struct session *session)
{
	struct utsname uts;

	if (uname(&uts) == 0) {
		session->kernel = text_format("%s %s", uts.sysname, uts.release);
		session->machine = text_format("%s, %ld processors", uts.machine, sysconf(_SC_NPROCESSORS_ONLN));
	}
	session->start_unix_s = (uint64_t)time(NULL);
}

/* What can only be told while the target lives. */
static void describe_target(struct session *session)
{
	const char *build_id = session->main_image ? symbols_build_id(session->main_image->symbols) : NULL;
	char *command = session->has_exited ? NULL : procfs_command(session->pid);

	if (build_id && !session->build_id)
		session->build_id = text_copy(build_id);
	if (command) {
		free(session->command);
		session->command = command;
	}
}

/* Look names up in the program that the process runs now, and again if that is another one
 * afterwards (it was in exec, or has been since). */
static int prepare_settled(struct session *session, uint64_t *image, struct err *err)
{
	int result = -1;
	uint64_t after = 0;

	for (int i = 0; i < PREPARE_MAX; i++) {
		*image = procfs_image(session->pid);
		if (session->main_image)
			session_image_free(session->main_image);
		session->main_image = NULL;
		result = session_prepare(session, err);
		after = procfs_image(session->pid);
		/* A refusal is said twice: the threads of a process that is killed end one by one, and what
		 * is read through one of them may be missing. */
		if (*image && after == *image && (result == 0 || i > 0))
			return result;
	}
	*image = 0;
	return result;
}

static int open_attach(struct session *session, struct err *err)
{
	uint64_t image;
	struct target target = {.pid = session->options->pid,
		.is_followed = session->options->is_followed,
		.has_cpu = session->options->is_traced,
		.stack = session->options->stack};
	struct procfs_status status;

	session->pid = target.pid;
	if (!procfs_status(target.pid, &status))
		return err_set(err, "there is no process %d", target.pid);
	if (status.tgid != target.pid)
		return err_set(err, "%d is a thread of process %d; watchprof watches whole processes: use -p %d",
			target.pid, status.tgid, status.tgid);
	if (target.pid == getpid() || target.pid == getppid())
		return err_set(err, "process %d is watchprof itself", target.pid);
	if (status.tracer || !procfs_living_thread(target.pid) || !procfs_may_inspect(target.pid))
		return attach_error(target.pid, EPERM, err);
	if (!procfs_is_64bit(target.pid))
		return err_set(err, "process %d (%s) is a 32-bit program, which is not supported", target.pid,
			status.name);
	/* One that never stays what it is must be traced first. */
	if (prepare_settled(session, &image, err) && image)
		return -1;
	session->engine = session->ops->open(&target, &session->pid, err);
	if (!session->engine)
		return -1;
	/* From now on each exec is reported. */
	if (procfs_image(session->pid) != image && prepare_settled(session, &image, err))
		return image ? -1 : attach_error(session->pid, ESRCH, err);
	guardian_watch(session->guardian, session->pid);
	session->start_ns = clock_now_ns();
	session_check_traps(session);
	return session_arm(session, session->main_image, err);
}

/* The files of the program to be launched. The screen needs the terminal for itself: under it there is
 * nothing to read, and what the program writes is kept. */
static int files_open(struct session *session, struct target *target, struct err *err)
{
	const struct options *options = session->options;
	bool has_screen = session->frontend_ops != &frontend_quiet;
	const char *input = options->stdin_path ? options->stdin_path : has_screen ? "/dev/null" : NULL;

	if (input)
		session->input_fd = open(input, O_RDONLY | O_CLOEXEC);
	if (input && session->input_fd < 0)
		return err_set(err, "--stdin: %s cannot be read: %s", input, strerror(errno));
	if (options->stdout_path)
		session->output_fd = open(options->stdout_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	else if (has_screen)
		session->output_fd = memfd_create("watchprof-output", MFD_CLOEXEC);
	if (session->output_fd < 0 && options->stdout_path)
		return err_set(err, "--stdout: %s cannot be written: %s", options->stdout_path, strerror(errno));
	if (session->output_fd < 0 && has_screen)
		return err_set(err, "no place for the program's output: %s", strerror(errno));
	target->input_fd = session->input_fd;
	target->output_fd = session->output_fd;
	return 0;
}

static int open_launch(struct session *session, const sigset_t *mask, struct err *err)
{
	struct target target = {.command = session->options->command,
		.mask = mask,
		.is_followed = session->options->is_followed,
		.has_cpu = session->options->is_traced,
		.stack = session->options->stack};

	if (files_open(session, &target, err))
		return -1;
	session->engine = session->ops->open(&target, &session->pid, err);
	session->start_ns = clock_now_ns();
	if (!session->engine)
		return -1;
	guardian_watch(session->guardian, session->pid);
	return 0;
}

/* After the engine has let go of a launched program, wait for its end as its parent. */
static void await_child(struct session *session)
{
	int status;
	pid_t tid;

	session->is_done = false;
	sys_ticks(TICK_NS);
	while (!session->has_exited && !session->is_done) {
		tid = sys_wait(&status, true);
		if (tid == session->pid && (WIFEXITED(status) || WIFSIGNALED(status))) {
			session->has_exited = true;
			session->status = status;
		} else if (tid < 0 && tid != -EINTR) {
			break;
		}
		if (tid == -EINTR) {
			session_take_signals(session);
			session->is_done |= session->signal && clock_now_ns() >= session->grace_ns;
		}
	}
	sys_ticks(0);
}

/* The exit status that stands for the run. */
static int exit_status(const struct session *session)
{
	if (!session->is_launch)
		return 0;
	if (!session->has_exited)
		return 128 + session->signal;
	return WIFSIGNALED(session->status) ? 128 + WTERMSIG(session->status) : WEXITSTATUS(session->status);
}

/* The target has ended by itself: the screen stays until the user or a signal ends it. */
static void screen_stay(struct session *session, const struct report *report)
{
	struct pollfd signals = {.fd = session->signal_fd, .events = POLLIN};
	struct frontend_wish wish;

	session->frontend_ops->finish(session->frontend);
	if (session->frontend_ops == &frontend_quiet || !session->has_exited || session->signal)
		return;
	do {
		wish = session->frontend_ops->tick(session->frontend, report, clock_now_ns());
		if (wish.kind == WISH_REPORT)
			session_write_wish(session, &wish, report);
	} while (wish.kind != WISH_QUIT && poll(&signals, 1, TICK_NS / 1000000) <= 0);
}

/* Disarm and detach, then write the report: in this order, so that the target never waits for
 * a slow disk or a reader of ours. */
static int close_and_report(struct session *session, struct err *err)
{
	struct report_watch watches[WATCHES_MAX];
	struct report report;
	char *end = text_copy(session->end);
	off_t shown = 0;
	int result;

	session->end_ns = clock_now_ns();
	if (!session->has_exited)
		session_compare(session);
	describe_target(session);
	tell_findings(session);
	session_check_cost(session);
	report = session_report(session, watches);
	session_report_end(session, &report);
	report.end = end;
	session->ops->close(session->engine);
	session->engine = NULL;
	guardian_free(session->guardian);
	session->guardian = NULL;
	session_writer_wait(session);
	session_trace_close(session);
	session_report_trace(session, &report);
	screen_stay(session, &report);
	session->frontend_ops->close(session->frontend);
	session->frontend = NULL;
	sys_ticks(0); /* they would interrupt what waits for a reader */
	session_output_show(session, &shown);
	result = session_reports_save(session, &report, err);
	if (session->is_launch && !session->has_exited && !session->signal)
		await_child(session);
	session_output_show(session, &shown);
	free((void *)report.processes);
	free(end);
	return result;
}

/* A run that could not begin: a program that has not run yet must not stay behind. */
static void abandon(struct session *session)
{
	if (session->is_launch && session->engine && !session->has_exited && !session->has_run)
		sys_kill(session->pid, SIGKILL);
	if (session->engine)
		session->ops->close(session->engine);
	guardian_free(session->guardian);
	if (session->frontend)
		session->frontend_ops->close(session->frontend);
}

static void session_fini(struct session *session)
{
	session_writer_wait(session);
	control_socket_close(session->control);
	session_trace_free(session);
	for (size_t i = 0; i < session->options->n_watches; i++)
		free(session->watches[i].object);
	for (size_t i = 0; i < WATCHES_MAX; i++)
		value_type_fini(&session->watches[i].type);
	session_watches_end(session);
	for (size_t i = 0; i < session->n_warnings; i++)
		free(session->warnings[i]);
	free(session->warnings);
	free(session->end);
	free(session->command);
	free(session->build_id);
	free(session->kernel);
	free(session->machine);
	values_free(session->values);
	free(session->report_values);
	profile_free(session->profile);
	while (!LIST_EMPTY(&session->images))
		session_image_free(LIST_FIRST(&session->images));
	symbols_source_fini(&session->source);
	for (size_t i = 0; i < session->n_processes; i++) {
		free(session->processes[i].command);
		free(session->processes[i].end);
	}
	free(session->processes);
	if (session->signal_fd >= 0)
		close(session->signal_fd);
	if (session->output_fd >= 0)
		close(session->output_fd);
	if (session->input_fd >= 0)
		close(session->input_fd);
}

/* Was the run ended before it began? */
static bool is_interrupted(void *context)
{
	struct session *session = context;

	session_take_signals(session);
	return session->signal || session->is_done;
}

static void session_init(struct session *session, const struct options *options)
{
	session->own = *options;
	session->options = &session->own;
	session->signal_fd = -1;
	LIST_INIT(&session->images);
	session->output_fd = session->input_fd = -1;
	session->is_launch = options->command != NULL;
	counts_begin(session);
	session_watches_begin(session, options);
	if (session->is_launch)
		session->command = text_copy(options->command[0]);
	session->source = (struct symbols_source){.debug_dirs = options->debug_dirs,
		.n_debug_dirs = options->n_debug_dirs,
		.is_debuginfod = options->debuginfod,
		.is_quiet = options->verbosity < 0,
		.is_ended = is_interrupted,
		.context = session};
	describe(session);
}

/* Ask servers for debug info: before a screen has the terminal, and while nothing is stopped. */
static int fetch(struct session *session, struct err *err)
{
	if (!session->options->debuginfod)
		return 0;
	if (session->is_launch)
		symbols_fetch_command(session->options->command[0], &session->source);
	else
		symbols_fetch_process(session->options->pid, &session->source);
	if (!is_interrupted(session))
		return 0;
	return err_set_status(err, session->signal ? 128 + session->signal : ERR_FAILED,
		"interrupted while debug information was fetched: nothing was watched");
}

static int run(struct session *session, const sigset_t *mask, struct err *err)
{
	sigset_t signals;

	if (session_reports_check(session->options, err) || session->ops->probe(err) || session_trace_open(session, err))
		return -1;
	session_signals(&signals);
	session->guardian = guardian_new(&signals, session->ops->rescue, session->frontend_ops->farewell());
	session->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (session->options->control && !(session->control = control_socket_open(session->options->control, err)))
		return -1;
	if (fetch(session, err) ||
		session->frontend_ops->open(&session->frontend, session->options->interval_ns, session->guardian, err))
		return -1;
	if (session->options->debuginfod && !getenv("DEBUGINFOD_URLS"))
		session_warn(session, text_copy("--debuginfod: DEBUGINFOD_URLS is not set, there is no server to ask"));
	sys_ticks(TICK_NS);
	if (session->is_launch ? open_launch(session, mask, err) : open_attach(session, err))
		return -1;
	describe_target(session);
	if (!session->is_launch)
		session_trace_modules(session, session->main_image);
	if (loop(session, err))
		return -1;
	return close_and_report(session, err);
}

HIT_PATH int session_run(const struct options *options, const struct engine_ops *engine,
	const struct frontend_ops *frontend, const sigset_t *mask, int *status, struct err *err)
{
	struct session *session = mem_new(1, sizeof(*session));
	int result;

	session->ops = engine;
	session->frontend_ops = frontend;
	session_init(session, options);
	result = run(session, mask, err);
	if (result)
		abandon(session);
	else
		*status = exit_status(session);
	sys_ticks(0);
	session_fini(session);
	free(session);
	return result;
}
