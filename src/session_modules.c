/* session_modules.c owns what happens to watches when libraries come and go: which hook of the dynamic
 * linker is armed, when a library is ready to be watched, and which watches have lost theirs. */
#include "session_private.h"
#include "watchprof/util.h"

#include <stdlib.h>

/* A watch was found: may its library be unloaded? Not what the program was started with. */
void session_take_home(struct session_image *image, size_t i)
{
	home_fini(&image->homes[i]);
	if (image->is_started)
		symbols_home(image->symbols, image->modules[i] ? image->modules[i] : image->spans[i].addr,
			&image->homes[i]);
}

void session_drop_homes(struct session_image *image)
{
	for (size_t i = 0; i < WATCHES_MAX; i++)
		home_fini(&image->homes[i]);
}

static bool is_loose(const struct session_image *image, size_t i)
{
	return image->state[i] == WATCH_ARMED && image->homes[i].dynamic;
}

bool session_is_waiting(const struct session *session, const struct session_image *image)
{
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (image->state[i] == WATCH_PENDING || image->state[i] == WATCH_UNLOADED)
			return true;
	}
	return false;
}

void session_choose_hook(const struct session *session, struct session_image *image)
{
	struct arming arming;
	struct err ignored;
	bool may_go = false;

	image->hook = image->loader.hook;
	image->is_hook_spare = !session_is_waiting(session, image);
	if (!image->is_hook_spare)
		return;
	/* All are there. Where a slot is left, it tells when one goes. */
	for (size_t i = 0; i < session->options->n_watches; i++)
		may_go |= is_loose(image, i);
	arming = session_arming(session, image);
	arming.off = 0; /* what is off for now has to fit as well */
	if (!may_go || session->ops->plan(&arming, NULL, &ignored))
		image->hook = 0;
}

static bool is_gone(const struct session_image *image, size_t i)
{
	return is_loose(image, i) && !symbols_is_home(image->symbols, &image->homes[i]);
}

static bool is_any_gone(const struct session *session, struct session_image *image)
{
	symbols_links_forget(image->symbols);
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (is_gone(image, i))
			return true;
	}
	return false;
}

/* Note the watches whose library has gone, by the dynamic linker's lists as last read. Returns whether
 * there are any. */
static bool drop_gone(struct session *session, struct session_image *image)
{
	bool any = false;

	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (!is_gone(image, i))
			continue;
		session_say(session, "%s: %s was unloaded", session->text[i], image->homes[i].name);
		image->state[i] = WATCH_UNLOADED; /* its home stays: a forked child may have it */
		image->changed[i] = ++image->changes;
		image->spans[i].len = 0;
		image->modules[i] = 0;
		any = true;
	}
	return any;
}

int session_take_modules(struct session *session, struct session_image *image, pid_t tid, struct err *err)
{
	uint64_t ready;
	bool any_gone, was_started;

	if (image->loading && tid != image->loading) {
		/* Another thread passes by; the library is not ready, unless it failed to load. */
		symbols_refresh(image->symbols);
		if (session_is_any_found(session, image))
			return 0;
	} else if (!image->loading && image->hook == image->loader.hook &&
		!symbols_is_consistent(image->symbols, &image->loader)) {
		return 0;
	}
	if (!image->loading && image->is_hook_spare && !is_any_gone(session, image))
		return 0;
	symbols_refresh(image->symbols);
	any_gone = drop_gone(session, image);
	if (!image->loading && image->is_started && session_is_any_found(session, image)) {
		/* It is mapped, but its relocations and its thread-local storage are still to come. */
		ready = symbols_ready_hook(image->symbols);
		image->loading = ready ? tid : 0;
		image->hook = ready ? ready : image->hook;
		if (ready)
			return session_arm(session, image, err);
	}
	image->loading = 0;
	was_started = image->is_started;
	image->is_started |= !image->loader.is_dynamic || symbols_is_started(image->symbols, &image->loader);
	if (!image->loader.is_dynamic)
		image->loader.hook = 0; /* a static program has come to where it is ready */
	if (session_resolve_and_arm(session, image, any_gone, err))
		return -1;
	if (!was_started)
		image->settled = image->changes;
	session->has_run = true;
	return 0;
}

/* Where no slot is left for the hook, nothing tells that a library has gone. */
static bool is_blind(const struct session *session, const struct session_image *image)
{
	for (size_t i = 0; i < session->options->n_watches && !image->hook; i++) {
		if (is_loose(image, i))
			return true;
	}
	return false;
}

/* See for ourselves. */
static int look(struct session *session, struct session_image *image, struct err *err)
{
	if (!is_any_gone(session, image))
		return 0;
	drop_gone(session, image);
	image->was_blind = true;
	/* From now on the hook tells. What came before that is looked for; not what is half loaded. */
	session_choose_hook(session, image);
	if (session_arm(session, image, err))
		return -1;
	if (!symbols_is_consistent(image->symbols, &image->loader))
		return 0;
	symbols_refresh(image->symbols);
	return session_resolve_and_arm(session, image, false, err);
}

int session_check_modules(struct session *session, struct err *err)
{
	struct session_image *image;

	LIST_FOREACH (image, &session->images, all) {
		if (image->pid && is_blind(session, image) && look(session, image, err))
			return -1;
	}
	return 0;
}

/* Is it the library's variable that was hit? The thread runs again already, and may have unloaded it since
 * its own code made the access. What the dynamic linker writes there it writes while it loads another. */
static bool is_own_hit(const struct session_image *image, size_t i, const struct hit *hit)
{
	const struct home *home = &image->homes[i];
	const uint64_t ip = hit->frames[0];

	if (symbols_is_linker(image->symbols, ip))
		return false;
	return symbols_is_home(image->symbols, home) ||
		(ip > home->start && ip <= home->end && !symbols_is_taken(image->symbols, home));
}

HIT_PATH int session_check_hit(struct session *session, struct session_image *image, struct hit *hit, struct err *err)
{
	bool any = false;

	if (!image->was_blind && !is_blind(session, image))
		return 0;
	symbols_links_forget(image->symbols);
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (!(hit->watches & 1ULL << i))
			continue;
		any |= is_loose(image, i);
		/* Unloaded: hit once more before the registers were changed. */
		if (is_loose(image, i) ? !is_own_hit(image, i, hit) : image->state[i] == WATCH_UNLOADED)
			hit->watches &= ~(1ULL << i);
	}
	return any && is_blind(session, image) ? look(session, image, err) : 0;
}
