/* json.c owns what every JSON output has in common: text that is always UTF-8. */
#include "json_private.h"

#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>

/* JSON text must be UTF-8: bytes that are not become \xHH, all else stays (json-c escapes
 * control characters itself). A backslash that was there is doubled in such texts only. */
struct json_object *json_text(const char *text)
{
	const char *at = text;
	struct json_object *object;
	char *escaped;

	if (!text)
		return NULL;
	while (*at && utf8_sequence(at) && *at != 0x7f &&
		!((unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0))
		at += utf8_sequence(at);
	if (!*at)
		return json_object_new_string(text);
	escaped = text_escaped(text);
	object = json_object_new_string(escaped);
	free(escaped);
	return object;
}

struct json_object *json_count(uint64_t count)
{
	return json_object_new_uint64(count);
}

struct json_object *json_address(uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, addr);
	return json_object_new_string(text);
}

void json_put(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value))
		die("out of memory");
}

void json_add(struct json_object *array, struct json_object *value)
{
	if (json_object_array_add(array, value))
		die("out of memory");
}
