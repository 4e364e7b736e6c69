/* call_bounce.c owns the scratch copies of the memory of one thread's system call. It reads and
 * writes memory by callbacks only, and decides nothing about pages. */
#include "watchprof/call_bounce.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

#define CALL_RESTART  219  /* restart_syscall */
#define RESTART_BLOCK -516 /* ERESTART_RESTARTBLOCK: the kernel has kept the addresses */
#define LARGE         512  /* from here on buffers keep their place in the page (O_DIRECT) */
#define PAGE          4096
#define LINE          64
#define NO_REGION     (-1)

/* Pieces that overlap stay together: what the kernel writes through one is read through the other.
 */
struct region {
	uint64_t addr, len;
	uint64_t at;   /* in the scratch area */
	size_t offset; /* of its bytes in the images */
	bool is_moved;
};

struct call_bounce {
	uint64_t scratch, scratch_len;
	enum bounce_result how; /* what was said of the last call */
	bool is_under_way;      /* it runs on scratch copies */
	bool is_kept;           /* restart_syscall would go on with it */
	uint64_t args[CALL_ARGUMENTS];
	enum call_class class;
	bool looks_once;
	size_t n, n_regions;
	struct call_piece pieces[CALL_PIECES_MAX];
	int16_t region_of[CALL_PIECES_MAX];
	struct region regions[CALL_PIECES_MAX];
	size_t used, size;
	unsigned char *before, *after; /* what stood there at the entry, and now; as long as used */
};

struct call_bounce *call_bounce_new(uint64_t addr, uint64_t len)
{
	struct call_bounce *bounce = mem_new(1, sizeof(*bounce));

	bounce->scratch = addr;
	bounce->scratch_len = len;
	return bounce;
}

void call_bounce_free(struct call_bounce *bounce)
{
	if (!bounce)
		return;
	free(bounce->before);
	free(bounce->after);
	free(bounce);
}

bool call_bounce_is_busy(const struct call_bounce *bounce)
{
	return bounce->is_under_way || (bounce->is_kept && bounce->how == BOUNCE_DONE);
}

static bool piece_is_shut(const struct bounce_memory *memory, const struct call_piece *piece)
{
	return piece->direction &&
	       memory->is_shut(memory->memory.context, piece->addr, piece->len, piece->direction);
}

static int piece_compare(const void *a, const void *b, void *pieces)
{
	const struct call_piece *x = (struct call_piece *)pieces + *(const int16_t *)a;
	const struct call_piece *y = (struct call_piece *)pieces + *(const int16_t *)b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->len > y->len ? -1 : x->len < y->len;
}

/* Put pieces that overlap into regions. Those that are not touched now (direction 0) are in none.
 */
static void regions_make(struct call_bounce *bounce)
{
	int16_t order[CALL_PIECES_MAX];

	for (size_t i = 0; i < bounce->n; i++)
		order[i] = (int16_t)i;
	qsort_r(order, bounce->n, sizeof(order[0]), piece_compare, bounce->pieces);
	bounce->n_regions = 0;
	for (size_t i = 0; i < bounce->n; i++) {
		const struct call_piece *piece = &bounce->pieces[order[i]];
		struct region *last =
			bounce->n_regions ? &bounce->regions[bounce->n_regions - 1] : NULL;

		bounce->region_of[order[i]] = NO_REGION;
		if (!piece->direction)
			continue;
		if (!last || piece->addr >= last->addr + last->len) {
			last = &bounce->regions[bounce->n_regions++];
			*last = (struct region){.addr = piece->addr, .len = piece->len};
		} else if (piece->addr + piece->len > last->addr + last->len) {
			last->len = piece->addr + piece->len - last->addr;
		}
		bounce->region_of[order[i]] = (int16_t)(last - bounce->regions);
	}
}

static bool piece_is_moved(const struct call_bounce *bounce, size_t i)
{
	return bounce->region_of[i] != NO_REGION && bounce->regions[bounce->region_of[i]].is_moved;
}

/* What is moved needs a pointer that can be changed: the piece with the pointer is moved, too. */
static void regions_close(struct call_bounce *bounce)
{
	bool is_more = true;

	while (is_more) {
		is_more = false;
		for (size_t i = 0; i < bounce->n; i++) {
			int parent = bounce->pieces[i].parent;

			if (parent == CALL_NO_PARENT || !piece_is_moved(bounce, i) ||
				piece_is_moved(bounce, (size_t)parent))
				continue;
			bounce->regions[bounce->region_of[parent]].is_moved = true;
			is_more = true;
		}
	}
}

/* Can everything that has to be moved be moved? */
static bool pieces_are_movable(const struct call_bounce *bounce, const struct bounce_memory *memory)
{
	for (size_t i = 0; i < bounce->n; i++) {
		const struct call_piece *piece = &bounce->pieces[i];

		if (!piece_is_moved(bounce, i))
			continue;
		if (piece->is_fixed ||
			(memory->is_granted && !memory->is_granted(memory->memory.context,
						       piece->addr, piece->len, piece->direction)))
			return false;
	}
	return true;
}

