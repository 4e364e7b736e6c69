/* calls_process: the cases of calls_list.h that concern processes, signals, time, messages and the
 * system. They leave the process as it was. */
#ifndef CALLS_PROCESS_H
#define CALLS_PROCESS_H

#include "calls_list.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

/* The kernel's struct sigaction. */
struct action {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

#define SET_BYTES 8 /* of the kernel's signal set */

static uint64_t *signal_set(struct calls *c, int signal)
{
	uint64_t *set = room(c, SET_BYTES);

	*set = 1ULL << (signal - 1);
	return set;
}

static void case_sigprocmask(struct calls *c)
{
	uint64_t *set = signal_set(c, SIGUSR1), *old = room(c, SET_BYTES);

	CALL(c, SYS_rt_sigprocmask, SIG_BLOCK, set, old, SET_BYTES);
	hide_own(c, old, SET_BYTES);
	CALL(c, SYS_rt_sigprocmask, SIG_UNBLOCK, set, set, SET_BYTES); /* in and out are the same */
	note(c, (long)(*set >> (SIGUSR1 - 1) & 1));
	hide_own(c, set, SET_BYTES);
	CALL(c, SYS_rt_sigprocmask, 77, set, old, SET_BYTES);
	hide_own(c, old, SET_BYTES);
}

static void case_sigtimedwait(struct calls *c)
{
	struct timespec none = {0}, *time = put(c, &none, sizeof(none));
	uint64_t *set = signal_set(c, SIGUSR1), *pending = room(c, SET_BYTES);
	siginfo_t *info = room(c, sizeof(*info)), *sent = room(c, sizeof(*sent));

	sigprocmask(SIG_BLOCK, (sigset_t *)set, NULL);
	CALL(c, SYS_rt_sigtimedwait, set, info, time, SET_BYTES);
	sent->si_code = SI_QUEUE;
	sent->si_value.sival_int = 4711;
	CALL(c, SYS_rt_sigqueueinfo, getpid(), SIGUSR1, sent);
	CALL(c, SYS_rt_sigpending, pending, SET_BYTES);
	CALL(c, SYS_rt_sigtimedwait, set, info, time, SET_BYTES);
	CALL(c, SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR1, sent);
	CALL(c, SYS_rt_sigtimedwait, set, info, NULL, SET_BYTES);
	sigprocmask(SIG_UNBLOCK, (sigset_t *)set, NULL);
}

static void case_sigaction(struct calls *c)
{
	struct action *new = room(c, sizeof(*new)), *old = room(c, sizeof(*old));

	new->handler = (void *)SIG_IGN;
	new->mask = 6;
	CALL(c, SYS_rt_sigaction, SIGUSR2, new, old, SET_BYTES);
	new->handler = (void *)SIG_DFL;
	CALL(c, SYS_rt_sigaction, SIGUSR2, new, new, SET_BYTES);
	CALL(c, SYS_rt_sigaction, SIGKILL, new, old, SET_BYTES);
	CALL(c, SYS_rt_sigaction, SIGUSR2, new, old, 7);
	new->mask = 0;
	CALL(c, SYS_rt_sigaction, SIGUSR2, new, old, SET_BYTES);
}

static void case_sigaltstack(struct calls *c)
{
	stack_t *new = room(c, sizeof(*new)), *old = room(c, sizeof(*old));
	void *stack = malloc(SIGSTKSZ);

	*new = (stack_t){.ss_sp = stack, .ss_size = SIGSTKSZ};
	CALL(c, SYS_sigaltstack, NULL, old);
	CALL(c, SYS_sigaltstack, new, NULL);
	CALL(c, SYS_sigaltstack, old, new);
	note(c, new->ss_sp == stack);
	hide(new, sizeof(*new));
	free(stack);
}

static void *hit_count(void)
{
	static int count;

	return &count;
}

static void handler_count(int signal)
{
	(void)signal;
	++*(int *)hit_count();
}

/* A signal comes while the call sleeps: its rest is told. */
static void case_nanosleep(struct calls *c)
{
	struct timespec short_time = {.tv_nsec = 1}, long_time = {.tv_sec = 1000};
	struct timespec *left = room(c, sizeof(*left)), *more = room(c, sizeof(*more));
	/* Again and again: the first may come before the call does. */
	struct itimerval soon = {.it_value = {.tv_usec = 20000}, .it_interval = {.tv_usec = 20000}},
			 off = {0};
	struct sigaction action = {.sa_handler = handler_count}, old;

	CALL(c, SYS_nanosleep, put(c, &short_time, sizeof(short_time)), left);
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &soon, NULL);
	CALL(c, SYS_nanosleep, put(c, &long_time, sizeof(long_time)), left);
	note(c, left->tv_sec >= 990 && left->tv_sec < 1000);
	CALL(c, SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, put(c, &long_time, sizeof(long_time)),
		more);
	setitimer(ITIMER_REAL, &off, NULL);
	note(c, more->tv_sec >= 990 && more->tv_sec < 1000);
	hide(left, sizeof(*left));
	hide(more, sizeof(*more));
	sigaction(SIGALRM, &old, NULL);
	CALL(c, SYS_clock_nanosleep, 99, 0, left, more);
}

