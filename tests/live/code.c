/* code: a variable written by code of all kinds: inlined functions, code without a name that was
 * made at run time, the same with its names in /tmp/perf-PID.map (with an argument that is a link to this
 * name, as somebody else might have made it), and the vdso. */
#include "handshake.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

volatile int v;
unsigned processor, node;

static inline __attribute__((always_inline)) void inner(int n)
{
	v = n;
}

static inline __attribute__((always_inline)) void middle(int n)
{
	inner(n + 1);
}

static __attribute__((noinline)) void outer(int n)
{
	middle(n);
	v = n;
}

/* A page of its own with two functions that write their argument's target, 64 bytes apart. */
static unsigned char *make(void)
{
	static const unsigned char increment[] = {0xff, 0x07, 0xc3}; /* incl (%rdi); ret */
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		exit(2);
	memcpy(page, increment, sizeof(increment));
	memcpy(page + 64, increment, sizeof(increment));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	return page;
}

static void call(unsigned char *code, int times)
{
	while (times--)
		((void (*)(volatile int *))(uintptr_t)code)(&v);
}

int main(int argc, char **argv)
{
	unsigned char *named, *nameless;
	char path[64];
	FILE *list;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	nameless = make();
	mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* a gap */
	named = make();
	list = fopen(path, "w");
	if (!list)
		return 2;
	fprintf(list, "%lx 3 alpha\n", (unsigned long)(uintptr_t)named);
	fflush(list);
	if (argc > 1 && (rename(path, argv[1]) || symlink(argv[1], path)))
		return 2;
	say("ready %s", path);
	if (!told(NULL))
		return 1;
	for (int i = 0; i < 40; i++)
		outer(i);
	call(named, 30);
	fprintf(list, "%lx 3 be\033ta\n", (unsigned long)(uintptr_t)named + 64);
	fflush(list);
	call(named + 64, 20);
	call(nameless, 10);
	call(nameless + 64, 5);
	for (int i = 0; i < 25; i++)
		getcpu(&processor, &node);
	remove(path);
	return 0;
}
