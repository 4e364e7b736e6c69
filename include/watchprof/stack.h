/* stack: the call path of a stopped thread, from copies of its stack. */
#ifndef WATCHPROF_STACK_H
#define WATCHPROF_STACK_H

#include "watchprof/hit.h"
#include "watchprof/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

struct stack_reader;

struct stack_reader *stack_reader_new(void);
void stack_reader_free(struct stack_reader *reader);

/* From now on the stacks are read through this descriptor of the process's memory (sys_memory_open()), which the caller
 * closes: where it is open anyway it is the cheaper way, and protections do not matter. < 0: not any more. */
void stack_through(struct stack_reader *reader, int memory_fd);

/* Read these pieces of the thread's memory in the same call as the stack of the next path. The arrays must stay
 * until then. */
struct iovec;
void stack_also(struct stack_reader *reader, const struct iovec *local, const struct iovec *remote, size_t n);

/* After the path: were they read, all of them? */
bool stack_has_also(const struct stack_reader *reader);

/* Fill in frames, n_frames, signals and path of the hit, with up to max frames, for a thread of
 * pid that stands with these registers. Where the paths from this instruction have been seen
 * before, this takes one read of memory and nothing else. */
void stack_path(struct stack_reader *reader, struct unwinder *unwinder, pid_t pid,
	const struct user_regs_struct *regs, size_t max, struct hit *hit);

/* The same from the instruction pointer and the stack pointer alone, where that is enough: the path has been walked
 * before. False: all registers are needed, and what was asked for by stack_also() has to be so anew. */
bool stack_path_known(struct stack_reader *reader, struct unwinder *unwinder, pid_t pid, uint64_t ip, uint64_t sp,
	size_t max, struct hit *hit);

/* Is it likely to be so at this instruction? Not for a while after it was not. */
bool stack_is_promising(struct stack_reader *reader, uint64_t ip);

#endif
