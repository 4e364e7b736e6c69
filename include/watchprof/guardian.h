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

/* Disarm a process whose tracer is dying or dead. If the end of ward, a child that is not traced, is seen
 * meanwhile, *ward_status becomes its wait status. */
typedef void guardian_rescue_fn(pid_t pid, pid_t ward, int *ward_status);

/* Split in two, before anything is attached. Returns in the worker. The first process stays
 * inside: it hands on the signals that are sent to it alone, and ends as the worker ends. If the
 * worker is killed, it calls rescue for each guarded process, with ticks (sys_ticks) going. A third
 * process, the keeper, only shares the worker's memory, which makes the worker's end quicker.
 * farewell: what it writes to the terminal if the worker is killed; owned by this call; NULL: nothing.
 * Signals of the set must be blocked; GUARDIAN_GONE is to be taken by the worker. NULL: there
 * can be no second process, and this one has to do without. */
struct guardian *guardian_new(const sigset_t *signals, guardian_rescue_fn *rescue, char *farewell);

/* From now on this process is guarded. NULL guardian: nothing. */
void guardian_watch(struct guardian *guardian, pid_t pid);

/* It has ended; its id may be another's soon. NULL guardian: nothing. */
void guardian_forget(struct guardian *guardian, pid_t pid);

/* In a process that the worker has forked: it is no worker, so that the worker's death is noticed while it lives. */
void guardian_leave(struct guardian *guardian);

/* Nothing is traced any more. NULL guardian: nothing. */
void guardian_free(struct guardian *guardian);

#endif
