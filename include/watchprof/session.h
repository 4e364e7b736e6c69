/* session: one run from the options to the report. */
#ifndef WATCHPROF_SESSION_H
#define WATCHPROF_SESSION_H

#include "watchprof/engine.h"
#include "watchprof/err.h"
#include "watchprof/frontend.h"
#include "watchprof/options.h"

#include <signal.h>

/* Run: self-test, names, attach or launch, count, detach, report. The signals of session_signals() must be blocked; mask is
 * what the launched program gets instead. On success (0) *status is the exit status of the whole program. On failure (-1)
 * err tells, and the target is as it was, or was never started. */
int session_run(const struct options *options, const struct engine_ops *engine,
	const struct frontend_ops *frontend, const sigset_t *mask, int *status, struct err *err);

/* The signals that a run takes: those that end it (SIGINT, SIGTERM, SIGHUP, SIGQUIT; GUARDIAN_GONE), SIGPIPE, SIGUSR1 and
 * SIGUSR2; without those that were ignored from outside (nohup). */
void session_signals(sigset_t *set);

#endif
