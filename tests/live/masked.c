/* masked MODE: how a program that blocks, handles or ignores SIGTRAP finds itself after watched writes. MODE:
 * blocked (all signals, with a handler of SIGTRAP), partial (the same for SIGTRAP and SIGUSR1 alone), allbut
 * (all but SIGTRAP, which is handled), bare (all blocked, no handler), handled, ignored, worker (a thread
 * blocks all, main installed a handler), pending (blocked, with a SIGTRAP raised before the writes), hammer
 * (four threads that block all write without end; no handler).
 * It writes v 3 times after a line; after another one (or a hammer's end) it says what its mask and its
 * action are now, and exits with 0. */
#include "handshake.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define HAMMERS 4

volatile long v;
static atomic_bool is_over;
static atomic_int n_changed;

static void handler(int sig)
{
	(void)sig;
}

static void unblock_trap(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void block_two(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static uint64_t mask_now(void)
{
	uint64_t mask = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
	return mask;
}

/* Not through libc, which leaves its own two signals out. */
static void block_all(void)
{
	uint64_t all = UINT64_MAX;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
}

__attribute__((noinline)) static void write_three(void)
{
	for (int i = 0; i < 3; i++)
		v = i;
}

static void *write_blocked(void *argument)
{
	uint64_t before;

	block_all();
	before = mask_now();
	told(NULL);
	write_three();
	told(NULL);
	if (mask_now() != before)
		atomic_fetch_add(&n_changed, 1);
	return argument;
}

static void *hammer(void *argument)
{
	uint64_t before;

	block_all();
	before = mask_now();
	while (!atomic_load(&is_over)) {
		for (int i = 0; i < 1000; i++)
			v = i;
		if (mask_now() != before)
			atomic_fetch_add(&n_changed, 1);
	}
	return argument;
}

static void in_threads(void *(*work)(void *), int n)
{
	pthread_t threads[HAMMERS];

	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	say("ready");
	if (work == hammer) {
		told(NULL);
		atomic_store(&is_over, true);
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void take_pending(void)
{
	struct timespec none = {0, 0};
	sigset_t set;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	if (sigtimedwait(&set, &info, &none) == SIGTRAP)
		say("pending kept, code %d", info.si_code);
	else
		say("pending lost");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "handled";
	struct sigaction before, after;
	uint64_t mask;

	if (strcmp(mode, "ignored") == 0)
		signal(SIGTRAP, SIG_IGN);
	else if (strcmp(mode, "bare") != 0 && strcmp(mode, "hammer") != 0)
		signal(SIGTRAP, handler);
	if (strcmp(mode, "blocked") == 0 || strcmp(mode, "bare") == 0 || strcmp(mode, "pending") == 0)
		block_all();
	if (strcmp(mode, "allbut") == 0) {
		block_all();
		unblock_trap();
	}
	if (strcmp(mode, "partial") == 0)
		block_two();
	sigaction(SIGTRAP, NULL, &before);
	mask = mask_now();
	if (strcmp(mode, "pending") == 0)
		raise(SIGTRAP);
	if (strcmp(mode, "worker") == 0 || strcmp(mode, "hammer") == 0) {
		in_threads(mode[0] == 'w' ? write_blocked : hammer, mode[0] == 'w' ? 1 : HAMMERS);
	} else {
		say("ready");
		told(NULL);
		write_three();
		told(NULL);
	}
	sigaction(SIGTRAP, NULL, &after);
	say("mask %s", mask_now() == mask && n_changed == 0 ? "same" : "changed");
	say("action %s", before.sa_handler == after.sa_handler ? "kept" : "lost");
	if (strcmp(mode, "pending") == 0)
		take_pending();
	return 0;
}
