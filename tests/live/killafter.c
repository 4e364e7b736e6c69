/* killafter [-SIGNAL] MICROSECONDS PID...: sends a signal (SIGKILL) to processes after a time, awake all the while. To find
 * them at any moment. */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

static long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	int sig = argc > 1 && argv[1][0] == '-' ? atoi(argv[1] + 1) : 0, at = sig ? 2 : 1, result = 1;
	long end = now_us() + (argc > at ? atol(argv[at]) : 0);

	while (now_us() < end)
		;
	for (int i = at + 1; i < argc; i++)
		result = kill(atoi(argv[i]), sig ? sig : SIGKILL) == 0 ? 0 : 1;
	return result;
}
