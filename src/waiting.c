/* waiting.c owns the decision how to wait for the next stop, by what was measured. It reads no
 * clock and waits for nothing. */
#include "watchprof/waiting.h"

#include "watchprof/util.h"

#define WINDOW 200 /* hits */
#define ROUND  4 /* windows; the cheapest counts, as other work on the machine only adds to them */
#define AWAKE_NS                                                                                   \
	100000ULL /* the longest time awake; where hits are rarer, there is nothing to gain */
#define PERIOD_FIRST (NS_PER_S / 2)
#define PERIOD_LAST  (30 * NS_PER_S)
#define BETTER       0.85 /* what the other way must cost at most, beside the chosen one, to replace it \
			   */

static void window_start(struct waiting *waiting, uint64_t now_ns)
{
	waiting->n = 0;
	waiting->start_ns = now_ns;
}

static void round_start(struct waiting *waiting, enum waiting_way way, uint64_t now_ns)
{
	waiting->way = way;
	waiting->n_windows = 0;
	waiting->best_ns = UINT64_MAX;
	window_start(waiting, now_ns);
}

/* Hits are rare: asleep, until they are not. */
static void rest(struct waiting *waiting, uint64_t now_ns)
{
	waiting->chosen = WAITING_ASLEEP;
	waiting->cost_ns = 0;
	if (!waiting->trial_ns)
		waiting->trial_ns = now_ns + PERIOD_FIRST;
	round_start(waiting, WAITING_ASLEEP, now_ns);
}

/* The other way was tried. Each trial that changes nothing makes the next one wait longer. */
static void trial_end(struct waiting *waiting, uint64_t cost_ns, uint64_t now_ns)
{
	bool is_better = (double)cost_ns < (double)waiting->cost_ns * BETTER;

	if (is_better) {
		waiting->chosen = waiting->way;
		waiting->cost_ns = cost_ns;
	}
	waiting->period_ns =
		is_better || !waiting->period_ns ? PERIOD_FIRST : waiting->period_ns * 2;
	if (waiting->period_ns > PERIOD_LAST)
		waiting->period_ns = PERIOD_LAST;
	waiting->trial_ns = now_ns + waiting->period_ns;
	round_start(waiting, waiting->chosen, now_ns);
}

/* A round in the chosen way. To be awake has to go on being worth it: where it becomes dearer, the
 * other way is tried at once. */
static void round_end(struct waiting *waiting, uint64_t cost_ns, uint64_t now_ns)
{
	bool is_dearer = waiting->chosen == WAITING_AWAKE && waiting->cost_ns &&
			 (double)waiting->cost_ns < (double)cost_ns * BETTER;

	waiting->cost_ns = cost_ns;
	if (is_dearer || now_ns >= waiting->trial_ns)
		round_start(waiting,
			waiting->chosen == WAITING_AWAKE ? WAITING_ASLEEP : WAITING_AWAKE, now_ns);
	else
		round_start(waiting, waiting->chosen, now_ns);
}

static void window_end(struct waiting *waiting, uint64_t cost_ns, bool is_trial, uint64_t now_ns)
{
	if (cost_ns < waiting->best_ns)
		waiting->best_ns = cost_ns;
	if (++waiting->n_windows < ROUND)
		window_start(waiting, now_ns);
	else if (is_trial)
		trial_end(waiting, waiting->best_ns, now_ns);
	else
		round_end(waiting, waiting->best_ns, now_ns);
}

HIT_PATH uint64_t waiting_note(struct waiting *waiting, uint64_t now_ns)
{
	uint64_t cost_ns = now_ns - waiting->start_ns;
	bool is_trial = waiting->way != waiting->chosen;

	waiting->n++;
	if (waiting->start_ns == 0)
		rest(waiting, now_ns);
	else if (is_trial && cost_ns > waiting->cost_ns + waiting->cost_ns / 2)
		trial_end(waiting, cost_ns, now_ns); /* enough is seen */
	else if (cost_ns > WINDOW * AWAKE_NS)
		rest(waiting, now_ns);
	else if (waiting->n == WINDOW)
		window_end(waiting, cost_ns, is_trial, now_ns);
	return waiting->way == WAITING_AWAKE ? AWAKE_NS : 0;
}
