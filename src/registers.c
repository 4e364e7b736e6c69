/* registers.c owns the order in which the debug registers of a stopped thread are written, and what the
 * kernel's refusals mean. It decides nothing about what is armed. */
#include "watchprof/registers.h"

#include "watchprof/sys.h"

#include <errno.h>
#include <string.h>

int registers_write(pid_t tid, const struct dr_image *dr)
{
	int result = sys_debugreg_set(tid, 7, 0);

	for (unsigned s = 0; s < dr->n_slots && result == 0; s++) {
		result = sys_debugreg_set(tid, s, dr->slot[s].addr);
		if (result != -EINVAL)
			continue;
		/* Older kernels check the address against the length that a disabled slot had
		 * before (kernel bug 200965): give every slot length one first. */
		result = sys_debugreg_set(tid, 7, dr7_one_byte(dr));
		if (result == 0)
			result = sys_debugreg_set(tid, s, dr->slot[s].addr);
	}
	if (result == 0 && dr->dr7)
		result = sys_debugreg_set(tid, 7, dr->dr7);
	if (result == 0)
		result = sys_debugreg_set(tid, 6, 0);
	if (result)
		sys_debugreg_set(tid, 7, 0); /* never half an image */
	return result;
}

/* 0 or -errno; -E2BIG: the thread's own of the variables need more slots than there are. */
static int thread_plan(pid_t tid, const struct dr_image *dr, const struct armed *armed, bool with_spare,
	struct thread_image *out)
{
	struct user_regs_struct regs;
	struct err ignored;
	int result;

	*out = (struct thread_image){.dr = *dr};
	if (!armed)
		return 0;
	result = sys_regs_get(tid, &regs);
	if (result)
		return result;
	return armed_plan(armed, tid, regs.fs_base, with_spare, out, &ignored) ? -E2BIG : 0;
}

int registers_arm(pid_t tid, const struct dr_image *dr, const struct armed *armed, struct thread_image *out)
{
	int result = thread_plan(tid, dr, armed, true, out);

	if (result == 0)
		result = registers_write(tid, &out->dr);
	else if (result == -E2BIG)
		registers_write(tid, &(struct dr_image){0});
	if (result == -ENOSPC && out->has_spare) {
		result = thread_plan(tid, dr, armed, false, out);
		if (result == 0)
			result = registers_write(tid, &out->dr);
	}
	return result;
}

int registers_error(pid_t tid, int failure, struct err *err)
{
	if (failure == ENOSPC)
		return err_set(err,
			"the hardware breakpoint slots of thread %d are in use by another tool (perf, bpftrace "
			"or the program itself); end that one, or watch fewer bytes",
			tid);
	if (failure == EINVAL)
		return err_set(err, "the kernel refuses to watch these addresses in thread %d "
				    "(not in user memory?)", tid);
	if (failure == E2BIG)
		return err_set(err, "the thread-local variables of thread %d lie across more than %d debug register "
				    "slots; watch fewer, or shorter pieces (NAME/LENGTH)", tid, DR_SLOTS);
	return err_set(err, "the debug registers of thread %d cannot be written: %s", tid, strerror(failure));
}
