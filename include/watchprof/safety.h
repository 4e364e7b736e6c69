/* safety: what makes it survivable that the tracer is killed while pages of the tracee are
 * protected, or breakpoints are in its code: a handler of SIGSEGV in the tracee (agent_code.h), which is only ever reached without
 * a tracer, and which opens the pages again and takes the breakpoint out. It is installed by the agent, and the program must not
 * notice: it takes the place of the program's own disposition, which is kept in the table and put
 * back whenever the program, or the kernel for it, is to see it.
 *
 * The order that keeps every moment safe: safety_new(); safety_ranges_set() before pages are
 * protected; pages opened before safety_ranges_set() without them; safety_free(), when no thread
 * can have a SIGSEGV of ours any more. A range may be in the table while its page is open. */
#ifndef WATCHPROF_SAFETY_H
#define WATCHPROF_SAFETY_H

#include "watchprof/agent.h"
#include "watchprof/agent_code.h"

struct safety;

/* Install the handler through this agent, which must outlive the result. NULL: *err tells why. */
struct safety *safety_new(struct agent *agent, struct err *err);

/* Put the program's own disposition back. If the process, or the agent, has ended, only memory is
 * given back. */
void safety_free(struct safety *safety);

/* The pages that are, or will be, protected, each with the program's own protection: they replace
 * the former ones in one store. 0, -E2BIG (more than SAFETY_RANGES_MAX runs), or -ESRCH: the
 * process has ended. */
int safety_ranges_set(struct safety *safety, const struct safety_range *ranges, size_t n);

/* The breakpoints that will be in the program's code, with the protections of their pages; they replace the former ones, none of which may be there any more. 0, -E2BIG
 * (more than SAFETY_BREAKPOINTS_MAX), or -ESRCH. */
int safety_breakpoints_set(struct safety *safety, const struct safety_breakpoint *breakpoints, size_t n);

/* After a crash of our own: all pages of the list in force get the program's own protections, as our code in the
 * process would do it. Nothing is allocated. */
void safety_open(struct safety *safety);

/* The program's own disposition in force, from _aside() to _back(), which may be nested. Where the
 * program sees or changes it: around a thread's rt_sigaction(SIGSEGV) (aside at the entry, back at
 * the exit); around execve (SIG_IGN outlives it; back only if it fails); and where a SIGSEGV that
 * is the program's own is delivered (back once the thread stands at its handler's first
 * instruction): the kernel then does all that the flags ask for. 0 or -ESRCH. */
int safety_aside(struct safety *safety);
int safety_back(struct safety *safety);

#endif
