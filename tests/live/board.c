/* board [THREADS]: from a line `start` on its input on, threads write v all the time. A line `NAME COUNT` has
 * one of a to e written that often, and is answered by `done NAME`. At the end of the input it says how
 * often v was written. */
#include "handshake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

volatile long v;
volatile long a, b, c, d, e;
static atomic_bool stop;
static atomic_long writes;

static void *work(void *argument)
{
	while (!atomic_load(&stop)) {
		v++;
		atomic_fetch_add(&writes, 1);
		usleep(500);
	}
	return argument;
}

static void obey(const char *line)
{
	volatile long *const board[] = {&a, &b, &c, &d, &e};
	long count = atol(line + 1);

	for (long i = 0; i < count; i++)
		(*board[line[0] - 'a'])++;
	say("done %c", line[0]);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t threads[64];
	bool is_started = false;
	char line[64];
	size_t len = 0;

	say("ready");
	while (read(STDIN_FILENO, line + len, 1) == 1) {
		if (line[len] != '\n') {
			len += len < sizeof(line) - 2;
			continue;
		}
		line[len] = '\0';
		len = 0;
		for (int i = 0; i < n && strcmp(line, "start") == 0; i++) {
			pthread_create(&threads[i], NULL, work, NULL);
			is_started = true;
		}
		if (line[0] >= 'a' && line[0] <= 'e')
			obey(line);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < n && is_started; i++)
		pthread_join(threads[i], NULL);
	say("writes %ld", atomic_load(&writes));
	return 0;
}
