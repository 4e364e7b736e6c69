/* registers: the debug registers of one thread. */
#ifndef WATCHPROF_REGISTERS_H
#define WATCHPROF_REGISTERS_H

#include "watchprof/dr.h"
#include "watchprof/err.h"
#include "watchprof/thread_image.h"

#include <sys/types.h>

/* Write an image into a stopped thread: DR7 without the slots, addresses, DR7, DR6. 0 or -errno: then
 * nothing is armed. */
int registers_write(pid_t tid, const struct dr_image *dr);

/* Write what a stopped thread is to be armed with: dr, or its own (armed is not NULL), without the spare slot where
 * others use it. *out becomes what that is. 0 or -errno; -E2BIG: its own need more slots than there are. */
int registers_arm(pid_t tid, const struct dr_image *dr, const struct armed *armed, struct thread_image *out);

/* Say why a thread could not be armed. failure: a positive errno; E2BIG: what is its own takes too many slots. -1. */
int registers_error(pid_t tid, int failure, struct err *err);

#endif
