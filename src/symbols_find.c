/* symbols_find.c owns the way from the name of a variable to its address: which symbols
 * match, which of them the process really uses, and what to say when that is none or several. */
#include "symbols_private.h"
#include "watchprof/name.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So many names are demangled only to find one that is close to an unknown one: 0.1 s or so. */
#define DEMANGLED_MAX 50000

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

bool module_fits(Dwfl_Module *module, const char *qualifier)
{
	char *path = text_copy(module_path(module));
	const char *base;
	size_t len = strlen(qualifier), path_len;
	bool fits;

	if (strlen(path) > strlen(DELETED) && strcmp(path + strlen(path) - strlen(DELETED), DELETED) == 0)
		path[strlen(path) - strlen(DELETED)] = '\0';
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	path_len = strlen(path);
	fits = strncmp(base, qualifier, len) == 0 &&
	       (base[len] == '\0' || base[len] == '.' || (base[len] == '-' && base[len + 1]));
	fits |= path_len > len && strcmp(path + path_len - len, qualifier) == 0 &&
		(path[path_len - len - 1] == '/' || qualifier[0] == '/');
	free(path);
	return fits;
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

static char *copy_or_null(const char *text)
{
	return text ? text_copy(text) : NULL;
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

bool path_ends_in(const char *path, const char *end)
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

		if (file_fits(candidate, asked) || (n_fit == 0 && search->watch->is_cast_file))
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

/* The version that a symbol is exported with: the one that was asked for, or the default one, where it
 * has several. */
static void candidate_version(const struct search *search, struct candidate *candidate)
{
	struct definition definition;

	if (candidate->is_local || !symbols_version(candidate->module, candidate->raw, candidate->addr,
					   search->asked.version, &definition) ||
		!definition.version)
		return;
	candidate->version = definition.version;
	candidate->is_old = !definition.is_default;
	candidate->is_default = definition.is_default && !definition.is_copy;
	candidate->size = definition.size;
}

static bool version_fits(const struct asked *asked, const struct candidate *candidate)
{
	return candidate->version && strcmp(candidate->version, asked->version) == 0 &&
		(candidate->is_default || !asked->is_default);
}

/* Is the default version of the same name there, too? */
static bool has_newer(const struct search *search, const struct candidate *old)
{
	for (size_t i = 0; i < search->n; i++) {
		const struct candidate *other = &search->found[i];

		if (other->is_default && other->module == old->module &&
			strcmp(other->raw, old->raw) == 0)
			return true;
	}
	return false;
}

/* Of several versions keep the one that was asked for, else the default one. */
static void keep_version(struct search *search)
{
	for (size_t i = 0; i < search->n; i++)
		candidate_version(search, &search->found[i]);
	for (size_t i = search->n; i-- > 0;) {
		struct candidate *candidate = &search->found[i];
		bool is_meant = search->asked.version ? version_fits(&search->asked, candidate)
						      : !candidate->is_old || !has_newer(search, candidate);
		char *name = text_copy(candidate->name);

		if (candidate->version && (search->asked.version || candidate->is_old)) {
			free(candidate->name);
			candidate->name = text_format("%s%s%s", name, candidate->is_default ? "@@" : "@", candidate->version);
		}
		free(name);
		if (is_meant)
			continue;
		if (search->asked.version)
			near_keep(&search->asked, candidate->name, 0);
		candidate_drop(search, i);
	}
}

/* How well a candidate fits by its scopes in debug info. */
static enum match inline_match(const struct search *search, struct candidate *candidate)
{
	char *plain = name_demangle_plain(candidate->raw);
	struct outer_scope *scopes;
	enum match match = MATCH_NONE;
	size_t n;

	if (candidate->die_module) {
		scopes = die_scopes(&candidate->die, &n);
		match = scopes_match(&search->asked, name_last(candidate->name), scopes, n);
		if (match == MATCH_NONE && plain)
			match = scopes_match(&search->asked, name_last(plain), scopes, n);
		free(scopes);
	}
	free(plain);
	return match;
}

/* Where scopes are left out, debug info tells whether they are inline namespaces. Others are near misses. */
static void keep_inline(struct search *search)
{
	for (size_t i = search->n; i-- > 0;) {
		struct candidate *candidate = &search->found[i];

		if (candidate->match != MATCH_INLINE)
			continue;
		candidate->match = inline_match(search, candidate);
		if (candidate->match != MATCH_NONE)
			continue;
		near_keep(&search->asked, candidate->name, 1);
		candidate_drop(search, i);
	}
}

/* Names with scopes left out count where no other name is as written. */
static void inline_settle(struct search *search)
{
	bool has_inline = false;

	for (size_t i = 0; i < search->n; i++) {
		if (search->found[i].match > MATCH_SUFFIX)
			return;
		has_inline |= search->found[i].match == MATCH_INLINE;
	}
	if (!has_inline)
		return;
	candidates_declare(search->found, search->n);
	keep_inline(search);
}

/* Put a candidate where the dynamic linker finds its name: with a copy relocation that is in the
 * executable; with LD_PRELOAD and the like, in an earlier library. A function that is named with
 * its module is itself. */
static void candidate_bind(struct search *search, struct candidate *candidate)
{
	struct definition bound;

	if (candidate->is_local || (candidate->is_code && search->watch->module) ||
		!symbols_bound(search->symbols, candidate->module, candidate->raw, candidate->version, &bound) ||
		bound.module == candidate->module)
		return;
	candidates_declare(candidate, 1); /* debug info knows its own address only */
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
				kept->die = out->die;
				kept->die_module = out->die_module;
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

/* The name of a global of the executable means it, whatever statics of libraries have that name. */
static void keep_global(struct search *search)
{
	bool has_global = false;

	for (size_t i = 0; i < search->n; i++)
		has_global |= search->found[i].is_exe && !search->found[i].is_local;
	for (size_t i = search->n; has_global && i-- > 0;) {
		if (!search->found[i].is_exe && search->found[i].is_local)
			candidate_drop(search, i);
	}
}

/* Of all that matches keep what the watch means. */
static void candidates_select(struct search *search)
{
	keep_version(search);
	inline_settle(search);
	/* A file may mean one that matches less well than another elsewhere. */
	if (!search->watch->file)
		keep_best_match(search);
	if (search->watch->file || (search->n && search->found[0].match == MATCH_SCOPED))
		candidates_declare(search->found, search->n);
	keep_scope(search);
	keep_exported(search);
	keep_file(search);
	keep_best_match(search);
	keep_global(search);
	if (search->n)
		qsort(search->found, search->n, sizeof(*search->found), candidate_compare);
	candidates_declare(search->found, search->n < CANDIDATES_SHOWN ? search->n : CANDIDATES_SHOWN);
}

/* Remember a variable that has no fixed place in memory. One of a function has others of its name beside
 * it: it is sure to be meant only where the function is named, too. */
static void variable_note(struct search *search, const struct candidate *candidate)
{
	bool is_sure = !candidate->function || search->asked.scope;
	bool is_near = search->asked.scope || candidate->is_exe || search->watch->module;
	char *place = candidate->file ? candidate_place(candidate) : NULL;

	search->is_optimised |= candidate->is_optimised && is_sure;
	if (candidate->function && is_near && !search->local)
		search->local = text_format("a local variable of %s%s%s%s", candidate->function, place ? " (" : "",
			place ? place : "", place ? ")" : "");
	free(place);
}

/* A variable that debug information alone has. Takes over the strings that are not names. */
static void variable_add(void *context, struct candidate *candidate)
{
	struct search *search = context;
	const char *file = search->watch->file;
	bool is_placed = !candidate->is_optimised && !candidate->is_automatic;
	size_t n = search->n;

	candidate->is_exe = candidate->module == search->symbols->exe;
	if (file && !file_fits(candidate, file))
		is_placed = is_placed && search->asked.n_near == 0; /* may be a near miss */
	else if (!is_placed)
		variable_note(search, candidate);
	if (is_placed)
		candidate_add(search, candidate);
	if (search->n > n)
		return;
	free(candidate->file);
	free(candidate->unit);
	free(candidate->function);
}

static int variables_visit(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	struct search *search = arg;

	(void)userdata;
	(void)name;
	(void)base;
	if (!search->watch->module || module_fits(module, search->watch->module))
		variables_find(module, &search->asked, variable_add, search);
	return DWARF_CB_OK;
}

/* Mangled names without the word that was asked for were not looked at: see if one is close. */
static int near_visit(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	struct search *search = arg;
	int n = dwfl_module_getsymtab(module);

	(void)userdata;
	(void)name;
	(void)base;
	if (search->watch->module && !module_fits(module, search->watch->module))
		return DWARF_CB_OK;
	for (int i = 1; i < n && search->n_demangled < DEMANGLED_MAX; i++) {
		GElf_Sym symbol;
		GElf_Addr value;
		GElf_Word section;
		const char *raw = dwfl_module_getsym_info(module, i, &symbol, &value, &section, NULL, NULL);
		struct named named = {0};

		if (!raw || section == SHN_UNDEF || !type_fits(GELF_ST_TYPE(symbol.st_info), search->watch->access))
			continue;
		named.demangled = name_demangle(raw);
		named.plain = named.demangled ? name_demangle_plain(raw) : NULL;
		named.raw = (char *)raw;
		search->n_demangled += named.plain != NULL;
		if (named.plain)
			near_add(&search->asked, &named);
		free(named.demangled);
		free(named.plain);
	}
	return DWARF_CB_OK;
}

void search_near(struct search *search)
{
	if (search->asked.n_near == 0)
		dwfl_getmodules(search->symbols->dwfl, near_visit, search, 0);
}

void search_run(struct search *search, struct symbols *symbols, const struct watch *watch)
{
	*search = (struct search){.symbols = symbols, .watch = watch};
	asked_init(&search->asked, watch->name);
	dwfl_getmodules(symbols->dwfl, module_visit, search, 0);
	candidates_select(search);
	/* Symbols have versions, and debug info has none. */
	if (search->n || watch->access == ACCESS_EXECUTE || search->asked.version)
		return;
	dwfl_getmodules(symbols->dwfl, variables_visit, search, 0);
	candidates_select(search);
}

void search_fini(struct search *search)
{
	while (search->n)
		candidate_drop(search, search->n - 1);
	free(search->found);
	free(search->local);
	asked_fini(&search->asked);
}
