/* attach_error: why a process could not be traced, in words that say what to do. */
#ifndef WATCHPROF_ATTACH_ERROR_H
#define WATCHPROF_ATTACH_ERROR_H

#include "watchprof/err.h"

#include <sys/types.h>

/* A refused PTRACE_SEIZE of pid with this errno. Always returns -1. */
int attach_error(pid_t pid, int failure, struct err *err);

/* A program that could not be forked and seized. Always returns -1. */
int launch_error(const char *program, int failure, struct err *err);

/* A program whose exec failed; 0: it was ended before its exec. Always returns -1, with
 * status ERR_NOT_FOUND or ERR_NOT_EXECUTABLE. */
int exec_error(const char *program, int failure, struct err *err);

#endif
