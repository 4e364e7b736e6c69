/* attach_error.c owns the diagnosis of refused attaches: one errno has many causes, and
 * /proc tells them apart. It only reads. */
#include "watchprof/attach_error.h"

#include "watchprof/procfs.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* EPERM of PTRACE_SEIZE, cause by cause; the manual page of ptrace, "Ptrace access mode checking". */
static int permission_error(pid_t pid, const struct procfs_status *status, struct err *err)
{
	struct procfs_status tracer;
	int scope = procfs_ptrace_scope();
	bool is_mine = status->uid == geteuid() && status->euid == geteuid();

	if (status->tracer) {
		procfs_status(status->tracer, &tracer);
		return err_set(err,
			"process %d is already traced by process %d (%s), and a process has one tracer; "
			"end that one first", pid, status->tracer, tracer.name);
	}
	if (status->state == 'Z')
		return err_set(err, "process %d (%s) has ended already and waits for its parent; "
				    "there is nothing to attach to", pid, status->name);
	if (geteuid() != 0 && !is_mine)
		return err_set(err, "process %d (%s) belongs to user %u; run watchprof as that user or as root",
			pid, status->name, status->uid == geteuid() ? status->euid : status->uid);
	if (scope == 3)
		return err_set(err, "process %d: this system allows no tracing at all "
				    "(kernel.yama.ptrace_scope is 3, until the next boot)", pid);
	if (scope > 0 && geteuid() != 0)
		return err_set(err,
			"process %d: the system lets only %s attach (kernel.yama.ptrace_scope is %d); "
			"run as root, or: sysctl kernel.yama.ptrace_scope=0",
			pid, scope == 1 ? "a parent" : "an administrator", scope);
	if (geteuid() != 0)
		return err_set(err, "process %d (%s) has made itself untraceable (not dumpable, or its "
				    "program cannot be read); run watchprof as root", pid, status->name);
	return err_set(err, "process %d (%s) may not be traced from here: a capability (CAP_SYS_PTRACE) is "
			    "missing, as in a container, or a security module forbids it", pid, status->name);
}

int attach_error(pid_t pid, int failure, struct err *err)
{
	struct procfs_status status;

	if (failure == ENOSYS)
		return err_set_status(err, ERR_NO_ENGINE, "this kernel or sandbox does not provide ptrace");
	if (!procfs_status(pid, &status))
		return err_set(err, "there is no process %d", pid);
	if (failure == EPERM || failure == EACCES)
		return permission_error(pid, &status, err);
	if (failure == ESRCH)
		return err_set(err, "process %d (%s) ended while it was being attached to", pid, status.name);
	return err_set(err, "process %d (%s) cannot be attached to: %s", pid, status.name, strerror(failure));
}

int launch_error(const char *program, int failure, struct err *err)
{
	if (failure == ENOSYS || failure == EPERM)
		return err_set_status(err, ERR_NO_ENGINE, "this kernel or sandbox does not let a child be "
							  "traced (ptrace: %s)", strerror(failure));
	return err_set(err, "%s: no process could be started: %s", program, strerror(failure));
}

int exec_error(const char *program, int failure, struct err *err)
{
	if (failure == 0)
		return err_set(err, "%s: ended before its program could be started", program);
	if (failure == ENOENT)
		return err_set_status(err, ERR_NOT_FOUND, "%s: command not found", program);
	return err_set_status(err, ERR_NOT_EXECUTABLE, "%s: cannot be executed: %s", program, strerror(failure));
}
