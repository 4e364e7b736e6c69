/* page_exact MODE: accesses to a variable that several threads, handlers and children make, each mode with numbers
 * that are known beforehand. It says "at ADDRESS" of the variable and "ready"; after a line it runs, and says
 * "result NUMBER", which is the same unwatched. */
#include "handshake.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define PAGE	4096
#define THREADS 4
#define STACK_BYTES (16L * PAGE)

/* v, and in the same page what takes part. */
static struct {
	volatile long v, other;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct pollfd poll;
	char buffer[64];
	struct iovec iovec;
	struct msghdr message;
} page __attribute__((aligned(PAGE))) = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
static volatile long in_data __attribute__((aligned(PAGE))) = 1;
static volatile char array[1 << 20] __attribute__((aligned(PAGE)));
static volatile long *where = &page.v;
static int times = 5000;
static volatile sig_atomic_t alarms;

__attribute__((noinline)) static void add_one(volatile long *p)
{
	__asm__ volatile("lock incq %0" : "+m"(*p));
}

/* One instruction, and not atomic. */
__attribute__((noinline)) static void add_plain(volatile long *p)
{
	__asm__ volatile("incq %0" : "+m"(*p));
}

/* Four threads, each as often. */
static long threads_run(void *(*work)(void *))
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return *where;
}

static void *add_atomic(void *arg)
{
	for (int i = 0; i < times; i++)
		add_one(where);
	return arg;
}

/* How often it was tried is not known beforehand: the program counts that itself. */
static atomic_long tries;

static void *add_compared(void *arg)
{
	for (int i = 0; i < times; i++) {
		long old = page.other;
		bool is_done;

		do {
			long new = old + 1;

			__asm__ volatile("lock cmpxchgq %3,%1; sete %0" : "=q"(is_done), "+m"(*where), "+a"(old) : "r"(new) : "cc");
			atomic_fetch_add(&tries, 1);
		} while (!is_done);
	}
	return arg;
}

static void *add_locked(void *arg)
{
	for (int i = 0; i < times / 5 * 2; i++) {
		pthread_mutex_lock(&page.mutex);
		add_plain(where);
		if (i % 16 == 0)
			sched_yield();
		pthread_mutex_unlock(&page.mutex);
	}
	return arg;
}

static void *add_mixed(void *arg)
{
	for (int i = 0; i < times / 5; i++) {
		long old = 1;

		add_one(where);
		pthread_mutex_lock(&page.mutex);
		add_one(where);
		pthread_mutex_unlock(&page.mutex);
		__asm__ volatile("lock xaddq %0,%1" : "+r"(old), "+m"(*where)::"cc");
	}
	return arg;
}

static long run_atomic(void) { return threads_run(add_atomic); }
static long run_mutex(void) { return threads_run(add_locked); }
static long run_mixed(void) { return threads_run(add_mixed); }

static long run_compared(void)
{
	threads_run(add_compared);
	say("tries %ld", (long)tries);
	return *where;
}

/* A handler that runs on the stack of what it interrupts, every millisecond. */
static void on_alarm(int sig)
{
	volatile char frame[256];

	frame[0] = (char)sig;
	frame[255] = frame[0];
	alarms++;
}

static void alarms_begin(void *stack)
{
	struct itimerval every = {{0, 1000}, {0, 1000}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	if (stack) {
		sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_BYTES}, NULL);
		action.sa_flags |= SA_ONSTACK;
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void alarms_end(void)
{
	while (alarms == 0)
		sched_yield();
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
}

static long run_alone(void)
{
	for (int i = 0; i < times; i++)
		add_one(where);
	return *where;
}

static long run_alarmed(void)
{
	alarms_begin(NULL);
	run_alone();
	alarms_end();
	return *where;
}

/* The handler's frame is put where v lies. */
static long run_altstack(void)
{
	alarms_begin((char *)(uintptr_t)where - STACK_BYTES - 64);
	run_alone();
	alarms_end();
	return *where;
}

static long run_array(void)
{
	long sum = 0;

	for (size_t i = 0; i < sizeof(array); i += 1024)
		array[i] = 1;
	for (size_t i = 0; i < sizeof(array); i += 1024)
		sum += array[i];
	return sum;
}

/* So many reads are native, as only writes are watched. */
static void *read_it(void *arg)
{
	while (*(volatile long *)arg < times)
		;
	return arg;
}

static long run_read(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, read_it, (void *)(uintptr_t)where);
	run_alone();
	pthread_join(thread, NULL);
	return *where;
}

