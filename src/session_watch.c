/* session_watch.c owns the changes to the set of watches while a run goes on. A watch keeps its
 * number for good, so that hits on their way still belong to it: a cleared one stays in the list,
 * disarmed. */
#include "session_private.h"
#include "watchprof/control.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

/* The engine needs the last two numbers for itself (thread_image.h). */
#define NUMBERS (WATCHES_MAX - 2)

/* A cleared watch's number goes to another one after this time: its last hits have come in. */
#define REUSE_NS NS_PER_S

static bool has_same_stem(const char *text, const char *other)
{
	size_t len = watch_stem(text);

	return watch_stem(other) == len && strncmp(text, other, len) == 0;
}

/* Is that the same request, however it is spelled? */
static bool is_same(const struct watch *watch, const struct watch *other)
{
	const char *filters = strchr(watch->text + watch_stem(watch->text), ',');
	const char *other_filters = strchr(other->text + watch_stem(other->text), ',');

	return has_same_stem(watch->text, other->text) && watch->access == other->access &&
	       strcmp(filters ? filters : "", other_filters ? other_filters : "") == 0;
}

/* The number for a new watch: its former one, a new one, or that of one without hits. -1: none. */
static int number_choose(const struct session *session, const struct watch *watch)
{
	size_t n = session->own.n_watches;
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < n; i++) {
		if (session->watches[i].cleared_ns && is_same(&session->own.watches[i], watch))
			return (int)i;
	}
	if (n < NUMBERS)
		return (int)n;
	for (size_t i = 0; i < n; i++) {
		if (session->watches[i].cleared_ns &&
			now_ns - session->watches[i].cleared_ns > REUSE_NS &&
			profile_count(session->profile, (unsigned)i).hits == 0)
			return (int)i;
	}
	return -1;
}

/* Forget in all images what number i was. */
static void number_reset(struct session *session, size_t i, enum watch_state state)
{
	struct session_image *image;

	LIST_FOREACH(image, &session->images, all)
	{
		image->state[i] = state;
		image->is_new[i] = false;
		image->modules[i] = 0;
		home_fini(&image->homes[i]);
		image->spans[i] = (struct span){.access = session->own.watches[i].access};
	}
}

/* Find a new watch in every image and see that it fits. */
static int find_everywhere(struct session *session, size_t i, struct err *err)
{
	struct session_image *image;
	struct err ignored;

	if (session->is_held)
		return session_try(session, err);
	if (session->main_image && session->has_run && session->main_image->is_started &&
		session_find_added(session, session->main_image, i, err))
		return -1;
	LIST_FOREACH(image, &session->images, all)
	{
		if (image != session->main_image && image->is_started &&
			session_find_added(session, image, i, &ignored))
			image->state[i] = WATCH_REFUSED;
	}
	return 0;
}

/* Put everything that was chosen into the registers of all processes. */
static int arm_everywhere(struct session *session, struct err *err)
{
	struct session_image *image;
	int result = 0;

	if (!session->has_run)
		return 0; /* it comes when the program has its libraries */
	LIST_FOREACH(image, &session->images, all)
	{
		if (image->is_started && !image->loading)
			session_choose_hook(session, image);
		if (image->pid && result == 0)
			result = session_arm(session, image, err);
	}
	for (size_t i = 0; i < session->n_processes && result == 0; i++) {
		if (session->processes[i].pid && !session->processes[i].end)
			result = session_arm_child(session, &session->processes[i], err);
	}
	session_note_armed(session);
	return result;
}

/* What was tried failed: arm what was armed before. */
static void arm_former(struct session *session)
{
	struct err ignored;

	arm_everywhere(session, &ignored);
}

/* What a watch and its numbers were, to be put back. */
struct former {
	struct watch watch;
	size_t n_watches;
	uint64_t cleared_ns;
};

static void install(
	struct session *session, size_t i, const struct watch *watch, struct former *former)
{
	*former = (struct former){
		session->own.watches[i], session->own.n_watches, session->watches[i].cleared_ns};
	/* One that comes again goes on. */
	if (i < session->own.n_watches && strcmp(session->own.watches[i].text, watch->text) != 0) {
		values_forget(session->values, (unsigned)i);
		value_type_fini(&session->watches[i].type);
		session->watches[i].filtered = 0;
	}
	session->own.watches[i] = *watch;
	session->text[i] = watch->text;
	if (i == session->own.n_watches) {
		session->own.n_watches++;
		session->watches[i] = (struct session_watch){0};
	}
	session->watches[i].cleared_ns = 0;
	if (!(watch->access & ACCESS_WRITE))
		values_without_writes(session->values, (unsigned)i);
	number_reset(session, i, WATCH_PENDING);
}

