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

/* What watched bytes of a process are now. Returns how many are known: all or none. */
static size_t value_read(struct session *session, const struct span *span, size_t i, pid_t pid,
	unsigned char bytes[DR_BYTES_MAX])
{
	bool is_read = span->len && span->len <= DR_BYTES_MAX &&
		sys_memory_read(pid, span->addr, bytes, span->len) == (ssize_t)span->len;
	size_t len = is_read ? span->len : 0;

	values_start(session->values, (unsigned)i, pid, bytes, len);
	return len;
}

/* The same for the first process, and as what is compared with at the end. */
static void value_remember(struct session *session, const struct span *span, size_t i)
{
	struct session_watch *watch = &session->watches[i];

	watch->before_len = value_read(session, span, i, session->pid, watch->before);
}

/* All threads of a process stand and are armed: what is armed anew is read. */
static void values_renew(void *observer, pid_t pid)
{
	struct session_image *image = observer;
	struct session *session = image->session;
	unsigned char bytes[DR_BYTES_MAX];

	for (size_t i = 0; i < session->options->n_watches; i++) {
		bool is_new = image->is_new[i] && pid == image->pid;

		if (image->state[i] != WATCH_ARMED || !(is_new || session->regained >> i & 1))
			continue;
		if (image->modules[i])
			values_unknown(session->values, (unsigned)i);
		else if (is_new && image == session->main_image)
			value_remember(session, &image->spans[i], i);
		else
			value_read(session, &image->spans[i], i, pid, bytes);
	}
}

void session_remember_child(struct session *session, const struct session_image *image, pid_t pid)
{
	unsigned char bytes[DR_BYTES_MAX];

	for (size_t i = 0; image && i < session->options->n_watches; i++) {
		if (image->state[i] == WATCH_ARMED && !image->modules[i])
			value_read(session, &image->spans[i], i, pid, bytes);
	}
}

/* The engine asks where instructions begin. */
static bool boundary(void *context, uint64_t ip, unsigned nth, uint64_t *start)
{
	const struct session_image *image = context;

	return symbols_boundary(image->symbols, ip, nth, start);
}

static bool is_any_new(const struct session *session, const struct session_image *image)
{
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (image->is_new[i])
			return true;
	}
	return false;
}

struct arming session_arming(const struct session *session, const struct session_image *image)
{
	return (struct arming){.spans = image->spans,
		.text = session->text,
		.n = session->options->n_watches,
		.off = session_off(session),
		.is_limit = session->is_limiting && !is_any_new(session, image),
		.hook = image->hook,
		.modules = image->modules,
		.locate = tls_locate,
		.context = image->tls,
		.stopped = values_renew,
		.observer = (void *)image,
		.boundaries = {boundary, (void *)image}};
}

struct session_image *session_image_new(struct session *session, pid_t pid, uint32_t id)
{
	struct session_image *image = mem_new(1, sizeof(*image));

	image->session = session;
	image->pid = pid;
	image->id = image->base = id;
	image->symbols = symbols_new(pid, &session->source);
	image->tls = tls_new(image->symbols);
	for (size_t i = 0; i < session->options->n_watches; i++)
		image->spans[i].access = session->options->watches[i].access;
	for (size_t i = 0; i < session->options->n_watches; i++)
		image->state[i] = session->watches[i].cleared_ns ? WATCH_CLEARED : WATCH_PENDING;
	LIST_INSERT_HEAD(&session->images, image, all);
	return image;
}

void session_image_free(struct session_image *image)
{
	LIST_REMOVE(image, all);
	session_drop_homes(image);
	tls_free(image->tls);
	symbols_free(image->symbols);
	free(image);
}

void session_remember(struct session *session)
{
	struct session_image *image = session->main_image;

	for (size_t i = 0; image && i < session->options->n_watches; i++) {
		if (session->watches[i].is_tls)
			values_by_thread(session->values, (unsigned)i);
		else if (image->state[i] == WATCH_ARMED)
			value_remember(session, &image->spans[i], i);
	}
}

/* Is what a watch covers another value than at the start? False: it could not be compared. */
static bool compare_one(const struct session *session, size_t i, bool *changed)
{
	const struct session_watch *watch = &session->watches[i];
	unsigned char now[DR_BYTES_MAX];

	if (session->main_image->state[i] != WATCH_ARMED || !watch->before_len || watch->is_tls ||
		sys_memory_read(session->pid, watch->last.addr, now, watch->before_len) != (ssize_t)watch->before_len)
		return false;
	*changed = memcmp(now, watch->before, watch->before_len) != 0;
	return true;
}

