/* again: executes itself without end; each image writes v 3 times. When its input ends, it exits with 7. */
#include "handshake.h"
#include <poll.h>

volatile long v;

__attribute__((noinline)) static void write_three(void)
{
	for (int i = 0; i < 3; i++)
		v = i;
}

int main(int argc, char **argv)
{
	struct pollfd input = {STDIN_FILENO, POLLIN, 0};

	if (argc == 1)
		say("ready");
	write_three();
	if (poll(&input, 1, 0) > 0)
		return 7;
	execl("/proc/self/exe", argv[0], "more", NULL);
	return 1;
}
