/* calls_rare: the cases of calls_list.h that few programs make, or that only newer kernels have: those without them say so in the
 * same way. They leave the process as it was. */
#ifndef CALLS_RARE_H
#define CALLS_RARE_H

#include "calls_list.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

/* Numbers that the library's headers may be too old for. */
enum {
	CALL_PIDFD_SEND_SIGNAL = 424,
	CALL_PIDFD_OPEN = 434,
	CALL_CLONE3 = 435,
	CALL_PROCESS_MADVISE = 440,
	CALL_LANDLOCK_CREATE_RULESET = 444,
	CALL_LANDLOCK_ADD_RULE = 445,
	CALL_FUTEX_WAITV = 449,
	CALL_FUTEX_WAIT = 455,
	CALL_FUTEX_REQUEUE = 456,
	CALL_STATMOUNT = 457,
	CALL_LISTMOUNT = 458,
	CALL_LSM_GET_SELF_ATTR = 459,
	CALL_LSM_LIST_MODULES = 461,
	CALL_SETXATTRAT = 463,
	CALL_GETXATTRAT = 464,
	CALL_LISTXATTRAT = 465,
	CALL_REMOVEXATTRAT = 466,
	CALL_FILE_GETATTR = 468,
};

#define PARENT_SETTID 0x100000 /* CLONE_PARENT_SETTID */

static void child_end(struct calls *c, long pid, int *tid)
{
	int status = 0;

	if (pid == 0)
		_exit(5);
	note(c, *tid == pid);
	note(c, waitpid((pid_t)pid, &status, 0) == pid);
	note(c, status);
	hide(tid, sizeof(*tid));
}

static void case_clone(struct calls *c)
{
	int *tid = room(c, 4);
	uint64_t *args = room(c, 88);

	child_end(c, CALL_QUIET(c, SYS_clone, SIGCHLD | PARENT_SETTID, 0, tid, 0, 0), tid);
	args[0] = PARENT_SETTID;
	args[3] = (uintptr_t)tid;
	args[4] = SIGCHLD;
	child_end(c, CALL_QUIET(c, CALL_CLONE3, args, 88), tid);
	hide(args, 88);
	args[4] = 9999;
	CALL(c, CALL_CLONE3, args, 88);
}

/* What the kernel keeps addresses of. */
static void case_kept(struct calls *c)
{
	uint64_t *head = room(c, 8), *len = room(c, 8), *list = room(c, 24);
	uint64_t own;

	CALL(c, SYS_get_robust_list, 0, head, len);
	own = *head;
	CALL(c, SYS_set_robust_list, list, 24);
	CALL(c, SYS_get_robust_list, 0, head, len);
	note(c, *head == (uintptr_t)list);
	CALL(c, SYS_set_robust_list, own, 24);
	hide(head, 8);
}

/* The value is another one than what is waited for. */
static void case_futexes(struct calls *c)
{
	uint32_t *word_inside = room(c, 4);
	struct {
		uint64_t value, word;
		uint32_t flags, pad;
	} list[2] = {{1, (uintptr_t)word_inside, 2 | 128, 0}, {1, (uintptr_t)word_inside, 2, 0}}, *at = put(c, list, sizeof(list));
	struct timespec none = {0}, *time = put(c, &none, sizeof(none));

	CALL(c, CALL_FUTEX_WAITV, at, 2, 0, NULL, 0);
	CALL(c, CALL_FUTEX_WAITV, at, 2, 0, time, CLOCK_MONOTONIC);
	CALL(c, CALL_FUTEX_WAIT, word_inside, 1, UINT32_MAX, 2 | 128, NULL, 0);
	CALL(c, CALL_FUTEX_WAIT, word_inside, 0, UINT32_MAX, 2 | 128, time, CLOCK_MONOTONIC);
	CALL(c, CALL_FUTEX_REQUEUE, at, 0, 1, 1);
	hide(at, sizeof(list));
}

static void case_areas(struct calls *c)
{
	void *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct iovec list = {area, 4096}, *at = put(c, &list, sizeof(list));
	uint64_t *mask = room(c, 8);
	int self = (int)syscall(CALL_PIDFD_OPEN, getpid(), 0);

	*mask = 1;
	CALL(c, CALL_PROCESS_MADVISE, self, at, 1, MADV_COLD, 0);
	CALL(c, SYS_set_mempolicy, 2, mask, 65);
	CALL(c, SYS_set_mempolicy, 0, NULL, 0);
	CALL(c, SYS_migrate_pages, 0, 65, mask, mask);
	hide(at, sizeof(list));
	close(self);
	munmap(area, 4096);
}

static void case_pidfd(struct calls *c)
{
	siginfo_t *info = room(c, sizeof(*info)), *got = room(c, sizeof(*got));
	uint64_t *set = room(c, 8);
	struct timespec none = {0}, *time = put(c, &none, sizeof(none));
	int self = (int)syscall(CALL_PIDFD_OPEN, getpid(), 0);

	*set = 1ULL << (SIGUSR1 - 1);
	sigprocmask(SIG_BLOCK, (sigset_t *)set, NULL);
	info->si_signo = SIGUSR1;
	info->si_code = SI_QUEUE;
	info->si_value.sival_int = 7;
	CALL(c, CALL_PIDFD_SEND_SIGNAL, self, SIGUSR1, info, 0);
	CALL(c, SYS_rt_sigtimedwait, set, got, time, 8);
	sigprocmask(SIG_UNBLOCK, (sigset_t *)set, NULL);
	close(self);
}

