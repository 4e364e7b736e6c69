/* guardian.c owns the first of the two processes, the keeper and the pipe. The pipe carries process
 * ids: negative for those that have ended, 0 for farewell; its end without a farewell means that the worker has died. */
#include "watchprof/guardian.h"

#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define TICK_NS	    (NS_PER_S / 10)
#define WORKER_LIVES (-1)
#define KEEPER_STACK (16U << 10)
#define NICE_MOST    (-20)

struct guardian {
	int fd;
	/* What the pipe has had no room for: the first process reads nothing while it is stopped (^Z), and the worker, which
	 * the target waits for, must not wait for that. */
	pid_t *unsent;
	size_t n_unsent;
};

/* The first process. */
struct guard {
	pid_t worker;
	int pipe_fd, signal_fd;
	guardian_rescue_fn *rescue;
	pid_t *guarded;
	size_t n_guarded, room;
	struct termios modes; /* of the terminal, as they were before the worker */
	bool has_modes;
	char *farewell; /* what gives it back as it looked, or NULL */
};

static void guard_add(struct guard *guard, pid_t pid)
{
	if (guard->n_guarded == guard->room) {
		guard->room = 2 * guard->room + 16;
		guard->guarded = mem_resize(guard->guarded, guard->room, sizeof(*guard->guarded));
	}
	guard->guarded[guard->n_guarded++] = pid;
}

static void guard_forget(struct guard *guard, pid_t pid)
{
	for (size_t i = 0; i < guard->n_guarded;) {
		if (guard->guarded[i] == pid)
			guard->guarded[i] = guard->guarded[--guard->n_guarded];
		else
			i++;
	}
}

/* Take what the worker has said. False: it says nothing more. */
static bool guard_listen(struct guard *guard)
{
	pid_t pid;
	ssize_t n;

	while ((n = read(guard->pipe_fd, &pid, sizeof(pid))) == (ssize_t)sizeof(pid)) {
		if (pid == 0)
			guard->n_guarded = 0;
		else if (pid < 0)
			guard_forget(guard, -pid);
		else
			guard_add(guard, pid);
	}
	return n < 0 && errno == EAGAIN;
}

