/* page_trials TRIAL: what a program may do to, or around, a page that is watched in it, and what
 * comes of it is the same unwatched. It says "at ADDRESS" of the variable and "ready"; after a line
 * it does so, and says "result NUMBER". */
#include "handshake.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define PAGE 4096

static char *memory; /* three pages, v in the second */
static volatile long *v;
static pthread_barrier_t barrier;

__attribute__((noinline)) static void add_one(volatile long *p)
{
	__asm__ volatile("lock incq %0" : "+m"(*p));
}

static void on_signal(int sig)
{
	(void)sig;
}

/* The program's own protections, while it is watched. */
static volatile int faults;

static void on_fault(int sig)
{
	(void)sig;
	faults++;
	mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static long try_mprotect(void)
{
	signal(SIGSEGV, on_fault);
	for (int i = 0; i < 100; i++) {
		mprotect(memory + PAGE, PAGE, i % 2 ? PROT_NONE : PROT_READ);
		add_one(v);
		mprotect(memory, 3 * PAGE, PROT_READ | PROT_WRITE);
		add_one(v);
	}
	return faults * 1000 + *v;
}

static long try_munmap(void)
{
	long sum = 0;

	for (int i = 0; i < 50; i++) {
		add_one(v);
		sum += *v;
		munmap(memory + PAGE, PAGE);
		if (mmap(memory + PAGE, PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return -1;
		sum += *v * 100;
	}
	return sum;
}

static long try_fixed(void)
{
	long sum = 0;

	for (int i = 0; i < 50; i++) {
		add_one(v);
		sum += *v;
		if (mmap(memory, 3L * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return -1;
	}
	return sum;
}

static long try_mremap(void)
{
	char *other = mmap(NULL, 3L * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 50; i++) {
		add_one(v);
		if (mremap(memory, 3L * PAGE, 3L * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, other) !=
			other)
			return -1;
		++*(volatile long *)(other + ((char *)(uintptr_t)v - memory));
		if (mremap(other, 3L * PAGE, 3L * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, memory) !=
			memory)
			return -2;
	}
	return *v;
}

static long try_madvise(void)
{
	long sum = 0;

	for (int i = 0; i < 50; i++) {
		add_one(v);
		sum += *v;
		madvise(memory, 3L * PAGE, MADV_DONTNEED);
	}
	return sum;
}

/* Code that is made where a breakpoint is. */
static long try_code(void)
{
	static const unsigned char seven[] = {0xb8, 7, 0, 0, 0, 0xc3}; /* mov $7, %eax; ret */
	void *code = (void *)(uintptr_t)v;

	mprotect(memory + PAGE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(code, seven, sizeof(seven));
	say("made");
	told(NULL);
	return ((int (*)(void))(uintptr_t)code)();
}

/* Calls about memory elsewhere, with anything in the registers of arguments that they have not. */
static void *brk_for_ever(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (;;)
		syscall(SYS_brk, 0L, 0x7fffffffffffL);
	return arg;
}

static long try_brk(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, brk_for_ever, NULL);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 5000; i++)
		add_one(v);
	return *v;
}

/* The heap shrinks by much, and grows again. */
#define HEAP (200L << 20)
static long try_heap(void)
{
	long sum = 0;

	for (int i = 0; i < 20; i++) {
		add_one(v);
		sum += *v;
		if (sbrk(-HEAP) == (void *)-1 || sbrk(HEAP) == (void *)-1)
			return -1;
	}
	return sum;
}

/* A filter of calls, which lets all pass; a child has it, too. */
static long try_filtered(void)
{
	struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog filter = {1, &pass};
	int status = 0;
	pid_t pid;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return -1;
	add_one(v);
	pid = fork();
	if (pid == 0) {
		add_one(v);
		_exit((int)*v);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status) * 1000 + *v;
}

/* Calls about mappings elsewhere that have something beside v. */
static long try_beside(void)
{
	void *const pages[] = {memory};
	int *status = (int *)(uintptr_t)(v + 2);
	struct iovec *vector = (struct iovec *)(uintptr_t)(v + 4);
	long sum = 0;
	int self;

	*memory = 1;
	for (int i = 0; i < 20; i++) {
		*status = -1;
		sum += syscall(SYS_move_pages, 0, 1UL, pages, NULL, status, 0) * 1000 + *status;
		add_one(v);
	}
	self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	*vector = (struct iovec){memory, PAGE};
	for (int i = 0; i < 20; i++)
		sum += syscall(SYS_process_madvise, self, vector, 1UL, MADV_COLD, 0);
	return sum;
}

/* Pages in turn with one protection and another. */
#define STRIPES 1280L
static long try_striped(void)
{
	return *v;
}

static void striped_make(void)
{
	memory = mmap(NULL, STRIPES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (long i = 0; i < STRIPES; i += 2)
		mprotect(memory + i * PAGE, PAGE, PROT_READ);
	v = (volatile long *)(uintptr_t)memory;
}

/* What lies there could be run, but the program may not. */
static sigjmp_buf back;

static void on_jump(int sig)
{
	siglongjmp(back, sig);
}

static long try_data(void)
{
	static volatile long n;

	*(volatile unsigned char *)v = 0xc3; /* ret */
	signal(SIGSEGV, on_jump);
	for (int i = 0; i < 50; i++) {
		if (sigsetjmp(back, 1))
			n += 1000;
		else
			((void (*)(void))(uintptr_t)v)();
		n++;
	}
	return n;
}

/* Endings. */

static void *add_for_ever(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (;;)
		add_one(arg);
	return arg;
}

static void *sleep_for_ever(void *arg)
{
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return arg;
}

static void busy_begin(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 5);
	for (int i = 0; i < 4; i++)
		pthread_create(
			&thread, NULL, i % 2 ? sleep_for_ever : add_for_ever, (void *)(uintptr_t)v);
	pthread_barrier_wait(&barrier);
}

static long try_exit(void)
{
	busy_begin();
	say("result 5");
	_exit(5);
}

static void *exec_now(void *arg)
{
	say("result 6");
	execl("/bin/sh", "sh", "-c", "exit 6", (char *)NULL);
	return arg;
}

static long try_exec(void)
{
	pthread_t thread;

	busy_begin();
	pthread_create(&thread, NULL, exec_now, NULL);
	pthread_join(thread, NULL);
	return -1;
}

static void *finish(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	for (int i = 0; i < 1000; i++)
		add_one(v);
	say("result %ld", *v);
	exit(7);
}

static long try_leader(void)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	pthread_create(&thread, NULL, finish, &self);
	pthread_exit(NULL);
}

static long try_killed(void)
{
	busy_begin();
	say("result 9");
	kill(getpid(), SIGSEGV);
	for (;;)
		pause();
	return -1;
}

/* The first process of a namespace has no signals but those that it has a handler for (pid_namespaces(7)). */
static long try_first(void)
{
	int status = 0;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return -1;
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 20; i++) {
			add_one(v);
			if (i % 10 == 9) {
				kill(getpid(), SIGUSR1);
				kill(getpid(), SIGSEGV);
			}
		}
		_exit((int)*v);
	}
	waitpid(pid, &status, 0);
	return status;
}

/* Without a word to the other threads: there is none. */
static long try_last(void)
{
	say("result 8");
	syscall(SYS_exit, 8);
	return -1;
}

/* Many threads at once. */

static void *add_many(void *arg)
{
	for (int i = 0; i < 20; i++) {
		add_one(v);
		sched_yield();
	}
	return arg;
}

static void *fork_many(void *arg)
{
	for (int i = 0; i < 5; i++) {
		int status = 0;
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		if (status == 0)
			add_one(v);
	}
	return arg;
}

/* glibc makes all threads call setgid, by a signal. */
static void *set_many(void *arg)
{
	for (int i = 0; i < 20; i++) {
		if (setegid(getegid()) == 0)
			add_one(v);
	}
	return arg;
}

static long together(void *(*work)(void *), int n)
{
	pthread_attr_t small;
	pthread_t thread[200];

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < n; i++)
		pthread_create(&thread[i], &small, work, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return *v;
}

static long try_crowd(void)
{
	return together(add_many, 200);
}
static long try_vforks(void)
{
	return together(fork_many, 8);
}
static long try_setegid(void)
{
	return together(set_many, 8);
}

/* Stopped and continued by another process, all the time. */
static long try_stops(void)
{
	pid_t self = getpid(), child = fork();

	if (child == 0) {
		for (int i = 0; i < 100; i++) {
			kill(self, SIGSTOP);
			sched_yield();
			kill(self, SIGCONT);
			sched_yield();
		}
		_exit(0);
	}
	for (int i = 0; i < 5000; i++)
		add_one(v);
	waitpid(child, NULL, 0);
	return *v;
}

/* A timer of 1 kHz. */
static long try_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	struct itimerspec every = {{0, 1000000}, {0, 1000000}};
	timer_t timer;

	signal(SIGUSR2, on_signal);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &every, NULL);
	for (int i = 0; i < 5000; i++)
		add_one(v);
	timer_delete(timer);
	return *v;
}

