/* tls_churn.c N LIBRARY: N threads, 50 at a time, write tv 5 times each and late_tv of LIBRARY 3 times. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#define TOGETHER 50

__thread long tv;
static int (*bump)(int times);

static void *work(void *arg)
{
	for (int i = 0; i < 5; i++)
		tv = i;
	bump(3);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[TOGETHER];
	void *library = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;

	bump = library ? (int (*)(int))dlsym(library, "tls_late_bump") : NULL;
	if (!bump)
		return 1;
	for (int left = atoi(argv[1]); left > 0; left -= TOGETHER) {
		for (int i = 0; i < TOGETHER; i++)
			pthread_create(&threads[i], NULL, work, NULL);
		for (int i = 0; i < TOGETHER; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}
