/* space_private: what the files of an address space share. space.c owns its pages, space_check.c what its mappings
 * allow. */
#ifndef WATCHPROF_SPACE_PRIVATE_H
#define WATCHPROF_SPACE_PRIVATE_H

#include "watchprof/procfs.h"
#include "watchprof/space.h"

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

#endif