/* It steps itself: each instruction traps. */
static volatile int traps;

static void on_trap(int sig)
{
	(void)sig;
	traps++;
}

static long try_steps(void)
{
	signal(SIGTRAP, on_trap);
	v[1] = 7;
	for (int i = 0; i < 20; i++) {
		long low = 100, high = 0;

		/* The compiler may keep nothing below the stack pointer here. */
		__asm__ volatile("sub $128,%%rsp; pushfq; orq $0x100,(%%rsp); popfq; nop; lock incq %0; nop; divq %3;"
				 "pushfq; andq $~0x100,(%%rsp); popfq; add $128,%%rsp"
				 : "+m"(*v), "+a"(low), "+d"(high)
				 : "m"(v[1])
				 : "cc", "memory");
	}
	return traps * 1000 + *v;
}

/* Calls by the gate of 32-bit code: their numbers mean other calls elsewhere. */
static sigjmp_buf no_gate;

static void on_no_gate(int sig)
{
	siglongjmp(no_gate, sig);
}

static long gate_call(long nr, long a, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "0"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

/* Kernels may do without it. */
static bool has_gate(void)
{
	bool is_there = false;

	signal(SIGSEGV, on_no_gate);
	if (sigsetjmp(no_gate, 1) == 0)
		is_there = gate_call(20, 0, 0, 0) == getpid();
	signal(SIGSEGV, SIG_DFL);
	return is_there;
}

static long try_gate(void)
{
	char *text = memory + PAGE + 1024, *back = text + 64;
	bool is_there = has_gate();
	long sum = 0;
	int fds[2];

	if (pipe(fds))
		return -1;
	strcpy(text, "by the gate");
	for (int i = 0; i < 50; i++) {
		add_one(v);
		if (!is_there)
			continue;
		sum += gate_call(4, fds[1], (long)text, 11);			    /* write */
		sum += gate_call(3, fds[0], (long)back, 11);			    /* read */
		sum += gate_call(60, 022, 0, 0);				    /* umask; elsewhere exit */
		sum += gate_call(125, (long)memory, 3L * PAGE, PROT_READ | PROT_WRITE); /* mprotect */
		sum += back[i % 11];
	}
	return sum * 1000 + *v;
}

/* The last thread ends: all of the process does. */
static long try_gateexit(void)
{
	add_one(v);
	say("result 8");
	if (has_gate())
		gate_call(1, 8, 0, 0);
	syscall(SYS_exit, 8);
	return -1;
}

/* time(2) by the vsyscall page, where there is one: the kernel makes that call itself, at an address for code only. */
static long try_vsyscall(void)
{
	time_t (*volatile old_time)(time_t *) = (time_t(*)(time_t *))0xffffffffff600400;
	time_t *when = (time_t *)(v + 1);
	volatile long n_right = 0, n_faults = 0;

	signal(SIGSEGV, on_no_gate);
	for (volatile int i = 0; i < 50; i++) {
		add_one(v);
		if (sigsetjmp(no_gate, 1))
			continue; /* there is none */
		n_right += old_time(when) == *when && *when > 1000000;
		if (sigsetjmp(no_gate, 1))
			n_faults++;
		else
			old_time((time_t *)PAGE); /* nothing is there */
	}
	return (n_right * 100 + n_faults) * 1000 + *v;
}

static const struct trial {
	const char *name;
	long (*run)(void);
} trials[] = {
	{"mprotect", try_mprotect},
	{"munmap", try_munmap},
	{"fixed", try_fixed},
	{"mremap", try_mremap},
	{"madvise", try_madvise},
	{"brk", try_brk},
	{"heap", try_heap},
	{"filtered", try_filtered},
	{"beside", try_beside},
	{"striped", try_striped},
	{"code", try_code},
	{"data", try_data},
	{"exit", try_exit},
	{"exec", try_exec},
	{"leader", try_leader},
	{"killed", try_killed},
	{"first", try_first},
	{"last", try_last},
	{"crowd", try_crowd},
	{"vforks", try_vforks},
	{"setegid", try_setegid},
	{"stops", try_stops},
	{"timer", try_timer},
	{"steps", try_steps},
	{"gate", try_gate},
	{"vsyscall", try_vsyscall},
	{"gateexit", try_gateexit},
};

int main(int argc, char **argv)
{
	memory = mmap(NULL, 3L * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	v = (volatile long *)(uintptr_t)(memory + PAGE + 128);
	if (argc > 1 && strcmp(argv[1], "striped") == 0)
		striped_make();
	if (argc > 1 && strcmp(argv[1], "heap") == 0)
		v = (volatile long *)((uintptr_t)sbrk(HEAP) + HEAP / 2);
	for (size_t i = 0; argc > 1 && i < sizeof(trials) / sizeof(trials[0]); i++) {
		if (strcmp(argv[1], trials[i].name) != 0)
			continue;
		say("at 0x%lx", (long)(uintptr_t)v);
		say("ready");
		told(NULL);
		say("result %ld", trials[i].run());
		return 0;
	}
	return 1;
}
