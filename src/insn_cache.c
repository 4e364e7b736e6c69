/* insn_cache.c owns what was decoded: once per ip, compared with the code before it is used
 * again. Bounded: of the entries that an ip may have, the older one goes. */
#include "watchprof/insn_cache.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

#define SETS	   512
#define WAYS	   2 /* the one used last first */
#define REACH_MAX  (1U << 20) /* bytes decoded from a boundary to ip */
#define BOUNDS_MAX 16	      /* boundaries tried */

struct entry {
	struct insn_place place;
	/* The code that the answer stands on: the instruction in front of ip, then what follows. */
	uint64_t start;
	size_t len;
	unsigned char bytes[2 * INSN_BYTES_MAX];
};

/* An entry is allocated when it is used first: there is a cache for each process, and most of them see few places. */
struct insn_cache {
	struct entry *entries[SETS][WAYS];
};

struct insn_cache *insn_cache_new(void)
{
	return mem_new(1, sizeof(struct insn_cache));
}

void insn_cache_free(struct insn_cache *cache)
{
	for (size_t i = 0; cache && i < SETS; i++) {
		for (size_t j = 0; j < WAYS; j++)
			free(cache->entries[i][j]);
	}
	free(cache);
}

/* The instruction that ends at ip, from the first boundary within reach from which one does. */
static void before_find(uint64_t ip, const struct insn_source *source, struct insn *out)
{
	unsigned char *bytes;
	uint64_t start;
	bool is_met = false;

	out->length = 0;
	for (unsigned i = 0; i < BOUNDS_MAX && !is_met && source->boundary(source->context, ip, i, &start); i++) {
		if (start >= ip || ip - start > REACH_MAX)
			continue;
		bytes = mem_new(ip - start, 1);
		is_met = source->read(source->context, start, bytes, ip - start) == ip - start &&
			insn_before(bytes, start, ip, out);
		free(bytes);
	}
}

static void entry_fill(struct entry *entry, uint64_t ip, const struct insn_source *source)
{
	size_t front, n;

	*entry = (struct entry){.place.ip = ip};
	before_find(ip, source, &entry->place.before);
	front = entry->place.before.length;
	entry->start = ip - front;
	entry->len = source->read(source->context, entry->start, entry->bytes, front + INSN_BYTES_MAX);
	n = entry->len > front ? entry->len - front : 0;
	insn_decode(entry->bytes + front, n, ip, &entry->place.at);
}

HIT_PATH static bool is_current(const struct entry *entry, const struct insn_source *source)
{
	unsigned char now[sizeof(entry->bytes)];

	/* Where no code could be read, it is tried again. */
	return entry->len && source->read(source->context, entry->start, now, entry->len) == entry->len &&
		memcmp(now, entry->bytes, entry->len) == 0;
}

HIT_PATH const struct insn_place *insn_cache_find(struct insn_cache *cache, uint64_t ip, const struct insn_source *source)
{
	struct entry **set = cache->entries[(ip ^ ip >> 9) % SETS], *former = set[0];

	if (former && former->place.ip == ip && is_current(former, source))
		return &former->place;
	if (set[1] && set[1]->place.ip == ip && is_current(set[1], source)) {
		set[0] = set[1];
		set[1] = former;
		return &set[0]->place;
	}
	if (former && former->place.ip != ip) {
		set[0] = set[1];
		set[1] = former;
	}
	if (!set[0])
		set[0] = mem_new(1, sizeof(*set[0]));
	entry_fill(set[0], ip, source);
	return &set[0]->place;
}
