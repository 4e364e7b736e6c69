/* unwind_cache.c owns the rules found so far, by a key that the walk makes of an address. It is
 * exact: a row says where the compiler's own tables put the return address, whatever the frame's
 * size, so that no remembered shape of a stack is ever trusted. It never decides when rows are out
 * of date. */
#include "unwind_private.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_FIRST 32
#define ROWS_MAX   (1U << 17) /* then all are found anew: some 25 MB */

struct kept_row {
	uint64_t key;
	struct row row;
};

struct row_cache {
	struct kept_row *rows;
	uint32_t n, cap;
	uint32_t *bucket;   /* row + 1; 0: free */
	uint32_t n_buckets; /* a power of two, at least twice cap */
};

static uint32_t bucket_of(const struct row_cache *cache, uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ULL) >> 32) & (cache->n_buckets - 1);
}

static void bucket_put(struct row_cache *cache, uint32_t i)
{
	uint32_t b = bucket_of(cache, cache->rows[i].key);

	while (cache->bucket[b])
		b = (b + 1) & (cache->n_buckets - 1);
	cache->bucket[b] = i + 1;
}

static void cache_resize(struct row_cache *cache, uint32_t cap)
{
	cache->cap = cap;
	cache->rows = mem_resize(cache->rows, cap, sizeof(*cache->rows));
	free(cache->bucket);
	cache->n_buckets = cap * 2;
	cache->bucket = mem_new(cache->n_buckets, sizeof(*cache->bucket));
	for (uint32_t i = 0; i < cache->n; i++)
		bucket_put(cache, i);
}

struct row_cache *row_cache_new(void)
{
	struct row_cache *cache = mem_new(1, sizeof(*cache));

	cache_resize(cache, ROWS_FIRST);
	return cache;
}

void row_cache_free(struct row_cache *cache)
{
	if (!cache)
		return;
	free(cache->rows);
	free(cache->bucket);
	free(cache);
}

void row_cache_clear(struct row_cache *cache)
{
	cache->n = 0;
	memset(cache->bucket, 0, cache->n_buckets * sizeof(*cache->bucket));
}

const struct row *row_cache_find(const struct row_cache *cache, uint64_t key)
{
	for (uint32_t b = bucket_of(cache, key); cache->bucket[b];
		b = (b + 1) & (cache->n_buckets - 1)) {
		const struct kept_row *kept = &cache->rows[cache->bucket[b] - 1];

		if (kept->key == key)
			return &kept->row;
	}
	return NULL;
}

const struct row *row_cache_put(struct row_cache *cache, uint64_t key, const struct row *row)
{
	if (cache->n == ROWS_MAX)
		row_cache_clear(cache);
	if (cache->n == cache->cap)
		cache_resize(cache, cache->cap * 2);
	cache->rows[cache->n] = (struct kept_row){key, *row};
	bucket_put(cache, cache->n);
	return &cache->rows[cache->n++].row;
}
