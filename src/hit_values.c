/* hit_values.c owns what is read together at a hit. It compares nothing. */
#include "watchprof/hit_values.h"

#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <string.h>

HIT_PATH void hit_pieces_plan(const struct dr_image *dr, uint64_t watches, struct hit *hit, struct hit_pieces *out)
{
	uint64_t addr, len;

	*out = (struct hit_pieces){0};
	for (; watches && out->n < HIT_VALUES_MAX; watches &= watches - 1) {
		struct hit_value *value = &hit->values[out->n];

		value->watch = (uint8_t)__builtin_ctzll(watches);
		if (!dr_watch_range(dr, value->watch, &addr, &len) || len > HIT_VALUE_BYTES)
			continue;
		value->len = (uint8_t)len;
		out->local[out->n] = (struct iovec){value->bytes, len};
		out->remote[out->n++] = (struct iovec){(void *)(uintptr_t)addr, len};
		out->len += len;
	}
	out->n_values = out->n;
}

HIT_PATH bool hit_pieces_read(pid_t pid, pid_t tid, const struct hit_pieces *values)
{
	uint64_t word, addr = (uint64_t)(uintptr_t)values->remote[0].iov_base, offset = addr % sizeof(word);

	if (values->n > 1 || offset + values->len > sizeof(word) || sys_word_get(tid, addr - offset, &word))
		return sys_memory_gather(pid, values->local, values->remote, values->n) == (ssize_t)values->len;
	memcpy(values->local[0].iov_base, (const char *)&word + offset, values->len);
	return true;
}
