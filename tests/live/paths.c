/* paths.c writes v from call paths of all kinds: 10 times through each. It knows nothing of who
 * watches. */
#include <alloca.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

volatile long v;
static volatile long other;

__attribute__((noinline)) static void put(long n)
{
	v = n;
}

/* An instruction that faults, which the handler steps over. */
static void trap(void)
{
	__asm__ volatile("ud2");
}

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *saved = context;

	(void)info;
	put(sig);
	saved->uc_mcontext.gregs[REG_RIP] += 2;
}

static void on_own_stack(void)
{
	trap();
}

static void on_other_stack(void)
{
	trap();
}

static void from_large_frame(void)
{
	volatile char bytes[300000];

	bytes[0] = 1;
	put(bytes[0]);
}

static void from_alloca(size_t n)
{
	char *bytes = alloca(n);

	memset(bytes, 1, n);
	put(bytes[n - 1]);
}

static void recurse(unsigned n)
{
	if (n)
		recurse(n - 1);
	else
		put(1);
	other++;
}

/* Code made at run time: `movq $7,(%rdi); ret`, called with the variable's address. */
static void from_made_code(void (*code)(volatile long *))
{
	code(&v);
	other++;
}

int main(void)
{
	static const unsigned char bytes[] = {0x48, 0xc7, 0x07, 7, 0, 0, 0, 0xc3};
	static char stack_bytes[64 << 10];
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = stack_bytes, .ss_size = sizeof(stack_bytes)};
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	if (code == MAP_FAILED || sigaltstack(&stack, NULL))
		return 1;
	memcpy(code, bytes, sizeof(bytes));
	for (int i = 0; i < 10; i++) {
		action.sa_flags = SA_SIGINFO;
		sigaction(SIGILL, &action, NULL);
		on_own_stack();
		action.sa_flags |= SA_ONSTACK;
		sigaction(SIGILL, &action, NULL);
		on_other_stack();
		from_large_frame();
		from_alloca(10 + (size_t)i * 1000);
		recurse(39);
		from_made_code((void (*)(volatile long *))(uintptr_t)code);
	}
	return 0;
}
