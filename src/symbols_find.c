/* symbols_find.c owns the way from the name of a variable to its address: which symbols
 * match, which of them the process really uses, and what to say when that is none or several. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CANDIDATES_SHOWN 12
/* Deeper blocks than any compiler makes: such debug info is broken. */
#define DIE_DEPTH_MAX 256

struct candidate {
	char *name; /* demangled */
	char *raw;  /* as in the symbol table, without a version */
	Dwfl_Module *module;
	Dwfl_Module *named_in; /* whose name it is, where the dynamic linker uses another module's object */
	uint64_t addr, size;
	bool is_local, is_tls, is_code, is_exe;
	enum match match;
	const char *symbol_file; /* of a local symbol, by the symbol table; often without path */
	bool is_declared;	 /* debug info was asked for the rest */
	char *file, *unit;	 /* where it is declared and compiled, if debug info tells */
	char *function;		 /* the function it is in */
	int line;
};

struct search {
	struct symbols *symbols;
	const struct watch *watch;
	struct asked asked;
	const char *symbol_file; /* the STT_FILE symbol that was last seen in this module */
	Dwfl_Module *stripped;	 /* the one that should have the name has no symbol table */
	struct candidate *found;
	size_t n, cap;
};

static bool type_fits(unsigned char type, enum watch_access access)
{
	if (access == ACCESS_EXECUTE)
		return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
	return type == STT_OBJECT || type == STT_COMMON || type == STT_TLS || type == STT_NOTYPE;
}

static void candidate_drop(struct search *search, size_t i)
{
	free(search->found[i].name);
	free(search->found[i].raw);
	free(search->found[i].file);
	free(search->found[i].unit);
	free(search->found[i].function);
	memmove(&search->found[i], &search->found[i + 1],
		(search->n - i - 1) * sizeof(*search->found));
	search->n--;
}

static void candidate_add(struct search *search, const struct candidate *candidate)
{
	for (size_t i = 0; i < search->n; i++) {
		const struct candidate *other = &search->found[i];

		/* The same object: .symtab and .dynsym, versions, other names. */
		if (other->addr != candidate->addr || other->module != candidate->module)
			continue;
		if (other->match >= candidate->match)
			return;
		candidate_drop(search, i);
		break;
	}
	if (search->n == search->cap) {
		search->cap = search->cap ? search->cap * 2 : 8;
		search->found = mem_resize(search->found, search->cap, sizeof(*search->found));
	}
	search->found[search->n] = *candidate;
	search->found[search->n].name = text_copy(candidate->name);
	search->found[search->n].raw = text_copy(candidate->raw);
	search->n++;
}

/* Look at one symbol of a module. value is its run-time address. */
static void symbol_visit(struct search *search, Dwfl_Module *module, const char *raw,
	const GElf_Sym *symbol, uint64_t value)
{
	struct named named;
	struct candidate candidate = {.module = module,
		.addr = GELF_ST_TYPE(symbol->st_info) == STT_TLS ? symbol->st_value : value,
		.size = symbol->st_size,
		.is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL,
		.is_tls = GELF_ST_TYPE(symbol->st_info) == STT_TLS,
		.is_code = search->watch->access == ACCESS_EXECUTE,
		.is_exe = module == search->symbols->exe};

	named_init(&named, &search->asked, raw);
	candidate.name = (char *)named.shown;
	candidate.raw = named.raw;
	candidate.match = named.match;
	candidate.symbol_file = candidate.is_local ? search->symbol_file : NULL;
	if (named.match != MATCH_NONE)
		candidate_add(search, &candidate);
	else if (search->n == 0)
		near_add(&search->asked, &named);
	named_fini(&named);
}

/* Are there neither symbols in the module's file nor a separate debug file? To be asked after
 * the symbol table was, which looks for that file. */
static bool module_is_stripped(Dwfl_Module *module)
{
	const char *debug_file = NULL;
	GElf_Addr bias;
	GElf_Shdr header;
	Elf *elf = dwfl_module_getelf(module, &bias);
	Elf_Scn *section = NULL;

	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, &debug_file);
	if (!elf || debug_file)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return false;
	}
	return true;
}

/* Does the qualifier name this module: its path, the end of it, or its file name up to a
 * version (libfoo.so for libfoo.so.1.2)? */
