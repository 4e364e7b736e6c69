/* filter.c owns the conditions behind a watch's access: their text and whether a hit meets them. It knows no
 * process. */
#include "watchprof/filter.h"

#include "watchprof/util.h"
#include "watchprof/value_text.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_TOLD_MAX 12 /* of an enum, in a message */

enum filter_kind {
	FILTER_CHANGED,
	FILTER_NEW,
	FILTER_OLD,
	FILTER_THREAD,
	FILTER_FUNCTION,
};

enum filter_operator {
	OPERATOR_EQUAL,
	OPERATOR_OTHER,
	OPERATOR_LESS,
	OPERATOR_LESS_EQUAL,
	OPERATOR_GREATER,
	OPERATOR_GREATER_EQUAL,
};

struct filter {
	enum filter_kind kind;
	enum filter_operator operator;
	struct value_number number;
	bool is_hex;	/* compared with the bits, which have no sign */
	char *constant; /* in place of a number: a name of the enum; true, false */
	char *pattern;
};

static const struct {
	const char *word;
	enum filter_kind kind;
	bool has_pattern, has_number;
} words[] = {
	{"changed", FILTER_CHANGED, false, false},
	{"new", FILTER_NEW, false, true},
	{"old", FILTER_OLD, false, true},
	{"thread", FILTER_THREAD, true, false},
	{"func", FILTER_FUNCTION, true, false},
};

/* Longer ones first. */
static const struct {
	const char *text;
	enum filter_operator operator;
} operators[] = {
	{"==", OPERATOR_EQUAL},
	{"!=", OPERATOR_OTHER},
	{"<=", OPERATOR_LESS_EQUAL},
	{">=", OPERATOR_GREATER_EQUAL},
	{"<", OPERATOR_LESS},
	{">", OPERATOR_GREATER},
};

static bool is_constant(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n && !text[n] && !isdigit((unsigned char)text[0]);
}

/* A whole number, a real one, or the name of a constant. False: none of them. */
static bool operand_parse(const char *text, struct filter *filter)
{
	const char *digits = text + (*text == '-');
	char *end;

	if (is_constant(text)) {
		filter->constant = text_copy(text);
		return true;
	}
	if (!isdigit((unsigned char)*digits) && *digits != '.')
		return false;
	errno = 0;
	filter->number.size = strtoull(digits, &end, 0);
	filter->number.is_negative = digits != text && filter->number.size;
	filter->is_hex = !filter->number.is_negative && (strncmp(digits, "0x", 2) == 0 || strncmp(digits, "0X", 2) == 0);
	if (!*end && !errno)
		return true;
	filter->is_hex = false;
	filter->number = (struct value_number){.is_real = true, .real = strtold(text, &end)};
	/* A whole number that is too large is a mistake. */
	return !*end && strpbrk(text, ".eEpP");
}

static int number_parse(const char *watch, const char *text, struct filter *filter, struct err *err)
{
	const char *operand;

	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		if (strncmp(text, operators[i].text, strlen(operators[i].text)) != 0)
			continue;
		filter->operator = operators[i].operator;
		operand = text + strlen(operators[i].text);
		return operand_parse(operand, filter) ? 0 : err_set(err, "%s: bad number '%s' in a filter", watch, operand);
	}
	return err_set(err, "%s: bad filter: new and old are compared with ==, !=, <, <=, > or >=", watch);
}

static int filter_parse(const char *watch, const char *text, struct filter *filter, struct err *err)
{
	size_t len = strcspn(text, "=!<>");
	const char *rest = text + len;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strlen(words[i].word) != len || strncmp(words[i].word, text, len) != 0)
			continue;
		*filter = (struct filter){.kind = words[i].kind};
		if (words[i].has_number)
			return number_parse(watch, rest, filter, err);
		if (!words[i].has_pattern && !*rest)
			return 0;
		if (!words[i].has_pattern || rest[0] != '=' || !rest[1])
			break;
		filter->pattern = text_copy(rest + 1);
		return 0;
	}
	return err_set(err, "%s: bad filter '%s': use changed, new==N, old!=N (also <, <=, >, >=), "
			    "thread=PATTERN or func=PATTERN", watch, text);
}

int filters_parse(const char *watch, const char *text, struct filters *out, struct err *err)
{
	char *copy = text_copy(text), *rest = copy, *part;
	int result = 0;

	*out = (struct filters){0};
	while (result == 0 && (part = strsep(&rest, ","))) {
		struct filter filter = {0};

		result = filter_parse(watch, part, &filter, err);
		if (result)
			break;
		out->needs_value |= filter.kind == FILTER_NEW || filter.kind == FILTER_OLD;
		out->list = mem_resize(out->list, out->n + 1, sizeof(*out->list));
		out->list[out->n++] = filter;
		out->needs_thread |= filter.kind == FILTER_THREAD;
		out->needs_function |= filter.kind == FILTER_FUNCTION;
	}
	if (result)
		filters_fini(out);
	free(copy);
	return result;
}

struct filters filters_copy(const struct filters *filters)
{
	struct filters copy = *filters;

	copy.list = filters->n ? mem_new(filters->n, sizeof(*copy.list)) : NULL;
	for (size_t i = 0; i < filters->n; i++) {
		copy.list[i] = filters->list[i];
		copy.list[i].pattern = filters->list[i].pattern ? text_copy(filters->list[i].pattern) : NULL;
		copy.list[i].constant = filters->list[i].constant ? text_copy(filters->list[i].constant) : NULL;
	}
	return copy;
}

