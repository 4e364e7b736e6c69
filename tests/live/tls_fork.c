/* tls_fork.c: a thread writes tv 5 times and forks; its child, whose only thread has a copy of that
 * thread's, writes it 10 times, and a new thread of the child 3 times. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__thread int tv;

static void parent_writes(void)
{
	for (int i = 0; i < 5; i++)
		tv = i;
}

static void child_writes(void)
{
	for (int i = 0; i < 10; i++)
		tv = i;
}

static void *thread_writes(void *arg)
{
	for (int i = 0; i < 3; i++)
		tv = i;
	return arg;
}

static void *work(void *arg)
{
	pthread_t thread;
	pid_t child;

	parent_writes();
	child = fork();
	if (child == 0) {
		child_writes();
		pthread_create(&thread, NULL, thread_writes, NULL);
		pthread_join(thread, NULL);
		exit(0);
	}
	waitpid(child, NULL, 0);
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	return pthread_join(thread, NULL);
}
