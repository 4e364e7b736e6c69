/* guardian: watchprof as two processes. The first one, which the user sees and may kill, only waits;
 * the second, the worker, traces. Whichever is killed, the other one leaves the target
 * unharmed: an armed thread that nobody traces would die at its next access. */
#ifndef WATCHPROF_GUARDIAN_H
#define WATCHPROF_GUARDIAN_H

#include <signal.h>
#include <sys/types.h>

struct guardian;

/* The signal that the worker gets when the first process has died. */
#define GUARDIAN_GONE (SIGRTMIN)

/* Split in two, before anything is attached. Returns in the worker. The first process stays
 * inside: it hands on the signals that are sent to it alone, and ends as the worker ends. If the
 * worker is killed, it calls rescue for each guarded process, with ticks (sys_ticks) going.
 * Signals of the set must be blocked; GUARDIAN_GONE is to be taken by the worker. NULL: there
 * can be no second process, and this one has to do without. */
struct guardian *guardian_new(const sigset_t *signals, void (*rescue)(pid_t pid));

/* From now on this process is guarded. NULL guardian: nothing. */
void guardian_watch(struct guardian *guardian, pid_t pid);

/* Nothing is traced any more. NULL guardian: nothing. */
void guardian_free(struct guardian *guardian);

#endif
