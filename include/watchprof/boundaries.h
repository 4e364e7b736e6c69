/* boundaries: where instructions begin, beside what the unwind tables tell. Who decodes asks; who knows the names of the
 * code answers. */
#ifndef WATCHPROF_BOUNDARIES_H
#define WATCHPROF_BOUNDARIES_H

#include <stdbool.h>
#include <stdint.h>

/* Asked once for each new place; context must live as long as the program image. */
struct boundaries {
	/* The nth such address, from 0 on, in front of ip and of the same code. False: no more. NULL: none is known. */
	bool (*find)(void *context, uint64_t ip, unsigned nth, uint64_t *start);
	void *context;
};

#endif
