/* session_hold.c owns the time before a launched program begins, where the user has still to say what is to be watched: it
 * stands at its exec meanwhile, and none of its code has run. */
#include "session_private.h"
#include "watchprof/control.h"
#include "watchprof/frontend.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <poll.h>
#include <signal.h>

#define TICK_MS 100

bool session_hold(struct session *session)
{
	struct pollfd signals = {.fd = session->signal_fd, .events = POLLIN};

	if (!session->is_launch || session->main_image || session->own.n_watches || session->frontend_ops == &frontend_quiet)
		return true;
	session->is_held = true;
	while (!session->own.n_watches && !session->is_done) {
		session->start_ns = clock_now_ns(); /* nothing of the run has passed */
		session_tick(session, session->start_ns);
		poll(&signals, 1, TICK_MS);
	}
	session->is_held = false;
	if (session->is_done)
		sys_kill(session->pid, SIGKILL); /* it must not begin unwatched */
	return !session->is_done;
}
