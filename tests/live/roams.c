/* roams: two threads, one after the other, go to each processor that they may use and write its number to v. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

volatile int v;

static void *roam(void *allowed)
{
	cpu_set_t one;

	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, (cpu_set_t *)allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			exit(1);
		for (int k = 0; k < 5; k++)
			v = i;
	}
	return NULL;
}

int main(void)
{
	cpu_set_t allowed;
	pthread_t thread;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return 1;
	roam(&allowed);
	return pthread_create(&thread, NULL, roam, &allowed) || pthread_join(thread, NULL);
}
