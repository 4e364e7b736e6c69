/* prey: processes for the tests of the agent, each a function of this program that runs in a child,
 * and the hand of the tracer on them. */
#ifndef PREY_H
#define PREY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Between the test and the prey: shared memory. */
struct prey_board {
	atomic_int ready, go, fail_line;
	atomic_long count, sum;
	int pipe[2];
	int tid; /* of the thread in question; 0: the first */
};

struct prey {
	pid_t pid, tid;
	struct prey_board *board;
};

typedef void prey_fn(struct prey_board *board);

/* Start one and wait until it is ready. */
struct prey prey_start(prey_fn *run);

/* Wait until the thread in question sleeps in this system call, perhaps started again; -1: until it
 * runs. False: it has ended. */
bool prey_await(const struct prey *prey, long call);

/* Seize all threads; with_children: forked children are traced as well. */
void prey_seize(const struct prey *prey, bool with_children);

/* Stop the thread in question, as tracee.c does; the wait status, 0: it has ended. */
int prey_stop(const struct prey *prey);

/* Let it go for good, delivering sig. */
void prey_detach(const struct prey *prey, int sig);

/* Wait for its end: the exit status, or 128 + signal. Its memory is given back. */
int prey_end(struct prey *prey);

/* What must be as it was: mappings, threads, masks, handlers. The caller frees it. */
char *prey_picture(const struct prey *prey);

/* In the prey: a fault of the machinery that is seen from inside. */
#define PREY_CHECK(board, condition)                                                               \
	do {                                                                                       \
		if (!(condition))                                                                  \
			(board)->fail_line = __LINE__;                                             \
	} while (0)

#endif
