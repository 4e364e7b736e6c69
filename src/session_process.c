/* session_process.c owns the list of processes that a run has followed. */
#include "session_private.h"
#include "watchprof/procfs.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Further processes are known while they run, and not listed in reports. */
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

static bool is_listed(const struct session *session, const struct session_process *process)
{
	return process < session->processes + PROCESSES_MAX;
}

size_t session_processes_listed(const struct session *session)
{
	return session->n_processes < PROCESSES_MAX ? session->n_processes : PROCESSES_MAX;
}

/* The place of one that is not listed and has ended, or one more. */
static struct session_process *process_place(struct session *session)
{
	size_t spare = session->spare;

	if (spare) {
		session->spare = session->processes[spare - 1].older;
		return &session->processes[spare - 1];
	}
	session->processes =
		mem_resize(session->processes, session->n_processes + 1, sizeof(*session->processes));
	return &session->processes[session->n_processes++];
}

/* Forget one that is not listed and has ended. */
static void process_drop(struct session *session, struct session_process *process)
{
	size_t number = (size_t)(process - session->processes) + 1;
	size_t *link = &session->newest[chain_of(process->pid)];

	while (*link != number)
		link = &session->processes[*link - 1].older;
	*link = process->older;
	free(process->end);
	*process = (struct session_process){.older = session->spare};
	session->spare = number;
}

void session_take_fork(struct session *session, pid_t pid, pid_t parent, uint32_t image)
{
	const struct session_image *shared = session_image_run(session, parent, image);
	struct session_process *process = process_place(session);

	*process = (struct session_process){.pid = pid,
		.parent = parent,
		.image = shared ? shared->id : image,
		.changes = shared ? shared->settled : 0,
		.older = session->newest[chain_of(pid)]};
	session->newest[chain_of(pid)] = (size_t)(process - session->processes) + 1;
	if (is_listed(session, process))
		take_command(process);
	else
		session->n_processes_left_out++;
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
	if (is_listed(session, process))
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
	if (!is_listed(session, process))
		process_drop(session, process);
}
