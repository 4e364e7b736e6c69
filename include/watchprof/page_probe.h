/* page_probe: the self-test of the page engine. */
#ifndef WATCHPROF_PAGE_PROBE_H
#define WATCHPROF_PAGE_PROBE_H

#include "watchprof/err.h"

/* Watch a dummy in a child of our own: one write and one read must give two hits. 0, or -1 (status
 * ERR_NO_ENGINE) with the reason. */
int page_probe(struct err *err);

#endif
