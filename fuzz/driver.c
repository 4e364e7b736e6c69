/* driver.c is the main() of the fuzz targets without libFuzzer: it gives a target files, as they are, cut
 * off, and changed in places that follow from a number, so that a failure comes again; FUZZ_CHANGES says how often
 * (64). Each line of a file .txt is an input of its own. */
#include "fuzz.h"
#include "watchprof/util.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANGES 64

static size_t changes(void)
{
	const char *wanted = getenv("FUZZ_CHANGES");

	return wanted ? strtoul(wanted, NULL, 10) : CHANGES;
}

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* The input as it is, then its beginnings, then with bytes changed at its beginning or anywhere. */
static void replay(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = mem_new(size + 1, 1);
	size_t n_changes = changes();
	uint32_t seed = 1;

	LLVMFuzzerTestOneInput(bytes, size);
	for (size_t i = 0; i < n_changes; i++)
		LLVMFuzzerTestOneInput(bytes, size * i / n_changes);
	for (size_t i = 0; i < n_changes && size; i++) {
		size_t range = i % 2 || size < 1024 ? size : 1024;

		memcpy(copy, bytes, size);
		for (unsigned n = 1U << i % 8; n; n--)
			copy[random_next(&seed) % range] = (uint8_t)random_next(&seed);
		LLVMFuzzerTestOneInput(copy, size);
	}
	free(copy);
}

static void replay_lines(const uint8_t *bytes, size_t size)
{
	while (size) {
		const uint8_t *end = memchr(bytes, '\n', size);
		size_t len = end ? (size_t)(end - bytes) : size;

		replay(bytes, len);
		len += end != NULL;
		bytes += len;
		size -= len;
	}
}

static int replay_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = strlen(path);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st))
		return -1;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return -1;
	if (len > 4 && strcmp(path + len - 4, ".txt") == 0)
		replay_lines(bytes, (size_t)st.st_size);
	else
		replay(bytes, (size_t)st.st_size);
	munmap(bytes, (size_t)st.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		printf("%s\n", argv[i]);
		fflush(stdout);
		if (replay_file(argv[i])) {
			perror(argv[i]);
			return 1;
		}
	}
	return argc < 2;
}
