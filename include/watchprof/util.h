/* util: what every part needs and libc does not have: allocation that cannot
 * fail quietly, the emergency exit, and escaping of text that came from a target. */
#ifndef WATCHPROF_UTIL_H
#define WATCHPROF_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define NS_PER_S 1000000000ULL

/* A function on the way of every hit: these are placed together, so that a hit touches few pages of code. */
#define HIT_PATH __attribute__((hot))

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* Allocate, or die() for want of memory. The results belong to the caller and
 * are released with free(). mem_new zeroes; mem_resize takes count * size. */
void *mem_new(size_t count, size_t size);
void *mem_resize(void *old, size_t count, size_t size);

/* An array of *n elements that has one of this index, too: where it has not, it is made longer, with zeros. Returns the
 * array, moved where needed. */
void *mem_reach(void *array, size_t index, size_t *n, size_t size);

char *text_copy(const char *text);

/* A formatted string on the heap, owned by the caller. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print the message and end the program with status 125 (ERR_FAILED). Only for
 * a lack of memory and for bugs. The die hooks run first, last in first out. */
_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* die() for a lack of memory; for libraries that end the program themselves if they are not told otherwise (libdw).
 * An attribute: to clang _Noreturn is no part of a function's type, and the type of libdw's handlers has it. */
void die_of_memory(void) __attribute__((noreturn));

/* Register what has to be undone before the program may end in an emergency
 * (disarm and detach; restore the terminal). At most 4 hooks are kept; more is a bug. */
void die_hook_push(void (*undo)(void *), void *context);

/* Forget the hook pushed last; its owner has undone it in the ordinary way. */
void die_hook_pop(void);

/* Run and forget all hooks; for die() and for handlers of deadly signals. */
void die_hooks_run(void);

/* Forget all hooks, in a forked child: what they undo is its parent's. */
void die_hooks_forget(void);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_now_ns(void);

/* FNV-1a over bytes, seeded with a former hash (or 0). Not for untrusted tables. */
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len);

/* A former hash (or 0) and one number more, quickly: for tables in memory, with the lowest bits as the bucket. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* Write text so that it is safe on a terminal and in a tab-separated field: control
 * characters (C0, DEL, C1), backslash and bytes that are not valid UTF-8 become
 * \t \n \r \\ or \xHH. NULL is written as nothing. */
void text_escape(FILE *out, const char *text);

/* The same into a new string, owned by the caller. */
char *text_escaped(const char *text);

/* A copy for a list of several lines: newlines become "\n", all else stays, to be escaped with the whole. */
char *text_line(const char *text);

/* The file that a command's name means (execvp(3)), owned by the caller; NULL: none. */
char *path_search(const char *command);

/* Make a file that is to be renamed to path when it is whole, beside it. It is a new one: a link that somebody else has
 * put there is not followed. NULL: errno tells why. *name is its name in any case, owned by the caller. */
FILE *temporary_open(const char *path, char **name);

/* Take away what a process that was killed has left of that. */
void temporary_unlink(const char *path, pid_t pid);

/* May path be replaced by a rename: is it a regular file, or not there? What is something else (a device, a pipe) can
 * only be written to. */
bool path_is_replaceable(const char *path);

/* Number of bytes of the valid UTF-8 sequence at text, 0 if there is none. */
size_t utf8_sequence(const char *text);

#endif
