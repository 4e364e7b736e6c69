/* jobs: a parent (it says "ready" and its child's id) and a child whose two threads write v. Lines to the
 * parent: b (the child begins to write), s or t (stop it by SIGSTOP or SIGTSTP; the parent sees it stop, and
 * v at rest), c (continue it; the parent sees that, and v written again), e (the child ends with 3; the
 * parent says how many writes and runs of its handler of SIGCONT there were, and exits with 0). */
#include "handshake.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define WRITERS 2

struct shared {
	atomic_bool is_begun, is_over;
	atomic_long writes;
	atomic_int continued;
};

volatile long v;
static struct shared *shared;

static void count_continue(int sig)
{
	(void)sig;
	atomic_fetch_add(&shared->continued, 1);
}

__attribute__((noinline)) static void write_one(void)
{
	v = 1;
}

static void *work(void *argument)
{
	while (!atomic_load(&shared->is_begun))
		sched_yield();
	while (!atomic_load(&shared->is_over)) {
		write_one();
		atomic_fetch_add(&shared->writes, 1);
	}
	return argument;
}

static int child(void)
{
	pthread_t threads[WRITERS];

	for (int i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	return 3;
}

/* No writes for the time of 20 ms: a test that cannot fail by being too slow. */
static bool is_at_rest(void)
{
	long before = atomic_load(&shared->writes);
	struct timespec pause = {0, 20000000};

	nanosleep(&pause, NULL);
	return atomic_load(&shared->writes) == before;
}

static void do_stop(pid_t pid, int sig)
{
	int status = 0;

	kill(pid, sig);
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		say("not stopped: status %#x", status);
	else
		say("stopped by %d, %s", WSTOPSIG(status), is_at_rest() ? "at rest" : "writing");
}

static void do_continue(pid_t pid)
{
	long before = atomic_load(&shared->writes);
	int status = 0, handled = atomic_load(&shared->continued);

	kill(pid, SIGCONT);
	if (waitpid(pid, &status, WCONTINUED) != pid || !WIFCONTINUED(status)) {
		say("not continued: status %#x", status);
		return;
	}
	/* A handler that had not run yet would be lost by the next stop signal (signal(7)). */
	while (atomic_load(&shared->continued) <= handled)
		sched_yield();
	while (atomic_load(&shared->is_begun) && atomic_load(&shared->writes) < before + 10)
		sched_yield();
	say("continued");
}

int main(void)
{
	char word = 0;
	int status = 0;
	pid_t pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	signal(SIGCONT, count_continue);
	pid = fork();
	if (pid == 0)
		_exit(child());
	/* SIGTSTP does nothing to an orphaned process group: one without a parent in another group. */
	setpgid(pid, pid);
	say("ready %d", pid);
	while (word != 'e' && told(&word)) {
		if (word == 'b')
			atomic_store(&shared->is_begun, true);
		else if (word == 's' || word == 't')
			do_stop(pid, word == 's' ? SIGSTOP : SIGTSTP);
		else if (word == 'c')
			do_continue(pid);
	}
	atomic_store(&shared->is_over, true);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
		say("the child did not end as it should: status %#x", status);
	say("writes %ld", atomic_load(&shared->writes));
	say("handled %d", atomic_load(&shared->continued));
	return 0;
}
