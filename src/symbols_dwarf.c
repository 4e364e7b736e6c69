/* symbols_dwarf.c owns the walks over the debug information of a module: all its units, the
 * variable at an address, the variables and the types of a name. It reads no memory. */
#include "symbols_private.h"
#include "watchprof/name.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

/* Deeper blocks than any compiler makes: such debug info is broken. */
#define DIE_DEPTH_MAX 256

/* What a DIE lies in, from the inside. */
struct scope {
	const struct scope *outer;
	const char *name; /* NULL: it does not show in names */
};

static Dwarf *guarded(Dwarf *dwarf)
{
	if (dwarf)
		dwarf_new_oom_handler(dwarf, die_of_memory);
	return dwarf;
}

Dwarf *module_dwarf(Dwfl_Module *module, Dwarf_Addr *bias)
{
	return guarded(dwfl_module_getdwarf(module, bias));
}

bool units_begin(struct units *units, Dwfl_Module *module)
{
	*units = (struct units){.module = module};
	units->dwarf = module_dwarf(module, &units->bias);
	return units->dwarf != NULL;
}

bool units_next(struct units *units, Dwarf_Die *unit)
{
	Dwarf_Die split;
	uint8_t type;

	while (units->dwarf) {
		if (dwarf_get_units(units->dwarf, units->unit, &units->unit, NULL, &type, unit,
			    &split) == 0) {
			/* Of split debug information what the file itself has is a stub. */
			units->stub = *unit;
			if (type == DW_UT_skeleton && (split.addr || split_find(units, unit, &split)))
				*unit = split;
			units->name = unit->addr ? dwarf_diename(unit) : NULL;
			if (unit->addr)
				return true;
			continue;
		}
		/* Then what dwz has moved to a file that several share. */
		units->dwarf = units->is_shared ? NULL : guarded(dwarf_getalt(units->dwarf));
		units->is_shared = true;
		units->unit = NULL;
	}
	return false;
}

bool die_flag(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	bool is_set = false;

	return dwarf_attr_integrate(die, name, &attribute) &&
	       dwarf_formflag(&attribute, &is_set) == 0 && is_set;
}

/* A block that is one address. libdw takes no block for a location in DWARF 4 and later, where it
 * should be of another form; the Go linker writes one. */
static bool block_address(Dwarf_Attribute *location, Dwarf_Addr *addr)
{
	Dwarf_Block block;

	if (dwarf_formblock(location, &block) || block.length != 1 + sizeof(uint64_t) || block.data[0] != DW_OP_addr)
		return false;
	memcpy(addr, block.data + 1, sizeof(uint64_t));
	return true;
}

/* Where a variable is, by the operations of its location. */
static bool ops_address(Dwarf_Attribute *location, Dwarf_Op *ops, size_t n, Dwarf_Addr *addr, bool *is_tls)
{
	Dwarf_Attribute value;

	if (n < 1)
		return false;
	*addr = ops[0].number;
	*is_tls = n == 2 && (ops[1].atom == DW_OP_form_tls_address || ops[1].atom == DW_OP_GNU_push_tls_address);
	if (*is_tls && ops[0].atom >= DW_OP_const1u && ops[0].atom <= DW_OP_consts)
		return true;
	if (!*is_tls && n != 1)
		return false;
	if (ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_constx || ops[0].atom == DW_OP_GNU_addr_index ||
	    ops[0].atom == DW_OP_GNU_const_index)
		return dwarf_getlocation_attr(location, ops, &value) == 0 && dwarf_formaddr(&value, addr) == 0;
	return ops[0].atom == DW_OP_addr;
}

/* The (unbiased) address of the variable or function that a DIE defines; of a thread-local one, its
 * offset. */
