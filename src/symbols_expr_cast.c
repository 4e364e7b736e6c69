/* symbols_expr_cast.c owns which type the name in a cast means: how types are written, which of several definitions
 * is meant, and what to say when that is none or several. It reads no memory. */
#include "symbols_expr_private.h"

#include "watchprof/name.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* More members than are compared: such types are taken for different ones. */
#define MEMBERS_MAX 65536

/* Words that are no part of a type's name. */
static const char *const noise[] = {"const", "volatile"};
static const char *const tags[] = {"struct", "class", "union", "enum"};

/* Take a word off the start of a text, and the blanks behind it. */
static bool word_cut(char *text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(text, word, len) != 0 || name_is_word(text[len]))
		return false;
	len += strspn(text + len, " ");
	memmove(text, text + len, strlen(text + len) + 1);
	return true;
}

/* Take a word off the end of a text. */
static bool tail_cut(char *text, const char *word)
{
	size_t len = strlen(text), word_len = strlen(word);

	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
	if (len <= word_len || strcmp(text + len - word_len, word) != 0 ||
		(name_is_word(*word) && name_is_word(text[len - word_len - 1])))
		return false;
	text[len - word_len] = '\0';
	return true;
}

static bool words_cut(char *text, const char *const *words, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= word_cut(text, words[i]);
	return any;
}

/* The ways in which compilers spell an integer type in debug info; false: it is none. */
static bool integer_spell(const char *text, char *gcc, char *clang, size_t size)
{
	static const char *const words[] = {"unsigned", "signed", "long", "short", "char", "int"};
	unsigned counts[ARRAY_LEN(words)] = {0};
	char *rest = text_copy(text);
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < ARRAY_LEN(words); i++) {
			bool is_cut = word_cut(rest, words[i]);

			counts[i] += is_cut;
			more |= is_cut;
		}
	}
	more = *rest != '\0';
	free(rest);
	if (more || counts[2] > 2 || counts[3] > 1)
		return false;
	if (counts[4]) {
		snprintf(gcc, size, "%schar", counts[0] ? "unsigned " : counts[1] ? "signed " : "");
		snprintf(clang, size, "%s", gcc);
		return true;
	}
	snprintf(gcc, size, "%s%s%s%sint", counts[2] ? "long " : "", counts[2] == 2 ? "long " : "",
		counts[3] ? "short " : "", counts[0] ? "unsigned " : "");
	snprintf(clang, size, "%s%s%s%s", counts[0] ? "unsigned " : "", counts[2] ? "long" : "",
		counts[2] == 2 ? " long" : "",
		counts[3]   ? "short"
		: counts[2] ? ""
			    : "int");
	return true;
}

/* A definition of a type that fits. */
struct choice {
	Dwarf_Die die;
	Dwfl_Module *module;
	char *place; /* FILE:LINE, or NULL */
	enum match match;
};

/* The search for a type. */
struct type_query {
	const struct cast *cast;
	struct asked asked;
	bool is_tagged; /* struct, class, union or enum was said */
	struct choice *found;
	size_t n;
};

static void choices_clear(struct type_query *query)
{
	while (query->n)
		free(query->found[--query->n].place);
}

/* Are two members of one name, at one place, and of types of one name? */
static bool members_equal(Dwarf_Die *a, Dwarf_Die *b)
{
	const char *name_a = dwarf_diename(a), *name_b = dwarf_diename(b);
	struct type type_a = type_of(a), type_b = type_of(b);
	uint64_t at_a = 0, at_b = 0;
	char *text_a, *text_b;
	bool is_equal;

	die_number(a, DW_AT_data_member_location, &at_a);
	die_number(b, DW_AT_data_member_location, &at_b);
	if (dwarf_tag(a) != dwarf_tag(b) || at_a != at_b || strcmp(name_a ? name_a : "", name_b ? name_b : "") != 0)
		return false;
	text_a = type_name(&type_a);
	text_b = type_name(&type_b);
	is_equal = strcmp(text_a, text_b) == 0;
	free(text_a);
	free(text_b);
	return is_equal;
}

/* The next part that has a place in an object, or names a value: functions and inner types are not told in every unit. */
static int part_next(Dwarf_Die *part, int result)
{
	while (result == 0) {
		switch (dwarf_tag(part)) {
		case DW_TAG_member:
		case DW_TAG_inheritance:
		case DW_TAG_variant_part:
		case DW_TAG_enumerator:
		case DW_TAG_subrange_type:
			return 0;
		}
		result = dwarf_siblingof(part, part);
	}
	return result;
}

