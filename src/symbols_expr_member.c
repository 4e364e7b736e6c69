/* symbols_expr_member.c owns the search for a member of a struct, class or union by its name. */
#include "symbols_expr_private.h"

#include "watchprof/name.h"
#include "watchprof/util.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* Deeper classes than anybody writes: such debug info is broken. */
#define CLASS_DEPTH_MAX 64
/* More members than anybody reads. */
#define STEPS_MAX 16384

/* One search, through classes and what they have. */
struct member_search {
	struct symbols *symbols;
	Dwfl_Module *module;
	const char *name;
	char *number; /* how a tuple has it: __0 for 0; or NULL */
	struct member *member;
};

/* Where a member or base begins in its struct. False: only the program knows. */
static bool member_offset(Dwarf_Die *die, uint64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;
	Dwarf_Op *ops;
	size_t n;

	*offset = 0;
	if (!dwarf_attr_integrate(die, DW_AT_data_member_location, &attribute))
		return true; /* of a union; or a bit-field's, which has its bits */
	if (dwarf_formudata(&attribute, &word) == 0) {
		*offset = word;
		return true;
	}
	if (dwarf_getlocation(&attribute, &ops, &n) || n != 1 ||
		(ops[0].atom != DW_OP_plus_uconst && ops[0].atom != DW_OP_constu))
		return false;
	*offset = ops[0].number;
	return true;
}

unsigned member_bits(struct member *member, uint64_t *offset)
{
	struct type type = type_of(&member->die);
	uint64_t size, storage, above = 0;

	*offset = 0;
	if (!die_number(&member->die, DW_AT_bit_size, &size) || size == 0 || size > 64)
		return 0;
	if (die_number(&member->die, DW_AT_data_bit_offset, offset))
		return (unsigned)size;
	if (!die_number(&member->die, DW_AT_byte_size, &storage) && !type_size(&type, &storage))
		storage = sizeof(uint32_t);
	die_number(&member->die, DW_AT_bit_offset, &above);
	*offset = storage * 8 - above - size;
	return (unsigned)size;
}

static bool is_static(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_variable || die_flag(die, DW_AT_external) ||
	       (die_flag(die, DW_AT_declaration) &&
		       !dwarf_hasattr(die, DW_AT_data_member_location));
}

static bool is_struct(const struct type *type)
{
	switch (type_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return true;
	}
	return false;
}

static enum member_result search_type(
	struct member_search *search, struct type *type, uint64_t offset, int depth);

static enum member_result search_inner(
	struct member_search *search, Dwarf_Die *die, uint64_t offset, int depth)
{
	struct type inner = type_of(die);
	enum member_result result;
	uint64_t at;
	bool is_fixed = member_offset(die, &at);

	type_peel(search->symbols, search->module, &inner);
	if (depth > CLASS_DEPTH_MAX || !is_struct(&inner))
		return MEMBER_NONE;
	result = search_type(search, &inner, offset + at, depth + 1);
	return result == MEMBER_FOUND && !is_fixed ? MEMBER_VARIES : result;
}

static enum member_result member_take(
	struct member_search *search, Dwarf_Die *die, uint64_t offset, bool is_last)
{
	uint64_t at;

	if (is_static(die)) {
		search->member->die = *die;
		return MEMBER_STATIC;
	}
	if (!member_offset(die, &at))
		return MEMBER_VARIES;
	*search->member = (struct member){.die = *die, .offset = offset + at, .is_last = is_last};
	return MEMBER_FOUND;
}

/* Does nothing but functions and types follow? */
static bool is_last_member(Dwarf_Die *die, bool is_union)
{
	Dwarf_Die next = *die;

	while (!is_union && dwarf_siblingof(&next, &next) == 0) {
		if (dwarf_tag(&next) == DW_TAG_member && !is_static(&next))
			return false;
	}
	return true;
}

/* Of the bases one alone may have it, as in C++. */
static enum member_result search_bases(struct member_search *search, struct type *type, uint64_t offset, int depth)
{
	enum member_result result = MEMBER_NONE;
	Dwarf_Die die;

