/* deep: writes v N times, in turn from 15 and from 25 frames below main. */
#include <stdlib.h>

volatile long v;
static volatile long other;

static void down(unsigned levels, long value)
{
	if (levels > 0)
		down(levels - 1, value);
	else
		v = value;
	other++;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0;

	for (long i = 0; i < n; i++)
		down(i % 2 ? 25 : 15, i);
	return 0;
}
