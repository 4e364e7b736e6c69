/* session_arm.c owns the way from names to armed watches over the life of a process: at the
 * attach, when the dynamic linker has loaded what was missing, and after exec. */
#include "session_private.h"
#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arming session_arming(const struct session *session)
{
	return (struct arming){.spans = session->spans,
		.text = session->text,
		.n = session->options->n_watches,
		.hook = session->hook};
}

/* What the watched bytes are now. */
static void value_remember(struct session *session, size_t i)
{
	struct session_watch *watch = &session->watches[i];
	uint64_t len = session->spans[i].len < DR_BYTES_MAX ? session->spans[i].len : DR_BYTES_MAX;
	ssize_t n = sys_memory_read(session->pid, session->spans[i].addr, watch->before, len);

	watch->before_len = n > 0 ? (size_t)n : 0;
}

void session_compare(struct session *session)
{
	unsigned char now[DR_BYTES_MAX];

	for (size_t i = 0; i < session->options->n_watches; i++) {
		struct session_watch *watch = &session->watches[i];

		if (watch->state != WATCH_ARMED || !watch->before_len ||
			sys_memory_read(session->pid, watch->last.addr, now, watch->before_len) !=
				(ssize_t)watch->before_len)
			continue;
		watch->compared = true;
		watch->changed = memcmp(now, watch->before, watch->before_len) != 0;
	}
}

/* A name that no module has (yet): fine where a library may still bring it. */
static int take_unknown(struct session *session, size_t i, struct err *err)
{
	struct session_watch *watch = &session->watches[i];

	if (!session->is_launch && !session->was_armed)
		return -1;
	if (!session->is_launch) {
		watch->state = WATCH_ENDED;
		session_warn(session, text_format("the watch ended at exec: %s", err->text));
		return 0;
	}
	watch->state = WATCH_PENDING;
	if (!watch->was_told) {
		session_warn(session, text_format("%s; waiting for a library or program that has it", err->text));
		watch->was_told = true;
	}
	return 0;
}

/* A name that means something that cannot be watched: the end of the run before the program has
 * begun; afterwards only of this watch. */
static int take_refused(struct session *session, size_t i, struct err *err)
{
	struct session_watch *watch = &session->watches[i];

	if (!session->has_run)
		return -1;
	watch->state = WATCH_REFUSED;
	watch->is_new = false;
	session->spans[i].len = 0;
	session_warn(session, text_format("%s is not watched: %s", session->text[i], err->text));
	return 0;
}

/* Look for every watch that is pending. *n_found counts those that were found now. */
static int resolve_pending(struct session *session, size_t *n_found, struct err *err)
{
	*n_found = 0;
	for (size_t i = 0; i < session->options->n_watches; i++) {
		struct session_watch *watch = &session->watches[i];
		char *warning;

		if (watch->state != WATCH_PENDING)
			continue;
		free(watch->object);
		switch (symbols_resolve(session->symbols, &session->options->watches[i],
			&session->spans[i], &watch->object, err)) {
		case RESOLVE_FOUND:
			watch->state = WATCH_ARMED;
			watch->is_new = true;
			++*n_found;
			warning = symbols_range_warning(
				session->symbols, &session->options->watches[i], &session->spans[i]);
			if (warning)
				session_warn(session, warning);
			break;
		case RESOLVE_UNKNOWN:
			if (take_unknown(session, i, err))
				return -1;
			break;
		case RESOLVE_REFUSED:
			if (take_refused(session, i, err))
				return -1;
			break;
		}
	}
	return 0;
}

static bool is_pending(const struct session *session)
{
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (session->watches[i].state == WATCH_PENDING)
			return true;
	}
	return false;
}

static int plan(struct session *session, struct err *err)
{
	struct arming arming = session_arming(session);
	unsigned slots[WATCHES_MAX] = {0};

	if (session->ops->plan(&arming, slots, err))
		return -1;
	for (size_t i = 0; i < session->options->n_watches; i++)
		session->watches[i].slots = slots[i];
	return 0;
}

