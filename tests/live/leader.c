/* leader [late]: the main thread ends by pthread_exit() at once, or after one line; a worker then writes v
 * 100 times for each line, saying how many there were, and ends the process with 7 at the end of input. */
#include "handshake.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

volatile long v;
static sem_t begin;

__attribute__((noinline)) static void write_one(long value)
{
	v = value;
}

static void *work(void *argument)
{
	long done = 0;

	sem_wait(&begin);
	while (told(NULL)) {
		for (int i = 0; i < 100; i++)
			write_one(i);
		say("wrote %ld", done += 100);
	}
	exit(7);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t worker;

	(void)argv;
	sem_init(&begin, 0, 0);
	if (pthread_create(&worker, NULL, work, NULL))
		return 1;
	say("ready");
	if (argc > 1)
		told(NULL);
	sem_post(&begin);
	pthread_exit(NULL);
}
