/* deep: writes v N times, in turn from 15 and from 25 frames below main; given PATHS as well, from as
 * many paths of 28 frames below main (32 in all) in turn, after a line on its input, and ends
 * after another one. */
#include <stdio.h>
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

static void right(unsigned levels, unsigned long path);

static void left(unsigned levels, unsigned long path)
{
	if (levels == 0)
		v = (long)path;
	else if (path & 1)
		right(levels - 1, path >> 1);
	else
		left(levels - 1, path >> 1);
	other++;
}

static void right(unsigned levels, unsigned long path)
{
	if (levels == 0)
		v = (long)path;
	else if (path & 1)
		right(levels - 1, path >> 1);
	else
		left(levels - 1, path >> 1);
	other--;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0, paths = argc > 2 ? atol(argv[2]) : 0;

	if (paths) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	for (long i = 0; i < n; i++) {
		if (paths)
			left(27, (unsigned long)(i % paths));
		else
			down(i % 2 ? 25 : 15, i);
	}
	if (paths) {
		puts("written");
		fflush(stdout);
		getchar();
	}
	return 0;
}
