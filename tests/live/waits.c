/* waits: one thread in each of many system calls that sleep, most of which give EINTR to a program that was
 * stopped. Lines: i (each thread gets signals that mean nothing to it: ignored, or default actions that do
 * nothing), k (20 children end), r (all are released; it says how many EINTR there were, and where, and
 * exits with 0). It also writes v once for each of i and k. */
#include "handshake.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

struct place;

struct way {
	const char *name;
	int (*sleep)(struct place *);
	void (*wake)(struct place *);
};

struct place {
	const struct way *way;
	int fd, peer, epoll; /* what it sleeps on, and the other end */
	sem_t sem;
	aio_context_t aio;
	pthread_t thread;
	atomic_int tid, interrupted, failure;
};

volatile long v;
static const struct timespec minute = {60, 0};

static void wake_fd(struct place *place)
{
	uint64_t one = 1;

	if (write(place->peer, &one, sizeof(one)) < 0)
		_exit(98);
}

static int sleep_epoll(struct place *place)
{
	struct epoll_event event;

	return epoll_wait(place->epoll, &event, 1, 60000);
}

static int sleep_epoll_pwait(struct place *place)
{
	struct epoll_event event;
	sigset_t mask;

	sigemptyset(&mask);
	return epoll_pwait(place->epoll, &event, 1, 60000, &mask);
}

static int sleep_poll(struct place *place)
{
	struct pollfd poll_fd = {place->fd, POLLIN, 0};

	return poll(&poll_fd, 1, 60000);
}

static int sleep_ppoll(struct place *place)
{
	struct pollfd poll_fd = {place->fd, POLLIN, 0};
	sigset_t mask;

	sigemptyset(&mask);
	return ppoll(&poll_fd, 1, &minute, &mask);
}

static int sleep_select(struct place *place)
{
	struct timeval timeout = {60, 0};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(place->fd, &set);
	return select(place->fd + 1, &set, NULL, NULL, &timeout);
}

static int sleep_read(struct place *place)
{
	uint64_t value;

	return (int)read(place->fd, &value, sizeof(value));
}

static int sleep_recv(struct place *place)
{
	uint64_t value;

	return (int)recv(place->fd, &value, sizeof(value), 0);
}

static int sleep_recvmsg(struct place *place)
{
	uint64_t value;
	struct iovec part = {&value, sizeof(value)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	return (int)recvmsg(place->fd, &message, 0);
}

static int sleep_accept(struct place *place)
{
	int fd = accept(place->fd, NULL, NULL);

	return fd < 0 ? -1 : 0;
}

static void wake_accept(struct place *place)
{
	struct sockaddr_un address;
	socklen_t len = sizeof(address);

	if (getsockname(place->fd, (struct sockaddr *)&address, &len) ||
		connect(place->peer, (struct sockaddr *)&address, len))
		_exit(98);
}

static int sleep_sigtimedwait(struct place *place)
{
	sigset_t set;

	(void)place;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &minute);
}

static int sleep_sigwaitinfo(struct place *place)
{
	sigset_t set;

	(void)place;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigwaitinfo(&set, NULL);
}

static void wake_signal(struct place *place)
{
	pthread_kill(place->thread, SIGUSR2);
}

static int sleep_semtimedop(struct place *place)
{
	struct sembuf take = {0, -1, 0};

	return semtimedop(place->fd, &take, 1, &minute);
}

static int sleep_semop(struct place *place)
{
	struct sembuf take = {0, -1, 0};

	return semop(place->fd, &take, 1);
}

static void wake_sem(struct place *place)
{
	struct sembuf give = {0, 1, 0};

	semop(place->fd, &give, 1);
}

static int sleep_msgrcv(struct place *place)
{
	struct {
		long type;
		char text[8];
	} message;

	return (int)msgrcv(place->fd, &message, sizeof(message.text), 0, 0);
}

static void wake_msg(struct place *place)
{
	struct {
		long type;
		char text[8];
	} message = {.type = 1};

	msgsnd(place->fd, &message, sizeof(message.text), 0);
}

static int sleep_aio(struct place *place)
{
	struct io_event event;
	struct timespec timeout = minute;

	return (int)syscall(SYS_io_getevents, place->aio, 1L, 1L, &event, &timeout);
}

static void wake_aio(struct place *place)
{
	static uint64_t value = 1;
	struct iocb block = {.aio_fildes = (uint32_t)place->fd,
		.aio_lio_opcode = IOCB_CMD_PWRITE,
		.aio_buf = (uintptr_t)&value,
		.aio_nbytes = sizeof(value)};
	struct iocb *blocks[] = {&block};

	if (syscall(SYS_io_submit, place->aio, 1L, blocks) != 1)
		_exit(98);
}

static int sleep_futex(struct place *place)
{
	return sem_wait(&place->sem);
}

static int sleep_futex_timed(struct place *place)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	return sem_timedwait(&place->sem, &end);
}

static void wake_futex(struct place *place)
{
	sem_post(&place->sem);
}

static const struct way ways[] = {
	{"epoll_wait", sleep_epoll, wake_fd},
	{"epoll_pwait", sleep_epoll_pwait, wake_fd},
	{"poll", sleep_poll, wake_fd},
	{"ppoll", sleep_ppoll, wake_fd},
	{"select", sleep_select, wake_fd},
	{"read", sleep_read, wake_fd},
	{"recv", sleep_recv, wake_fd},
	{"recvmsg", sleep_recvmsg, wake_fd},
	{"accept", sleep_accept, wake_accept},
	{"sigtimedwait", sleep_sigtimedwait, wake_signal},
	{"sigwaitinfo", sleep_sigwaitinfo, wake_signal},
	{"semtimedop", sleep_semtimedop, wake_sem},
	{"semop", sleep_semop, wake_sem},
	{"msgrcv", sleep_msgrcv, wake_msg},
	{"io_getevents", sleep_aio, wake_aio},
	{"futex", sleep_futex, wake_futex},
	{"futex-timed", sleep_futex_timed, wake_futex},
};