static bool die_address(Dwarf_Die *die, bool is_code, Dwarf_Addr *addr, bool *is_tls)
{
	Dwarf_Attribute location;
	Dwarf_Op *ops;
	size_t n;

	*is_tls = false;
	if (is_code)
		return dwarf_tag(die) == DW_TAG_subprogram && dwarf_entrypc(die, addr) == 0;
	if (dwarf_tag(die) != DW_TAG_variable || !dwarf_attr(die, DW_AT_location, &location))
		return false;
	if (dwarf_getlocation(&location, &ops, &n))
		return block_address(&location, addr);
	return ops_address(&location, ops, n, addr, is_tls);
}

static char *copy_or_null(const char *text)
{
	return text ? text_copy(text) : NULL;
}

/* A file by its number in the table of a unit; NULL: the unit has none. */
static const char *unit_file(Dwarf_Die *unit, size_t number)
{
	Dwarf_Files *files;
	size_t n;

	if (dwarf_getsrcfiles(unit, &files, &n) || number >= n)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

/* Where a DIE is declared. dwarf_decl_file() does the same, but ends the program with an assertion
 * where split debug info has no table of files (elfutils 0.188): the stub has it. */
const char *die_file(Dwarf_Die *die, Dwarf_Die *stub)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Die unit;
	const char *file;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) || dwarf_formudata(&attribute, &number) ||
	    !dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL))
		return NULL;
	file = unit_file(&unit, number);
	return file ? file : unit_file(stub, number);
}

static void candidate_declare(
	struct candidate *candidate, Dwarf_Die *die, struct units *units, const char *function)
{
	/* What another definition of the same object told. */
	free(candidate->file);
	free(candidate->unit);
	free(candidate->function);
	candidate->file = copy_or_null(die_file(die, &units->stub));
	candidate->unit = copy_or_null(units->name);
	candidate->function = copy_or_null(function);
	dwarf_decl_line(die, &candidate->line);
	candidate->die = *die;
	candidate->die_module = candidate->module;
	candidate->is_declared = true;
}

/* One walk over the debug info of a module, which finds all candidates in it. */
struct walk {
	struct candidate *found;
	size_t n, missing;
	struct units units;
	bool is_deep; /* functions may have variables that are looked for */
};

/* Fill in what a DIE tells, if it is that of a candidate. A definition apart from its
 * declaration has the rest from there (libdw follows it). */
