/* calls_files: the cases of calls_list.h that concern files, waiting for files, and sockets. They
 * run in an empty directory and leave it empty. */
#ifndef CALLS_FILES_H
#define CALLS_FILES_H

#include "calls_list.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <termios.h>

#define FILE_TEXT "the text that the file has, long enough for all"

/* An open file with FILE_TEXT, without a name. */
static int file_open(void)
{
	int fd = memfd_create("file", 0);

	if (fd < 0 || write(fd, FILE_TEXT, strlen(FILE_TEXT)) != (ssize_t)strlen(FILE_TEXT) ||
		lseek(fd, 0, SEEK_SET))
		abort();
	return fd;
}

/* A file of that name with FILE_TEXT. */
static void file_make(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0640);

	if (fd < 0 || write(fd, FILE_TEXT, strlen(FILE_TEXT)) < 0)
		abort();
	close(fd);
}

/* A pipe with n bytes in it. */
static void pipe_make(int *fds, size_t n)
{
	if (pipe(fds) || (n && write(fds[1], FILE_TEXT, n) != (ssize_t)n))
		abort();
}

static void both_close(const int *fds)
{
	close(fds[0]);
	close(fds[1]);
}

static void pair_make(int type, int *fds)
{
	if (socketpair(AF_UNIX, type, 0, fds))
		abort();
}

static void case_read(struct calls *c)
{
	int fd = file_open();

	CALL(c, SYS_read, fd, room(c, 100), 20);
	CALL(c, SYS_read, fd, room(c, 100), 100);
	CALL(c, SYS_read, fd, room(c, 100), 100);
	close(fd);
}

static void case_read_across(struct calls *c)
{
	int fd = file_open();

	CALL(c, SYS_read, fd, c->page + CALLS_PAGE - 20, 40);
	CALL(c, SYS_read, fd, c->page, 0);
	close(fd);
}

static void case_read_error(struct calls *c)
{
	CALL(c, SYS_read, -1, room(c, 100), 100);
	CALL(c, SYS_write, -1, room(c, 100), 100);
}

static void case_write(struct calls *c)
{
	char *text = word(c, "some bytes"), *back = room(c, 32);
	int fd = memfd_create("file", 0);

	CALL(c, SYS_write, fd, text, 10);
	CALL(c, SYS_pwrite64, fd, text, 4, 3);
	CALL(c, SYS_pread64, fd, back, 30, 1);
	close(fd);
}

/* Two buffers in the page, their list there as well. */
static struct iovec *rows(struct calls *c, size_t first, size_t second)
{
	struct iovec *list = room(c, 2 * sizeof(*list));

	list[0] = (struct iovec){.iov_base = room(c, first), .iov_len = first};
	list[1] = (struct iovec){.iov_base = room(c, second), .iov_len = second};
	return list;
}

static void case_readv(struct calls *c)
{
	struct iovec *list = rows(c, 7, 100);
	int fd = file_open();

	CALL(c, SYS_readv, fd, list, 2);
	CALL(c, SYS_preadv, fd, list, 2, 9, 0);
	CALL(c, SYS_preadv2, fd, list, 2, 20, 0, 0);
	note(c, list[0].iov_base == c->page + 32);
	hide(list, 2 * sizeof(*list));
	close(fd);
}

/* Only the list is in the page, or only a buffer. */
static void case_readv_part(struct calls *c)
{
	static char outside[2][16];
	struct iovec *list = room(c, 2 * sizeof(*list)), apart[2];
	int fd = file_open();

	list[0] = (struct iovec){.iov_base = outside[0], .iov_len = 10};
	list[1] = (struct iovec){.iov_base = outside[1], .iov_len = 10};
	CALL(c, SYS_readv, fd, list, 2);
	hide(list, 2 * sizeof(*list));
	apart[0] = (struct iovec){.iov_base = outside[0], .iov_len = 10};
	apart[1] = (struct iovec){.iov_base = room(c, 10), .iov_len = 10};
	CALL(c, SYS_readv, fd, apart, 2);
	note(c, apart[1].iov_base == c->page + 32);
	memcpy(room(c, 32), outside, 32);
	close(fd);
}

