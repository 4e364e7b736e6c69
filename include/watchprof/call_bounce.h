/* call_bounce: system calls on memory that is shut. What a call reads is copied to a scratch area
 * before it, the pointers are changed to point there, and what it wrote is copied back after it:
 * the pages stay shut. Everything goes through callbacks; nothing here makes a call or knows a
 * thread.
 *
 * One struct call_bounce for each thread, with a scratch area of its own: memory of the process
 * that is always accessible and that nobody else uses. */
#ifndef WATCHPROF_CALL_BOUNCE_H
#define WATCHPROF_CALL_BOUNCE_H

#include "watchprof/call_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_bounce;

/* The process that makes the call. */
struct bounce_memory {
	struct call_memory memory; /* read, whatever the protection; its context is that of all */
	/* Write len bytes, whatever the protection; all or nothing. */
	bool (*write)(void *context, uint64_t addr, const void *data, size_t len);
	/* Is any of these bytes in a page that we have shut for this direction (set of CALL_IN,
	 * CALL_OUT, CALL_MAPPED)? A page that can be read is not shut for CALL_IN alone. A page
	 * that the program itself may not access like this is not shut. */
	bool (*is_shut)(void *context, uint64_t addr, uint64_t len, unsigned direction);
	/* Does the program's own protection allow the access to all of these bytes? May be NULL: it
	 * does. */
	bool (*is_granted)(void *context, uint64_t addr, uint64_t len, unsigned direction);
};

enum bounce_result {
	BOUNCE_NONE, /* it touches nothing that is shut: let it run as it is */
	BOUNCE_DONE, /* args are changed: give them to the thread, and call call_bounce_leave() when
			the call is over */
	BOUNCE_LIFT, /* it cannot be done like this: open the pages until the call is over */
};

/* len is the size of the scratch area at addr; no call's buffers can be larger than that. */
struct call_bounce *call_bounce_new(uint64_t addr, uint64_t len);
void call_bounce_free(struct call_bounce *bounce);

/* A thread stands at the entry of the planned call. A call of class CALL_SIGRETURN or CALL_UNKNOWN,
 * or an incomplete plan, is always lifted; one of class CALL_MAP or CALL_FORK where it touches what
 * is shut. Memory that cannot be read is left to the kernel: it gives EFAULT. args is changed only
 * with BOUNCE_DONE. restart_syscall goes on with the call that was interrupted: the answer is the
 * same, and the plan gets that call's class. */
enum bounce_result call_bounce_enter(struct call_bounce *bounce, struct call_plan *plan,
	const struct bounce_memory *memory, uint64_t args[CALL_ARGUMENTS]);

/* A call is over, whatever call_bounce_enter() said of it, with this result (also one of ERESTART*:
 * the kernel will begin it again with the program's own arguments, and the thread comes to an entry
 * again). After BOUNCE_DONE: copies back what the kernel wrote, and sets args to what the program
 * passed. False: the memory to copy to is gone. */
bool call_bounce_leave(struct call_bounce *bounce, const struct bounce_memory *memory,
	int64_t result, uint64_t args[CALL_ARGUMENTS]);

/* The call will not be made, or its process image is gone: nothing is copied back. args as above;
 * NULL: they do not matter. */
void call_bounce_cancel(struct call_bounce *bounce, uint64_t args[CALL_ARGUMENTS]);

/* Is the scratch area in use: by a call that BOUNCE_DONE was said of, or by one whose addresses the
 * kernel has kept for restart_syscall (ERESTART_RESTARTBLOCK)? It must not go away then: the thread
 * has first to be made to begin the call anew, by its number. */
bool call_bounce_is_busy(const struct call_bounce *bounce);

#endif