/* struct kcmp_epoll_slot: where in a list of epoll a file is. */
static void case_kcmp(struct calls *c)
{
	struct epoll_event event = {.events = EPOLLIN};
	uint32_t *slot = room(c, 12);
	int fds[2], list = epoll_create1(0);

	if (pipe(fds) || epoll_ctl(list, EPOLL_CTL_ADD, fds[0], &event))
		abort();
	slot[0] = (uint32_t)list;
	slot[1] = (uint32_t)fds[0];
	CALL(c, SYS_kcmp, getpid(), getpid(), 7, fds[0], slot);
	slot[1] = 9999;
	CALL(c, SYS_kcmp, getpid(), getpid(), 7, fds[0], slot);
	close(list);
	close(fds[0]);
	close(fds[1]);
}

/* What the kernel tells of itself. */
static void case_kernel(struct calls *c)
{
	uint64_t *request = room(c, 32), *ids = room(c, 64), *modules = room(c, 64);
	uint32_t *size = room(c, 4), *half = room(c, 4);
	unsigned char *attr = room(c, 256), *mount = room(c, 512);

	request[0] = 24;
	request[1] = UINT64_MAX; /* LSMT_ROOT */
	CALL(c, CALL_LISTMOUNT, request, ids, 4, 0);
	request[1] = ids[0];
	request[2] = 1; /* STATMOUNT_SB_BASIC */
	CALL(c, CALL_STATMOUNT, request, mount, 512, 0);
	CALL(c, CALL_STATMOUNT, request, mount, 3, 0);
	*size = 64;
	CALL(c, CALL_LSM_LIST_MODULES, modules, size, 0);
	*half = 4;
	CALL(c, CALL_LSM_LIST_MODULES, modules, half, 0);
	*half = 256;
	CALL(c, CALL_LSM_GET_SELF_ATTR, 100, attr, half, 0);
	CALL(c, SYS_modify_ldt, 0, room(c, 64), 64);
}

static void case_sysfs(struct calls *c)
{
	CALL(c, SYS_sysfs, 1, word(c, "proc"));
	CALL(c, SYS_sysfs, 2, 0, room(c, 64));
}

static void case_rights(struct calls *c)
{
	uint64_t *attr = room(c, 8);
	struct __attribute__((packed)) {
		uint64_t access;
		int32_t parent;
	} *rule = room(c, 16);
	int fd, place = open(".", O_PATH | O_CLOEXEC);

	*attr = 1 << 2; /* LANDLOCK_ACCESS_FS_READ_FILE */
	fd = (int)CALL_QUIET(c, CALL_LANDLOCK_CREATE_RULESET, attr, 8, 0);
	rule->access = 1 << 2;
	rule->parent = place;
	CALL(c, CALL_LANDLOCK_ADD_RULE, fd, 1, rule, 0);
	rule->access = 1ULL << 40;
	CALL(c, CALL_LANDLOCK_ADD_RULE, fd, 1, rule, 0);
	rule->parent = 0;
	if (fd >= 0)
		close(fd);
	close(place);
}

static void case_attributes(struct calls *c)
{
	char *file = word(c, "file"), *name = word(c, "user.color"), *value = word(c, "green"), *slot = room(c, 32);
	struct {
		uint64_t value;
		uint32_t size, flags;
	} *args = room(c, sizeof(*args));
	int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	args->value = (uintptr_t)value;
	args->size = 5;
	CALL(c, CALL_SETXATTRAT, AT_FDCWD, file, 0, name, args, sizeof(*args));
	args->value = (uintptr_t)slot;
	args->size = 32;
	CALL(c, CALL_GETXATTRAT, AT_FDCWD, file, 0, name, args, sizeof(*args));
	args->size = 2;
	CALL(c, CALL_GETXATTRAT, AT_FDCWD, file, 0, name, args, sizeof(*args));
	note(c, args->value == (uintptr_t)slot);
	args->value = 0;
	CALL(c, CALL_LISTXATTRAT, AT_FDCWD, file, 0, slot, 32);
	CALL(c, CALL_REMOVEXATTRAT, AT_FDCWD, file, 0, name);
	CALL(c, CALL_FILE_GETATTR, AT_FDCWD, file, room(c, 32), 24, 0);
	close(fd);
	unlink("file");
}

static const struct calls_case calls_rare[] = {
	{"clone", case_clone},
	{"kept", case_kept},
	{"futexes", case_futexes},
	{"areas", case_areas},
	{"pidfd", case_pidfd},
	{"kcmp", case_kcmp},
	{"kernel", case_kernel},
	{"sysfs", case_sysfs},
	{"rights", case_rights},
	{"attributes", case_attributes},
};

#endif
