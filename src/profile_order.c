/* profile_order.c owns the order of functions by name. A function is placed once, when its first
 * location is added; from then on two locations are compared by a number. */
#include "profile_private.h"
#include "watchprof/util.h"

#include <assert.h>
#include <string.h>

static int text_compare(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* Functions of one name in different modules or source files are different functions. */
static int names_compare(const struct loc *x, const struct loc *y)
{
	int order = text_compare(x->function, y->function);

	if (!order)
		order = text_compare(x->module, y->module);
	if (!order)
		order = text_compare(x->unit, y->unit);
	return order;
}

uint64_t profile_function_order(const struct loc *loc)
{
	/* Every location that is ever asked for lies in the profile's table, in an entry. */
	static_assert(offsetof(struct loc_entry, loc) == 0, "a location is the beginning of its entry");
	return ((const struct loc_entry *)loc)->order;
}

int profile_function_compare(const struct loc *x, const struct loc *y)
{
	uint64_t a = profile_function_order(x), b = profile_function_order(y);

	return (a > b) - (a < b);
}

/* Where a function stands among the others, or would; *is_new tells which. */
static size_t place_find(const struct profile *profile, const struct loc *loc, bool *is_new)
{
	size_t begin = 0, end = profile->n_functions;

	*is_new = true;
	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		int order = names_compare(loc, &profile->locs[profile->functions[middle].loc].loc);

		if (order == 0) {
			*is_new = false;
			return middle;
		}
		if (order < 0)
			end = middle;
		else
			begin = middle + 1;
	}
	return begin;
}

/* Numbers with room between them for all functions anew, and for their locations. */
static void renumber(struct profile *profile)
{
	uint64_t gap = UINT64_MAX / (profile->n_functions + 1);

	for (size_t i = 0; i < profile->n_functions; i++) {
		struct function *function = &profile->functions[i];

		function->order = gap * (i + 1);
		for (uint32_t loc = function->loc; loc != LOC_NONE; loc = profile->locs[loc].next)
			profile->locs[loc].order = function->order;
	}
}

void profile_order_add(struct profile *profile, uint32_t loc)
{
	struct loc_entry *entry = &profile->locs[loc];
	bool is_new;
	size_t at = place_find(profile, &entry->loc, &is_new);
	uint64_t before = 0, behind = UINT64_MAX;

	if (!is_new) {
		entry->order = profile->functions[at].order;
		entry->next = profile->functions[at].loc;
		profile->functions[at].loc = loc;
		return;
	}
	if (profile->n_functions == profile->cap_functions) {
		profile->cap_functions = profile->cap_functions ? 2 * profile->cap_functions : 256;
		profile->functions =
			mem_resize(profile->functions, profile->cap_functions, sizeof(*profile->functions));
	}
	memmove(profile->functions + at + 1, profile->functions + at,
		(profile->n_functions - at) * sizeof(*profile->functions));
	profile->n_functions++;
	if (at > 0)
		before = profile->functions[at - 1].order;
	if (at + 1 < profile->n_functions)
		behind = profile->functions[at + 1].order;
	entry->next = LOC_NONE;
	entry->order = before + (behind - before) / 2;
	profile->functions[at] = (struct function){.order = entry->order, .loc = loc};
	if (entry->order == before)
		renumber(profile);
}
