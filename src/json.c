/* json.c owns what every JSON output has in common: text that is always UTF-8, the fields of a run, a watch. */
#include "json_private.h"

#include "watchprof/report.h"
#include "watchprof/report_field.h"
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
	size_t len;

	if (!text)
		return NULL;
	while (*at && *at != 0x7f && (len = utf8_sequence(at)) &&
		!((unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0))
		at += len;
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

struct json_object *json_field(const struct report_field *field)
{
	switch (field->type) {
	case FIELD_TEXT:
		return json_text(field->text);
	case FIELD_COUNT:
		return json_count(field->count);
	case FIELD_SECONDS:
		return json_object_new_double((double)field->count / NS_PER_S);
	case FIELD_BOOL:
		return json_object_new_boolean(field->count != 0);
	}
	return NULL;
}

void json_run(struct json_object *object, const struct report *report)
{
	struct report_field fields[RUN_FIELDS];

	report_run_fields(report, fields);
	for (size_t i = 0; i < RUN_FIELDS; i++)
		json_put(object, fields[i].key, json_field(&fields[i]));
}

struct json_object *json_watch_head(const struct report *report, unsigned i)
{
	const struct report_watch *watch = &report->watches[i];
	struct json_object *object = json_object_new_object();
	char address[REPORT_ADDRESS_LEN];

	json_put(object, "watch", json_text(watch->text));
	json_put(object, "object", json_text(watch->object));
	json_put(object, "address", json_text(report_address(watch, address)));
	json_put(object, "length", json_count(watch->len));
	json_put(object, "access", json_text(watch->access));
	json_put(object, "slots", json_count(watch->slots));
	json_put(object, "state", json_text(watch->state));
	json_put(object, "hits", json_count(profile_count(report->profile, i).hits));
	return object;
}

const char *json_path_end(uint8_t end)
{
	static const char *const ends[] = {[PATH_WHOLE] = "whole",
		[PATH_TRUNCATED] = "truncated",
		[PATH_BROKEN] = "broken",
		[PATH_NONE] = "not asked for"};

	return ends[end];
}
