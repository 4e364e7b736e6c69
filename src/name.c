/* name.c owns how a demangled name is cut into pieces: what a bracket encloses, and which
 * signs are a part of an operator. It knows no symbol and no watch. */
#include "watchprof/name.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

bool name_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* Behind the partner of the bracket at this place, or the end of the text. A < inside of round
 * brackets may be an operator. */
static const char *bracket_end(const char *at)
{
	size_t round = 0, angle = 0;

	do {
		if (*at == '(' || *at == '[' || *at == '{')
			round++;
		else if (*at == ')' || *at == ']' || *at == '}')
			round -= round > 0;
		else if (*at == '<' && round == 0)
			angle++;
		else if (*at == '>' && round == 0 && at[-1] != '-')
			angle -= angle > 0;
		at++;
	} while (*at && (round || angle));
	return at;
}

/* Behind `operator<<` and its like, whose signs are no brackets; else at itself. */
static const char *operator_end(const char *text, const char *at)
{
	if (strncmp(at, "operator", 8) != 0 || name_is_word(at[8]) ||
		(at > text && name_is_word(at[-1])))
		return at;
	at += 8;
	if (strncmp(at, "()", 2) == 0 || strncmp(at, "[]", 2) == 0)
		return at + 2;
	return at + strspn(at, "<>=!+-*/%^&|~,");
}

const char *name_piece_end(const char *text, const char *at)
{
	const char *end = operator_end(text, at);

	if (end > at)
		return end;
	return *at && strchr("([{<", *at) ? bracket_end(at) : at + 1;
}

const char *name_last(const char *name)
{
	const char *last = name, *at = name;

	while (*at) {
		if (strncmp(at, "::", 2) == 0) {
			at += 2;
			last = at;
		} else {
			at = name_piece_end(name, at);
		}
	}
	return last;
}
