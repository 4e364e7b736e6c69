/* symbols_jit.c owns the names of code that a program has compiled at run time, as it lists them in
 * /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt of the kernel): START SIZE NAME.
 * The list is the target's: anybody may have put something else there, so it is opened with care. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is longer is not read further. */
#define LIST_BYTES_MAX ((off_t)256 << 20)
#define LINE_BYTES_MAX 4096

struct jit_code {
	uint64_t start, size;
	char *name;
};

struct jit {
	struct jit_code *code; /* in order of the list: code that is reused comes again */
	size_t n, cap;
	ino_t inode;
	off_t taken; /* so much of the file was read */
};

static void jit_clear(struct jit *jit)
{
	while (jit->n)
		free(jit->code[--jit->n].name);
	jit->taken = 0;
}

void jit_free(struct jit *jit)
{
	if (!jit)
		return;
	jit_clear(jit);
	free(jit->code);
	free(jit);
}

/* Open a name in a directory that is no link to elsewhere. */
static int open_in(int dir, const char *name, int flags)
{
	int fd = dir < 0 ? -1 : openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);

	if (dir >= 0)
		close(dir);
	return fd;
}

/* The list of the process in its own root directory, by the number that it knows itself by; -1 where
 * there is none, or where neither the process's user nor root has written it. */
static int list_open(pid_t pid, struct stat *st)
{
	pid_t living = procfs_living_thread(pid);
	char *root = text_format("/proc/%d/root", (int)living);
	struct procfs_status status;
	bool is_there = procfs_status(living, &status);
	char *name = text_format("perf-%d.map", (int)status.inner_tgid);
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = open_in(open_in(dir, "tmp", O_PATH | O_DIRECTORY), name, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	free(root);
	free(name);
	if (fd < 0)
		return -1;
	if (is_there && fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
		(st->st_uid == status.euid || st->st_uid == 0) && !(st->st_mode & S_IWOTH))
		return fd;
	close(fd);
	return -1;
}

static void line_take(struct jit *jit, char *line)
{
	struct jit_code code;
	char *end;

	line[strcspn(line, "\n")] = '\0';
	code.start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return;
	code.size = strtoull(end, &end, 16);
	if (*end != ' ' || !end[1] || !code.size)
		return;
	if (jit->n == jit->cap) {
		jit->cap = jit->cap ? jit->cap * 2 : 256;
		jit->code = mem_resize(jit->code, jit->cap, sizeof(*jit->code));
	}
	code.name = text_copy(end + 1);
	jit->code[jit->n++] = code;
}

/* Read what was added to the list since the last time, whole lines only. */
static void list_read(struct jit *jit, int fd, const struct stat *st)
{
	FILE *file = fdopen(fd, "r");
	char line[LINE_BYTES_MAX];

	if (!file) {
		close(fd);
		return;
	}
	if (st->st_ino != jit->inode || st->st_size < jit->taken)
		jit_clear(jit);
	jit->inode = st->st_ino;
	fseeko(file, jit->taken, SEEK_SET);
	while (jit->taken < LIST_BYTES_MAX && fgets(line, sizeof(line), file)) {
		size_t len = strlen(line);

		/* The rest of a line that is too long is a line that means nothing. */
		if (len == 0 || (line[len - 1] != '\n' && len + 1 < sizeof(line)))
			break;
		jit->taken += (off_t)len;
		line_take(jit, line);
	}
	fclose(file);
}

/* The last one wins: code is thrown away and its place used again. */
static const char *code_find(const struct jit *jit, uint64_t addr)
{
	for (size_t i = jit->n; i-- > 0;) {
		if (addr >= jit->code[i].start && addr - jit->code[i].start < jit->code[i].size)
			return jit->code[i].name;
	}
	return NULL;
}

char *jit_function(struct symbols *symbols, uint64_t addr)
{
	const char *name;
	struct stat st;
	int fd = list_open(symbols->pid, &st);

	if (!symbols->jit)
		symbols->jit = mem_new(1, sizeof(*symbols->jit));
	if (fd >= 0)
		list_read(symbols->jit, fd, &st);
	name = code_find(symbols->jit, addr);
	return name ? text_copy(name) : NULL;
}
