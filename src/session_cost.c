/* session_cost.c owns the early warning that watching costs more than it tells. */
#include "session_private.h"

#include "watchprof/util.h"

#include <inttypes.h>

/* So many stops are enough to judge by; so many of a hundred at other bytes are too many. */
#define STOPS_MIN 1000
#define SHARE_MAX 95

void session_check_cost(struct session *session)
{
	struct engine_counts counts;
	uint64_t stops;

	if (!session->engine)
		return;
	counts = session->ops->counts(session->engine);
	if (counts.blinded && !session->is_blind_told)
		session_warn(session, text_copy("the target has begun to use asynchronous input and output (io_uring or aio), or to dispatch "
						"system calls to itself (prctl), for which the kernel works in its memory by itself: from then "
						"on nothing was watched by pages"));
	session->is_blind_told |= counts.blinded > 0;
	if (counts.unshut && !session->is_unshut_told)
		session_warn(session, text_copy("watched pages could not be protected again, as it is where a process has as many mappings as "
						"vm.max_map_count allows: accesses are not seen until that works (windows and window_time in "
						"the report)"));
	session->is_unshut_told |= counts.unshut > 0;
	if (session->is_cost_told)
		return;
	stops = counts.neighbours + profile_hits(session->profile);
	if (stops < STOPS_MIN || counts.neighbours * 100 <= stops * SHARE_MAX)
		return;
	session->is_cost_told = true;
	session_warn(session, text_format("%" PRIu64 " of %" PRIu64 " stops were accesses to other variables in the same pages, which "
					  "cost the target as much as hits do: watch a variable elsewhere, or writes alone (:w), or "
					  "limit the rate (--max-rate)",
				      counts.neighbours, stops));
}
