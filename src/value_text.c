/* value_text.c owns the meaning of watched bytes by their type. It reads no memory, and does not know where types
 * and names come from. */
#include "watchprof/value_text.h"

#include "watchprof/util.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOAT_X87_BYTES 10 /* of the 16 that a long double takes (System V ABI, x86-64) */

static bool is_raw_number(const struct value *value)
{
	return value->len == 1 || value->len == 2 || value->len == 4 || value->len == 8;
}

/* Floating-point numbers that this program can read: not the half ones, nor __float128. */
static bool is_float(const struct value_type *type)
{
	return type->size == sizeof(float) || type->size == sizeof(double) || type->size == FLOAT_X87_BYTES ||
		(type->size == sizeof(long double) && !(type->name && strstr(type->name, "128")));
}

HIT_PATH enum value_kind value_kind_of(const struct value *value, const struct value_type *type)
{
	if (!type || !value->len || type->kind == VALUE_OTHER)
		return VALUE_OTHER;
	if (type->kind == VALUE_CHARS)
		return value->len <= type->size ? VALUE_CHARS : VALUE_OTHER;
	if (value->len != type->size || value->len > sizeof(unsigned __int128) || (type->kind == VALUE_FLOAT && !is_float(type)))
		return VALUE_OTHER;
	return type->kind;
}

/* Which bits of a whole number's bytes are its own. */
static unsigned bits_of(const struct value *value, const struct value_type *type)
{
	return type && type->bit_size && value->len == type->size ? type->bit_size : 8U * value->len;
}

static unsigned __int128 bits_read(const struct value *value, const struct value_type *type)
{
	unsigned bits = bits_of(value, type);
	unsigned __int128 read = 0;

	memcpy(&read, value->bytes, value->len);
	if (type && type->bit_size && value->len == type->size)
		read >>= type->bit_offset;
	return bits < 8 * sizeof(read) ? read & (((unsigned __int128)1 << bits) - 1) : read;
}

HIT_PATH void value_mask(struct value *value, const struct value_type *type)
{
	unsigned __int128 mask;

	if (!type || !type->bit_size || value->len != type->size || value->len > sizeof(mask))
		return;
	mask = (((unsigned __int128)1 << type->bit_size) - 1) << type->bit_offset;
	for (unsigned i = 0; i < value->len; i++)
		value->bytes[i] &= (unsigned char)(mask >> 8 * i);
}

/* Enums have no sign of their own in debug info: it is that of their names. */
static bool is_signed(enum value_kind kind, const struct value_type *type)
{
	bool any = kind == VALUE_SIGNED;

	for (size_t i = 0; kind == VALUE_ENUM && i < type->n_names; i++)
		any |= type->names[i].value < 0;
	return any;
}

static struct value_number whole_number(unsigned __int128 bits, unsigned n_bits, bool has_sign)
{
	bool is_negative = has_sign && bits >> (n_bits - 1) & 1;

	if (is_negative && n_bits < 8 * sizeof(bits))
		bits |= ~(unsigned __int128)0 << n_bits;
	return (struct value_number){.is_negative = is_negative, .size = is_negative ? -bits : bits};
}

static struct value_number real_number(const struct value *value)
{
	struct value_number number = {.is_real = true};
	float single;
	double twice;

	if (value->len == sizeof(single)) {
		memcpy(&single, value->bytes, sizeof(single));
		number.real = single;
	} else if (value->len == sizeof(twice)) {
		memcpy(&twice, value->bytes, sizeof(twice));
		number.real = twice;
	} else {
		memcpy(&number.real, value->bytes, FLOAT_X87_BYTES);
	}
	return number;
}

HIT_PATH bool value_number(const struct value *value, const struct value_type *type, struct value_number *out)
{
	enum value_kind kind = value_kind_of(value, type);

	if (kind == VALUE_FLOAT)
		*out = real_number(value);
	else if (kind != VALUE_OTHER && kind != VALUE_CHARS)
		*out = whole_number(bits_read(value, type), bits_of(value, type), is_signed(kind, type));
	else if (is_raw_number(value))
		*out = whole_number(bits_read(value, NULL), 8U * value->len, false);
	else
		return false;
	return true;
}

static int whole_order(const struct value_number *a, const struct value_number *b)
{
	int order = (a->size > b->size) - (a->size < b->size);

	if (a->is_negative != b->is_negative)
		return a->is_negative ? -1 : 1;
	return a->is_negative ? -order : order;
}

static long double real_of(const struct value_number *number)
{
	if (number->is_real)
		return number->real;
	return number->is_negative ? -(long double)number->size : (long double)number->size;
}

