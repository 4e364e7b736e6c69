/* symbols_expr.c owns the way from a variable or an address to the object that a watch means:
 * its members, elements, bit-fields, and what pointers point at. It reads memory of the process
 * and never writes any. */
#include "symbols_expr_private.h"

#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A static member is a variable of its own; its type cannot lead back to it for ever. */
#define STATICS_MAX 8

/* Where the walk over the steps is. */
struct place {
	struct symbols *symbols;
	const struct watch *watch;
	struct err *err;
	Dwfl_Module *module; /* whose debug info has the type */
	struct type type;
	uint64_t addr;
	bool is_tls;	      /* addr is an offset in a block that each thread has */
	bool is_constant;  /* addr is the value of a pointer, which lies nowhere */
	bool is_last;      /* the last member of its struct: an array may be longer than it says */
	unsigned bit_size; /* of a bit-field, else 0 */
	uint64_t bit_offset;      /* from addr */
	char *shown;              /* the expression so far */
	bool is_prefixed;         /* it begins with a star or a cast, done last */
	bool is_deref;            /* with a star, ... */
	bool is_pointer_prefixed; /* ... and so does what was dereferenced */
};

/* The expression as it is after one more step; prefix is how it begins then. */
static void shown_set(struct place *place, char *shown, const char *prefix)
{
	free(place->shown);
	place->shown = shown;
	place->is_prefixed = *prefix != '\0';
	place->is_deref = *prefix == '*';
}

/* A cast or a dereferenced pointer in brackets where something is to follow. */
static char *shown_base(const struct place *place)
{
	return place->is_prefixed ? text_format("(%s)", place->shown) : text_copy(place->shown);
}

static int pointer_read(struct place *place, uint64_t *value)
{
	ssize_t n;

	if (place->is_constant) {
		*value = place->addr;
		return 0;
	}
	if (place->is_tls)
		return err_set(place->err, "%s: %s is thread-local, and each thread's points elsewhere; give an address",
			place->watch->text, place->shown);
	n = sys_memory_read(place->symbols->pid, place->addr, value, sizeof(*value));
	if (n == sizeof(*value))
		return 0;
	return err_set(place->err, "%s: %s at 0x%" PRIx64 " cannot be read: %s", place->watch->text,
		place->shown, place->addr, n < 0 ? strerror((int)-n) : "it is not mapped");
}

/* Follow a pointer or reference, whose value must be an address that can be read. */
static int pointer_follow(struct place *place)
{
	uint64_t value = 0;
	char byte;

	if (pointer_read(place, &value))
		return -1;
	if (value == 0)
		return err_set(place->err,
			"%s: %s is NULL now, and pointers are followed once, when the watch is "
			"set; attach when it "
			"points at something",
			place->watch->text, place->shown);
	if (sys_memory_read(place->symbols->pid, value, &byte, 1) != 1)
		return err_set(place->err, "%s: %s is 0x%" PRIx64 ", where no memory can be read",
			place->watch->text, place->shown, value);
	place->type = type_pointee(&place->type);
	place->addr = value;
	place->is_constant = place->is_tls = false;
	place->is_last = false;
	return 0;
}

/* Of an opaque type make the one that is meant, and take typedefs off. */
static int place_peel(struct place *place)
{
	const struct cast cast = {.symbols = place->symbols, .module = place->module, .watch = place->watch->text};

	if (place->module && type_define(&cast, &place->type, &place->module, place->err))
		return -1;
	type_peel(place->symbols, place->module, &place->type);
	return 0;
}

/* Make the type of the place that of an object: no typedefs, no references. */
static int place_settle(struct place *place)
{
	if (place_peel(place))
		return -1;
	while (type_tag(&place->type) == DW_TAG_reference_type ||
		type_tag(&place->type) == DW_TAG_rvalue_reference_type) {
		if (pointer_follow(place) || place_peel(place))
			return -1;
	}
	return 0;
}

static int step_deref(struct place *place)
{
	bool is_prefixed = place->is_prefixed;

	if (place_settle(place))
		return -1;
	if (type_tag(&place->type) == DW_TAG_array_type) {
		place->type = type_element(&place->type);
	} else if (type_tag(&place->type) != DW_TAG_pointer_type) {
		char *name = type_name(&place->type);

		err_set(place->err, "%s: %s is no pointer: its type is %s", place->watch->text,
			place->shown, name);
		free(name);
		return -1;
	} else if (pointer_follow(place)) {
		return -1;
	}
	shown_set(place, text_format("*%s", place->shown), "*");
	place->is_pointer_prefixed = is_prefixed;
	return 0;
}

