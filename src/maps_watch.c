/* maps_watch.c owns a descriptor of a process's list of mappings, and a digest of what was read.
 * The kernel has no counter of changes that could be asked for. It never understands what it reads.
 */
#include "watchprof/maps_watch.h"

#include "watchprof/procfs.h"
#include "watchprof/util.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK 4096 /* the kernel gives no more at a time */

struct maps_watch {
	int fd;
	uint64_t digest;
};

/* The digest of the list as it is now; 0: there is none any more. */
static uint64_t list_digest(const struct maps_watch *watch)
{
	uint64_t digest = 0;
	unsigned char bytes[CHUNK];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(watch->fd, bytes, sizeof(bytes), at)) > 0) {
		digest = hash_bytes(digest, bytes, (size_t)n);
		at += n;
	}
	return at > 0 ? digest : 0;
}

struct maps_watch *maps_watch_new(pid_t pid)
{
	struct maps_watch *watch;
	char path[64];
	int fd;

	/* The leader may have exited, and its list be empty. */
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)procfs_living_thread(pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	watch = mem_new(1, sizeof(*watch));
	watch->fd = fd;
	watch->digest = list_digest(watch);
	return watch;
}

void maps_watch_free(struct maps_watch *watch)
{
	if (!watch)
		return;
	close(watch->fd);
	free(watch);
}

bool maps_watch_changed(struct maps_watch *watch)
{
	uint64_t digest = list_digest(watch);

	if (digest == 0 || digest == watch->digest)
		return false;
	watch->digest = digest;
	return true;
}