static bool module_fits(Dwfl_Module *module, const char *qualifier)
{
	const char *path = module_path(module), *base = strrchr(path, '/');
	size_t len = strlen(qualifier), path_len = strlen(path);

	base = base ? base + 1 : path;
	if (strncmp(base, qualifier, len) == 0 &&
		(base[len] == '\0' || base[len] == '.' || (base[len] == '-' && base[len + 1])))
		return true;
	return path_len > len && strcmp(path + path_len - len, qualifier) == 0 &&
		(path[path_len - len - 1] == '/' || qualifier[0] == '/');
}

static int module_visit(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	struct search *search = arg;
	int n;

	(void)userdata;
	(void)name;
	(void)base;
	if (search->watch->module && !module_fits(module, search->watch->module))
		return DWARF_CB_OK;
	n = dwfl_module_getsymtab(module);
	if ((search->watch->module || module == search->symbols->exe) && module_is_stripped(module))
		search->stripped = module;
	search->symbol_file = NULL;
	for (int i = 1; i < n; i++) {
		GElf_Sym symbol;
		GElf_Addr value;
		GElf_Word section;
		const char *raw =
			dwfl_module_getsym_info(module, i, &symbol, &value, &section, NULL, NULL);

		if (raw && GELF_ST_TYPE(symbol.st_info) == STT_FILE)
			search->symbol_file = *raw ? raw : NULL;
		if (!raw || !*raw || section == SHN_UNDEF || section == SHN_ABS ||
			!type_fits(GELF_ST_TYPE(symbol.st_info), search->watch->access))
			continue;
		symbol_visit(search, module, raw, &symbol, value);
	}
	return DWARF_CB_OK;
}

/* The (unbiased) address of the variable or function that a DIE defines; of a thread-local one, its
 * offset. */
static bool die_address(Dwarf_Die *die, bool is_code, Dwarf_Addr *addr, bool *is_tls)
{
	Dwarf_Attribute location, value;
	Dwarf_Op *ops;
	size_t n;

	*is_tls = false;

	if (is_code)
		return dwarf_tag(die) == DW_TAG_subprogram && dwarf_entrypc(die, addr) == 0;
	if (dwarf_tag(die) != DW_TAG_variable || !dwarf_attr(die, DW_AT_location, &location) ||
		dwarf_getlocation(&location, &ops, &n) != 0 || n < 1)
		return false;
	*addr = ops[0].number;
	*is_tls = n == 2 &&
		(ops[1].atom == DW_OP_form_tls_address || ops[1].atom == DW_OP_GNU_push_tls_address);
	if (*is_tls && ops[0].atom >= DW_OP_const1u && ops[0].atom <= DW_OP_consts)
		return true;
	if (!*is_tls && n != 1)
		return false;
	if (ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_constx ||
		ops[0].atom == DW_OP_GNU_addr_index || ops[0].atom == DW_OP_GNU_const_index)
		return dwarf_getlocation_attr(&location, ops, &value) == 0 &&
			dwarf_formaddr(&value, addr) == 0;
	return ops[0].atom == DW_OP_addr;
}

/* One walk over the debug info of a module, which finds all candidates in it. */
struct walk {
	struct candidate *found;
	size_t n, missing;
	Dwfl_Module *module;
	Dwarf_Addr bias;
	const char *unit;
};

static char *copy_or_null(const char *text)
{
	return text ? text_copy(text) : NULL;
}

/* Fill in what a DIE tells, if it is that of a candidate. A definition apart from its
 * declaration has the rest from there (libdw follows it). */
static void die_take(struct walk *walk, Dwarf_Die *die, const char *function)
{
	Dwarf_Addr addr;
	bool is_tls;

	if (!die_address(die, walk->found[0].is_code, &addr, &is_tls))
		return;
	addr += is_tls ? 0 : walk->bias;
	for (size_t i = 0; i < walk->n; i++) {
		struct candidate *candidate = &walk->found[i];

		if (candidate->is_declared || candidate->module != walk->module ||
			candidate->addr != addr || candidate->is_tls != is_tls)
			continue;
		candidate->file = copy_or_null(dwarf_decl_file(die));
		candidate->unit = copy_or_null(walk->unit);
		candidate->function = copy_or_null(function);
		dwarf_decl_line(die, &candidate->line);
		candidate->is_declared = true;
		walk->missing--;
	}
}

