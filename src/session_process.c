/* session_process.c owns the list of processes that a run has followed. */
#include "session_private.h"
#include "watchprof/procfs.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Further processes are watched as well, but not listed. */
#define PROCESSES_MAX 10000

HIT_PATH static size_t chain_of(pid_t pid)
{
	return (unsigned)pid % PROCESS_CHAINS;
}

HIT_PATH struct session_process *session_process_find(struct session *session, pid_t pid)
{
	/* The newest first: process ids come again. */
	for (size_t i = session->newest[chain_of(pid)]; i; i = session->processes[i - 1].older) {
		if (session->processes[i - 1].pid == pid)
			return &session->processes[i - 1];
	}
	return NULL;
}

static void take_command(struct session_process *process)
{
	free(process->command);
	process->command = procfs_command(process->pid);
}

void session_take_fork(struct session *session, pid_t pid, pid_t parent, uint32_t image)
{
	const struct session_image *shared = session_image_run(session, parent, image);
	struct session_process *process;

	if (session->n_processes == PROCESSES_MAX) {
		session->n_processes_left_out++;
		return;
	}
	session->processes =
		mem_resize(session->processes, session->n_processes + 1, sizeof(*session->processes));
	process = &session->processes[session->n_processes++];
	*process = (struct session_process){.pid = pid,
		.parent = parent,
		.image = shared ? shared->id : image,
		.changes = shared ? shared->settled : 0,
		.older = session->newest[chain_of(pid)]};
	session->newest[chain_of(pid)] = session->n_processes;
	take_command(process);
}

void session_take_exec(struct session *session, pid_t pid, uint32_t image)
{
	struct session_process *process = session_process_find(session, pid);
	struct session_image *former;

	if (!process)
		return;
	former = session_image_find(session, process->image);
	process->image = image;
	if (former && former->pid != pid)
		session_image_leave(session, former->id);
	take_command(process);
}

void session_take_end(struct session *session, pid_t pid, int status)
{
	struct session_process *process = session_process_find(session, pid);
	struct session_image *image = process ? session_image_find(session, process->image) : NULL;

	if (!process)
		return;
	if (image && image->pid == pid && image != session->main_image)
		image->pid = 0;
	free(process->end);
	process->end = WIFSIGNALED(status) ? text_format("killed by signal %d", WTERMSIG(status))
					   : text_format("exited with status %d", WEXITSTATUS(status));
	session_image_leave(session, process->image);
}
