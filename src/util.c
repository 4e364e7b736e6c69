/* util.c owns the process-wide emergency exit (the die hooks, the program's only
 * mutable file-scope variables) and small helpers without any knowledge of
 * watching. It never touches a tracee or the terminal itself. */
#include "watchprof/util.h"

#include "watchprof/err.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DIE_HOOKS_MAX 4

static struct {
	void (*undo)(void *);
	void *context;
} die_hooks[DIE_HOOKS_MAX];
static size_t n_die_hooks;

void *mem_new(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);

	if (!memory)
		die("out of memory (%zu times %zu bytes)", count, size);
	return memory;
}

void *mem_resize(void *old, size_t count, size_t size)
{
	void *memory = reallocarray(old, count ? count : 1, size ? size : 1);

	if (!memory)
		die("out of memory (%zu times %zu bytes)", count, size);
	return memory;
}

void *mem_reach(void *array, size_t index, size_t *n, size_t size)
{
	size_t had = *n;

	while (index >= *n)
		*n = *n ? *n * 2 : 256;
	if (*n == had)
		return array;
	array = mem_resize(array, *n, size);
	memset((char *)array + had * size, 0, (*n - had) * size);
	return array;
}

char *text_copy(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		die("out of memory (%zu bytes)", strlen(text));
	return copy;
}

char *text_format(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		die("out of memory");
	return text;
}

void die(const char *format, ...)
{
	va_list args;

	die_hooks_run();
	fputs("watchprof: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(ERR_FAILED);
}

void die_of_memory(void)
{
	die("out of memory");
}

void die_hook_push(void (*undo)(void *), void *context)
{
	if (n_die_hooks == DIE_HOOKS_MAX)
		die("bug: more than %d die hooks", DIE_HOOKS_MAX);
	die_hooks[n_die_hooks].undo = undo;
	die_hooks[n_die_hooks].context = context;
	n_die_hooks++;
}

void die_hook_pop(void)
{
	if (n_die_hooks > 0)
		n_die_hooks--;
}

void die_hooks_run(void)
{
	/* Taken off before it runs: a hook that fails cannot be entered again. */
	while (n_die_hooks > 0) {
		n_die_hooks--;
		die_hooks[n_die_hooks].undo(die_hooks[n_die_hooks].context);
	}
}

void die_hooks_forget(void)
{
	n_die_hooks = 0;
}

HIT_PATH uint64_t clock_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len)
{
	const unsigned char *byte = bytes;
	uint64_t hash = seed ^ 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ULL;
	return hash;
}

size_t utf8_sequence(const char *text)
{
	static const struct {
		unsigned char mask, lead; /* of the first byte */
		size_t len;
		uint32_t least; /* smaller values are overlong forms */
	} forms[] = {
		{0xe0, 0xc0, 2, 0x80},
		{0xf0, 0xe0, 3, 0x800},
		{0xf8, 0xf0, 4, 0x10000},
	};
	const unsigned char *byte = (const unsigned char *)text;

	if (byte[0] < 0x80)
		return 1;
	for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
		uint32_t point = byte[0] & (unsigned char)~forms[f].mask;

		if ((byte[0] & forms[f].mask) != forms[f].lead)
			continue;
		for (size_t i = 1; i < forms[f].len; i++) {
			if ((byte[i] & 0xc0) != 0x80)
				return 0;
			point = point << 6 | (byte[i] & 0x3f);
		}
		if (point < forms[f].least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
			return 0;
		return forms[f].len;
	}
	return 0;
}

/* A character that may be written as it is: printable ASCII but the backslash, or
 * valid UTF-8 that is not a C1 control (U+0080 to U+009F, that is c2 80 to c2 9f). */
static bool is_plain(const char *text, size_t len)
{
	unsigned char first = (unsigned char)text[0];

	if (len == 1)
		return first >= 0x20 && first != 0x7f && first != '\\';
	return len > 1 && !(first == 0xc2 && (unsigned char)text[1] < 0xa0);
}

/* The bytes that a text begins with and that may be written as they are. */
static size_t plain_length(const char *text)
{
	size_t plain = 0, len;

	while ((len = utf8_sequence(text + plain)) && is_plain(text + plain, len))
		plain += len;
	return plain;
}

void text_escape(FILE *out, const char *text)
{
	static const char named[][2] = {{'\t', 't'}, {'\n', 'n'}, {'\r', 'r'}, {'\\', '\\'}};

	while (text && *text) {
		size_t plain = plain_length(text), n = 0;

		fwrite(text, 1, plain, out);
		text += plain;
		if (!*text)
			break;
		while (n < ARRAY_LEN(named) && named[n][0] != *text)
			n++;
		if (n < ARRAY_LEN(named))
			fprintf(out, "\\%c", named[n][1]);
		else
			fprintf(out, "\\x%02x", (unsigned char)*text);
		text++;
	}
}

char *text_escaped(const char *text)
{
	char *escaped = NULL;
	size_t len;
	FILE *out;

	if (!text || !text[plain_length(text)])
		return text_copy(text ? text : "");
	out = open_memstream(&escaped, &len);
	if (!out)
		die("out of memory");
	text_escape(out, text);
	if (fclose(out) || !escaped)
		die("out of memory");
	return escaped;
}

char *text_line(const char *text)
{
	char *line = mem_new(2 * strlen(text) + 1, 1), *end = line;

	for (; *text; text++) {
		if (*text == '\n')
			end = stpcpy(end, "\\n");
		else
			*end++ = *text;
	}
	return line;
}

/* As execvp(3) does, a directory is passed over, though it may be searched. */
static bool is_program(const char *path)
{
	struct stat st;

	return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

char *path_search(const char *command)
{
	const char *path = getenv("PATH");

	if (strchr(command, '/'))
		return text_copy(command);
	for (size_t len; path && *command; path = path[len] ? path + len + 1 : NULL) {
		char *found;

		len = strcspn(path, ":");
		found = text_format("%.*s/%s", len ? (int)len : 1, len ? path : ".", command);
		if (is_program(found))
			return found;
		free(found);
	}
	return NULL;
}

bool path_is_replaceable(const char *path)
{
	struct stat st;

	return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

static char *temporary_name(const char *path, pid_t pid)
{
	return text_format("%s.%d.tmp", path, (int)pid);
}

void temporary_unlink(const char *path, pid_t pid)
{
	char *name = temporary_name(path, pid);

	unlink(name);
	free(name);
}

FILE *temporary_open(const char *path, char **name)
{
	*name = temporary_name(path, getpid());
	unlink(*name); /* of a run that was killed */
	return fopen(*name, "wxe");
}
