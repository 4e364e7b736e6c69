/* symbols: names of a process's variables and code. Reads files, and memory of the process: the dynamic linker's lists,
 * pointers in expressions, code. Never writes any, and never needs a stopped process. */
#ifndef WATCHPROF_SYMBOLS_H
#define WATCHPROF_SYMBOLS_H

#include "watchprof/err.h"
#include "watchprof/profile.h"
#include "watchprof/value_type.h"
#include "watchprof/watch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct symbols;

/* Where symbols may come from beside the usual places; one for a whole run. */
struct symbols_source {
	char *const *debug_dirs; /* of the caller; searched like the system's, before it */
	size_t n_debug_dirs;
	bool is_debuginfod; /* servers may be asked, but only by symbols_fetch() */
	bool is_quiet;	    /* ... without a line on stderr */
	/* Has the user enough of waiting for a server? Asked about once a second meanwhile. May be NULL. */
	bool (*is_ended)(void *context);
	void *context;
	bool has_failed; /* a server was too slow, or the wait was ended: none is asked any more */
	struct {
		char *id, *path;
	} *fetched; /* what servers gave, by build-id */
	size_t n_fetched;
};
void symbols_source_fini(struct symbols_source *source);

/* The image that pid runs now; a new one is needed after exec. source may be NULL; it must
 * outlive the symbols. */
struct symbols *symbols_new(pid_t pid, struct symbols_source *source);

/* The symbols of a file that nobody runs, at the addresses that it was linked for. NULL: it is not
 * an ELF file; err tells. */
struct symbols *symbols_new_file(const char *path, struct symbols_source *source, struct err *err);

/* Get the missing debug info of all modules from servers, where the source allows it. Each takes
 * its time, so nothing may be stopped meanwhile. */
void symbols_fetch(struct symbols *symbols);

/* The same for a running process, whose symbols are made later: they find what has been fetched. */
void symbols_fetch_process(pid_t pid, struct symbols_source *source);

/* The same for a command that is not running yet, and for the libraries that it is linked with. */
void symbols_fetch_command(const char *command, struct symbols_source *source);

/* The next warning about files that has not been asked for yet, or NULL; not escaped; it lives as
 * long as the symbols. */
const char *symbols_warning(struct symbols *symbols);
void symbols_free(struct symbols *symbols);

/* Take note of libraries that were loaded or unloaded. */
void symbols_refresh(struct symbols *symbols);

enum resolve_result {
	RESOLVE_FOUND,
	RESOLVE_UNKNOWN, /* no module loaded now has the name; err tells, with near misses */
	RESOLVE_REFUSED, /* ambiguous, optimised away, without a size, ...; err tells */
};

/* Find what a watch means in this process, as it is now: pointers are followed through its memory.
 * On RESOLVE_FOUND *span is where, and *object describes it for the report (owned by the caller; NULL: an address
 * alone). *module is 0, or of a thread-local variable the address of its module (see struct arming). */
enum resolve_result symbols_resolve(struct symbols *symbols, const struct watch *watch,
	struct span *span, uint64_t *module, char **object, struct err *err);

/* The type of what symbols_resolve() found last; its kind is VALUE_OTHER where that is not known.
 * It lives until the next call. */
const struct value_type *symbols_type(const struct symbols *symbols);

/* Write a line for each variable of the symbol tables, the executable's first: name, size, type, section, module
 * and FILE:LINE, with tabs between and "-" for what is not known. pattern: only names that match it, or
 * have it in them where it has no wildcards (* ? [); NULL: all. */
void symbols_list(struct symbols *symbols, const char *pattern, FILE *out);

/* Write a line for each thing that an expression can be continued with, as symbols_list() does: members of a
 * struct (with those of its bases), the first elements of an array, what a pointer points at now. The name is the whole
 * expression; instead of FILE:LINE is "+OFFSET" in bytes, with the lowest bit of a bit-field and the class of a
 * base. -1: it means nothing, or has no members; err tells. */
int symbols_members(struct symbols *symbols, const struct watch *watch, FILE *out, struct err *err);

/* Where an address lies. The strings live until the next call. */
void symbols_locate(struct symbols *symbols, uint64_t addr, struct loc *out);

/* Where instructions begin that are in front of ip, in the same function or the same piece of code: the nth such
 * address that is known, from 0 on; the first one is the nearest. False: no more. */
