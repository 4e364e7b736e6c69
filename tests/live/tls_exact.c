/* tls_exact MODE [LIBRARY]: accesses to thread-local variables while threads begin, end, fork and take signals, and while the
 * kernel uses what lies beside the variables; each mode with numbers that are known beforehand. It says "ready"; after a line it
 * runs, and says "result NUMBER", which is the same unwatched. */
#include "handshake.h"
#include "tls_library.h"
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define THREADS 4

__thread volatile long counter;
static __thread struct {
	char buffer[64];
	struct timespec time;
	struct pollfd poll;
	struct iovec iovec;
	pthread_mutex_t mutex;
	sem_t semaphore;
} beside;
static int times = 2000;
static atomic_long sum;
static pthread_barrier_t barrier;
static int (*bump)(int times);
static pthread_mutex_t *mutex;
static sem_t ended;

__attribute__((noinline)) static void add_one(void)
{
	__asm__ volatile("incq %0" : "+m"(counter));
}

static void add(int n)
{
	while (n-- > 0)
		add_one();
}

static void threads_run(void *(*work)(void *), int n)
{
	pthread_t thread[64];

	for (int i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, work, (void *)(long)i);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

/* Each has its own, and what it counts is its own. */
static void *count(void *arg)
{
	pthread_barrier_wait(&barrier);
	add(times);
	sum += counter;
	return arg;
}

static void counters(void)
{
	pthread_barrier_init(&barrier, NULL, THREADS);
	threads_run(count, THREADS);
}

/* Threads that begin and end: some are joined, others end by themselves, or by the bare call. */
static void *live_shortly(void *arg)
{
	add(5);
	sum += counter;
	if ((long)arg % 3 == 1)
		pthread_exit(arg);
	return arg;
}

static void *live_alone(void *arg)
{
	add(3);
	sum += counter;
	sem_post(&ended);
	return arg;
}

static void births(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	sem_init(&ended, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 20; i++) {
		threads_run(live_shortly, 8);
		pthread_create(&thread, &attr, live_alone, NULL);
		sem_wait(&ended);
	}
}

/* What comes with a library, in threads that are there before it and in later ones. */
static void *bump_late(void *arg)
{
	if ((long)arg < THREADS)
		pthread_barrier_wait(&barrier);
	sum += bump(times);
	return arg;
}

static void library(const char *path)
{
	pthread_t thread[THREADS];
	void *handle;

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, bump_late, (void *)(long)i);
	handle = dlopen(path, RTLD_NOW);
	bump = handle ? (int (*)(int))dlsym(handle, "tls_late_bump") : NULL;
	if (!bump)
		exit(1);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 3; i++) {
		pthread_create(&thread[0], NULL, bump_late, (void *)(long)THREADS);
		pthread_join(thread[0], NULL);
	}
}

/* Children of a thread: forked ones count on, in threads of their own, too; others only run a program. */
static void *fork_on(void *arg)
{
	char *const command[] = {"true", NULL};
	int status;
	pid_t child;

	for (int i = 0; i < 5; i++) {
		add(10);
		child = fork();
		if (child == 0) {
			add(20);
			sum = 0;
			threads_run(live_shortly, 2);
			_exit((int)(counter + sum) & 0x7f);
		}
		waitpid(child, &status, 0);
		sum += WEXITSTATUS(status) + 1000L * WTERMSIG(status);
		if (posix_spawnp(&child, "true", NULL, NULL, command, NULL) == 0)
			waitpid(child, &status, 0);
		sum += WEXITSTATUS(status) + 1000L * WTERMSIG(status);
	}
	return arg;
}

static void forks(void)
{
	threads_run(fork_on, 1);
	fork_on(NULL);
}

/* Does the kernel keep the thread's area of rseq(2), as it does from its registration on? */
static bool is_registered(void)
{
#ifdef RSEQ_SIG
	return __rseq_size && (int)((struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset))->cpu_id >= 0;
#else
	return false;
#endif
}

/* Children, which are not watched, are as they would be. */
static void *fork_off(void *arg)
{
	int status;
	pid_t child;

	for (int i = 0; i < 5; i++) {
		add(2);
		child = fork();
		if (child == 0)
			_exit(is_registered());
		waitpid(child, &status, 0);
		sum += WEXITSTATUS(status) + 1000L * WTERMSIG(status);
	}
	return arg;
}

static void sequences(void)
{
	threads_run(fork_off, 1);
}

/* Handlers that count, on the stack beside. */
static void handle(int sig)
{
	(void)sig;
	add_one();
	sem_post(&ended);
}