/* Do two definitions say the same, as those of one header in several units do? */
static bool types_equal(Dwarf_Die *a, Dwarf_Die *b)
{
	Dwarf_Die x, y;
	Dwarf_Word size_x = 0, size_y = 0;
	int more_x, more_y, n = 0;

	if (a->addr == b->addr)
		return true;
	if (dwarf_peel_type(a, &x) || dwarf_peel_type(b, &y) || dwarf_tag(&x) != dwarf_tag(&y))
		return false;
	dwarf_aggregate_size(&x, &size_x);
	dwarf_aggregate_size(&y, &size_y);
	if (size_x != size_y)
		return false;
	if (dwarf_tag(&x) == DW_TAG_base_type)
		return true;
	more_x = part_next(&x, dwarf_child(&x, &x));
	more_y = part_next(&y, dwarf_child(&y, &y));
	while (more_x == 0 && more_y == 0 && n++ < MEMBERS_MAX) {
		if (!members_equal(&x, &y))
			return false;
		more_x = part_next(&x, dwarf_siblingof(&x, &x));
		more_y = part_next(&y, dwarf_siblingof(&y, &y));
	}
	return more_x && more_y;
}

/* Without its tag the name of a struct of C means a typedef first. */
static enum match type_match(const struct type_query *query, Dwarf_Die *die, const char *name)
{
	enum match match = types_match(&query->asked, die, name);

	if (match != MATCH_EXACT || query->is_tagged || dwarf_tag(die) == DW_TAG_typedef || dwarf_tag(die) == DW_TAG_base_type)
		return match;
	return type_is_c(die) ? MATCH_PLAIN : match;
}

/* Keep a definition, if it fits better than those before, or as well and is another one. */
static bool choice_take(void *context, struct units *units, Dwarf_Die *die, const char *name)
{
	struct type_query *query = context;
	enum match match = type_match(query, die, name);
	const char *file = die_file(die, &units->stub), *asked = query->cast->file;
	int line = 0;

	if (match == MATCH_NONE || (query->n && match < query->found[0].match) || die_flag(die, DW_AT_declaration) ||
		(asked && !(file && path_ends_in(file, asked)) && !(units->name && path_ends_in(units->name, asked))))
		return false;
	if (query->n && match > query->found[0].match)
		choices_clear(query);
	for (size_t i = 0; i < query->n; i++) {
		if (types_equal(&query->found[i].die, die))
			return false;
	}
	dwarf_decl_line(die, &line);
	query->found = mem_resize(query->found, query->n + 1, sizeof(*query->found));
	query->found[query->n++] = (struct choice){.die = *die,
		.module = units->module,
		.place = file ? text_format("%s:%d", file, line) : NULL,
		.match = match};
	return query->n == CANDIDATES_SHOWN;
}

static bool module_allowed(const struct type_query *query, Dwfl_Module *module)
{
	return !query->cast->qualifier || module_fits(module, query->cast->qualifier);
}

static int choice_visit(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	struct type_query *query = arg;

	(void)userdata;
	(void)name;
	(void)base;
	if (module != query->cast->module && module_allowed(query, module))
		types_find(module, query->asked.last, query->is_tagged, choice_take, query);
	return DWARF_CB_OK;
}

/* Search a name in one module, then in the others that fit the qualifier. */
static void query_run(struct type_query *query, const char *name)
{
	const struct cast *cast = query->cast;

	asked_fini(&query->asked);
	asked_init(&query->asked, name);
	if (cast->module && module_allowed(query, cast->module))
		types_find(cast->module, query->asked.last, query->is_tagged, choice_take, query);
	if (query->n == 0)
		dwfl_getmodules(cast->symbols->dwfl, choice_visit, query, 0);
}

/* Keep the name of a type, as it is written in C, if it is close. */
static bool near_take(void *context, struct units *units, Dwarf_Die *die, const char *name)
{
	struct type_query *query = context;
	struct type type = {.die = *die};
	struct named named = {.raw = (char *)name};
	size_t limit;

	(void)units;
	if (die_flag(die, DW_AT_declaration))
		return false;
	limit = near_distance(&query->asked, &named);
	if (limit != SIZE_MAX) {
		char *shown = type_name(&type);

		near_keep(&query->asked, shown, limit);
		free(shown);
	}
	return false;
}

static int near_visit(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	struct type_query *query = arg;

	(void)userdata;
	(void)name;
	(void)base;
	if (module_allowed(query, module))
		types_find(module, NULL, false, near_take, query);
	return DWARF_CB_OK;
}

