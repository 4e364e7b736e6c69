/* page_rounds WORK: four threads work at one page until a line comes; then it is said whether the sums are what the
 * threads have counted by themselves, and the status is 7 if they are, else 1. WORK has a letter for each kind of work:
 * a: an atomic addition; m: an addition under a mutex, which lies in the page, too; d: a division by what lies there, which the
 * page engine leaves to the thread; c: calls of the kernel with buffers there; h: a handler every millisecond; p: a pause. */
#include "handshake.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define PAGE	4096
#define THREADS 4

static struct {
	volatile long sum, guarded;
	volatile long divisor;
	pthread_mutex_t mutex;
	char buffer[64];
} page __attribute__((aligned(PAGE))) = {.divisor = 7, .mutex = PTHREAD_MUTEX_INITIALIZER};

static const char *kinds;
static atomic_bool is_over;
static atomic_long wrong; /* results of single pieces of work */
static int zeros, sink;

struct counts {
	long sum, guarded;
};

__attribute__((noinline)) static void add_one(volatile long *p)
{
	__asm__ volatile("lock incq %0" : "+m"(*p));
}

static void divide(void)
{
	unsigned long low = 100, high = 0;

	__asm__ volatile("divq %2" : "+a"(low), "+d"(high) : "m"(page.divisor) : "cc");
	if (low != 14 || high != 2)
		atomic_fetch_add(&wrong, 1);
}

static void call(void)
{
	if (read(zeros, page.buffer, sizeof(page.buffer)) != sizeof(page.buffer) ||
		write(sink, page.buffer, sizeof(page.buffer)) != sizeof(page.buffer))
		atomic_fetch_add(&wrong, 1);
}

static void piece(char kind, struct counts *own)
{
	switch (kind) {
	case 'a':
		add_one(&page.sum);
		own->sum++;
		break;
	case 'm':
		pthread_mutex_lock(&page.mutex);
		page.guarded++;
		pthread_mutex_unlock(&page.mutex);
		own->guarded++;
		break;
	case 'd':
		divide();
		break;
	case 'c':
		call();
		break;
	case 'p':
		nanosleep(&(struct timespec){0, 100000}, NULL);
		break;
	default:
		break;
	}
}

static void *work(void *arg)
{
	while (!atomic_load(&is_over)) {
		for (const char *kind = kinds; *kind; kind++)
			piece(*kind, arg);
	}
	return arg;
}

static void on_alarm(int sig)
{
	(void)sig;
	add_one(&page.sum);
	page.buffer[0] = 0;
}

static void alarms(long us)
{
	setitimer(ITIMER_REAL, &(struct itimerval){{0, us}, {0, us}}, NULL);
}

int main(int argc, char **argv)
{
	struct counts counts[THREADS] = {{0, 0}}, all = {0, 0};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	pthread_t threads[THREADS];
	long alarmed;

	kinds = argc > 1 ? argv[1] : "am";
	zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, &counts[i]);
	if (strchr(kinds, 'h'))
		alarms(1000);
	say("at 0x%lx", (long)&page.sum);
	say("ready");
	told(NULL);
	alarms(0);
	atomic_store(&is_over, true);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all.sum += counts[i].sum;
		all.guarded += counts[i].guarded;
	}
	/* The handler's are not counted: it would have to count at the same moment. */
	alarmed = strchr(kinds, 'h') ? page.sum - all.sum : 0;
	say("sums %ld of %ld, %ld of %ld, wrong %ld", page.sum - alarmed, all.sum, page.guarded, all.guarded, atomic_load(&wrong));
	return page.sum - alarmed == all.sum && page.guarded == all.guarded && atomic_load(&wrong) == 0 ? 7 : 1;
}
