/* report_fixture: one made-up run with everything in it that can go wrong in a report, and the
 * smallest run there is. */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include "watchprof/report.h"

/* Names that break columns, lines, quoting or the terminal, as functions of the full run. */
#define HOSTILE_NAMES 8
extern const char *const hostile_names[HOSTILE_NAMES];

/* A run with seven watches: two with hits, the others with none, each for another reason. Its
 * profile belongs to the caller (fixture_free). */
struct report fixture_full(void);

/* A run of one watch without a hit, all optional texts NULL. */
struct report fixture_bare(void);

void fixture_free(struct report *report);

#endif
