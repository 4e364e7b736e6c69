/* filter: conditions that stand behind the access of a watch; a hit counts if it meets all of them.
 *
 *     FILTER = changed | new OP NUMBER | old OP NUMBER | thread=PATTERN | func=PATTERN
 *     NUMBER = a whole or a real one, a name of the variable's enum, true, false
 *     OP     = == | != | < | <= | > | >=
 */
#ifndef WATCHPROF_FILTER_H
#define WATCHPROF_FILTER_H

#include "watchprof/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value;
struct value_type;
struct filter;

/* The filters of one watch; n 0: none. */
struct filters {
	struct filter *list;
	size_t n;
	bool needs_thread, needs_function, needs_value;
};

/* What is known of a hit. Texts may be NULL: unknown. */
struct filter_facts {
	bool is_write;		     /* for certain */
	const struct value *from, *to; /* before and after; of unknown ones the length is 0 */
	const struct value_type *type; /* of these; NULL: not known */
	const char *thread, *function;
};

/* Parse filters with commas between. watch names the watch in messages. On failure (-1) there is nothing to
 * free. */
int filters_parse(const char *watch, const char *text, struct filters *out, struct err *err);
struct filters filters_copy(const struct filters *filters);
void filters_fini(struct filters *filters);

/* Can the values of a variable of this type (NULL: not known) and length be compared as the filters ask? Otherwise
 * -1, and err tells. */
int filters_check(const char *watch, const struct filters *filters, const struct value_type *type, uint64_t len,
	struct err *err);

/* Does a hit meet all of them? What is not known meets none. */
bool filters_pass(const struct filters *filters, const struct filter_facts *facts);

#endif
