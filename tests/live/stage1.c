/* stage1 MODE PROGRAM [wait]: writes v 5 times, then executes PROGRAM: MODE is main, thread (another thread
 * than the main one does it, while three that have written 10 times each run on) or hammer (while
 * three write v without end). Waits for a line first if there is a third argument. */
#include "handshake.h"
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

volatile long v;
static volatile long elsewhere;
static sem_t started;
static char *program;

__attribute__((noinline)) static void early(int times)
{
	for (int i = 0; i < times; i++)
		v = i;
}

static void *busy(void *argument)
{
	early(10);
	sem_post(&started);
	for (;;)
		elsewhere++;
	return argument;
}

static void *hammer(void *argument)
{
	sem_post(&started);
	for (;;)
		v++;
	return argument;
}

static void *leave(void *argument)
{
	early(5);
	execl(program, program, NULL);
	_exit(98);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 2;
	program = argv[2];
	sem_init(&started, 0, 0);
	if (argc > 3) {
		say("ready");
		told(NULL);
	}
	if (strcmp(argv[1], "main") == 0)
		leave(NULL);
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&thread, NULL, strcmp(argv[1], "thread") == 0 ? busy : hammer, NULL))
			return 1;
		sem_wait(&started);
	}
	if (pthread_create(&thread, NULL, leave, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 97;
}
