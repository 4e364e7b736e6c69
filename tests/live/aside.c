/* aside [ring | dispatch]: writes a once, and b, its neighbour in the same page, 3000 times. With an argument it sets up a ring of
 * io_uring, or has system calls dispatched by a byte in the page, before it writes a ten times more. Says "a N ring YES" and exits
 * with 4. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#define PARAMETERS 120 /* bytes of struct io_uring_params */
#define DISPATCH   59  /* PR_SET_SYSCALL_USER_DISPATCH */

volatile long a, b;
static volatile char selector; /* 0: to the kernel */

static bool kernel_take(const char *what)
{
	char parameters[PARAMETERS];

	memset(parameters, 0, sizeof(parameters));
	if (strcmp(what, "dispatch") == 0)
		return prctl(DISPATCH, 1, 0, 0, &selector) == 0;
	return syscall(SYS_io_uring_setup, 4, parameters) >= 0;
}

int main(int argc, char **argv)
{
	bool has_ring = false;

	for (int i = 0; i < 3000; i++)
		b = i;
	a = 1;
	if (argc > 1)
		has_ring = kernel_take(argv[1]);
	for (int i = 0; i < 10 && argc > 1; i++)
		a = a + 1;
	printf("a %ld ring %d\n", a, has_ring);
	return 4;
}
