/* pwait: a thread sleeps in epoll_pwait(), the only place where SIGUSR1 is not blocked; main sends it that
 * signal again and again, each time after the one before has been handled and the call has returned
 * EINTR. At the end of input it says how often each happened, which must be the same, and exits with 0.
 * A call that sleeps on after its signal was handled is a hang: after 20 seconds it exits with 1. */
#include "handshake.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

volatile long v;
static atomic_long handled, interrupted;
static atomic_bool is_over;
static int end_fd;

static void handler(int sig)
{
	(void)sig;
	v = 1;
	atomic_fetch_add(&handled, 1);
}

static void *work(void *argument)
{
	int epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t none;

	sigemptyset(&none);
	epoll_ctl(epoll, EPOLL_CTL_ADD, end_fd, &event);
	while (!atomic_load(&is_over)) {
		if (epoll_pwait(epoll, &event, 1, -1, &none) < 0 && errno == EINTR)
			atomic_fetch_add(&interrupted, 1);
	}
	return argument;
}

int main(void)
{
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};
	pthread_t thread;
	sigset_t set;
	long sent = 0;

	signal(SIGUSR1, handler);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	end_fd = eventfd(0, 0);
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	say("ready");
	while (poll(&input, 1, 0) == 0) {
		time_t start = time(NULL);

		pthread_kill(thread, SIGUSR1);
		sent++;
		while (atomic_load(&interrupted) < sent) {
			sched_yield();
			if (time(NULL) - start > 20) {
				say("hung: sent %ld handled %ld EINTR %ld", sent, handled, interrupted);
				return 1;
			}
		}
	}
	atomic_store(&is_over, true);
	eventfd_write(end_fd, 1);
	pthread_join(thread, NULL);
	say("handled %ld", handled - sent);
	say("EINTR %ld", interrupted - sent);
	return 0;
}
