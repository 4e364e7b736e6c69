/* watch_expr.c owns the grammar of the object in a watch: names, members, elements, pointers
 * and casts. It knows no target: what has which type is found out later. */
#include "watch_private.h"

#include "watchprof/name.h"
#include "watchprof/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More than anybody types; it bounds the depth of brackets. */
#define STEPS_MAX 64

#define ANONYMOUS "(anonymous"

struct parser {
	const char *text; /* the whole watch */
	struct watch *watch;
	struct err *err;
	int depth;
};

static int term_parse(struct parser *parser, char *expr);

static int step_add(
	struct parser *parser, enum step_kind kind, const char *name, size_t len, uint64_t index)
{
	struct watch *watch = parser->watch;

	while (len && *name == ' ')
		name++, len--;
	while (len && name[len - 1] == ' ')
		len--;
	if (watch->n_steps == STEPS_MAX)
		return err_set(
			parser->err, "%.60s...: more than %d steps", parser->text, STEPS_MAX);
	watch->steps = mem_resize(watch->steps, watch->n_steps + 1, sizeof(*watch->steps));
	watch->steps[watch->n_steps++] = (struct step){.kind = kind,
		.index = index,
		.name = name ? text_format("%.*s", (int)len, name) : NULL};
	return 0;
}

/* The `::` that ends a file qualifier: what stands before it has a dot or a slash, which
 * no C++ scope has outside its brackets. NULL: there is none. */
static char *file_end(char *expr)
{
	char *colons = strstr(expr, "::");
	char *mark = strpbrk(expr, "./<({[");

	if (!colons || !mark || mark > colons || (*mark != '.' && *mark != '/') ||
		watch_is_operator(expr, mark) || memmem(expr, (size_t)(colons - expr), "->", 2))
		return NULL;
	return colons;
}

/* Behind a name. A member's ends at a dot, too. */
static char *name_end(const struct parser *parser, char *name, bool is_member)
{
	const char *at = name;

	while (*at && strncmp(at, "->", 2) != 0 && !(is_member && *at == '.')) {
		/* Neither an ABI tag nor, of code, the types of a Go function. */
		if (*at == '[' && strncmp(at, "[abi:", 5) != 0 &&
			(parser->watch->access != ACCESS_EXECUTE || (at[1] >= '0' && at[1] <= '9')))
			break;
		at = name_piece_end(name, at);
	}
	return name + (at - name);
}

static int element_parse(struct parser *parser, char **expr)
{
	char *digits = *expr + 1, *close = strchr(digits, ']'), *end;
	uint64_t index;

	if (!close)
		return err_set(parser->err, "%s: '[' without ']'", parser->text);
	if (*digits == '-')
		return err_set(parser->err, "%s: a negative element, '%.*s'; use NAME-BYTES/LENGTH",
			parser->text, (int)(close - digits), digits);
	errno = 0;
	index = strtoull(digits, &end, watch_number_base(digits));
	if (*digits < '0' || *digits > '9' || end != close || errno)
		return err_set(parser->err, "%s: bad element '%.*s': give its number", parser->text,
			(int)(close - digits), digits);
	*expr = close + 1;
	return step_add(parser, STEP_ELEMENT, NULL, 0, index);
}

static int member_parse(struct parser *parser, char **expr)
{
	char *name = *expr + 1, *end;

	if (**expr == '-') {
		name++;
		if (step_add(parser, STEP_DEREF, NULL, 0, 0))
			return -1;
	}
	end = name_end(parser, name, true);
	if (name + strspn(name, " ") >= end)
		return err_set(parser->err, "%s: no member is named behind '%.*s'", parser->text,
			(int)(name - *expr), *expr);
	*expr = end;
	return step_add(parser, STEP_MEMBER, name, (size_t)(end - name), 0);
}

/* What may follow a name or a bracket: .MEMBER ->MEMBER [INDEX] */
static int postfix_parse(struct parser *parser, char *expr)
{
	while (*expr) {
		bool is_arrow = strncmp(expr, "->", 2) == 0;
		int result;

		if (*expr == '[')
			result = element_parse(parser, &expr);
		else if (*expr == '.' || is_arrow)
			result = member_parse(parser, &expr);
		else
			return err_set(parser->err,
				"%s: what does '%s' mean here? A member is .NAME or ->NAME, an "
				"element "
				"[NUMBER]",
				parser->text, expr);
		if (result)
			return -1;
	}
	return 0;
}

static int address_parse(struct parser *parser, char *expr)
{
	char *end;

	errno = 0;
	parser->watch->address = strtoull(expr, &end, 16);
	if (errno || end < expr + 3)
		return err_set(parser->err,
			"%s: bad address '%s': give it as 0x and hexadecimal digits", parser->text,
			expr);
	return end - expr;
}

/* A cast of len bytes: its type without the last star; file: see struct step. */
static int cast_add(struct parser *parser, const char *type, size_t len, const char *file)
{
	while (len && *type == ' ')
		type++, len--;
	while (len && type[len - 1] == ' ')
		len--;
	if (len == 0 || type[len - 1] != '*')
		return err_set(parser->err,
			"%s: a cast to '%.*s', which is no pointer: write (TYPE *)", parser->text,
			(int)len, type);
	for (len--; len && type[len - 1] == ' ';)
		len--;
	if (len == 0)
		return err_set(
			parser->err, "%s: a cast without a type: write (TYPE *)", parser->text);
	if (step_add(parser, STEP_CAST, type, len, 0))
		return -1;
	parser->watch->steps[parser->watch->n_steps - 1].file = file ? text_copy(file) : NULL;
	return 0;
}

