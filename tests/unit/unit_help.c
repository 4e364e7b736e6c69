/* unit_help.c owns the helpers that several unit tests share. It knows nothing of what they
 * test, and asserts only that the machine does what it must. */
#include "unit_help.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void child_main(void (*body)(void *), void *context, int output)
{
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(output);
	body(context);
	fflush(stdout);
	_exit(CHILD_RETURNED);
}

static void drain(int input, char *output, size_t size)
{
	char rest[4096];
	size_t used = 0;
	ssize_t n;

	while ((n = read(input, rest, sizeof(rest))) > 0) {
		size_t room = size - 1 - used, take = (size_t)n < room ? (size_t)n : room;

		memcpy(output + used, rest, take);
		used += take;
	}
	output[used] = '\0';
}

int child_run(void (*body)(void *), void *context, char *output, size_t size)
{
	int ends[2], status;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(ends[0]);
		child_main(body, context, ends[1]);
	}
	close(ends[1]);
	drain(ends[0], output, size);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

char *scratch_new(void)
{
	const char *parent = getenv("TMPDIR");
	char *name;

	assert_true(asprintf(&name, "%s/watchprof-unit-XXXXXX", parent ? parent : "/tmp") > 0);
	assert_non_null(mkdtemp(name));
	return name;
}

/* Call visit with the path of every entry; returns their number. */
static size_t entries_visit(const char *directory, void (*visit)(const char *path))
{
	DIR *stream = opendir(directory);
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(stream);
	while ((entry = readdir(stream))) {
		char path[1024];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		n++;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (visit)
			visit(path);
	}
	closedir(stream);
	return n;
}

static void entry_remove(const char *path)
{
	if (remove(path))
		print_error("%s is left behind\n", path);
}

void scratch_free(char *directory)
{
	entries_visit(directory, entry_remove);
	entry_remove(directory);
	free(directory);
}

size_t scratch_entries(const char *directory)
{
	return entries_visit(directory, NULL);
}

char *file_read(const char *path)
{
	FILE *in = fopen(path, "re"), *out;
	char *text = NULL;
	size_t len;
	int c;

	if (!in)
		return NULL;
	out = open_memstream(&text, &len);
	assert_non_null(out);
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fclose(in);
	fclose(out);
	return text;
}

void file_write(const char *path, const char *text)
{
	FILE *out = fopen(path, "we");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}
