/* rseq_registration: restartable sequences (rseq(2)) of threads whose registered area lies in a
 * page that is going to be protected: the kernel writes there whenever the thread is moved, and
 * kills a process where it cannot. libc registers one in each thread, beside its thread-local
 * variables. */
#ifndef WATCHPROF_RSEQ_REGISTRATION_H
#define WATCHPROF_RSEQ_REGISTRATION_H

#include "watchprof/inject_site.h"
#include "watchprof/sys.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Unregister the area of a stopped thread, before its page is protected (the kernel writes into
 * it). *former is what was registered, for rseq_restore(); addr 0: nothing. tid, *status,
 * and site: inject_begin(). 0; -EBUSY: the thread is using a sequence, which
 * without a registration would do harm (libc uses none, but tcmalloc and others do): its page
 * cannot be watched; or -errno. */
int rseq_withdraw(pid_t tid, int *status, const struct inject_site *site, struct sys_rseq *former);

/* Register it again, when its page is open. 0 or -errno. */
int rseq_restore(
	pid_t tid, int *status, const struct inject_site *site, const struct sys_rseq *former);

#endif