/* Namespaces, types, functions and blocks may have variables. */
static void die_walk(struct walk *walk, Dwarf_Die *parent, const char *function, int depth)
{
	Dwarf_Die die;

	if (depth > DIE_DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		die_take(walk, &die, function);
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			die_walk(walk, &die, dwarf_diename(&die), depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_lexical_block:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			die_walk(walk, &die, function, depth + 1);
			break;
		}
	} while (walk->missing && dwarf_siblingof(&die, &die) == 0);
}

static void module_walk(struct walk *walk)
{
	Dwarf_Die *unit = NULL;

	while (walk->missing && (unit = dwfl_module_nextcu(walk->module, unit, &walk->bias))) {
		walk->unit = dwarf_diename(unit);
		die_walk(walk, unit, NULL, 0);
	}
}

/* Fill in where the first n candidates are declared. */
static void candidates_declare(struct search *search, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct candidate *found = search->found;
		struct walk walk = {.found = found, .n = n, .module = found[i].module};

		for (size_t j = i; j < n; j++)
			walk.missing += !found[j].is_declared && found[j].module == walk.module;
		module_walk(&walk);
		for (size_t j = i; j < n; j++)
			found[j].is_declared |= found[j].module == walk.module;
	}
	for (size_t i = 0; i < n; i++) {
		if (!search->found[i].file)
			search->found[i].file = copy_or_null(search->found[i].symbol_file);
	}
}

/* Keep only the candidates that match best. */
static void keep_best_match(struct search *search)
{
	enum match best = MATCH_NONE;

	for (size_t i = 0; i < search->n; i++)
		best = search->found[i].match > best ? search->found[i].match : best;
	for (size_t i = search->n; i-- > 0;) {
		if (search->found[i].match != best)
			candidate_drop(search, i);
	}
}

static bool path_ends_in(const char *path, const char *end)
{
	size_t path_len = strlen(path), len = strlen(end);

	return path_len >= len && strcmp(path + path_len - len, end) == 0 &&
		(path_len == len || path[path_len - len - 1] == '/' || end[0] == '/');
}

/* A file by the symbol table is often a name without its directory. */
static bool file_fits(const struct candidate *candidate, const char *asked)
{
	if ((candidate->file && path_ends_in(candidate->file, asked)) ||
		(candidate->unit && path_ends_in(candidate->unit, asked)))
		return true;
	return candidate->file && !candidate->unit && path_ends_in(asked, candidate->file);
}

/* The name is right and its file is another. */
static void near_keep_file(struct search *search, const struct candidate *candidate)
{
	const char *slash = candidate->file ? strrchr(candidate->file, '/') : NULL;
	const char *file = slash ? slash + 1 : candidate->file;
	char *name = file ? text_format("%s::%s", file, candidate->name)
			  : text_copy(candidate->name);

	near_keep(&search->asked, name, 0);
	free(name);
}

/* Where the watch names a source file, keep the candidates declared or compiled in it. If there
 * are none, the others are near misses. */
static void keep_file(struct search *search)
{
	const char *asked = search->watch->file;
	size_t n_fit = 0;

	for (size_t i = 0; asked && i < search->n; i++)
		n_fit += file_fits(&search->found[i], asked);
	for (size_t i = search->n; asked && i-- > 0;) {
		const struct candidate *candidate = &search->found[i];

		if (file_fits(candidate, asked))
			continue;
		if (n_fit == 0)
			near_keep_file(search, candidate);
		candidate_drop(search, i);
	}
}

/* Where FUNCTION::NAME was asked for, debug info tells which NAME.123 is in that function. If
 * none is, the others are near misses. */
static void keep_scope(struct search *search)
{
	for (size_t i = search->n; i-- > 0;) {
		struct candidate *candidate = &search->found[i];

		if (candidate->match != MATCH_SCOPED)
			continue;
		if (candidate->function && strcmp(candidate->function, search->asked.scope) == 0) {
			candidate->match = MATCH_LOCAL;
			continue;
		}
		near_keep(&search->asked, candidate->name, 1);
		candidate_drop(search, i);
	}
}

