/* rescue: what an agent and its tracer have left in a process, undone from outside by somebody
 * else: by the guardian after the worker was killed, or by the tracer in a forked child, which has
 * a copy of it all but the agent. Every thread of the process is traced by the caller. Steps, so
 * that no thread dies on the way:
 *
 *   1. rescue_find(), and rescue_breakpoints_out(). Threads go on meanwhile, with every signal they stand at: a SIGSEGV of ours
 * is for our handler.
 *   2. All threads stopped: rescue_open(). No page is protected any more.
 *   3. All threads stopped, and rescue_is_quiet(); otherwise let all go on for a moment and try
 * again.
 *   4. rescue_close(). (A forked child, not traced before: at once after rescue_open().)
 *   5. rescue_end(). */
#ifndef WATCHPROF_RESCUE_H
#define WATCHPROF_RESCUE_H

#include "watchprof/agent_code.h"
#include "watchprof/inject_site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rescue {
	int memory_fd;
	uint64_t code_at, size; /* of the scratch area */
	struct inject_site site;
	struct safety_breakpoint breakpoints[SAFETY_BREAKPOINTS_MAX];
	size_t n_breakpoints;
};

/* Look for the scratch area. False: there is none; nothing is to be done. */
bool rescue_find(pid_t pid, struct rescue *rescue);

/* The code as the program has it, where breakpoints of ours are left. */
void rescue_breakpoints_out(const struct rescue *rescue);

/* All protections as the program has them: calls made by tid, a stopped thread, for which
 * inject_begin() has the rules of tid and status. 0 or -errno. */
int rescue_open(const struct rescue *rescue, pid_t tid, int *status);

/* Is none of these stopped threads in our code, or about to be called into it? */
bool rescue_is_quiet(const struct rescue *rescue, const pid_t *tids, size_t n);

/* The program's own disposition of SIGSEGV, and the scratch area unmapped. 0 or -errno. With
 * shares_memory (a child of vfork(2), or of clone(2) with CLONE_VM but not CLONE_SIGHAND, to which
 * pages and scratch area are lent) the disposition alone. */
int rescue_close(const struct rescue *rescue, pid_t tid, int *status, bool shares_memory);

void rescue_end(struct rescue *rescue);

#endif
