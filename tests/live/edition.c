/* edition: a program and its library, of which there are two builds: with SECOND all functions have
 * other names and all variables other addresses. `counter` is written 100 times in the program,
 * `stock` 50 times in the library. Waits for a line on its input first. */
#ifdef SECOND
volatile char before[8192] = {1};
#define bump  bump_second
#define store store_second
#endif

#ifdef IN_LIBRARY
volatile int stock = 1;
void store(void);

__attribute__((noinline)) void store(void)
{
	stock++;
}
#else
#include "handshake.h"

static volatile int counter = 1;
void store(void);

__attribute__((noinline)) static void bump(void)
{
	counter++;
}

int main(void)
{
	say("ready");
	if (!told(NULL))
		return 1;
	for (int i = 0; i < 100; i++)
		bump();
	for (int i = 0; i < 50; i++)
		store();
	return 0;
}
#endif
