/* page_tally: accesses v, which has its page to itself, N times by one instruction: a write, a read, or an addition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile long v __attribute__((aligned(4096)));
static char rest[4096 - sizeof(v)] __attribute__((used, aligned(8)));

static __attribute__((noinline)) void access_once(const char *how, long value)
{
	if (strcmp(how, "write") == 0)
		__asm__ volatile("mov %1, %0" : "=m"(v) : "r"(value));
	else if (strcmp(how, "read") == 0)
		__asm__ volatile("mov %1, %0" : "=r"(value) : "m"(v));
	else
		__asm__ volatile("add %1, %0" : "+m"(v) : "r"(value) : "cc");
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 0;

	rest[0] = 1;
	for (long i = 0; i < n; i++)
		access_once(argv[1], i);
	return 0;
}
