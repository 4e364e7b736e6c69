/* symbols_list.c owns the list of the variables that can be watched: those of the symbol tables, with
 * what debug info tells about them. It touches no process. */
#include "symbols_expr_private.h"
#include "symbols_private.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fnmatch.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* Deeper namespaces than anybody writes: such debug info is broken. */
#define NAMESPACE_DEPTH_MAX 64

struct variable {
	char *name;
	uint64_t addr, size;
	bool is_tls;
	char *section, *type, *place; /* or NULL */
	const char *file;	      /* of a function's static the source file, by the symbol table; else NULL */
};

/* The variables of one module that fit. */
struct list {
	FILE *out;
	const char *pattern;
	struct symbols *symbols;
	Dwfl_Module *module;
	struct units units;
	struct variable *found;
	size_t n, cap, n_untold;
	const char *file; /* the STT_FILE symbol that was last seen */
};

static bool pattern_fits(const char *pattern, const char *name)
{
	if (!pattern)
		return true;
	return strpbrk(pattern, "*?[") ? fnmatch(pattern, name, 0) == 0 : strstr(name, pattern) != NULL;
}

static char *section_name(Elf *elf, GElf_Word index)
{
	Elf_Scn *section = elf ? elf_getscn(elf, index) : NULL;
	GElf_Shdr header;
	const char *name;
	size_t strings;

	if (!section || !gelf_getshdr(section, &header) || elf_getshdrstrndx(elf, &strings))
		return NULL;
	name = elf_strptr(elf, strings, header.sh_name);
	return name && *name ? text_copy(name) : NULL;
}

static bool is_variable(const GElf_Sym *symbol, GElf_Word section)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	/* Without a size it is a mark of the linker. */
	return section != SHN_UNDEF && section != SHN_ABS && symbol->st_size &&
	       (type == STT_OBJECT || type == STT_COMMON || type == STT_TLS);
}

/* Without its version, demangled where it is mangled; owned by the caller. */
static char *variable_name(const char *raw)
{
	char *name = text_copy(raw), *demangled;

	name[strcspn(name, "@")] = '\0';
	demangled = name_demangle(name);
	if (!demangled)
		return name;
	free(name);
	return demangled;
}

/* Do compilers name a function's static like this: NAME.123, FUNCTION.NAME, or with its function in it? */
static bool is_of_function(const char *raw)
{
	return strchr(raw, '.') || strncmp(raw, "_ZZ", 3) == 0;
}

static void symbol_take(struct list *list, int index)
{
	GElf_Sym symbol;
	GElf_Addr value;
	GElf_Word section;
	Elf *elf;
	const char *raw = dwfl_module_getsym_info(list->module, index, &symbol, &value, &section, &elf, NULL);
	struct variable *variable;
	char *name;

	if (raw && GELF_ST_TYPE(symbol.st_info) == STT_FILE)
		list->file = raw;
	if (!raw || !*raw || !is_variable(&symbol, section))
		return;
	name = variable_name(raw);
	if (!pattern_fits(list->pattern, name)) {
		free(name);
		return;
	}
	if (list->n == list->cap) {
		list->cap = list->cap ? list->cap * 2 : 64;
		list->found = mem_resize(list->found, list->cap, sizeof(*list->found));
	}
	variable = &list->found[list->n++];
	*variable = (struct variable){.name = name, .addr = value, .size = symbol.st_size,
		.is_tls = GELF_ST_TYPE(symbol.st_info) == STT_TLS, .section = section_name(elf, section)};
	if (GELF_ST_BIND(symbol.st_info) == STB_LOCAL && is_of_function(raw))
		variable->file = list->file;
	/* A thread-local's value is its place in the block. */
	if (variable->is_tls)
		variable->addr = symbol.st_value;
}

static int addr_compare(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	if (x->is_tls != y->is_tls)
		return x->is_tls ? 1 : -1;
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int name_compare(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : addr_compare(a, b);
}

static void variable_fini(struct variable *variable)
{
	free(variable->name);
	free(variable->section);
	free(variable->type);
	free(variable->place);
}

/* Sorted by address; a symbol that is in two tables, or has two versions, once. */
static void list_sort(struct list *list)
{
	size_t n = 0;

	if (list->n == 0)
		return;
	qsort(list->found, list->n, sizeof(*list->found), addr_compare);
	for (size_t i = 0; i < list->n; i++) {
		if (n > 0 && addr_compare(&list->found[n - 1], &list->found[i]) == 0)
			variable_fini(&list->found[i]);
		else
			list->found[n++] = list->found[i];
	}
	list->n = list->n_untold = n;
}

/* Where the variable of a DIE is: its address, or its place in the block of a thread. */
static bool die_place(Dwarf_Die *die, uint64_t *addr, bool *is_tls)
{
	Dwarf_Attribute location, value;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &location) || dwarf_getlocation(&location, &ops, &n) || n < 1 || n > 2)
		return false;
	*is_tls = n == 2 && (ops[1].atom == DW_OP_GNU_push_tls_address || ops[1].atom == DW_OP_form_tls_address);
	*addr = ops[0].number;
	switch (ops[0].atom) {
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		return dwarf_getlocation_attr(&location, ops, &value) == 0 && dwarf_formaddr(&value, addr) == 0;
	}
	return n == 1 ? ops[0].atom == DW_OP_addr : *is_tls;
}

