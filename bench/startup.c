/* startup.c: a program that writes its counter a thousand times a second, and prints at SIGTERM the longest time
 * it stood still meanwhile, and all such times above a tenth of a millisecond, in microseconds. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

volatile long counter;
static volatile sig_atomic_t is_ended;

static void end(int sig)
{
	(void)sig;
	is_ended = 1;
}

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static __attribute__((noinline)) void bump(void)
{
	counter++;
}

int main(void)
{
	long longest = 0, all = 0;

	signal(SIGTERM, end);
	puts("ready");
	fflush(stdout);
	while (!is_ended) {
		long start = now_us(), took;

		/* The next write in a millisecond, by looking at the clock: sleeping would hide a stop. */
		while (!is_ended && now_us() - start < 1000) {
			long before = now_us();

			took = now_us() - before;
			longest = took > longest ? took : longest;
			all += took > 100 ? took : 0;
		}
		start = now_us();
		bump();
		took = now_us() - start;
		longest = took > longest ? took : longest;
		all += took > 100 ? took : 0;
	}
	printf("longest %ld all %ld\n", longest, all);
	return 0;
}
