/* report_json: the report as one JSON object, through json-c. */
#ifndef WATCHPROF_REPORT_JSON_H
#define WATCHPROF_REPORT_JSON_H

#include "watchprof/report.h"

/* Write the report as JSON; the same contract as report_write(). */
void report_write_json(FILE *out, const struct report *report);

#endif
