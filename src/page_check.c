/* page_check.c owns the refusals of the page engine that a process itself is the reason of. It only reads /proc. */
#include "watchprof/page_check.h"

#include "watchprof/procfs.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Has the process a ring of io_uring? The kernel then accesses its memory outside of any call. */
static bool has_ring(pid_t pid)
{
	static const char ring[] = "anon_inode:[io_uring]";
	char path[PATH_MAX], target[sizeof(ring)];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	/* Through a thread that lives: of a leader that has ended there are none. */
	pid = procfs_living_thread(pid);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, entry->d_name);
		n = readlink(path, target, sizeof(target));
		found = n == sizeof(ring) - 1 && memcmp(target, ring, sizeof(ring) - 1) == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

int page_check(pid_t pid, struct err *err)
{
	struct procfs_status status;

	/* Where we have the same filters it has been tried (page_probe()). */
	if (procfs_is_filtered(pid) && procfs_status(pid, &status))
		return err_set(err,
			"process %d (%s) has a filter of system calls of its own (seccomp), which may end it for the calls that the page engine "
			"makes in it: use --engine=dr on a machine whose debug registers fire",
			(int)pid, status.name);
	if (has_ring(pid))
		return err_set(err,
			"process %d uses io_uring: the kernel would find its memory shut by the page engine: use --engine=dr on a "
			"machine whose debug registers fire",
			(int)pid);
	return 0;
}
