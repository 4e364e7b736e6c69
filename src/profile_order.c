/* profile_order.c owns the functions of a profile and their order by name. A function is known by its names
 * when a location is added, and has its place among the others from when an answer asks for the order: until
 * then a new one moves none of those that are there. Two locations are compared by their places. */
#include "profile_private.h"
#include "watchprof/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const char *text)
{
	return text ? text : "";
}

/* Functions of one name in different modules or source files are different functions. */
static int names_compare(const struct loc *x, const struct loc *y)
{
	int order = strcmp(text_of(x->function), text_of(y->function));

	if (!order)
		order = strcmp(text_of(x->module), text_of(y->module));
	if (!order)
		order = strcmp(text_of(x->unit), text_of(y->unit));
	return order;
}

static uint32_t names_hash(const struct loc *loc)
{
	uint64_t hash = 0;

	hash = hash_bytes(hash, text_of(loc->function), strlen(text_of(loc->function)));
	hash = hash_bytes(hash, text_of(loc->module), strlen(text_of(loc->module)));
	hash = hash_bytes(hash, text_of(loc->unit), strlen(text_of(loc->unit)));
	return (uint32_t)(hash ^ hash >> 32);
}

static uint64_t function_hash(const struct profile *profile, uint32_t function)
{
	return profile->functions[function].hash;
}

uint32_t profile_function_order(const struct loc *loc)
{
	/* Every location that is ever asked for lies in the profile's table, in an entry. */
	static_assert(offsetof(struct loc_entry, loc) == 0, "a location is the beginning of its entry");
	return ((const struct loc_entry *)loc)->order;
}

int profile_function_compare(const struct loc *x, const struct loc *y)
{
	uint32_t a = profile_function_order(x), b = profile_function_order(y);

	return (a > b) - (a < b);
}

/* The first location of a function. */
static struct loc_entry *first_loc(const struct profile *profile, uint32_t function)
{
	return &profile->locs[profile->functions[function].loc];
}

void profile_order_add(struct profile *profile, uint32_t loc)
{
	struct loc_entry *entry = &profile->locs[loc];
	struct index *index = &profile->function_index;
	uint32_t hash = names_hash(&entry->loc), function;

	for (size_t b = hash & (index->n_buckets - 1); index->bucket[b]; b = (b + 1) & (index->n_buckets - 1)) {
		function = index->bucket[b] - 1;
		if (profile->functions[function].hash != hash ||
			names_compare(&first_loc(profile, function)->loc, &entry->loc) != 0)
			continue;
		entry->function = function;
		entry->order = first_loc(profile, function)->order;
		return;
	}
	profile->functions = profile_room(profile->functions, profile->n_functions, &profile->cap_functions, 1,
		sizeof(*profile->functions));
	function = (uint32_t)profile->n_functions++;
	profile->functions[function] = (struct function){.loc = loc, .hash = hash};
	entry->function = function;
	entry->order = ORDER_NONE;
	profile_index_put(index, hash, function);
	profile_index_grow(index, profile->n_functions, profile, function_hash);
}

static int functions_compare(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;

	return names_compare(&first_loc(profile, *(const uint32_t *)a)->loc,
		&first_loc(profile, *(const uint32_t *)b)->loc);
}

/* How many of those that have a place, which are the first n of by_name, stand before a function. */
static size_t place_find(const struct profile *profile, const uint32_t *by_name, size_t n, uint32_t function)
{
	size_t begin = 0, end = n;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;

		if (functions_compare(&by_name[middle], &function, (void *)profile) < 0)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

/* Put the last n - n_placed functions, which have no place, between those that have one. */
static void functions_place(const struct profile *profile, uint32_t *by_name, size_t n_placed, size_t n)
{
	size_t n_new = n - n_placed, end = n_placed;
	uint32_t *fresh = mem_new(n_new, sizeof(*fresh));

	for (size_t i = 0; i < n_new; i++)
		fresh[i] = (uint32_t)(n_placed + i);
	qsort_r(fresh, n_new, sizeof(*fresh), functions_compare, (void *)profile);
	/* From the last one on, so that each of the others moves once. */
	for (size_t i = n_new; i-- > 0;) {
		size_t at = place_find(profile, by_name, end, fresh[i]);

		memmove(by_name + at + i + 1, by_name + at, (end - at) * sizeof(*by_name));
		by_name[at + i] = fresh[i];
		end = at;
	}
	free(fresh);
}

void profile_order_make(const struct profile *profile)
{
	size_t n = profile->n_functions, n_placed = n;
	uint32_t *by_name, *places;

	while (n_placed > 0 && first_loc(profile, (uint32_t)n_placed - 1)->order == ORDER_NONE)
		n_placed--;
	if (n_placed == n)
		return;
	by_name = mem_new(n, sizeof(*by_name));
	for (uint32_t i = 0; i < n_placed; i++)
		by_name[first_loc(profile, i)->order] = i;
	functions_place(profile, by_name, n_placed, n);
	places = mem_new(n, sizeof(*places));
	for (uint32_t i = 0; i < n; i++)
		places[by_name[i]] = i;
	for (size_t i = 0; i < profile->n_locs; i++)
		profile->locs[i].order = places[profile->locs[i].function];
	free(places);
	free(by_name);
}
