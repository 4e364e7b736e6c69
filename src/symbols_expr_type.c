/* symbols_expr_type.c owns what debug information tells of types: sizes, members, elements,
 * and the names they are written by. It reads no memory. */
#include "symbols_expr_private.h"

#include "watchprof/util.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Deeper types than anybody writes: such debug info is broken. */
#define TYPE_DEPTH_MAX 64
/* Names of a larger enum are left out. */
#define ENUM_NAMES_MAX 4096

bool die_number(Dwarf_Die *die, unsigned name, uint64_t *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(die, name, &attribute) || dwarf_formudata(&attribute, &word))
		return false;
	*number = word;
	return true;
}

struct type type_of(Dwarf_Die *die)
{
	struct type type = {0};
	Dwarf_Attribute attribute;

	type.is_void = !dwarf_attr_integrate(die, DW_AT_type, &attribute) ||
		       !dwarf_formref_die(&attribute, &type.die);
	return type;
}

unsigned type_tag(const struct type *type)
{
	if (type->stars)
		return DW_TAG_pointer_type;
	return type->is_void ? 0 : (unsigned)dwarf_tag((Dwarf_Die *)&type->die);
}

char *type_qualified(Dwarf_Die *die)
{
	const char *own = dwarf_diename(die);
	char *name = own ? text_copy(own) : NULL;
	Dwarf_Die *scopes = NULL;
	int n = name ? dwarf_getscopes_die(die, &scopes) : 0;

	for (int i = 1; i < n; i++) {
		const char *scope = dwarf_diename(&scopes[i]);
		int tag = dwarf_tag(&scopes[i]);
		char *inner = name;

		if (tag != DW_TAG_namespace && tag != DW_TAG_class_type &&
			tag != DW_TAG_structure_type && tag != DW_TAG_union_type)
			continue;
		name = text_format("%s::%s", scope ? scope : "(anonymous namespace)", inner);
		free(inner);
	}
	free(scopes);
	return name;
}

struct type_search {
	const char *name; /* of a struct, class, union or enum */
	Dwfl_Module *except, *found;
	Dwarf_Die die;
};

static int type_visit(
	Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	struct type_search *search = arg;

	(void)userdata;
	(void)name;
	(void)base;
	if (module == search->except || !type_find(module, search->name, &search->die))
		return DWARF_CB_OK;
	search->found = module;
	return DWARF_CB_ABORT;
}

/* Search a type by name in one module, then in the others. */
static bool type_search(struct symbols *symbols, Dwfl_Module *module, struct type_search *search)
{
	if (module && type_find(module, search->name, &search->die)) {
		search->found = module;
		return true;
	}
	search->except = module;
	dwfl_getmodules(symbols->dwfl, type_visit, search, 0);
	return search->found != NULL;
}

/* Of a declaration, or a stub of a type unit, make the definition, if there is one. */
static void type_complete(struct symbols *symbols, Dwfl_Module *module, struct type *type)
{
	struct type_search search = {0};
	Dwarf_Attribute attribute;
	Dwarf_Die die;
	char *name;

	if (dwarf_attr(&type->die, DW_AT_signature, &attribute) &&
		dwarf_formref_die(&attribute, &die)) {
		type->die = die;
		return;
	}
	if (!die_flag(&type->die, DW_AT_declaration))
		return;
	name = type_qualified(&type->die);
	search.name = name;
	if (name && type_search(symbols, module, &search))
		type->die = search.die;
	free(name);
}

void type_peel(struct symbols *symbols, Dwfl_Module *module, struct type *type)
{
	Dwarf_Die peeled;

	if (type->stars || type->is_void)
		return;
	if (dwarf_peel_type(&type->die, &peeled) == 0)
		type->die = peeled;
	switch (dwarf_tag(&type->die)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		type_complete(symbols, module, type);
		break;
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		type->is_void = true; /* of void */
		break;
	}
}

struct type type_pointee(struct type *type)
{
	struct type pointee = *type;

	if (!type->stars)
		return type_of(&type->die);
	pointee.stars--;
	return pointee;
}

