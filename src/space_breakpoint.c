/* space_breakpoint.c owns the breakpoints in the code of an address space: those that are there, and where there were some. It
 * never looks at a thread. */
#include "space_private.h"

#include "watchprof/safety.h"
#include "watchprof/thread_image.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <sys/mman.h>

/* With the hook: see space_plan(). */
_Static_assert(SAFETY_BREAKPOINTS_MAX > IMAGE_MOVED, "all breakpoints can be noted");

static int compare_addresses(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

static struct breakpoint *breakpoint_find(struct space *space, uint64_t addr)
{
	for (size_t i = 0; i < space->n_breakpoints; i++) {
		if (space->breakpoints[i].addr == addr)
			return &space->breakpoints[i];
	}
	return NULL;
}

/* Where the program's own code is the same, it is the program's. */
uint64_t space_breakpoint(const struct space *space, uint64_t addr)
{
	for (size_t i = 0; i < space->n_breakpoints; i++) {
		if (space->breakpoints[i].addr == addr)
			return space->breakpoints[i].byte != BREAKPOINT_CODE ? space->breakpoints[i].watches : 0;
	}
	return 0;
}

HIT_PATH void space_code_mend(const struct space *space, uint64_t addr, unsigned char *bytes, size_t len)
{
	for (size_t i = 0; i < space->n_breakpoints; i++) {
		const struct breakpoint *b = &space->breakpoints[i];

		/* The program may have made other code there since. */
		if (b->is_in && b->addr >= addr && b->addr - addr < len && bytes[b->addr - addr] == BREAKPOINT_CODE)
			bytes[b->addr - addr] = b->byte;
	}
}

static bool is_gone(const struct space *space, uint64_t addr)
{
	return space->n_gone && bsearch(&addr, space->gone, space->n_gone, sizeof(addr), compare_addresses);
}

/* Breakpoints that are taken out: a thread may have run into one just before. */
static void gone_note(struct space *space)
{
	for (size_t i = 0; i < space->n_breakpoints; i++) {
		uint64_t addr = space->breakpoints[i].addr;

		if (is_gone(space, addr))
			continue;
		space->gone = mem_resize(space->gone, space->n_gone + 1, sizeof(addr));
		space->gone[space->n_gone++] = addr;
		qsort(space->gone, space->n_gone, sizeof(addr), compare_addresses);
	}
}

bool space_was_breakpoint(const struct space *space, uint64_t addr)
{
	unsigned char now;

	return is_gone(space, addr) && space_read(space, addr, &now, 1) && now != BREAKPOINT_CODE;
}

uint64_t space_breakpoints_generation(const struct space *space)
{
	return space->generation;
}

void space_breakpoints_out(struct space *space)
{
	for (size_t i = space->n_breakpoints; i-- > 0;) {
		struct breakpoint *b = &space->breakpoints[i];
		unsigned char now;

		/* The program may have made other code there since. */
		if (b->is_in && space_read(space, b->addr, &now, 1) && now == BREAKPOINT_CODE)
			space_write(space, b->addr, &b->byte, 1);
		b->is_in = false;
	}
}

/* Note the breakpoints, where they are found if we are killed. None of them is in the code. */
static void breakpoints_note(struct space *space)
{
	struct safety_breakpoint noted[SAFETY_BREAKPOINTS_MAX];
	struct maps maps;

	if (!space->safety)
		return;
	maps = maps_get(space->pid);
	for (size_t i = 0; i < space->n_breakpoints; i++) {
		const struct procfs_map *map = maps_find(&maps, space->breakpoints[i].addr);

		noted[i] = (struct safety_breakpoint){
			space->breakpoints[i].addr, space->breakpoints[i].byte, (map ? map_protection(map) : 0U) | PROT_EXEC};
	}
	maps_free(&maps);
	space->is_noted = safety_breakpoints_set(space->safety, noted, space->n_breakpoints) == 0;
}

void space_breakpoints_in(struct space *space)
{
	static const unsigned char code = BREAKPOINT_CODE;
	bool has_changed = !space->is_noted;

	for (size_t i = 0; i < space->n_breakpoints; i++) {
		struct breakpoint *b = &space->breakpoints[i];
		unsigned char byte;

		b->is_there = space_read(space, b->addr, &byte, 1);
		has_changed |= b->is_there && byte != b->byte;
		b->byte = b->is_there ? byte : b->byte;
	}
	if (has_changed)
		breakpoints_note(space);
	for (size_t i = 0; i < space->n_breakpoints; i++) {
		struct breakpoint *b = &space->breakpoints[i];

		b->is_in = b->is_there && space_write(space, b->addr, &code, 1);
	}
}

static void breakpoint_add(struct space *space, uint64_t addr, uint64_t watch)
{
	struct breakpoint *b = breakpoint_find(space, addr);

	if (!b) {
		b = &space->breakpoints[space->n_breakpoints++];
		*b = (struct breakpoint){.addr = addr};
	}
	b->watches |= watch;
}

bool breakpoints_any(const struct arming *arming)
{
	bool is_any = arming->hook != 0;

	for (size_t i = 0; i < arming->n && !is_any; i++)
		is_any = arming->spans[i].len && arming->spans[i].access == ACCESS_EXECUTE && !(arming->off >> i & 1);
	return is_any;
}

void space_breakpoints_end(struct space *space)
{
	space_breakpoints_out(space);
	gone_note(space);
	space->generation++;
	space->n_breakpoints = 0;
	space->is_noted = false;
}

void space_breakpoints_set(struct space *space, const struct arming *arming)
{
	space_breakpoints_end(space);
	for (size_t i = 0; i < arming->n; i++) {
		if (arming->spans[i].len && arming->spans[i].access == ACCESS_EXECUTE && !(arming->off >> i & 1))
			breakpoint_add(space, arming->spans[i].addr, 1ULL << i);
	}
	if (arming->hook)
		breakpoint_add(space, arming->hook, IMAGE_BIT(IMAGE_HOOK));
	space_breakpoints_in(space);
}
