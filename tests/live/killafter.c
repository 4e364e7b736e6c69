/* killafter MICROSECONDS PID: kills a process after a time, awake all the while. To find it at any moment. */
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
	long end = now_us() + (argc > 1 ? atol(argv[1]) : 0);

	while (now_us() < end)
		;
	return argc > 2 && kill(atoi(argv[2]), SIGKILL) == 0 ? 0 : 1;
}