static void case_writev(struct calls *c)
{
	struct iovec *list = rows(c, 7, 20);
	int fd = memfd_create("file", 0);

	memcpy(list[0].iov_base, "first  ", 7);
	memcpy(list[1].iov_base, "and then the second", 20);
	CALL(c, SYS_writev, fd, list, 2);
	CALL(c, SYS_pwritev, fd, list, 2, 9, 0);
	CALL(c, SYS_pwritev2, fd, list, 2, 20, 0, 0);
	hide(list, 2 * sizeof(*list));
	CALL(c, SYS_pread64, fd, room(c, 100), 100, 0);
	close(fd);
}

/* A bad buffer behind a good one: a part is written. */
static void case_writev_bad(struct calls *c)
{
	struct iovec *list = rows(c, 7, 20);
	int fds[2];

	list[1].iov_base = (void *)16;
	pipe_make(fds, 0);
	CALL(c, SYS_writev, fds[1], list, 2);
	hide(list, 2 * sizeof(*list));
	both_close(fds);
}

static void case_bad_pointers(struct calls *c)
{
	int fd = file_open();

	CALL(c, SYS_read, fd, 16, 10);
	CALL(c, SYS_open, 16, 0);
	CALL(c, SYS_stat, 16, room(c, sizeof(struct stat)));
	CALL(c, SYS_readv, fd, 16, 1);
	CALL(c, SYS_getcwd, 0, 100);
	close(fd);
}

static void case_open(struct calls *c)
{
	struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_NO_SYMLINKS};
	char *name = word(c, "file");

	close((int)CALL(c, SYS_open, name, O_RDONLY));
	close((int)CALL(c, SYS_creat, name, 0640));
	close((int)CALL(c, SYS_openat, AT_FDCWD, name, O_RDONLY));
	close((int)CALL(c, SYS_openat2, AT_FDCWD, name, put(c, &how, sizeof(how)), sizeof(how)));
	CALL(c, SYS_access, name, R_OK);
	CALL(c, SYS_faccessat, AT_FDCWD, name, R_OK);
	CALL(c, SYS_chmod, name, 0600);
	CALL(c, SYS_fchmodat, AT_FDCWD, name, 0600);
	CALL(c, SYS_chown, name, -1, -1);
	CALL(c, SYS_lchown, name, -1, -1);
	CALL(c, SYS_fchownat, AT_FDCWD, name, -1, -1, 0);
	CALL(c, SYS_truncate, name, 5);
	CALL(c, SYS_unlink, name);
}

static void case_names(struct calls *c)
{
	char *a = word(c, "a"), *b = word(c, "b"), *d = word(c, "d"), *slot = room(c, 40);

	CALL(c, SYS_mkdir, d, 0755);
	CALL(c, SYS_chdir, d);
	CALL(c, SYS_chdir, word(c, ".."));
	CALL(c, SYS_rmdir, d);
	CALL(c, SYS_mkdirat, AT_FDCWD, d, 0755);
	CALL(c, SYS_unlinkat, AT_FDCWD, d, AT_REMOVEDIR);
	file_make("a");
	CALL(c, SYS_rename, a, b);
	CALL(c, SYS_renameat, AT_FDCWD, b, AT_FDCWD, a);
	CALL(c, SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 0);
	CALL(c, SYS_link, b, a);
	CALL(c, SYS_unlink, a);
	CALL(c, SYS_linkat, AT_FDCWD, b, AT_FDCWD, a, 0);
	CALL(c, SYS_unlink, a);
	CALL(c, SYS_symlink, b, a);
	CALL(c, SYS_readlink, a, slot, 40);
	CALL(c, SYS_readlinkat, AT_FDCWD, a, slot + 10, 30);
	CALL(c, SYS_unlink, a);
	CALL(c, SYS_symlinkat, b, AT_FDCWD, a);
	CALL(c, SYS_unlink, a);
	CALL(c, SYS_unlink, b);
	CALL(c, SYS_mknod, a, S_IFIFO | 0600, 0);
	CALL(c, SYS_unlink, a);
	CALL(c, SYS_mknodat, AT_FDCWD, a, S_IFIFO | 0600, 0);
	CALL(c, SYS_unlink, a);
	CALL(c, SYS_unlink, a);
}

