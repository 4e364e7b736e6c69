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

/* A field of the header of a report; all that is known of the run from its start on, added to an object; what reports and
 * the control socket tell alike of a watch. */
struct report;
struct report_field;
struct json_object *json_field(const struct report_field *field);
void json_run(struct json_object *object, const struct report *report);
struct json_object *json_watch_head(const struct report *report, unsigned i);

/* How a path ends (enum hit_path). */
const char *json_path_end(uint8_t end);

#endif
