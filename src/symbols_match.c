/* symbols_match.c owns the comparison of the name that was asked for with the names of
 * symbols: what matches, how well, and what comes close. It knows no file and no process. */
#include "symbols_private.h"
#include "watchprof/name.h"
#include "watchprof/util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ANONYMOUS "(anonymous namespace)"

/* A shorter name has too many neighbours that mean something else. */
#define NEAR_LENGTH_MIN 4

/* Take out the blanks that separate no words, so that box<int,long> is box<int, long>. */
static char *blanks_cut(char *text)
{
	char *to = text;

	for (const char *at = text; at && *at; at++) {
		if (*at != ' ' || (to > text && name_is_word(to[-1]) && name_is_word(at[1])))
			*to++ = *at;
	}
	if (text)
		*to = '\0';
	return text;
}

/* Is this the end of a function's parameters inside of a name, as in `f(int) const::n`? Then
 * *next is where its :: begins. */
static bool is_scope_end(const char *end, const char **next)
{
	while (isalpha((unsigned char)*end) || *end == ' ' || *end == '&')
		end++;
	*next = end;
	return strncmp(end, "::", 2) == 0;
}

/* A copy of the name without the parameters of functions in it, and without ABI tags:
 * `f(int)::n` is f::n. */
static char *scopes_cut(const char *name)
{
	char *copy = text_copy(name), *to = copy;

	for (const char *at = name, *end, *next; *at; at = end) {
		end = name_piece_end(name, at);
		if (*at == '[' && strncmp(at, "[abi:", 5) == 0)
			continue;
		if (*at == '(' && strncmp(at, ANONYMOUS, strlen(ANONYMOUS)) != 0 &&
			is_scope_end(end, &next)) {
			end = next;
			continue;
		}
		memcpy(to, at, (size_t)(end - at));
		to += end - at;
	}
	*to = '\0';
	return copy;
}

/* The identifier of a component, which a mangled name spells out; "" for what it abbreviates
 * (operators, destructors) or has no word for. Owned by the caller. */
static char *component_word(const char *component)
{
	size_t end = strcspn(component, "<([{"), start = end;
	const char *word = strstr(component, "operator");

	while (start > 0 && name_is_word(component[start - 1]))
		start--;
	if ((word && name_piece_end(component, word) > word + 1) || strchr(component, '~'))
		start = end;
	return text_format("%.*s", (int)(end - start), component + start);
}

void asked_init(struct asked *asked, const char *name)
{
	char *outer, *at;

	*asked = (struct asked){.name = blanks_cut(text_copy(name))};
	at = strchr(asked->name, '@');
	if (at && at > asked->name && at[1 + (at[1] == '@')]) {
		asked->is_default = at[1] == '@';
		asked->version = text_copy(at + 1 + asked->is_default);
		*at = '\0';
	}
	asked->last = name_last(asked->name);
	asked->mark = component_word(asked->last);
	if (asked->last == asked->name)
		return;
	asked->scope = text_format("%.*s", (int)(asked->last - asked->name) - 2, asked->name);
	/* A constructor: C1 and C2 in mangled names. */
	outer = component_word(name_last(asked->scope));
	if (strcmp(outer, asked->mark) == 0)
		asked->mark[0] = '\0';
	free(outer);
}

void asked_fini(struct asked *asked)
{
	free(asked->name);
	free(asked->scope);
	free(asked->mark);
	free(asked->version);
	while (asked->n_near)
		free(asked->near[--asked->n_near].name);
}

size_t clone_start(const char *name)
{
	static const char *const suffixes[] = {
		".constprop.", ".isra.", ".lto_priv.", ".llvm.", ".part.", ".cold"};
	size_t start = strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		const char *suffix = strstr(name, suffixes[i]);

		if (suffix && suffix != name && (size_t)(suffix - name) < start)
			start = (size_t)(suffix - name);
	}
	return start;
}

/* Is it a part that was split off? Such a part is not where the function is entered. */
static bool is_split_off(const char *name)
{
	return strstr(name, ".part.") || strstr(name, ".cold");
}

/* Does text end in name, at the start or behind a "::"? */
static bool is_suffix(const char *text, const char *name)
{
	size_t text_len = strlen(text), name_len = strlen(name);

	if (name_len > text_len || strcmp(text + text_len - name_len, name) != 0)
		return false;
	return name_len == text_len ||
		(text_len >= name_len + 2 && strncmp(text + text_len - name_len - 2, "::", 2) == 0);
}

/* Behind a component, and the :: after it. */
static const char *component_end(const char *name, const char *at, size_t *len)
{
	const char *start = at;

	while (*at && strncmp(at, "::", 2) != 0)
		at = name_piece_end(name, at);
	*len = (size_t)(at - start);
	return *at ? at + 2 : at;
}