/* Give each region its place: at the same distance from a cache line, or, if large, a page, as
 * before. */
static bool regions_place(struct call_bounce *bounce)
{
	uint64_t at = bounce->scratch, end = bounce->scratch + bounce->scratch_len;
	size_t used = 0;

	for (size_t i = 0; i < bounce->n_regions; i++) {
		struct region *region = &bounce->regions[i];
		uint64_t phase = region->len >= LARGE ? PAGE : LINE;

		if (!region->is_moved)
			continue;
		at += (region->addr - at) % phase;
		if (at > end || region->len > end - at)
			return false;
		region->at = at;
		region->offset = used;
		at += region->len;
		used += region->len;
	}
	if (used > bounce->size) {
		bounce->before = mem_resize(bounce->before, used, 1);
		bounce->after = mem_resize(bounce->after, used, 1);
		bounce->size = used;
	}
	bounce->used = used;
	return true;
}

/* Where an address of the process is now. */
static uint64_t moved_to(const struct region *region, uint64_t addr)
{
	return region->at + (addr - region->addr);
}

/* Set the pointers within an image to where pieces are now, or (is_back) to what they were. */
static void image_point(const struct call_bounce *bounce, unsigned char *image, bool is_back)
{
	for (size_t i = 0; i < bounce->n; i++) {
		const struct call_piece *piece = &bounce->pieces[i];
		const struct region *parent;
		uint64_t pointer;

		if (piece->parent == CALL_NO_PARENT || !piece_is_moved(bounce, i))
			continue;
		parent = &bounce->regions[bounce->region_of[piece->parent]];
		pointer = is_back ? piece->addr
				  : moved_to(&bounce->regions[bounce->region_of[i]], piece->addr);
		memcpy(image + parent->offset + (piece->pointer_at - parent->addr), &pointer,
			sizeof(pointer));
	}
}

/* Copy what is to be moved to the scratch area. */
static bool regions_fill(struct call_bounce *bounce, const struct bounce_memory *memory)
{
	void *context = memory->memory.context;

	for (size_t i = 0; i < bounce->n_regions; i++) {
		const struct region *region = &bounce->regions[i];

		if (region->is_moved && !memory->memory.read(context, region->addr,
						bounce->before + region->offset, region->len))
			return false;
	}
	memcpy(bounce->after, bounce->before, bounce->used);
	image_point(bounce, bounce->after, false);
	for (size_t i = 0; i < bounce->n_regions; i++) {
		const struct region *region = &bounce->regions[i];

		if (region->is_moved && !memory->write(context, region->at,
						bounce->after + region->offset, region->len))
			return false;
	}
	return true;
}

static void args_point(const struct call_bounce *bounce, uint64_t *args)
{
	for (size_t i = 0; i < bounce->n; i++) {
		const struct call_piece *piece = &bounce->pieces[i];

		if (piece->argument >= 0 && piece_is_moved(bounce, i))
			args[piece->argument] =
				moved_to(&bounce->regions[bounce->region_of[i]], piece->addr);
	}
}

/* Mark the regions that are shut. */
static void regions_mark(struct call_bounce *bounce, const struct bounce_memory *memory)
{
	for (size_t i = 0; i < bounce->n; i++) {
		if (piece_is_shut(memory, &bounce->pieces[i]))
			bounce->regions[bounce->region_of[i]].is_moved = true;
	}
}

static bool plan_touches_shut(const struct call_plan *plan, const struct bounce_memory *memory)
{
	for (size_t i = 0; i < plan->n; i++) {
		if (piece_is_shut(memory, &plan->pieces[i]))
			return true;
	}
	return false;
}

static bool plan_is_lifted(const struct call_plan *plan)
{
	return !plan->is_complete || plan->class == CALL_SIGRETURN || plan->class == CALL_UNKNOWN;
}

/* restart_syscall: the kernel goes on with what it has kept of a call, addresses included. */
static enum bounce_result restart_enter(
	struct call_bounce *bounce, struct call_plan *plan, const uint64_t args[CALL_ARGUMENTS])
{
	plan->class = bounce->class;
	plan->looks_once = bounce->looks_once;
	bounce->is_kept = false;
	bounce->is_under_way = bounce->how == BOUNCE_DONE;
	memcpy(bounce->args, args, sizeof(bounce->args));
	return bounce->how;
}

/* Move what has to be moved. False: it cannot be done. */
static bool plan_move(struct call_bounce *bounce, const struct call_plan *plan,
	const struct bounce_memory *memory)
{
	bounce->n = plan->n;
	memcpy(bounce->pieces, plan->pieces, plan->n * sizeof(plan->pieces[0]));
	regions_make(bounce);
	regions_mark(bounce, memory);
	regions_close(bounce);
	return pieces_are_movable(bounce, memory) && regions_place(bounce) &&
	       regions_fill(bounce, memory);
}