static void stat_note(struct calls *c, struct stat *stat)
{
	note(c, stat->st_size);
	note(c, stat->st_mode);
	hide(&stat->st_ino, sizeof(stat->st_ino));
	hide(&stat->st_atim, 3 * sizeof(stat->st_atim));
	hide_own(c, stat, sizeof(*stat));
}

static void case_stat(struct calls *c)
{
	char *name = word(c, "file");
	struct stat *stat[4];
	int fd;

	file_make("file");
	fd = open("file", O_RDONLY);
	for (size_t i = 0; i < 4; i++)
		stat[i] = room(c, sizeof(*stat[i]));
	CALL(c, SYS_stat, name, stat[0]);
	CALL(c, SYS_lstat, name, stat[1]);
	CALL(c, SYS_fstat, fd, stat[2]);
	CALL(c, SYS_newfstatat, AT_FDCWD, name, stat[3], 0);
	for (size_t i = 0; i < 4; i++)
		stat_note(c, stat[i]);
	CALL(c, SYS_stat, word(c, "none"), stat[0]);
	close(fd);
	unlink("file");
}

static void case_statx(struct calls *c)
{
	struct statx *statx = room(c, sizeof(*statx));

	file_make("file");
	CALL(c, SYS_statx, AT_FDCWD, word(c, "file"), 0, STATX_BASIC_STATS, statx);
	note(c, (long)statx->stx_size);
	hide(&statx->stx_ino, sizeof(statx->stx_ino));
	hide(&statx->stx_atime, 4 * sizeof(statx->stx_atime));
	hide_own(c, statx, sizeof(*statx));
	unlink("file");
}

static void case_statfs(struct calls *c)
{
	struct statfs *proc = room(c, sizeof(*proc)), *same = room(c, sizeof(*same));
	int fd = open("/proc", O_RDONLY);

	CALL(c, SYS_statfs, word(c, "/proc"), proc);
	CALL(c, SYS_fstatfs, fd, same);
	note(c, (long)proc->f_type);
	hide_own(c, proc, sizeof(*proc));
	hide_own(c, same, sizeof(*same));
	close(fd);
}

static void case_utimes(struct calls *c)
{
	static const long times[4] = {1000, 0, 2000, 0};
	char *name = word(c, "file");
	struct stat *stat = room(c, sizeof(*stat));

	file_make("file");
	CALL(c, SYS_utimensat, AT_FDCWD, name, put(c, times, 32), 0);
	CALL(c, SYS_stat, name, stat);
	note(c, stat->st_mtime);
	CALL(c, SYS_utimes, name, put(c, times + 2, 16), 0);
	CALL(c, SYS_utime, name, put(c, times, 16));
	CALL(c, SYS_futimesat, AT_FDCWD, name, put(c, times, 32));
	CALL(c, SYS_stat, name, stat);
	note(c, stat->st_atime);
	hide(stat, sizeof(*stat));
	unlink("file");
}

/* Names are compared; inode numbers and places are not. */
static void entries_hide(struct calls *c, unsigned char *list, long len)
{
	for (long i = 0; i < len; i += *(uint16_t *)(void *)(list + i + 16))
		hide(list + i, 16);
	hide_own(c, list, 512);
}

static void case_getdents(struct calls *c)
{
	unsigned char *list = room(c, 512);
	int fd;

	file_make("file");
	fd = open(".", O_RDONLY | O_DIRECTORY);

	entries_hide(c, list, CALL(c, SYS_getdents64, fd, list, 512));
	lseek(fd, 0, SEEK_SET);
	entries_hide(c, list, CALL(c, SYS_getdents, fd, list, 512));
	CALL(c, SYS_getdents64, fd, list, 512);
	lseek(fd, 0, SEEK_SET);
	CALL(c, SYS_getdents64, fd, list, 1);
	close(fd);
	unlink("file");
}

static void case_getcwd(struct calls *c)
{
	int here = open(".", O_RDONLY);

	if (here < 0 || chdir("/proc"))
		abort();
	CALL(c, SYS_getcwd, room(c, 100), 100);
	CALL(c, SYS_getcwd, room(c, 100), 2);
	if (fchdir(here))
		abort();
	close(here);
}

