/* dr.c owns the arithmetic of the debug registers: splitting, sharing, encoding and
 * decoding. It never reads or writes a register. */
#include "watchprof/dr.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

/* Largest naturally aligned piece at addr that is not longer than len. */
static uint8_t piece_len(uint64_t addr, uint64_t len)
{
	uint8_t piece = 8;

	while (piece > len || addr % piece)
		piece /= 2;
	return piece;
}

unsigned dr_slots_needed(const struct span *span)
{
	uint64_t addr = span->addr, left = span->access == ACCESS_EXECUTE && span->len ? 1 : span->len;
	unsigned n = 0;

	while (left > 0 && n <= DR_BYTES_MAX) {
		uint8_t len = piece_len(addr, left);

		addr += len;
		left -= len;
		n++;
	}
	return n;
}

/* Execute slots first, then writes, then reads-or-writes, and short before long: where a
 * processor reports only the lowest of several matching slots, the lowest says the most. */
static int slot_compare(const void *a, const void *b)
{
	static const uint8_t rank[] = {
		[ACCESS_EXECUTE] = 0,
		[ACCESS_WRITE] = 1,
		[ACCESS_READ_WRITE] = 2,
	};
	const struct dr_slot *x = a, *y = b;

	if (rank[x->access] != rank[y->access])
		return rank[x->access] < rank[y->access] ? -1 : 1;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* What a slot has to fire for. There is none for reads alone. */
static enum watch_access slot_access(enum watch_access access)
{
	return access == ACCESS_READ ? ACCESS_READ_WRITE : access;
}

/* The same bytes: one slot does for both, if neither is for code. */
static bool slot_is_shared(const struct dr_slot *a, const struct dr_slot *b)
{
	return a->addr == b->addr && a->len == b->len &&
		(a->access == ACCESS_EXECUTE) == (b->access == ACCESS_EXECUTE);
}

/* Add the pieces of one span to the list, leaving out those already there. Counts beyond
 * DR_SLOTS, up to max, so that the caller can say how many would be needed. */
static unsigned pieces_add(struct dr_slot *list, unsigned n, unsigned max, const struct span *span)
{
	uint64_t addr = span->addr, left = span->access == ACCESS_EXECUTE && span->len ? 1 : span->len;

	while (left > 0 && n < max) {
		struct dr_slot piece = {
			.addr = addr, .len = piece_len(addr, left), .access = slot_access(span->access)};
		unsigned i = 0;

		while (i < n && !slot_is_shared(&list[i], &piece))
			i++;
		if (i == n)
			list[n++] = piece;
		else
			list[i].access |= piece.access;
		addr += piece.len;
		left -= piece.len;
	}
	return n;
}

/* Does every firing of the slot mean that bytes of the span were touched? */
static bool slot_touches(const struct dr_slot *slot, const struct span *span)
{
	if ((slot->access == ACCESS_EXECUTE) != (span->access == ACCESS_EXECUTE))
		return false;
	/* Of an execute watch only the first byte is watched. */
	if (span->access == ACCESS_EXECUTE)
		return span->len && slot->addr == span->addr;
	return slot->addr >= span->addr && slot->addr + slot->len <= span->addr + span->len;
}

/* And in a way that it is watched for, whatever the access was? */
static bool slot_implies(const struct dr_slot *slot, const struct span *span)
{
	return slot->access == span->access ||
		(slot->access == ACCESS_WRITE && span->access == ACCESS_READ_WRITE);
}

static int span_check(const struct span *span, const char *text, struct err *err)
{
	if (span->access != ACCESS_EXECUTE && span->len > DR_BYTES_MAX)
		return err_set(err,
			"%s: the object is %llu bytes and the four debug registers cover %d at most; "
			"watch a part of it, for example NAME+OFFSET/8",
			text, (unsigned long long)span->len, DR_BYTES_MAX);
	return span_check_user(span, text, err);
}

static int slots_short(const struct span *spans, const char *const *text, size_t n, unsigned needed,
	struct err *err)
{
	err_set(err, "%u debug register slots are needed and a processor has %d:", needed, DR_SLOTS);
	for (size_t i = 0; i < n; i++) {
		if (spans[i].len)
			err_append(err, " %s takes %u;", text[i], dr_slots_needed(&spans[i]));
	}
	return err_append(err, " watch fewer, or shorter pieces (NAME/LENGTH)");
}

/* DR7: a local enable bit per slot at 2n; type and length, two bits each, at 16 + 4n. */
static uint64_t dr7_encode(const struct dr_slot *slot, unsigned n)
{
	static const uint8_t types[] = {
		[ACCESS_EXECUTE] = 0,
		[ACCESS_WRITE] = 1,
		[ACCESS_READ_WRITE] = 3,
	};
	static const uint8_t lengths[] = {[1] = 0, [2] = 1, [4] = 3, [8] = 2};
	uint64_t control = types[slot->access] | (uint64_t)lengths[slot->len] << 2;

	return 1ULL << (2 * n) | control << (16 + 4 * n);
}

int dr_plan(const struct span *spans, const char *const *text, size_t n, struct dr_image *image,
	struct err *err)
{
	struct dr_slot list[WATCHES_MAX * (DR_BYTES_MAX / 2)];
	unsigned n_list = 0;

	*image = (struct dr_image){0};
	for (size_t i = 0; i < n; i++) {
		if (span_check(&spans[i], text[i], err)) {
			*image = (struct dr_image){0};
			return -1;
		}
		n_list = pieces_add(list, n_list, ARRAY_LEN(list), &spans[i]);
		image->readers |= (uint64_t)((spans[i].access & ACCESS_READ) != 0) << i;
		image->writers |= (uint64_t)((spans[i].access & ACCESS_WRITE) != 0) << i;
	}
	if (n_list > DR_SLOTS) {
		*image = (struct dr_image){0};
		return slots_short(spans, text, n, n_list, err);
	}
	qsort(list, n_list, sizeof(list[0]), slot_compare);
	for (unsigned s = 0; s < n_list; s++) {
		for (size_t i = 0; i < n; i++) {
			if (slot_touches(&list[s], &spans[i]))
				*(slot_implies(&list[s], &spans[i]) ? &list[s].watches : &list[s].possible) |= 1ULL << i;
		}
		image->slot[s] = list[s];
		image->dr7 |= dr7_encode(&list[s], s);
	}
	image->n_slots = n_list;
	return 0;
}

uint64_t dr7_one_byte(const struct dr_image *image)
{
	uint64_t dr7 = 0;

	for (unsigned s = 0; s < image->n_slots; s++) {
		struct dr_slot slot = image->slot[s];

		slot.len = 1;
		dr7 |= dr7_encode(&slot, s);
	}
	return dr7;
}

HIT_PATH bool dr_watch_range(const struct dr_image *image, unsigned watch, uint64_t *addr, uint64_t *len)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned s = 0; s < image->n_slots; s++) {
		const struct dr_slot *slot = &image->slot[s];

		if (slot->access == ACCESS_EXECUTE || !((slot->watches | slot->possible) >> watch & 1))
			continue;
		start = slot->addr < start ? slot->addr : start;
		end = slot->addr + slot->len > end ? slot->addr + slot->len : end;
	}
	*addr = start;
	*len = end > start ? end - start : 0;
	return end > start;
}
