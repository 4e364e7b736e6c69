/* unit_help: what several unit tests share: children that are allowed to die, scratch files, and
 * random numbers that are the same in every run. */
#ifndef UNIT_HELP_H
#define UNIT_HELP_H

#include <stddef.h>
#include <stdint.h>

/* child_run() returns this where the body came back instead of ending the process. */
#define CHILD_RETURNED 99

/* Run body in a forked child. Returns its exit status, or 256 + the signal that killed it.
 * What it wrote to stdout and stderr is in output (cut to size, NUL-terminated). */
int child_run(void (*body)(void *), void *context, char *output, size_t size);

/* The next number of a fixed sequence (splitmix64); *state is its seed. */
uint64_t random_next(uint64_t *state);

/* A new empty directory below $TMPDIR or /tmp; the caller frees the name. */
char *scratch_new(void);

/* Remove a directory with the files in it; frees the name. */
void scratch_free(char *directory);

/* How many entries a directory has. */
size_t scratch_entries(const char *directory);

/* A whole file as a string that the caller frees; NULL where it cannot be read. */
char *file_read(const char *path);

/* Write text to a file. */
void file_write(const char *path, const char *text);

#endif
