/* tls.c: thread-local variables, written a known number of times by threads that exist before the test
 * says go and by threads that come later.
 *   tls [wait|run [LIBRARY [FUNCTION]]] : 3 old threads, 3 new ones, main; variables of the program, and with
 *       LIBRARY [FUNCTION] those of a library that is loaded at run time: with wait, before ready, and not
 *       touched. Built with LINKED: those of a library that is loaded with the program. */
#include "handshake.h"
#include "tls_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Away from the start of a page: QEMU takes misaligned stores to be there. */
__thread char padding[256] = "first";
__thread int tv;
_Thread_local long tl = 5;
static __thread short ts;
__thread struct {
	int head, tail;
} pair;

#ifdef ALIEN
/* What glibc tells debuggers of its version. */
const char __nptl_version[] = "9.99";
#endif

static int (*late_bump)(int times);
static pthread_barrier_t start;

static void count_up(void)
{
	static __thread int calls;

	calls++;
}

/* One function for each thread, so that the counts are split. */
static void first(int times)
{
	for (int i = 0; i < times; i++)
		tv = i;
}

static void second(int times)
{
	for (int i = 0; i < times; i++)
		tv = i;
}

static void third(int times)
{
	for (int i = 0; i < times; i++)
		tv = i;
}

static void others(int times)
{
	for (int i = 0; i < times; i++) {
		tl = i;
		ts = (short)i;
		pair.tail = i;
		count_up();
	}
	pair.head = 1;
}

struct work {
	void (*f)(int times);
	int times;
	bool is_old;
};

static void *work(void *arg)
{
	const struct work *w = arg;

	if (w->is_old)
		pthread_barrier_wait(&start);
	w->f(w->times);
	others(w->times);
#ifdef LINKED
	tls_bump(w->times);
#endif
	if (late_bump)
		late_bump(w->times);
	return NULL;
}

static void threads(pthread_t *thread, struct work *w, bool is_old, int times)
{
	static void (*const f[])(int) = {first, second, third};

	for (int i = 0; i < 3; i++) {
		w[i] = (struct work){f[i], times, is_old};
		pthread_create(&thread[i], NULL, work, &w[i]);
	}
}

static void join(pthread_t *thread)
{
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

static int load(const char *name, const char *function)
{
	void *library = dlopen(name, RTLD_NOW);

	late_bump = library ? (int (*)(int))dlsym(library, function) : NULL;
	return late_bump ? 0 : 1;
}

int main(int argc, char **argv)
{
	pthread_t thread[3];
	struct work w[3];
	bool is_waiting = argc > 1 && strcmp(argv[1], "wait") == 0;
	const char *library = argc > 2 ? argv[2] : NULL;
	const char *function = argc > 3 ? argv[3] : "tls_late_bump";

	pthread_barrier_init(&start, NULL, 4);
	threads(thread, w, true, 100);
	if (is_waiting && library && load(library, function))
		return 1;
	say("ready");
	if (is_waiting)
		told(NULL);
	if (!is_waiting && library && load(library, function))
		return 1;
	pthread_barrier_wait(&start);
	join(thread);
	threads(thread, w, false, 50);
	join(thread);
	first(7);
	if (late_bump)
		late_bump(7);
	return 0;
}
