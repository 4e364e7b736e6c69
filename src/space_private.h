/* space_private: what the files of an address space share. space.c owns its pages, space_breakpoint.c the
 * breakpoints in its code, space_check.c what its mappings allow. */
#ifndef WATCHPROF_SPACE_PRIVATE_H
#define WATCHPROF_SPACE_PRIVATE_H

#include "watchprof/procfs.h"
#include "watchprof/space.h"

/* A page with watched bytes. */
struct page {
	uint64_t addr;
	uint8_t want; /* HIT_READ, HIT_WRITE: the accesses that must fault */
	uint8_t prot; /* the program's own */
	bool is_there;
};

struct breakpoint {
	uint64_t addr;
	uint64_t watches;
	unsigned char byte; /* of the code */
	bool is_there; /* its address is mapped */
	bool is_in;
};

struct space {
	pid_t pid;
	unsigned users;
	struct space_gaps *gaps;
	bool is_ajar; /* one of them has begun */
	int memory_fd;
	struct agent *agent;
	struct safety *safety; /* what opens the pages if we are killed */
	struct span spans[WATCHES_MAX];
	size_t n_spans;
	uint64_t off;
	struct places *places; /* of thread-local variables; NULL: none is watched. Their spans have no length */
	struct page *pages; /* by address */
	size_t n_pages;
	struct page *former; /* that were shut once, sorted */
	size_t n_former;
	unsigned n_open;
	bool is_blind; /* one of these is for good */
	struct breakpoint breakpoints[WATCHES_MAX];
	size_t n_breakpoints;
	uint64_t generation; /* of the breakpoints: how often they were set */
	bool is_noted; /* safety knows them */
	uint64_t *gone; /* addresses of breakpoints that there were once */
	size_t n_gone;
	uint64_t scratch_used; /* bit i: part i */
};

/* The mappings of a process, looked up by address. */
struct maps {
	struct procfs_map *list;
	size_t n;
};

struct maps maps_get(pid_t pid);
void maps_free(struct maps *maps);
const struct procfs_map *maps_find(const struct maps *maps, uint64_t addr); /* NULL: there is none */

/* PROT_READ, PROT_WRITE and PROT_EXEC as it has them. */
uint8_t map_protection(const struct procfs_map *map);

/* Has an arming any? */
bool breakpoints_any(const struct arming *arming);

/* Have no breakpoints any more. */
void space_breakpoints_end(struct space *space);

/* Have the breakpoints of an arming in the code, and no others. */
void space_breakpoints_set(struct space *space, const struct arming *arming);

#endif
