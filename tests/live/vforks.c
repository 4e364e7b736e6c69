/* vforks: a thread of a process waits in vfork(2) for a child that goes on until a line comes; afterwards it
 * writes v 3 times. Another thread writes v 2 times before that. Says `ready`, waits for a line, makes the
 * child and says `child`. */
#include "handshake.h"

#include <pthread.h>
#include <sys/wait.h>

volatile long v;

static void *work(void *argument)
{
	v = 1;
	v = 2;
	say("ready");
	return argument;
}

int main(void)
{
	pthread_t thread;
	pid_t child;

	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	if (!told(NULL))
		return 1;
	child = vfork();
	if (child == 0) {
		say("child");
		_exit(told(NULL) ? 0 : 1);
	}
	v = 3;
	v = 4;
	v = 5;
	return waitpid(child, NULL, 0) < 0;
}
