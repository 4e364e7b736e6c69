/* session_report.c owns the picture of a run that reports and screens are made from. */
#include "session_private.h"
#include "watchprof/util.h"

#include "config.h"

static const char *state_name(const struct session *session, const struct session_watch *watch)
{
	static const char *const names[] = {
		[WATCH_PENDING] = "pending", [WATCH_ARMED] = "armed", [WATCH_ENDED] = "ended at exec", [WATCH_REFUSED] = "refused"};

	if (watch->state == WATCH_PENDING && !session->was_armed)
		return "never found";
	return names[watch->state];
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
		.state = state_name(session, watch),
		.compared = watch->compared,
		.changed = watch->changed,
	};
}

struct report session_report(const struct session *session, struct report_watch *watches)
{
	struct engine_counts counts = {0};
	uint64_t end_ns = session->end_ns ? session->end_ns : clock_now_ns();

	if (session->engine)
		counts = session->ops->counts(session->engine);
	for (size_t i = 0; i < session->options->n_watches; i++)
		watches[i] = watch_report(session, i);
	return (struct report){
		.profile = session->profile,
		.watches = watches,
		.n_watches = session->options->n_watches,
		.version = PACKAGE_VERSION,
		.command_line = session->options->command_line,
		.command = session->command,
		.build_id = session->build_id,
		.machine = session->machine,
		.kernel = session->kernel,
		.engine = session->ops->name,
		.self_test = "ok, 2 of 2 hits", /* session_run() ends before this otherwise */
		.pid = session->pid,
		.start_unix_s = session->start_unix_s,
		.duration_ns = session->start_ns ? end_ns - session->start_ns : 0,
		.threads_armed = counts.threads_armed,
		.threads_born = counts.threads_born,
		.threads_unarmed = counts.threads_unarmed,
		.lost = counts.lost,
		.end = session->end ? session->end : "running",
		.complete = counts.lost == 0 && counts.threads_unarmed == 0,
		.warnings = (const char *const *)session->warnings,
		.n_warnings = session->n_warnings,
	};
}