/* Is text the name, but that scopes are left out in it? Those without a name may always be. */
static enum match scopes_left_out(const char *text, const char *name)
{
	const char *at = text, *asked = name;
	bool has_begun = false, any = false, any_named = false;

	while (*at && *asked) {
		size_t len, asked_len;
		const char *next = component_end(text, at, &len), *asked_next = component_end(name, asked, &asked_len);
		bool is_same = len == asked_len && strncmp(at, asked, len) == 0;

		/* The last one is the variable itself. */
		if (is_same && (*next == '\0') == (*asked_next == '\0')) {
			asked = asked_next;
			has_begun = true;
		} else if (has_begun) {
			any = true;
			any_named |= strncmp(at, ANONYMOUS, strlen(ANONYMOUS)) != 0;
		}
		at = next;
	}
	if (*at || *asked || !any)
		return MATCH_NONE;
	return any_named ? MATCH_INLINE : MATCH_SUFFIX;
}

static enum match text_match(const char *text, const char *name, enum match whole)
{
	if (strcmp(text, name) == 0)
		return whole;
	return is_suffix(text, name) ? MATCH_SUFFIX : MATCH_NONE;
}

static enum match better(enum match a, enum match b)
{
	return a > b ? a : b;
}

/* Where the last component of a name begins that ends at end. */
static const char *component_start(const char *name, const char *end)
{
	const char *last = name, *at = name;

	while (at < end) {
		if (strncmp(at, "::", 2) == 0 && at + 2 < end)
			last = at + 2;
		at = strncmp(at, "::", 2) == 0 ? at + 2 : name_piece_end(name, at);
	}
	return last;
}

enum match scopes_match(const struct asked *asked, const char *last, const struct outer_scope *scopes, size_t n)
{
	char *bare = scopes_cut(asked->name), *blankless = blanks_cut(text_copy(last));
	const char *at = name_last(bare);
	enum match match = strcmp(at, blankless) == 0 ? MATCH_EXACT : MATCH_NONE;

	for (size_t i = 0; i < n && at > bare && match; i++) {
		const char *start = component_start(bare, at - 2);
		size_t len = (size_t)(at - 2 - start);

		if (strncmp(start, scopes[i].name, len) == 0 && scopes[i].name[len] == '\0')
			at = start;
		else if (!scopes[i].is_open)
			match = MATCH_NONE;
		if (at == bare && match && i + 1 < n)
			match = MATCH_SUFFIX;
	}
	match = at == bare ? match : MATCH_NONE;
	free(bare);
	free(blankless);
	return match;
}

enum match name_match(const struct asked *asked, const char *name)
{
	char *blankless = blanks_cut(text_copy(name)), *bare = scopes_cut(asked->name);
	enum match match = text_match(blankless, asked->name, MATCH_EXACT);

	match = better(match, text_match(blankless, bare, MATCH_PLAIN));
	free(blankless);
	free(bare);
	return match;
}

/* Is it NAME.123? */
static bool is_numbered(const char *raw, const char *name)
{
	size_t len = strlen(name);

	return strncmp(raw, name, len) == 0 && raw[len] == '.' && raw[len + 1] &&
		raw[len + 1 + strspn(raw + len + 1, "0123456789")] == '\0';
}

/* A function's static is n.0 by gcc, and function.n or function.n.1 by clang. */
static enum match local_match(const struct asked *asked, const char *raw)
{
	const char *dot = strchr(raw, '.');

	if (!dot || dot == raw)
		return MATCH_NONE;
	if (is_numbered(raw, asked->name))
		return MATCH_LOCAL;
	if (asked->scope && is_numbered(raw, asked->last))
		return MATCH_SCOPED;
	if (strcmp(dot + 1, asked->last) != 0 && !is_numbered(dot + 1, asked->last))
		return MATCH_NONE;
	if (!asked->scope)
		return MATCH_LOCAL;
	if (strlen(asked->scope) == (size_t)(dot - raw) &&
		strncmp(asked->scope, raw, (size_t)(dot - raw)) == 0)
		return MATCH_LOCAL;
	return MATCH_SCOPED;
}

/* How well a name without clone suffix fits: with its parameters, without, and without those
 * of the functions it lies in. */
static enum match base_match(const struct asked *asked, const char *base)
{
	char *full = blanks_cut(name_demangle(base));
	char *plain = blanks_cut(name_demangle_plain(base));
	enum match match;

