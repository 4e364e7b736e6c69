/* every: after a line, sends itself every signal from 1 to 64 but SIGKILL and SIGSTOP, each with a handler
 * that writes v once, and writes v once before each. Says which came not exactly once or with another
 * sender; then makes a real fault, whose address must be right. Exits with the number of signals handled. */
#include "handshake.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

#define SIGNALS 64

/* What rt_sigaction(2) takes: libc keeps two signals for itself. */
struct kernel_action {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

volatile long v;
static volatile int came[SIGNALS + 1], strange[SIGNALS + 1];
static sigjmp_buf after_fault;

__attribute__((noinline)) static void write_one(void)
{
	v = 1;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	v = 2;
	came[sig]++;
	strange[sig] += info->si_code != SI_USER || info->si_pid != getpid();
}

static void fault_handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	v = 3;
	say("fault %d code %d at %p", sig, info->si_code, info->si_addr);
	siglongjmp(after_fault, 1);
}

static void install(int sig, void *restorer)
{
	struct kernel_action action = {handler, SA_SIGINFO | 0x04000000 /* SA_RESTORER */, restorer, 0};

	syscall(SYS_rt_sigaction, sig, &action, NULL, sizeof(action.mask));
}

int main(void)
{
	struct sigaction fault = {.sa_sigaction = fault_handler, .sa_flags = SA_SIGINFO};
	struct kernel_action sample;
	int n = 0;

	sigaction(SIGSEGV, &fault, NULL);
	syscall(SYS_rt_sigaction, SIGSEGV, NULL, &sample, sizeof(sample.mask));
	for (int sig = 1; sig <= SIGNALS; sig++)
		install(sig, sample.restorer);
	say("ready");
	told(NULL);
	for (int sig = 1; sig <= SIGNALS; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP)
			continue;
		write_one();
		kill(getpid(), sig);
		if (came[sig] != 1 || strange[sig])
			say("signal %d came %d times, strange %d", sig, came[sig], strange[sig]);
		n += came[sig];
	}
	sigaction(SIGSEGV, &fault, NULL);
	if (sigsetjmp(after_fault, 1) == 0)
		*(volatile char *)0x1234 = 1;
	write_one();
	return n;
}
