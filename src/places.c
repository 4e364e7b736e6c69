/* places.c owns the list of what each thread has of thread-local variables. It never looks into a process by itself,
 * and protects nothing. */
#include "watchprof/places.h"

#include "watchprof/hit.h"
#include "watchprof/thread_image.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

struct places {
	struct armed *armed;
	struct placed *list; /* by thread pointers: a fault looks at those of its thread alone */
	size_t n, room;
};

struct places *places_new(const struct arming *arming)
{
	struct armed *armed = armed_new(arming);
	struct places *places;

	if (!armed)
		return NULL;
	places = mem_new(1, sizeof(*places));
	places->armed = armed;
	return places;
}

struct places *places_copy(const struct places *places)
{
	struct places *copy;

	if (!places)
		return NULL;
	copy = mem_new(1, sizeof(*copy));
	copy->armed = armed_copy(places->armed);
	copy->n = copy->room = places->n;
	copy->list = mem_new(places->n + 1, sizeof(*copy->list));
	if (places->n)
		memcpy(copy->list, places->list, places->n * sizeof(*copy->list));
	return copy;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	armed_free(places->armed);
	free(places->list);
	free(places);
}

/* Where those of a thread begin, or would. */
HIT_PATH static size_t first_of(const struct places *places, uint64_t thread_pointer)
{
	size_t first = 0, last = places->n;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (places->list[middle].thread_pointer < thread_pointer)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

HIT_PATH static bool is_of(const struct places *places, size_t i, uint64_t thread_pointer)
{
	return i < places->n && places->list[i].thread_pointer == thread_pointer;
}

/* Behind those that the thread has. */
static void add(struct places *places, const struct placed *placed)
{
	size_t at = first_of(places, placed->thread_pointer);

	while (is_of(places, at, placed->thread_pointer))
		at++;
	if (places->n == places->room) {
		places->room = 2 * places->room + 8;
		places->list = mem_resize(places->list, places->room, sizeof(*places->list));
	}
	memmove(&places->list[at + 1], &places->list[at], (places->n - at) * sizeof(*places->list));
	places->list[at] = *placed;
	places->n++;
}

/* Keep those of a thread, or all others. */
static bool sift(struct places *places, uint64_t thread_pointer, bool is_kept)
{
	size_t before = places->n;

	places->n = 0;
	for (size_t i = 0; i < before; i++) {
		if ((places->list[i].thread_pointer == thread_pointer) == is_kept)
			places->list[places->n++] = places->list[i];
	}
	return places->n != before;
}

bool places_drop(struct places *places, uint64_t thread_pointer)
{
	return sift(places, thread_pointer, false);
}

bool places_keep(struct places *places, uint64_t thread_pointer)
{
	return sift(places, thread_pointer, true);
}

/* Add what a thread has of one span: itself, or what tells of it. False: neither. */
static bool take_one(struct places *places, unsigned watch, pid_t tid, uint64_t thread_pointer)
{
	struct placed placed = {.thread_pointer = thread_pointer, .watch = watch};
	struct place place;

	if (!armed_locate(places->armed, watch, tid, thread_pointer, &placed.span, &place))
		return true;
	if (place.addr) {
		placed.span.addr = place.addr;
		add(places, &placed);
		return true;
	}
	placed.is_due = true;
	placed.span = (struct span){place.due, sizeof(uint64_t), ACCESS_WRITE};
	if (place.due)
		add(places, &placed);
	placed.span.addr = place.moved;
	if (place.moved)
		add(places, &placed);
	return place.due != 0;
}

static bool is_same(const struct placed *a, const struct placed *b)
{
	return a->thread_pointer == b->thread_pointer && a->watch == b->watch && a->is_due == b->is_due &&
		a->span.addr == b->span.addr && a->span.len == b->span.len && a->span.access == b->span.access;
}

bool places_take(struct places *places, pid_t tid, uint64_t thread_pointer, bool *is_partial)
{
	struct placed *former = mem_new(places->n + 1, sizeof(*former));
	size_t n_former = 0, kept, first = first_of(places, thread_pointer);
	bool has_changed;

	while (is_of(places, first + n_former, thread_pointer)) {
		former[n_former] = places->list[first + n_former];
		n_former++;
	}
	places_drop(places, thread_pointer);
	kept = places->n;
	*is_partial = false;
	for (unsigned i = 0; i < WATCHES_MAX; i++)
		*is_partial |= !take_one(places, i, tid, thread_pointer);
	has_changed = places->n - kept != n_former;
	for (size_t i = 0; i < n_former && !has_changed; i++)
		has_changed = !is_same(&former[i], &places->list[first + i]);
	free(former);
	return has_changed;
}

const struct placed *places_list(const struct places *places, size_t *n)
{
	*n = places ? places->n : 0;
	return places ? places->list : NULL;
}

HIT_PATH static bool is_met(const struct placed *placed, uint64_t addr, uint64_t len)
{
	return addr < placed->span.addr + placed->span.len && placed->span.addr < addr + len;
}

HIT_PATH uint64_t places_touched(const struct places *places, uint64_t thread_pointer, uint64_t addr, uint64_t len, unsigned kind)
{
	uint64_t touched = 0;

	for (size_t i = first_of(places, thread_pointer); is_of(places, i, thread_pointer); i++) {
		const struct placed *placed = &places->list[i];
		unsigned asked = (placed->span.access & ACCESS_READ ? HIT_READ : 0U) |
			(placed->span.access & ACCESS_WRITE ? HIT_WRITE : 0U);

		if (!placed->is_due && (asked & kind) && is_met(placed, addr, len))
			touched |= 1ULL << placed->watch;
	}
	return touched;
}

bool places_is_due(const struct places *places, uint64_t thread_pointer, uint64_t addr, uint64_t len)
{
	for (size_t i = first_of(places, thread_pointer); is_of(places, i, thread_pointer); i++) {
		if (places->list[i].is_due && is_met(&places->list[i], addr, len))
			return true;
	}
	return false;
}

uint64_t places_watch(const struct places *places, uint64_t thread_pointer, unsigned watch, uint64_t *addr)
{
	for (size_t i = first_of(places, thread_pointer); is_of(places, i, thread_pointer); i++) {
		const struct placed *placed = &places->list[i];

		if (placed->watch != watch || placed->is_due)
			continue;
		*addr = placed->span.addr;
		return placed->span.len;
	}
	return 0;
}
