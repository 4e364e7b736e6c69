/* shapes.c is stepped by the oracle: frames of all shapes that C compilers make. It checks its own
 * sums, so that a build in which something was left out shows. */
#include "restorer.h"

#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// clang makes no clones, and does not know the word.
#if __has_attribute(noclone)
#define NOINLINE __attribute__((noinline, noclone))
#else
#define NOINLINE __attribute__((noinline))
#endif

volatile long sum;
static jmp_buf back;

static NOINLINE void leaf(long n)
{
	sum += n;
}

static NOINLINE long six(long a, long b, long c, long d, long e, long f, long g, long h)
{
	leaf(a);
	leaf(b);
	sum += a * b + c * d + e * f + g * h;
	return sum;
}

static NOINLINE long recurse(unsigned n)
{
	long below = n ? recurse(n - 1) : 0;

	leaf(n);
	return below + n;
}

/* A tail call where the compiler optimizes. */
static NOINLINE void tail(long n)
{
	sum++;
	leaf(n);
}

static NOINLINE void with_alloca(size_t n)
{
	char *bytes = alloca(n);

	memset(bytes, 1, n);
	leaf(bytes[n - 1]);
}

static NOINLINE void with_array(size_t n)
{
	for (size_t i = 1; i < n; i += 7) {
		char bytes[i];

		memset(bytes, 2, i);
		leaf(bytes[i / 2]);
	}
}

/* Wants more alignment than the stack has. */
static NOINLINE void with_alignment(size_t n)
{
	__attribute__((aligned(64))) char bytes[64];
	char more[n];

	memset(bytes, 3, sizeof(bytes));
	memset(more, 4, n);
	leaf(bytes[n % 64] + more[n - 1] + (long)((uintptr_t)bytes % 64));
}

static NOINLINE void with_large_frame(void)
{
	volatile char bytes[100000];

	bytes[0] = 1;
	bytes[sizeof(bytes) - 1] = 2;
	leaf(bytes[0] + bytes[sizeof(bytes) - 1]);
}

static NOINLINE long with_list(int n, ...)
{
	va_list list;
	long all = 0;

	va_start(list, n);
	while (n--)
		all += va_arg(list, long);
	va_end(list);
	leaf(all);
	return all;
}

static NOINLINE void by_pointer(void (*function)(long), long n)
{
	function(n);
	sum--;
}

static NOINLINE void jump_down(long n)
{
	if (sum != n)
		leaf(1);
	if (n == 0)
		longjmp(back, 1);
	if (n > 0)
		jump_down(n - 1);
	leaf(n);
}

static void handler(int sig)
{
	leaf(sig);
	with_alloca(20);
}

static void handler_info(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	leaf(sig);
	if (sig == SIGUSR1)
		raise(SIGUSR2);
}

static sigjmp_buf out;

static void handler_out(int sig)
{
	leaf(sig);
	siglongjmp(out, 1);
}

/* A signal that comes in the middle of things: by the instruction that traps. */
static NOINLINE void trap_in_leaf(void)
{
	__asm__ volatile("ud2");
}

static void handler_skip(int sig, siginfo_t *info, void *context)
{
	ucontext_t *saved = context;

	(void)info;
	leaf(sig);
	saved->uc_mcontext.gregs[REG_RIP] += 2;
}

static NOINLINE void signals(void)
{
	static char other[64 << 10] __attribute__((aligned(4096)));
	stack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};
	struct sigaction plain = {.sa_handler = handler},
			 info = {.sa_sigaction = handler_info, .sa_flags = SA_SIGINFO};

	sigaction(SIGUSR2, &plain, NULL);
	raise(SIGUSR2);
	sigaction(SIGUSR1, &info, NULL);
	raise(SIGUSR1);
	info.sa_sigaction = handler_skip;
	sigaction(SIGILL, &info, NULL);
	trap_in_leaf();
	sigaltstack(&stack, NULL);
	info.sa_flags |= SA_ONSTACK;
	sigaction(SIGILL, &info, NULL);
	trap_in_leaf();
	info.sa_sigaction = handler_info;
	sigaction(SIGUSR1, &info, NULL);
	raise(SIGUSR1);
	plain.sa_handler = handler_out;
	plain.sa_flags = SA_ONSTACK | SA_NODEFER;
	sigaction(SIGUSR2, &plain, NULL);
	if (sigsetjmp(out, 1) == 0)
		raise(SIGUSR2);
	plain.sa_flags = SA_NODEFER;
	sigaction(SIGUSR2, &plain, NULL);
	if (sigsetjmp(out, 1) == 0)
		raise(SIGUSR2);
	restorer_install(SIGUSR2, handler);
	raise(SIGUSR2);
}

static int compare_longs(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	leaf(0);
	return (x > y) - (x < y);
}

static NOINLINE void library(void)
{
	long numbers[] = {5, 3, 9, 1, 7};
	struct timespec now;
	char text[100];

	qsort(numbers, 5, sizeof(*numbers), compare_longs);
	clock_gettime(CLOCK_MONOTONIC, &now); /* in the vdso */
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	leaf(time(NULL) > 0);
	snprintf(text, sizeof(text), "%ld %s %.3f", numbers[2], "text", 1.5);
	leaf((long)strlen(text) + (long)strtol(text, NULL, 10));
	free(malloc(1000));
}

int main(void)
{
	six(1, 2, 3, 4, 5, 6, 7, 8);
	recurse(20);
	tail(3);
	with_alloca(100);
	with_array(30);
	with_alignment(40);
	with_large_frame();
	with_list(3, 1L, 2L, 3L);
	by_pointer(leaf, 4);
	by_pointer(tail, 4);
	if (setjmp(back) == 0)
		jump_down(5);
	signals();
	library();
	printf("# sum %ld\n", sum);
	return 0;
}
