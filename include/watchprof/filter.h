/* filter: conditions that stand behind the access of a watch; a hit counts if it meets all of them.
 *
 *     FILTER = changed | new OP NUMBER | old OP NUMBER | thread=PATTERN | func=PATTERN
 *     OP     = == | != | < | <= | > | >=
 */
#ifndef WATCHPROF_FILTER_H
#define WATCHPROF_FILTER_H

#include "watchprof/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value;
struct filter;

/* The filters of one watch; n 0: none. */
struct filters {
	struct filter *list;
	size_t n;
	bool needs_thread, needs_function;
};

/* What is known of a hit. Texts may be NULL: unknown. */
struct filter_facts {
	bool is_write;		     /* for certain */
	const struct value *from, *to; /* before and after; of unknown ones the length is 0 */
	const char *thread, *function;
};

/* Parse filters with commas between. watch names the watch in messages. On failure (-1) there is nothing to
 * free. */
int filters_parse(const char *watch, const char *text, struct filters *out, struct err *err);
struct filters filters_copy(const struct filters *filters);
void filters_fini(struct filters *filters);

/* Does a hit meet all of them? What is not known meets none. */
bool filters_pass(const struct filters *filters, const struct filter_facts *facts);

#endif
