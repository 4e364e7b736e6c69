/* odd: accesses whose count or owner is easily got wrong, each with its own variable and
 * a number of times that no other one has. */
#include <string.h>
#include <unistd.h>

struct middle {
	int before, watched, behind, end;
};
struct packed {
	char first;
	int watched; /* at offset 1: three pieces */
	char last;
} __attribute__((packed));

typedef void handler(void);

volatile int silent;		 /* 300 stores of the value that is there */
volatile struct middle middle __attribute__((aligned(16)));	 /* a byte of it, a wide store over it, its neighbours */
/* On a page of its own: QEMU takes a misaligned store for one at the start of its page. */
volatile struct packed packed __attribute__((aligned(4096)));
char rest_of_page[4096] __attribute__((aligned(4096)));
struct { volatile long a, b; } pair __attribute__((aligned(16)));
/* Apart from the others: processors may report a masked vector store of libc for its whole width. */
char cleared[64] __attribute__((aligned(64)));
volatile int by_kernel;
volatile int either[2];
static void landing(void);
handler *volatile pointer = landing;

static void landing(void)
{
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void store_silent(void)
{
	silent = 0;
}

__attribute__((noinline)) static void dispatch(void)
{
	__asm__ volatile("call *%0" : : "m"(pointer) : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
		"r10", "r11", "cc");
}

__attribute__((noinline)) static void store_wide(void)
{
	*(volatile long *)&middle.before = 1; /* 8 bytes from 4 below the watched member */
}

__attribute__((noinline)) static void store_pair(void)
{
	__asm__ volatile("pxor %%xmm0, %%xmm0\n\tmovdqa %%xmm0, %0" : "=m"(pair) : : "xmm0");
}

__attribute__((noinline)) static void clear_f(void)
{
	memset(cleared, 0, 8);
}

__attribute__((noinline)) static void clear_g(void)
{
	memset(cleared, 1, 8);
}

__attribute__((noinline)) static void store_either(int i)
{
	volatile int *to[] = {&either[0], &either[1]};

	*to[i & 1] = i;
}

static void let_kernel_write(void)
{
	int ends[2], value = 5;

	if (pipe(ends))
		return;
	for (int i = 0; i < 20; i++) {
		if (write(ends[1], &value, sizeof(value)) != (ssize_t)sizeof(value) ||
			read(ends[0], (void *)&by_kernel, sizeof(by_kernel)) != (ssize_t)sizeof(by_kernel))
			return;
	}
}

int main(void)
{
	for (int i = 0; i < 300; i++)
		store_silent();
	for (int i = 0; i < 200; i++)
		dispatch();
	((volatile char *)&middle.watched)[1] = 1;
	store_wide();
	middle.before = middle.behind = 1;
	packed.watched = 1;
	packed.first = packed.last = 1;
	for (int i = 0; i < 100; i++)
		store_pair();
	for (int i = 0; i < 10; i++)
		clear_f();
	for (int i = 0; i < 5; i++)
		clear_g();
	let_kernel_write();
	for (int i = 0; i < 1000; i++)
		store_either(i);
	return 0;
}
