/* watch.c owns the grammar of -e. It knows no target: names stay names. */
#include "watchprof/watch.h"

#include "watch_private.h"
#include "watchprof/util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The longest EXPR accepted; C++ template names reach a few kilobytes. */
#define WATCH_TEXT_MAX 16384

static const struct {
	const char *form;
	enum watch_access access;
} access_forms[] = {
	/* The first form of each kind is its name in outputs. */
	{"rw", ACCESS_READ_WRITE}, {"w", ACCESS_WRITE},	  {"r", ACCESS_READ},	{"x", ACCESS_EXECUTE},
	{"rw-", ACCESS_READ_WRITE}, {"-w-", ACCESS_WRITE}, {"r--", ACCESS_READ}, {"--x", ACCESS_EXECUTE},
};

const char *access_name(enum watch_access access)
{
	for (size_t i = 0; i < ARRAY_LEN(access_forms); i++) {
		if (access_forms[i].access == access)
			return access_forms[i].form;
	}
	return "?";
}

bool watch_is_operator(const char *expr, const char *at)
{
	return at - expr >= 8 && strncmp(at - 8, "operator", 8) == 0;
}

int watch_number_base(const char *digits)
{
	return strncasecmp(digits, "0x", 2) == 0 ? 16 : 10;
}

static int access_parse(const char *text, const char *form, struct watch *watch, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(access_forms); i++) {
		if (strcmp(form, access_forms[i].form) == 0) {
			watch->access = access_forms[i].access;
			return 0;
		}
	}
	if (strcmp(form, "---") == 0)
		return err_set(err, "%s: '---' clears a watch, and there is none to clear at the start", text);
	return err_set(err, "%s: bad access '%s': use rw, w, r or x (or rw-, -w-, r--, --x)", text, form);
}

/* Cut `:ACCESS` off the end of expr. A colon that belongs to a `::` is part of a name. */
static int access_cut(const char *text, char *expr, struct watch *watch, struct err *err)
{
	/* Filters may have colons of their own. */
	char *colon, *comma = strchr(expr + watch_stem(expr), ',');

	watch->access = ACCESS_READ_WRITE;
	if (comma) {
		*comma = '\0';
		if (filters_parse(text, comma + 1, &watch->filters, err))
			return -1;
	}
	colon = strrchr(expr, ':');
	/* Neither a scope nor an ABI tag, as in name[abi:cxx11]. */
	if (!colon || (colon > expr && colon[-1] == ':') || strchr(colon, ']'))
		return 0;
	*colon = '\0';
	return access_parse(text, colon + 1, watch, err);
}

/* Cut `/LENGTH` off the end of expr. A slash before anything but a number belongs to a file name. */
static int length_cut(const char *text, char *expr, struct watch *watch, struct err *err)
{
	char *slash = strrchr(expr, '/'), *end;

	if (!slash || strchr(slash, '!') || strstr(slash, "::") || watch_is_operator(expr, slash))
		return 0;
	if (slash[1] == '\0' || slash[1] == '+' || slash[1] == '-')
		return err_set(err, "%s: bad length '%s': give a number of bytes", text, slash + 1);
	if (slash[1] < '0' || slash[1] > '9')
		return 0;
	errno = 0;
	watch->length = strtoull(slash + 1, &end, watch_number_base(slash + 1));
	if (*end || errno)
		return err_set(err, "%s: bad length '%s': give a number of bytes", text, slash + 1);
	if (watch->length == 0)
		return err_set(err, "%s: a length of 0 bytes watches nothing", text);
	*slash = '\0';
	return 0;
}

/* Cut `+OFFSET` or `-OFFSET` off the end of expr. In a C++ name a sign can only follow
 * the word operator, where no digit follows it, or stand inside brackets. */
static int offset_cut(const char *text, char *expr, struct watch *watch, struct err *err)
{
	char *sign = expr + strlen(expr), *end;

	while (sign > expr && *sign != '+' && *sign != '-')
		sign--;
	if ((*sign != '+' && *sign != '-') || sign[1] < '0' || sign[1] > '9' ||
		strpbrk(sign, ">)]!/") || strstr(sign, "::"))
		return 0;
	/* The size of an offset is limited so that no address can wrap around. */
	errno = 0;
	watch->offset = strtoll(sign + 1, &end, watch_number_base(sign + 1));
	if (*end || errno || watch->offset > INT32_MAX)
		return err_set(err, "%s: bad offset '%s': give a number of bytes below 2^31", text, sign);
	if (*sign == '-')
		watch->offset = -watch->offset;
	*sign = '\0';
	return 0;
}

