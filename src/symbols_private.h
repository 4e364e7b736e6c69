/* symbols_private: what symbols.c and symbols_find.c share. */
#ifndef WATCHPROF_SYMBOLS_PRIVATE_H
#define WATCHPROF_SYMBOLS_PRIVATE_H

#include "watchprof/procfs.h"
#include "watchprof/symbols.h"

#include <elfutils/libdwfl.h>

/* One module as the dynamic linker has it. */
struct link {
	uint64_t map;	  /* its struct link_map in the target */
	uint64_t dynamic; /* its dynamic section there */
	uint64_t name;	  /* its path there */
	unsigned space;	  /* 0: the namespace of the program; others: made by dlmopen() */
};

struct symbols {
	pid_t pid; /* 0: a file that nobody runs */
	/* The dynamic linker's lists, in its order of search; read when first asked for. */
	struct link *links;
	size_t n_links;
	bool has_links, links_broken; /* broken: not read to their ends */
	struct symbols_source *source; /* may be NULL */
	Dwfl_Callbacks callbacks;
	char *debug_path; /* of libdwfl's own search; NULL: the standard places */
	bool is_online;	  /* servers may be asked just now */
	char **warnings;
	size_t n_warned, n_told;
	Dwfl *dwfl;
	struct procfs_map *maps;
	size_t n_maps;
	Dwfl_Module *exe;
	char *build_id;
	/* Strings of the last symbols_locate(). */
	char *function, *file, *unit, *module;
	struct inlined *inlined;
	size_t n_inlined;
	struct jit *jit; /* NULL: there was no code that needs it */
};

/* How well a symbol matches a name: better is greater. */
enum match {
	MATCH_NONE,
	MATCH_SCOPED, /* NAME.123 for FUNCTION::NAME: only debug info tells whether it is that */
	MATCH_LOCAL,  /* NAME.123 or FUNCTION.NAME: a function's static, as compilers name it */
	MATCH_CLONE,  /* NAME.constprop.0: the function, or the variable, under another name */
	MATCH_SUFFIX, /* ...::NAME, with or without parameters */
	MATCH_PLAIN,  /* NAME(...): all but the parameters */
	MATCH_EXACT,
};

#define NEAR_MAX 5

/* A name that was asked for, and the near misses among those seen so far, the best first. */
struct asked {
	char *name;	  /* without needless blanks */
	const char *last; /* its last component, in name */
	char *scope;	  /* what stands before that, or NULL */
	char *mark;	  /* every symbol of this name contains it; may be empty */
	struct {
		char *name;
		size_t distance;
	} near[NEAR_MAX];
	size_t n_near;
};

/* The names of one symbol. */
struct named {
	char *raw;	   /* as in the symbol table, without a version */
	char *demangled;   /* NULL where it is not mangled, or surely not the one asked for */
	char *plain;	   /* the same without parameters */
	const char *shown; /* demangled or raw */
	enum match match;  /* to the name asked for */
};

void asked_init(struct asked *asked, const char *name);
void asked_fini(struct asked *asked);

/* The names of a symbol, and how well they match. */
void named_init(struct named *named, const struct asked *asked, const char *raw);
void named_fini(struct named *named);

/* Keep a symbol's name if it is close to the one asked for. */
void near_add(struct asked *asked, const struct named *named);

/* Keep a name as a near miss of this distance, if there are not enough that are closer. */
void near_keep(struct asked *asked, const char *name, size_t distance);

/* The length of a function's name without what compilers add to those they specialise or split
 * (.constprop.0, .cold, ...). */
size_t clone_start(const char *name);

/* The demangled form of a C++, Rust, D, ... name, owned by the caller; NULL: it is not mangled.
 * The plain form has neither parameters nor what a function returns. */
char *name_demangle(const char *name);
char *name_demangle_plain(const char *name);

/* The mapping an address lies in; NULL: it is not mapped. */
const struct procfs_map *symbols_map(const struct symbols *symbols, uint64_t addr);

/* Callbacks of libdwfl: the file of a module, and its debug file (libdwfl.h, Dwfl_Callbacks). */
int debug_find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	char **file_name, Elf **elf);
int debug_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *file_name,
	const char *link, GElf_Word crc, char **found);

/* Add to a message where the debug file of a stripped module was searched. */
void debug_searched(struct symbols *symbols, Dwfl_Module *module, struct err *err);

/* Remember a warning, once. Takes ownership of text. */
void symbols_warn(struct symbols *symbols, char *text);

/* The type of a variable, as its program writes it; owned by the caller; NULL: it has none. */
char *variable_type(Dwarf_Die *variable);

/* Free the strings of the last symbols_locate(). */
void names_clear(struct symbols *symbols);

/* The name of compiled code by the list that its program writes (perf-PID.map), owned by the
 * caller; NULL: unknown. Newly written parts of the list are read when needed. */
char *jit_function(struct symbols *symbols, uint64_t addr);
void jit_free(struct jit *jit);

/* The address of a dynamic symbol that a module exports, 0 if it does not. */
uint64_t module_export(Dwfl_Module *module, const char *name);

/* The dynamic linker's lists, in its order; until symbols_links_forget(). */
const struct link *symbols_links(struct symbols *symbols, size_t *n);

/* A module in these lists; NULL: it is in none. */
const struct link *symbols_link(struct symbols *symbols, Dwfl_Module *module);

/* What a module exports. */
struct definition {
	Dwfl_Module *module;
	const char *version; /* NULL: none */
	uint64_t addr, size; /* addr: of a thread-local variable, the offset */
	bool is_own;	     /* its module always uses this one (protected) */
};

/* What a module that exports a name means by it: mostly the first definition in the order of search, which
 * may be that of another module. False: it does not export the name. */
bool symbols_bound(struct symbols *symbols, Dwfl_Module *from, const char *name, struct definition *out);

/* Is any of the libraries loaded that the executable needs? Then all are, where the dynamic linker's
 * lists are consistent. */
bool symbols_has_needed(struct symbols *symbols);

/* The namespace of a module; 0: the program's. */
unsigned symbols_space(struct symbols *symbols, Dwfl_Module *module);

/* The file name of a module; never NULL. */
const char *module_path(Dwfl_Module *module);

#endif
