/* traps: its own SIGTRAPs among watched writes: 10 int3 and 10 raise() with 100 writes. Exits
 * with the number of times that its handler ran; with an argument, it has no handler and dies. */
#include <signal.h>

volatile int v;
static volatile sig_atomic_t handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc == 1)
		signal(SIGTRAP, handler);
	for (int i = 0; i < 100; i++) {
		v = i;
		if (i % 10 == 3)
			__asm__ volatile("int3");
		if (i % 10 == 7)
			raise(SIGTRAP);
	}
	return handled;
}
