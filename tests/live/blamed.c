/* blamed.c is watched by views.sh: f and g clear a variable by memset 10 and 5 times, h writes it
 * 3 times by itself, and a second thread does so twice. */

#include <pthread.h>
#include <string.h>

unsigned long long s;

__attribute__((noinline)) void f(void)
{
	memset(&s, 0, sizeof(s));
}

__attribute__((noinline)) void g(void)
{
	memset(&s, 1, sizeof(s));
}

__attribute__((noinline)) void h(void)
{
	s = 2;
}

static void *second(void *unused)
{
	(void)unused;
	h();
	h();
	return NULL;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 10; i++)
		f();
	for (int i = 0; i < 5; i++)
		g();
	for (int i = 0; i < 3; i++)
		h();
	if (pthread_create(&thread, NULL, second, NULL) == 0)
		pthread_join(thread, NULL);
	return 0;
}
