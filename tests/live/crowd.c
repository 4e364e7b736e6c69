/* crowd: OLD threads exist when it says "ready"; after a line on its input NEW more are
 * made; then each thread writes v WRITES times without any lock. Prints nothing else. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

volatile long v;
static sem_t start;
static long n_writes;

__attribute__((noinline)) static void write_one(long value)
{
	v = value;
}

static void *work(void *argument)
{
	sem_wait(&start);
	for (long i = 0; i < n_writes; i++)
		write_one(i);
	return argument;
}

int main(int argc, char **argv)
{
	long n_old = argc > 1 ? atol(argv[1]) : 4, n_new = argc > 2 ? atol(argv[2]) : 4;
	pthread_t *threads = calloc((size_t)(n_old + n_new), sizeof(*threads));

	n_writes = argc > 3 ? atol(argv[3]) : 10000;
	sem_init(&start, 0, 0);
	for (long i = 0; i < n_old; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (long i = n_old; i < n_old + n_new; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (long i = 0; i < n_old + n_new; i++)
		sem_post(&start);
	for (long i = 0; i < n_old + n_new; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}