static void uninstall(struct session *session, size_t i, const struct former *former)
{
	session->own.watches[i] = former->watch;
	session->text[i] = former->watch.text;
	session->own.n_watches = former->n_watches;
	session->watches[i].cleared_ns = former->cleared_ns;
	number_reset(session, i, former->n_watches == i ? WATCH_PENDING : WATCH_CLEARED);
	if (former->n_watches == i)
		free(session->watches[i].object);
	if (former->n_watches == i)
		value_type_fini(&session->watches[i].type);
	if (former->n_watches == i)
		session->watches[i] = (struct session_watch){0};
}

/* Stop watching number i in the images. The registers follow with the next arming. */
static void clear_number(struct session *session, size_t i)
{
	session->watches[i].cleared_ns = clock_now_ns();
	number_reset(session, i, WATCH_CLEARED);
}

/* Put a cleared number back as it was: it is looked up again. */
static void restore_number(struct session *session, size_t i)
{
	struct err ignored;

	session->watches[i].cleared_ns = 0;
	number_reset(session, i, WATCH_PENDING);
	find_everywhere(session, i, &ignored);
}

/* Watch one more in place of number old (-1: of none), in one change of the registers. */
static int replace(struct session *session, int old, struct watch *watch, struct err *err)
{
	int i = number_choose(session, watch);
	struct former former;

	if (i < 0)
		return err_set(err,
			"%s: %d watches have been made in this run, and all have counts; zero them "
			"first",
			watch->text, NUMBERS);
	if (old >= 0)
		clear_number(session, (size_t)old);
	install(session, (size_t)i, watch, &former);
	if (find_everywhere(session, (size_t)i, err) || arm_everywhere(session, err)) {
		uninstall(session, (size_t)i, &former);
		if (old >= 0)
			restore_number(session, (size_t)old);
		arm_former(session);
		return -1;
	}
	watch_fini(&former.watch);
	session_note_armed(session);
	return 0;
}

static int duplicate_check(
	const struct session *session, const struct watch *watch, struct err *err)
{
	for (size_t i = 0; i < session->own.n_watches; i++) {
		if (!session->watches[i].cleared_ns && is_same(&session->own.watches[i], watch))
			return err_set(err, "%s: it is watched already, as %s", watch->text,
				session->text[i]);
	}
	return 0;
}

int session_watch_add(struct session *session, const char *text, struct err *err)
{
	struct watch watch;

	if (watch_parse(text, &watch, err))
		return -1;
	if (duplicate_check(session, &watch, err) || replace(session, -1, &watch, err)) {
		watch_fini(&watch);
		return -1;
	}
	return 0;
}

static bool is_active(const struct session *session, size_t i)
{
	return !session->watches[i].cleared_ns;
}

/* The watch that a text names: as it is listed, or by its EXPR. -1: none. */
static int number_find(const struct session *session, const char *text, struct err *err)
{
	size_t len = watch_stem(text);
	bool is_exact = text[len] && strcmp(text + len, ":---") != 0;
	int found = -1;

	for (size_t i = 0; i < session->own.n_watches; i++) {
		if (is_active(session, i) && strcmp(session->text[i], text) == 0)
			return (int)i;
	}
	for (size_t i = 0; i < session->own.n_watches && !is_exact; i++) {
		if (!is_active(session, i) || !has_same_stem(session->text[i], text))
			continue;
		if (found >= 0)
			return err_set(err, "%.*s is watched more than once: name one of %s and %s",
				(int)len, text, session->text[found], session->text[i]);
		found = (int)i;
	}
	return found >= 0
		       ? found
		       : err_set(err, "%s: it is not watched, so it cannot be changed or cleared",
				 text);
}

int session_watch_clear(struct session *session, const char *text, struct err *err)
{
	int i = number_find(session, text, err);

	if (i < 0)
		return -1;
	clear_number(session, (size_t)i);
	if (arm_everywhere(session, err)) {
		restore_number(session, (size_t)i);
		arm_former(session);
		return -1;
	}
	return 0;
}

int session_watch_change(struct session *session, const char *text, struct err *err)
{
	size_t len = watch_stem(text);
	struct watch watch;
	char *stem;
	int i;

	if (!text[len])
		return err_set(err,
			"%s: no access after a colon: give EXPR:ACCESS, as in %s:-w-, or %s:--- to "
			"clear",
			text, text, text);
	if (strcmp(text + len, ":---") == 0)
		return session_watch_clear(session, text, err);
	if (watch_parse(text, &watch, err))
		return -1;
	stem = text_format("%.*s", (int)len, text);
	i = number_find(session, stem, err);
	free(stem);
	if (i < 0 || duplicate_check(session, &watch, err) || replace(session, i, &watch, err)) {
		watch_fini(&watch);
		return -1;
	}
	return 0;
}

