/* tally.c is preloaded into watchprof and counts what it asks of the C library, from its 1,000th
 * PTRACE_CONT (or PTRACE_SYSCALL) to TALLY_CONTS later: the steady state. It writes the counts to the file TALLY_FILE:
 * "NAME COUNT" for each. It changes nothing. Calls within the C library are not seen. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WARM_UP 1000
#define MEMORY_FROM (1L << 20) /* where a read begins that is of /proc/PID/mem, not of another file */

enum call {
	CALL_ALLOCATE,
	CALL_OPEN,
	CALL_MAP,
	CALL_SIGMASK,
	CALL_PTRACE,
	CALL_READV,
	CALL_PREAD,
	CALL_PWRITE,
	CALL_COUNT,
};

static const char *const names[] = {
	[CALL_ALLOCATE] = "allocate",
	[CALL_OPEN] = "open",
	[CALL_MAP] = "map",
	[CALL_SIGMASK] = "sigmask",
	[CALL_PTRACE] = "ptrace",
	[CALL_READV] = "process_vm_readv",
	[CALL_PREAD] = "pread",
	[CALL_PWRITE] = "pwrite",
};

static long counts[CALL_COUNT], conts, wanted;
static bool is_counting;

static void count(enum call call)
{
	if (is_counting)
		counts[call]++;
}

static void report(void)
{
	const char *path = getenv("TALLY_FILE");
	FILE *file = path ? fopen(path, "we") : NULL;

	if (!file)
		return;
	for (int i = 0; i < CALL_COUNT; i++)
		fprintf(file, "%s %ld\n", names[i], counts[i]);
	fclose(file);
}

static void cont_note(void)
{
	conts++;
	if (conts == WARM_UP) {
		wanted = getenv("TALLY_CONTS") ? atol(getenv("TALLY_CONTS")) : 0;
		is_counting = wanted > 0;
	} else if (is_counting && conts == WARM_UP + wanted) {
		is_counting = false;
		report();
	}
}

/* The real function of this name. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* glibc's own names, so that nothing has to be looked up while memory is asked for. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	count(CALL_ALLOCATE);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count(CALL_ALLOCATE);
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	count(CALL_ALLOCATE);
	return __libc_realloc(old, size);
}

int open(const char *path, int flags, ...)
{
	va_list list;
	int mode;

	va_start(list, flags);
	mode = va_arg(list, int);
	va_end(list);
	count(CALL_OPEN);
	return REAL(open)(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	count(CALL_OPEN);
	return REAL(fopen)(path, mode);
}

DIR *opendir(const char *path)
{
	count(CALL_OPEN);
	return REAL(opendir)(path);
}

void *mmap(void *addr, size_t len, int protection, int flags, int fd, off_t offset)
{
	count(CALL_MAP);
	return REAL(mmap)(addr, len, protection, flags, fd, offset);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	count(CALL_SIGMASK);
	return REAL(sigprocmask)(how, set, old);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	count(CALL_SIGMASK);
	return REAL(pthread_sigmask)(how, set, old);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
	const struct iovec *remote, unsigned long n_remote, unsigned long flags)
{
	count(CALL_READV);
	return REAL(process_vm_readv)(pid, local, n_local, remote, n_remote, flags);
}

ssize_t pread(int fd, void *out, size_t len, off_t offset)
{
	if (offset >= MEMORY_FROM)
		count(CALL_PREAD);
	return REAL(pread)(fd, out, len, offset);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
	count(CALL_PWRITE);
	return REAL(pwrite)(fd, data, len, offset);
}

long ptrace(enum __ptrace_request request, ...)
{
	va_list list;
	pid_t pid;
	void *addr, *data;
	long result;
	int failure;

	va_start(list, request);
	pid = va_arg(list, pid_t);
	addr = va_arg(list, void *);
	data = va_arg(list, void *);
	va_end(list);
	count(CALL_PTRACE);
	result = REAL(ptrace)(request, pid, addr, data);
	failure = errno;
	if (request == PTRACE_CONT || request == PTRACE_SYSCALL)
		cont_note();
	errno = failure;
	return result;
}