bool symbols_boundary(struct symbols *symbols, uint64_t ip, unsigned nth, uint64_t *start);

/* Where the function that has an address begins and ends; where its symbol does not tell, a part of it by its unwind rules. */
bool symbols_code_range(struct symbols *symbols, uint64_t addr, uint64_t *start, uint64_t *end);

/* Bytes of code as they are in the process, or as they were in the file. False: they cannot be had. */
bool symbols_code_bytes(struct symbols *symbols, uint64_t addr, unsigned char *bytes, size_t len);

/* Read the tables of the executable that a first symbols_locate() would read, which takes a while where
 * they are large: while nothing is stopped. Other modules' are read when they are needed. */
void symbols_warm(struct symbols *symbols);

/* The variable or function that has an address, as "name" or "name+0x10", owned by the caller; NULL: nothing that has
 * a name does. */
char *symbols_name(struct symbols *symbols, uint64_t addr);

/* How far an address lies in its function; 0 where that is not known. */
uint64_t symbols_offset(struct symbols *symbols, uint64_t addr);

/* Call each for every module, with its build-id in hexadecimal, or NULL. */
void symbols_modules(struct symbols *symbols, void (*each)(void *context, const char *path, const char *build_id),
	void *context);

/* The build-id of the executable in hexadecimal, or NULL; owned by symbols. */
const char *symbols_build_id(struct symbols *symbols);

/* The dynamic linker of the process. */
struct loader {
	bool is_dynamic; /* false: a static program, nothing will be loaded by itself */
	uint64_t hook;	 /* the empty function it calls around every change of the list of
			  * libraries (<link.h>, r_brk); 0: not found */
	uint64_t debug;	 /* its struct r_debug; 0: not found */
	uint64_t debug_pointer; /* where its address will be; 0: not found */
	uint64_t entry;	 /* the program's entry point: all is loaded there */
};
struct loader symbols_loader(struct symbols *symbols);

/* Is the list of libraries whole just now (struct r_debug, r_state RT_CONSISTENT)? True
 * where that cannot be told. */
bool symbols_is_consistent(struct symbols *symbols, const struct loader *loader);

/* A function that a thread which has reached the hook calls next when its libraries are relocated, and
 * before their constructors run; 0: not known. */
uint64_t symbols_ready_hook(struct symbols *symbols);

/* Has it loaded what the program is linked with, so that all that comes now is loaded by the program? */
bool symbols_is_started(struct symbols *symbols, const struct loader *loader);

/* Forget the dynamic linker's lists, to see what has changed in them. */
void symbols_links_forget(struct symbols *symbols);

/* A library as the dynamic linker has it, which may be unloaded. */
struct home {
	uint64_t dynamic; /* its dynamic section; 0: none */
	char *name;	  /* its path, as the dynamic linker has it */
	uint64_t start, end; /* where it is mapped */
};

/* The library that has an address; none for the executable and for memory of no module. */
void symbols_home(struct symbols *symbols, uint64_t addr, struct home *out);
bool symbols_is_home(struct symbols *symbols, const struct home *home);

/* Is another library where that one was? */
bool symbols_is_taken(struct symbols *symbols, const struct home *home);

/* Is an address in the dynamic linker? */
bool symbols_is_linker(struct symbols *symbols, uint64_t addr);
void home_fini(struct home *home);

/* A thread through which the process's memory can be read; 0: it has none any more. */
pid_t symbols_tid(const struct symbols *symbols);

/* The address of what the program's own libraries export under a name, as they themselves find it; 0: they
 * do not. */
uint64_t symbols_export(struct symbols *symbols, const char *name);

/* The struct link_map of the module that lies at an address; 0: the dynamic linker has none. */
uint64_t symbols_link_map(struct symbols *symbols, uint64_t module);

/* Is the module at this address the executable? Then *below is how far below the thread pointer its
 * thread-local storage begins, in every thread. */
bool symbols_exe_tls(struct symbols *symbols, uint64_t module, uint64_t *below);

/* An instruction of a static program, before its constructors, where thread-local variables have their
 * place; 0: not known. */
uint64_t symbols_static_ready(struct symbols *symbols);

/* Anything suspicious about the address range of a watch (not mapped, read-only for writes, beyond the object it begins
 * in): a warning, not escaped, owned by the caller; or NULL. */
char *symbols_range_warning(struct symbols *symbols, const struct watch *watch, const struct span *span);

#endif
