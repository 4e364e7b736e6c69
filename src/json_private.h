/* json_private: building JSON, for the files that write it. */
#ifndef WATCHPROF_JSON_PRIVATE_H
#define WATCHPROF_JSON_PRIVATE_H

#include <json-c/json.h>
#include <stdint.h>

/* A text as it is; one that is not UTF-8, or has characters that a terminal would obey, escaped (see
 * util.h). NULL: null. */
struct json_object *json_text(const char *text);

struct json_object *json_count(uint64_t count);

/* "0x..." */
struct json_object *json_address(uint64_t addr);

/* Add to an object or to an array, which owns the value from then on. */
void json_put(struct json_object *object, const char *key, struct json_object *value);
void json_add(struct json_object *array, struct json_object *value);

#endif
