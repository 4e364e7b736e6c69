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
#define SUGGESTIONS_MAX	 5

/* How well a symbol matches: better is greater. */
enum match {
	MATCH_NONE,
	MATCH_LOCAL,  /* NAME.123: a function's static, as compilers name it */
	MATCH_SUFFIX, /* ...::NAME */
	MATCH_EXACT,
};

struct candidate {
	char *name; /* demangled */
	char *raw;  /* as in the symbol table, without a version */
	Dwfl_Module *module;
	uint64_t addr, size;
	bool is_local, is_tls, is_code;
	enum match match;
	char *file; /* where it is declared, if the debug info tells */
	int line;
};

struct search {
	struct symbols *symbols;
	const struct watch *watch;
	const char *last; /* the last component of the name: every match contains it */
	struct candidate *found;
	size_t n, cap;
	/* Near misses, the best first. */
	struct {
		char *name;
		size_t distance;
	} near[SUGGESTIONS_MAX];
	size_t n_near;
};

/* Does text end in name, at the start or behind a "::"? */
static bool is_suffix(const char *text, const char *name)
{
	size_t text_len = strlen(text), name_len = strlen(name);

	if (name_len > text_len || strcmp(text + text_len - name_len, name) != 0)
		return false;
	return name_len == text_len ||
		(text_len >= name_len + 2 && strncmp(text + text_len - name_len - 2, "::", 2) == 0);
}

static enum match name_match(const char *raw, const char *demangled, const char *name)
{
	size_t len = strlen(name);

	if (strcmp(raw, name) == 0 || strcmp(demangled, name) == 0)
		return MATCH_EXACT;
	if (demangled != raw && is_suffix(demangled, name))
		return MATCH_SUFFIX;
	if (strncmp(raw, name, len) == 0 && raw[len] == '.' && raw[len + 1] &&
		raw[len + 1 + strspn(raw + len + 1, "0123456789")] == '\0')
		return MATCH_LOCAL;
	return MATCH_NONE;
}

/* Levenshtein distance, or limit + 1 where it is greater. */
static size_t edit_distance(const char *a, const char *b, size_t limit)
{
	size_t a_len = strlen(a), b_len = strlen(b), row[128];

	if (b_len >= ARRAY_LEN(row) || a_len > b_len + limit || b_len > a_len + limit)
		return limit + 1;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j], least = diagonal + (a[i - 1] != b[j - 1]);

			least = least < above + 1 ? least : above + 1;
			least = least < row[j - 1] + 1 ? least : row[j - 1] + 1;
			diagonal = above;
			row[j] = least;
		}
	}
	return row[b_len] < limit + 1 ? row[b_len] : limit + 1;
}

/* Keep a name that is close to the one asked for; other letter case counts as closest. */
static void near_add(struct search *search, const char *name)
{
	const char *asked = search->watch->name;
	size_t limit = strlen(asked) / 4 + 1;
	size_t distance = strcasecmp(asked, name) == 0 ? 0 : edit_distance(asked, name, limit), at;

	if (distance > limit)
		return;
	for (at = 0; at < search->n_near; at++) {
		if (strcmp(search->near[at].name, name) == 0)
			return;
	}
	while (at > 0 && search->near[at - 1].distance > distance)
		at--;
	if (at == SUGGESTIONS_MAX)
		return;
	if (search->n_near == SUGGESTIONS_MAX)
		free(search->near[--search->n_near].name);
	memmove(&search->near[at + 1], &search->near[at], (search->n_near - at) * sizeof(search->near[0]));
	search->near[at].name = text_copy(name);
	search->near[at].distance = distance;
	search->n_near++;
}

static bool type_fits(unsigned char type, enum watch_access access)
{
	if (access == ACCESS_EXECUTE)
		return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
	return type == STT_OBJECT || type == STT_COMMON || type == STT_TLS || type == STT_NOTYPE;
}

