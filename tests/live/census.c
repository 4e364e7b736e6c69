/* census.c counts forks and programs where it is preloaded, each twice: in its variables, which are there to be watched, and
 * in the file CENSUS, which all of its processes share. `births` is written once in each forked child, and `spare` as often;
 * `loads` once in each program that is executed. Children of vfork(2) are no births.
 * With READER it is a program: census FILE prints "BIRTHS LOADS" of such a file. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct census {
	atomic_long births, loads;
};

static struct census *census_map(const char *path)
{
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct census), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	return map == MAP_FAILED ? NULL : map;
}

#ifdef READER
int main(int argc, char **argv)
{
	struct census *own = argc == 2 ? census_map(argv[1]) : NULL;

	if (!own) {
		fprintf(stderr, "census: no file of counts\n");
		return 2;
	}
	printf("%ld %ld\n", atomic_load(&own->births), atomic_load(&own->loads));
	return 0;
}
#else
volatile long births, spare, loads;
static struct census *own;

static void count_birth(void)
{
	births++;
	spare++;
	if (own)
		atomic_fetch_add(&own->births, 1);
}

__attribute__((constructor)) static void begin(void)
{
	own = census_map(getenv("CENSUS"));
	pthread_atfork(NULL, NULL, count_birth);
	loads++;
	if (own)
		atomic_fetch_add(&own->loads, 1);
}
#endif
