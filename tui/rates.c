/* rates.c owns the memory of how many hits each row had at the last sample. */
#include "model_private.h"

#include <stdlib.h>

static struct rate *find(const struct rates *rates, uint64_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15ULL) >> 20 & (rates->n_buckets - 1);

	while (rates->entries[i].hits && rates->entries[i].key != key)
		i = (i + 1) & (rates->n_buckets - 1);
	return &rates->entries[i];
}

bool rates_get(const struct rates *rates, uint64_t key, double *rate)
{
	const struct rate *entry = rates->n_buckets ? find(rates, key) : NULL;

	if (!entry || !entry->hits || !entry->is_known)
		return false;
	*rate = entry->rate;
	return true;
}

void rates_sample(struct rates *rates, const struct row *rows, size_t n, uint64_t (*key)(const struct row *),
	uint64_t now_ns)
{
	struct rates next = {.n_buckets = 64, .time_ns = now_ns};
	double seconds = (double)(now_ns - rates->time_ns) / NS_PER_S;

	while (next.n_buckets < 2 * n)
		next.n_buckets *= 2;
	next.entries = mem_new(next.n_buckets, sizeof(*next.entries));
	for (size_t i = 0; i < n; i++) {
		uint64_t id = key(&rows[i]);
		struct rate *entry = find(&next, id), *before = rates->n_buckets ? find(rates, id) : NULL;

		entry->key = id;
		entry->hits += rows[i].hits;
		entry->is_known = before && seconds > 0 && entry->hits >= before->hits;
		if (entry->is_known)
			entry->rate = (double)(entry->hits - before->hits) / seconds;
	}
	rates_fini(rates);
	*rates = next;
}

void rates_fini(struct rates *rates)
{
	free(rates->entries);
	*rates = (struct rates){0};
}
