/* pulses: after a line, two threads write v until the next line, each with a pause of PAUSE microseconds
 * (first argument) between two writes; one of them from drum(), the other one from fiddle(). Then it says "writes N". A third thread is in epoll_wait all
 * the time. After one more line it says "eintr N", how often that call was interrupted, and exits with 7. */
#include "handshake.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

volatile long v;
volatile long other; /* of nobody */
static atomic_bool is_going, is_over;
static atomic_long writes, interrupted;
static unsigned pause_us;

__attribute__((noinline)) static void drum(long value)
{
	v = value;
}

__attribute__((noinline)) static void fiddle(long value)
{
	v = value;
}

static void *beat(void *argument)
{
	while (!atomic_load(&is_over)) {
		usleep(pause_us);
		if (!atomic_load(&is_going))
			continue;
		if (argument)
			drum(1);
		else
			fiddle(2);
		atomic_fetch_add(&writes, 1);
	}
	return NULL;
}

static void *sleep_long(void *argument)
{
	int epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};

	epoll_ctl(epoll, EPOLL_CTL_ADD, *(int *)argument, &event);
	while (epoll_wait(epoll, &event, 1, -1) < 0 && errno == EINTR)
		atomic_fetch_add(&interrupted, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t beaters[2], sleeper;
	int event = eventfd(0, 0);

	pause_us = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
	pthread_create(&sleeper, NULL, sleep_long, &event);
	pthread_create(&beaters[0], NULL, beat, NULL);
	pthread_create(&beaters[1], NULL, beat, beaters);
	say("ready");
	if (!told(NULL))
		return 1;
	atomic_store(&is_going, 1);
	if (!told(NULL))
		return 1;
	atomic_store(&is_over, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(beaters[i], NULL);
	say("writes %ld", atomic_load(&writes));
	if (!told(NULL))
		return 1;
	eventfd_write(event, 1);
	pthread_join(sleeper, NULL);
	say("eintr %ld", atomic_load(&interrupted));
	return 7;
}
