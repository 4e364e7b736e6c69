/* symbols_private: what the symbols files share. */
#ifndef WATCHPROF_SYMBOLS_PRIVATE_H
#define WATCHPROF_SYMBOLS_PRIVATE_H

#include "watchprof/procfs.h"
#include "watchprof/symbols.h"
#include "watchprof/value_type.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

/* One module as the dynamic linker has it. */
struct link {
	uint64_t map;	  /* its struct link_map in the target */
	uint64_t dynamic; /* its dynamic section there */
	uint64_t name;	  /* its path there */
	unsigned space;	  /* 0: the namespace of the program; others: made by dlmopen() */
};

/* A type: a DIE, and what debug information has no DIE for. */
struct type {
	Dwarf_Die die;
	bool is_void;   /* there is no DIE */
	unsigned stars; /* pointers to it */
	unsigned dim;   /* of an array: so many dimensions less */
};

struct symbols {
	pid_t pid; /* 0: a file that nobody runs */
	/* The dynamic linker's lists, in its order of search; read when first asked for. */
	struct link *links;
	size_t n_links;
	Dwfl_Module *exporter;	      /* the one that symbols_export() found something in last */
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
	unsigned n_statics;	/* static members that are being resolved, one within another */
	struct value_type type; /* of what symbols_resolve() found last */
	struct type found_type; /* the same, peeled, by the debug info of found_module; NULL: not known */
	Dwfl_Module *found_module;
	/* Strings of the last symbols_locate(). */
	char *function, *file, *unit, *module;
	struct inlined *inlined;
	size_t n_inlined;
	struct package *packages; /* of split debug info; see symbols_split.c */
	size_t n_packages;
	struct jit *jit; /* NULL: there was no code that needs it */
};

/* How well a symbol matches a name: better is greater. */
enum match {
	MATCH_NONE,
	MATCH_INLINE, /* some scopes are left out: only debug info tells whether C++ does so, too */
	MATCH_SCOPED, /* NAME.123 for FUNCTION::NAME: only debug info tells whether it is that */
	MATCH_LOCAL,  /* NAME.123 or FUNCTION.NAME: a function's static, as compilers name it */
	MATCH_CLONE,  /* NAME.constprop.0: the function, or the variable, under another name */
	MATCH_SUFFIX, /* ...::NAME, with or without parameters */
	MATCH_PLAIN,  /* NAME(...): all but the parameters */
	MATCH_EXACT,
};

/* What the kernel puts behind the name of a mapped file that is not there any more. */
#define DELETED " (deleted)"

#define NEAR_MAX 5

/* A name that was asked for, and the near misses among those seen so far, the best first. */
struct asked {
	char *name;	  /* without needless blanks */
	const char *last; /* its last component, in name */
	char *scope;	  /* what stands before that, or NULL */
	char *mark;	  /* every symbol of this name contains it; may be empty */
	char *version;	  /* what stood behind an @, or NULL */
	bool is_default;  /* ... behind @@ */
	struct {
		char *name; /* in one line */
		size_t distance;
	} near[NEAR_MAX];
	size_t n_near;
};

/* What a variable or function is declared in. */
struct outer_scope {
	const char *name; /* of debug info */
	bool is_open;	  /* C++ finds names in it from outside, too: an inline or unnamed namespace */
};

/* The names of one symbol. */
struct named {
	char *raw;	   /* as in the symbol table, without a version */
	char *demangled;   /* NULL where it is not mangled, or surely not the one asked for */
	char *plain;	   /* the same without parameters */
	const char *shown; /* demangled or raw */
	enum match match;  /* to the name asked for */
};

/* A variable or function that matches. */
struct candidate {
	char *name; /* demangled */
	char *raw;  /* as in the symbol table, without a version */
	Dwfl_Module *module;
	Dwfl_Module *named_in; /* whose name it is, where the dynamic linker uses another module's object */
	uint64_t addr, size;   /* of a thread-local one its offset */
	bool is_local, is_tls, is_code, is_exe;
	bool is_optimised; /* debug info has it, without a place in memory */
	bool is_automatic; /* ... with a place that each call of its function has anew */
	enum match match;
	const char *version;	 /* that it is exported with, or NULL; of its file */
	bool is_old;		 /* a reference without a version does not mean this one */
	bool is_default;	 /* it does, and means this version */
	const char *symbol_file; /* of a local symbol, by the symbol table; often without path */
	bool is_declared;	 /* debug info was asked for the rest */
	char *file, *unit;	 /* where it is declared and compiled, if debug info tells */
	char *function;		 /* the function it is in */
	int line;
	Dwarf_Die die;		  /* what debug info tells */
	Dwfl_Module *die_module; /* whose; NULL: it tells nothing */
};