	if (dwarf_child(&type->die, &die))
		return MEMBER_NONE;
	do {
		struct member first = *search->member;
		enum member_result other = MEMBER_NONE;

		if (dwarf_tag(&die) == DW_TAG_inheritance)
			other = search_inner(search, &die, offset, depth);
		if (other == MEMBER_NONE)
			continue;
		if (result != MEMBER_NONE && search->member->die.addr != first.die.addr)
			return MEMBER_SEVERAL;
		result = other;
	} while (dwarf_siblingof(&die, &die) == 0);
	return result;
}

static enum member_result search_type(
	struct member_search *search, struct type *type, uint64_t offset, int depth)
{
	bool is_union = type_tag(type) == DW_TAG_union_type;
	enum member_result result = MEMBER_NONE;
	Dwarf_Die die;

	if (dwarf_child(&type->die, &die))
		return MEMBER_NONE;
	do {
		int tag = dwarf_tag(&die);
		const char *name = dwarf_diename(&die);

		if (tag != DW_TAG_member && tag != DW_TAG_variable)
			continue;
		if (name && (strcmp(name, search->name) == 0 ||
				    (search->number && strcmp(name, search->number) == 0)))
			return member_take(search, &die, offset, is_last_member(&die, is_union));
		if (!name)
			result = search_inner(search, &die, offset, depth);
	} while (result == MEMBER_NONE && dwarf_siblingof(&die, &die) == 0);
	return result != MEMBER_NONE ? result : search_bases(search, type, offset, depth);
}

/* Is this the class, by its last component, without blanks? */
static bool is_class(struct type *type, const char *name)
{
	const char *own = dwarf_diename(&type->die), *at = name_last(name);

	while (own && (*own || *at)) {
		if (*own == ' ' || *at == ' ') {
			own += *own == ' ';
			at += *at == ' ';
		} else if (*own++ != *at++) {
			return false;
		}
	}
	return own != NULL;
}

/* Find the class of this name among a class and its bases, then the member in it. */
static enum member_result search_class(struct member_search *search, const char *class,
	struct type *type, uint64_t offset, int depth)
{
	enum member_result result = MEMBER_NONE;
	Dwarf_Die die;

	if (is_class(type, class))
		return search_type(search, type, offset, 0);
	if (depth > CLASS_DEPTH_MAX || dwarf_child(&type->die, &die))
		return MEMBER_NONE;
	do {
		struct type base;
		uint64_t at;

		if (dwarf_tag(&die) != DW_TAG_inheritance)
			continue;
		base = type_of(&die);
		type_peel(search->symbols, search->module, &base);
		if (!is_struct(&base))
			continue;
		if (member_offset(&die, &at))
			result = search_class(search, class, &base, offset + at, depth + 1);
		else if (search_class(search, class, &base, offset, depth + 1) != MEMBER_NONE)
			result = MEMBER_VARIES;
	} while (result == MEMBER_NONE && dwarf_siblingof(&die, &die) == 0);
	return result;
}

enum member_result type_member(struct symbols *symbols, Dwfl_Module *module, struct type *type,
	const char *name, struct member *member)
{
	const char *last = name_last(name);
	struct member_search search = {
		.symbols = symbols, .module = module, .name = last, .member = member};
	enum member_result result;
	char *class;

	if (!is_struct(type))
		return MEMBER_NONE;
	if (isdigit((unsigned char)*last))
		search.number = text_format("__%s", last);
	if (last == name) {
		result = search_type(&search, type, 0, 0);
	} else {
		class = text_format("%.*s", (int)(last - name) - 2, name);
		result = search_class(&search, class, type, 0, 0);
		free(class);
	}
	free(search.number);
	return result;
}

static void members_near(
	struct member_search *search, struct type *type, struct asked *asked, bool all, int depth)
{
	Dwarf_Die die;

