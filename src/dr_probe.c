/* dr_probe.c owns the self-test of debug registers: some hypervisors accept every write to them
 * and never fire, which nothing but a try can tell. It touches only a
 * child of its own. */
#include "watchprof/dr_probe.h"

#include "watchprof/dr.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define HITS_EXPECTED 2

/* The child: wait until the tracer has armed the dummy, then touch it twice. */
static _Noreturn void probe_child(int go, volatile uint64_t *dummy)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	*dummy = 1;
	_exit(*dummy == 1 ? 0 : 1);
}

/* Wait for a stop or the end of the child; its end gives -1. */
static int child_stop(pid_t child, int *status)
{
	pid_t tid;

	do {
		tid = sys_wait(status, true);
	} while (tid == -EINTR || (tid > 0 && tid != child));
	return tid == child && WIFSTOPPED(*status) ? 0 : -1;
}

static int probe_arm(pid_t child, const volatile uint64_t *dummy)
{
	struct span span = {(uint64_t)(uintptr_t)dummy, sizeof(*dummy), ACCESS_READ_WRITE};
	const char *text = "dummy";
	struct dr_image image;
	struct err err;
	int result;

	if (dr_plan(&span, &text, 1, &image, &err))
		return -EINVAL;
	result = sys_debugreg_set(child, 0, image.slot[0].addr);
	return result ? result : sys_debugreg_set(child, 7, image.dr7);
}

/* Run the child to its end; how many hits it had, or a negative errno. One that cannot be let run is ended. */
static int probe_count(pid_t child)
{
	int status, hits = 0, failure;

	failure = sys_cont(child, 0);
	if (failure)
		sys_kill(child, SIGKILL);
	while (child_stop(child, &status) == 0) {
		siginfo_t info = {0};
		uint64_t dr6 = 0;
		int sig = status >> 16 ? 0 : WSTOPSIG(status), result;

		if (sig == SIGTRAP && sys_siginfo_get(child, &info) == 0 && info.si_code == TRAP_HWBKPT &&
			sys_debugreg_get(child, 6, &dr6) == 0 && (dr6 & DR6_SLOT_BITS) == 1) {
			sys_debugreg_set(child, 6, 0);
			hits++;
			sig = 0;
		}
		result = sys_cont(child, sig);
		if (result && result != -ESRCH) {
			failure = result;
			sys_kill(child, SIGKILL);
		}
	}
	return failure ? failure : hits;
}

static int refused(int failure, const char *what, struct err *err)
{
	if (failure == ENOSPC)
		return err_set(err, "the hardware breakpoint slots are in use by another tool (perf or "
				    "bpftrace, system-wide?); end that one and try again");
	return err_set_status(err, ERR_NO_ENGINE,
		"this kernel or sandbox does not provide ptrace debug registers (%s: %s)", what,
		strerror(failure));
}

static int verdict(int hits, struct err *err)
{
	if (hits == HITS_EXPECTED)
		return 0;
	if (hits == 0)
		return err_set_status(err, ERR_NO_ENGINE,
			"debug registers are accepted but never fire here (a virtual machine?): "
			"nothing could be counted, so nothing was touched");
	return err_set_status(err, ERR_NO_ENGINE,
		"debug registers do not fire reliably here: %d hits instead of %d in the self-test", hits,
		HITS_EXPECTED);
}

int dr_probe(struct err *err)
{
	volatile uint64_t dummy = 0; /* the child's copy, at the same address */
	int go[2], status, result, hits;
	pid_t child;

	if (pipe(go))
		return err_set(err, "self-test: no pipe: %s", strerror(errno));
	child = fork();
	if (child == 0) {
		close(go[1]);
		probe_child(go[0], &dummy);
	}
	close(go[0]);
	if (child < 0) {
		close(go[1]);
		return err_set(err, "self-test: no process: %s", strerror(errno));
	}
	result = sys_seize(child, false);
	if (result) {
		close(go[1]); /* ends the child */
		child_stop(child, &status);
		return refused(-result, "seize", err);
	}
	result = sys_interrupt(child);
	if (result == 0)
		result = child_stop(child, &status) ? -ESRCH : probe_arm(child, &dummy);
	if (result == 0 && write(go[1], "", 1) != 1)
		result = -errno;
	close(go[1]);
	hits = probe_count(child);
	if (result == 0 && hits < 0)
		return refused(-hits, "cont", err);
	return result ? refused(-result, "set", err) : verdict(hits, err);
}
