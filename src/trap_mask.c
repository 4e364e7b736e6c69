/* trap_mask.c owns what is asked about a thread's SIGTRAP, and the repair of signal masks after hits. It
 * asks the kernel for the mask at each hit, and writes it only where there is something to repair. */
#include "watchprof/trap_mask.h"

#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <signal.h>

#define BIT(sig)    (1ULL << ((sig) - 1))
#define TRAP	    BIT(SIGTRAP)
#define STANDARD    ((1ULL << 31) - 1) /* signals 1 to 31 */
#define CATCHABLE   (STANDARD & ~(BIT(SIGKILL) | BIT(SIGSTOP)))

void trap_mask_note(pid_t tid, struct trap_mask *mask)
{
	uint64_t blocked;

	if (sys_sigmask_get(tid, &blocked))
		return;
	mask->is_known = true;
	mask->is_blocking = blocked & TRAP;
	mask->others = blocked & ~TRAP;
}

HIT_PATH bool trap_mask_restore(pid_t tid, struct trap_mask *mask)
{
	uint64_t blocked;
	bool is_full, is_same;

	if (sys_sigmask_get(tid, &blocked))
		return false;
	is_full = ((blocked | TRAP) & CATCHABLE) == CATCHABLE;
	/* Another mask than the one that was seen: the program has changed it since. */
	is_same = mask->is_known && (blocked & ~TRAP) == mask->others;
	mask->is_blocking = is_same ? mask->is_blocking : is_full;
	mask->is_known = true;
	mask->others = blocked & ~TRAP;
	if (!mask->is_blocking || (blocked & TRAP))
		return false;
	return sys_sigmask_set(tid, blocked | TRAP) == 0;
}

bool trap_is_due(pid_t tid)
{
	return procfs_is_pending(tid, SIGTRAP);
}
