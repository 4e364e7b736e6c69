/* rseq_registration.c owns the taking away and giving back of a thread's registration for rseq(2).
 * It remembers nothing. */
#include "watchprof/rseq_registration.h"

#include "watchprof/inject.h"

#include <errno.h>
#include <linux/rseq.h>
#include <stddef.h>
#include <sys/syscall.h>

static int call(pid_t tid, int *status, const struct inject_site *site, const struct sys_rseq *rseq,
	int flags)
{
	const uint64_t args[6] = {rseq->addr, rseq->size, (uint64_t)flags, rseq->signature};
	struct inject inject;
	int failure = inject_begin(&inject, tid, *status, site), ending;
	int64_t result = 0;

	if (failure)
		return failure;
	failure = inject_call(&inject, SYS_rseq, args, &result);
	ending = failure == -ESRCH ? failure : inject_end(&inject, status);
	if (!failure)
		failure = ending;
	return failure ? failure : (int)result;
}

int rseq_withdraw(pid_t tid, int *status, const struct inject_site *site, struct sys_rseq *former)
{
	uint64_t sequence = 0;
	int failure = sys_rseq_get(tid, former);

	if (failure || !former->addr)
		return failure;
	sys_memory_force_read(site->memory_fd, former->addr + offsetof(struct rseq, rseq_cs),
		&sequence, sizeof(sequence));
	if (sequence)
		return -EBUSY;
	return call(tid, status, site, former, RSEQ_FLAG_UNREGISTER);
}

int rseq_restore(
	pid_t tid, int *status, const struct inject_site *site, const struct sys_rseq *former)
{
	return former->addr ? call(tid, status, site, former, 0) : 0;
}
