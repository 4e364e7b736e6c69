/* churn: four threads create and join brief threads without a pause. After a line that begins with w each
 * brief thread writes v once, until there were at least 100, and it says how many did so far; after h
 * (hot) each does until the next line; after q the churning ends, it says "quiet", and after one more line
 * it exits with 7. A failed creation makes it exit with 1. */
#include "handshake.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MAKERS	 4
#define AT_LEAST 100

volatile long v;
static atomic_bool is_writing, is_over;
static atomic_long writes, joined[MAKERS];

__attribute__((noinline)) static void write_one(long value)
{
	v = value;
}

static void *brief(void *argument)
{
	if (atomic_load(&is_writing)) {
		write_one(1);
		atomic_fetch_add(&writes, 1);
	}
	return argument;
}

static void *make(void *argument)
{
	atomic_long *mine = argument;
	pthread_t thread;

	while (!atomic_load(&is_over)) {
		if (pthread_create(&thread, NULL, brief, NULL) || pthread_join(thread, NULL))
			exit(1);
		atomic_fetch_add(mine, 1);
	}
	return NULL;
}

/* Until every thread that may still write has been joined. */
static void settle(void)
{
	for (int i = 0; i < MAKERS; i++) {
		long first = atomic_load(&joined[i]);

		while (atomic_load(&joined[i]) < first + 2)
			sched_yield();
	}
}

int main(void)
{
	pthread_t makers[MAKERS];
	char word = 0;

	for (int i = 0; i < MAKERS; i++) {
		if (pthread_create(&makers[i], NULL, make, &joined[i]))
			return 1;
	}
	settle();
	say("ready");
	while (word != 'q' && told(&word)) {
		long before = atomic_load(&writes);

		atomic_store(&is_writing, word == 'w' || word == 'h');
		if (word == 'w') {
			while (atomic_load(&writes) < before + AT_LEAST)
				sched_yield();
			atomic_store(&is_writing, false);
			settle();
			say("wrote %ld", atomic_load(&writes));
		}
	}
	atomic_store(&is_over, true);
	for (int i = 0; i < MAKERS; i++)
		pthread_join(makers[i], NULL);
	say("quiet");
	told(NULL);
	return 7;
}
