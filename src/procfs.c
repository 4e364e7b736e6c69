/* procfs.c owns the reading of /proc. It never touches a process. */
#include "watchprof/procfs.h"

#include "watchprof/util.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *proc_open(pid_t pid, const char *name)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	if (!file && errno == ENOMEM) /* and not a process that has gone */
		die_of_memory();
	return file;
}

/* One line of the status file: "Key:\tvalue". */
static void status_line(const char *line, struct procfs_status *out)
{
	uint64_t set;

	sscanf(line, "Name:\t%63[^\n]", out->name);
	sscanf(line, "State:\t%c", &out->state);
	sscanf(line, "Tgid:\t%d", &out->tgid);
	sscanf(line, "PPid:\t%d", &out->parent);
	sscanf(line, "TracerPid:\t%d", &out->tracer);
	if (strncmp(line, "NStgid:", 7) == 0)
		sscanf(strrchr(line, '\t') ? strrchr(line, '\t') : "", "%d", &out->inner_tgid);
	sscanf(line, "Uid:\t%u\t%u", &out->uid, &out->euid);
	if (sscanf(line, "SigPnd:\t%" SCNx64, &set) == 1 || sscanf(line, "ShdPnd:\t%" SCNx64, &set) == 1)
		out->pending |= set;
	sscanf(line, "SigBlk:\t%" SCNx64, &out->blocked);
	sscanf(line, "SigIgn:\t%" SCNx64, &out->ignored);
	sscanf(line, "SigCgt:\t%" SCNx64, &out->caught);
	sscanf(line, "Seccomp:\t%d", &out->seccomp);
	sscanf(line, "Seccomp_filters:\t%d", &out->filters);
}

/* False: there is no other line. Half a list would be taken for a whole one: without memory the program ends. */
static bool line_next(FILE *file, char **line, size_t *cap)
{
	if (getline(line, cap, file) > 0)
		return true;
	if (!feof(file) && !ferror(file))
		die_of_memory();
	return false;
}

bool procfs_status(pid_t tid, struct procfs_status *out)
{
	FILE *file = proc_open(tid, "status");
	char *line = NULL;
	size_t cap = 0;

	*out = (struct procfs_status){0};
	if (!file)
		return false;
	while (line_next(file, &line, &cap))
		status_line(line, out);
	free(line);
	fclose(file);
	return out->tgid != 0;
}

#define TRIES_MAX 3

bool procfs_is_pending(pid_t tid, int sig)
{
	struct procfs_status status;

	for (int i = 0; i < TRIES_MAX; i++) {
		if (procfs_status(tid, &status))
			return status.pending >> (sig - 1) & 1;
	}
	return false;
}

/* Field 39 of /proc/TID/stat (proc(5)). The second, the name in parentheses, may hold anything; none of the others
 * holds a parenthesis. */
#define STAT_PROCESSOR 39

int procfs_processor(pid_t tid)
{
	char text[2048], *at;
	FILE *file = proc_open(tid, "stat");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	int processor;

	if (file)
		fclose(file);
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < STAT_PROCESSOR; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%d", &processor) == 1 ? processor : -1;
}

bool procfs_is_filtered(pid_t pid)
{
	struct procfs_status status, own;

	return procfs_status(pid, &status) && status.seccomp && procfs_status(getpid(), &own) &&
		(own.seccomp != status.seccomp || own.filters != status.filters);
}

pid_t *procfs_threads(pid_t pid, size_t *n)
{
	char path[64];
	struct dirent *entry;
	pid_t *tids = NULL;
	size_t cap = 0;
	DIR *dir;

	*n = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return NULL;
	while ((entry = readdir(dir))) {
		int tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		if (*n == cap) {
			cap = cap ? cap * 2 : 16;
			tids = mem_resize(tids, cap, sizeof(*tids));
		}
		tids[(*n)++] = tid;
	}
	closedir(dir);
	return tids;
}

pid_t procfs_living_thread(pid_t pid)
{
	size_t n;
	pid_t *tids = procfs_threads(pid, &n), living = 0;
	struct procfs_status status;

	for (size_t i = 0; i < n && !living; i++) {
		if (procfs_status(tids[i], &status) && status.state != 'Z' && status.state != 'X')
			living = tids[i];
	}
	free(tids);
	return living;
}

bool procfs_may_inspect(pid_t pid)
{
	FILE *file = proc_open(pid, "maps");

	if (file)
		fclose(file);
	return file != NULL;
}

