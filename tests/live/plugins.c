/* plugins.c STEP...: does what the steps say, with one library at a time:
 *   open:PATH, space:PATH   load it (into a namespace of its own), and keep its plugin_write()
 *   thread:PATH             load it in another thread, while main writes its own variable 1000 times
 *   write:N                 the library writes N times
 *   close                   unload it
 *   map:N                   map something else where pv was, and write there N times
 *   own:N                   write each of a, b and c N times
 *   wait                    say ready and wait for a line
 *   fork                    have a child, which does the steps behind that begin with c:, without that
 *   hold                    (the child) wait until its parent lets it go; where pv was is then where the parent's was
 *   let                     let the child go */
#include "handshake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

volatile long a, b, c, busy;

static void *library;
static volatile int *(*library_write)(int times);
static volatile int *last;
static int to_child = -1, from_parent = -1;

static int take(void *opened)
{
	library = opened;
	library_write = library ? (volatile int *(*)(int))dlsym(library, "plugin_write") : NULL;
	return library_write ? 0 : 1;
}

static void *load(void *path)
{
	return dlopen(path, RTLD_NOW);
}

static int load_in_thread(char *path)
{
	pthread_t thread;
	void *opened;

	pthread_create(&thread, NULL, load, path);
	for (int i = 0; i < 1000; i++)
		busy = i;
	pthread_join(thread, &opened);
	return take(opened);
}

static void map_write(int times)
{
	uintptr_t page = (uintptr_t)last & ~(uintptr_t)4095;

	if (mmap((void *)page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
		(void *)page)
		exit(2);
	for (int i = 0; i < times; i++)
		*last = i;
}

static void own(int times)
{
	for (int i = 0; i < times; i++)
		a = b = c = i;
}

static int step(char *text)
{
	char *arg = strchr(text, ':');

	if (arg)
		*arg++ = '\0';
	if (strcmp(text, "open") == 0)
		return take(load(arg));
	if (strcmp(text, "space") == 0)
		return take(dlmopen(LM_ID_NEWLM, arg, RTLD_NOW));
	if (strcmp(text, "thread") == 0)
		return load_in_thread(arg);
	if (strcmp(text, "write") == 0)
		last = library_write(atoi(arg));
	else if (strcmp(text, "close") == 0)
		return dlclose(library);
	else if (strcmp(text, "map") == 0)
		map_write(atoi(arg));
	else if (strcmp(text, "own") == 0)
		own(atoi(arg));
	else if (strcmp(text, "wait") == 0)
		say("ready"), told(NULL);
	else if (strcmp(text, "hold") == 0)
		return read(from_parent, &last, sizeof(last)) != sizeof(last);
	else if (strcmp(text, "let") == 0)
		return write(to_child, &last, sizeof(last)) != sizeof(last);
	return 0;
}

/* The child goes on with its own of the steps. */
static void child_begin(const int ends[2], char **steps)
{
	char **own = steps;

	close(ends[1]);
	from_parent = ends[0];
	for (; *steps; steps++) {
		if (strncmp(*steps, "c:", 2) == 0)
			*own++ = *steps + 2;
	}
	*own = NULL;
}

int main(int argc, char **argv)
{
	int ends[2], status = 0;

	(void)argc;
	for (int i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "fork") == 0) {
			if (pipe(ends))
				return 98;
			if (fork() == 0)
				child_begin(ends, argv + i + 1);
			else
				to_child = ends[1];
		} else if (strncmp(argv[i], "c:", 2) && step(argv[i])) {
			return i;
		}
	}
	while (wait(&status) > 0) {
		if (status)
			return 97;
	}
	return 0;
}
