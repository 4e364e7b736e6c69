/* symbols: names of a process's variables and code. Reads files, and memory only for the vdso; never
 * needs a stopped process. */
#ifndef WATCHPROF_SYMBOLS_H
#define WATCHPROF_SYMBOLS_H

#include "watchprof/err.h"
#include "watchprof/profile.h"
#include "watchprof/watch.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct symbols;

/* The image that pid runs now; a new one is needed after exec. */
struct symbols *symbols_new(pid_t pid);
void symbols_free(struct symbols *symbols);

/* Take note of libraries that were loaded or unloaded. */
void symbols_refresh(struct symbols *symbols);

enum resolve_result {
	RESOLVE_FOUND,
	RESOLVE_UNKNOWN, /* no module loaded now has the name; err tells, with near misses */
	RESOLVE_REFUSED, /* ambiguous, thread-local, without a size, ...; err tells */
};

/* Find what a watch means in this process. On RESOLVE_FOUND *span is where, and *object
 * describes it for the report (owned by the caller). */
enum resolve_result symbols_resolve(struct symbols *symbols, const struct watch *watch,
	struct span *span, char **object, struct err *err);

/* Where an address lies. The strings live until the next call. */
void symbols_locate(struct symbols *symbols, uint64_t addr, struct loc *out);

/* The build-id of the executable in hexadecimal, or NULL; owned by symbols. */
const char *symbols_build_id(struct symbols *symbols);

/* The dynamic linker of the process. */
struct loader {
	bool is_dynamic; /* false: a static program, nothing will be loaded by itself */
	uint64_t hook;	 /* the empty function it calls around every change of the list of
			  * libraries (<link.h>, r_brk); 0: not found */
	uint64_t debug;	 /* its struct r_debug; 0: not found */
	uint64_t entry;	 /* the program's entry point: all is loaded there */
};
struct loader symbols_loader(struct symbols *symbols);

/* Is the list of libraries whole just now (struct r_debug, r_state RT_CONSISTENT)? True
 * where that cannot be told. */
bool symbols_is_consistent(struct symbols *symbols, const struct loader *loader);

/* Anything suspicious about the address range of a watch (not mapped, read-only for
 * writes): a warning owned by the caller, or NULL. */
char *symbols_range_warning(struct symbols *symbols, const struct watch *watch, const struct span *span);

#endif