static bool map_parse(char *line, struct procfs_map *map)
{
	char rights[5];
	int path = 0;

	*map = (struct procfs_map){0};
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n", &map->start,
		    &map->end, rights, &map->offset, &map->inode, &path) < 5)
		return false;
	map->readable = rights[0] == 'r';
	map->writable = rights[1] == 'w';
	map->executable = rights[2] == 'x';
	map->shared = rights[3] == 's';
	map->path = text_copy(path ? line + path : "");
	return true;
}

struct procfs_map *procfs_maps(pid_t pid, size_t *n)
{
	pid_t living = procfs_living_thread(pid);
	FILE *file = living ? proc_open(living, "maps") : NULL;
	struct procfs_map *maps = NULL;
	size_t cap_maps = 0, cap = 0;
	char *line = NULL;

	*n = 0;
	if (!file)
		return NULL;
	while (line_next(file, &line, &cap)) {
		if (*n == cap_maps) {
			cap_maps = cap_maps ? cap_maps * 2 : 64;
			maps = mem_resize(maps, cap_maps, sizeof(*maps));
		}
		*n += map_parse(line, &maps[*n]);
	}
	free(line);
	fclose(file);
	return maps;
}

void procfs_maps_free(struct procfs_map *maps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(maps[i].path);
	free(maps);
}

/* Open path if it is the file that was mapped; 0: any file. What the process has put there since may be a pipe or a
 * terminal: it is not waited for. */
static int open_same(const char *path, uint64_t inode)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (inode == 0 || st.st_ino == inode))
		return fd;
	close(fd);
	return -1;
}

/* Is this the same file under our own root? Its plain name then outlives the process. */
static bool is_plain(const char *path, int fd)
{
	struct stat ours, theirs;

	return stat(path, &ours) == 0 && fstat(fd, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
		ours.st_ino == theirs.st_ino;
}

/* By path below the process's root; or through its link in map_files, which leads to the file
 * even if it was deleted or replaced (as root only); or, for the program itself, its exe link. */
int procfs_map_open(pid_t pid, const struct procfs_map *map, char **name)
{
	pid_t living = procfs_living_thread(pid);
	char *root = text_format("/proc/%d/root%s", living, map->path);
	char *link = text_format("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, living, map->start, map->end);
	char *exe = text_format("/proc/%d/exe", living);
	int fd = open_same(root, map->inode);

	*name = root;
	if (fd >= 0 && is_plain(map->path, fd)) {
		*name = text_copy(map->path);
		free(root);
	}
	if (fd < 0)
		fd = open_same(link, 0);
	if (fd < 0)
		fd = open_same(exe, map->inode);
	free(link);
	free(exe);
	return fd;
}

uint64_t procfs_auxv(pid_t pid, uint64_t type)
{
	pid_t living = procfs_living_thread(pid);
	FILE *file = living ? proc_open(living, "auxv") : NULL;
	Elf64_auxv_t entry;
	uint64_t value = 0;

	if (!file)
		return 0;
	while (fread(&entry, sizeof(entry), 1, file) == 1 && entry.a_type != AT_NULL) {
		if (entry.a_type == type)
			value = entry.a_un.a_val;
	}
	fclose(file);
	return value;
}

uint64_t procfs_image(pid_t pid)
{
	/* AT_RANDOM points into the new stack, AT_ENTRY and AT_BASE into what was mapped. */
	uint64_t random = procfs_auxv(pid, AT_RANDOM);

	return random ? random ^ procfs_auxv(pid, AT_ENTRY) << 16 ^ procfs_auxv(pid, AT_BASE) << 32 : 0;
}

bool procfs_is_64bit(pid_t pid)
{
	pid_t living = procfs_living_thread(pid);
	FILE *file = living ? proc_open(living, "exe") : NULL;
	unsigned char ident[EI_NIDENT] = {0};
	bool is_64bit;

	if (!file)
		return true; /* nothing is known: let the attach itself decide */
	is_64bit = fread(ident, sizeof(ident), 1, file) != 1 || ident[EI_CLASS] != ELFCLASS32;
	fclose(file);
	return is_64bit;
}

char *procfs_command(pid_t pid)
{
	pid_t living = procfs_living_thread(pid);
	FILE *file = living ? proc_open(living, "cmdline") : NULL;
	struct procfs_status status;
	char *text = NULL, *word = NULL;
	size_t len, cap = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		die("out of memory");
	for (const char *blank = ""; file && getdelim(&word, &cap, '\0', file) > 0; blank = " ")
		fprintf(out, "%s%s", blank, word);
	free(word);
	if (file)
		fclose(file);
	if (fclose(out) || !text)
		die("out of memory");
	if (len > 0)
		return text;
	free(text);
	procfs_status(pid, &status);
	return text_format("[%s]", status.name);
}

int procfs_ptrace_scope(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%d", &scope) != 1)
		scope = 0;
	fclose(file);
	return scope;
}
