/* findword PID ADDRESS LENGTH VALUE: print the offsets (decimal, one a line) of all aligned
 * 8-byte words with this value in a range of a process's memory. Only reads. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>

int main(int argc, char **argv)
{
	uint64_t addr, len, value, *words;
	struct iovec local, remote;

	if (argc != 5)
		return 2;
	addr = strtoull(argv[2], NULL, 0);
	len = strtoull(argv[3], NULL, 0);
	value = strtoull(argv[4], NULL, 0);
	words = calloc(1, len);
	local = (struct iovec){words, len};
	remote = (struct iovec){(void *)(uintptr_t)addr, len};
	if (!words || process_vm_readv(atoi(argv[1]), &local, 1, &remote, 1, 0) < 0) {
		perror("findword");
		return 1;
	}
	for (uint64_t i = 0; i < len / 8; i++) {
		if (words[i] == value)
			printf("%" PRIu64 "\n", i * 8);
	}
	free(words);
	return 0;
}