void filters_fini(struct filters *filters)
{
	for (size_t i = 0; i < filters->n; i++)
		free(filters->list[i].pattern);
	for (size_t i = 0; i < filters->n; i++)
		free(filters->list[i].constant);
	free(filters->list);
	*filters = (struct filters){0};
}

/* The number that a name stands for. */
static bool constant_find(const char *name, const struct value_type *type, struct value_number *out)
{
	*out = (struct value_number){.size = strcmp(name, "true") == 0};
	if (type && type->kind == VALUE_BOOL && (out->size || strcmp(name, "false") == 0))
		return true;
	for (size_t i = 0; type && type->kind == VALUE_ENUM && i < type->n_names; i++) {
		int64_t number = type->names[i].value;

		if (strcmp(type->names[i].name, name) != 0)
			continue;
		*out = (struct value_number){.is_negative = number < 0,
			.size = number < 0 ? -(uint64_t)number : (uint64_t)number};
		return true;
	}
	return false;
}

/* The number that a value is for a filter. As in C the other number decides, too: with a negative one, the value
 * has a sign; with one in hexadecimal it has none. */
static bool side_number(const struct value *value, const struct filter *filter, const struct value_type *type,
	struct value_number *out)
{
	struct value_type as = type ? *type : (struct value_type){0};
	enum value_kind kind = value_kind_of(value, type);

	if (kind == VALUE_FLOAT || (!filter->is_hex && !filter->number.is_negative))
		return value_number(value, type, out);
	as.kind = filter->is_hex ? VALUE_UNSIGNED : VALUE_SIGNED;
	if (kind == VALUE_OTHER || kind == VALUE_CHARS)
		as = (struct value_type){.kind = as.kind, .size = value->len};
	return value_number(value, type, out) && value_number(value, &as, out);
}

static bool number_order(const struct value *value, const struct filter *filter, const struct value_type *type, int *order)
{
	struct value_number number, other = filter->number;

	if (filter->constant)
		return constant_find(filter->constant, type, &other) && value_number(value, type, &number) &&
			value_number_order(&number, &other, order);
	return side_number(value, filter, type, &number) && value_number_order(&number, &other, order);
}

static bool number_meets(const struct value *value, const struct filter *filter, const struct value_type *type)
{
	int order;

	if (value->len == 0 || !number_order(value, filter, type, &order))
		return false;
	switch (filter->operator) {
	case OPERATOR_EQUAL:
		return order == 0;
	case OPERATOR_OTHER:
		return order != 0;
	case OPERATOR_LESS:
		return order < 0;
	case OPERATOR_LESS_EQUAL:
		return order <= 0;
	case OPERATOR_GREATER:
		return order > 0;
	case OPERATOR_GREATER_EQUAL:
		return order >= 0;
	}
	return false;
}

static bool is_changed(const struct filter_facts *facts)
{
	return facts->is_write && facts->from->len && facts->from->len == facts->to->len &&
		memcmp(facts->from->bytes, facts->to->bytes, facts->to->len) != 0;
}

static bool filter_meets(const struct filter *filter, const struct filter_facts *facts)
{
	switch (filter->kind) {
	case FILTER_CHANGED:
		return is_changed(facts);
	case FILTER_NEW:
		return number_meets(facts->to, filter, facts->type);
	case FILTER_OLD:
		return number_meets(facts->from, filter, facts->type);
	case FILTER_THREAD:
		return facts->thread && fnmatch(filter->pattern, facts->thread, 0) == 0;
	case FILTER_FUNCTION:
		return facts->function && fnmatch(filter->pattern, facts->function, 0) == 0;
	}
	return false;
}

/* What the debug info of a target calls something, for a message; owned by the caller. */
static char *told_name(const char *name)
{
	return name ? text_escaped(name) : NULL;
}

static int constant_refuse(const char *watch, const char *name, const struct value_type *type, struct err *err)
{
	bool is_enum = type && type->kind == VALUE_ENUM;
	char *type_name = told_name(type ? type->name : NULL);

	err_set(err, "%s: '%s' in a filter is no number", watch, name);
	if (is_enum)
		err_append(err, ", and %s has no such name; it has", type_name ? type_name : "the enum");
	else
		err_append(err, ", and the type of the variable has no names%s%s%s", type_name ? " (" : "",
			type_name ? type_name : "", type_name ? ")" : "");
	for (size_t i = 0; is_enum && i < type->n_names && i < NAMES_TOLD_MAX; i++) {
		char *constant = told_name(type->names[i].name);

		err_append(err, "%s %s", i ? "," : "", constant);
		free(constant);
	}
	if (is_enum && type->n_names > NAMES_TOLD_MAX)
		err_append(err, ", ...");
	free(type_name);
	return -1;
}

int filters_check(const char *watch, const struct filters *filters, const struct value_type *type, uint64_t len,
	struct err *err)
{
	struct value_number number;
	struct value value = {.len = len > HIT_VALUE_BYTES ? HIT_VALUE_BYTES : (uint8_t)len};

	if (filters->needs_value && !value_number(&value, type, &number))
		return err_set(err, "%s: new and old are compared as numbers, and the %" PRIu64 " bytes are none; name a member "
				    "or an element, or give a length of 1, 2, 4 or 8",
			watch, len);
	for (size_t i = 0; i < filters->n; i++) {
		const char *name = filters->list[i].constant;

		if (name && !constant_find(name, type, &number))
			return constant_refuse(watch, name, type, err);
	}
	return 0;
}

bool filters_pass(const struct filters *filters, const struct filter_facts *facts)
{
	for (size_t i = 0; i < filters->n; i++) {
		if (!filter_meets(&filters->list[i], facts))
			return false;
	}
	return true;
}