#define N_WAYS (sizeof(ways) / sizeof(*ways))

/* The last one is main's. */
static struct place places[N_WAYS + 1];

static void place_init(struct place *place, const struct way *way)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct epoll_event event = {.events = EPOLLIN};
	struct timeval timeout = {60, 0};
	int ends[2];

	place->way = way;
	sem_init(&place->sem, 0, 0);
	if (way->wake == wake_sem) {
		place->fd = semget(IPC_PRIVATE, 1, 0600);
	} else if (way->wake == wake_msg) {
		place->fd = msgget(IPC_PRIVATE, 0600);
	} else if (way->wake == wake_aio) {
		place->fd = open("/dev/null", O_WRONLY);
		syscall(SYS_io_setup, 1, &place->aio);
	} else if (way->wake == wake_accept) {
		place->fd = socket(AF_UNIX, SOCK_STREAM, 0);
		place->peer = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(place->fd, (struct sockaddr *)&address, sizeof(sa_family_t)) || listen(place->fd, 1))
			_exit(97);
		setsockopt(place->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	} else {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			_exit(97);
		place->fd = ends[0];
		place->peer = ends[1];
		setsockopt(place->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
		place->epoll = epoll_create1(0);
		epoll_ctl(place->epoll, EPOLL_CTL_ADD, place->fd, &event);
	}
}

static void place_fini(struct place *place)
{
	if (place->way->wake == wake_sem)
		semctl(place->fd, 0, IPC_RMID);
	if (place->way->wake == wake_msg)
		msgctl(place->fd, IPC_RMID, NULL);
}

static void *work(void *argument)
{
	struct place *place = argument;

	atomic_store(&place->tid, (int)syscall(SYS_gettid));
	while (place->way->sleep(place) < 0) {
		if (errno != EINTR) {
			atomic_store(&place->failure, errno);
			break;
		}
		atomic_fetch_add(&place->interrupted, 1);
	}
	return NULL;
}

/* Until the thread sleeps, with no signal left to be delivered to it. */
static void await_sleep(struct place *place)
{
	char path[64], line[128], state;
	unsigned long pending;
	bool is_quiet = false;

	while (!atomic_load(&place->tid))
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", place->tid);
	while (!is_quiet) {
		FILE *file = fopen(path, "r");

		state = 0;
		pending = 1;
		while (file && fgets(line, sizeof(line), file)) {
			sscanf(line, "State: %c", &state);
			sscanf(line, "SigPnd: %lx", &pending);
		}
		if (file)
			fclose(file);
		is_quiet = state == 'S' && pending == 0;
		sched_yield();
	}
}

static void await_all(void)
{
	for (size_t i = 0; i < N_WAYS; i++)
		await_sleep(&places[i]);
}

static void send_ignorable(void)
{
	static const int signals[] = {SIGCHLD, SIGWINCH, SIGURG, SIGCONT, SIGUSR1, SIGPIPE};

	v = 1;
	for (size_t s = 0; s < sizeof(signals) / sizeof(*signals); s++) {
		for (size_t i = 0; i < N_WAYS; i++)
			pthread_kill(places[i].thread, signals[s]);
		await_all();
	}
	say("sent");
}

/* A signal to the process goes to its main thread first, so that this one sleeps, too. */
static void *make_children(void *argument)
{
	struct place *main_place = argument;

	for (int i = 0; i < 20; i++) {
		pid_t pid;

		await_sleep(main_place);
		pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		await_all();
	}
	await_sleep(main_place);
	wake_fd(main_place);
	return NULL;
}

static void end_children(struct place *main_place)
{
	pthread_t thread;

	v = 2;
	pthread_create(&thread, NULL, make_children, main_place);
	work(main_place);
	pthread_join(thread, NULL);
	sleep_read(main_place);
	say("ended");
}

static void release(void)
{
	int interrupted = places[N_WAYS].interrupted;

	if (interrupted)
		say("interrupted main %d", interrupted);
	for (size_t i = 0; i < N_WAYS; i++)
		ways[i].wake(&places[i]);
	for (size_t i = 0; i < N_WAYS; i++) {
		pthread_join(places[i].thread, NULL);
		place_fini(&places[i]);
		interrupted += places[i].interrupted;
		if (places[i].interrupted)
			say("interrupted %s %d", ways[i].name, places[i].interrupted);
		if (places[i].failure)
			say("failed %s: %s", ways[i].name, strerror(places[i].failure));
	}
	say("EINTR %d", interrupted);
}

int main(void)
{
	char word = 0;
	sigset_t set;

	signal(SIGUSR1, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < N_WAYS; i++) {
		place_init(&places[i], &ways[i]);
		pthread_create(&places[i].thread, NULL, work, &places[i]);
	}
	place_init(&places[N_WAYS], &ways[0]);
	await_all();
	say("ready");
	while (told(&word) && word != 'r') {
		if (word == 'i')
			send_ignorable();
		if (word == 'k')
			end_children(&places[N_WAYS]);
	}
	release();
	return 0;
}