static void die_take(struct walk *walk, Dwarf_Die *die, const char *function)
{
	Dwarf_Addr addr;
	bool is_tls;

	if (!die_address(die, walk->found[0].is_code, &addr, &is_tls))
		return;
	addr += is_tls ? 0 : walk->units.bias;
	for (size_t i = 0; i < walk->n; i++) {
		struct candidate *candidate = &walk->found[i];

		if (candidate->is_declared || candidate->module != walk->units.module ||
			candidate->addr != addr || candidate->is_tls != is_tls)
			continue;
		candidate_declare(candidate, die, &walk->units, function);
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
			if (walk->is_deep)
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

static void module_walk(struct walk *walk, Dwfl_Module *module)
{
	Dwarf_Die unit;

	if (!units_begin(&walk->units, module))
		return;
	while (walk->missing && units_next(&walk->units, &unit))
		die_walk(walk, &unit, NULL, 0);
}

/* Compilers put a dot into the symbol of a function's static, or mangle the function with it
 * (_ZZ...). The functions of a module are most of its debug info: not walked for others. */
static bool is_function_static(const char *raw)
{
	return strchr(raw, '.') || strncmp(raw, "_ZZ", 3) == 0 || strncmp(raw, "_ZGVZ", 5) == 0;
}

/* How a DIE shows in the names of what is in it. */
static const char *scope_name(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	if (dwarf_tag(die) == DW_TAG_namespace && !name)
		return "(anonymous namespace)";
	return name;
}

static bool is_named_scope(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	}
	return false;
}

/* Does C++ find names in this namespace from outside, too? */
static bool is_open(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_namespace && (!dwarf_diename(die) || die_flag(die, DW_AT_export_symbols));
}

/* The declaration of what is defined apart from it. */
static Dwarf_Die die_declared(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die declared = *die, next;
	int depth = 0;

	while (depth++ < DIE_DEPTH_MAX && dwarf_attr(&declared, DW_AT_specification, &attribute) &&
		dwarf_formref_die(&attribute, &next))
		declared = next;
	return declared;
}

/* Add the scopes of a DIE up to the first that is defined apart from its declaration, which goes to
 * *next; false: there is none. */
static bool scopes_add(Dwarf_Die *die, struct outer_scope **list, size_t *n_list, Dwarf_Die *next)
{
	Dwarf_Die declared = die_declared(die), *scopes = NULL;
	int n = dwarf_getscopes_die(&declared, &scopes);
	bool has_next = false;

	for (int i = 1; i < n && !has_next; i++) {
		const char *name = scope_name(&scopes[i]);

		if (!name || !is_named_scope(&scopes[i]))
			continue;
		*list = mem_resize(*list, *n_list + 1, sizeof(**list));
		(*list)[(*n_list)++] = (struct outer_scope){.name = name, .is_open = is_open(&scopes[i])};
		*next = scopes[i];
		has_next = dwarf_hasattr(&scopes[i], DW_AT_specification);
	}
	free(scopes);
	return has_next;
}

struct outer_scope *die_scopes(Dwarf_Die *die, size_t *n)
{
	struct outer_scope *list = NULL;
	Dwarf_Die next = *die;

	for (*n = 0; *n < DIE_DEPTH_MAX && scopes_add(&next, &list, n, &next);)
		;
	return list;
}

void candidates_declare(struct candidate *found, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		Dwfl_Module *module = found[i].module;
		struct walk walk = {.found = found, .n = n};

		for (size_t j = i; j < n; j++) {
			bool is_wanted = !found[j].is_declared && found[j].module == module;

			walk.missing += is_wanted;
			walk.is_deep |= is_wanted && is_function_static(found[j].raw);
		}
		if (walk.missing)
			module_walk(&walk, module);
		for (size_t j = i; j < n; j++)
			found[j].is_declared |= found[j].module == module;
	}
	for (size_t i = 0; i < n; i++) {
		if (!found[i].file)
			found[i].file = copy_or_null(found[i].symbol_file);
	}
}

/* The name with its scopes, owned by the caller. */
static char *scope_join(const struct scope *scope, char *name)
{
	for (; scope; scope = scope->outer) {
		char *inner = name;

		if (!scope->name)
			continue;
		name = text_format("%s::%s", scope->name, inner);
		free(inner);
	}
	return name;
}

/* Is text the name, but for blanks? */
static bool is_same_name(const char *text, const char *name)
{
	while (*text || *name) {
		if (*text == ' ' && *name != ' ')
			text++;
		else if (*name == ' ' && *text != ' ')
			name++;
		else if (*text++ != *name++)
			return false;
	}
	return true;
}

/* One walk for a name. */
struct lookup {
	struct units units;
	const char *last; /* the last component of the name; NULL: any name */
	bool (*take)(struct lookup *lookup, Dwarf_Die *die, char *name); /* true: enough */
	/* Types. */
	const char *name; /* of the one that is looked for */
	bool is_tagged; /* struct, class, union or enum was said */
	Dwarf_Die *type;
	bool is_found;
	bool (*each)(void *context, struct units *units, Dwarf_Die *die, const char *name);
	/* Variables. */
	struct asked *asked;
	void (*add)(void *context, struct candidate *candidate);
	void *context;
	const char *function; /* that the walk is in; a variable there may be on the stack */
	bool is_abstract;     /* it is inlined; where its variables are is told elsewhere */
};

static bool is_scope(Dwarf_Die *die, const struct lookup *lookup)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return !lookup->type;
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	}
	return false;
}

