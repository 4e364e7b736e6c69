/* herd SLEEPERS: that many threads sleep for ever; after a line one more writes v 10,000 times and says how
 * many nanoseconds each took; it ends with 7 after a second line, the sleepers still asleep. */
#include "handshake.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#define WRITES 10000

volatile long v;
static sem_t asleep, never;

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

__attribute__((noinline)) static void write_one(long value)
{
	v = value;
}

static void *sleep_on(void *argument)
{
	sem_post(&asleep);
	sem_wait(&never);
	return argument;
}

static void *work(void *argument)
{
	long start;

	sem_post(&asleep);
	told(NULL);
	start = now_ns();
	for (long i = 0; i < WRITES; i++)
		write_one(i);
	say("ns %ld", (now_ns() - start) / WRITES);
	return argument;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;
	pthread_attr_t small;
	pthread_t thread, worker;

	sem_init(&asleep, 0, 0);
	sem_init(&never, 0, 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (long i = 0; i < n; i++) {
		if (pthread_create(&thread, &small, sleep_on, NULL))
			return 1;
	}
	if (pthread_create(&worker, &small, work, NULL))
		return 1;
	for (long i = 0; i <= n; i++)
		sem_wait(&asleep);
	say("ready");
	pthread_join(worker, NULL);
	told(NULL);
	exit(7);
}
