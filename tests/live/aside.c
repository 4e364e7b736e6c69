/* aside [ring]: writes a once, and b, its neighbour in the same page, 3000 times. With an argument it sets up a ring of io_uring
 * before it writes a ten times more. Says "a N ring YES" and exits with 4. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#define PARAMETERS 120 /* bytes of struct io_uring_params */

volatile long a, b;

int main(int argc, char **argv)
{
	char parameters[PARAMETERS];
	long ring = -1;

	(void)argv;
	for (int i = 0; i < 3000; i++)
		b = i;
	a = 1;
	memset(parameters, 0, sizeof(parameters));
	if (argc > 1)
		ring = syscall(SYS_io_uring_setup, 4, parameters);
	for (int i = 0; i < 10 && argc > 1; i++)
		a = a + 1;
	printf("a %ld ring %d\n", a, ring >= 0);
	return 4;
}
