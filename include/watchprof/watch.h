/* watch: what the user asked for with -e, as text and as a parsed request.
 *
 *     WATCH  = EXPR[/LENGTH][:ACCESS]
 *     EXPR   = [MODULE!][FILE::]NAME[(+|-)OFFSET]  |  0xADDRESS
 *     ACCESS = rw | w | r | x  or  the ksym_tracer form (rw- -w- r-- --x)
 *
 * It is read from the right, so that C++ names keep their colons. */
#ifndef WATCHPROF_WATCH_H
#define WATCHPROF_WATCH_H

#include "watchprof/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hit names its watches by a bit each in a 64-bit set. */
#define WATCHES_MAX 64

enum watch_access {
	ACCESS_READ = 1,
	ACCESS_WRITE = 2,
	ACCESS_READ_WRITE = ACCESS_READ | ACCESS_WRITE,
	ACCESS_EXECUTE = 4,
};

struct watch {
	char *text;	 /* as typed; the name of the watch in every output */
	char *module;	 /* before '!', or NULL for any module */
	char *file;	 /* source file before '::', or NULL */
	char *name;	 /* NULL where a plain address was given */
	int64_t offset;	 /* bytes to add to the object's address */
	uint64_t address; /* the plain address; meaningful where name is NULL */
	uint64_t length; /* bytes; 0: the size of the object */
	enum watch_access access;
};

/* One contiguous piece of a target's memory to be watched: a resolved watch. */
struct span {
	uint64_t addr;
	uint64_t len; /* bytes; 0: nothing to watch (yet) */
	enum watch_access access;
};

/* Parse text into *watch, whose strings then belong to the caller (watch_fini).
 * On failure (-1) *watch holds nothing to free. */
int watch_parse(const char *text, struct watch *watch, struct err *err);

/* Free the strings of a parsed watch. */
void watch_fini(struct watch *watch);

/* "rw", "r", "w" or "x". */
const char *access_name(enum watch_access access);

#endif
