/* cut_file.c owns what happens where a file is cut off that libelf, libdw or the unwinder have mapped (a library that
 * is copied over in place): the kernel sends SIGBUS for each page behind its new end (mmap(2)). It never reads a file. */
#include "watchprof/cut_file.h"

#include "watchprof/util.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* A handler can keep what it has done nowhere else. */
static volatile sig_atomic_t *pages(void)
{
	static volatile sig_atomic_t n;

	return &n;
}

bool cut_file_go_on(const siginfo_t *info)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *page = (char *)info->si_addr - (uintptr_t)info->si_addr % size;
	int saved = errno;
	bool is_there;

	if (info->si_code != BUS_ADRERR)
		return false;
	is_there = mmap(page, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *)page;
	errno = saved;
	if (is_there)
		++*pages();
	return is_there;
}

unsigned cut_file_pages(void)
{
	return (unsigned)*pages();
}
