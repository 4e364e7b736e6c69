/* calls_list: system calls whose arguments lie in one page, each with the same results wherever it
 * runs. The unit test makes each call as it is and then through scratch memory; the live target
 * makes them under watchprof. This file has what the cases are made of; calls_files.h,
 * calls_process.h and calls_rare.h have the cases. */
#ifndef CALLS_LIST_H
#define CALLS_LIST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS_PAGE 4096

struct calls {
	unsigned char *page; /* the page; the one behind it is open */
	size_t used;         /* bytes of the page that were given away */
	bool is_printed;     /* the result is compared with that of another process */
	/* Make a call; its result as the kernel gives it (-errno). */
	long (*make)(struct calls *calls, long nr, const long *args);
	void *context;
	char text[1024]; /* the results of a case */
};

struct calls_case {
	const char *name;
	void (*run)(struct calls *calls);
};

/* A system call without the library's errno. */
static long calls_raw(long nr, const long *args)
{
	register long r10 __asm__("r10") = args[3];
	register long r8 __asm__("r8") = args[4];
	register long r9 __asm__("r9") = args[5];
	long result;

	__asm__ volatile(
		"syscall"
		: "=a"(result)
		: "a"(nr), "D"(args[0]), "S"(args[1]), "d"(args[2]), "r"(r10), "r"(r8), "r"(r9)
		: "rcx", "r11", "memory");
	return result;
}

/* len zero bytes of the page. */
static void *room(struct calls *c, size_t len)
{
	void *at = c->page + c->used;

	c->used += (len + 15) / 16 * 16;
	if (c->used > CALLS_PAGE)
		abort();
	return at;
}

/* A copy of data in the page. */
static void *put(struct calls *c, const void *data, size_t len)
{
	return memcpy(room(c, len), data, len);
}

static char *word(struct calls *c, const char *text)
{
	return put(c, text, strlen(text) + 1);
}

/* What no two runs have in common. */
static void hide(void *at, size_t len)
{
	memset(at, 0, len);
}

/* What no two processes, or machines, have in common. */
static void hide_own(struct calls *c, void *at, size_t len)
{
	if (c->is_printed)
		hide(at, len);
}

static void note(struct calls *c, long value)
{
	size_t len = strlen(c->text);

	snprintf(c->text + len, sizeof(c->text) - len, " %ld", value);
}

static long calls_noted(struct calls *c, long nr, const long *args)
{
	long result = c->make(c, nr, args);

	note(c, result);
	return result;
}

#define CALLS_ARGS(a, b, c, d, e, f, ...)                                                          \
	((const long[]){(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)})
/* A call; its result is noted. */
#define CALL(c, nr, ...) calls_noted(c, nr, CALLS_ARGS(__VA_ARGS__, 0, 0, 0, 0, 0, 0))
/* One whose result is never the same. */
#define CALL_QUIET(c, nr, ...) ((c)->make(c, nr, CALLS_ARGS(__VA_ARGS__, 0, 0, 0, 0, 0, 0)))

/* Copy, or clear, with one instruction: each access to a watched page may cost a stop. */
static inline void pages_copy(void *to, const void *from)
{
	size_t n = 2 * CALLS_PAGE;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static inline void pages_clear(void *at)
{
	size_t n = 2 * CALLS_PAGE;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(0) : "memory");
}

/* The sum of the page and the one behind (FNV-1a). */
static inline uint64_t calls_sum(const struct calls *c)
{
	unsigned char copy[2 * CALLS_PAGE];
	uint64_t sum = 0xcbf29ce484222325;

	pages_copy(copy, c->page);
	for (size_t i = 0; i < sizeof(copy); i++)
		sum = (sum ^ copy[i]) * 0x100000001b3;
	return sum;
}

/* Run one case on a clean page. */
static void calls_run(struct calls *c, const struct calls_case *one)
{
	pages_clear(c->page);
	c->used = 0;
	c->text[0] = 0;
	one->run(c);
}

#endif
