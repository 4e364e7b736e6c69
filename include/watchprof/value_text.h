/* value_text: what watched bytes mean by their type: as text, and as numbers that can be compared. */
#ifndef WATCHPROF_VALUE_TEXT_H
#define WATCHPROF_VALUE_TEXT_H

#include "watchprof/value_type.h"
#include "watchprof/values.h"

#include <stdbool.h>

/* Where the names of places come from, for pointers. */
struct value_places {
	/* "name" or "name+0x10" of what lies at addr, owned by the caller; NULL: nothing that has a name. */
	char *(*name)(void *context, uint64_t addr);
	void *context;
};

/* A number: whole ones of up to 128 bits are exact. */
struct value_number {
	bool is_real, is_negative;
	unsigned __int128 size; /* of a whole one, without its sign */
	long double real;
};

/* What value is taken for: the kind of type, or VALUE_OTHER where type is NULL or does not have its length. */
enum value_kind value_kind_of(const struct value *value, const struct value_type *type);

/* A value as text, safe for a terminal, owned by the caller: integers in decimal, names of an enum (the number
 * where it has none), "true" and "false", the shortest decimal that means the same floating-point number,
 * characters in quotes (up to the first 0; "..." behind them where more follows that is not 0), pointers as what
 * they point at, or in hexadecimal where that has no name. Of no known type: "0x2a (42)", longer ones as bytes in
 * hexadecimal. "?" where the value is not known. type and places may be NULL. */
char *value_text(const struct value *value, const struct value_type *type, const struct value_places *places);

/* The number that a value is. Of no known type those of 1, 2, 4 and 8 bytes are unsigned numbers. False: it is none. */
bool value_number(const struct value *value, const struct value_type *type, struct value_number *out);

/* In decimal, owned by the caller; "?" where it is no number. */
char *value_number_text(const struct value *value, const struct value_type *type);

/* Set *order to -1, 0 or 1; false: there is none (not a number). */
bool value_number_order(const struct value_number *a, const struct value_number *b, int *order);

/* Set to 0 what is not of the bit-field that type may be. */
void value_mask(struct value *value, const struct value_type *type);

#endif
