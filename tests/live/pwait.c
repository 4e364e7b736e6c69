/* pwait: eight threads sleep in epoll_pwait(), the only place where SIGUSR1 is not blocked; main sends each of
 * them that signal again and again, each time after the one before has been handled and the call has
 * returned EINTR. At the end of input it says by how much each number differs from those sent, and exits
 * with 0. A call that sleeps on after its signal was handled is a hang: after 20 seconds it exits with 1. */
#include "handshake.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#define SLEEPERS 8

struct sleeper {
	pthread_t thread;
	long sent;
	atomic_long handled, interrupted;
};

volatile long v;
static struct sleeper sleepers[SLEEPERS];
static __thread struct sleeper *self;
static atomic_bool is_over;
static int end_fd;

static void handler(int sig)
{
	(void)sig;
	v = 1;
	atomic_fetch_add(&self->handled, 1);
}

static void *work(void *argument)
{
	int epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t none;

	self = argument;
	sigemptyset(&none);
	epoll_ctl(epoll, EPOLL_CTL_ADD, end_fd, &event);
	while (!atomic_load(&is_over)) {
		if (epoll_pwait(epoll, &event, 1, -1, &none) < 0 && errno == EINTR)
			atomic_fetch_add(&self->interrupted, 1);
	}
	return NULL;
}

/* Send to those that have dealt with the one before. */
static bool send_round(void)
{
	bool any = false;

	for (int i = 0; i < SLEEPERS; i++) {
		if (atomic_load(&sleepers[i].interrupted) < sleepers[i].sent)
			continue;
		sleepers[i].sent++;
		pthread_kill(sleepers[i].thread, SIGUSR1);
		any = true;
	}
	return any;
}

static bool is_settled(void)
{
	for (int i = 0; i < SLEEPERS; i++) {
		if (atomic_load(&sleepers[i].interrupted) < sleepers[i].sent)
			return false;
	}
	return true;
}

int main(void)
{
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};
	time_t last = time(NULL);
	long handled = 0, interrupted = 0;
	bool is_ending = false;
	sigset_t set;

	signal(SIGUSR1, handler);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	end_fd = eventfd(0, 0);
	for (int i = 0; i < SLEEPERS; i++)
		pthread_create(&sleepers[i].thread, NULL, work, &sleepers[i]);
	say("ready");
	while (!is_ending || !is_settled()) {
		is_ending = is_ending || poll(&input, 1, 0) != 0;
		if ((!is_ending && send_round()) || is_settled())
			last = time(NULL);
		sched_yield();
		for (int i = 0; i < SLEEPERS && time(NULL) - last > 20; i++)
			say("hung: sent %ld handled %ld EINTR %ld", sleepers[i].sent, sleepers[i].handled,
				sleepers[i].interrupted);
		if (time(NULL) - last > 20)
			return 1;
	}
	atomic_store(&is_over, true);
	eventfd_write(end_fd, 1);
	for (int i = 0; i < SLEEPERS; i++) {
		pthread_join(sleepers[i].thread, NULL);
		handled += sleepers[i].handled - sleepers[i].sent;
		interrupted += sleepers[i].interrupted - sleepers[i].sent;
	}
	say("handled %ld", handled);
	say("EINTR %ld", interrupted);
	return 0;
}
