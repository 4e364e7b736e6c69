/* unwind: from a register set and a copy of the stack to the call path. Never asks for a
 * stopped thread: what it reads from the process besides (unwind tables, code) does
 * not change while it runs. */
#ifndef WATCHPROF_UNWIND_H
#define WATCHPROF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct unwinder;

/* A copy of len bytes of the stack from address start (the stack pointer) upwards. */
struct stack_image {
	uint64_t start;
	size_t len;
	const unsigned char *bytes;
};

struct unwinder *unwinder_new(pid_t pid);
void unwinder_free(struct unwinder *unwinder);

/* Mappings have come or gone: look at them anew, while the process lives. */
void unwinder_flush(struct unwinder *unwinder);

/* Is this address the first instruction of a function, by the unwind tables? Remembered, so that
 * asking again costs nothing. */
bool unwind_is_entry(struct unwinder *unwinder, uint64_t ip);

/* Write up to max frames (>= 1): the instruction pointer, then return addresses, innermost first.
 * Returns their number; *path becomes an enum hit_path. *stack_short is set
 * where the copy of the stack ended too early. */
size_t unwind_path(struct unwinder *unwinder, const struct user_regs_struct *regs,
	const struct stack_image *stack, uint64_t *frames, size_t max, uint8_t *path,
	int *stack_short);

#endif
