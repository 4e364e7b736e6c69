/* inject_site: what there is in a process for calls that its threads make for us: a `syscall`
 * instruction, and a way back for a thread whose tracer is killed in the middle of a call. The way
 * back is a signal's frame, in the part of the first thread's stack that has never been used: where
 * the `syscall` is followed by `ret`, that goes to libc's return from signal handlers, which takes
 * all registers and the signal mask from the frame. */
#ifndef WATCHPROF_INJECT_SITE_H
#define WATCHPROF_INJECT_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define INJECT_WAY_SIZE 16384 /* bytes that the frames need at most */

struct inject_site {
	int memory_fd;       /* sys_memory_open() of the process; not owned */
	uint64_t syscall_at; /* 0: there is none, and nothing can be done */
	uint64_t restorer;   /* 0: there is no way back */
	uint64_t way;        /* where the frames go */
};

/* Look into the process. */
void inject_site_find(pid_t pid, int memory_fd, struct inject_site *site);

/* Lay out the frames for a stopped thread with these registers and this mask: where it goes on when
 * nobody traces it any more, and, for a thread that it makes, the way to its end. Returns the stack
 * pointer for calls; 0: there is no way back (the place is in use, or there is none). */
uint64_t inject_way_lay(const struct inject_site *site, pid_t tid,
	const struct user_regs_struct *regs, uint64_t mask);

/* The stack pointer for a thread whose way is only to its end. */
uint64_t inject_way_child(const struct inject_site *site);

/* Lay that alone. False: there is none. */
bool inject_way_lay_child(const struct inject_site *site);

/* Make the place as it was: all zero. with_child: that way, too. */
void inject_way_clear(const struct inject_site *site, bool with_child);

#endif