static void case_xattr(struct calls *c)
{
	char *file = word(c, "file"), *name = word(c, "user.color"), *value = word(c, "green"),
	     *slot = room(c, 64);
	int fd;

	file_make("file");
	fd = open("file", O_RDWR);
	CALL(c, SYS_setxattr, file, name, value, 5, 0);
	CALL(c, SYS_getxattr, file, name, slot, 64);
	CALL(c, SYS_getxattr, file, name, slot, 0);
	CALL(c, SYS_getxattr, file, name, slot, 2);
	CALL(c, SYS_lsetxattr, file, name, value, 4, 0);
	CALL(c, SYS_lgetxattr, file, name, slot + 8, 50);
	CALL(c, SYS_fsetxattr, fd, name, value, 3, 0);
	CALL(c, SYS_fgetxattr, fd, name, slot + 16, 40);
	CALL(c, SYS_listxattr, file, slot + 24, 40);
	CALL(c, SYS_llistxattr, file, slot + 24, 40);
	CALL(c, SYS_flistxattr, fd, slot + 24, 40);
	CALL(c, SYS_removexattr, file, name);
	CALL(c, SYS_lremovexattr, file, name);
	CALL(c, SYS_fremovexattr, fd, name);
	close(fd);
	unlink("file");
}

static void case_inotify(struct calls *c)
{
	unsigned char *event = room(c, 128);
	int fd = inotify_init1(IN_NONBLOCK);

	CALL(c, SYS_inotify_add_watch, fd, word(c, "."), IN_CREATE | IN_DELETE);
	file_make("file");
	unlink("file");
	CALL(c, SYS_read, fd, event, 128);
	CALL(c, SYS_read, fd, event, 128);
	close(fd);
}

static void case_locks(struct calls *c)
{
	struct flock lock = {.l_type = F_WRLCK, .l_start = 5, .l_len = 10};
	struct flock *mine = put(c, &lock, sizeof(lock)), *other = put(c, &lock, sizeof(lock));
	int fd, more;

	file_make("file");
	fd = open("file", O_RDWR);
	more = open("file", O_RDWR);
	CALL(c, SYS_fcntl, fd, F_SETLK, mine);
	CALL(c, SYS_fcntl, fd, F_GETLK, mine);
	CALL(c, SYS_fcntl, more, F_OFD_GETLK, other);
	note(c, other->l_pid > 0);
	hide_own(c, &other->l_pid, sizeof(other->l_pid));
	other = put(c, &lock, sizeof(lock));
	CALL(c, SYS_fcntl, more, F_OFD_SETLK, other);
	other->l_type = F_UNLCK;
	CALL(c, SYS_fcntl, fd, F_SETLKW, other);
	CALL(c, SYS_fcntl, fd, F_GETOWN_EX, room(c, 8));
	CALL(c, SYS_fcntl, fd, F_GETFL);
	CALL(c, SYS_fcntl, fd, F_GET_RW_HINT, room(c, 8));
	close(fd);
	close(more);
	unlink("file");
}

static void case_ioctl_pipe(struct calls *c)
{
	int fds[2], one = 1;

	pipe_make(fds, 17);
	CALL(c, SYS_ioctl, fds[0], FIONREAD, room(c, 4));
	CALL(c, SYS_ioctl, fds[0], FIONBIO, put(c, &one, sizeof(one)));
	CALL(c, SYS_ioctl, fds[0], FIOCLEX, c->page);
	CALL(c, SYS_ioctl, fds[0], TCGETS, room(c, 64));
	both_close(fds);
}

static void case_ioctl_tty(struct calls *c)
{
	struct winsize size = {.ws_row = 33, .ws_col = 99};
	int master = posix_openpt(O_RDWR | O_NOCTTY), zero = 0, slave, *number = room(c, 4);
	struct termios *termios = room(c, sizeof(*termios));

	CALL(c, SYS_ioctl, master, TIOCSPTLCK, put(c, &zero, sizeof(zero)));
	CALL(c, SYS_ioctl, master, TIOCGPTN, number);
	hide_own(c, number, sizeof(*number));
	CALL(c, SYS_ioctl, master, TIOCSWINSZ, put(c, &size, sizeof(size)));
	CALL(c, SYS_ioctl, master, TIOCGWINSZ, room(c, sizeof(size)));
	CALL(c, SYS_ioctl, master, TCGETS, termios);
	CALL(c, SYS_ioctl, master, TCSETS, termios);
	CALL(c, SYS_ioctl, master, TIOCGPGRP, room(c, 4));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	CALL(c, SYS_write, slave, word(c, "line\n"), 5);
	/* The rest comes when the terminal's work has had its turn. */
	CALL(c, SYS_read, master, room(c, 20), 1);
	close(slave);
	close(master);
}

