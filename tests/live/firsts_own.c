/* firsts_own: functions whose first instruction is one that a tracer must leave as it is. Ends with 7 if the program saw what it should.
 *   protected  raises a general protection fault, and runs after the handler has mended a register
 *   jumped     the same, and the handler jumps elsewhere
 *   guarded    loads from a page that cannot be read, which the handler opens
 *   locked     counts down with a lock, while another thread counts up
 *   patched    is replaced by other code, which writes v
 *   loop       jumps to itself
 *   shared     lies in a file that is mapped shared and not writable; its address is said */
#include "handshake.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define TIMES  50
#define SPINS  2000
#define PAGE   4096UL
#define NOWHERE ((long *)0x4141414141414141)

#define FUNCTION(name, code) \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" code "\nret\n.cfi_endproc\n.size " #name \
		", .-" #name "\n")

long load(const long *from);
void down(long *n);
void patched(volatile long *n);
long turn(long times);
FUNCTION(load, "mov (%rdi),%rax");
FUNCTION(down, "lock decq (%rdi)");
FUNCTION(patched, "push %rbx; pop %rbx; nop; nop");
FUNCTION(turn, "mov %rdi,%rcx; .globl turned; turned: loop turned; xor %eax,%eax");

volatile long v;
static long good = 5, counter, ups;
static volatile int handled, is_over;
static long *guarded;

static void protection(int sig, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	(void)sig;
	handled += info->si_code == SI_KERNEL && at->uc_mcontext.gregs[REG_RIP] == (greg_t)(uintptr_t)load;
	at->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)&good;
}

static sigjmp_buf above;

static void jump(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	handled += info->si_code == SI_KERNEL;
	siglongjmp(above, 1);
}

static void guard(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	handled += info->si_code == SEGV_ACCERR && info->si_addr == guarded;
	mprotect(guarded, PAGE, PROT_READ | PROT_WRITE);
}

static void handle(void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	sigaction(SIGSEGV, &action, NULL);
}

static bool run_protected(void)
{
	long sum = 0;

	for (int i = 0; i < TIMES; i++)
		sum += load(NOWHERE);
	down(&counter);
	return handled == TIMES && sum == 5 * TIMES && counter == -1;
}

static bool run_jumped(void)
{
	handle(jump);
	for (volatile int i = 0; i < TIMES; i++) {
		if (sigsetjmp(above, 1) == 0)
			load(NOWHERE);
	}
	return handled == TIMES && load(&good) == 5;
}

static bool run_guarded(void)
{
	handle(guard);
	guarded = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < TIMES; i++) {
		if (load(guarded) != 0)
			return false;
		mprotect(guarded, PAGE, PROT_NONE);
	}
	return handled == TIMES;
}

static void *up(void *unused)
{
	while (!is_over) {
		__asm__ volatile("lock incq %0" : "+m"(counter));
		ups++;
	}
	return unused;
}

static bool run_locked(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, up, NULL);
	for (int i = 0; i < SPINS; i++)
		down(&counter);
	is_over = 1;
	pthread_join(thread, NULL);
	return counter == ups - SPINS;
}

static bool run_patched(void)
{
	static const unsigned char code[] = {0x48, 0xff, 0x07, 0xc3}; /* incq (%rdi); ret */
	void *page = (void *)((uintptr_t)patched & -PAGE);

	patched(&v);
	if (mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memcpy((void *)(uintptr_t)patched, code, sizeof(code));
	for (int i = 0; i < TIMES; i++)
		patched(&v);
	return v == TIMES;
}

static bool run_loop(void)
{
	return turn(TIMES) == 0;
}

/* What follows is done before the test goes on. */
static long (*shared_map(void))(void)
{
	static const unsigned char code[] = {0xb8, 0x05, 0, 0, 0, 0xc3}; /* mov $5,%eax; ret */
	int fd = memfd_create("code", 0);
	void *at;

	if (fd < 0 || write(fd, code, sizeof(code)) != sizeof(code))
		exit(2);
	at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	return (long (*)(void))(uintptr_t)at;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		bool (*run)(void);
	} runs[] = {{"protected", run_protected}, {"jumped", run_jumped}, {"guarded", run_guarded}, {"locked", run_locked}, {"patched", run_patched}, {"loop", run_loop}};
	long (*shared)(void) = shared_map();
	bool is_early = argc > 2 && strcmp(argv[2], "early") == 0; /* the handler is there before anybody watches */
	bool is_right = argc > 1 && strcmp(argv[1], "shared") == 0;

	if (is_early)
		handle(protection);
	say("ready %#lx", (unsigned long)(uintptr_t)shared);
	told(NULL);
	if (!is_early)
		handle(protection);
	for (size_t i = 0; argc > 1 && i < sizeof(runs) / sizeof(runs[0]); i++) {
		if (strcmp(argv[1], runs[i].name) == 0)
			is_right = runs[i].run();
	}
	for (int i = 0; i < TIMES; i++)
		is_right &= shared() == 5;
	return is_right ? 7 : 1;
}