static void *take_signals(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100; i++) {
		add_one();
		raise(SIGUSR1);
	}
	pthread_barrier_wait(&barrier);
	while (counter < 300)
		sched_yield();
	sum += counter;
	return arg;
}

static void signals(void)
{
	struct sigaction action = {.sa_handler = handle};
	pthread_t thread;

	sem_init(&ended, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, take_signals, NULL);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100; i++)
		sem_wait(&ended);
	for (int i = 0; i < 100; i++) {
		pthread_kill(thread, SIGUSR1);
		sem_wait(&ended);
	}
	pthread_join(thread, NULL);
}

/* Locks whose owners end: the kernel finds them by a list beside the variable. */
static void *leave_locked(void *arg)
{
	pthread_mutex_lock(mutex);
	add(4);
	return arg;
}

static void take_over(void)
{
	if (pthread_mutex_lock(mutex) == EOWNERDEAD) {
		pthread_mutex_consistent(mutex);
		sum += 1;
	}
	pthread_mutex_unlock(mutex);
}

static void robust(void)
{
	pthread_mutexattr_t attr;
	pid_t child;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutex_init(mutex, &attr);
	for (int i = 0; i < 6; i++) {
		threads_run(leave_locked, 1);
		take_over();
		child = fork();
		if (child == 0) {
			leave_locked(NULL);
			if (i % 3 == 0)
				_exit(0); /* all at once */
			if (i % 3 == 1)
				raise(SIGTERM);
			syscall(SYS_exit, 0);
		}
		waitpid(child, NULL, 0);
		take_over();
	}
}

/* Calls whose arguments and results lie beside the variable. */
static void *call(void *arg)
{
	int ends[2];

	if (pipe(ends))
		return NULL;
	sem_init(&beside.semaphore, 0, 0);
	pthread_mutex_init(&beside.mutex, NULL);
	for (int i = 0; i < 50; i++) {
		add_one();
		memcpy(beside.buffer, "0123456789", 11);
		sum += write(ends[1], beside.buffer, 11);
		beside.poll = (struct pollfd){.fd = ends[0], .events = POLLIN};
		sum += poll(&beside.poll, 1, 1000);
		beside.iovec = (struct iovec){beside.buffer + 20, 11};
		sum += readv(ends[0], &beside.iovec, 1);
		sum += beside.buffer[29] == '9';
		beside.time = (struct timespec){.tv_nsec = 1000};
		sum += nanosleep(&beside.time, NULL) == 0;
		sum += clock_gettime(CLOCK_MONOTONIC, &beside.time) == 0;
		pthread_mutex_lock(&beside.mutex);
		pthread_mutex_unlock(&beside.mutex);
		beside.time.tv_sec = 0;
		sum += sem_timedwait(&beside.semaphore, &beside.time) == -1 && errno == ETIMEDOUT;
		sum += read(-1, beside.buffer, 1) == -1 && errno == EBADF;
		sum += sched_getcpu() >= 0;
	}
	close(ends[0]);
	close(ends[1]);
	return arg;
}

static void calls(void)
{
	threads_run(call, THREADS);
	call(NULL);
}

/* Threads that work, begin and end, until the next line; watched for some of the time. What is wrong is counted. */
static atomic_bool is_over;

static void *begin_anew(void *arg)
{
	add(20);
	sum += counter != 20;
	return arg;
}

static void *work_on(void *arg)
{
	pthread_t thread;

	for (long n = 1; !is_over; n++) {
		add_one();
		sum += counter != n;
		if (n % 50)
			continue;
		pthread_create(&thread, NULL, begin_anew, NULL);
		pthread_join(thread, NULL);
	}
	return arg;
}

static void rounds(void)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work_on, NULL);
	say("going");
	told(NULL);
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

/* The first thread ends before others do. */
static void *outlive(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	threads_run(live_shortly, 4);
	add(6);
	sum += counter;
	say("result %ld", (long)sum);
	exit(0);
}

static void leader(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	add(7);
	sum += counter;
	pthread_create(&thread, NULL, outlive, &self);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {{"counters", counters}, {"births", births}, {"forks", forks}, {"sequences", sequences}, {"signals", signals}, {"robust", robust},
		{"calls", calls}, {"leader", leader}, {"rounds", rounds}};

	say("ready");
	told(NULL);
	if (argc > 2)
		library(argv[2]);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && argc > 1; i++) {
		if (strcmp(argv[1], modes[i].name) == 0)
			modes[i].run();
	}
	say("result %ld", (long)sum);
	return 0;
}
