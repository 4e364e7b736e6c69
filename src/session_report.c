/* session_report.c owns the picture of a run that reports and screens are made from. */
#include "session_private.h"
#include "watchprof/control.h"
#include "watchprof/util.h"

#include "config.h"

#include <stdlib.h>

static const char *state_name(const struct session *session, size_t i)
{
	static const char *const names[] = {
		[WATCH_PENDING] = "pending", [WATCH_ARMED] = "armed", [WATCH_ENDED] = "ended at exec",
		[WATCH_UNLOADED] = "unloaded", [WATCH_CLEARED] = "cleared", [WATCH_REFUSED] = "refused"};

	enum watch_state state = session->main_image ? session->main_image->state[i] : WATCH_PENDING;

	if (state == WATCH_PENDING && !session->watches[i].last.len)
		return "never found";
	/* Not in the last image of the first process, but in another one. */
	return names[state == WATCH_PENDING && session->options->is_followed ? WATCH_ARMED : state];
}

static struct report_watch watch_report(const struct session *session, size_t i)
{
	const struct session_watch *watch = &session->watches[i];

	return (struct report_watch){
		.text = session->text[i],
		.object = watch->object,
		.access = access_name(session->options->watches[i].access),
		.addr = watch->last.addr,
		.len = watch->last.len,
		.slots = watch->slots,
		.state = state_name(session, i),
		.compared = watch->compared,
		.changed = watch->changed,
		.is_tls = watch->is_tls,
		.armed_share = session_armed_share(session, i),
	};
}

/* The followed processes with their hits; none where children are not followed. */
static void processes_report(const struct session *session, struct report *report)
{
	size_t n_listed = session_processes_listed(session), n;
	struct report_process *processes = mem_new(n_listed, sizeof(*processes));
	struct process_hits *hits = profile_processes(session->profile, &n);

	for (size_t i = 0; i < n_listed; i++) {
		const struct session_process *process = &session->processes[i];

		processes[i] = (struct report_process){.pid = process->pid,
			.parent = process->parent,
			.command = process->command,
			.end = process->end ? process->end : "running",
			.hits = process_hits_of(hits, n, process->pid)};
	}
	free(hits);
	report->processes = processes;
	report->n_processes = n_listed;
}

void session_report_trace(const struct session *session, struct report *report)
{
	struct trace_counts counts;

	/* What has come to light since. */
	report->warnings = (const char *const *)session->warnings;
	report->n_warnings = session->n_warnings;
	if (!session->trace)
		return;
	counts = trace_counts(session->trace);
	report->is_traced = true;
	report->trace_hits = counts.hits;
	report->trace_dropped = counts.dropped;
	report->trace_overwritten = counts.overwritten;
}

void session_report_end(const struct session *session, struct report *report)
{
	if (session->options->is_followed)
		processes_report(session, report);
}

/* Of what lies at an address now in the first process; for pointers. */
static char *place_name(void *context, uint64_t addr)
{
	const struct session *session = context;

	return session->main_image ? symbols_name(session->main_image->symbols, addr) : NULL;
}

static void values_report(const struct session *session, size_t i)
{
	struct report_values *values = &session->report_values[i];
	const struct loc *loc;

	values->has_filters = session->options->watches[i].filters.n > 0;
	values->filtered = session->watches[i].filtered;
	values->is_known = values_stats(session->values, (unsigned)i, &values->stats);
	values->history = values_history(session->values, (unsigned)i);
	values->type = &session->watches[i].type;
	values->places = (struct value_places){place_name, (void *)session};
	if (!values->is_known || !values->stats.last.time_ns)
		return;
	loc = profile_find(session->profile, values->stats.last.image, values->stats.last.addr);
	values->writer = loc ? loc->function : NULL;
	values->written_ns = values->stats.last.time_ns - session->start_ns;
}

struct report session_report(const struct session *session, struct report_watch *watches)
{
	struct engine_counts counts = {0};
	uint64_t end_ns = session->end_ns ? session->end_ns : clock_now_ns();
	struct report report;

	if (session->engine)
		counts = session->ops->counts(session->engine);
	for (size_t i = 0; i < session->options->n_watches; i++) {
		watches[i] = watch_report(session, i);
		values_report(session, i);
	}
	report = (struct report){
		.profile = session->profile,
		.code = {session_code, (void *)session},
		.view = session->options->view,
		.watches = watches,
		.values = session->report_values,
		.n_watches = session->options->n_watches,
		.version = PACKAGE_VERSION,
		.command_line = session->options->command_line,
		.command = session->command,
		.build_id = session->build_id,
		.machine = session->machine,
		.kernel = session->kernel,
		.engine = session->ops->name,
		.self_test = SELF_TEST_OK,
		.pid = session->pid,
		.is_followed = session->options->is_followed,
		.processes_left_out = session->n_processes_left_out,
		.start_unix_s = session->start_unix_s,
		.duration_ns = session->start_ns ? end_ns - session->start_ns : 0,
		.threads_armed = counts.threads_armed,
		.threads_born = counts.threads_born,
		.threads_unarmed = counts.threads_unarmed,
		.masked_off = counts.masked_off,
		.threads_now = counts.threads_now,
		.stopped_ns = counts.stopped_ns,
		.output_fd = session->output_fd >= 0 ? &session->output_fd : NULL,
		.lost = counts.lost,
		.is_paged = session->ops == &engine_page,
		.neighbours = counts.neighbours,
		.stepped = counts.stepped,
		.windows = counts.windows,
		.window_ns = counts.window_ns,
		.end = session->end ? session->end : session->is_held ? "waits at its start for a watch" : "running",
		.traps_unblocked = counts.traps_unblocked,
		.max_rate = session->options->max_rate,
		.is_sampled = session->was_limited || session->was_paused,
		.complete = counts.lost == 0 && counts.windows == 0 && counts.threads_unarmed == 0 && !session->was_limited &&
			!session->was_paused,
		.is_tracing = session->trace && session->is_tracing,
	};
	session_report_trace(session, &report);
	return report;
}

static struct report report_now(struct session *session, struct report_watch *watches)
{
	struct report report = session_report(session, watches);

	session_report_end(session, &report);
	return report;
}

int session_report_write(struct session *session, FILE *out, enum report_format format, struct err *err)
{
	struct report_watch watches[WATCHES_MAX];
	struct report report = report_now(session, watches);
	int result = report_write(out, format, &report, err);

	free((void *)report.processes);
	return result;
}

int session_report_files(struct session *session, size_t *n, struct err *err)
{
	struct report_watch watches[WATCHES_MAX];
	struct report report = report_now(session, watches);
	struct err further;
	int result = 0;

	*n = 0;
	for (size_t i = 0; i < session->options->n_outputs; i++) {
		const struct report_output *output = &session->options->outputs[i];

		/* The terminal belongs to the screen. */
		if (!output->path && session->frontend_ops != &frontend_quiet)
			continue;
		if (report_save(output->path, output->format, &report, result ? &further : err))
			result = -1;
		else
			++*n;
	}
	free((void *)report.processes);
	return result;
}