static void case_copy(struct calls *c)
{
	int from = file_open(), to = memfd_create("to", 0), fds[2];
	int64_t two = 2, five = 5, *in = put(c, &two, 8), *out = put(c, &five, 8);

	CALL(c, SYS_copy_file_range, from, in, to, out, 10, 0);
	CALL(c, SYS_sendfile, to, from, in, 7);
	pipe_make(fds, 0);
	CALL(c, SYS_splice, from, in, fds[1], 0, 9, 0);
	CALL(c, SYS_splice, fds[0], 0, to, out, 9, 0);
	CALL(c, SYS_pread64, to, room(c, 60), 60, 0);
	both_close(fds);
	close(from);
	close(to);
}

static void case_vmsplice(struct calls *c)
{
	struct iovec *list = rows(c, 7, 20);
	int fds[2];

	memcpy(list[0].iov_base, "first  ", 7);
	pipe_make(fds, 0);
	CALL(c, SYS_vmsplice, fds[1], list, 2, 0);
	hide(list, 2 * sizeof(*list));
	CALL(c, SYS_read, fds[0], room(c, 40), 40);
	both_close(fds);
}

static void case_memfd(struct calls *c)
{
	unsigned char *map = mmap(
		NULL, 4 * CALLS_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	close((int)CALL(c, SYS_memfd_create, word(c, "name"), 0));
	map[CALLS_PAGE] = 1;
	CALL(c, SYS_mincore, map, 4 * CALLS_PAGE, room(c, 4));
	CALL(c, SYS_mincore, map, 4 * CALLS_PAGE - 5, room(c, 4));
	munmap(map, 4 * CALLS_PAGE);
}

static void case_handle(struct calls *c)
{
	uint32_t *handle = room(c, 8 + 128), *mount = room(c, 4);

	file_make("file");
	handle[0] = 128;
	CALL(c, SYS_name_to_handle_at, AT_FDCWD, word(c, "file"), handle, mount, 0);
	note(c, *mount != 0);
	hide(handle + 2, 128);
	hide_own(c, handle, 8);
	hide_own(c, mount, 4);
	handle[0] = 0;
	CALL(c, SYS_name_to_handle_at, AT_FDCWD, word(c, "file"), handle, mount, 0);
	hide_own(c, handle, 8);
	hide_own(c, mount, 4);
	unlink("file");
}

static void case_pipe(struct calls *c)
{
	int *fds = room(c, 8);

	CALL(c, SYS_pipe, fds);
	both_close(fds);
	CALL(c, SYS_pipe2, fds, O_NONBLOCK);
	CALL(c, SYS_read, fds[0], room(c, 10), 10);
	both_close(fds);
	CALL(c, SYS_pipe2, fds, 0x12345);
}

static void case_poll(struct calls *c)
{
	static const struct timespec short_time = {.tv_nsec = 1};
	struct pollfd *list = room(c, 3 * sizeof(*list));
	struct timespec *left = put(c, &short_time, sizeof(short_time));
	int fds[2];

	pipe_make(fds, 1);
	list[0] = (struct pollfd){.fd = fds[0], .events = POLLIN};
	list[1] = (struct pollfd){.fd = fds[1], .events = POLLOUT | POLLIN};
	list[2] = (struct pollfd){.fd = 999, .events = POLLIN};
	CALL(c, SYS_poll, list, 3, -1);
	CALL(c, SYS_ppoll, list, 2, left, room(c, 8), 8);
	hide(left, sizeof(*left));
	CALL(c, SYS_poll, list, 0, 0);
	list[0].fd = fds[1];
	list[0].events = POLLIN;
	*left = short_time;
	CALL(c, SYS_ppoll, list, 1, left, NULL, 0);
	both_close(fds);
}

static void case_select(struct calls *c)
{
	static const struct timespec long_time = {.tv_sec = 1000};
	fd_set *in = room(c, sizeof(*in)), *out = room(c, sizeof(*out));
	struct timespec *left = put(c, &long_time, sizeof(long_time));
	uintptr_t *pack = room(c, 16);
	int fds[2];

	pipe_make(fds, 1);
	FD_SET(fds[0], in), FD_SET(fds[1], in), FD_SET(fds[1], out), FD_SET(fds[0], out);
	CALL(c, SYS_select, fds[1] + 1, in, out, NULL, left);
	note(c, left->tv_sec >= 990);
	FD_SET(fds[1], in);
	/* The same set twice: the later one is what is left. */
	*left = long_time;
	CALL(c, SYS_select, fds[1] + 1, in, in, NULL, left);
	*left = long_time;
	pack[0] = (uintptr_t)room(c, 8);
	pack[1] = 8;
	FD_SET(fds[1], out);
	CALL(c, SYS_pselect6, fds[1] + 1, NULL, out, NULL, left, pack);
	note(c, pack[0] > 0);
	hide(pack, 16);
	hide(left, sizeof(*left));
	both_close(fds);
}

static void case_epoll(struct calls *c)
{
	static const struct timespec long_time = {.tv_sec = 1000};
	struct epoll_event in = {.events = EPOLLIN, .data.u64 = 0x1234567890},
			   *list = room(c, 4 * sizeof(*list));
	int fds[2], fd = epoll_create1(0);

	pipe_make(fds, 1);
	CALL(c, SYS_epoll_ctl, fd, EPOLL_CTL_ADD, fds[0], put(c, &in, sizeof(in)));
	CALL(c, SYS_epoll_ctl, fd, EPOLL_CTL_ADD, fds[0], put(c, &in, sizeof(in)));
	CALL(c, SYS_epoll_wait, fd, list, 4, -1);
	CALL(c, SYS_epoll_pwait, fd, list + 1, 1, -1, room(c, 8), 8);
	CALL(c, SYS_epoll_pwait2, fd, list + 2, 2, put(c, &long_time, sizeof(long_time)),
		room(c, 8), 8);
	CALL(c, SYS_epoll_wait, fd, list, 0, 0);
	both_close(fds);
	CALL(c, SYS_epoll_wait, fd, list, 4, 0);
	close(fd);
}

static void case_timerfd(struct calls *c)
{
	struct itimerspec set = {.it_value = {.tv_sec = 1000}, .it_interval = {.tv_sec = 7}};
	struct itimerspec *old = room(c, sizeof(*old)), *now = room(c, sizeof(*now));
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	CALL(c, SYS_timerfd_settime, fd, 0, put(c, &set, sizeof(set)), old);
	CALL(c, SYS_timerfd_gettime, fd, now);
	note(c, now->it_value.tv_sec >= 990);
	hide(&now->it_value, sizeof(now->it_value));
	CALL(c, SYS_read, fd, room(c, 8), 8);
	close(fd);
}

static void case_eventfd(struct calls *c)
{
	uint64_t five = 5;
	int fd = (int)CALL_QUIET(c, SYS_eventfd2, 0, 0);

	CALL(c, SYS_write, fd, put(c, &five, 8), 8);
	CALL(c, SYS_read, fd, room(c, 8), 8);
	CALL(c, SYS_read, fd, room(c, 8), 4);
	close(fd);
}

static void case_signalfd(struct calls *c)
{
	struct signalfd_siginfo *info = room(c, sizeof(*info));
	sigset_t block;
	int fd;

	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, NULL);
	fd = (int)CALL(c, SYS_signalfd4, -1, put(c, &block, 8), 8, 0);
	kill(getpid(), SIGUSR1);
	CALL(c, SYS_read, fd, info, sizeof(*info));
	note(c, info->ssi_signo);
	hide_own(c, info, sizeof(*info));
	close(fd);
	sigprocmask(SIG_UNBLOCK, &block, NULL);
}