static void case_sigsuspend(struct calls *c)
{
	uint64_t *set = room(c, SET_BYTES), *usr = signal_set(c, SIGUSR1);
	struct sigaction action = {.sa_handler = handler_count}, old;
	int before = *(int *)hit_count();

	sigaction(SIGUSR1, &action, &old);
	sigprocmask(SIG_BLOCK, (sigset_t *)usr, NULL);
	kill(getpid(), SIGUSR1);
	CALL(c, SYS_rt_sigsuspend, set, SET_BYTES);
	note(c, *(int *)hit_count() - before);
	sigprocmask(SIG_UNBLOCK, (sigset_t *)usr, NULL);
	sigaction(SIGUSR1, &old, NULL);
}

static void case_clocks(struct calls *c)
{
	struct timespec *now = room(c, sizeof(*now)), *step = room(c, sizeof(*step));
	struct timeval *day = room(c, sizeof(*day));
	int64_t *seconds = room(c, 8), result;
	struct timezone *zone = room(c, sizeof(*zone));

	CALL(c, SYS_clock_gettime, CLOCK_MONOTONIC, now);
	note(c, now->tv_sec > 0);
	CALL(c, SYS_clock_getres, CLOCK_MONOTONIC, step);
	CALL(c, SYS_clock_gettime, 99, step);
	CALL(c, SYS_gettimeofday, day, zone);
	note(c, day->tv_sec > 1000000000);
	result = CALL_QUIET(c, SYS_time, seconds);
	note(c, result == *seconds);
	hide(now, sizeof(*now));
	hide(day, sizeof(*day));
	hide(seconds, sizeof(*seconds));
}

static void case_times(struct calls *c)
{
	struct tms *tms = room(c, sizeof(*tms));
	struct timex *timex = room(c, sizeof(*timex));
	struct rusage *usage = room(c, sizeof(*usage));

	note(c, CALL_QUIET(c, SYS_times, tms) > 0);
	note(c, CALL_QUIET(c, SYS_adjtimex, timex) >= 0);
	note(c, timex->tick > 0);
	hide(timex, sizeof(*timex));
	note(c, CALL_QUIET(c, SYS_clock_adjtime, CLOCK_REALTIME, timex) >= 0);
	note(c, timex->tick > 0);
	CALL(c, SYS_getrusage, RUSAGE_SELF, usage);
	note(c, usage->ru_maxrss > 0);
	hide(tms, sizeof(*tms));
	hide(timex, sizeof(*timex));
	hide(usage, sizeof(*usage));
}

static void case_itimer(struct calls *c)
{
	struct itimerval long_time = {.it_value = {.tv_sec = 1000}, .it_interval = {.tv_sec = 9}};
	struct itimerval *old = room(c, sizeof(*old)), *off = room(c, sizeof(*off));

	CALL(c, SYS_setitimer, ITIMER_VIRTUAL, put(c, &long_time, sizeof(long_time)), old);
	CALL(c, SYS_getitimer, ITIMER_VIRTUAL, old);
	note(c, old->it_value.tv_sec >= 990);
	CALL(c, SYS_setitimer, ITIMER_VIRTUAL, off, old);
	hide(&old->it_value, sizeof(old->it_value));
}

