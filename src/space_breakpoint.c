/* space_breakpoint.c owns the breakpoints in the code of an address space: those that are there, and where there were some. It
 * never looks at a thread. */
#include "space_private.h"

#include "watchprof/safety.h"
#include "watchprof/thread_image.h"
#include "watchprof/util.h"

#include <stdlib.h>

#define INT3 0xcc /* Intel SDM volume 2, "INT n/INTO/INT3/INT1" */

_Static_assert(SAFETY_BREAKPOINTS_MAX >= WATCHES_MAX, "all breakpoints can be noted");

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

uint64_t space_breakpoint(const struct space *space, uint64_t addr)
{
	for (size_t i = 0; i < space->n_breakpoints; i++) {
		if (space->breakpoints[i].addr == addr)
			return space->breakpoints[i].watches;
	}
	return 0;
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

	return is_gone(space, addr) && space_read(space, addr, &now, 1) && now != INT3;
}

void space_breakpoints_out(struct space *space)
{
	for (size_t i = space->n_breakpoints; i-- > 0;) {
		struct breakpoint *b = &space->breakpoints[i];
		unsigned char now;

		/* The program may have made other code there since. */
		if (b->is_in && space_read(space, b->addr, &now, 1) && now == INT3)
			space_write(space, b->addr, &b->byte, 1);
		b->is_in = false;
	}
}

/* Note the breakpoints, where they are found if we are killed. None of them is in the code. */
static void breakpoints_note(struct space *space)
{
	struct safety_breakpoint noted[SAFETY_BREAKPOINTS_MAX];

	if (!space->safety)
		return;
	for (size_t i = 0; i < space->n_breakpoints; i++)
		noted[i] = (struct safety_breakpoint){space->breakpoints[i].addr, space->breakpoints[i].byte};
	space->is_noted = safety_breakpoints_set(space->safety, noted, space->n_breakpoints) == 0;
}

void space_breakpoints_in(struct space *space)
{
	static const unsigned char int3 = INT3;
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

		b->is_in = b->is_there && space_write(space, b->addr, &int3, 1);
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

void space_breakpoints_set(struct space *space, const struct arming *arming)
{
	space_breakpoints_out(space);
	gone_note(space);
	space->n_breakpoints = 0;
	space->is_noted = false;
	for (size_t i = 0; i < arming->n; i++) {
		if (arming->spans[i].len && arming->spans[i].access == ACCESS_EXECUTE && !(arming->off >> i & 1))
			breakpoint_add(space, arming->spans[i].addr, 1ULL << i);
	}
	if (arming->hook)
		breakpoint_add(space, arming->hook, IMAGE_BIT(IMAGE_HOOK));
	space_breakpoints_in(space);
}