	if (full && plain) {
		/* What stands before is the type that a function template returns. */
		const char *start = strstr(full, plain);
		char *bare = scopes_cut(plain);

		match = text_match(start ? start : full, asked->name, MATCH_EXACT);
		match = better(match, text_match(plain, asked->name, MATCH_PLAIN));
		match = better(match, text_match(bare, asked->name, MATCH_PLAIN));
		if (asked->scope && match == MATCH_NONE)
			match = better(scopes_left_out(bare, asked->name),
				scopes_left_out(start ? start : full, asked->name));
		free(bare);
	} else {
		match = strcmp(base, asked->name) == 0 ? MATCH_EXACT : local_match(asked, base);
	}
	free(full);
	free(plain);
	return match;
}

static enum match raw_match(const struct asked *asked, const struct named *named)
{
	char *base;
	enum match match;

	if (strcmp(named->raw, asked->name) == 0)
		return MATCH_EXACT;
	base = text_copy(named->raw);
	base[clone_start(base)] = '\0';
	match = base_match(asked, base);
	if (strcmp(base, named->raw) != 0) {
		if (is_split_off(named->raw))
			match = MATCH_NONE;
		else if (match > MATCH_CLONE)
			match = MATCH_CLONE;
	}
	free(base);
	return match;
}

void named_init(struct named *named, const struct asked *asked, const char *raw)
{
	*named = (struct named){.raw = text_copy(raw)};
	named->raw[strcspn(named->raw, "@")] = '\0'; /* a version */
	/* Without this every name would be demangled. Other letter case is for near misses. */
	if (strcasestr(named->raw, asked->mark)) {
		named->demangled = name_demangle(named->raw);
		named->plain = name_demangle_plain(named->raw);
		named->match = raw_match(asked, named);
	}
	named->shown = named->demangled ? named->demangled : named->raw;
}

void named_fini(struct named *named)
{
	free(named->raw);
	free(named->demangled);
	free(named->plain);
}

/* Levenshtein distance, or limit + 1 where it is greater. */
static size_t edit_distance(const char *a, const char *b, size_t limit)
{
	size_t a_len = strlen(a), b_len = strlen(b), row[128];

	if (b_len >= ARRAY_LEN(row) || a_len > b_len + limit || b_len > a_len + limit)
		return limit + 1;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j], least = diagonal + (a[i - 1] != b[j - 1]);

			least = least < above + 1 ? least : above + 1;
			least = least < row[j - 1] + 1 ? least : row[j - 1] + 1;
			diagonal = above;
			row[j] = least;
		}
	}
	return row[b_len] < limit + 1 ? row[b_len] : limit + 1;
}

/* How far name is from the one asked for; other letter case is closest, then a template or a
 * split-off part of that name. */
static size_t name_distance(const struct asked *asked, const char *name, size_t limit)
{
	const char *compared = asked->scope ? name : name_last(name);
	size_t len = strlen(asked->name);

	if (strcasecmp(asked->name, name) == 0 || strcasecmp(asked->name, compared) == 0)
		return 0;
	if (len < NEAR_LENGTH_MIN)
		return limit + 1;
	if (strncmp(compared, asked->name, len) == 0 &&
		(compared[len] == '.' || compared[len] == '<'))
		return 1;
	return edit_distance(asked->name, compared, limit);
}

void near_keep(struct asked *asked, const char *name, size_t distance)
{
	char *line = text_line(name);
	size_t at = 0;

	while (at < asked->n_near && strcmp(asked->near[at].name, line) != 0)
		at++;
	if (at < asked->n_near) {
		free(line);
		return;
	}
	while (at > 0 && asked->near[at - 1].distance > distance)
		at--;
	if (at == NEAR_MAX) {
		free(line);
		return;
	}
	if (asked->n_near == NEAR_MAX)
		free(asked->near[--asked->n_near].name);
	memmove(&asked->near[at + 1], &asked->near[at],
		(asked->n_near - at) * sizeof(asked->near[0]));
	asked->near[at].name = line;
	asked->near[at].distance = distance;
	asked->n_near++;
}

size_t near_distance(const struct asked *asked, const struct named *named)
{
	size_t limit = strlen(asked->name) / 4 + 1, distance = name_distance(asked, named->raw, limit);

	return distance <= limit ? distance : SIZE_MAX;
}

void near_add(struct asked *asked, const struct named *named)
{
	size_t limit = strlen(asked->name) / 4 + 1, distance;
	const char *name = named->raw;

	if (named->plain && named->demangled)
		name = strchr(asked->name, '(') ? named->demangled : named->plain;
	/* For a part that was split off the name without the suffix is that of no symbol. */
	if (is_split_off(named->raw))
		name = named->raw;
	distance = name_distance(asked, name, limit);
	if (distance <= limit)
		near_keep(asked, name, distance);
}