/* Put a candidate where the dynamic linker finds its name: with a copy relocation that is in the
 * executable; with LD_PRELOAD and the like, in an earlier library. A function that is named with
 * its module is itself. */
static void candidate_bind(struct search *search, struct candidate *candidate)
{
	struct definition bound;

	if (candidate->is_local || (candidate->is_code && search->watch->module) ||
		!symbols_bound(search->symbols, candidate->module, candidate->raw, &bound) ||
		bound.module == candidate->module)
		return;
	if (!candidate->is_declared) {
		struct walk walk = {.found = candidate, .n = 1, .missing = 1, .module = candidate->module};

		module_walk(&walk); /* debug info knows its own address only */
		candidate->is_declared = true;
	}
	candidate->named_in = candidate->module;
	candidate->module = bound.module;
	candidate->addr = bound.addr;
	candidate->size = bound.size ? bound.size : candidate->size;
	candidate->is_exe = bound.module == search->symbols->exe;
}

/* Several candidates may be one object now: keep the one that was there before, with what debug info told
 * of the others. */
static void keep_distinct(struct search *search)
{
	for (size_t i = search->n; i-- > 0;) {
		struct candidate *out = &search->found[i];

		for (size_t j = 0; j < search->n; j++) {
			struct candidate *kept = &search->found[j];

			if (j == i || kept->module != out->module || kept->addr != out->addr ||
				(kept->named_in && (!out->named_in || j > i)))
				continue;
			if (!kept->unit && out->unit) {
				free(kept->file);
				kept->file = copy_or_null(out->file);
				kept->unit = copy_or_null(out->unit);
				kept->line = out->line;
			}
			candidate_drop(search, i);
			break;
		}
	}
}

/* Names in other namespaces (dlmopen) are not the program's, where it has one. */
static void keep_space(struct search *search)
{
	size_t n_own = 0;

	for (size_t i = 0; i < search->n; i++)
		n_own += symbols_space(search->symbols, search->found[i].module) == 0;
	for (size_t i = search->n; n_own && i-- > 0;) {
		if (symbols_space(search->symbols, search->found[i].module))
			candidate_drop(search, i);
	}
}

/* Of symbols of one name that several modules export, keep those that are in use. */
static void keep_exported(struct search *search)
{
	for (size_t i = 0; i < search->n; i++)
		candidate_bind(search, &search->found[i]);
	keep_distinct(search);
	keep_space(search);
}

/* The executable's first, then by module and address. */
static int candidate_compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int by_path;

	if (x->is_exe != y->is_exe)
		return x->is_exe ? -1 : 1;
	by_path = strcmp(module_path(x->module), module_path(y->module));
	return by_path ? by_path : (x->addr > y->addr) - (x->addr < y->addr);
}

/* Of all that matches keep what the watch means. */
static void candidates_select(struct search *search)
{
	/* A file may mean one that matches less well than another elsewhere. */
	if (!search->watch->file)
		keep_best_match(search);
	if (search->watch->file || (search->n && search->found[0].match == MATCH_SCOPED))
		candidates_declare(search, search->n);
	keep_scope(search);
	keep_exported(search);
	keep_file(search);
	keep_best_match(search);
	if (search->n)
		qsort(search->found, search->n, sizeof(*search->found), candidate_compare);
	candidates_declare(search, search->n < CANDIDATES_SHOWN ? search->n : CANDIDATES_SHOWN);
}

/* `FILE:LINE`, or the file alone where no line is known; owned by the caller. */
static char *candidate_place(const struct candidate *candidate)
{
	return candidate->line > 0 ? text_format("%s:%d", candidate->file, candidate->line)
				   : text_copy(candidate->file);
}

static char *candidate_describe(const struct candidate *candidate)
{
	char *place = candidate->file ? candidate_place(candidate) : NULL;
	char *text = text_format("\n  %s at 0x%" PRIx64 ", %" PRIu64 " bytes%s%s%s%s, in %s",
		candidate->name, candidate->addr, candidate->size, place ? ", " : "",
		place ? place : "", candidate->function ? ", function " : "",
		candidate->function ? candidate->function : "", module_path(candidate->module));

	free(place);
	return text;
}

static enum resolve_result ambiguous(const struct search *search, struct err *err)
{
	const char *name = search->watch->name;
	size_t shown;

