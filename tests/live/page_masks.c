/* page_masks: what a program sees of its own signal mask and handlers of SIGSEGV, while a variable
 * of it is watched, and afterwards. After each line that it is told it looks, and says the same as
 * unwatched; after one that begins with i it only ignores a SIGSEGV. */
#include "handshake.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096

/* v lies before a page of the program's own that must fault. */
static char *memory;
static volatile int handled, nested;
static sigjmp_buf back;
static char stack[1 << 16];

static bool is_blocked(void)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, SIGSEGV);
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(how, &set, NULL);
}

static void touch(void)
{
	++*(volatile long *)memory;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	handled += sig == SIGSEGV && info->si_code == SEGV_ACCERR &&
		   info->si_addr == memory + PAGE + 8;
	nested = is_blocked();
	touch();
	mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static void on_jump(int sig)
{
	nested = is_blocked();
	siglongjmp(back, sig);
}

static void on_any(int sig)
{
	(void)sig;
	handled++;
	touch();
	nested = is_blocked();
}

static void fault(void)
{
	mprotect(memory + PAGE, PAGE, PROT_NONE);
	*(volatile long *)(memory + PAGE + 8) = 1;
}

static void look_fault(const char *name, int flags)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags}, seen;

	handled = nested = 0;
	sigaction(SIGSEGV, &action, NULL);
	fault();
	touch();
	sigaction(SIGSEGV, NULL, &seen);
	say("%s: handled %d, blocked inside %d, afterwards %d, flags %x, own %d", name, handled,
		nested, is_blocked(), seen.sa_flags & ~0x04000000, seen.sa_sigaction == on_fault);
}

static void look_jump(void)
{
	signal(SIGSEGV, on_jump);
	if (sigsetjmp(back, 1) == 0)
		fault();
	mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE);
	touch();
	say("jump: blocked inside %d, afterwards %d", nested, is_blocked());
}

static void look_raised(const char *name)
{
	handled = 0;
	signal(SIGSEGV, on_any);
	raise(SIGSEGV);
	kill(getpid(), SIGSEGV);
	say("%s: handled %d", name, handled);
}

/* Blocked, ignored and default, with accesses meanwhile; as children see it that are forked so. */
static void look_masks(void)
{
	sigset_t all, former;
	int status = 0;
	pid_t pid;

	say("begins: %d", is_blocked());
	signal(SIGSEGV, SIG_IGN);
	touch();
	say("ignored: %d", signal(SIGSEGV, SIG_DFL) == SIG_IGN);
	touch();
	say("default: %d", signal(SIGSEGV, on_any) == SIG_DFL);
	block(SIG_BLOCK);
	touch();
	say("blocked: %d", is_blocked());
	handled = 0;
	signal(SIGUSR1, on_any);
	raise(SIGUSR1);
	say("handler of another: handled %d, blocked inside %d, afterwards %d", handled, nested,
		is_blocked());
	pid = fork();
	if (pid == 0)
		_exit(is_blocked() ? 3 : 4);
	waitpid(pid, &status, 0);
	say("child: %d", WEXITSTATUS(status));
	touch();
	handled = 0;
	block(SIG_UNBLOCK);
	say("unblocked: %d, handled %d", is_blocked(), handled);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &former);
	touch();
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	say("all blocked and put back: %d", is_blocked());
}

static void *thread_look(void *arg)
{
	touch();
	*(int *)arg = is_blocked();
	return arg;
}

static void look_threads(void)
{
	pthread_t thread;
	int seen[2] = {5, 5};

	pthread_create(&thread, NULL, thread_look, &seen[0]);
	pthread_join(thread, NULL);
	block(SIG_BLOCK);
	touch();
	pthread_create(&thread, NULL, thread_look, &seen[1]);
	pthread_join(thread, NULL);
	say("threads: %d %d, mine %d", seen[0], seen[1], is_blocked());
	block(SIG_UNBLOCK);
}

static void look(void)
{
	look_masks();
	look_threads();
	sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
	look_fault("plain", 0);
	look_fault("onstack", SA_ONSTACK);
	look_fault("nodefer", SA_NODEFER);
	look_fault("once", SA_RESETHAND);
	look_jump();
	look_raised("raised");
	say("v %ld", *(volatile long *)memory);
	*(volatile long *)memory = 0;
}

int main(void)
{
	char what;

	memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("at 0x%lx", (long)(uintptr_t)memory);
	say("ready");
	while (told(&what)) {
		if (what == 'i') {
			signal(SIGSEGV, SIG_IGN);
			raise(SIGSEGV);
			say("ignored it");
			continue;
		}
		look();
		say("looked");
	}
	signal(SIGSEGV, SIG_DFL);
	return is_blocked();
}
