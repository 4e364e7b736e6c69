/* prey.c owns the children of the tests of the agent: their start, stops and ends. */
#include "prey.h"

#include "watchprof/procfs.h"
#include "watchprof/stop.h"
#include "watchprof/sys.h"
#include "watchprof/syscall_restart.h"
#include "watchprof/util.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct prey prey_start(prey_fn *run)
{
	struct prey prey = {.board = mmap(NULL, sizeof(*prey.board), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0)};

	if (prey.board == MAP_FAILED || pipe(prey.board->pipe))
		die("no memory or pipe");
	fflush(stdout);
	prey.pid = fork();
	if (prey.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(prey.board);
		_exit(prey.board->fail_line ? 1 : 0);
	}
	while (!prey.board->ready)
		sched_yield();
	prey.tid = prey.board->tid ? prey.board->tid : prey.pid;
	return prey;
}

#define ENDED (-2)

/* "NR ARGS..." or "running". */
static long call_of(pid_t tid)
{
	char path[64], text[256] = "";
	long call = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	file = fopen(path, "r");
	if (!file)
		return ENDED;
	/* (So a thread shows that has ended.) */
	if (!fgets(text, sizeof(text), file) || strcmp(text, "-1 0x0 0x0\n") == 0)
		call = ENDED;
	else if (sscanf(text, "%ld", &call) != 1)
		call = -1;
	fclose(file);
	return call;
}

bool prey_await(const struct prey *prey, long call)
{
	long now;

	while ((now = call_of(prey->tid)) != call && now != ENDED &&
		(now != SYS_restart_syscall || call < 0))
		sched_yield();
	return now != ENDED;
}

void prey_seize(const struct prey *prey, bool with_children)
{
	size_t n;
	pid_t *tids = procfs_threads(prey->pid, &n);

	for (size_t i = 0; i < n; i++) {
		/* (A first thread that has exited cannot be.) */
		if (sys_seize(tids[i], with_children) && tids[i] != prey->pid)
			die("cannot seize %d", (int)tids[i]);
	}
	free(tids);
}

int prey_stop(const struct prey *prey)
{
	int status;

	if (sys_interrupt(prey->tid) || sys_wait_stop(prey->tid, &status))
		return 0;
	if (stop_decode(status).kind == STOP_TRAPPED || stop_decode(status).kind == STOP_SIGNAL)
		syscall_restart(prey->tid);
	return status;
}

void prey_detach(const struct prey *prey, int sig)
{
	size_t n;
	pid_t *tids;

	sys_detach(prey->tid, sig);
	tids = procfs_threads(prey->pid, &n);
	for (size_t i = 0; i < n; i++) {
		int status;

		if (tids[i] != prey->tid && sys_interrupt(tids[i]) == 0 &&
			sys_wait_stop(tids[i], &status) == 0)
			sys_detach(tids[i], stop_decode(status).kind == STOP_SIGNAL
						    ? stop_decode(status).value
						    : 0);
	}
	free(tids);
}

int prey_end(struct prey *prey)
{
	int status;

	do {
		if (waitpid(prey->pid, &status, __WALL) != prey->pid)
			die("%d is not there to be waited for", (int)prey->pid);
	} while (WIFSTOPPED(status));
	if (prey->board->fail_line)
		printf("# prey.c or agent.c, line %d: seen by the process itself\n",
			prey->board->fail_line);
	close(prey->board->pipe[0]);
	close(prey->board->pipe[1]);
	munmap(prey->board, sizeof(*prey->board));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void file_add(FILE *out, const char *path, bool is_status)
{
	static const char *const keys[] = {"Sig", "Shd", "Threads", "VmSize", "VmData", "VmExe"};
	char line[4096];
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file)) {
		bool is_wanted = !is_status;

		for (size_t i = 0; i < ARRAY_LEN(keys); i++)
			is_wanted |= strncmp(line, keys[i], strlen(keys[i])) == 0;
		if (is_wanted && strncmp(line, "SigQ", 4) != 0)
			fputs(line, out);
	}
	if (file)
		fclose(file);
}

char *prey_picture(const struct prey *prey)
{
	char path[64], *text = NULL;
	size_t size, n;
	pid_t *tids = procfs_threads(prey->pid, &n);
	FILE *out = open_memstream(&text, &size);

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)prey->tid);
	file_add(out, path, false);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "thread %d\n", (int)tids[i]);
		snprintf(path, sizeof(path), "/proc/%d/status", (int)tids[i]);
		file_add(out, path, true);
	}
	free(tids);
	fclose(out);
	return text;
}