static struct sockaddr_un *address(struct calls *c, const char *name)
{
	struct sockaddr_un *addr = room(c, sizeof(*addr));

	addr->sun_family = AF_UNIX;
	strcpy(addr->sun_path, name);
	return addr;
}

static void case_sockets(struct calls *c)
{
	int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0), fd;
	struct sockaddr_un *addr = address(c, "sock");
	socklen_t *len = room(c, 4);

	CALL(c, SYS_bind, server, addr, 7);
	CALL(c, SYS_bind, server, addr, 7);
	listen(server, 5);
	CALL(c, SYS_connect, client, addr, 7);
	*len = 110;
	fd = (int)CALL(c, SYS_accept, server, room(c, 110), len);
	*len = 110;
	CALL(c, SYS_getsockname, server, room(c, 110), len);
	*len = 4; /* too short: cut, but the true length is told */
	CALL(c, SYS_getpeername, client, room(c, 110), len);
	CALL(c, SYS_accept4, client, room(c, 110), len, 0);
	unlink("sock");
	close(fd);
	close(client);
	close(server);
}

static void case_socketpair(struct calls *c)
{
	int *fds = room(c, 8);

	CALL(c, SYS_socketpair, AF_UNIX, SOCK_DGRAM, 0, fds);
	CALL(c, SYS_sendto, fds[0], word(c, "datagram"), 8, 0, NULL, 0);
	CALL(c, SYS_recvfrom, fds[1], room(c, 5), 5, MSG_TRUNC, NULL, NULL);
	both_close(fds);
}

