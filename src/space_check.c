/* space_check.c owns what cannot be watched by pages, and the protections that mappings have. It changes nothing. */
#include "space_private.h"

#include "watchprof/agent_code.h"
#include "watchprof/thread_image.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

/* What can be said without the process. */

int space_plan(const struct arming *arming, struct err *err)
{
	for (size_t i = 0; i < arming->n; i++) {
		const struct span *span = &arming->spans[i];

		if (span->len == 0)
			continue;
		if (span_check_user(span, arming->text[i], err))
			return -1;
		if (((arming->modules && arming->modules[i]) || span->access == ACCESS_EXECUTE) && arming->n > IMAGE_MOVED)
			return err_set(err, "%s: code or a thread-local variable; there are more than %d watches", arming->text[i],
				IMAGE_MOVED);
		if (span->access != ACCESS_EXECUTE && span->len > SPACE_WATCH_MAX)
			return err_set(err, "%s: %" PRIu64 " bytes; a watch has %lu at most", arming->text[i], span->len,
				SPACE_WATCH_MAX);
		if (span->access == ACCESS_EXECUTE && arming->modules && arming->modules[i])
			return err_set(err, "%s: a thread-local variable is not code: use rw, r or w", arming->text[i]);
		if (span->access == ACCESS_EXECUTE && span->len != 1)
			return err_set(err, "%s: execution is watched at one address: use /1", arming->text[i]);
	}
	return 0;
}

struct maps maps_get(pid_t pid)
{
	struct maps maps;

	maps.list = procfs_maps(procfs_living_thread(pid), &maps.n);
	return maps;
}

void maps_free(struct maps *maps)
{
	procfs_maps_free(maps->list, maps->n);
}

const struct procfs_map *maps_find(const struct maps *maps, uint64_t addr)
{
	for (size_t i = 0; i < maps->n; i++) {
		if (addr >= maps->list[i].start && addr < maps->list[i].end)
			return &maps->list[i];
	}
	return NULL;
}

uint8_t map_protection(const struct procfs_map *map)
{
	return (uint8_t)((map->readable ? PROT_READ : 0) | (map->writable ? PROT_WRITE : 0) | (map->executable ? PROT_EXEC : 0));
}

/* Why a mapping's pages cannot be shut; NULL: they can. */
static const char *map_refusal(const struct procfs_map *map, enum watch_access access)
{
	if (strncmp(map->path, "[v", 2) == 0)
		return "lies in a page of the kernel's";
	if (strstr(map->path, "anon_hugepage"))
		return "lies in a huge page, which cannot be shut by itself";
	if (map->shared && !map->writable && map->inode)
		return "lies in a file that is mapped for reading and shared";
	if (map->executable && (access & ACCESS_READ))
		return "lies in a page with code, which can only be watched for writes";
	return NULL;
}

/* Why there can be no breakpoint at an instruction; NULL: there can. A call may sleep as long as it likes, and nobody else can make
 * it for the thread. Intel SDM volume 2, "SYSCALL", "SYSENTER", "INT n". */
static const char *instruction_refusal(const struct space *space, uint64_t addr)
{
	static const unsigned char calls[][2] = {{0x0f, 0x05}, {0x0f, 0x34}, {0xcd, 0x80}};
	unsigned char code[2], now;

	if (!space_read(space, addr, code, sizeof(code)))
		return NULL;
	now = code[0];
	space_code_mend(space, addr, code, sizeof(code));
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		if (memcmp(code, calls[i], sizeof(code)) == 0)
			return "is a system call";
	}
	if (code[0] == BREAKPOINT_CODE)
		return "is hlt, of which its breakpoints are";
	/* As it is: the kernel lets nobody write where no copy would be made (check_vma_flags()). */
	return space_write(space, addr, &now, 1) ? NULL : "lies in memory that is shared and not writable there";
}

int space_check(const struct space *space, const struct arming *arming, struct err *err)
{
	struct maps maps = maps_get(space_pid(space));
	int result = 0;

	for (size_t i = 0; i < arming->n && result == 0; i++) {
		const struct span *span = &arming->spans[i];
		uint64_t end = span->addr + span->len;

		if (span->access == ACCESS_EXECUTE) {
			const char *why = span->len ? instruction_refusal(space, span->addr) : NULL;

			if (why)
				result = err_set(err, "%s: the instruction there %s: the page engine (--engine=page) cannot watch it",
					arming->text[i], why);
			continue;
		}
		for (uint64_t addr = span->addr / SPACE_PAGE * SPACE_PAGE; span->len && addr < end && result == 0; addr += SPACE_PAGE) {
			const struct procfs_map *map = maps_find(&maps, addr);
			const char *why = map ? map_refusal(map, span->access) : NULL;

			if (why)
				result = err_set(err, "%s: it %s: the page engine (--engine=page) cannot watch it",
					arming->text[i], why);
		}
	}
	maps_free(&maps);
	return result;
}
