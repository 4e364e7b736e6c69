/* insn_cache: the instructions around the saved ip of a hit, decoded once per ip. The code is compared with
 * what was decoded each time: a few bytes, read without a call where they are mapped here as well. */
#ifndef WATCHPROF_INSN_CACHE_H
#define WATCHPROF_INSN_CACHE_H

#include "watchprof/insn.h"

/* Where code comes from. */
struct insn_source {
	void *context;

	/* The nth (from 0, the surest first) address at or before ip at which an instruction is known to begin: the
	 * start of the function, a line of the line table. One that is not before ip is passed over. False: there is
	 * none further. */
	bool (*boundary)(void *context, uint64_t ip, unsigned nth, uint64_t *start);

	/* Copy code. Returns the bytes copied from addr on, which may be fewer. */
	size_t (*read)(void *context, uint64_t addr, void *out, size_t len);
};

struct insn_cache;

struct insn_cache *insn_cache_new(void);
void insn_cache_free(struct insn_cache *cache);

/* What surrounds ip; is_entry and caller are left to the caller. It lives until the next call. */
const struct insn_place *insn_cache_find(struct insn_cache *cache, uint64_t ip, const struct insn_source *source);

#endif