void session_compare(struct session *session)
{
	bool changed;

	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (!compare_one(session, i, &changed))
			continue;
		session->watches[i].compared = true;
		session->watches[i].changed = changed;
	}
}

void session_glance(struct session *session)
{
	bool changed;

	for (size_t i = 0; session->main_image && !session->has_exited && i < session->options->n_watches; i++) {
		struct session_watch *watch = &session->watches[i];

		if (!watch->changed && profile_count(session->profile, (unsigned)i).hits == 0 &&
			compare_one(session, i, &changed) && changed)
			watch->compared = watch->changed = true;
	}
}

/* A name that no module has (yet): fine where a library may still bring it. What is missing in
 * a child's image is not worth a word. */
static int take_unknown(struct session *session, struct session_image *image, size_t i, struct err *err)
{
	struct session_watch *watch = &session->watches[i];
	bool is_main = image == session->main_image;
	bool waits = session->is_launch || (session->options->is_pending && image->loader.hook);

	if (session->adding == i + 1)
		return -1;
	if (image->state[i] == WATCH_UNLOADED)
		return 0;
	if (!waits && !session->start_ns)
		return -1; /* before the run has begun */
	image->state[i] = waits ? WATCH_PENDING : WATCH_ENDED;
	if (is_main && !waits)
		session_warn(session, text_format("%s: the watch ended at exec%s", session->text[i],
					      err->text + strlen(session->text[i]))); /* it begins with the watch */
	if (is_main && waits && !watch->was_told)
		session_warn(session, text_format("%s; waiting for a library or program that has it", err->text));
	watch->was_told |= is_main;
	return 0;
}

/* A name that means something that cannot be watched: the end of the run before the program has
 * begun; afterwards only of this watch. */
static int take_refused(struct session *session, struct session_image *image, size_t i, struct err *err)
{
	if (!session->has_run || session->adding == i + 1)
		return -1;
	image->state[i] = WATCH_REFUSED;
	image->is_new[i] = false;
	image->spans[i].len = 0;
	session_warn(session, text_format("%s is not watched: %s", session->text[i], err->text));
	return 0;
}

/* What is kept of a watch's values goes on where the type is the one that it was. */
static void type_take(struct session *session, size_t i, const struct value_type *type)
{
	struct value_type *own = &session->watches[i].type;
	bool is_same = own->kind == type->kind && own->size == type->size;

	value_type_fini(own);
	*own = value_type_copy(type);
	if (!is_same)
		values_type(session->values, (unsigned)i, own);
}

/* One watch was found in an image: the report shows it where it was found first. */
static void take_found(struct session *session, struct session_image *image, size_t i, char *object)
{
	struct session_watch *watch = &session->watches[i];

	image->state[i] = WATCH_ARMED;
	image->is_new[i] = true;
	image->changed[i] = ++image->changes;
	session_take_home(image, i);
	if (image == session->main_image || !watch->object) {
		free(watch->object);
		watch->object = object;
		type_take(session, i, symbols_type(image->symbols));
	} else {
		free(object);
	}
}

/* What is odd about a watch that is armed. (Of one that is refused, nothing but that is said.) */
static void warn_of_range(struct session *session, struct session_image *image, size_t i)
{
	char *warning = image->modules[i] ? NULL
					  : symbols_range_warning(image->symbols,
						    &session->options->watches[i], &image->spans[i]);

	if (warning)
		session_warn(session, warning);
}

/* Pass on what is wrong with files. */
static void take_warnings(struct session *session, struct session_image *image)
{
	const char *warning;

	while ((warning = symbols_warning(image->symbols)))
		session_warn(session, text_copy(warning));
}

/* Can a watch that was found be watched, with its filters? */
static int found_check(struct session *session, struct session_image *image, size_t i, struct err *err)
{
	const struct watch *watch = &session->options->watches[i];

	if (filters_check(watch->text, &watch->filters, symbols_type(image->symbols), image->spans[i].len, err))
		return -1;
	return image->modules[i] ? tls_check(image->tls, image->modules[i], watch->text, err) : 0;
}

/* What a watch means in an image, which is whether it can be watched, too. */
static enum resolve_result resolve(struct session *session, struct session_image *image, size_t i, char **object,
	struct err *err)
{
	const struct watch *watch = &session->options->watches[i];
	enum resolve_result result = symbols_resolve(
		image->symbols, watch, &image->spans[i], &image->modules[i], object, err);

	take_warnings(session, image);
	if (result != RESOLVE_FOUND || found_check(session, image, i, err) == 0)
		return result;
	free(*object);
	image->modules[i] = 0;
	return RESOLVE_REFUSED;
}