static void candidate_add(struct search *search, const struct candidate *candidate)
{
	for (size_t i = 0; i < search->n; i++) {
		/* The same object under the same name (.symtab and .dynsym, versions). */
		if (search->found[i].addr == candidate->addr && search->found[i].module == candidate->module)
			return;
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
static void symbol_visit(struct search *search, Dwfl_Module *module, const char *raw, const GElf_Sym *symbol,
	uint64_t value)
{
	char *name = text_copy(raw), *demangled = NULL;
	struct candidate candidate = {.module = module,
		.addr = value,
		.size = symbol->st_size,
		.is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL,
		.is_tls = GELF_ST_TYPE(symbol->st_info) == STT_TLS,
		.is_code = search->watch->access == ACCESS_EXECUTE};

	name[strcspn(name, "@")] = '\0'; /* a version */
	if (strstr(name, search->last))
		demangled = name_demangle(name);
	candidate.name = demangled ? demangled : name;
	candidate.raw = name;
	candidate.match = name_match(name, candidate.name, search->watch->name);
	if (candidate.match != MATCH_NONE)
		candidate_add(search, &candidate);
	else if (search->n == 0)
		near_add(search, candidate.name);
	free(demangled);
	free(name);
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
	for (int i = 1; i < n; i++) {
		GElf_Sym symbol;
		GElf_Addr value;
		GElf_Word section;
		const char *raw =
			dwfl_module_getsym_info(module, i, &symbol, &value, &section, NULL, NULL);

		if (!raw || !*raw || section == SHN_UNDEF || section == SHN_ABS ||
			!type_fits(GELF_ST_TYPE(symbol.st_info), search->watch->access))
			continue;
		symbol_visit(search, module, raw, &symbol, value);
	}
	return DWARF_CB_OK;
}

/* Does a variable's DIE have this (unbiased) address as its location? */
static bool die_is_at(Dwarf_Die *die, uint64_t addr)
{
	Dwarf_Attribute location;
	Dwarf_Op *ops;
	size_t n;

	return dwarf_tag(die) == DW_TAG_variable && dwarf_attr(die, DW_AT_location, &location) &&
		dwarf_getlocation(&location, &ops, &n) == 0 && n == 1 &&
		(ops[0].atom == DW_OP_addr || ops[0].atom == DW_OP_addrx) && ops[0].number == addr;
}

/* The DIE of the variable at addr, below parent: namespaces, types, functions and blocks
 * may have variables. */
static bool die_find(Dwarf_Die *parent, uint64_t addr, Dwarf_Die *out)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (die_is_at(&die, addr)) {
			*out = die;
			return true;
		}
		if ((tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block) &&
			die_find(&die, addr, out))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* Fill in where a candidate is declared. */
static void candidate_declare(struct candidate *candidate)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = NULL, die, origin;
	Dwarf_Attribute attribute;
	const char *file;

	while ((unit = dwfl_module_nextcu(candidate->module, unit, &bias))) {
		if (die_find(unit, candidate->addr - bias, &die))
			break;
	}
	if (!unit)
		return;
	/* A definition apart from its declaration points to that. */
	if (!dwarf_hasattr(&die, DW_AT_decl_file) && dwarf_attr(&die, DW_AT_specification, &attribute) &&
		dwarf_formref_die(&attribute, &origin))
		die = origin;
	file = dwarf_decl_file(&die);
	if (!file)
		return;
	candidate->file = text_copy(file);
	dwarf_decl_line(&die, &candidate->line);
}

static void candidate_drop(struct search *search, size_t i)
{
	free(search->found[i].name);
	free(search->found[i].raw);
	free(search->found[i].file);
	memmove(&search->found[i], &search->found[i + 1], (search->n - i - 1) * sizeof(*search->found));
	search->n--;
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

/* Where the watch names a source file, keep the candidates declared in it. */
static void keep_file(struct search *search)
{
	for (size_t i = search->n; search->watch->file && i-- > 0;) {
		if (!search->found[i].file || !path_ends_in(search->found[i].file, search->watch->file))
			candidate_drop(search, i);
	}
}

/* Of global symbols of one name that several modules export, the program uses one: the
 * executable's (there a copy relocation put it), else that of the first module. */
static void keep_exported(struct search *search)
{
	size_t kept = SIZE_MAX;

	if (search->n < 2)
		return;
	for (size_t i = 0; i < search->n; i++) {
		if (search->found[i].is_local || !module_export(search->found[i].module, search->found[i].raw))
			return;
		if (kept == SIZE_MAX || search->found[i].module == search->symbols->exe)
			kept = i;
	}
	for (size_t i = search->n; i-- > 0;) {
		if (i != kept)
			candidate_drop(search, i);
	}
}

static void candidate_describe(const struct candidate *candidate, struct err *err)
{
	err_append(err, "\n  %s at 0x%" PRIx64 ", %" PRIu64 " bytes", candidate->name, candidate->addr,
		candidate->size);
	if (candidate->file)
		err_append(err, ", %s:%d", candidate->file, candidate->line);
	err_append(err, ", in %s", module_path(candidate->module));
}

static enum resolve_result ambiguous(const struct search *search, struct err *err)
{
	err_set(err, "%s: ambiguous, %zu variables match; name one as FILE.c::%s, MODULE!%s or by address:",
		search->watch->text, search->n, search->watch->name, search->watch->name);
	for (size_t i = 0; i < search->n && i < CANDIDATES_SHOWN; i++)
		candidate_describe(&search->found[i], err);
	if (search->n > CANDIDATES_SHOWN)
		err_append(err, "\n  and %zu more", search->n - CANDIDATES_SHOWN);
	return RESOLVE_REFUSED;
}

static enum resolve_result unknown(const struct search *search, struct err *err)
{
	const struct watch *watch = search->watch;

	err_set(err, "%s: no %s named '%s' in %s%s%s", watch->text,
		watch->access == ACCESS_EXECUTE ? "function" : "variable", watch->name,
		watch->module ? "a module named " : "any module that is loaded",
		watch->module ? watch->module : "", watch->file ? " with that source file" : "");
	if (search->n_near == 0)
		err_append(err, "; nm -C PROGRAM lists what there is (a stripped program has few names)");
	for (size_t i = 0; i < search->n_near; i++)
		err_append(err, "%s%s", i ? ", " : "; did you mean ", search->near[i].name);
	return RESOLVE_UNKNOWN;
}

/* One candidate is left: turn it into a span. */
static enum resolve_result settle(const struct search *search, const struct candidate *found,
	struct span *span, char **object, struct err *err)
{
	const struct watch *watch = search->watch;
	uint64_t left = found->size > (uint64_t)watch->offset ? found->size - (uint64_t)watch->offset : 0;

	if (found->is_tls) {
		err_set(err, "%s: %s is thread-local: every thread has its own, and such variables "
			     "are not supported; give the address of one thread's",
			watch->text, found->name);
		return RESOLVE_REFUSED;
	}
	if (!found->is_code && watch->length == 0 && (left == 0 || watch->offset < 0)) {
		err_set(err, "%s: how many bytes? %s has a size of %" PRIu64 "; give a length, as in %s/4",
			watch->text, found->name, found->size, watch->text);
		return RESOLVE_REFUSED;
	}
	*span = (struct span){.addr = found->addr + (uint64_t)watch->offset,
		.len = found->is_code ? 1 : watch->length ? watch->length : left,
		.access = watch->access};
	*object = found->file ? text_format("%s (%s:%d) in %s", found->name, found->file, found->line,
					  module_path(found->module))
			      : text_format("%s in %s", found->name, module_path(found->module));
	return RESOLVE_FOUND;
}

static void search_fini(struct search *search)
{
	while (search->n)
		candidate_drop(search, search->n - 1);
	free(search->found);
	while (search->n_near)
		free(search->near[--search->n_near].name);
}

enum resolve_result symbols_resolve(struct symbols *symbols, const struct watch *watch,
	struct span *span, char **object, struct err *err)
{
	struct search search = {.symbols = symbols, .watch = watch};
	enum resolve_result result;
	const char *colons;

	*object = NULL;
	if (!watch->name) {
		*span = (struct span){.addr = watch->address,
			.len = watch->access == ACCESS_EXECUTE ? 1 : watch->length,
			.access = watch->access};
		return RESOLVE_FOUND;
	}
	search.last = watch->name;
	while ((colons = strstr(search.last, "::")))
		search.last = colons + 2;
	dwfl_getmodules(symbols->dwfl, module_visit, &search, 0);
	keep_best_match(&search);
	keep_exported(&search);
	if (search.n <= CANDIDATES_SHOWN || watch->file) {
		for (size_t i = 0; i < search.n; i++)
			candidate_declare(&search.found[i]);
	}
	keep_file(&search);
	if (search.n == 0)
		result = unknown(&search, err);
	else if (search.n > 1)
		result = ambiguous(&search, err);
	else
		result = settle(&search, &search.found[0], span, object, err);
	search_fini(&search);
	return result;
}
