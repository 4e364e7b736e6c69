/* session_filter.c owns the question which watches a hit counts for: it gathers what filters ask for. */
#include "session_private.h"
#include "watchprof/procfs.h"
#include "watchprof/util.h"
#include "watchprof/values.h"

HIT_PATH uint64_t session_filter(struct session *session, const struct hit *hit)
{
	uint64_t passed = hit->watches;

	for (uint64_t left = hit->watches; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		const struct filters *filters = &session->options->watches[i].filters;
		struct procfs_status status = {0};
		struct value from, to;
		struct filter_facts facts = {.is_write = hit_kind_of(hit, i) & HIT_WRITE, .from = &from, .to = &to,
			.type = &session->watches[i].type};

		if (filters->n == 0)
			continue;
		values_pair(session->values, hit, i, &from, &to);
		if (filters->needs_thread && procfs_status(hit->tid, &status))
			facts.thread = status.name;
		if (filters->needs_function)
			facts.function = profile_function(session->profile, hit);
		if (filters_pass(filters, &facts))
			continue;
		passed &= ~(1ULL << i);
		session->watches[i].filtered++;
	}
	return passed;
}
