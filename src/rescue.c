/* rescue.c owns the undoing of what an agent has left in a process, by what is found in its memory
 * alone. It stops and resumes nobody. */
#include "watchprof/rescue.h"

#include "watchprof/agent_code.h"
#include "watchprof/inject.h"
#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096

/* Does our code lie there, and our table behind it? */
static bool code_is_ours(int memory_fd, uint64_t at, uint64_t *size)
{
	unsigned char magic[AGENT_MAGIC];

	return sys_memory_force_read(memory_fd, at, magic, sizeof(magic)) == sizeof(magic) &&
	       memcmp(magic, agent_code, sizeof(magic)) == 0 &&
	       sys_memory_force_read(memory_fd,
		       at + AGENT_CODE_SIZE + offsetof(struct safety_table, size), size,
		       sizeof(*size)) == sizeof(*size) &&
	       *size >= AGENT_CODE_SIZE + AGENT_TABLE_SIZE;
}

/* The breakpoints of the table; what cannot be read are none. */
static void breakpoints_read(struct rescue *rescue)
{
	const uint64_t table = rescue->code_at + AGENT_CODE_SIZE;
	uint64_t n = 0;

	rescue->n_breakpoints = 0;
	if (sys_memory_force_read(rescue->memory_fd, table + offsetof(struct safety_table, n_breakpoints), &n, sizeof(n)) !=
			sizeof(n) ||
		n > SAFETY_BREAKPOINTS_MAX)
		return;
	if (sys_memory_force_read(rescue->memory_fd, table + offsetof(struct safety_table, breakpoints), rescue->breakpoints,
		    sizeof(rescue->breakpoints)) == sizeof(rescue->breakpoints))
		rescue->n_breakpoints = n;
}

bool rescue_find(pid_t pid, struct rescue *rescue)
{
	size_t n;
	struct procfs_map *maps;
	bool is_found = false;

	rescue->memory_fd = sys_memory_open(procfs_living_thread(pid));
	if (rescue->memory_fd < 0)
		return false;
	maps = procfs_maps(pid, &n);
	/* Code of others, made at run time, may lie in the same mapping. */
	for (size_t i = 0; i < n && !is_found; i++) {
		if (!maps[i].executable || maps[i].writable || maps[i].path[0] != '\0')
			continue;
		for (uint64_t at = maps[i].start; at < maps[i].end && !is_found; at += PAGE) {
			rescue->code_at = at;
			is_found = code_is_ours(rescue->memory_fd, at, &rescue->size);
		}
	}
	procfs_maps_free(maps, n);
	if (is_found)
		breakpoints_read(rescue);
	if (is_found)
		inject_site_find(pid, rescue->memory_fd, &rescue->site);
	is_found = is_found && rescue->site.syscall_at;
	if (!is_found)
		rescue_end(rescue);
	return is_found;
}

void rescue_end(struct rescue *rescue)
{
	close(rescue->memory_fd);
	rescue->memory_fd = -1;
}

void rescue_breakpoints_out(const struct rescue *rescue)
{
	for (size_t i = 0; i < rescue->n_breakpoints; i++) {
		const unsigned char byte = (unsigned char)rescue->breakpoints[i].byte;
		unsigned char now;

		if (sys_memory_force_read(rescue->memory_fd, rescue->breakpoints[i].addr, &now, 1) == 1 && now == BREAKPOINT_CODE)
			sys_memory_force_write(rescue->memory_fd, rescue->breakpoints[i].addr, &byte, 1);
	}
}

/* The table, on the heap; NULL: the process has ended. */
static struct safety_table *table_read(const struct rescue *rescue)
{
	struct safety_table *table = mem_new(1, sizeof(*table));

	if (sys_memory_force_read(rescue->memory_fd, rescue->code_at + AGENT_CODE_SIZE, table,
		    sizeof(*table)) == sizeof(*table))
		return table;
	free(table);
	return NULL;
}

/* Pages that have gone meanwhile are no failure. */
static int list_open(struct inject *inject, const struct safety_list *list)
{
	int failure = 0;
	int64_t result;

	for (size_t i = 0; i < list->n && i < SAFETY_RANGES_MAX && !failure; i++) {
		const struct safety_range *range = &list->ranges[i];

		failure = inject_call(inject, SYS_mprotect,
			(const uint64_t[6]){range->start, range->len, range->prot}, &result);
	}
	return failure;
}

static int begin(const struct rescue *rescue, struct inject *inject, pid_t tid, int status)
{
	return inject_begin(inject, tid, status, &rescue->site);
}

static int end(struct inject *inject, int *status, int failure)
{
	int ending = failure == -ESRCH ? failure : inject_end(inject, status);

	return failure ? failure : ending;
}

int rescue_open(const struct rescue *rescue, pid_t tid, int *status)
{
	struct safety_table *table = table_read(rescue);
	struct inject inject;
	int failure = table ? begin(rescue, &inject, tid, *status) : -ESRCH;

	if (!failure)
		failure = end(&inject, status, list_open(&inject, &table->lists[table->which & 1]));
	free(table);
	return failure;
}

bool rescue_is_quiet(const struct rescue *rescue, const pid_t *tids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct user_regs_struct regs;
		struct procfs_status status;

		if (sys_regs_get(tids[i], &regs) == 0 &&
			regs.rip - rescue->code_at < AGENT_CODE_SIZE)
			return false;
		if (procfs_status(tids[i], &status) && (status.pending & 1ULL << (SIGSEGV - 1)))
			return false;
	}
	return true;
}

int rescue_close(const struct rescue *rescue, pid_t tid, int *status, bool shares_memory)
{
	const uint64_t wanted =
		rescue->code_at + AGENT_CODE_SIZE + offsetof(struct safety_table, wanted);
	struct safety_table *table = table_read(rescue);
	struct inject inject;
	int failure = table ? begin(rescue, &inject, tid, *status) : -ESRCH, call = 0;
	int64_t result;

	if (!failure) {
		if (table->is_installed)
			call = inject_call(&inject, SYS_rt_sigaction,
				(const uint64_t[6]){SIGSEGV, wanted, 0, sizeof(uint64_t)}, &result);
		if (!call && !shares_memory)
			call = inject_call(&inject, SYS_munmap,
				(const uint64_t[6]){rescue->code_at, rescue->size}, &result);
		failure = end(&inject, status, call);
	}
	free(table);
	return failure;
}
