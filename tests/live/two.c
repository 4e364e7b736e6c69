/* two: f writes the counter 1000 times and g 500 times. Waits for a line on its input
 * first if an argument is given, so that somebody can attach. */
#include <stdio.h>

#ifdef COUNTER_IN_LIBRARY
extern volatile int counter;
void f(void);
void g(void);
#else
#include "two_functions.h"
#endif

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	for (int i = 0; i < 1000; i++)
		f();
	for (int i = 0; i < 500; i++)
		g();
	return 0;
}
