/* blocked: a thread sleeps in a system call whose arguments lie in one page (struct page box), while the main thread
 * changes box.count so many times (argv[1]) in that page; then the call is let end. For each kind of call a line with the result
 * and what it brought. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct page {
	volatile long count;
	char text[16];
	struct pollfd poll;
	fd_set set;
	struct epoll_event event;
	struct iovec iovec[2];
	struct msghdr header;
	struct sembuf sembuf;
	struct {
		long type;
		char text[8];
	} message;
	int status;
	int word;
	struct timespec left;
	char rest[4096 - 640];
};

struct page box __attribute__((aligned(4096)));
static int fds[2], pair[2], epoll, queue, semaphore;
static pid_t child;
static atomic_int tid;

static long block_read(void)
{
	return read(fds[0], box.text, sizeof(box.text));
}

static long block_readv(void)
{
	box.iovec[0] = (struct iovec){box.text, 2};
	box.iovec[1] = (struct iovec){box.text + 8, 8};
	return readv(fds[0], box.iovec, 2);
}

static long block_poll(void)
{
	box.poll = (struct pollfd){.fd = fds[0], .events = POLLIN};
	return poll(&box.poll, 1, -1) * 100 + box.poll.revents;
}

static long block_ppoll(void)
{
	box.poll = (struct pollfd){.fd = fds[0], .events = POLLIN};
	box.left.tv_sec = 1000;
	return ppoll(&box.poll, 1, &box.left, NULL) * 100 + box.poll.revents;
}

static long block_select(void)
{
	FD_ZERO(&box.set);
	FD_SET(fds[0], &box.set);
	return select(fds[0] + 1, &box.set, NULL, NULL, NULL) * 100 + FD_ISSET(fds[0], &box.set);
}

static long block_epoll(void)
{
	box.event = (struct epoll_event){.events = EPOLLIN, .data.u32 = 77};
	epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &box.event);
	box.event.data.u32 = 0;
	return epoll_wait(epoll, &box.event, 1, -1) * 100 + (long)box.event.data.u32;
}

static long block_recvmsg(void)
{
	box.iovec[0] = (struct iovec){box.text, 16};
	box.header = (struct msghdr){.msg_iov = box.iovec, .msg_iovlen = 1};
	return recvmsg(pair[0], &box.header, 0);
}

static long block_recv(void)
{
	return recv(pair[0], box.text, sizeof(box.text), 0);
}

static long block_msgrcv(void)
{
	long got = msgrcv(queue, &box.message, sizeof(box.message.text), 0, 0);

	memcpy(box.text, box.message.text, 4);
	return got;
}

static long block_semop(void)
{
	box.sembuf = (struct sembuf){.sem_op = -1};
	return semop(semaphore, &box.sembuf, 1);
}

static long block_wait(void)
{
	return waitpid(child, &box.status, 0) == child ? box.status : -1;
}

/* FUTEX_WAIT_PRIVATE, FUTEX_WAKE_PRIVATE */
static long block_futex(void)
{
	while (!*(volatile int *)&box.word)
		syscall(SYS_futex, &box.word, 128, 0, NULL);
	return box.word;
}

static void end_pipe(void)
{
	if (write(fds[1], "end", 3) != 3)
		abort();
}

static void end_pair(void)
{
	if (write(pair[1], "end", 3) != 3)
		abort();
}

static void end_message(void)
{
	struct {
		long type;
		char text[4];
	} message = {1, "end"};

	msgsnd(queue, &message, 4, 0);
}

static void end_semaphore(void)
{
	struct sembuf up = {.sem_op = 1};

	semop(semaphore, &up, 1);
}

static void end_futex(void)
{
	box.word = 5;
	syscall(SYS_futex, &box.word, 129, 1);
}

static const struct kind {
	const char *name;
	long (*block)(void);
	void (*end)(void);
} kinds[] = {
	{"read", block_read, end_pipe},
	{"readv", block_readv, end_pipe},
	{"poll", block_poll, end_pipe},
	{"ppoll", block_ppoll, end_pipe},
	{"select", block_select, end_pipe},
	{"epoll_wait", block_epoll, end_pipe},
	{"recvmsg", block_recvmsg, end_pair},
	{"recv", block_recv, end_pair},
	{"msgrcv", block_msgrcv, end_message},
	{"semop", block_semop, end_semaphore},
	{"waitpid", block_wait, end_pipe},
	{"futex", block_futex, end_futex},
};

static void *thread_run(void *kind)
{
	tid = gettid();
	return (void *)((const struct kind *)kind)->block();
}

/* Wait until the thread sleeps in a call. */
static void sleep_await(void)
{
	char path[64], text[512] = "";

	while (!tid)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	do {
		FILE *file = fopen(path, "r");

		if (!file || !fgets(text, sizeof(text), file))
			abort();
		fclose(file);
	} while (!strstr(text, ") S "));
}

static void count_run(long n)
{
	for (long i = 0; i < n; i++)
		box.count++;
}

/* A child that waits for the same pipe, if it is the child that is waited for. */
static void all_open(int is_parent)
{
	if (pipe(fds) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	epoll = epoll_create1(0);
	queue = msgget(IPC_PRIVATE, 0600);
	semaphore = semget(IPC_PRIVATE, 1, 0600);
	child = is_parent ? fork() : -1;
	if (!child) {
		char byte;

		_exit(read(fds[0], &byte, 1) == 1 ? 7 : 8);
	}
}

static void all_close(void)
{
	msgctl(queue, IPC_RMID, NULL);
	semctl(semaphore, 0, IPC_RMID);
	close(epoll);
	for (int i = 0; i < 2; i++)
		close(fds[i]), close(pair[i]);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		pthread_t thread;
		void *result;

		if (argc > 2 && strcmp(argv[2], kinds[k].name))
			continue;
		memset(box.text, 0, sizeof(box.text));
		tid = 0;
		all_open(kinds[k].block == block_wait);
		pthread_create(&thread, NULL, thread_run, (void *)&kinds[k]);
		sleep_await();
		count_run(n);
		kinds[k].end();
		pthread_join(thread, &result);
		printf("%s: %ld %.8s %.8s\n", kinds[k].name, (long)result, box.text, box.text + 8);
		fflush(stdout);
		all_close();
	}
	return 0;
}
