/* hammer THREADS MS: from a line on its input on, threads write word all the time and never read it. The main
 * thread waits for its input, and says `timeout` whenever it has waited for MS milliseconds. It ends with its
 * input, or at another line. */
#include "handshake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>

volatile long word;
static atomic_bool stop;

static void *work(void *argument)
{
	for (long i = 0; !atomic_load(&stop); i++)
		word = i;
	return argument;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, ms = argc > 2 ? atoi(argv[2]) : -1;
	struct epoll_event event = {.events = EPOLLIN};
	int set = epoll_create1(EPOLL_CLOEXEC), got;
	pthread_t threads[16];

	if (n > 16 || epoll_ctl(set, EPOLL_CTL_ADD, STDIN_FILENO, &event))
		return 2;
	say("ready");
	if (!told(NULL))
		return 1;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	while ((got = epoll_wait(set, &event, 1, ms)) == 0)
		say("timeout");
	atomic_store(&stop, true);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return got < 0;
}