/* A cast of a TERM, which may name a file of its own. */
static int cast_parse(struct parser *parser, const char *type, size_t len, char *term)
{
	struct watch *watch = parser->watch;
	char *file = watch->file ? text_copy(watch->file) : NULL;
	int result;

	watch->is_cast_file = file != NULL;
	result = term_parse(parser, term) || cast_add(parser, type, len, file) ? -1 : 0;
	free(file);
	return result;
}

/* A name with what qualifies it, up to its first step. */
static int base_parse(struct parser *parser, char *expr)
{
	struct watch *watch = parser->watch;
	char *bang = strchr(expr, '!'), *colons, *end;
	bool has_module = bang && !watch_is_operator(expr, bang);

	if (has_module) {
		if (bang == expr)
			return err_set(parser->err, "%s: no module before '!'", parser->text);
		if (watch->module)
			return err_set(parser->err, "%s: two modules, '%s' and another",
				parser->text, watch->module);
		watch->module = text_format("%.*s", (int)(bang - expr), expr);
		expr = bang + 1;
	}
	/* FILE::*p and MODULE!(struct s *)0x7f00 */
	colons = file_end(expr);
	if (colons && (!watch->file || watch->is_cast_file)) {
		free(watch->file);
		watch->is_cast_file = false;
		watch->file = text_format("%.*s", (int)(colons - expr), expr);
		expr = colons + 2;
	}
	if (strncmp(expr, "0x", 2) == 0)
		return err_set(parser->err,
			"%s: an address stands alone, without a module or a file; for a cast write "
			"(TYPE *)0xADDRESS",
			parser->text);
	if (has_module || (colons && expr == colons + 2))
		return term_parse(parser, expr);
	end = name_end(parser, expr, false);
	if (end == expr)
		return err_set(parser->err, "%s: no variable is named", parser->text);
	watch->name = text_format("%.*s", (int)(end - expr), expr);
	return postfix_parse(parser, end);
}

/* `(TERM)...`, `(TYPE *)0xADDRESS...` or `(TYPE *)TERM`; close is the second bracket. */
static int bracket_parse(struct parser *parser, char *expr, char *close)
{
	char *inside = expr + 1, *rest = close + 1;
	int len;

	*close = '\0';
	if (*rest == '\0' && close > inside && close[-1] == '*')
		return err_set(parser->err,
			"%s: a cast of what? Write (TYPE *)0xADDRESS or (TYPE *)NAME",
			parser->text);
	if (strncmp(rest, "0x", 2) == 0) {
		len = address_parse(parser, rest);
		if (len < 0 || cast_add(parser, inside, (size_t)(close - inside), parser->watch->file))
			return -1;
		return postfix_parse(parser, rest + len);
	}
	if (*rest == '\0' || *rest == '.' || *rest == '[' || strncmp(rest, "->", 2) == 0)
		return term_parse(parser, inside) || postfix_parse(parser, rest) ? -1 : 0;
	return cast_parse(parser, inside, (size_t)(close - inside), rest);
}

/* The round bracket that ends the one at expr. */
static char *round_end(char *expr)
{
	int depth = 0;

	for (; *expr; expr++) {
		depth += (*expr == '(') - (*expr == ')');
		if (depth == 0)
			return expr;
	}
	return NULL;
}

static int term_parse(struct parser *parser, char *expr)
{
	char *close;
	int result;

	while (*expr == ' ')
		expr++;
	if (++parser->depth > STEPS_MAX)
		return err_set(parser->err, "%.60s...: more than %d brackets and stars",
			parser->text, STEPS_MAX);
	if (*expr == '&')
		return err_set(
			parser->err, "%s: no '&': the variable itself is watched", parser->text);
	if (*expr == '*') {
		result = term_parse(parser, expr + 1);
		return result ? result : step_add(parser, STEP_DEREF, NULL, 0, 0);
	}
	if (*expr != '(' || strncmp(expr, ANONYMOUS, strlen(ANONYMOUS)) == 0)
		return base_parse(parser, expr);
	close = round_end(expr);
	if (!close)
		return err_set(parser->err, "%s: '(' without ')'", parser->text);
	return bracket_parse(parser, expr, close);
}

int watch_expr_parse(const char *text, char *expr, struct watch *watch, struct err *err)
{
	struct parser parser = {.text = text, .watch = watch, .err = err};

	if (!*expr)
		return err_set(err, "%s: no variable is named", text);
	if (term_parse(&parser, expr))
		return -1;
	if (watch->access == ACCESS_EXECUTE && watch->n_steps)
		return err_set(err,
			"%s: a function is named without members, elements and pointers", text);
	return 0;
}

bool watch_name_shorten(struct watch *watch)
{
	const char *at = watch->name, *dot = NULL;

	while (*at) {
		if (*at == '.' && at > watch->name && at[1] && at[1] != '.')
			dot = at;
		at = name_piece_end(watch->name, at);
	}
	if (!dot)
		return false;
	watch->steps = mem_resize(watch->steps, watch->n_steps + 1, sizeof(*watch->steps));
	memmove(&watch->steps[1], watch->steps, watch->n_steps * sizeof(*watch->steps));
	watch->steps[0] = (struct step){.kind = STEP_MEMBER, .name = text_copy(dot + 1)};
	watch->n_steps++;
	watch->name[dot - watch->name] = '\0';
	return true;
}
