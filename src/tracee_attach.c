/* tracee_attach.c owns how threads come to be traced: the threads of a running process, those of a process
 * whose tracer dies, and a program that is launched. It serves no stops. */
#include "tracee_private.h"
#include "watchprof/attach_error.h"
#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

/* May an attach go on without this thread? One that has ended (ESRCH), one born of a thread that
 * is traced (it is traced already: its first stop tells) or dying (both EPERM), and a leader that
 * has exited before its threads (EPERM). */
static bool is_dispensable(const struct tracees *tracees, pid_t pid, pid_t tid, int result)
{
	pid_t living;

	if (result == -ESRCH || (tid != pid && tracees->n_threads > 0))
		return true;
	living = procfs_living_thread(pid);
	return tid == pid && result == -EPERM && living && living != pid;
}

/* Seize the threads that are not yet traced; returns how many were new, or -errno where the
 * process is gone or refuses. A thread that ends meanwhile is no failure. */
static int seize_new(struct tracees *tracees, pid_t pid)
{
	size_t n;
	pid_t *tids = procfs_threads(pid, &n);
	int seized = 0, failure = n ? 0 : -ESRCH;

	for (size_t i = 0; i < n && !failure; i++) {
		int result;

		if (thread_find(tracees, tids[i]))
			continue;
		result = sys_seize(tids[i], tracees->with_children);
		if (result == 0) {
			thread_add(tracees, pid, tids[i]);
			seized++;
		} else if (!is_dispensable(tracees, pid, tids[i], result)) {
			failure = result;
		}
	}
	free(tids);
	return seized ? seized : failure;
}

int tracees_attach(struct tracees *tracees, pid_t pid, struct err *err)
{
	int seized;

	while ((seized = seize_new(tracees, pid)) > 0)
		;
	if (tracees->n_threads > 0 && seized != -ESRCH)
		return 0;
	return attach_error(pid, seized < 0 ? -seized : ESRCH, err);
}

bool tracees_take_over(
	struct tracees *tracees, pid_t pid, pid_t ward, int *ward_status, uint64_t timeout_ns)
{
	uint64_t deadline = clock_now_ns() + timeout_ns;
	bool is_headless = procfs_living_thread(pid) != pid;
	size_t n;
	pid_t *tids = procfs_threads(pid, &n);

	tracees->ward = ward;
	tracees->ward_status = ward_status;
	for (size_t i = 0; i < n; i++) {
		int result = is_headless && tids[i] == pid
				     ? -ESRCH
				     : sys_seize(tids[i], tracees->with_children);

		/* The kernel takes all from the dying tracer at once: until it has, EPERM. */
		while (result == -EPERM && tracees->n_threads == 0 && clock_now_ns() < deadline) {
			sched_yield();
			result = sys_seize(tids[i], tracees->with_children);
		}
		if (result)
			continue;
		thread_add(tracees, pid, tids[i]);
	}
	free(tids);
	while (seize_new(tracees, pid) > 0)
		;
	return tracees->n_threads > 0;
}

/* Run the child from its first instruction in the fork to its exec stop; its end instead
 * means that the exec failed. */
static int exec_await(struct tracees *tracees, pid_t pid)
{
	int status;
	pid_t tid;

	for (;;) {
		tid = sys_wait(&status, true);
		if (tid == -EINTR)
			continue;
		if (tid < 0)
			return -1;
		if (tid != pid) {
			status_take(tracees, tid, status);
			continue;
		}
		switch (stop_decode(status).kind) {
		case STOP_EXITED:
		case STOP_KILLED:
			return -1;
		case STOP_EXEC:
			ready_put(tracees, thread_add(tracees, pid, pid), status);
			return 0;
		case STOP_SIGNAL:
			sys_cont(pid, stop_decode(status).value);
			break;
		case STOP_GROUP:
			sys_listen(pid);
			break;
		default:
			sys_cont(pid, 0);
		}
	}
}

int tracees_launch(struct tracees *tracees, char *const *argv, const sigset_t *mask, int input_fd, int output_fd,
	pid_t *pid, struct err *err)
{
	struct launch launch;
	int result = sys_launch(argv, mask, input_fd, output_fd, tracees->with_children, &launch);

	if (result)
		return launch_error(argv[0], -result, err);
	sys_launch_go(&launch);
	*pid = launch.pid;
	result = exec_await(tracees, launch.pid);
	if (result == 0) {
		sys_launch_result(&launch);
		return 0;
	}
	return exec_error(argv[0], -sys_launch_result(&launch), err);
}
