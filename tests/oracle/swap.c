/* swap.c is stepped by the oracle: it loads a library, calls it, unloads it, and loads another one
 * that puts code with other frames at the same addresses. Status 2: it could not. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static volatile long sum;

static __attribute__((noinline)) void leaf(long n)
{
	sum += n;
}

static void *call(const char *program, const char *name)
{
	char path[4096];
	const char *slash = strrchr(program, '/');
	void *library;
	void (*work)(void (*)(long));

	snprintf(path, sizeof(path), "%.*s/%s", slash ? (int)(slash - program) : 1,
		slash ? program : ".", name);
	library = dlopen(path, RTLD_NOW);
	if (!library)
		return NULL;
	work = (void (*)(void (*)(long)))dlsym(library, "work");
	if (work)
		work(leaf);
	dlclose(library);
	return (void *)work;
}

int main(int argc, char **argv)
{
	void *first = call(argv[0], "libswap1.so"), *second = call(argv[0], "libswap2.so");

	(void)argc;
	printf("# swap: %p %p\n", first, second);
	return first && first == second ? 0 : 2;
}