static int refuse_unknown(struct type_query *query, const char *text, struct err *err)
{
	const struct cast *cast = query->cast;

	err_set(err, "%s: no type named '%s' in the debug information of %s%s%s", cast->watch, text,
		cast->qualifier ? "a module named " : "any module that is loaded", cast->qualifier ? cast->qualifier : "",
		cast->file ? " with that source file" : "");
	if (cast->module && module_allowed(query, cast->module))
		types_find(cast->module, NULL, false, near_take, query);
	if (query->asked.n_near == 0)
		dwfl_getmodules(cast->symbols->dwfl, near_visit, query, 0);
	for (size_t i = 0; i < query->asked.n_near; i++)
		err_append(err, "%s%s", i ? ", " : "; did you mean ", query->asked.near[i].name);
	return -1;
}

static int refuse_several(struct type_query *query, const char *text, struct err *err)
{
	err_set(err, "%s: ambiguous, %zu different types are named '%s'; name one as FILE.c::(%s *)... or MODULE!(%s *)...:",
		query->cast->watch, query->n, text, text, text);
	for (size_t i = 0; i < query->n; i++) {
		struct type type = {.die = query->found[i].die};
		char *name = type_name(&type), *told, *line;
		uint64_t size = 0;

		type_size(&type, &size);
		told = text_format("%s, %zu bytes%s%s, in %s", name, (size_t)size, query->found[i].place ? ", " : "",
			query->found[i].place ? query->found[i].place : "", module_path(query->found[i].module));
		line = text_line(told);
		if (strlen(err->text) + strlen("\n  ") + strlen(line) < sizeof(err->text))
			err_append(err, "\n  %s", line);
		free(line);
		free(told);
		free(name);
	}
	return -1;
}

/* Take the stars, qualifiers and tags off a type; how many stars is added to *stars. */
static bool name_peel(char *name, unsigned *stars)
{
	for (bool more = true; more;) {
		more = words_cut(name, noise, ARRAY_LEN(noise));
		for (size_t i = 0; i < ARRAY_LEN(noise); i++)
			more |= tail_cut(name, noise[i]);
		if (tail_cut(name, "*")) {
			++*stars;
			more = true;
		}
	}
	return words_cut(name, tags, ARRAY_LEN(tags));
}

int type_parse(const struct cast *cast, const char *text, struct type *type, Dwfl_Module **found, struct err *err)
{
	char *name = text_copy(text), gcc[64], clang[64];
	struct type_query query = {.cast = cast};
	int result = 0;

	*type = (struct type){0};
	*found = cast->module;
	query.is_tagged = name_peel(name, &type->stars);
	type->is_void = strcmp(name, "void") == 0;
	asked_init(&query.asked, name);
	if (!type->is_void && *name)
		query_run(&query, name);
	if (!type->is_void && query.n == 0 && integer_spell(name, gcc, clang, sizeof(gcc))) {
		query_run(&query, gcc);
		if (query.n == 0)
			query_run(&query, clang);
	}
	if (query.n > 1) {
		result = refuse_several(&query, text, err);
	} else if (query.n == 1) {
		type->die = query.found[0].die;
		*found = query.found[0].module;
	} else if (!type->is_void) {
		result = refuse_unknown(&query, text, err);
	}
	choices_clear(&query);
	free(query.found);
	asked_fini(&query.asked);
	free(name);
	return result;
}

/* What a type is without typedefs and qualifiers, where that is only declared. */
static bool declaration_of(const struct type *type, Dwarf_Die *declared)
{
	Dwarf_Die die = type->die;

	return !type->stars && !type->is_void && dwarf_peel_type(&die, declared) == 0 &&
		die_flag(declared, DW_AT_declaration) && !dwarf_hasattr(declared, DW_AT_signature);
}

int type_define(const struct cast *cast, struct type *type, Dwfl_Module **module, struct err *err)
{
	struct type_query query = {.cast = cast, .is_tagged = true};
	struct type declared = {0};
	char *name, *shown;
	int result = 0;

	if (!declaration_of(type, &declared.die))
		return 0;
	name = type_qualified(&declared.die);
	if (!name)
		return 0;
	asked_init(&query.asked, name);
	query_run(&query, name);
	if (query.n > 1) {
		shown = type_name(&declared);
		result = refuse_several(&query, shown, err);
		free(shown);
	} else if (query.n == 1) {
		*type = (struct type){.die = query.found[0].die};
		*module = query.found[0].module;
	}
	choices_clear(&query);
	free(query.found);
	asked_fini(&query.asked);
	free(name);
	return result;
}
