/* dr: debug registers as pure data. Watches go in, one register image comes out;
 * DR6 goes in, the watches that were hit come out. No kernel, no thread.
 *
 * Sources: Intel SDM volume 3, chapter "Debug registers" (DR6, DR7 layout, alignment);
 * the kernel's ptrace view of them, origins.md section 1. */
#ifndef WATCHPROF_DR_H
#define WATCHPROF_DR_H

#include "watchprof/err.h"
#include "watchprof/watch.h"

#include <stdbool.h>
#include <stdint.h>

#define DR_SLOTS      4
#define DR_BYTES_MAX  32   /* four slots of eight bytes */
#define DR6_SLOT_BITS 0xfU /* bit n: slot n fired */

/* One slot: a naturally aligned piece of 1, 2, 4 or 8 bytes. */
struct dr_slot {
	uint64_t addr;
	uint8_t len;		  /* bytes; 0: the slot is free */
	enum watch_access access; /* ACCESS_WRITE, _READ_WRITE or _EXECUTE: what fires it */
	uint64_t watches;	  /* bit set: every watch that is hit whenever this slot fires */
	uint64_t possible;	  /* those that are hit if the access was of their kind: their bytes were touched */
};

struct dr_image {
	struct dr_slot slot[DR_SLOTS]; /* used slots first */
	unsigned n_slots;
	uint64_t readers, writers; /* watches that ask for reads, for writes */
	uint64_t dr7; /* 0 where nothing is to be watched */
};

/* How many slots a span would take by itself; 0 for an empty one. */
unsigned dr_slots_needed(const struct span *span);

/* Plan all spans (n <= WATCHES_MAX; bit i of a slot's watches is spans[i]) into one
 * image. Pieces of the same bytes share a slot, whatever the access. Where one slot's piece lies within another
 * span that the same access must hit too, the slot stands for that watch as well; so
 * the counts are the same whether a processor sets every matching DR6 bit or only the
 * lowest. The processor cannot watch reads alone: where a slot fires for more than a watch asks, the
 * kind of the access has to decide (possible). Fails, with nothing planned, where slots or bytes do not suffice. text[i] names spans[i] in messages. */
int dr_plan(const struct span *spans, const char *const *text, size_t n, struct dr_image *image,
	struct err *err);

/* The same image with every slot's length set to one byte: what older kernels want in
 * DR7 before they accept an address (a disabled slot keeps its old length there). */
uint64_t dr7_one_byte(const struct dr_image *image);

/* The watches that a DR6 value names: bit i is spans[i]. 0: none of ours. */
static inline uint64_t dr_watches_hit(const struct dr_image *image, uint64_t dr6)
{
	uint64_t watches = 0;

	for (unsigned s = 0; s < image->n_slots; s++) {
		if (dr6 & 1ULL << s)
			watches |= image->slot[s].watches;
	}
	return watches;
}

/* The watches that are hit by it if the access was of their kind. */
static inline uint64_t dr_watches_possible(const struct dr_image *image, uint64_t dr6)
{
	uint64_t watches = 0;

	for (unsigned s = 0; s < image->n_slots; s++) {
		if (dr6 & 1ULL << s)
			watches |= image->slot[s].possible;
	}
	return watches;
}

/* The bytes of a watch for data, put together from its slots. False: the image has none. */
bool dr_watch_range(const struct dr_image *image, unsigned watch, uint64_t *addr, uint64_t *len);

/* The DR6 bits of the slots with this access. */
static inline uint64_t dr_slots_of(const struct dr_image *image, enum watch_access access)
{
	uint64_t slots = 0;

	for (unsigned s = 0; s < image->n_slots; s++)
		slots |= (uint64_t)(image->slot[s].access == access) << s;
	return slots;
}

#endif
