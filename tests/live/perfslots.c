/* perfslots N: one of five threads holds N breakpoint events of perf_event_open(2) on variables of its own.
 * Lines: o (it writes each of these 5 times and says how many the events have counted since), c (it closes
 * the events), w (it writes v 10 times). At the end of input it exits with 7. */
#include "handshake.h"
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define OTHERS 3

volatile long v;
static volatile long own[4];
static int events[4], n_events;
static sem_t never;

static int event_open(volatile long *variable)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)variable,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.exclude_kernel = 1,
		.exclude_hv = 1};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void write_own(void)
{
	uint64_t total = 0, count;

	for (int i = 0; i < n_events; i++) {
		for (int n = 0; n < 5; n++)
			own[i] = n;
		if (read(events[i], &count, sizeof(count)) == (ssize_t)sizeof(count))
			total += count;
	}
	say("own %lu", (unsigned long)total);
}

__attribute__((noinline)) static void write_ten(void)
{
	for (int i = 0; i < 10; i++)
		v = i;
	say("wrote");
}

static void *hold(void *argument)
{
	char word = 0;

	n_events = *(int *)argument;
	for (int i = 0; i < n_events; i++) {
		events[i] = event_open(&own[i]);
		if (events[i] < 0) {
			say("no events: %s", strerror(errno));
			exit(9);
		}
	}
	say("ready");
	while (told(&word)) {
		if (word == 'o')
			write_own();
		if (word == 'w')
			write_ten();
		for (int i = 0; word == 'c' && i < n_events; i++)
			close(events[i]);
		if (word == 'c')
			say("closed");
	}
	exit(7);
}

static void *sleep_on(void *argument)
{
	sem_wait(&never);
	return argument;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4;
	pthread_t thread;

	sem_init(&never, 0, 0);
	for (int i = 0; i < OTHERS; i++)
		pthread_create(&thread, NULL, i == OTHERS / 2 ? hold : sleep_on, &n);
	pthread_create(&thread, NULL, sleep_on, NULL);
	sleep_on(NULL);
	return 0;
}
