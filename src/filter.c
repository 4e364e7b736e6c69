/* filter.c owns the conditions behind a watch's access: their text and whether a hit meets them. It knows no
 * process. */
#include "watchprof/filter.h"

#include "watchprof/util.h"
#include "watchprof/values.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

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
	bool is_negative; /* compared as signed numbers */
	uint64_t number;
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

static int number_parse(const char *watch, const char *text, struct filter *filter, struct err *err)
{
	const char *digits;
	char *end;

	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		if (strncmp(text, operators[i].text, strlen(operators[i].text)))
			continue;
		filter->operator = operators[i].operator;
		digits = text + strlen(operators[i].text);
		filter->is_negative = *digits == '-';
		errno = 0;
		filter->number = strtoull(digits, &end, 0);
		if (*end || errno || end == digits || strchr(" +", *digits))
			return err_set(err, "%s: bad number '%s' in a filter", watch, digits);
		return 0;
	}
	return err_set(err, "%s: bad filter: new and old are compared with ==, !=, <, <=, > or >=", watch);
}

static int filter_parse(const char *watch, const char *text, struct filter *filter, struct err *err)
{
	size_t len = strcspn(text, "=!<>");

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strlen(words[i].word) != len || strncmp(words[i].word, text, len))
			continue;
		*filter = (struct filter){.kind = words[i].kind};
		text += len;
		if (words[i].has_number)
			return number_parse(watch, text, filter, err);
		if (!words[i].has_pattern && !*text)
			return 0;
		if (!words[i].has_pattern || text[0] != '=' || !text[1])
			break;
		filter->pattern = text_copy(text + 1);
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
	}
	return copy;
}

void filters_fini(struct filters *filters)
{
	for (size_t i = 0; i < filters->n; i++)
		free(filters->list[i].pattern);
	free(filters->list);
	*filters = (struct filters){0};
}

/* -1, 0 or 1: as unsigned numbers, or as signed ones where the filter's is negative. */
static int number_compare(const struct value *value, const struct filter *filter)
{
	unsigned shift = 64 - 8U * value->len;
	uint64_t number = 0;

	memcpy(&number, value->bytes, value->len);
	if (filter->is_negative) {
		int64_t a = (int64_t)(number << shift) >> shift, b = (int64_t)filter->number;

		return (a > b) - (a < b);
	}
	return (number > filter->number) - (number < filter->number);
}

static bool number_meets(const struct value *value, const struct filter *filter)
{
	int order;

	if (value->len == 0 || value->len > sizeof(uint64_t))
		return false;
	order = number_compare(value, filter);
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
		return number_meets(facts->to, filter);
	case FILTER_OLD:
		return number_meets(facts->from, filter);
	case FILTER_THREAD:
		return facts->thread && fnmatch(filter->pattern, facts->thread, 0) == 0;
	case FILTER_FUNCTION:
		return facts->function && fnmatch(filter->pattern, facts->function, 0) == 0;
	}
	return false;
}

bool filters_pass(const struct filters *filters, const struct filter_facts *facts)
{
	for (size_t i = 0; i < filters->n; i++) {
		if (!filter_meets(&filters->list[i], facts))
			return false;
	}
	return true;
}