/* The worker has gone without a farewell. Its wait status may come to light meanwhile. */
static void guard_rescue(struct guard *guard, int *status)
{
	sigset_t set;

	sys_ticks(TICK_NS);
	while (guard->n_guarded > 0)
		guard->rescue(guard->guarded[--guard->n_guarded], guard->worker, status);
	sys_ticks(0);
	/* Whoever waits for threads lets it through (sys_tell()). Then the worker's end would not be told. */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* End as the worker ended. */
static _Noreturn void guard_end(const struct guard *guard, int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	sigset_t set;

	/* It could not give the terminal back. (In the background it is not ours to change.) */
	if (sig && guard->has_modes && tcgetpgrp(STDIN_FILENO) == getpgrp()) {
		if (guard->farewell)
			(void)!write(STDOUT_FILENO, guard->farewell, strlen(guard->farewell));
		tcsetattr(STDIN_FILENO, TCSANOW, &guard->modes);
	}
	if (sig) {
		signal(sig, SIG_DFL);
		sigemptyset(&set);
		sigaddset(&set, sig);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		raise(sig);
	}
	_exit(sig ? 128 + sig : WEXITSTATUS(status));
}

/* What the terminal sent, it sent to the worker as well; but that it is gone, to the leader of a session alone
 * (tty_signal_session_leader() in the kernel). */
static bool is_everybodys(const struct signalfd_siginfo *info)
{
	return info->ssi_code == SI_KERNEL && (info->ssi_signo != SIGHUP || getsid(0) != getpid());
}

/* Hand on the signals that were sent to this process alone. */
static void guard_hear(struct guard *guard)
{
	struct signalfd_siginfo info;

	while (read(guard->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD && !is_everybodys(&info))
			sys_kill(guard->worker, (int)info.ssi_signo);
	}
}

/* If the worker has ended, end as it did. */
static void guard_look(struct guard *guard)
{
	int status;
	pid_t pid;

	while ((pid = sys_wait(&status, false)) > 0) {
		if (pid != guard->worker || (!WIFEXITED(status) && !WIFSIGNALED(status)))
			continue;
		guard_listen(guard);
		guard_rescue(guard, &status);
		guard_end(guard, status);
	}
}

static _Noreturn void guard_run(struct guard *guard)
{
	struct pollfd fds[] = {
		{.fd = guard->pipe_fd, .events = POLLIN}, {.fd = guard->signal_fd, .events = POLLIN}};

	/* A rescue is a race. Without the right to be quicker than others, as quick as they are. */
	setpriority(PRIO_PROCESS, 0, NICE_MOST);
	fcntl(guard->pipe_fd, F_SETFL, O_NONBLOCK);
	for (;;) {
		int status = WORKER_LIVES;

		if (poll(fds, ARRAY_LEN(fds), -1) > 0 && fds[0].revents && !guard_listen(guard)) {
			/* A dying process closes its files a moment before its threads are let go:
			 * time to be there when they are. */
			fds[0].fd = -1;
			guard_rescue(guard, &status);
			if (status != WORKER_LIVES)
				guard_end(guard, status);
		}
		guard_hear(guard);
		guard_look(guard);
	}
}

/* Hear of the death of the first process, even if it was before we could ask for that. */
static void worker_begin(pid_t first)
{
	prctl(PR_SET_PDEATHSIG, GUARDIAN_GONE);
	if (getppid() != first)
		raise(GUARDIAN_GONE);
}

/* The keeper: it shares the worker's memory, and does nothing. */
static int keeper_run(void *first)
{
	/* Without the pipe's end, whose closing tells of the worker's death. */
	if (close_range(0, UINT_MAX, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(0);
	while (getppid() == (pid_t)(intptr_t)first)
		pause();
	_exit(0);
}

/* A process that is killed first gives back its memory, then lets its tracees go (do_exit() in the
 * kernel): a millisecond in which they run into their traps. Where somebody shares the memory there is
 * nothing to give back. It ends with the first process. Without it things only are slower. */
static void keeper_begin(pid_t first)
{
	unsigned char *stack = mmap(
		NULL, KEEPER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, mask;

	if (stack == MAP_FAILED)
		return;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &mask);
	if (clone(keeper_run, stack + KEEPER_STACK, CLONE_VM | CLONE_PARENT, (void *)(intptr_t)first) < 0)
		munmap(stack, KEEPER_STACK);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

struct guardian *guardian_new(const sigset_t *signals, guardian_rescue_fn *rescue, char *farewell)
{
	struct guardian *guardian;
	pid_t first = getpid(), worker;
	sigset_t set = *signals;
	int ends[2], signal_fd;

	sigaddset(&set, SIGCHLD);
	sigdelset(&set, GUARDIAN_GONE);
	signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signal_fd < 0 || pipe2(ends, O_CLOEXEC)) {
		free(farewell);
		return NULL;
	}
	worker = fork();
	if (worker > 0) {
		struct guard guard = {
			.worker = worker, .pipe_fd = ends[0], .signal_fd = signal_fd, .rescue = rescue, .farewell = farewell};

		guard.has_modes = tcgetattr(STDIN_FILENO, &guard.modes) == 0;
		close(ends[1]);
		sigprocmask(SIG_BLOCK, &set, NULL);
		sigemptyset(&set);
		sigaddset(&set, SIGTSTP);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		guard_run(&guard);
	}
	free(farewell);
	close(signal_fd);
	close(ends[0]);
	if (worker < 0) {
		close(ends[1]);
		return NULL;
	}
	worker_begin(first);
	keeper_begin(first);
	guardian = mem_new(1, sizeof(*guardian));
	guardian->fd = ends[1];
	fcntl(guardian->fd, F_SETFL, O_NONBLOCK);
	return guardian;
}

/* Say as much as there is room for. If the first process has been killed nobody listens; GUARDIAN_GONE tells. */
static void unsent_write(struct guardian *guardian)
{
	size_t n = 0;

	while (n < guardian->n_unsent) {
		ssize_t len = write(guardian->fd, &guardian->unsent[n], sizeof(pid_t));

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0 && errno == EAGAIN)
			break;
		n++;
	}
	if (n == 0)
		return;
	guardian->n_unsent -= n;
	memmove(guardian->unsent, guardian->unsent + n, guardian->n_unsent * sizeof(pid_t));
}

static void say(struct guardian *guardian, pid_t pid)
{
	guardian->unsent = mem_resize(guardian->unsent, guardian->n_unsent + 1, sizeof(pid_t));
	guardian->unsent[guardian->n_unsent++] = pid;
	unsent_write(guardian);
}

void guardian_watch(struct guardian *guardian, pid_t pid)
{
	if (guardian)
		say(guardian, pid);
}

void guardian_forget(struct guardian *guardian, pid_t pid)
{
	if (guardian)
		say(guardian, -pid);
}

void guardian_leave(struct guardian *guardian)
{
	close(guardian->fd);
	guardian->fd = -1;
}

void guardian_free(struct guardian *guardian)
{
	if (!guardian)
		return;
	/* The farewell has to come through; nothing waits for us any more. */
	fcntl(guardian->fd, F_SETFL, 0);
	say(guardian, 0);
	close(guardian->fd);
	free(guardian->unsent);
	free(guardian);
}
