/* crammed: a program that makes as many mappings as it may have (vm.max_map_count), so that none can be split any more. It
 * writes v 1,000 times after each line of its input: before that; with the mappings, after a handler has run, for which watched
 * pages are opened and shut; and when most of the mappings have gone. */
#include "handshake.h"

#include <signal.h>
#include <sys/mman.h>

#define PAGE	 4096UL
#define PAGES	 262144UL
#define WRITES	 1000
#define RELEASED 1024

static struct {
	_Alignas(4096) char before[PAGE];
	volatile long v;
	char behind[2 * PAGE - sizeof(long)];
} there;
static volatile int n_signals;

static void on_signal(int sig)
{
	n_signals += sig != 0;
}

static void work(void)
{
	for (int i = 0; i < WRITES; i++)
		there.v++;
}

int main(void)
{
	char *at = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long n = 0;
	int last = PROT_READ;

	if (at == MAP_FAILED || signal(SIGUSR1, on_signal) == SIG_ERR)
		return 1;
	say("ready");
	if (!told(NULL))
		return 1;
	work();
	say("free %ld", there.v);
	if (!told(NULL))
		return 1;
	/* Every second page: each is a mapping of its own. */
	while (n < PAGES / 2 && mprotect(at + 2 * n * PAGE, PAGE, PROT_READ) == 0)
		n++;
	/* mmap(2) makes one more than mprotect(2) does. */
	while (mmap(NULL, PAGE, last, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
		last ^= PROT_WRITE;
	raise(SIGUSR1);
	work();
	say("crammed %ld", there.v);
	if (!told(NULL))
		return 1;
	munmap(at, RELEASED * PAGE);
	work();
	say("released %ld", there.v);
	told(NULL);
	return n_signals == 1 && n < PAGES / 2 ? 7 : 1;
}