/* The type of a place, for messages that say that it does not fit. */
static int refuse_type(struct place *place, const char *what, const char *advice)
{
	char *name = type_name(&place->type);

	err_set(place->err, "%s: %s %s: its type is %s%s", place->watch->text, place->shown, what,
		name, advice);
	free(name);
	return -1;
}

static int step_element(struct place *place, uint64_t index)
{
	uint64_t size, count, offset;
	enum bound bound;
	char *base;

	if (place_settle(place))
		return -1;
	bound = type_bound(&place->type, &count);
	if (type_tag(&place->type) == DW_TAG_pointer_type) {
		if (pointer_follow(place))
			return -1;
	} else if (bound == BOUND_NONE) {
		return refuse_type(place, "is no array", "");
	} else if (bound == BOUND_VARIES) {
		return err_set(place->err,
			"%s: the length of %s is known only to the program as it runs; give an "
			"address",
			place->watch->text, place->shown);
	} else {
		/* A last member of [1] or [0] is the old form of a flexible array. */
		if (bound == BOUND_KNOWN && index >= count && !(place->is_last && count <= 1))
			return err_set(place->err,
				"%s: %s has %" PRIu64 " elements, and [%" PRIu64
				"] is outside of it",
				place->watch->text, place->shown, count, index);
		place->type = type_element(&place->type);
	}
	if (!type_size(&place->type, &size))
		return refuse_type(place, "has elements of an unknown size", "");
	if (__builtin_mul_overflow(index, size, &offset) ||
		__builtin_add_overflow(place->addr, offset, &place->addr))
		return err_set(place->err, "%s: [%" PRIu64 "] is beyond the last address",
			place->watch->text, index);
	place->is_last = false;
	base = shown_base(place);
	shown_set(place, text_format("%s[%" PRIu64 "]", base, index), "");
	free(base);
	return 0;
}

/* No such member: say which there are. */
static int refuse_member(struct place *place, const char *name)
{
	struct asked asked;
	size_t n_close;

	if (!place->type.is_void && !place->type.stars && die_flag(&place->type.die, DW_AT_declaration))
		return refuse_type(place, "has no members that are known",
			", which is only declared in the debug information; give an offset and a length");
	err_set(place->err, "%s: %s has no member '%s'", place->watch->text, place->shown, name);
	asked_init(&asked, name);
	type_members_near(place->symbols, place->module, &place->type, &asked, false);
	n_close = asked.n_near;
	if (n_close == 0)
		type_members_near(place->symbols, place->module, &place->type, &asked, true);
	for (size_t i = 0; i < asked.n_near; i++)
		err_append(place->err, "%s%s",
			i         ? ", "
			: n_close ? "; did you mean "
				  : "; it has ",
			asked.near[i].name);
	if (n_close == 0 && asked.n_near == NEAR_MAX)
		err_append(place->err, ", ...");
	asked_fini(&asked);
	return -1;
}