/* The bound of one dimension. */
static enum bound subrange_bound(Dwarf_Die *die, uint64_t *count)
{
	uint64_t upper, lower = 0;
	Dwarf_Attribute attribute;

	if (dwarf_tag(die) == DW_TAG_enumeration_type)
		return BOUND_VARIES; /* an index that is an enum: not in C */
	if (dwarf_attr_integrate(die, DW_AT_count, &attribute))
		return die_number(die, DW_AT_count, count) ? BOUND_KNOWN : BOUND_VARIES;
	if (!dwarf_attr_integrate(die, DW_AT_upper_bound, &attribute))
		return BOUND_OPEN;
	if (!die_number(die, DW_AT_upper_bound, &upper))
		return BOUND_VARIES;
	die_number(die, DW_AT_lower_bound, &lower);
	/* The upper bound of [0] is -1, in whatever form. */
	if (dwarf_whatform(&attribute) == DW_FORM_data4 && upper == UINT32_MAX)
		upper = UINT64_MAX;
	*count = upper + 1 - lower;
	return BOUND_KNOWN;
}

/* The bound of dimension number dim; BOUND_NONE: there are fewer. */
static enum bound array_bound(Dwarf_Die *array, unsigned dim, uint64_t *count)
{
	Dwarf_Die die;

	*count = 0;
	if (dwarf_child(array, &die))
		return BOUND_NONE;
	do {
		if (dwarf_tag(&die) != DW_TAG_subrange_type &&
			dwarf_tag(&die) != DW_TAG_enumeration_type)
			continue;
		if (dim-- == 0)
			return subrange_bound(&die, count);
	} while (dwarf_siblingof(&die, &die) == 0);
	return BOUND_NONE;
}

enum bound type_bound(struct type *type, uint64_t *count)
{
	return type_tag(type) == DW_TAG_array_type ? array_bound(&type->die, type->dim, count)
						   : BOUND_NONE;
}

struct type type_element(struct type *type)
{
	struct type element = *type;
	uint64_t count;

	element.dim++;
	if (array_bound(&element.die, element.dim, &count) != BOUND_NONE)
		return element;
	return type_of(&type->die);
}

static bool array_size(struct type *type, uint64_t *size)
{
	struct type element = type_of(&type->die);
	uint64_t count;
	enum bound bound;

	if (!type_size(&element, size))
		return false;
	for (unsigned dim = type->dim; (bound = array_bound(&type->die, dim, &count)) != BOUND_NONE;
		dim++) {
		if (bound != BOUND_KNOWN || __builtin_mul_overflow(*size, count, size))
			return false;
	}
	return true;
}

bool type_size(struct type *type, uint64_t *size)
{
	Dwarf_Die peeled;
	Dwarf_Word word;

	*size = sizeof(uint64_t);
	if (type->stars)
		return true;
	if (type->is_void || dwarf_peel_type(&type->die, &peeled))
		return false;
	if (dwarf_tag(&peeled) == DW_TAG_array_type) {
		struct type array = {.die = peeled, .dim = type->dim};

		return array_size(&array, size);
	}
	if (dwarf_aggregate_size(&peeled, &word))
		return false;
	*size = word;
	return true;
}

static const char *tag_word(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
		return "struct ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	}
	return "";
}

bool type_is_c(Dwarf_Die *die)
{
	Dwarf_Die unit;

	switch (dwarf_cu_die(die->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL)
			? dwarf_srclang(&unit)
			: -1) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	}
	return false;
}

