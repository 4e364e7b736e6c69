/* unwind: from a register set and copies of the stack to the call path. Never asks for a
 * stopped thread: what it reads from the process besides (unwind tables, code) does
 * not change while it runs. */
#ifndef WATCHPROF_UNWIND_H
#define WATCHPROF_UNWIND_H

#include "watchprof/hit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct unwinder;

/* A copy of len bytes of memory from address start upwards. */
struct stack_image {
	uint64_t start;
	size_t len;
	const unsigned char *bytes;
};

struct unwinder *unwinder_new(pid_t pid);
void unwinder_free(struct unwinder *unwinder);

/* Mappings have come or gone: look at them anew, while the process lives. */
void unwinder_flush(struct unwinder *unwinder);

/* The same, where nobody tells of changes: the mappings are looked at if the last time is long
 * ago, so that code which was replaced by other code at the same address is noticed within a tenth
 * of a second (of two hundredths of the time at most). now_ns: CLOCK_MONOTONIC. */
void unwinder_check(struct unwinder *unwinder, uint64_t now_ns);

/* Is this address the first instruction of a function, by the unwind tables? Remembered, so that
 * asking again costs nothing. */
bool unwind_is_entry(struct unwinder *unwinder, uint64_t ip);

/* Where the function with the instruction at ip begins, by the unwind tables. False: they do not tell. */
bool unwind_function(struct unwinder *unwinder, uint64_t ip, uint64_t *start);

/* Copy code from addr on; returns how many bytes. That of a file comes from our own view of the file, without
 * a call to the kernel. */
size_t unwind_code(struct unwinder *unwinder, uint64_t addr, void *out, size_t len);

/* A path being made. */
struct unwinding {
	uint64_t *frames; /* the caller's: the instruction pointer, then return addresses, innermost
			     first */
	size_t max;       /* room in frames (>= 1) */
	size_t n;
	uint8_t end; /* enum hit_path */
	/* Bit i: frame i is a signal's: the kernel put it there, nothing called it, and the frame
	 * behind it was interrupted, not left by a call. */
	uint64_t signals[STACK_DEPTH_MAX / 64];
	/* Set where the copies did not have what was needed (end is PATH_TRUNCATED then). */
	bool is_short;
	uint64_t missing; /* the eight bytes at this address */
	bool lacks_regs;  /* set by unwind_known(), where it is other registers that are needed */
	/* How far into the first copy the path led, in bytes. */
	size_t used;
};

/* Make the path from the registers and n copies of the stack. frames and max are the caller's, the
 * rest is filled in. */
void unwind_path(struct unwinder *unwinder, const struct user_regs_struct *regs,
	const struct stack_image *stack, size_t n, struct unwinding *out);

/* The same from the instruction pointer and the stack pointer alone, for a path that has been walked before. False: it
 * is not known, or all registers are needed; out is undefined then but for the caller's. */
bool unwind_known(struct unwinder *unwinder, uint64_t ip, uint64_t sp, const struct stack_image *stack,
	struct unwinding *out);

#endif