/* At the very start of a static program its threads have no thread-local storage. */
static bool is_too_early(const struct session_image *image, size_t i)
{
	return image->modules[i] && !image->is_started && !image->loader.is_dynamic && image->loader.hook;
}

static int resolve_one(struct session *session, struct session_image *image, size_t i, size_t *n_found,
	struct err *err)
{
	char *object;

	switch (resolve(session, image, i, &object, err)) {
	case RESOLVE_FOUND:
		if (is_too_early(image, i)) {
			image->spans[i].len = 0;
			free(object);
			return 0;
		}
		take_found(session, image, i, object);
		++*n_found;
		return 0;
	case RESOLVE_UNKNOWN:
		return take_unknown(session, image, i, err);
	case RESOLVE_REFUSED:
		return take_refused(session, image, i, err);
	}
	return 0;
}

static bool is_missing(const struct session_image *image, size_t i)
{
	return image->state[i] == WATCH_PENDING || image->state[i] == WATCH_UNLOADED;
}

/* Look for every watch that is missing in an image. *n_found counts those that were found now. */
static int resolve_missing(struct session *session, struct session_image *image, size_t *n_found,
	struct err *err)
{
	*n_found = 0;
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (is_missing(image, i) && resolve_one(session, image, i, n_found, err))
			return -1;
	}
	return 0;
}

bool session_is_any_found(struct session *session, struct session_image *image)
{
	bool any = false;
	struct err ignored;

	for (size_t i = 0; i < session->options->n_watches; i++) {
		char *object;

		if (!is_missing(image, i) || symbols_resolve(image->symbols, &session->options->watches[i],
						     &image->spans[i], &image->modules[i], &object,
						     &ignored) != RESOLVE_FOUND)
			continue;
		free(object);
		image->spans[i].len = 0;
		image->modules[i] = 0;
		any = true;
	}
	return any;
}

static int plan(struct session *session, const struct session_image *image, struct err *err)
{
	struct arming arming = session_arming(session, image);
	unsigned slots[WATCHES_MAX] = {0};

	arming.off = 0; /* what is off for now has to fit as well */
	if (session->ops->plan(&arming, slots, err))
		return -1;
	for (size_t i = 0; i < session->options->n_watches; i++) {
		if (image->spans[i].len)
			session->watches[i].slots = slots[i];
	}
	return 0;
}

void session_check_traps(struct session *session)
{
	const uint64_t trap = 1ULL << (SIGTRAP - 1);
	struct procfs_status status;

	if (!session->ops->is_trapping || !procfs_status(session->pid, &status))
		return;
	if (status.ignored & trap)
		session_warn(session, text_copy("the target ignores SIGTRAP: at the first hit the kernel resets that to the "
						"default, which cannot be put back from outside"));
	session->is_mask_told = (status.ignored & trap) || (status.blocked & trap && status.caught & trap);
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

	struct session_image *image = session_image_new(session, session->pid, 1); /* the engine's first */

	session->main_image = image;
	image->loader = symbols_loader(image->symbols);
	image->is_started = !image->loader.is_dynamic || symbols_is_started(image->symbols, &image->loader);
	if (resolve_missing(session, image, &n_found, err))
		return -1;
	session_choose_hook(session, image);
	if (!session->engine)
		symbols_warm(image->symbols);
	if (plan(session, image, err))
		return -1;
	session->has_run = true;
	image->settled = image->changes;
	return 0;
}

int session_try(struct session *session, struct err *err)
{
	struct session_image *image = session_image_new(session, session->pid, 0);
	size_t n_found;
	int result;

	image->loader = symbols_loader(image->symbols);
	result = resolve_missing(session, image, &n_found, err);
	if (result == 0)
		result = plan(session, image, err);
	session_image_free(image);
	return result;
}

/* The same when the program may run already: what was found last and does not fit is left out. */
static int plan_late(struct session *session, struct session_image *image, struct err *err)
{
	while (plan(session, image, err)) {
		size_t i = session->options->n_watches;

		while (i > 0 && !image->is_new[i - 1])
			i--;
		if (i == 0 || take_refused(session, image, i - 1, err))
			return -1;
	}
	return 0;
}