/* Does it hold one of several variants, as an enum of Rust does? */
static bool has_variants(struct type *type)
{
	Dwarf_Die die;

	if (type->is_void || type->stars || dwarf_child(&type->die, &die))
		return false;
	do {
		if (dwarf_tag(&die) == DW_TAG_variant_part)
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* The bits of a bit-field, counted from the start of the struct at place->addr. */
static void bits_take(struct place *place, struct member *member)
{
	place->bit_size = member_bits(member, &place->bit_offset);
	place->addr += place->bit_offset / 8;
	place->bit_offset %= 8;
}

static void member_enter(struct place *place, struct member *member, const char *name)
{
	char *base, *inner;

	place->addr += member->offset;
	place->type = type_of(&member->die);
	place->is_last = member->is_last;
	bits_take(place, member);
	/* What was dereferenced is shown as the pointer again. */
	if (place->is_deref) {
		base = text_format(
			place->is_pointer_prefixed ? "(%s)->%s" : "%s->%s", place->shown + 1, name);
	} else {
		inner = shown_base(place);
		base = text_format("%s.%s", inner, name);
		free(inner);
	}
	shown_set(place, base, "");
}

/* Does a dot follow pointers of itself in the language that the type is written in? */
static bool is_dot_arrow(struct type *type)
{
	Dwarf_Die unit;

	if (type->stars || type->is_void ||
		!dwarf_cu_die(type->die.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_Go:
	case DW_LANG_Rust:
		return true;
	}
	return false;
}

/* Make the place that of the object whose member is named. */
static int member_settle(struct place *place, const char *name)
{
	if (place_settle(place))
		return -1;
	if (type_tag(&place->type) != DW_TAG_pointer_type)
		return 0;
	if (!is_dot_arrow(&place->type))
		return err_set(place->err, "%s: %s is a pointer: write %s->%s", place->watch->text, place->shown,
			place->shown, name);
	return pointer_follow(place) ? -1 : place_settle(place);
}

static enum member_result step_member(struct place *place, const char *name, struct member *member)
{
	enum member_result result;

	if (member_settle(place, name))
		return MEMBER_NONE;
	result = type_member(place->symbols, place->module, &place->type, name, member);
	if (result == MEMBER_FOUND)
		member_enter(place, member, name);
	else if (result == MEMBER_VARIES)
		err_set(place->err,
			"%s: where '%s' lies in %s is known only to the program as it runs (a "
			"virtual base); "
			"give an address",
			place->watch->text, name, place->shown);
	else if (result == MEMBER_SEVERAL)
		err_set(place->err, "%s: several bases of %s have a member '%s'; name one as %s.BASE::%s",
			place->watch->text, place->shown, name, place->shown, name);
	else if (result == MEMBER_NONE && has_variants(&place->type))
		err_set(place->err,
			"%s: %s holds one of several variants, whose members cannot be named; use "
			"+OFFSET/LENGTH",
			place->watch->text, place->shown);
	else if (result == MEMBER_NONE)
		refuse_member(place, name);
	return result;
}

static int step_cast(struct place *place, const struct step *step)
{
	const char *name = step->name;
	const struct cast cast = {.symbols = place->symbols,
		.module = place->module,
		.qualifier = place->watch->module,
		.file = step->file,
		.watch = place->watch->text};
	Dwfl_Module *module;
	struct type type;
	char *base;

	if (type_parse(&cast, name, &type, &module, place->err))
		return -1;
	type.stars++;
	place->type = type;
	place->module = module;
	place->bit_size = 0;
	base = shown_base(place);
	shown_set(place, text_format("(%s *)%s", name, base), "(");
	free(base);
	return 0;
}

/* Take steps until the end, or until a member that is a variable of its own: its number is
 * *i then, and its DIE is in *member. */
static int steps_take(struct place *place, size_t *i, struct member *member)
{
	for (*i = 0; *i < place->watch->n_steps; ++*i) {
		const struct step *step = &place->watch->steps[*i];
		int result = 0;

		if (place->bit_size && step->kind != STEP_CAST)
			return err_set(place->err, "%s: %s is a bit-field, which has no parts",
				place->watch->text, place->shown);
		switch (step->kind) {
		case STEP_DEREF:
			result = step_deref(place);
			break;
		case STEP_ELEMENT:
			result = step_element(place, step->index);
			break;
		case STEP_CAST:
			result = step_cast(place, step);
			break;
		case STEP_MEMBER:
			switch (step_member(place, step->name, member)) {
			case MEMBER_FOUND:
				break;
			case MEMBER_STATIC:
				return 0;
			default:
				result = -1;
			}
			break;
		}
		if (result)
			return -1;
	}
	return 0;
}

/* A static member: resolve it as the variable that it is, by the name that symbols have. */
static enum resolve_result static_resolve(
	struct place *place, size_t i, struct member *member, struct answer *answer)
{
	struct watch watch = watch_copy(place->watch);
	Dwarf_Attribute attribute;
	const char *linkage = NULL;
	enum resolve_result result;
	char *class = type_name(&place->type);

	if (dwarf_attr_integrate(&member->die, DW_AT_linkage_name, &attribute) ||
		dwarf_attr_integrate(&member->die, DW_AT_MIPS_linkage_name, &attribute))
		linkage = dwarf_formstring(&attribute);
	free(watch.name);
	watch.name =
		linkage ? text_copy(linkage) : text_format("%s::%s", class, watch.steps[i].name);
	free(watch.file);
	watch.file = NULL;
	for (size_t j = 0; j <= i; j++) {
		free(watch.steps[j].name);
		free(watch.steps[j].file);
	}
	watch.n_steps -= i + 1;
	memmove(watch.steps, watch.steps + i + 1, watch.n_steps * sizeof(*watch.steps));
	if (place->symbols->n_statics++ < STATICS_MAX) {
		result = symbols_resolve(place->symbols, &watch, answer->span, answer->module, answer->object, place->err);
	} else {
		err_set(place->err, "%s: static members without an end", place->watch->text);
		result = RESOLVE_REFUSED;
	}
	place->symbols->n_statics--;
	if (result == RESOLVE_UNKNOWN)
		result = RESOLVE_REFUSED;
	free(class);
	watch_fini(&watch);
	return result;
}

/* What is watched, for the report. */
static char *place_describe(
	const struct place *place, const struct candidate *found, uint64_t bytes)
{
	char *bits = NULL, *where = found && found->file ? candidate_place(found) : NULL, *text;

	if (place->bit_size == 1)
		bits = text_format(", bit %" PRIu64 " of", place->bit_offset);
	else if (place->bit_size)
		bits = text_format(", bits %" PRIu64 "..%" PRIu64 " of", place->bit_offset,
			place->bit_offset + place->bit_size - 1);
	text = text_format("%s%s", place->shown, bits ? bits : "");
	free(bits);
	if (place->bit_size) {
		bits = text;
		text = bytes == 1 ? text_format("%s 1 byte", bits)
				  : text_format("%s %" PRIu64 " bytes", bits, bytes);
		free(bits);
	}
	if (found) {
		bits = text;
		text = text_format("%s%s%s%s%s in %s%s%s", bits, where ? " (" : "", where ? where : "",
			where ? ")" : "", found->is_tls ? ", thread-local," : "", module_path(found->module),
			found->named_in ? ", which is used instead of that in " : "",
			found->named_in ? module_path(found->named_in) : "");
		free(bits);
	}
	free(where);
	return text;
}

/* The bytes of the place; 0: not known. */
static uint64_t place_size(struct place *place, const struct candidate *found)
{
	uint64_t size;

	if (place->bit_size)
		return (place->bit_offset + place->bit_size + 7) / 8;
	if (place->module && type_size(&place->type, &size) && size)
		return size;
	return found && place->watch->n_steps == 0 ? found->size : 0;
}

static enum resolve_result place_span(
	struct place *place, const struct candidate *found, struct answer *answer)
{
	const struct watch *watch = place->watch;
	struct symbols *symbols = place->symbols;
	uint64_t size = place_size(place, found), left;

	left = size > (uint64_t)watch->offset ? size - (uint64_t)watch->offset : 0;
	if (watch->length == 0 && size == 0 && place->module) {
		refuse_type(place, "has no size that is known",
			", so how many bytes? Give a length, as in NAME/4");
		return RESOLVE_REFUSED;
	}
	if (watch->length == 0 && (left == 0 || watch->offset < 0)) {
		err_set(place->err,
			"%s: how many bytes? %s has a size of %" PRIu64
			"; give a length, as in %s/4",
			watch->text, place->shown, size, watch->text);
		return RESOLVE_REFUSED;
	}
	*answer->span = (struct span){.addr = place->addr + (uint64_t)watch->offset,
		.len = watch->length ? watch->length : left,
		.access = watch->access};
	if (place->module && watch->offset == 0) {
		type_describe(symbols, place->module, place->type, &symbols->type);
		symbols->found_type = place->type;
		symbols->found_module = place->bit_size ? NULL : place->module;
		if (place->bit_size)
			symbols->type.size = size;
		symbols->type.bit_size = place->bit_size;
		symbols->type.bit_offset = (unsigned)place->bit_offset * (place->bit_size != 0);
	}
	if (place->bit_size)
		symbols_warn(symbols, text_format("%s: %s is a bit-field: what is done to other fields of the %s it is in "
						  "counts, too",
					      watch->text, place->shown, size == 1 ? "byte" : "bytes"));
	*answer->object = place_describe(place, found, size);
	return RESOLVE_FOUND;
}

static enum resolve_result place_resolve(
	struct place *place, const struct candidate *found, struct answer *answer)
{
	struct member member = {0};
	size_t i;

	if (!place->module && found && place->watch->n_steps) {
		err_set(place->err,
			"%s: there is no debug information for %s in %s, and members, elements and "
			"pointers "
			"need it; use %s+OFFSET/LENGTH",
			place->watch->text, found->name, module_path(found->module), found->name);
		return RESOLVE_REFUSED;
	}
	if (steps_take(place, &i, &member))
		return RESOLVE_REFUSED;
	if (i < place->watch->n_steps)
		return static_resolve(place, i, &member, answer);
	/* An address alone is not an object: what it points at is meant. */
	if (place->is_constant && step_deref(place))
		return RESOLVE_REFUSED;
	if (place->module && !place->bit_size && place_settle(place))
		return RESOLVE_REFUSED;
	return place_span(place, found, answer);
}

enum resolve_result expr_resolve(struct symbols *symbols, const struct watch *watch,
	const struct candidate *found, struct answer *answer, struct err *err)
{
	struct place place = {.symbols = symbols, .watch = watch, .err = err};
	struct candidate *variable = (struct candidate *)found;
	enum resolve_result result;

	if (found) {
		place.addr = found->addr;
		place.is_tls = found->is_tls;
		place.module = found->die_module;
		place.shown = text_copy(found->name);
		if (place.module)
			place.type = type_of(&variable->die);
	} else {
		place.addr = watch->address;
		place.is_constant = true;
		place.module = symbols->exe;
		place.type.is_void = true;
		place.shown = text_format("0x%" PRIx64, watch->address);
	}
	result = place_resolve(&place, found, answer);
	free(place.shown);
	return result;
}