static char *die_type_name(Dwarf_Die *die, int depth)
{
	struct type inner = type_of(die);
	char *inner_name, *name;
	const char *format = "%s";

	if (depth > TYPE_DEPTH_MAX)
		return text_copy("...");
	switch (dwarf_tag(die)) {
	case DW_TAG_pointer_type:
		format = "%s *";
		break;
	case DW_TAG_reference_type:
		format = "%s &";
		break;
	case DW_TAG_rvalue_reference_type:
		format = "%s &&";
		break;
	case DW_TAG_const_type:
		format = "const %s";
		break;
	case DW_TAG_volatile_type:
		format = "volatile %s";
		break;
	case DW_TAG_array_type:
		format = "%s []";
		break;
	case DW_TAG_subroutine_type:
		format = "%s ()";
		break;
	case DW_TAG_atomic_type:
	case DW_TAG_restrict_type:
		break;
	default:
		name = type_qualified(die);
		inner_name = text_format(
			"%s%s", type_is_c(die) ? tag_word(die) : "", name ? name : "{...}");
		free(name);
		return inner_name;
	}
	inner_name = inner.is_void ? text_copy("void") : die_type_name(&inner.die, depth + 1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	name = text_format(format, inner_name);
#pragma GCC diagnostic pop
	free(inner_name);
	return name;
}

char *type_name(struct type *type)
{
	char *name = type->is_void ? text_copy("void") : die_type_name(&type->die, 0);

	for (unsigned i = 0; i < type->stars; i++) {
		char *inner = name;

		name = text_format("%s%s*", inner, i == 0 ? " " : "");
		free(inner);
	}
	return name;
}

static enum value_kind base_kind(Dwarf_Die *die)
{
	uint64_t encoding;

	if (!die_number(die, DW_AT_encoding, &encoding))
		return VALUE_OTHER;
	switch (encoding) {
	case DW_ATE_boolean:
		return VALUE_BOOL;
	case DW_ATE_float:
		return VALUE_FLOAT;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return VALUE_SIGNED;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		return VALUE_UNSIGNED;
	case DW_ATE_address:
		return VALUE_POINTER;
	}
	return VALUE_OTHER;
}

static void enum_names(Dwarf_Die *type, struct value_type *out)
{
	Dwarf_Die die;

	if (dwarf_child(type, &die))
		return;
	do {
		const char *name = dwarf_diename(&die);
		Dwarf_Attribute attribute;
		Dwarf_Sword value;

		if (dwarf_tag(&die) != DW_TAG_enumerator || !name ||
			out->n_names == ENUM_NAMES_MAX ||
			!dwarf_attr(&die, DW_AT_const_value, &attribute) ||
			dwarf_formsdata(&attribute, &value))
			continue;
		/* Values that are not negative have the form of unsigned ones by gcc. */
		if (dwarf_whatform(&attribute) == DW_FORM_data1)
			value = (uint8_t)value;
		else if (dwarf_whatform(&attribute) == DW_FORM_data2)
			value = (uint16_t)value;
		else if (dwarf_whatform(&attribute) == DW_FORM_data4)
			value = (uint32_t)value;
		out->names = mem_resize(out->names, out->n_names + 1, sizeof(*out->names));
		out->names[out->n_names++] = (struct value_name){text_copy(name), value};
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* Is it an array of characters, of one dimension? */
static bool is_chars(struct symbols *symbols, Dwfl_Module *module, struct type *type)
{
	struct type element = type_element(type);
	uint64_t encoding, size;

	type_peel(symbols, module, &element);
	return type_tag(&element) == DW_TAG_base_type && type_size(&element, &size) && size == 1 &&
	       die_number(&element.die, DW_AT_encoding, &encoding) &&
	       (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char);
}

void type_describe(
	struct symbols *symbols, Dwfl_Module *module, struct type type, struct value_type *out)
{
	*out = (struct value_type){.kind = VALUE_OTHER, .name = type_name(&type)};
	type_peel(symbols, module, &type);
	if (!type_size(&type, &out->size))
		out->size = 0;
	switch (type_tag(&type)) {
	case DW_TAG_base_type:
		out->kind = base_kind(&type.die);
		break;
	case DW_TAG_pointer_type:
		out->kind = VALUE_POINTER;
		break;
	case DW_TAG_enumeration_type:
		out->kind = VALUE_ENUM;
		enum_names(&type.die, out);
		break;
	case DW_TAG_array_type:
		if (is_chars(symbols, module, &type))
			out->kind = VALUE_CHARS;
		break;
	}
}