void asked_init(struct asked *asked, const char *name);
void asked_fini(struct asked *asked);

/* The names of a symbol, and how well they match. */
void named_init(struct named *named, const struct asked *asked, const char *raw);
void named_fini(struct named *named);

/* Keep a symbol's name if it is close to the one asked for. */
void near_add(struct asked *asked, const struct named *named);

/* How far a name is from the one asked for; SIZE_MAX: not close. */
size_t near_distance(const struct asked *asked, const struct named *named);

/* Keep a name as a near miss of this distance, if there are not enough that are closer. */
void near_keep(struct asked *asked, const char *name, size_t distance);

/* The length of a function's name without what compilers add to those they specialise or split
 * (.constprop.0, .cold, ...). */
size_t clone_start(const char *name);

/* The demangled form of a C++, Rust, D, ... name, owned by the caller; NULL: it is not mangled.
 * The plain form has neither parameters nor what a function returns. */
char *name_demangle(const char *name);
char *name_demangle_plain(const char *name);

/* How well a name fits whose last component is this, and whose scopes are these (innermost first): those
 * that are open may be left out. */
enum match scopes_match(const struct asked *asked, const char *last, const struct outer_scope *scopes, size_t n);

/* How well the name of a variable with all its scopes, as debug info has it, fits. */
enum match name_match(const struct asked *asked, const char *name);

/* The module that has the address; NULL: none. For dwfl_addrmodule(), which returns what happens to be on the stack
 * where there is no memory for its tables (elfutils 0.188, segment.c): without memory the program ends. */
Dwfl_Module *module_at(const struct symbols *symbols, uint64_t addr);

/* The mapping an address lies in; NULL: it is not mapped. */
const struct procfs_map *symbols_map(const struct symbols *symbols, uint64_t addr);

/* Callbacks of libdwfl: the file of a module, and its debug file (libdwfl.h, Dwfl_Callbacks). */
int debug_find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	char **file_name, Elf **elf);
int debug_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *file_name,
	const char *link, GElf_Word crc, char **found);

/* Open a regular file; -1 where there is none. A pipe or a device is never opened for good. */
int file_open(const char *path);

/* The debug file of a build-id (in hexadecimal) that servers have given, or, within symbols_fetch(), give now: its
 * descriptor, and its name in *found, owned by the caller; or -1. file: the module's, for messages. There is a source. */
int server_find(struct symbols *symbols, const char *id, const char *file, Dwfl_Module *module, char **found);

/* Add to a message where the debug file of a stripped module was searched. */
void debug_searched(struct symbols *symbols, Dwfl_Module *module, struct err *err);

/* Remember a warning, once. Takes ownership of text. */
void symbols_warn(struct symbols *symbols, char *text);

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
	bool is_default;     /* a reference without a version means it */
	bool is_copy;	     /* the version is that of a library, whose variable is here */
	bool is_own;	     /* its module always uses this one (protected) */
	bool is_unique;	     /* there is one in the process, whatever modules define it */
};

/* What a module that exports a name with a version (NULL: the default one) means by it: mostly the first
 * definition in the order of search, which may be that of another module. False: it does not export it. */
bool symbols_bound(struct symbols *symbols, Dwfl_Module *from, const char *name, const char *version,
	struct definition *out);

/* The definition of a name at an address: that with the version, if there are several (NULL: the default one).
 * False: the module does not export it. */
bool symbols_version(Dwfl_Module *module, const char *name, uint64_t addr, const char *version, struct definition *out);

/* Is any of the libraries loaded that the executable needs? Then all are, where the dynamic linker's
 * lists are consistent. */
bool symbols_has_needed(struct symbols *symbols);

/* The namespace of a module; 0: the program's. */
unsigned symbols_space(struct symbols *symbols, Dwfl_Module *module);

/* The file name of a module; never NULL. */
const char *module_path(Dwfl_Module *module);

