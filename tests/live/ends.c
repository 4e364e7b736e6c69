/* ends HOW [wait]: writes v 4 times and ends: HOW is an exit status, abort, kill, segv, thread (exit(5) by
 * another thread while a third spins) or last (the last thread returns after main has gone: 0). Waits for
 * a line first if there is a second argument. */
#include "handshake.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

volatile long v;
static volatile long elsewhere;

__attribute__((noinline)) static void write_four(void)
{
	for (int i = 0; i < 4; i++)
		v = i;
}

static void *spin(void *argument)
{
	for (;;)
		elsewhere++;
	return argument;
}

static void *end_all(void *argument)
{
	write_four();
	exit(5);
	return argument;
}

static void *end_alone(void *argument)
{
	pthread_join(*(pthread_t *)argument, NULL);
	write_four();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "0";
	static pthread_t main_thread;
	pthread_t thread;

	if (argc > 2) {
		say("ready");
		told(NULL);
	}
	if (strcmp(how, "thread") == 0) {
		if (pthread_create(&thread, NULL, spin, NULL) || pthread_create(&thread, NULL, end_all, NULL))
			return 1;
		spin(NULL);
	}
	if (strcmp(how, "last") == 0) {
		main_thread = pthread_self();
		if (pthread_create(&thread, NULL, end_alone, &main_thread))
			return 1;
		pthread_exit(NULL);
	}
	write_four();
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "kill") == 0)
		raise(SIGKILL);
	if (strcmp(how, "segv") == 0)
		*(volatile int *)(elsewhere + 16) = 0;
	return atoi(how);
}
