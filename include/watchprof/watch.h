/* watch: what the user asked for with -e, as text and as a parsed request.
 *
 *     WATCH  = EXPR[/LENGTH][:ACCESS]
 *     EXPR   = TERM[(+|-)OFFSET]  |  0xADDRESS
 *     TERM   = *TERM  |  (TYPE *)TERM  |  BASE{.MEMBER | ->MEMBER | [INDEX]}
 *     BASE   = [MODULE!][FILE::]NAME  |  (TERM)  |  [MODULE!][FILE::](TYPE *)0xADDRESS
 *     ACCESS = rw | w | r | x  or  the ksym_tracer form (rw- -w- r-- --x)
 *
 * It is read from the right, so that C++ names keep their colons. Precedence is that of C, but
 * that a cast of an address binds first: (struct s *)0x7f00->x is ((struct s *)0x7f00)->x. */
#ifndef WATCHPROF_WATCH_H
#define WATCHPROF_WATCH_H

#include "watchprof/err.h"
#include "watchprof/filter.h"

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

/* What is done in turn with the object that was named. */
enum step_kind {
	STEP_DEREF,   /* what it points at */
	STEP_MEMBER,  /* its member of this name */
	STEP_ELEMENT, /* its element of this number; of a pointer, that of what it points at */
	STEP_CAST,    /* taken for a pointer to this type */
};

struct step {
	enum step_kind kind;
	char *name;	/* of the member; of the type, without the last '*' */
	char *file;	/* of a cast: the source file whose type is meant, or NULL for any */
	uint64_t index; /* of the element */
};

struct watch {
	char *text;	 /* as typed; the name of the watch in every output */
	char *module;	 /* before '!', or NULL for any module */
	char *file;	 /* source file before '::', or NULL */
	bool is_cast_file; /* it stands before a cast: the variable may be of another one */
	char *name;	 /* NULL where an address was given. What stands behind a dot in it may be a
			  * part of the name (Go's main.counter) or a member: only symbols tell */
	struct step *steps; /* from the name or address to the object; with an address the first is
			     * a cast, if there are any */
	size_t n_steps;
	int64_t offset;	 /* bytes to add to the object's address */
	uint64_t address; /* the plain address; meaningful where name is NULL; without
			  * steps it is plain */
	uint64_t length; /* bytes; 0: the size of the object */
	enum watch_access access;
	struct filters filters; /* behind the access */
};

/* One contiguous piece of a target's memory to be watched: a resolved watch. */
struct span {
	uint64_t addr;
	uint64_t len; /* bytes; 0: nothing to watch (yet) */
	enum watch_access access;
};

/* Does it lie where a program's memory can be: below 2^47, or 2^56 with page tables of five levels? An empty one always does. */
bool span_is_user(const struct span *span);

/* Refuse (-1) one that does not. text: the watch, as it was written. */
int span_check_user(const struct span *span, const char *text, struct err *err);

/* Parse text into *watch, whose strings then belong to the caller (watch_fini).
 * On failure (-1) *watch holds nothing to free. */
int watch_parse(const char *text, struct watch *watch, struct err *err);

/* Free the strings of a parsed watch. */
void watch_fini(struct watch *watch);

/* Take the last `.MEMBER` off the name of a watch and make it the first step. False, with
 * nothing changed: the name has no dot outside of brackets with something on both sides. */
bool watch_name_shorten(struct watch *watch);

/* A copy with strings of its own (watch_fini). */
struct watch watch_copy(const struct watch *watch);

/* How long the text is without its access and filters; all of it, if it has none. `:---`, which clears
 * a watch, is an access here. */
size_t watch_stem(const char *text);

/* "rw", "r", "w" or "x". */
const char *access_name(enum watch_access access);

#endif