/* All units of a module, those of split debug info and those shared by dwz among them. */
struct units {
	Dwfl_Module *module;
	Dwarf *dwarf;
	Dwarf_CU *unit;
	const char *name; /* of the unit, or NULL */
	Dwarf_Die stub;	  /* its top DIE in the file itself */
	Dwarf_Addr bias;
	bool is_shared;
};

/* False: the module has no debug info. */
bool units_begin(struct units *units, Dwfl_Module *module);

/* The debug information of a module; NULL: it has none. libdw ends the program by die_of_memory() from then on. */
Dwarf *module_dwarf(Dwfl_Module *module, Dwarf_Addr *bias);

/* Where a DIE of a unit is declared; NULL: unknown. stub: of the unit. */
const char *die_file(Dwarf_Die *die, Dwarf_Die *stub);

/* The top DIE of the next one; false: there is none. */
bool units_next(struct units *units, Dwarf_Die *unit);

/* The unit that was split off from a skeleton unit to a package; false: it is in none, and a warning
 * tells which file is missing. */
bool split_find(const struct units *units, Dwarf_Die *skeleton, Dwarf_Die *split);
void packages_free(struct symbols *symbols);

/* Is this attribute there and true? */
bool die_flag(Dwarf_Die *die, unsigned name);

/* The scopes that a DIE is declared in, innermost first; the caller frees them. */
struct outer_scope *die_scopes(Dwarf_Die *die, size_t *n);

/* Fill in what debug info tells of candidates. */
void candidates_declare(struct candidate *found, size_t n);

/* Hand all variables of a module to add() that fit the name, by debug info, and that it places in
 * memory, or says to be optimised away. The strings of a candidate but its names then belong to
 * add(). */
void variables_find(Dwfl_Module *module, struct asked *asked, void (*add)(void *context, struct candidate *candidate),
	void *context);

/* The definition of a struct, class, union or enum by its name, with its scopes or some of them. */
bool type_find(Dwfl_Module *module, const char *name, Dwarf_Die *type);

/* Hand all types of this last component (NULL: all that have a name) to take(), with their names with scopes,
 * until that says that they are enough. is_tagged: only structs, classes, unions and enums. */
void types_find(Dwfl_Module *module, const char *last, bool is_tagged,
	bool (*take)(void *context, struct units *units, Dwarf_Die *die, const char *name), void *context);

/* How well the name of a type fits. */
enum match types_match(const struct asked *asked, Dwarf_Die *die, const char *name);

/* Is this the path, or the end of it from a directory on? */
bool path_ends_in(const char *path, const char *end);

/* At most so many candidates are shown, and looked up in debug info for that. */
#define CANDIDATES_SHOWN 12

/* The search for a name. */
struct search {
	struct symbols *symbols;
	const struct watch *watch;
	struct asked asked;
	const char *symbol_file; /* the STT_FILE symbol that was last seen in this module */
	bool is_optimised;	 /* debug information has it, without a place in memory */
	char *local;		 /* a variable of a function that has none or several, or NULL */
	Dwfl_Module *stripped;	 /* the one that should have the name has no symbol table */
	size_t n_demangled;	 /* for near misses */
	struct candidate *found;
	size_t n, cap;
};

/* Find the candidates that a watch may mean, the best alone if there is one. */
void search_run(struct search *search, struct symbols *symbols, const struct watch *watch);
void search_fini(struct search *search);

/* Look for near misses where none was seen yet. */
void search_near(struct search *search);

/* Where the results of symbols_resolve() go. */
struct answer {
	struct span *span;
	uint64_t *module;
	char **object;
};

/* Make the span of what a watch means from the variable that its name means (NULL: it starts at
 * an address): follow its steps, through the memory of the process. As symbols_resolve(). */
enum resolve_result expr_resolve(struct symbols *symbols, const struct watch *watch, const struct candidate *found,
	struct answer *answer, struct err *err);

/* `FILE:LINE` of a candidate, or the file alone where no line is known; owned by the caller. */
char *candidate_place(const struct candidate *candidate);

/* Does a qualifier name this module: its path, the end of it, or its file name up to a
 * version (libfoo.so for libfoo.so.1.2)? */
bool module_fits(Dwfl_Module *module, const char *qualifier);

/* The compilation unit of an address: by the table of addresses, which some compilers do not make,
 * else by asking each unit. What was split off into a file of its own (-gsplit-dwarf) is there. */
bool unit_find(Dwfl_Module *module, uint64_t addr, Dwarf_Die *unit, Dwarf_Addr *bias);

#endif
