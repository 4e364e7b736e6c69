/* dr_probe: do debug registers fire here? */
#ifndef WATCHPROF_DR_PROBE_H
#define WATCHPROF_DR_PROBE_H

#include "watchprof/err.h"

/* In a child of its own: one write and one read of a dummy must give exactly two hits. 0:
 * they did. -1: err has the reason; status ERR_NO_ENGINE where this machine cannot. */
int dr_probe(struct err *err);

#endif
