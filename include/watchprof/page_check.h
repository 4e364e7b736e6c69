/* page_check: can the page engine work on a process at all? */
#ifndef WATCHPROF_PAGE_CHECK_H
#define WATCHPROF_PAGE_CHECK_H

#include "watchprof/err.h"

#include <sys/types.h>

/* Touches nothing. -1: no, and err tells why and what to try. */
int page_check(pid_t pid, struct err *err);

#endif