static long children_run(pid_t (*start)(void), int children)
{
	long sum = 0;

	for (int i = 0; i < children; i++) {
		int status = 0;
		pid_t pid = start();

		if (pid == 0) {
			for (int j = 0; j < 100; j++)
				add_one(where);
			_exit((int)(*where % 101));
		}
		waitpid(pid, &status, 0);
		sum += WEXITSTATUS(status);
		add_one(where);
	}
	return sum * 10000 + *where;
}

static long run_forks(void) { return children_run(fork, 10); }

static long run_vforks(void)
{
	long sum = 0;

	for (int i = 0; i < 10; i++) {
		int status = 0;
		pid_t pid = vfork();

		if (pid == 0)
			_exit(7);
		waitpid(pid, &status, 0);
		sum += WEXITSTATUS(status);
		add_one(where);
		posix_spawn(&pid, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, NULL);
		waitpid(pid, &status, 0);
		sum += status == 0;
		add_one(where);
	}
	return sum * 1000 + *where;
}

/* Threads that are born and die, v on the stack of each first one. */
static void *add_few(void *arg)
{
	for (int i = 0; i < 10; i++)
		add_one(where);
	return arg;
}

static long run_births(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	long joined = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, (char *)(uintptr_t)where - 1024 - 60 * PAGE, 64 * PAGE);
	for (int i = 0; i < 50; i++) {
		void *back = NULL;

		if (pthread_create(&thread, &attr, add_few, &back) == 0 && pthread_join(thread, &back) == 0)
			joined += back == &back;
	}
	return joined * 1000 + *where;
}

static void *die_locked(void *arg)
{
	pthread_mutex_lock(arg);
	return arg;
}

static long run_robust(void)
{
	pthread_mutexattr_t attr;
	long dead = 0;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		pthread_mutex_init(&page.mutex, &attr);
		pthread_create(&thread, NULL, die_locked, &page.mutex);
		pthread_join(thread, NULL);
		dead += pthread_mutex_lock(&page.mutex) == EOWNERDEAD;
		pthread_mutex_consistent(&page.mutex);
		pthread_mutex_unlock(&page.mutex);
		add_one(where);
	}
	return dead * 1000 + *where;
}

/* Somebody sleeps in a call with its arguments in the page while v is written. */
static int pair[2];
static char waits_for;

static void *wait_in_call(void *arg)
{
	long n = -1;

	if (waits_for == 'r')
		n = read(pair[0], page.buffer, sizeof(page.buffer));
	else if (waits_for == 'p')
		n = poll(&page.poll, 1, -1) == 1 && page.poll.revents == POLLIN;
	else
		n = recvmsg(pair[0], &page.message, 0);
	*(long *)arg = n;
	return arg;
}

static long run_waiting(char what)
{
	pthread_t thread;
	long n = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -1;
	waits_for = what;
	page.poll = (struct pollfd){.fd = pair[0], .events = POLLIN};
	page.iovec = (struct iovec){page.buffer, sizeof(page.buffer)};
	page.message = (struct msghdr){.msg_iov = &page.iovec, .msg_iovlen = 1};
	pthread_create(&thread, NULL, wait_in_call, &n);
	for (int i = 0; i < times; i++)
		add_one(where);
	if (write(pair[1], "hello", 5) != 5)
		return -1;
	pthread_join(thread, NULL);
	return n * 1000000 + *where + (what == 'p' ? 0 : memcmp(page.buffer, "hello", 5));
}

