/* session_child.c owns the images of forked children. A child shares that of its parent until one of them loads or
 * unloads a library; then it has one of its own, with its own names and places. */
#include "session_private.h"
#include "watchprof/procfs.h"
#include "watchprof/util.h"

#include <string.h>

/* The numbers of these images: the engine's do not come so far. */
#define OWN_IMAGES 0x80000000U

/* Further children stay with their parent's image. */
#define OWN_MAX 1000

struct session_image *session_image_find(const struct session *session, uint32_t id)
{
	struct session_image *image;

	LIST_FOREACH (image, &session->images, all) {
		if (image->id == id)
			return image;
	}
	return NULL;
}

HIT_PATH struct session_image *session_image_run(struct session *session, pid_t pid, uint32_t engine_image)
{
	const struct session_process *process = session_process_find(session, pid);
	struct session_image *image = process ? session_image_find(session, process->image) : NULL;

	/* The list may be ahead: what the engine tells of a process may be older than its last exec. */
	return image && image->base == engine_image ? image : session_image_find(session, engine_image);
}

void session_images_drop(struct session *session, uint32_t engine_image)
{
	struct session_image *image = LIST_FIRST(&session->images);

	while (image) {
		struct session_image *next = LIST_NEXT(image, all);

		if (image->base == engine_image && image != session->main_image)
			session_image_free(image);
		image = next;
	}
}

void session_image_leave(struct session *session, uint32_t id)
{
	struct session_image *image = id & OWN_IMAGES ? session_image_find(session, id) : NULL;

	for (size_t i = 0; image && i < session->n_processes; i++) {
		if (session->processes[i].pid && session->processes[i].image == id && !session->processes[i].end)
			return;
	}
	if (image && image != session->main_image)
		session_image_free(image);
}

/* An image of a child's own: what was known before the fork is the same in it, the rest is looked for. NULL: there are
 * too many. */
static struct session_image *image_split(struct session *session, struct session_process *process,
	const struct session_image *shared)
{
	struct session_image *image;

	if (session->n_own_images == OWN_MAX) {
		session_warn(session, text_format("more than %d forked children have loaded or unloaded libraries: further ones are "
						  "watched at the addresses of their parent",
					      OWN_MAX));
		return NULL;
	}
	image = session_image_new(session, process->pid, OWN_IMAGES | ++session->n_own_images);
	image->base = shared->base;
	image->loader = shared->loader;
	image->hook = shared->loader.hook;
	image->is_started = shared->is_started;
	for (size_t i = 0; i < session->options->n_watches; i++) {
		bool is_lost = shared->state[i] == WATCH_ARMED || shared->state[i] == WATCH_UNLOADED;

		if (is_lost && shared->changed[i] > process->changes)
			continue; /* the parent's alone; pending here */
		image->state[i] = shared->state[i];
		image->spans[i] = shared->spans[i];
		image->modules[i] = shared->modules[i];
		image->homes[i] = shared->homes[i];
		if (image->homes[i].name)
			image->homes[i].name = text_copy(image->homes[i].name);
	}
	process->image = image->id;
	process->changes = 0;
	return image;
}

int session_take_child_modules(struct session *session, pid_t pid, pid_t tid, struct session_image *shared,
	struct err *err)
{
	struct session_process *process = session_process_find(session, pid);
	struct session_image *image = process && shared->loader.hook ? image_split(session, process, shared) : NULL;

	if (!image)
		return 0;
	if (session_arm(session, image, err) || session_take_modules(session, image, tid, err))
		return -1;
	session_trace_modules(session, image);
	return 0;
}

/* The mappings of a process, as far as they were asked for. */
struct maps {
	pid_t pid;
	struct procfs_map *map;
	size_t n;
};

/* The mapping of an address, and what it belongs to: the file before a variable's anonymous rest. NULL: none. */
static const struct procfs_map *map_find(struct maps *maps, uint64_t addr, const struct procfs_map **file)
{
	if (!maps->map)
		maps->map = procfs_maps(maps->pid, &maps->n);
	for (size_t i = 0; maps->map && i < maps->n; i++) {
		size_t first = i;

		if (addr < maps->map[i].start || addr >= maps->map[i].end)
			continue;
		while (first > 0 && !maps->map[first].path[0] && maps->map[first - 1].end == maps->map[first].start)
			first--;
		*file = &maps->map[first];
		return &maps->map[i];
	}
	return NULL;
}

/* Has a child at an address what its parent has there? */
static bool is_mapped_alike(struct maps *child, struct maps *parent, uint64_t addr)
{
	const struct procfs_map *file, *other_file;
	const struct procfs_map *map = map_find(parent, addr, &file), *other = map_find(child, addr, &other_file);

	if (!map || !other)
		return false;
	return file->inode == other_file->inode && strcmp(file->path, other_file->path) == 0 &&
		(file->inode == 0 || file->start - file->offset == other_file->start - other_file->offset) &&
		(map->inode == 0) == (other->inode == 0);
}

/* Is anything that was found in the shared image since the fork not the child's? */
static bool is_apart(const struct session *session, const struct session_process *process,
	const struct session_image *shared)
{
	struct maps child = {.pid = process->pid}, parent = {.pid = shared->pid};
	const struct procfs_map *file;
	bool is_apart = false;

	child.map = procfs_maps(child.pid, &child.n);
	/* One that ends has none: what it wrote is the parent's image. */
	for (size_t i = 0; child.n && i < session->options->n_watches && !is_apart; i++) {
		uint64_t home = shared->homes[i].start, at = shared->modules[i] ? shared->modules[i] : shared->spans[i].addr;

		if (shared->changed[i] <= process->changes)
			continue;
		if (shared->state[i] == WATCH_ARMED)
			is_apart = !is_mapped_alike(&child, &parent, at);
		else if (shared->state[i] == WATCH_UNLOADED)
			is_apart = map_find(&child, home, &file) && file->inode && !is_mapped_alike(&child, &parent, home);
	}
	procfs_maps_free(child.map, child.n);
	procfs_maps_free(parent.map, parent.n);
	return is_apart;
}

/* Give a child an image of its own, and arm it as that. */
static int child_split(struct session *session, struct session_process *process, struct session_image *shared,
	struct err *err)
{
	struct session_image *image = image_split(session, process, shared);

	if (!image)
		return 0;
	/* What is half loaded is found by the hook. */
	if (image->loader.hook && !symbols_is_consistent(image->symbols, &image->loader))
		return session_arm(session, image, err);
	return session_resolve_and_arm(session, image, true, err);
}

int session_take_child(struct session *session, pid_t pid, struct err *err)
{
	struct session_process *process = session_process_find(session, pid);
	struct session_image *image = process ? session_image_find(session, process->image) : NULL;

	if (!image || image->changes == process->changes)
		return 0;
	if (is_apart(session, process, image))
		return child_split(session, process, image, err);
	process->changes = image->changes;
	return 0;
}

int session_arm_child(struct session *session, struct session_process *process, struct err *err)
{
	struct session_image *image = session_image_find(session, process->image);
	struct arming arming;

	if (!image || image->pid == process->pid)
		return 0;
	if (session_take_child(session, process->pid, err))
		return -1;
	if (process->image != image->id)
		return 0; /* that has armed it */
	arming = session_arming(session, image);
	return session->ops->arm(session->engine, process->pid, &arming, err);
}
