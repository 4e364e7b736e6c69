/* hot.c is the benchmark's workload: it writes the global v a known number of times, from a call
 * chain of a known depth, and tells how long that took by its own clock. That clock is the same
 * for every tool that watches it and knows nothing of their start and end. The first writes
 * (warm-up) are made before it starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FRAMES_MIN    5 /* put() itself, main(), and the three below it: two of libc and _start */
#define FRAME_BYTES   64
#define LEVELS_CHOICE 31 /* levels that an index can choose, one by each bit */

unsigned long v;

static __attribute__((noinline, noclone)) void put(unsigned long value)
{
	v = value;
}

static void step(unsigned levels, unsigned path, unsigned long value);

/* Two functions that do the same but are not the same, so that none is folded into the other;
 * the work behind the call keeps it from becoming a jump. */
static __attribute__((noinline, noclone)) void left(unsigned levels, unsigned path, unsigned long value)
{
	char frame[FRAME_BYTES];

	__asm__ volatile("# left %0" : : "r"(frame) : "memory");
	step(levels, path, value);
	__asm__ volatile("# left %0" : : "r"(frame) : "memory");
}

static __attribute__((noinline, noclone)) void right(unsigned levels, unsigned path, unsigned long value)
{
	char frame[FRAME_BYTES];

	__asm__ volatile("# right\n\tnop" : : "r"(frame) : "memory");
	step(levels, path, value);
	__asm__ volatile("# right\n\tnop" : : "r"(frame) : "memory");
}

/* One level down: into left() or right(), as the lowest bit of path says. */
static inline __attribute__((always_inline)) void step(unsigned levels, unsigned path, unsigned long value)
{
	if (levels == 0)
		put(value);
	else if (path & 1)
		right(levels - 1, path >> 1, value);
	else
		left(levels - 1, path >> 1, value);
}

static __attribute__((noinline, noclone)) void run(unsigned long n, unsigned levels, unsigned paths)
{
	unsigned path = 0;

	for (unsigned long i = 0; i < n; i++) {
		step(levels, path, i);
		if (++path == paths)
			path = 0;
	}
}

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end) {
		fprintf(stderr, "hot: '%s' is not a number\n", text);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	unsigned long n, warm, frames, paths, levels;
	unsigned long long start;

	if (argc != 5) {
		fprintf(stderr, "Usage: hot N WARMUP FRAMES PATHS\n"
				"Writes v WARMUP + N times, each from FRAMES frames (5 at least), on PATHS\n"
				"call paths in turn; prints the nanoseconds that the last N writes took.\n");
		return 2;
	}
	n = number(argv[1]);
	warm = number(argv[2]);
	frames = number(argv[3]);
	paths = number(argv[4]);
	levels = frames < FRAMES_MIN + 1 ? 0 : frames - FRAMES_MIN - 1;
	return 0;
}