static void case_sendto(struct calls *c)
{
	int one = socket(AF_UNIX, SOCK_DGRAM, 0), two = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct sockaddr_un *first = address(c, "one"), *second = address(c, "two");
	socklen_t *len = room(c, 4);

	CALL(c, SYS_bind, one, first, sizeof(*first));
	CALL(c, SYS_bind, two, second, sizeof(*second));
	CALL(c, SYS_sendto, one, word(c, "datagram"), 8, 0, second, sizeof(*second));
	*len = 110;
	CALL(c, SYS_recvfrom, two, room(c, 30), 30, 0, room(c, 110), len);
	CALL(c, SYS_recvfrom, two, room(c, 30), 30, MSG_DONTWAIT, room(c, 110), len);
	unlink("one");
	unlink("two");
	close(one);
	close(two);
}

/* A message in the page, with all that it names: a name, two buffers, control bytes. */
static struct msghdr *message(struct calls *c, size_t control)
{
	struct msghdr *header = room(c, sizeof(*header));

	header->msg_iov = rows(c, 6, 30);
	header->msg_iovlen = 2;
	header->msg_control = control ? room(c, control) : NULL;
	header->msg_controllen = control;
	return header;
}

/* Take the addresses out of what is compared; they must be what they were. */
static void message_hide(struct calls *c, struct msghdr *header)
{
	note(c, header->msg_iov[0].iov_base > (void *)header && header->msg_iov[0].iov_len == 6);
	hide(header->msg_iov, 2 * sizeof(struct iovec));
	hide(&header->msg_iov, sizeof(header->msg_iov));
	hide(&header->msg_control, sizeof(header->msg_control));
	hide(&header->msg_name, sizeof(header->msg_name));
}

static void case_sendmsg(struct calls *c)
{
	struct msghdr *out = message(c, CMSG_SPACE(sizeof(int))), *in = message(c, 64);
	struct cmsghdr *control = CMSG_FIRSTHDR(out);
	int fds[2], zero = 0;

	pair_make(SOCK_STREAM, fds);
	memcpy(out->msg_iov[0].iov_base, "letter", 6);
	*control = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(control), &zero, sizeof(zero));
	in->msg_name = room(c, 110);
	in->msg_namelen = 110;
	CALL(c, SYS_sendmsg, fds[0], out, 0);
	CALL(c, SYS_recvmsg, fds[1], in, 0);
	control = CMSG_FIRSTHDR(in);
	note(c, control != NULL);
	if (control)
		close(*(int *)(void *)CMSG_DATA(control));
	message_hide(c, in);
	message_hide(c, out);
	in = message(c, 0);
	CALL(c, SYS_recvmsg, fds[1], in, MSG_DONTWAIT);
	message_hide(c, in);
	both_close(fds);
}

