/* tls_many.c LIBRARY COPY...: a thread that exists before the libraries writes late_tv of LIBRARY 20 times;
 * before that it touches variables of so many others that its vector of thread-local storage has to grow
 * and move. Then main does, whose vector is as old. */
#include "handshake.h"

#include <dlfcn.h>
#include <pthread.h>

#define COPIES_MAX 64

static pthread_barrier_t start;
static int (*late)(int times);
static int (*copies[COPIES_MAX])(int times);
static int n_copies;

static void touch(void)
{
	for (int i = n_copies - 1; i >= 0; i--)
		copies[i](1);
	late(20);
}

static void *work(void *arg)
{
	pthread_barrier_wait(&start);
	touch();
	return arg;
}

static int (*function(const char *path, const char *name))(int times)
{
	void *library = dlopen(path, RTLD_NOW);

	return library ? (int (*)(int))dlsym(library, name) : NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_barrier_init(&start, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	late = argc > 1 ? function(argv[1], "tls_late_bump") : NULL;
	for (int i = 2; i < argc && n_copies < COPIES_MAX; i++) {
		copies[n_copies] = function(argv[i], "tls_more_bump");
		n_copies += copies[n_copies] != NULL;
	}
	if (!late || n_copies != argc - 2)
		return 1;
	say("ready");
	pthread_barrier_wait(&start);
	pthread_join(thread, NULL);
	touch();
	return 0;
}
