/* family MODE [wait]: writes v 4 times, makes children in one of the ways of the table below, writes v 6
 * more times, and exits with 0 if every child ended with status 3, else with 1. A child writes v 20
 * times, wherever its v is. Waits for a line first if there is a second argument. */
#include "handshake.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define STORM_FORKERS 4
#define STORM_FORKS   25
#define STORM_WRITES  5000

extern char **environ;
volatile long v;
static char *self;
static long child_stack[8192] __attribute__((aligned(16)));
static int pipe_ends[2];

__attribute__((noinline)) static void write_parent(int times)
{
	for (int i = 0; i < times; i++)
		v = i;
}

__attribute__((noinline)) static void write_child(void)
{
	for (int i = 0; i < 20; i++)
		v = i;
}

static bool ended_with_3(pid_t pid, int flags)
{
	int status;

	return pid > 0 && waitpid(pid, &status, flags) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

static bool by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		write_child();
		_exit(3);
	}
	return ended_with_3(pid, 0);
}

static bool by_vfork(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		write_child();
		_exit(3);
	}
	return ended_with_3(pid, 0);
}

static bool by_vfork_exec(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execl(self, self, "leaf", NULL);
		_exit(4);
	}
	return ended_with_3(pid, 0);
}

static bool by_spawn(void)
{
	char *argv[] = {self, "leaf", NULL};
	pid_t pid;

	return posix_spawn(&pid, self, NULL, NULL, argv, environ) == 0 && ended_with_3(pid, 0);
}

static bool by_system(void)
{
	char command[4200];
	int status;

	snprintf(command, sizeof(command), "'%s' leaf; exit $?", self);
	status = system(command);
	return WIFEXITED(status) && WEXITSTATUS(status) == 3;
}

static int child_main(void *argument)
{
	write_child();
	if (argument && write(pipe_ends[1], "3", 1) != 1)
		_exit(4);
	_exit(3);
}

static bool by_clone(int flags)
{
	return ended_with_3(clone(child_main, child_stack + 8192, flags, NULL), __WALL);
}

/* Its events look like those of a thread: PTRACE_EVENT_CLONE. */
static bool by_clone_silent(void)
{
	return by_clone(0);
}

static bool by_clone_shared(void)
{
	return by_clone(CLONE_VM | CLONE_FILES);
}

static bool by_clone_usr1(void)
{
	signal(SIGUSR1, SIG_IGN);
	return by_clone(SIGUSR1);
}

/* A child of our parent, which is watchprof if that launched us; how it ended only that can see. */
static bool by_clone_parent(void)
{
	char c = 0;

	return pipe(pipe_ends) == 0 &&
		clone(child_main, child_stack + 8192, CLONE_PARENT | SIGCHLD, (void *)1) > 0 &&
		read(pipe_ends[0], &c, 1) == 1 && c == '3';
}

static void *nothing(void *argument)
{
	return argument;
}

/* 100 children and 100 threads that do not touch v. */
static bool by_many(void)
{
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();
		pthread_t thread;

		if (pid == 0)
			_exit(3);
		if (!ended_with_3(pid, 0) || pthread_create(&thread, NULL, nothing, NULL) ||
			pthread_join(thread, NULL))
			return false;
	}
	return true;
}

static void *storm_fork(void *argument)
{
	bool (*way[])(void) = {by_fork, by_vfork_exec, by_spawn};

	for (int i = 0; i < STORM_FORKS; i++) {
		if (!way[i % 3]())
			*(bool *)argument = false;
	}
	return NULL;
}

static void *storm_write(void *argument)
{
	write_parent(STORM_WRITES);
	return argument;
}

/* Threads make children while others write v. */
static bool by_storm(void)
{
	pthread_t forkers[STORM_FORKERS], writers[STORM_FORKERS];
	bool all_good = true;

	for (int i = 0; i < STORM_FORKERS; i++) {
		if (pthread_create(&forkers[i], NULL, storm_fork, &all_good) ||
			pthread_create(&writers[i], NULL, storm_write, NULL))
			return false;
	}
	for (int i = 0; i < STORM_FORKERS; i++) {
		pthread_join(forkers[i], NULL);
		pthread_join(writers[i], NULL);
	}
	return all_good;
}

static const struct {
	const char *name;
	bool (*make)(void);
} ways[] = {
	{"fork", by_fork},
	{"vfork", by_vfork},
	{"vfork-exec", by_vfork_exec},
	{"spawn", by_spawn},
	{"system", by_system},
	{"clone-silent", by_clone_silent},
	{"clone-shared", by_clone_shared},
	{"clone-usr1", by_clone_usr1},
	{"clone-parent", by_clone_parent},
	{"many", by_many},
	{"storm", by_storm},
};

int main(int argc, char **argv)
{
	bool is_good = false;

	self = argv[0];
	if (argc > 1 && strcmp(argv[1], "leaf") == 0) {
		write_child();
		return 3;
	}
	if (argc > 2) {
		say("ready");
		told(NULL);
	}
	write_parent(4);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].name, argv[1]) == 0)
			is_good = ways[i].make();
	}
	write_parent(6);
	return !is_good;
}