int session_pause(struct session *session, bool on, struct err *err)
{
	bool was_paused = session->is_paused;
	int result;

	if (was_paused == on)
		return 0;
	session->is_paused = on;
	session->was_paused |= on;
	session->regained = on ? 0 : ~session_off(session);
	result = arm_everywhere(session, err);
	session->regained = 0;
	if (result == 0)
		return 0;
	session->is_paused = was_paused;
	arm_former(session);
	return -1;
}

uint64_t session_off(const struct session *session)
{
	return session->is_paused ? ~0ULL : session->limited;
}

void session_watches_begin(struct session *session, const struct options *options)
{
	struct err err;

	session->own.watches = mem_new(WATCHES_MAX, sizeof(*session->own.watches));
	for (size_t i = 0; i < options->n_watches; i++) {
		if (watch_parse(options->watches[i].text, &session->own.watches[i], &err))
			die("%s", err.text); /* it was parsed before */
		session->text[i] = session->own.watches[i].text;
	}
}

void session_watches_end(struct session *session)
{
	for (size_t i = 0; i < session->own.n_watches; i++)
		watch_fini(&session->own.watches[i]);
	free(session->own.watches);
}

/* The second of the run, in which max_rate hits of a watch are wanted at most. */
static uint64_t second_of(const struct session *session, uint64_t time_ns)
{
	return time_ns > session->start_ns ? (time_ns - session->start_ns) / NS_PER_S : 0;
}

/* Disarm these watches, arm the others. Where that fails there is nothing more to measure. */
static void limit(struct session *session, uint64_t limited)
{
	struct err err;

	session->regained = session->limited & ~limited;
	session->limited = limited;
	session->was_limited |= limited != 0;
	session->is_limiting = true;
	if (!session->is_paused && arm_everywhere(session, &err))
		session_end(session,
			text_format("what --max-rate had disarmed could not be armed again: %s",
				err.text));
	session->is_limiting = false;
	session->regained = 0;
}

void session_limit_hit(struct session *session, const struct hit *hit)
{
	uint64_t second, limited;

	second = second_of(session, hit->time_ns);
	limited = second > session->limited_second ? 0 : session->limited;
	for (uint64_t left = hit->watches; left; left &= left - 1) {
		struct session_watch *watch = &session->watches[__builtin_ctzll(left)];

		if (watch->second != second)
			watch->hits_of_second = 0;
		watch->second = second;
		if (++watch->hits_of_second > session->own.max_rate)
			limited |= left & -left;
	}
	if (limited == session->limited)
		return;
	session->limited_second = second;
	limit(session, limited);
}

HIT_PATH uint64_t session_limit_end(const struct session *session)
{
	return session->limited ? session->start_ns + (session->limited_second + 1) * NS_PER_S : 0;
}

void session_limit_tick(struct session *session, uint64_t now_ns)
{
	if (session->limited && now_ns >= session_limit_end(session))
		limit(session, 0);
}

/* Is number i in the registers of the first process? */
static bool is_armed(const struct session *session, size_t i)
{
	return session->main_image && session->main_image->state[i] == WATCH_ARMED &&
	       !(session_off(session) >> i & 1);
}

/* A time runs or stands from now on. */
static void clock_turn(struct session_clock *clock, bool on, uint64_t now_ns)
{
	if (clock->since_ns && !on) {
		clock->sum_ns += now_ns - clock->since_ns;
		clock->since_ns = 0;
	} else if (!clock->since_ns && on) {
		clock->since_ns = now_ns;
	}
}

static uint64_t clock_sum(const struct session_clock *clock, uint64_t now_ns)
{
	return clock->sum_ns +
	       (clock->since_ns && now_ns > clock->since_ns ? now_ns - clock->since_ns : 0);
}

double session_armed_share(const struct session *session, size_t i)
{
	const struct session_watch *watch = &session->watches[i];
	uint64_t now_ns = session->end_ns ? session->end_ns : clock_now_ns();
	uint64_t wanted = clock_sum(&watch->wanted, now_ns);

	return wanted ? (double)clock_sum(&watch->armed, now_ns) / (double)wanted : 1;
}

void session_note_armed(struct session *session)
{
	uint64_t now_ns = clock_now_ns();

	for (size_t i = 0; i < session->own.n_watches; i++) {
		struct session_watch *watch = &session->watches[i];
		bool is_wanted =
			session->main_image && session->main_image->state[i] == WATCH_ARMED;

		clock_turn(&watch->wanted, is_wanted, now_ns);
		clock_turn(&watch->armed, is_armed(session, i), now_ns);
	}
}
