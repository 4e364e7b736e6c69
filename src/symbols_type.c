/* symbols_type.c owns the spelling of types, as C and C++ programs write them, from debug info. It reads no
 * memory. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

/* Deeper nesting than anybody writes: such debug info is broken, or goes in a circle. */
#define TYPE_DEPTH_MAX 32

/* What surrounds the type that a modifying type stands on. */
static const struct {
	int tag;
	const char *before, *behind;
	const char *alone; /* where it stands on nothing */
} modifiers[] = {
	{DW_TAG_pointer_type, "", " *", "void *"},
	{DW_TAG_reference_type, "", " &", "void &"},
	{DW_TAG_rvalue_reference_type, "", " &&", "void &&"},
	{DW_TAG_const_type, "const ", "", "const void"},
	{DW_TAG_volatile_type, "volatile ", "", "volatile void"},
	{DW_TAG_restrict_type, "", " restrict", "void"},
	{DW_TAG_atomic_type, "_Atomic ", "", "_Atomic void"},
	{DW_TAG_ptr_to_member_type, "", " ::*", "void ::*"},
};

static const struct {
	int tag;
	const char *word; /* in front of the name */
	bool is_c;	  /* in C only */
} named[] = {
	{DW_TAG_structure_type, "struct", true},
	{DW_TAG_union_type, "union", true},
	{DW_TAG_enumeration_type, "enum", true},
	{DW_TAG_class_type, "class", false},
	{DW_TAG_interface_type, "class", false},
};

static char *type_text(Dwarf_Die *type, int depth);

/* The type that a DIE has or stands on. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, type);
}

/* "[4][2]"; "[]" where a bound is not known. */
static char *bounds_text(Dwarf_Die *array)
{
	char *text = text_copy("");
	Dwarf_Die bound;

	if (dwarf_child(array, &bound))
		return text;
	do {
		Dwarf_Attribute attribute;
		Dwarf_Word count = 0;
		bool is_known = false;
		char *longer;

		if (dwarf_tag(&bound) != DW_TAG_subrange_type)
			continue;
		if (dwarf_attr(&bound, DW_AT_count, &attribute)) {
			is_known = dwarf_formudata(&attribute, &count) == 0;
		} else if (dwarf_attr(&bound, DW_AT_upper_bound, &attribute)) {
			is_known = dwarf_formudata(&attribute, &count) == 0;
			count++;
		}
		longer = is_known ? text_format("%s[%llu]", text, (unsigned long long)count)
				  : text_format("%s[]", text);
		free(text);
		text = longer;
	} while (dwarf_siblingof(&bound, &bound) == 0);
	return text;
}

static bool is_c(Dwarf_Die *die)
{
	static const int languages[] = {DW_LANG_C, DW_LANG_C89, DW_LANG_C99, DW_LANG_C11, DW_LANG_ObjC};
	Dwarf_Die unit;
	int language = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;

	for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
		if (languages[i] == language)
			return true;
	}
	return false;
}

static char *named_text(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (named[i].tag != dwarf_tag(type))
			continue;
		if (!name)
			return text_format("%s {...}", named[i].word);
		return named[i].is_c && is_c(type) ? text_format("%s %s", named[i].word, name) : text_copy(name);
	}
	return text_copy(name ? name : "?");
}

/* What an array or a function type has around the type it stands on. */
static char *compound_text(Dwarf_Die *type, int depth)
{
	Dwarf_Die target;
	char *inner = type_of(type, &target) ? type_text(&target, depth + 1) : text_copy("void");
	char *tail = dwarf_tag(type) == DW_TAG_array_type ? bounds_text(type) : text_copy(" ()");
	char *text = text_format("%s%s", inner, tail);

	free(inner);
	free(tail);
	return text;
}

static char *type_text(Dwarf_Die *type, int depth)
{
	int tag = dwarf_tag(type);

	if (depth > TYPE_DEPTH_MAX)
		return text_copy("...");
	for (size_t i = 0; i < ARRAY_LEN(modifiers); i++) {
		Dwarf_Die target;
		char *inner, *text;

		if (modifiers[i].tag != tag)
			continue;
		if (!type_of(type, &target))
			return text_copy(modifiers[i].alone);
		inner = type_text(&target, depth + 1);
		/* Of an array both it and its elements may be constant. */
		text = text_format("%s%s%s", strncmp(inner, modifiers[i].before, strlen(modifiers[i].before)) ? modifiers[i].before : "",
			inner, modifiers[i].behind);
		free(inner);
		return text;
	}
	if (tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type)
		return compound_text(type, depth);
	return named_text(type);
}

char *variable_type(Dwarf_Die *variable)
{
	Dwarf_Die type;

	return type_of(variable, &type) ? type_text(&type, 0) : NULL;
}
