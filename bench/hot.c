/* hot.c is the benchmark's workload: it writes the global v a known number of times, each time from
 * a call chain of a known depth, and tells by its own clock how long that took. The clock is the
 * same whatever tool watches; it sees nothing of the tool's start and end, as the first writes
 * (the warm-up) come before it starts. It never looks at who watches. With HOT_SHUT in its environment
 * it may not write v itself: each write is a fault, for a tracer to pass. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define FRAMES_BELOW 5	/* put(), main(), and the three that called it: two of libc and _start */
#define FRAME_BYTES  64 /* about what a function's frame takes */
#define LEVELS_MAX   250
#define PATH_BITS    31 /* that many levels can be chosen, one by each bit of a path's number */

unsigned long v __attribute__((aligned(4096)));

static __attribute__((noinline)) void put(unsigned long value)
{
	v = value;
}

static void step(unsigned levels, unsigned path, unsigned long value);

/* Two functions that do the same, yet differ, so that none is folded into the other. The work
 * behind the call keeps it from becoming a jump. */
static __attribute__((noinline)) void left(unsigned levels, unsigned path, unsigned long value)
{
	char frame[FRAME_BYTES];

	step(levels, path, value);
	__asm__ volatile("# left" : : "r"(frame) : "memory");
}

static __attribute__((noinline)) void right(unsigned levels, unsigned path, unsigned long value)
{
	char frame[FRAME_BYTES];

	step(levels, path, value);
	__asm__ volatile("nop # right" : : "r"(frame) : "memory");
}

/* One level down, into left() or right() as the lowest bit of path says, or to the end. */
static inline __attribute__((always_inline)) void step(unsigned levels, unsigned path,
	unsigned long value)
{
	if (levels == 0)
		put(value);
	else if (path & 1)
		right(levels - 1, path >> 1, value);
	else
		left(levels - 1, path >> 1, value);
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

static int usage(void)
{
	fprintf(stderr, "Usage: hot N WARMUP FRAMES PATHS\n"
			"Writes v WARMUP + N times, each time from FRAMES frames (%d or more), on PATHS\n"
			"call paths in turn; prints the nanoseconds that the last N writes took.\n",
		FRAMES_BELOW);
	return 2;
}

int main(int argc, char **argv)
{
	unsigned long long start = 0;
	unsigned long n, warmup, frames, paths;
	unsigned levels;

	if (argc != 5)
		return usage();
	n = number(argv[1]);
	warmup = number(argv[2]);
	frames = number(argv[3]);
	paths = number(argv[4]);
	if (frames < FRAMES_BELOW || frames - FRAMES_BELOW > LEVELS_MAX)
		return usage();
	levels = (unsigned)(frames - FRAMES_BELOW);
	if (paths == 0 || paths > 1UL << (levels < PATH_BITS ? levels : PATH_BITS))
		return usage();
	if (getenv("HOT_SHUT") && mprotect(&v, 4096, PROT_READ))
		return 2;
	for (unsigned long i = 0; i < warmup + n; i++) {
		if (i == warmup)
			start = now_ns();
		step(levels, (unsigned)(i % paths), i);
	}
	printf("hot %llu\n", now_ns() - start);
	return 0;
}