	if (depth > CLASS_DEPTH_MAX || !is_struct(type) || dwarf_child(&type->die, &die))
		return;
	do {
		const char *name = dwarf_diename(&die);
		int tag = dwarf_tag(&die);
		struct named named = {.raw = (char *)name};
		struct type inner;

		if (tag == DW_TAG_inheritance || (tag == DW_TAG_member && !name)) {
			inner = type_of(&die);
			type_peel(search->symbols, search->module, &inner);
			members_near(search, &inner, asked, all, depth + 1);
		} else if (name && (tag == DW_TAG_member || tag == DW_TAG_variable)) {
			if (all)
				near_keep(asked, name, 0);
			else
				near_add(asked, &named);
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

void type_members_near(struct symbols *symbols, Dwfl_Module *module, struct type *type,
	struct asked *asked, bool all)
{
	struct member_search search = {.symbols = symbols, .module = module};

	members_near(&search, type, asked, all, 0);
}

/* One walk over all members of a type. */
struct member_walk {
	struct symbols *symbols;
	Dwfl_Module *module;
	struct type *whole;
	const char *base; /* class that is walked; NULL: the whole itself */
	size_t n_left; /* steps: debug info that is broken may have no end */
	void (*take)(void *context, struct member *member, const char *name, const char *base, bool is_static);
	void *context;
};

/* Does a name lead from the whole to this member? */
static bool leads_to(struct member_walk *walk, const char *name, Dwarf_Die *die)
{
	struct member found = {0};

	switch (type_member(walk->symbols, walk->module, walk->whole, name, &found)) {
	case MEMBER_FOUND:
	case MEMBER_STATIC:
		return found.die.addr == die->addr;
	default:
		return false;
	}
}

/* Tell of a member, if a name leads to it: its own, or that with its class where another one hides it. */
static void walk_tell(struct member_walk *walk, struct member *member, const char *name)
{
	char *full = walk->base ? text_format("%s::%s", walk->base, name) : NULL;

	if (leads_to(walk, name, &member->die))
		walk->take(walk->context, member, name, walk->base, is_static(&member->die));
	else if (full && leads_to(walk, full, &member->die))
		walk->take(walk->context, member, full, walk->base, is_static(&member->die));
	free(full);
}

static void walk_type(struct member_walk *walk, struct type *type, uint64_t offset, int depth);

/* The members of a base, or of a member without a name. */
static void walk_inner(struct member_walk *walk, Dwarf_Die *die, uint64_t offset, int depth)
{
	struct type inner = type_of(die);
	const char *base = walk->base;
	uint64_t at;

	type_peel(walk->symbols, walk->module, &inner);
	if (depth > CLASS_DEPTH_MAX || !is_struct(&inner) || !member_offset(die, &at))
		return;
	if (dwarf_tag(die) == DW_TAG_inheritance)
		walk->base = dwarf_diename(&inner.die);
	walk_type(walk, &inner, offset + at, depth + 1);
	walk->base = base;
}

static void walk_type(struct member_walk *walk, struct type *type, uint64_t offset, int depth)
{
	for (int bases = 0; bases < 2; bases++) {
		Dwarf_Die die;

		if (dwarf_child(&type->die, &die))
			return;
		do {
			int tag = dwarf_tag(&die);
			const char *name = dwarf_diename(&die);
			struct member member = {.die = die};
			uint64_t at = 0;

			if ((tag == DW_TAG_inheritance && bases) || (tag == DW_TAG_member && !name && !bases))
				walk_inner(walk, &die, offset, depth);
			if (bases || !name || die_flag(&die, DW_AT_artificial) ||
				(tag != DW_TAG_member && tag != DW_TAG_variable) || (!is_static(&die) && !member_offset(&die, &at)))
				continue;
			member.offset = offset + at;
			walk_tell(walk, &member, name);
		} while (walk->n_left && walk->n_left-- && dwarf_siblingof(&die, &die) == 0);
	}
}

void type_members(struct symbols *symbols, Dwfl_Module *module, struct type *type,
	void (*take)(void *context, struct member *member, const char *name, const char *base, bool is_static), void *context)
{
	struct member_walk walk = {symbols, module, type, NULL, STEPS_MAX, take, context};

	if (is_struct(type))
		walk_type(&walk, type, 0, 0);
}
