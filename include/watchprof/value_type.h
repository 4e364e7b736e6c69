/* value_type: what the bytes of a watch mean, by debug information, as plain data. */
#ifndef WATCHPROF_VALUE_TYPE_H
#define WATCHPROF_VALUE_TYPE_H

#include <stddef.h>
#include <stdint.h>

enum value_kind {
	VALUE_OTHER, /* a struct, an array, ..., or not known */
	VALUE_SIGNED,
	VALUE_UNSIGNED,
	VALUE_FLOAT, /* of 4, 8, 10 (in 16) or 16 bytes */
	VALUE_BOOL,
	VALUE_CHARS, /* an array of characters of one byte, which may end early with a 0 */
	VALUE_POINTER,
	VALUE_ENUM,
};

/* One name of an enum. */
struct value_name {
	char *name;
	int64_t value;
};

struct value_type {
	enum value_kind kind;
	char *name;    /* as it is written in C; NULL: not known */
	uint64_t size; /* bytes, those that hold a bit-field; 0: not known */
	/* A bit-field: how many bits, and the number of its lowest one, counted from the lowest
	 * bit of the first byte. Else 0. */
	unsigned bit_size, bit_offset;
	struct value_name *names; /* of an enum, in the order of the source */
	size_t n_names;
};

/* Free the names, and set all to 0. */
void value_type_fini(struct value_type *type);

/* A copy with names of its own. */
struct value_type value_type_copy(const struct value_type *type);

#endif
