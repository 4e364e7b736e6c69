/* tracee_help: what the tests of tracee.c share: a set of traced threads on the scripted kernel,
 * and short forms of its calls. */
#ifndef TRACEE_HELP_H
#define TRACEE_HELP_H

#include "watchprof/tracee.h"

#include <stddef.h>
#include <sys/types.h>

#define P 100 /* the process; its threads are P, P+1, ... */

int tracee_setup(void **state);
int tracee_teardown(void **state); /* fails the test if something forbidden was done */

/* A process of n threads, attached to, with an empty log. */
struct tracees *tracee_attached(void **state, size_t n);

/* The next event within five ticks, and the same with what it must be. */
struct tracee_event tracee_next(struct tracees *tracees);
void assert_event(struct tracees *tracees, enum tracee_event_kind kind, pid_t tid);
void assert_nothing(struct tracees *tracees);

#endif
