/* symbols_private: what symbols.c and symbols_find.c share. */
#ifndef WATCHPROF_SYMBOLS_PRIVATE_H
#define WATCHPROF_SYMBOLS_PRIVATE_H

#include "watchprof/procfs.h"
#include "watchprof/symbols.h"

#include <elfutils/libdwfl.h>

struct symbols {
	pid_t pid;
	Dwfl *dwfl;
	struct procfs_map *maps;
	size_t n_maps;
	Dwfl_Module *exe;
	char *build_id;
	/* Strings of the last symbols_locate(). */
	char *function, *file, *unit, *module;
};

/* The demangled form of a C++, Rust, D, ... name, owned by the caller; NULL: it is not mangled. */
char *name_demangle(const char *name);

/* The mapping an address lies in; NULL: it is not mapped. */
const struct procfs_map *symbols_map(const struct symbols *symbols, uint64_t addr);

/* The address of a dynamic symbol that a module exports, 0 if it does not. */
uint64_t module_export(Dwfl_Module *module, const char *name);

/* The file name of a module; never NULL. */
const char *module_path(Dwfl_Module *module);

#endif
