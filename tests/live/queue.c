/* queue WAY: a receiver of real-time signals with numbered values, and its child, which sends them, at most
 * 200 ahead of the receiver. WAY: handler, wait (sigwaitinfo, blocked) or fd (signalfd). The receiver writes
 * v once for each. After a line the child sends on until there are 10,000 at least; the receiver then
 * says how many it got, whether their order was kept, and exits with 0. */
#include "handshake.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#define AT_LEAST 10000
#define AHEAD	 200
#define LAST	 (-1)

struct shared {
	atomic_long sent, received;
	atomic_bool is_ending;
};

volatile long v;
static struct shared *shared;
static long disorder;
static volatile sig_atomic_t is_last;

static void take(int value)
{
	v = value;
	if (value == LAST) {
		is_last = 1;
		return;
	}
	if (value != (int)atomic_load(&shared->received))
		disorder++;
	atomic_fetch_add(&shared->received, 1);
}

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	take(info->si_value.sival_int);
}

static void send_one(pid_t pid, int value)
{
	while (sigqueue(pid, SIGRTMIN, (union sigval){.sival_int = value}))
		sched_yield(); /* EAGAIN: the queue is full */
}

static int send_all(pid_t pid)
{
	long n = 0;

	while (n < AT_LEAST || !atomic_load(&shared->is_ending)) {
		while (n - atomic_load(&shared->received) >= AHEAD)
			sched_yield();
		send_one(pid, (int)n);
		atomic_store(&shared->sent, ++n);
	}
	send_one(pid, LAST);
	return 0;
}

static void receive(const char *way, const sigset_t *set)
{
	struct signalfd_siginfo info;
	siginfo_t waited;
	int fd = signalfd(-1, set, 0);
	sigset_t none;

	sigemptyset(&none);
	while (!is_last) {
		if (strcmp(way, "wait") == 0) {
			if (sigwaitinfo(set, &waited) > 0)
				take(waited.si_value.sival_int);
		} else if (strcmp(way, "fd") == 0) {
			if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
				take(info.ssi_int);
		} else {
			sigsuspend(&none);
		}
	}
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "handler";
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	pid_t pid, self = getpid();
	sigset_t set;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGRTMIN, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = fork();
	if (pid == 0)
		_exit(send_all(self));
	if (fork() == 0) {
		told(NULL); /* the receiver itself has no time to read */
		atomic_store(&shared->is_ending, true);
		_exit(0);
	}
	say("ready");
	receive(way, &set);
	say("lost %ld", atomic_load(&shared->sent) - atomic_load(&shared->received));
	say("disorder %ld", disorder);
	say("enough %d", atomic_load(&shared->received) >= AT_LEAST);
	while (wait(NULL) > 0)
		;
	return 0;
}