static bool is_kind(Dwarf_Die *die, const struct lookup *lookup)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_variable:
	case DW_TAG_formal_parameter:
		return !lookup->type;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return lookup->type;
	case DW_TAG_base_type:
	case DW_TAG_typedef:
		return lookup->type && !lookup->is_tagged;
	}
	return false;
}

static bool lookup_walk(struct lookup *lookup, Dwarf_Die *parent, const struct scope *scope, int depth);

/* Walk over what is in a scope. */
static bool lookup_enter(struct lookup *lookup, Dwarf_Die *die, const struct scope *scope, int depth)
{
	struct scope inner = {.outer = scope, .name = scope_name(die)};
	const char *function = lookup->function;
	bool is_abstract = lookup->is_abstract, is_enough;

	if (dwarf_tag(die) == DW_TAG_subprogram) {
		lookup->function = inner.name ? inner.name : "?";
		lookup->is_abstract = dwarf_hasattr(die, DW_AT_inline) || dwarf_hasattr(die, DW_AT_declaration);
	}
	is_enough = lookup_walk(lookup, die, &inner, depth);
	lookup->function = function;
	lookup->is_abstract = is_abstract;
	return is_enough;
}

static bool lookup_walk(
	struct lookup *lookup, Dwarf_Die *parent, const struct scope *scope, int depth)
{
	Dwarf_Die die;

	if (depth > DIE_DEPTH_MAX || dwarf_child(parent, &die))
		return false;
	do {
		const char *name = is_kind(&die, lookup) ? dwarf_diename(&die) : NULL;

		if (name && (!lookup->last || is_same_name(name, lookup->last)) &&
			lookup->take(lookup, &die, scope_join(scope, text_copy(name))))
			return true;
		if (is_scope(&die, lookup) && lookup_enter(lookup, &die, scope, depth + 1))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* May the debug information have this name? Its strings are quick to go through; those that
 * are not longer than a reference stand elsewhere. */
static bool may_have_string(Dwarf *dwarf, const char *text)
{
	size_t len, text_len = strlen(text);
	Dwarf_Off offset = 0;
	const char *at;

	if (text_len < sizeof(uint32_t) || strchr(text, '<') || strchr(text, ' '))
		return true;
	for (; dwarf; dwarf = dwarf_getalt(dwarf)) {
		for (offset = 0; (at = dwarf_getstring(dwarf, offset, &len)); offset += len + 1) {
			if (len >= text_len && strcmp(at + len - text_len, text) == 0)
				return true;
		}
		if (offset == 0)
			return true; /* no table of strings: they are all elsewhere */
	}
	return false;
}

/* Is debug information split off into files of its own? Their strings are there. */
static bool is_split(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	return dwarf_get_units(dwarf, NULL, &unit, NULL, &type, &die, &split) == 0 &&
	       type == DW_UT_skeleton;
}

static void lookup_module(struct lookup *lookup, Dwfl_Module *module)
{
	Dwarf_Die unit;

	if (!units_begin(&lookup->units, module) ||
		(lookup->last && !is_split(lookup->units.dwarf) && !may_have_string(lookup->units.dwarf, lookup->last)))
		return;
	while (units_next(&lookup->units, &unit)) {
		if (lookup_walk(lookup, &unit, NULL, 0))
			return;
	}
}

/* Is name the whole, or the end behind a ::? */
static bool is_end(const char *whole, const char *name)
{
	const char *at = whole;

	while (*at) {
		if ((at == whole || (at >= whole + 2 && strncmp(at - 2, "::", 2) == 0)) &&
			is_same_name(at, name))
			return true;
		at = name_piece_end(whole, at);
	}
	return false;
}

static bool take_type(struct lookup *lookup, Dwarf_Die *die, char *name)
{
	bool is_whole = is_same_name(name, lookup->name) && !die_flag(die, DW_AT_declaration);
	bool is_good = is_whole || (!lookup->is_found && !die_flag(die, DW_AT_declaration) &&
					   is_end(name, lookup->name));

	if (is_good)
		*lookup->type = *die;
	lookup->is_found |= is_good;
	free(name);
	return is_whole;
}

bool type_find(Dwfl_Module *module, const char *name, Dwarf_Die *type)
{
	struct lookup lookup = {.name = name,
		.last = name_last(name),
		.take = take_type,
		.is_tagged = true,
		.type = type};

	lookup_module(&lookup, module);
	return lookup.is_found;
}

static bool take_each(struct lookup *lookup, Dwarf_Die *die, char *name)
{
	bool is_enough = lookup->each(lookup->context, &lookup->units, die, name);

	free(name);
	return is_enough;
}

void types_find(Dwfl_Module *module, const char *last, bool is_tagged,
	bool (*take)(void *context, struct units *units, Dwarf_Die *die, const char *name), void *context)
{
	Dwarf_Die none;
	struct lookup lookup = {.last = last,
		.take = take_each,
		.each = take,
		.context = context,
		.is_tagged = is_tagged,
		.type = &none};

	lookup_module(&lookup, module);
}

enum match types_match(const struct asked *asked, Dwarf_Die *die, const char *name)
{
	struct outer_scope *scopes;
	enum match match;
	size_t n;

	if (is_same_name(name, asked->name))
		return MATCH_EXACT;
	if (is_end(name, asked->name))
		return MATCH_SUFFIX;
	if (!asked->scope)
		return MATCH_NONE;
	scopes = die_scopes(die, &n);
	match = scopes_match(asked, name_last(name), scopes, n);
	free(scopes);
	return match;
}

static bool is_declaration(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_external);
}

/* The symbol's name of a variable, readable; NULL: it is not mangled. */
static char *linkage_demangled(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *linkage = dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute)
				      ? dwarf_formstring(&attribute)
				      : NULL;

