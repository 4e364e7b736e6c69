/* symbols_members.c owns the list of what an expression can be continued with: members, elements, what a pointer
 * points at. It reads memory of the process where pointers are followed, and never writes any. */
#include "symbols_expr_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <dwarf.h>
#include <stdlib.h>

/* Elements that are listed; others are reached by their number. */
#define ELEMENTS_MAX 256

struct listing {
	FILE *out;
	Dwfl_Module *module;
	char *prefix; /* the expression, up to the name of a member */
};

/* bits of a bit-field, which begins so many bits into its first byte. */
static void line_write(struct listing *listing, const char *expr, struct type *type, unsigned bits, unsigned first_bit,
	const char *place)
{
	char *name = type_name(type);
	uint64_t size;

	text_escape(listing->out, expr);
	if (bits || type_size(type, &size))
		fprintf(listing->out, "\t%" PRIu64 "\t", bits ? (uint64_t)(first_bit + bits + 7) / 8 : size);
	else
		fputs("\t-\t", listing->out);
	text_escape(listing->out, name);
	if (bits)
		fprintf(listing->out, ":%u", bits);
	fputs("\t-\t", listing->out);
	text_escape(listing->out, module_path(listing->module));
	fputc('\t', listing->out);
	text_escape(listing->out, place);
	fputc('\n', listing->out);
	free(name);
}

static void member_write(void *context, struct member *member, const char *name, const char *base, bool is_static)
{
	struct listing *listing = context;
	struct type type = type_of(&member->die);
	uint64_t offset;
	unsigned bits = member_bits(member, &offset);
	char *expr = text_format("%s%s", listing->prefix, name), *where, *place;

	where = bits ? text_format("+%" PRIu64 " bit %" PRIu64, member->offset + offset / 8, offset % 8)
		     : text_format("+%" PRIu64, member->offset);
	place = text_format("%s%s%s", is_static ? "static" : where, base ? " of " : "", base ? base : "");
	line_write(listing, expr, &type, bits, (unsigned)(offset % 8), place);
	free(expr);
	free(where);
	free(place);
}

static void elements_write(struct listing *listing, const char *expr, struct type *type)
{
	struct type element = type_element(type);
	uint64_t count, size = 0;
	bool has_size = type_size(&element, &size);

	if (type_bound(type, &count) != BOUND_KNOWN)
		count = ELEMENTS_MAX;
	for (uint64_t i = 0; i < count && i < ELEMENTS_MAX; i++) {
		char *text = text_format("%s[%" PRIu64 "]", expr, i);
		char *place = has_size ? text_format("+%" PRIu64, i * size) : text_copy("-");

		line_write(listing, text, &element, 0, 0, place);
		free(text);
		free(place);
	}
}

/* Is it a struct, class or union? */
static bool has_members(const struct type *type)
{
	switch (type_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return true;
	}
	return false;
}

/* A star or a cast in front binds less than what follows. */
static char *base_text(const char *expr)
{
	return *expr == '*' || *expr == '(' ? text_format("(%s)", expr) : text_copy(expr);
}

static int members_write(struct listing *listing, struct symbols *symbols, const char *expr, struct err *err)
{
	struct type type = symbols->found_type, target;
	bool is_pointer = type_tag(&type) == DW_TAG_pointer_type;
	char *base = base_text(expr), *name;
	int result = 0;

	target = is_pointer ? type_pointee(&type) : type;
	if (is_pointer && !target.is_void) {
		char *text = text_format("*%s", expr);

		line_write(listing, text, &target, 0, 0, "-");
		free(text);
	}
	type_peel(symbols, listing->module, &target);
	if (has_members(&target)) {
		listing->prefix = text_format("%s%s", base, is_pointer ? "->" : ".");
		type_members(symbols, listing->module, &target, member_write, listing);
		free(listing->prefix);
	} else if (!is_pointer && type_tag(&type) == DW_TAG_array_type) {
		elements_write(listing, base, &type);
	} else if (!is_pointer || target.is_void) {
		name = type_name(&type);
		result = err_set(err, "%s has no members: its type is %s", expr, name);
		free(name);
	}
	free(base);
	return result;
}

int symbols_members(struct symbols *symbols, const struct watch *watch, FILE *out, struct err *err)
{
	struct watch object = watch_copy(watch);
	struct listing listing = {.out = out};
	char *expr = text_format("%.*s", (int)watch_stem(watch->text), watch->text), *shown = NULL;
	struct span span;
	uint64_t module;
	int result = -1;

	object.length = 1; /* its size does not matter */
	if (symbols_resolve(symbols, &object, &span, &module, &shown, err) == RESOLVE_FOUND) {
		listing.module = symbols->found_module;
		result = listing.module ? members_write(&listing, symbols, expr, err)
					: err_set(err, "%s has no members that are known", expr);
	}
	free(shown);
	free(expr);
	watch_fini(&object);
	return result;
}