static void case_timer(struct calls *c)
{
	struct sigevent *event = room(c, sizeof(*event));
	struct itimerspec set = {.it_value = {.tv_sec = 1000}, .it_interval = {.tv_sec = 3}};
	struct itimerspec *old = room(c, sizeof(*old)), *now = room(c, sizeof(*now));
	int *timer = room(c, sizeof(*timer)), number;

	event->sigev_notify = SIGEV_NONE;
	CALL(c, SYS_timer_create, CLOCK_MONOTONIC, event, timer);
	number = *timer;
	hide(timer, sizeof(*timer));
	CALL(c, SYS_timer_settime, number, 0, put(c, &set, sizeof(set)), old);
	CALL(c, SYS_timer_gettime, number, now);
	note(c, now->it_value.tv_sec >= 990);
	hide(&now->it_value, sizeof(now->it_value));
	CALL(c, SYS_timer_delete, number);
	CALL(c, SYS_timer_gettime, number, now);
}

static pid_t child_make(int status)
{
	pid_t pid = fork();

	if (!pid)
		_exit(status);
	return pid;
}

static void case_wait(struct calls *c)
{
	int *status = room(c, sizeof(*status));
	struct rusage *usage = room(c, sizeof(*usage));
	siginfo_t *info = room(c, sizeof(*info));
	int fds[2];
	pid_t pid = child_make(3);

	note(c, CALL_QUIET(c, SYS_wait4, pid, status, 0, usage) == pid);
	note(c, *status);
	hide(usage, sizeof(*usage));
	pid = child_make(4);
	CALL(c, SYS_waitid, P_PID, pid, info, WEXITED, usage);
	note(c, info->si_pid == pid);
	hide(&info->si_pid, sizeof(info->si_pid));
	hide(usage, sizeof(*usage));
	hide((char *)info + 32, 16); /* times */
	if (pipe(fds))
		abort();
	pid = fork();
	if (!pid) {
		char byte;

		close(fds[1]);
		_exit(read(fds[0], &byte, 1) != 0);
	}
	close(fds[0]);
	*status = 77;
	CALL(c, SYS_wait4, pid, status, WNOHANG, usage); /* it has not ended: nothing is written */
	CALL(c, SYS_waitid, P_PID, pid, info, WEXITED | WNOHANG, usage);
	close(fds[1]);
	note(c, CALL_QUIET(c, SYS_wait4, pid, status, 0, NULL) == pid);
	CALL(c, SYS_wait4, pid, status, 0, usage);
}

static void case_limits(struct calls *c)
{
	struct rlimit *old = room(c, sizeof(*old)), *same = room(c, sizeof(*same));

	CALL(c, SYS_getrlimit, RLIMIT_CORE, old);
	CALL(c, SYS_setrlimit, RLIMIT_CORE, old);
	CALL(c, SYS_prlimit64, 0, RLIMIT_CORE, old, same);
	CALL(c, SYS_prlimit64, 0, 999, old, same);
	note(c, old->rlim_max == same->rlim_max);
}

static void case_ids(struct calls *c)
{
	CALL(c, SYS_getresuid, room(c, 4), room(c, 4), room(c, 4));
	CALL(c, SYS_getresgid, room(c, 4), room(c, 4), room(c, 4));
	CALL(c, SYS_getgroups, 0, c->page);
	CALL(c, SYS_getgroups, 64, room(c, 256));
	CALL(c, SYS_getgroups, -1, NULL);
}

static void case_capabilities(struct calls *c)
{
	static const uint32_t versions[] = {
		_LINUX_CAPABILITY_VERSION_1, _LINUX_CAPABILITY_VERSION_3, 0x12345};

	for (size_t i = 0; i < 3; i++) {
		uint32_t header[2] = {versions[i], 0}, *at = put(c, header, sizeof(header)),
			 *data = room(c, 24);

		CALL(c, SYS_capget, at, data);
		/* Not with version 1, which would give up half of them. */
		if (i == 1)
			CALL(c, SYS_capset, at, data);
	}
}