static void case_sendmmsg(struct calls *c)
{
	struct mmsghdr *out = room(c, 2 * sizeof(*out)), *in = room(c, 3 * sizeof(*in));
	struct timespec long_time = {.tv_sec = 1000}, *left = put(c, &long_time, sizeof(long_time));
	int fds[2];

	for (size_t i = 0; i < 2; i++) {
		out[i].msg_hdr.msg_iov = rows(c, 6, 30);
		out[i].msg_hdr.msg_iovlen = 1 + i;
		memcpy(out[i].msg_hdr.msg_iov[0].iov_base, i ? "second" : "first ", 6);
	}
	for (size_t i = 0; i < 3; i++) {
		in[i].msg_hdr.msg_iov = rows(c, 6, 30);
		in[i].msg_hdr.msg_iovlen = 2;
	}
	pair_make(SOCK_DGRAM, fds);
	CALL(c, SYS_sendmmsg, fds[0], out, 2, 0);
	CALL(c, SYS_recvmmsg, fds[1], in, 3, MSG_DONTWAIT, left);
	for (size_t i = 0; i < 3; i++)
		message_hide(c, &in[i].msg_hdr);
	for (size_t i = 0; i < 2; i++)
		message_hide(c, &out[i].msg_hdr);
	hide(left, sizeof(*left));
	both_close(fds);
}

static void case_sockopts(struct calls *c)
{
	struct timeval wait = {.tv_sec = 9};
	socklen_t *len = room(c, 4);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	*len = 4;
	CALL(c, SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, room(c, 4), len);
	CALL(c, SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, put(c, &wait, sizeof(wait)),
		sizeof(wait));
	*len = 30;
	CALL(c, SYS_getsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, room(c, 30), len);
	*len = 2;
	CALL(c, SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, room(c, 4), len);
	*len = (socklen_t)-1;
	CALL(c, SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, room(c, 4), len);
	close(fd);
}

/* MSG_TRUNC on TCP throws bytes away: the buffer stays as it was, whatever the result. */
static void case_tcp_trunc(struct calls *c)
{
	struct sockaddr_in *addr = room(c, sizeof(*addr));
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), fd;
	socklen_t *len = room(c, 4);
	char *slot = word(c, "what was there before");

	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*len = sizeof(*addr);
	CALL(c, SYS_bind, server, addr, sizeof(*addr));
	CALL(c, SYS_getsockname, server, addr, len);
	listen(server, 1);
	/* Where there is no network, nobody comes to be waited for. */
	fd = CALL(c, SYS_connect, client, addr, sizeof(*addr)) ? -1 : accept(server, NULL, NULL);
	CALL(c, SYS_sendto, fd, word(c, "bytes of a stream"), 17, 0, NULL, 0);
	CALL(c, SYS_recvfrom, client, slot, 9, MSG_WAITALL | MSG_TRUNC, NULL, NULL);
	CALL(c, SYS_recvfrom, client, slot, 4, MSG_WAITALL, NULL, NULL);
	hide(addr, sizeof(*addr));
	close(fd);
	close(client);
	close(server);
}

static const struct calls_case calls_files[] = {
	{"read", case_read},
	{"read-across", case_read_across},
	{"read-error", case_read_error},
	{"write", case_write},
	{"readv", case_readv},
	{"readv-part", case_readv_part},
	{"writev", case_writev},
	{"writev-bad", case_writev_bad},
	{"bad-pointers", case_bad_pointers},
	{"open", case_open},
	{"names", case_names},
	{"stat", case_stat},
	{"statx", case_statx},
	{"statfs", case_statfs},
	{"utimes", case_utimes},
	{"getdents", case_getdents},
	{"getcwd", case_getcwd},
	{"xattr", case_xattr},
	{"inotify", case_inotify},
	{"locks", case_locks},
	{"ioctl-pipe", case_ioctl_pipe},
	{"ioctl-tty", case_ioctl_tty},
	{"copy", case_copy},
	{"vmsplice", case_vmsplice},
	{"memfd", case_memfd},
	{"handle", case_handle},
	{"pipe", case_pipe},
	{"poll", case_poll},
	{"select", case_select},
	{"epoll", case_epoll},
	{"timerfd", case_timerfd},
	{"eventfd", case_eventfd},
	{"signalfd", case_signalfd},
	{"sockets", case_sockets},
	{"socketpair", case_socketpair},
	{"sendto", case_sendto},
	{"sendmsg", case_sendmsg},
	{"sendmmsg", case_sendmmsg},
	{"sockopts", case_sockopts},
	{"tcp-trunc", case_tcp_trunc},
};

#endif