/* Note what is armed now, for the report. */
static void take_armed(struct session *session, struct session_image *image)
{
	for (size_t i = 0; i < session->options->n_watches; i++) {
		struct span *last = &session->watches[i].last;

		if (!image->is_new[i])
			continue;
		image->is_new[i] = false;
		warn_of_range(session, image, i);
		if (image == session->main_image || !last->len) {
			*last = image->spans[i];
			session->watches[i].is_tls = image->modules[i] != 0;
			if (image->modules[i])
				values_by_thread(session->values, (unsigned)i);
		}
		session->was_armed = true;
		session_say(session, "watching %s: %" PRIu64 " bytes at %s0x%" PRIx64 ", access %s",
			session->text[i], image->spans[i].len, image->modules[i] ? "thread-local offset " : "",
			image->spans[i].addr, access_name(image->spans[i].access));
	}
}

/* Arm what is planned; the hook only where a slot is left for it. */
static int arm(struct session *session, struct session_image *image, struct err *err)
{
	struct arming arming = session_arming(session, image);
	int result = session->ops->arm(session->engine, image->pid, &arming, err);

	if (result == 0 || !image->hook || !image->is_hook_spare)
		return result;
	image->hook = arming.hook = 0;
	return session->ops->arm(session->engine, image->pid, &arming, err);
}

int session_arm(struct session *session, struct session_image *image, struct err *err)
{
	if (plan_late(session, image, err))
		return -1;
	if (arm(session, image, err))
		return -1;
	take_armed(session, image);
	session_note_armed(session);
	if (session->was_armed && session->options->engine == ENGINE_AUTO && session->ops->instead)
		session_warn(session, text_copy(session->ops->instead));
	if (session->was_armed || session_is_waiting(session, image))
		session_say(session, "armed in %" PRIu64 " threads of process %d",
			session->ops->counts(session->engine).threads_armed, image->pid);
	return 0;
}

/* The hook stays armed as long as something is missing. */
int session_resolve_and_arm(struct session *session, struct session_image *image, bool must_arm, struct err *err)
{
	size_t n_found;
	uint64_t hook = image->hook;

	if (resolve_missing(session, image, &n_found, err))
		return -1;
	session_choose_hook(session, image);
	if (n_found == 0 && !must_arm && image->hook == hook)
		return 0;
	return session_arm(session, image, err);
}

/* Every image that this program can watch in has 64-bit code. A child's that has not is left alone. */
static int check_class(struct session *session, const struct session_image *image, struct err *err)
{
	if (procfs_is_64bit(image->pid))
		return 0;
	if (image == session->main_image)
		return err_set(err, "%s: a 32-bit program, which is not supported", session->command);
	return 1;
}

static struct session_image *image_of(struct session *session, pid_t pid)
{
	struct session_image *image;

	LIST_FOREACH (image, &session->images, all) {
		if (image->pid == pid)
			return image;
	}
	return NULL;
}

int session_take_image(struct session *session, pid_t pid, uint32_t id, struct err *err)
{
	struct session_image *former = image_of(session, pid), *image;
	int class;

	/* What a forked child may still run stays, but no longer as this process's. */
	if (former)
		former->pid = 0;
	image = session_image_new(session, pid, id);
	if (pid == session->pid)
		session->main_image = image;
	/* A watch that had ended in an attached process does not come back. */
	for (size_t i = 0; former && !session->is_launch && i < session->options->n_watches; i++)
		image->state[i] = former->state[i] == WATCH_ARMED || former->state[i] == WATCH_UNLOADED
			? WATCH_PENDING
			: former->state[i];
	if (former)
		session_image_leave(session, former->id);
	class = check_class(session, image, err);
	if (class)
		return class < 0 ? -1 : 0;
	if (pid == session->pid)
		check_setuid(session);
	image->loader = symbols_loader(image->symbols);
	image->hook = image->loader.hook ? image->loader.hook : image->loader.entry;
	if (!image->loader.is_dynamic || !image->hook) {
		image->loader.hook = symbols_static_ready(image->symbols);
		image->hook = 0;
		if (session_resolve_and_arm(session, image, true, err))
			return -1;
		session->has_run = true;
		return 0;
	}
	/* Nothing is armed until the dynamic linker has loaded and relocated everything: its
	 * own writes (relocations) are not the program's, and libraries are missing before. */
	return session_arm(session, image, err);
}

int session_find_added(struct session *session, struct session_image *image, size_t i, struct err *err)
{
	size_t n_found;
	int result;

	session->adding = i + 1;
	/* Where nothing waited, nobody told of libraries that came. */
	if (image->pid && image->loader.is_dynamic && symbols_is_consistent(image->symbols, &image->loader))
		symbols_refresh(image->symbols);
	result = resolve_missing(session, image, &n_found, err);
	if (result == 0 && !image->loading)
		session_choose_hook(session, image);
	if (result == 0)
		result = plan(session, image, err);
	session->adding = 0;
	return result;
}
