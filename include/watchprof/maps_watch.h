/* maps_watch: has anything been mapped or unmapped in a process? */
#ifndef WATCHPROF_MAPS_WATCH_H
#define WATCHPROF_MAPS_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

struct maps_watch;

/* Watch the image that pid runs now, from now on; NULL where its mappings cannot be read. It holds one
 * descriptor. */
struct maps_watch *maps_watch_new(pid_t pid);
void maps_watch_free(struct maps_watch *watch);

/* Is anything else than at the last call, or at the start? Opens no file and allocates nothing. False where
 * the image is gone. */
bool maps_watch_changed(struct maps_watch *watch);

#endif
