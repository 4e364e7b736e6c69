/* peekdr: print the DR7 of every thread of a process, one line each, and leave it as it
 * was. What a second tracer sees after watchprof has gone. */
#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

static int peek(pid_t tid)
{
	int status;
	long dr7;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL)) {
		perror("peekdr: seize");
		return -1;
	}
	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		return -1;
	dr7 = ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, u_debugreg[7]), NULL);
	printf("%d %#lx\n", tid, (unsigned long)dr7);
	/* A signal that came first must not be lost. */
	ptrace(PTRACE_DETACH, tid, NULL, status >> 16 ? 0 : WSTOPSIG(status));
	return 0;
}

int main(int argc, char **argv)
{
	char path[64];
	struct dirent *entry;
	DIR *dir;
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%s/task", argc > 1 ? argv[1] : "self");
	dir = opendir(path);
	if (!dir)
		return 1;
	while ((entry = readdir(dir))) {
		if (atoi(entry->d_name) > 0 && peek(atoi(entry->d_name)))
			result = 1;
	}
	closedir(dir);
	return result;
}