static long run_reads(void) { return run_waiting('r'); }
static long run_polls(void) { return run_waiting('p'); }
static long run_receives(void) { return run_waiting('m'); }

static void *wait_signalled(void *arg)
{
	pthread_mutex_lock(&page.mutex);
	while (page.other < 200)
		pthread_cond_wait(&page.cond, &page.mutex);
	pthread_mutex_unlock(&page.mutex);
	return arg;
}

static long run_conds(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, wait_signalled, NULL);
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&page.mutex);
		page.other++;
		add_plain(where);
		pthread_cond_broadcast(&page.cond);
		pthread_mutex_unlock(&page.mutex);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return *where;
}

/* Code that is written anew at the same place: by turns, it adds and takes away. */
static long run_code(void)
{
	unsigned char *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < times; i++) {
		/* addq $1,(%rdi) or subq $1,(%rdi); ret */
		const unsigned char text[] = {0x48, 0x83, i % 3 == 0 ? 0x2f : 0x07, 1, 0xc3};

		memcpy(code, text, sizeof(text));
		((void (*)(volatile long *))(uintptr_t)code)(where);
	}
	return *where;
}

static const struct mode {
	const char *name;
	long (*run)(void);
	char place; /* of v */
} modes[] = {
	{"atomic", run_atomic, 'p'},
	{"compared", run_compared, 'p'},
	{"mutex", run_mutex, 'p'},
	{"mixed", run_mixed, 'p'},
	{"conds", run_conds, 'p'},
	{"heap", run_atomic, 'h'},
	{"data", run_atomic, 'd'},
	{"stack", run_alarmed, 's'},
	{"altstack", run_altstack, 'm'},
	{"shared", run_atomic, 'S'},
	{"shm", run_atomic, 'f'},
	{"across", run_alone, 'x'},
	{"array", run_array, 'a'},
	{"reader", run_read, 'p'},
	{"forks", run_forks, 'p'},
	{"sharedforks", run_forks, 'S'},
	{"vforks", run_vforks, 'p'},
	{"births", run_births, 't'},
	{"robust", run_robust, 'p'},
	{"read", run_reads, 'p'},
	{"poll", run_polls, 'p'},
	{"recvmsg", run_receives, 'p'},
	{"code", run_code, 'p'},
};

static volatile long *mapped(int flags, int file, size_t offset)
{
	return (volatile long *)(uintptr_t)((char *)mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, flags, file, 0) + offset);
}

static volatile long *place(char where_to, volatile long *on_stack)
{
	switch (where_to) {
	case 'h':
		return calloc(1, 64);
	case 'd':
		in_data = 0;
		return &in_data;
	case 's':
		return on_stack;
	case 'm':
		return mapped(MAP_PRIVATE | MAP_ANONYMOUS, -1, 31 * PAGE + 4064);
	case 't':
		return mapped(MAP_PRIVATE | MAP_ANONYMOUS, -1, 60 * PAGE + 1024);
	case 'x':
		return mapped(MAP_PRIVATE | MAP_ANONYMOUS, -1, PAGE - 4);
	case 'S':
		return mapped(MAP_SHARED | MAP_ANONYMOUS, -1, 64);
	case 'f': {
		int file = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);

		return file < 0 || ftruncate(file, 64L * PAGE) ? NULL : mapped(MAP_SHARED, file, 64);
	}
	case 'a':
		return (volatile long *)(uintptr_t)array;
	default:
		return &page.v;
	}
}

int main(int argc, char **argv)
{
	volatile long on_stack = 0;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		if (argc > 2)
			times = atoi(argv[2]);
		where = place(modes[i].place, &on_stack);
		say("at 0x%lx", (long)(uintptr_t)where);
		say("ready");
		told(NULL);
		say("result %ld", modes[i].run());
		return 0;
	}
	return 1;
}
