/* faults: a library to be preloaded into watchprof, in which the FAULT_AT-th call of FAULT_CALL of a process fails, once, as
 * if the kernel or the C library had refused it. Only in the program FAULT_PROGRAM, and not in what it starts. FAULT_LOG
 * gets a line when a call has failed. Forked children go on counting where their parent was. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static const char *call;
static long left; /* calls until it fails; 0: never */

__attribute__((constructor)) static void begin(void)
{
	const char *program = getenv("FAULT_PROGRAM"), *at = getenv("FAULT_AT");
	char self[4096] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || !program || strcmp(self, program) != 0 || !at)
		return;
	call = getenv("FAULT_CALL");
	left = atol(at);
}

static int fails(const char *name, int error)
{
	const char *log = getenv("FAULT_LOG");
	int fd;

	if (!left || !call || strcmp(name, call) != 0 || --left)
		return 0;
	fd = (int)syscall(SYS_open, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	syscall(SYS_write, fd, "failed\n", 7);
	syscall(SYS_close, fd);
	errno = error;
	return 1;
}

void *malloc(size_t size)
{
	return fails("malloc", ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails("malloc", ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	return fails("malloc", ENOMEM) ? NULL : __libc_realloc(old, size);
}

int open(const char *path, int flags, ...)
{
	va_list list;
	int mode;

	va_start(list, flags);
	mode = va_arg(list, int);
	va_end(list);
	return fails("open", EMFILE) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char *path, int flags, ...)
{
	va_list list;
	int mode;

	va_start(list, flags);
	mode = va_arg(list, int);
	va_end(list);
	return fails("open", EMFILE) ? -1 : (int)syscall(SYS_openat, directory, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");

	return fails("open", EMFILE) ? NULL : real(path, mode);
}

/* What programs call that are built for large files. */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
int openat64(int directory, const char *path, int flags, ...) __attribute__((alias("openat")));
FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));

ssize_t read(int fd, void *out, size_t len)
{
	return fails("read", EIO) ? -1 : syscall(SYS_read, fd, out, len);
}

ssize_t pread(int fd, void *out, size_t len, off_t at)
{
	return fails("read", EIO) ? -1 : syscall(SYS_pread64, fd, out, len, at);
}

ssize_t pread64(int fd, void *out, size_t len, off_t at) __attribute__((alias("pread")));

ssize_t write(int fd, const void *bytes, size_t len)
{
	return fails("write", ENOSPC) ? -1 : syscall(SYS_write, fd, bytes, len);
}

long ptrace(enum __ptrace_request request, ...)
{
	long (*real)(enum __ptrace_request, ...) = (long (*)(enum __ptrace_request, ...))dlsym(RTLD_NEXT, "ptrace");
	va_list list;
	pid_t pid;
	void *address, *data;

	va_start(list, request);
	pid = va_arg(list, pid_t);
	address = va_arg(list, void *);
	data = va_arg(list, void *);
	va_end(list);
	return fails("ptrace", EIO) ? -1 : real(request, pid, address, data);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	/* Only a wait that sleeps is interrupted. */
	if (!(options & WNOHANG) && fails("waitpid", EINTR))
		return -1;
	return (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local, const struct iovec *remote,
	unsigned long n_remote, unsigned long flags)
{
	return fails("memory", EPERM) ? -1 : syscall(SYS_process_vm_readv, pid, local, n_local, remote, n_remote, flags);
}

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");

	return fails("fork", EAGAIN) ? -1 : real();
}