HIT_PATH bool value_number_order(const struct value_number *a, const struct value_number *b, int *order)
{
	long double x, y;

	if (!a->is_real && !b->is_real) {
		*order = whole_order(a, b);
		return true;
	}
	x = real_of(a);
	y = real_of(b);
	*order = (x > y) - (x < y);
	return !isnan(x) && !isnan(y);
}

static char *whole_text(const struct value_number *number)
{
	char digits[48], *at = digits + sizeof(digits) - 1;
	unsigned __int128 left = number->size;

	*at = '\0';
	do {
		*--at = (char)('0' + (int)(left % 10));
		left /= 10;
	} while (left);
	if (number->is_negative)
		*--at = '-';
	return text_copy(at);
}

/* Is the text the number, for a reader that knows its length? */
static bool is_exact(const char *text, long double number, unsigned len)
{
	if (len == sizeof(float))
		return strtof(text, NULL) == (float)number;
	return len == sizeof(double) ? strtod(text, NULL) == (double)number : strtold(text, NULL) == number;
}

static char *real_text(long double number, unsigned len)
{
	char text[64];

	if (isnan(number))
		return text_copy("nan");
	for (int digits = len == sizeof(float) ? FLT_DIG : DBL_DIG; digits <= LDBL_DECIMAL_DIG; digits++) {
		snprintf(text, sizeof(text), "%.*Lg", digits, number);
		if (is_exact(text, number, len))
			break;
	}
	return text_copy(text);
}

static char *number_text(const struct value_number *number, unsigned len)
{
	return number->is_real ? real_text(number->real, len) : whole_text(number);
}

char *value_number_text(const struct value *value, const struct value_type *type)
{
	struct value_number number;

	return value_number(value, type, &number) ? number_text(&number, value->len) : text_copy("?");
}

static char *raw_text(const struct value *value)
{
	char text[2 * HIT_VALUE_BYTES + 1];
	uint64_t number = 0;

	if (is_raw_number(value)) {
		memcpy(&number, value->bytes, value->len);
		return text_format("0x%" PRIx64 " (%" PRIu64 ")", number, number);
	}
	for (unsigned i = 0; i < value->len; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", value->bytes[i]);
	return text_copy(text);
}

/* Characters up to the first 0, in quotes. */
static char *chars_text(const struct value *value)
{
	char characters[HIT_VALUE_BYTES + 1] = {0};
	size_t len, n = 0;
	bool has_more = false;
	char *escaped, *text;

	memcpy(characters, value->bytes, value->len);
	len = strlen(characters);
	for (size_t i = len; i < value->len; i++)
		has_more |= value->bytes[i] != 0;
	/* Quotes are not what text_escaped() is about. */
	escaped = text_escaped(characters);
	text = mem_new(2 * strlen(escaped) + sizeof("\"\"..."), 1);
	text[n++] = '"';
	for (const char *at = escaped; *at; at++) {
		if (*at == '"')
			text[n++] = '\\';
		text[n++] = *at;
	}
	memcpy(text + n, has_more ? "\"..." : "\"", has_more ? sizeof("\"...") : sizeof("\""));
	free(escaped);
	return text;
}

static char *pointer_text(const struct value *value, const struct value_places *places)
{
	uint64_t addr = 0;
	char *name = NULL, *escaped;

	memcpy(&addr, value->bytes, value->len < sizeof(addr) ? value->len : sizeof(addr));
	if (addr && places)
		name = places->name(places->context, addr);
	escaped = name ? text_escaped(name) : text_format("0x%" PRIx64, addr);
	free(name);
	return escaped;
}

static char *enum_text(const struct value_number *number, const struct value_type *type)
{
	for (size_t i = 0; i < type->n_names; i++) {
		int64_t value = type->names[i].value;
		bool is_negative = value < 0;

		if (is_negative == number->is_negative &&
			number->size == (is_negative ? -(uint64_t)value : (uint64_t)value))
			return text_escaped(type->names[i].name);
	}
	return whole_text(number);
}

static char *bool_text(const struct value_number *number)
{
	return number->size > 1 ? whole_text(number) : text_copy(number->size ? "true" : "false");
}

char *value_text(const struct value *value, const struct value_type *type, const struct value_places *places)
{
	struct value_number number;
	enum value_kind kind = value_kind_of(value, type);

	if (!value->len)
		return text_copy("?");
	if (kind == VALUE_CHARS)
		return chars_text(value);
	if (kind == VALUE_POINTER)
		return pointer_text(value, places);
	if (kind == VALUE_OTHER || !value_number(value, type, &number))
		return raw_text(value);
	if (kind == VALUE_ENUM)
		return enum_text(&number, type);
	return kind == VALUE_BOOL ? bool_text(&number) : number_text(&number, value->len);
}