static void case_prctl(struct calls *c)
{
	char name[16] = "", *slot = room(c, 16);

	prctl(PR_GET_NAME, name);
	CALL(c, SYS_prctl, PR_SET_NAME, word(c, "a name longer than fifteen"));
	CALL(c, SYS_prctl, PR_GET_NAME, slot);
	CALL(c, SYS_prctl, PR_SET_NAME, word(c, "short"));
	CALL(c, SYS_prctl, PR_GET_NAME, room(c, 16));
	CALL(c, SYS_prctl, PR_GET_PDEATHSIG, room(c, 4));
	CALL(c, SYS_prctl, PR_GET_CHILD_SUBREAPER, room(c, 4));
	CALL(c, SYS_prctl, PR_GET_DUMPABLE);
	CALL(c, SYS_prctl, 12345, room(c, 4));
	prctl(PR_SET_NAME, name);
}

static void case_sched(struct calls *c)
{
	int *priority = room(c, 4);
	uint32_t *attributes = room(c, 64);
	struct timespec *interval = room(c, sizeof(*interval));
	cpu_set_t *set = room(c, sizeof(*set));

	CALL(c, SYS_sched_getparam, 0, priority);
	CALL(c, SYS_sched_setparam, 0, priority);
	CALL(c, SYS_sched_setscheduler, 0, SCHED_OTHER, priority);
	CALL(c, SYS_sched_rr_get_interval, 0, interval);
	note(c, interval->tv_sec > 0 || interval->tv_nsec > 0); /* how long depends on who else runs, before Linux 6.6 */
	hide(interval, sizeof(*interval));
	CALL(c, SYS_sched_getaffinity, 0, sizeof(*set), set);
	CALL(c, SYS_sched_setaffinity, 0, 8, set);
	CALL(c, SYS_sched_getaffinity, 0, 3, set);
	hide_own(c, set, sizeof(*set));
	CALL(c, SYS_sched_getattr, 0, attributes, 64, 0);
	CALL(c, SYS_sched_setattr, 0, attributes, 0);
	attributes[0] = 4096;
	attributes[15] = 0;
	CALL(c, SYS_sched_setattr, 0, attributes, 0);
}

static void case_thread(struct calls *c)
{
	uint64_t *at = room(c, 8), *head = room(c, 8), *len = room(c, 8);
	unsigned *processor = room(c, 4), *node = room(c, 4);

	CALL(c, SYS_arch_prctl, 0x1003, at); /* ARCH_GET_FS */
	note(c, *at != 0);
	CALL(c, SYS_get_robust_list, 0, head, len);
	hide_own(c, at, 8);
	hide_own(c, head, 8);
	CALL(c, SYS_getcpu, processor, node, NULL);
	hide(processor, 4);
}

static void case_system(struct calls *c)
{
	struct sysinfo *info = room(c, sizeof(*info));
	unsigned char *bytes = room(c, 64), all = 0;

	CALL(c, SYS_uname, room(c, 390));
	CALL(c, SYS_sysinfo, info);
	note(c, info->totalram > 0);
	hide(info, sizeof(*info));
	CALL(c, SYS_getrandom, bytes, 64, 0);
	for (size_t i = 0; i < 64; i++)
		all |= bytes[i];
	note(c, all != 0);
	hide(bytes, 64);
	CALL(c, SYS_getrandom, bytes, 64, 0x9999);
}

static void case_process_vm(struct calls *c)
{
	char *from = word(c, "what is to be copied"), *to = room(c, 40);
	struct iovec *local = room(c, sizeof(*local)), *remote = room(c, sizeof(*remote));

	*local = (struct iovec){.iov_base = to, .iov_len = 40};
	*remote = (struct iovec){.iov_base = from, .iov_len = 21};
	CALL(c, SYS_process_vm_readv, getpid(), local, 1, remote, 1, 0);
	local->iov_len = 9;
	remote->iov_base = to + 20;
	CALL(c, SYS_process_vm_writev, getpid(), local, 1, remote, 1, 0);
	CALL(c, SYS_process_vm_readv, getpid(), local, 1, remote, 1, 9);
	note(c, local->iov_base == to);
	hide(local, sizeof(*local));
	hide(remote, sizeof(*remote));
}