static enum bounce_result plan_judge(struct call_bounce *bounce, const struct call_plan *plan,
	const struct bounce_memory *memory)
{
	if (plan_is_lifted(plan))
		return BOUNCE_LIFT;
	if (!plan_touches_shut(plan, memory))
		return BOUNCE_NONE;
	/* A child would have the changed registers. */
	if (plan->is_bad || plan->class == CALL_MAP || plan->class == CALL_FORK)
		return BOUNCE_LIFT;
	return plan_move(bounce, plan, memory) ? BOUNCE_DONE : BOUNCE_LIFT;
}

enum bounce_result call_bounce_enter(struct call_bounce *bounce, struct call_plan *plan,
	const struct bounce_memory *memory, uint64_t args[CALL_ARGUMENTS])
{
	if (plan->nr == CALL_RESTART && bounce->is_kept)
		return restart_enter(bounce, plan, args);
	bounce->is_kept = false;
	bounce->class = plan->class;
	bounce->looks_once = plan->looks_once;
	bounce->how = plan_judge(bounce, plan, memory);
	bounce->is_under_way = bounce->how == BOUNCE_DONE;
	if (bounce->is_under_way) {
		memcpy(bounce->args, args, sizeof(bounce->args));
		args_point(bounce, args);
	}
	return bounce->how;
}

/* The number that tells how much of a piece was written: it may be in what was moved itself. */
static uint64_t value_get(const struct call_bounce *bounce, const struct bounce_memory *memory,
	const struct call_piece *piece)
{
	uint64_t value = 0;

	if (!piece->value_size)
		return 0;
	for (size_t i = 0; i < bounce->n_regions; i++) {
		const struct region *region = &bounce->regions[i];

		if (!region->is_moved || piece->value_at < region->addr ||
			piece->value_at + piece->value_size > region->addr + region->len)
			continue;
		memcpy(&value, bounce->after + region->offset + (piece->value_at - region->addr),
			piece->value_size);
		return value;
	}
	return memory->memory.read(
		       memory->memory.context, piece->value_at, &value, piece->value_size)
		       ? value
		       : 0;
}

/* Write back the bytes that differ, and those only: others may have been changed by other threads.
 */
static bool changes_write(const struct bounce_memory *memory, uint64_t addr,
	const unsigned char *before, const unsigned char *after, uint64_t len)
{
	bool is_good = true;

	for (uint64_t i = 0, end; i < len; i = end) {
		end = i + 1;
		if (before[i] == after[i])
			continue;
		while (end < len && before[end] != after[end])
			end++;
		is_good &= memory->write(memory->memory.context, addr + i, after + i, end - i);
	}
	return is_good;
}

static bool piece_return(const struct call_bounce *bounce, const struct bounce_memory *memory,
	size_t i, int64_t result)
{
	const struct call_piece *piece = &bounce->pieces[i];
	const struct region *region = &bounce->regions[bounce->region_of[i]];
	size_t offset = region->offset + (piece->addr - region->addr);
	uint64_t len;

	if (call_is_error(result) || piece->back == BACK_CHANGED)
		return changes_write(memory, piece->addr, bounce->before + offset,
			bounce->after + offset, piece->len);
	len = call_written(piece, result, value_get(bounce, memory, piece));
	return !len ||
	       memory->write(memory->memory.context, piece->addr, bounce->after + offset, len);
}

/* Read back what the kernel may have written. */
static bool regions_read(struct call_bounce *bounce, const struct bounce_memory *memory)
{
	for (size_t i = 0; i < bounce->n; i++) {
		const struct region *region;

		if (!piece_is_moved(bounce, i) || !(bounce->pieces[i].direction & CALL_OUT))
			continue;
		region = &bounce->regions[bounce->region_of[i]];
		if (!memory->memory.read(memory->memory.context, region->at,
			    bounce->after + region->offset, region->len))
			return false;
	}
	image_point(bounce, bounce->after, true);
	return true;
}

/* Copy back what the kernel wrote. */
static bool pieces_return(
	struct call_bounce *bounce, const struct bounce_memory *memory, int64_t result)
{
	bool is_good = regions_read(bounce, memory);

	for (size_t i = 0; is_good && i < bounce->n; i++) {
		if (piece_is_moved(bounce, i) && bounce->pieces[i].direction & CALL_OUT)
			is_good &= piece_return(bounce, memory, i, result);
	}
	memcpy(bounce->before, bounce->after, bounce->used);
	return is_good;
}

bool call_bounce_leave(struct call_bounce *bounce, const struct bounce_memory *memory,
	int64_t result, uint64_t args[CALL_ARGUMENTS])
{
	bool is_good = !bounce->is_under_way || pieces_return(bounce, memory, result);

	call_bounce_cancel(bounce, args);
	bounce->is_kept = result == RESTART_BLOCK;
	return is_good;
}

void call_bounce_cancel(struct call_bounce *bounce, uint64_t args[CALL_ARGUMENTS])
{
	if (bounce->is_under_way && args)
		memcpy(args, bounce->args, sizeof(bounce->args));
	bounce->is_under_way = bounce->is_kept = false;
}
