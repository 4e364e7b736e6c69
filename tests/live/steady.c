/* steady: THREADS threads write v all the time, each with a pause of PAUSE microseconds (0: none),
 * until a line comes on the input; then it says how many writes there were and exits with 7. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

volatile long v;
static atomic_bool stop;
static atomic_long writes;
static unsigned pause_us;

static void *work(void *argument)
{
	while (!atomic_load(&stop)) {
		v++;
		atomic_fetch_add(&writes, 1);
		if (pause_us)
			usleep(pause_us);
	}
	return argument;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));

	pause_us = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	printf("ready\n");
	fflush(stdout);
	getchar();
	atomic_store(&stop, 1);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("writes %ld\n", atomic_load(&writes));
	free(threads);
	return 7;
}