static int address_parse(const char *text, const char *expr, struct watch *watch, struct err *err)
{
	char *end;

	errno = 0;
	watch->address = strtoull(expr, &end, 16);
	if (*end || errno || end == expr + 2)
		return err_set(err, "%s: bad address '%s': give it as 0x and hexadecimal digits", text, expr);
	if (watch->access == ACCESS_EXECUTE)
		return 0;
	if (watch->length == 0)
		return err_set(err, "%s: a plain address needs a length, for example %s/4:%s", text, expr,
			access_name(watch->access));
	if (watch->address + watch->length < watch->address)
		return err_set(err, "%s: the range ends beyond the last address", text);
	return 0;
}

static int expr_parse(const char *text, char *expr, struct watch *watch, struct err *err)
{
	if (access_cut(text, expr, watch, err) || length_cut(text, expr, watch, err))
		return -1;
	if (strncmp(expr, "0x", 2) == 0)
		return address_parse(text, expr, watch, err);
	if (offset_cut(text, expr, watch, err))
		return -1;
	return watch_expr_parse(text, expr, watch, err);
}

int watch_parse(const char *text, struct watch *watch, struct err *err)
{
	size_t len = strlen(text);
	char *expr;
	int result;

	*watch = (struct watch){0};
	if (len == 0)
		return err_set(err, "an empty watch names nothing: use -e VARIABLE:rw");
	if (len > WATCH_TEXT_MAX)
		return err_set(err, "a watch of %zu characters is too long (%d at most)", len, WATCH_TEXT_MAX);
	expr = text_copy(text);
	watch->text = text_copy(text);
	result = expr_parse(text, expr, watch, err);
	if (result)
		watch_fini(watch);
	free(expr);
	return result;
}

static char *copy_or_null(const char *text)
{
	return text ? text_copy(text) : NULL;
}

struct watch watch_copy(const struct watch *watch)
{
	struct watch copy = *watch;

	copy.text = copy_or_null(watch->text);
	copy.module = copy_or_null(watch->module);
	copy.file = copy_or_null(watch->file);
	copy.name = copy_or_null(watch->name);
	copy.filters = filters_copy(&watch->filters);
	copy.steps = mem_new(watch->n_steps + 1, sizeof(*copy.steps));
	for (size_t i = 0; i < watch->n_steps; i++) {
		copy.steps[i] = watch->steps[i];
		copy.steps[i].name = copy_or_null(watch->steps[i].name);
		copy.steps[i].file = copy_or_null(watch->steps[i].file);
	}
	return copy;
}

/* Does text begin with an access that ends there, or goes on with filters? */
static bool is_access(const char *text)
{
	size_t len = strcspn(text, ",");

	for (size_t i = 0; i < ARRAY_LEN(access_forms); i++) {
		if (strlen(access_forms[i].form) == len && strncmp(text, access_forms[i].form, len) == 0)
			return true;
	}
	return strcmp(text, "---") == 0;
}

size_t watch_stem(const char *text)
{
	for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
		if ((colon == text || colon[-1] != ':') && is_access(colon + 1))
			return (size_t)(colon - text);
	}
	return strlen(text);
}

bool span_is_user(const struct span *span)
{
	return !span->len || !(span->addr >> 56 || span->len >> 56 || (span->addr + span->len) >> 56);
}

int span_check_user(const struct span *span, const char *text, struct err *err)
{
	if (span_is_user(span))
		return 0;
	return err_set(err, "%s: 0x%" PRIx64 " is not an address of user memory", text, span->addr);
}

void watch_fini(struct watch *watch)
{
	for (size_t i = 0; i < watch->n_steps; i++) {
		free(watch->steps[i].name);
		free(watch->steps[i].file);
	}
	filters_fini(&watch->filters);
	free(watch->steps);
	free(watch->text);
	free(watch->module);
	free(watch->file);
	free(watch->name);
	*watch = (struct watch){0};
}