	return linkage ? name_demangle(linkage) : NULL;
}

/* Why a variable has no address. */
static void absence_take(const struct lookup *lookup, Dwarf_Die *die, bool is_placed, struct candidate *candidate)
{
	bool is_parameter = dwarf_tag(die) == DW_TAG_formal_parameter;
	bool has_value = dwarf_hasattr(die, DW_AT_const_value);

	candidate->is_optimised = !is_placed && !is_parameter && !dwarf_hasattr(die, DW_AT_location) &&
				  (has_value || (!is_declaration(die) && !lookup->is_abstract));
	candidate->is_automatic = !is_placed && !candidate->is_optimised && lookup->function && !is_declaration(die);
}

static bool take_variable(struct lookup *lookup, Dwarf_Die *die, char *name)
{
	char *demangled = linkage_demangled(die);
	struct candidate candidate = {.module = lookup->units.module,
		.name = demangled ? demangled : name,
		.raw = name,
		.match = name_match(lookup->asked, name)};
	Dwarf_Word size;
	Dwarf_Die type;
	Dwarf_Attribute attribute;
	bool is_placed = die_address(die, false, &candidate.addr, &candidate.is_tls);

	absence_take(lookup, die, is_placed, &candidate);
	if (candidate.match != MATCH_NONE && (is_placed || candidate.is_optimised || candidate.is_automatic)) {
		candidate.addr += candidate.is_tls ? 0 : lookup->units.bias;
		candidate.is_local = !dwarf_hasattr_integrate(die, DW_AT_external);
		if (dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, &type) &&
			dwarf_aggregate_size(&type, &size) == 0)
			candidate.size = size;
		candidate_declare(&candidate, die, &lookup->units, lookup->function);
		lookup->add(lookup->context, &candidate);
	}
	free(demangled);
	free(name);
	return false;
}

void variables_find(Dwfl_Module *module, struct asked *asked,
	void (*add)(void *context, struct candidate *candidate), void *context)
{
	struct lookup lookup = {.last = asked->last,
		.take = take_variable,
		.asked = asked,
		.add = add,
		.context = context};

	lookup_module(&lookup, module);
}