void session_check_traps(struct session *session)
{
	const uint64_t trap = 1ULL << (SIGTRAP - 1);
	struct procfs_status status;

	if (!procfs_status(session->pid, &status))
		return;
	if (status.ignored & trap)
		session_warn(session, text_copy("the target ignores SIGTRAP: at the first hit the kernel resets that to the "
						"default, which cannot be put back from outside"));
	if (status.blocked & trap && status.caught & trap)
		session_warn(session, text_copy("the target blocks SIGTRAP and has a handler for it: at the first hit of such a "
						"thread the kernel takes the handler away"));
}

/* Without root the kernel does not raise the rights of a traced program. */
static void check_setuid(struct session *session)
{
	char *exe = text_format("/proc/%d/exe", session->pid);
	struct stat st;

	if (geteuid() != 0 && stat(exe, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)))
		session_warn(session, text_format("%s: a set-user-id or set-group-id program runs without its special rights "
						  "while it is traced; run watchprof as root",
					      session->command));
	free(exe);
}

int session_prepare(struct session *session, struct err *err)
{
	size_t n_found;

	session->symbols = symbols_new(session->pid);
	if (resolve_pending(session, &n_found, err) || plan(session, err))
		return -1;
	session->has_run = true;
	return 0;
}

/* The same when the program may run already: what was found last and does not fit is left out. */
static int plan_late(struct session *session, struct err *err)
{
	while (plan(session, err)) {
		size_t i = session->options->n_watches;

		while (i > 0 && !session->watches[i - 1].is_new)
			i--;
		if (i == 0 || take_refused(session, i - 1, err))
			return -1;
	}
	return 0;
}

int session_arm(struct session *session, struct err *err)
{
	struct arming arming;

	if (plan_late(session, err))
		return -1;
	arming = session_arming(session);
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (session->watches[i].is_new)
			value_remember(session, i);
	}
	if (session->ops->arm(session->engine, session->pid, &arming, err))
		return -1;
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (!session->watches[i].is_new)
			continue;
		session->watches[i].is_new = false;
		session->watches[i].last = session->spans[i];
		session->was_armed = true;
		session_say(session, "watching %s: %" PRIu64 " bytes at 0x%" PRIx64 ", access %s",
			session->text[i], session->spans[i].len, session->spans[i].addr,
			access_name(session->spans[i].access));
	}
	if (session->was_armed)
		session_say(session, "armed in %" PRIu64 " threads of process %d",
			session->ops->counts(session->engine).threads_armed, session->pid);
	return 0;
}

/* Resolve what is pending and arm; the hook stays armed as long as something is missing. */
static int resolve_and_arm(struct session *session, struct err *err)
{
	size_t n_found;
	uint64_t hook = session->hook;

	if (resolve_pending(session, &n_found, err))
		return -1;
	session->hook = is_pending(session) ? session->loader.hook : 0;
	if (n_found == 0 && session->hook == hook)
		return 0;
	return session_arm(session, err);
}

int session_take_image(struct session *session, struct err *err)
{
	for (size_t i = 0; i < session->options->n_watches; i++) {
		struct session_watch *watch = &session->watches[i];

		if (watch->state == WATCH_ARMED || session->is_launch)
			watch->state = WATCH_PENDING;
		watch->is_new = false;
		session->spans[i] = (struct span){.access = session->options->watches[i].access};
	}
	symbols_free(session->symbols);
	session->symbols = symbols_new(session->pid);
	if (!procfs_is_64bit(session->pid))
		return err_set(err, "%s: a 32-bit program, which is not supported", session->command);
	check_setuid(session);
	session->loader = symbols_loader(session->symbols);
	session->hook = session->loader.hook ? session->loader.hook : session->loader.entry;
	if (!session->loader.is_dynamic || !session->hook) {
		session->hook = 0;
		if (resolve_and_arm(session, err))
			return -1;
		session->has_run = true;
		return 0;
	}
	/* Nothing is armed until the dynamic linker has loaded and relocated everything: its
	 * own writes (relocations) are not the program's, and libraries are missing before. */
	return session_arm(session, err);
}

int session_take_modules(struct session *session, struct err *err)
{
	if (session->hook == session->loader.hook &&
		!symbols_is_consistent(session->symbols, &session->loader))
		return 0;
	symbols_refresh(session->symbols);
	if (resolve_and_arm(session, err))
		return -1;
	session->has_run = true;
	return 0;
}