static void case_futex(struct calls *c)
{
	static uint32_t outside;
	uint32_t *word_inside = room(c, 4), *pair = room(c, 8);
	struct timespec short_time = {.tv_nsec = 1},
			*time = put(c, &short_time, sizeof(short_time));

	CALL(c, SYS_futex, word_inside, FUTEX_WAKE_PRIVATE, 1);
	CALL(c, SYS_futex, word_inside, FUTEX_WAIT_PRIVATE, 1, NULL);
	CALL(c, SYS_futex, word_inside, FUTEX_WAKE, 1);
	CALL(c, SYS_futex, word_inside, FUTEX_WAIT, 1, NULL);
	CALL(c, SYS_futex, &outside, FUTEX_WAIT_PRIVATE, 0, time);
	CALL(c, SYS_futex, word_inside, FUTEX_WAIT_PRIVATE, 0, time);
	CALL(c, SYS_futex, &outside, FUTEX_WAKE_OP_PRIVATE, 0, 0, word_inside,
		FUTEX_OP(FUTEX_OP_SET, 5, FUTEX_OP_CMP_EQ, 0));
	CALL(c, SYS_futex, word_inside, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, &outside, 4);
	pair[1] = UINT32_MAX; /* no node yet: the kernel sets it (from Linux 6.16 on) */
	CALL(c, 454, pair, UINT32_MAX, 1, 2 | 4 | 128); /* futex_wake: FUTEX2_SIZE_U32, _NUMA, _PRIVATE */
}

/* An exec that fails: names and lists are read, and the program goes on. */
static void case_exec(struct calls *c)
{
	char **list = room(c, 3 * sizeof(*list));

	list[0] = word(c, "one");
	list[1] = word(c, "two");
	CALL(c, SYS_execve, word(c, "/no/such/program"), list, list);
	CALL(c, SYS_execveat, AT_FDCWD, word(c, "none"), list, list, 0);
	note(c, list[0] == (char *)list + 32);
	hide(list, 3 * sizeof(*list));
}

static void case_semaphores(struct calls *c)
{
	int id = semget(IPC_PRIVATE, 2, 0600);
	struct timespec short_time = {.tv_nsec = 1};
	struct sembuf ops[2] = {{.sem_num = 0, .sem_op = 3}, {.sem_num = 1, .sem_op = 1}};
	struct sembuf wait = {.sem_num = 0, .sem_op = -9};
	struct semid_ds *info = room(c, sizeof(*info));
	unsigned short *all = room(c, 2 * sizeof(*all));

	CALL(c, SYS_semop, id, put(c, ops, sizeof(ops)), 2);
	CALL(c, SYS_semtimedop, id, put(c, &wait, sizeof(wait)), 1,
		put(c, &short_time, sizeof(short_time)));
	CALL(c, SYS_semctl, id, 0, GETALL, all);
	all[1] = 8;
	CALL(c, SYS_semctl, id, 0, SETALL, all);
	CALL(c, SYS_semctl, id, 1, GETVAL);
	CALL(c, SYS_semctl, id, 0, SETVAL, 5);
	CALL(c, SYS_semctl, id, 0, IPC_STAT, info);
	note(c, (long)info->sem_nsems);
	CALL(c, SYS_semctl, id, 0, IPC_SET, info);
	hide(info, sizeof(*info));
	CALL(c, SYS_semctl, id, 0, IPC_RMID, info);
}

static void case_shared(struct calls *c)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	struct shmid_ds *info = room(c, sizeof(*info));

	CALL(c, SYS_shmctl, id, IPC_STAT, info);
	note(c, (long)info->shm_segsz);
	CALL(c, SYS_shmctl, id, IPC_SET, info);
	hide(info, sizeof(*info));
	CALL(c, SYS_shmctl, id, IPC_RMID, info);
	CALL(c, SYS_shmctl, id, IPC_STAT, info);
}

static void case_messages(struct calls *c)
{
	struct {
		long type;
		char text[24];
	} message = {.type = 7, .text = "a message"}, *in = room(c, sizeof(*in));
	int id = msgget(IPC_PRIVATE, 0600);
	struct msqid_ds *info = room(c, sizeof(*info));

	CALL(c, SYS_msgsnd, id, put(c, &message, sizeof(message)), 10, 0);
	CALL(c, SYS_msgctl, id, IPC_STAT, info);
	note(c, (long)info->msg_qnum);
	CALL(c, SYS_msgctl, id, IPC_SET, info);
	hide(info, sizeof(*info));
	CALL(c, SYS_msgrcv, id, in, 24, 0, 0);
	CALL(c, SYS_msgrcv, id, in, 24, 0, IPC_NOWAIT);
	CALL(c, SYS_msgctl, id, IPC_RMID, NULL);
}

