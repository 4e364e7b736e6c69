/* err: one failure, as text for the user and as the exit status it leads to.
 *
 * The message is made where the cause is known (what, on what, why, what to
 * try), handed up unchanged, and printed once, by main. Nothing here prints. */
#ifndef WATCHPROF_ERR_H
#define WATCHPROF_ERR_H

/* Exit statuses of watchprof itself; those of a launched program are its own.
 * 124 to 127 are used as env(1) and timeout(1) use theirs. */
enum err_status {
	ERR_NO_ENGINE = 124,	 /* nothing on this machine can catch an access */
	ERR_FAILED = 125,	 /* watchprof failed; usage errors too */
	ERR_NOT_EXECUTABLE = 126, /* the command was found and cannot be executed */
	ERR_NOT_FOUND = 127,	 /* the command was not found */
};

struct err {
	int status;	 /* an enum err_status once set; 0: no failure */
	char text[4096]; /* one line, then possibly lists, without the final newline */
};

/* Record a failure with status ERR_FAILED. Returns -1, so that a function can
 * end with `return err_set(err, ...)`. An earlier failure is replaced. */
int err_set(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with another exit status. */
int err_set_status(struct err *err, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Add to the text of a failure that is already set; what does not fit is cut. Returns -1. */
int err_append(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
