/* report_field: the header of a report as a list of typed fields, the same for every format. */
#ifndef WATCHPROF_REPORT_FIELD_H
#define WATCHPROF_REPORT_FIELD_H

#include "watchprof/report.h"

enum field_type {
	FIELD_TEXT,
	FIELD_COUNT,
	FIELD_SECONDS, /* count is in nanoseconds */
	FIELD_BOOL,
};

struct report_field {
	const char *key;
	enum field_type type;
	const char *text; /* NULL: the field does not apply and is left out */
	uint64_t count;
};

#define REPORT_FIELDS_MAX 40

/* Fill fields with the header of a report; returns how many. */
size_t report_fields(const struct report *report, struct report_field fields[REPORT_FIELDS_MAX]);

/* What is known of the run from its start on, also of a report that has nothing else. A text is NULL where it is not
 * known. */
#define RUN_FIELDS 10
void report_run_fields(const struct report *report, struct report_field fields[RUN_FIELDS]);

#endif