	err_set(err, "%s: ambiguous, %zu %s match; name one as FILE.c::%s, ", search->watch->text,
		search->n, search->found[0].is_code ? "functions" : "variables", name);
	if (search->found[0].function && !search->asked.scope)
		err_append(err, "FUNCTION::%s, ", name);
	err_append(err, "MODULE!%s or by address:", name);
	for (shown = 0; shown < search->n && shown < CANDIDATES_SHOWN; shown++) {
		char *text = candidate_describe(&search->found[shown]);
		bool fits = strlen(err->text) + strlen(text) + sizeof("\n  and 99999999 more") <
			sizeof(err->text);

		if (fits)
			err_append(err, "%s", text);
		free(text);
		if (!fits)
			break;
	}
	if (search->n > shown)
		err_append(err, "\n  and %zu more", search->n - shown);
	return RESOLVE_REFUSED;
}

static enum resolve_result unknown(const struct search *search, struct err *err)
{
	const struct watch *watch = search->watch;
	const struct asked *asked = &search->asked;

	err_set(err, "%s: no %s named '%s' in %s%s%s", watch->text,
		watch->access == ACCESS_EXECUTE ? "function" : "variable", watch->name,
		watch->module ? "a module named " : "any module that is loaded",
		watch->module ? watch->module : "", watch->file ? " with that source file" : "");
	for (size_t i = 0; i < asked->n_near; i++)
		err_append(err, "%s%s", i ? ", " : "; did you mean ", asked->near[i].name);
	if (search->stripped)
		debug_searched(search->symbols, search->stripped, err);
	else if (asked->n_near == 0)
		err_append(err, "; nm -C PROGRAM lists what there is (a stripped program has few names)");
	return RESOLVE_UNKNOWN;
}

/* One candidate is left: turn it into a span. */
static enum resolve_result settle(const struct search *search, const struct candidate *found,
	struct span *span, char **object, struct err *err)
{
	const struct watch *watch = search->watch;
	uint64_t left = found->size > (uint64_t)watch->offset ? found->size - (uint64_t)watch->offset : 0;
	char *place;

	if (!found->is_code && watch->length == 0 && (left == 0 || watch->offset < 0)) {
		err_set(err, "%s: how many bytes? %s has a size of %" PRIu64 "; give a length, as in %s/4",
			watch->text, found->name, found->size, watch->text);
		return RESOLVE_REFUSED;
	}
	*span = (struct span){.addr = found->addr + (uint64_t)watch->offset,
		.len = found->is_code ? 1 : watch->length ? watch->length : left,
		.access = watch->access};
	place = found->file ? candidate_place(found) : NULL;
	*object = text_format("%s%s%s%s%s in %s%s%s", found->name, place ? " (" : "", place ? place : "",
		place ? ")" : "", found->is_tls ? ", thread-local," : "", module_path(found->module),
		found->named_in ? ", which is used instead of that in " : "",
		found->named_in ? module_path(found->named_in) : "");
	free(place);
	return RESOLVE_FOUND;
}

static uint64_t module_start(Dwfl_Module *module)
{
	Dwarf_Addr start = 0;

	dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	return start;
}

static void search_fini(struct search *search)
{
	while (search->n)
		candidate_drop(search, search->n - 1);
	free(search->found);
	asked_fini(&search->asked);
}

enum resolve_result symbols_resolve(struct symbols *symbols, const struct watch *watch,
	struct span *span, uint64_t *module, char **object, struct err *err)
{
	struct search search = {.symbols = symbols, .watch = watch};
	enum resolve_result result;

	*object = NULL;
	*module = 0;
	if (!watch->name) {
		*span = (struct span){.addr = watch->address,
			.len = watch->access == ACCESS_EXECUTE ? 1 : watch->length,
			.access = watch->access};
		return RESOLVE_FOUND;
	}
	asked_init(&search.asked, watch->name);
	dwfl_getmodules(symbols->dwfl, module_visit, &search, 0);
	candidates_select(&search);
	if (search.n == 0)
		result = unknown(&search, err);
	else if (search.n > 1)
		result = ambiguous(&search, err);
	else
		result = settle(&search, &search.found[0], span, object, err);
	if (result == RESOLVE_FOUND && search.found[0].is_tls)
		*module = module_start(search.found[0].module);
	search_fini(&search);
	return result;
}