/* The first of the variables at a place; NULL: none. */
static struct variable *list_find(struct list *list, uint64_t addr, bool is_tls)
{
	size_t low = 0, high = list->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct variable *variable = &list->found[middle];

		if (variable->is_tls < is_tls || (variable->is_tls == is_tls && variable->addr < addr))
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->n && list->found[low].addr == addr && list->found[low].is_tls == is_tls ? &list->found[low]
												      : NULL;
}

/* The type of a variable, owned by the caller. */
static char *variable_type(Dwarf_Die *die)
{
	struct type type = type_of(die);

	return type_name(&type);
}

static void die_take(struct list *list, Dwarf_Die *die)
{
	struct variable *variable;
	uint64_t addr;
	bool is_tls;
	int line = 0;

	if (!die_place(die, &addr, &is_tls))
		return;
	variable = list_find(list, is_tls ? addr : addr + list->units.bias, is_tls);
	/* All names of the place. */
	for (; variable && variable < list->found + list->n; variable++) {
		const char *file = die_file(die, &list->units.stub);

		if (variable->addr != (is_tls ? addr : addr + list->units.bias) || variable->is_tls != is_tls)
			break;
		if (variable->type)
			continue;
		dwarf_decl_line(die, &line);
		variable->type = variable_type(die);
		variable->place = file ? text_format("%s:%d", file, line) : NULL;
		list->n_untold -= variable->type != NULL;
	}
}

/* Is there a variable in a scope of this kind? */
static bool is_scope(int tag, bool has_functions)
{
	switch (tag) {
	case DW_TAG_namespace:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
		return has_functions;
	}
	return false;
}

/* Variables of a file or a namespace. Functions, which are most of the debug info, are looked into only where that
 * is asked for. */
static void scope_walk(struct list *list, Dwarf_Die *scope, bool has_functions, int depth)
{
	Dwarf_Die die;

	if (depth > NAMESPACE_DEPTH_MAX || dwarf_child(scope, &die))
		return;
	do {
		if (dwarf_tag(&die) == DW_TAG_variable)
			die_take(list, &die);
		else if (is_scope(dwarf_tag(&die), has_functions))
			scope_walk(list, &die, has_functions, depth + 1);
	} while (list->n_untold && dwarf_siblingof(&die, &die) == 0);
}

/* Is a unit the one of a function's static that nothing is known about yet? */
static bool has_untold(const struct list *list, const char *unit)
{
	const char *base = unit ? strrchr(unit, '/') : NULL;

	base = base ? base + 1 : unit;
	for (size_t i = 0; base && i < list->n; i++) {
		const struct variable *variable = &list->found[i];

		/* Variables of one file mostly lie together. */
		if (variable->file && !variable->type && (i == 0 || variable->file != list->found[i - 1].file || list->found[i - 1].type) &&
			path_ends_in(variable->file, base))
			return true;
	}
	return false;
}

static void units_walk(struct list *list, bool has_functions)
{
	Dwarf_Die unit;

	if (!list->n_untold || !units_begin(&list->units, list->module))
		return;
	while (list->n_untold && units_next(&list->units, &unit)) {
		if (!has_functions || has_untold(list, list->units.name))
			scope_walk(list, &unit, has_functions, 0);
	}
}

static bool is_any_of_function(const struct list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->found[i].file && !list->found[i].type)
			return true;
	}
	return false;
}

static void debug_walk(struct list *list)
{
	units_walk(list, false);
	if (is_any_of_function(list))
		units_walk(list, true);
}

static void field_write(FILE *out, const char *text, char end)
{
	text_escape(out, text && *text ? text : "-");
	fputc(end, out);
}

static void list_write(const struct list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct variable *variable = &list->found[i];

		field_write(list->out, variable->name, '\t');
		fprintf(list->out, "%llu\t", (unsigned long long)variable->size);
		field_write(list->out, variable->type, '\t');
		field_write(list->out, variable->section, '\t');
		field_write(list->out, module_path(list->module), '\t');
		field_write(list->out, variable->place, '\n');
	}
}

static void module_list(struct list *list, Dwfl_Module *module)
{
	int n = dwfl_module_getsymtab(module);

	list->module = module;
	list->file = NULL;
	for (int i = 1; i < n; i++)
		symbol_take(list, i);
	list_sort(list);
	debug_walk(list);
	if (list->n)
		qsort(list->found, list->n, sizeof(*list->found), name_compare);
	list_write(list);
	while (list->n)
		variable_fini(&list->found[--list->n]);
	list->n_untold = 0;
}

static int module_visit(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	struct list *list = arg;

	(void)userdata;
	(void)name;
	(void)base;
	if (module != list->symbols->exe)
		module_list(list, module);
	return DWARF_CB_OK;
}

void symbols_list(struct symbols *symbols, const char *pattern, FILE *out)
{
	struct list list = {.out = out, .pattern = pattern, .symbols = symbols};

	if (symbols->exe)
		module_list(&list, symbols->exe);
	dwfl_getmodules(symbols->dwfl, module_visit, &list, 0);
	free(list.found);
}