static void case_mq(struct calls *c)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 32}, *in = room(c, 64);
	struct timespec none = {0}, *time = put(c, &none, sizeof(none));
	char *name = word(c, "watchprof-calls"), *slot = room(c, 32);
	unsigned *priority = room(c, 4);
	struct sigevent *event = room(c, sizeof(*event));
	int fd;

	syscall(SYS_mq_unlink, name);
	fd = (int)CALL_QUIET(
		c, SYS_mq_open, name, O_RDWR | O_CREAT, 0600, put(c, &attr, sizeof(attr)));
	note(c, fd >= 0);
	CALL(c, SYS_mq_timedsend, fd, word(c, "a letter"), 8, 5, time);
	CALL(c, SYS_mq_timedreceive, fd, slot, 32, priority, time);
	CALL(c, SYS_mq_timedreceive, fd, slot, 32, priority, time);
	CALL(c, SYS_mq_timedreceive, fd, slot, 3, priority, time);
	event->sigev_notify = SIGEV_NONE;
	CALL(c, SYS_mq_notify, fd, event);
	CALL(c, SYS_mq_getsetattr, fd, NULL, in);
	CALL(c, SYS_mq_getsetattr, fd, in, room(c, 64));
	CALL(c, SYS_mq_unlink, name);
	CALL(c, SYS_mq_unlink, name);
	close(fd);
}

/* Calls that may be missing here: then they say so in the same way. */
static void case_new_calls(struct calls *c)
{
	uint64_t *range = room(c, 16), *stat = room(c, 40), *attr = room(c, 24);
	int fd = memfd_create("file", 0);

	CALL(c, 451, fd, range, stat, 0);                  /* cachestat */
	CALL(c, 444, attr, 8, 0);                          /* landlock_create_ruleset: no rights */
	CALL(c, 437, AT_FDCWD, word(c, "none"), attr, 24); /* openat2 */
	attr[0] = 1;
	CALL(c, 437, AT_FDCWD, word(c, "none"), attr, 23);
	CALL(c, 464, AT_FDCWD, word(c, "none"), 0, word(c, "user.a"), attr, 16); /* getxattrat */
	CALL(c, SYS_get_mempolicy, room(c, 4), room(c, 128), 1025, 0, 0);
	close(fd);
}

/* Of nodes of memory: the page is looked at itself, and has lists for areas elsewhere. */
static void case_policies(struct calls *c)
{
	int *node = room(c, 4), *status = room(c, 4);
	uint64_t *mask = room(c, 8);
	void *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	void **pages = put(c, &area, sizeof(area));

	*mask = 1;
	CALL(c, SYS_get_mempolicy, node, NULL, 0, c->page, 3); /* MPOL_F_NODE | MPOL_F_ADDR */
	CALL(c, SYS_mbind, area, 4096, 2, mask, 65, 0);	       /* MPOL_BIND */
	CALL(c, SYS_move_pages, 0, 1, pages, NULL, status, 0);
	hide(pages, sizeof(*pages));
	munmap(area, 4096);
}

static const struct calls_case calls_process[] = {
	{"sigprocmask", case_sigprocmask},
	{"sigtimedwait", case_sigtimedwait},
	{"sigaction", case_sigaction},
	{"sigaltstack", case_sigaltstack},
	{"nanosleep", case_nanosleep},
	{"sigsuspend", case_sigsuspend},
	{"clocks", case_clocks},
	{"times", case_times},
	{"itimer", case_itimer},
	{"timer", case_timer},
	{"wait", case_wait},
	{"limits", case_limits},
	{"ids", case_ids},
	{"capabilities", case_capabilities},
	{"prctl", case_prctl},
	{"sched", case_sched},
	{"thread", case_thread},
	{"system", case_system},
	{"process-vm", case_process_vm},
	{"futex", case_futex},
	{"exec", case_exec},
	{"semaphores", case_semaphores},
	{"shared", case_shared},
	{"messages", case_messages},
	{"mq", case_mq},
	{"new-calls", case_new_calls},
	{"policies", case_policies},
};

#endif
