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

/* Make it a run of 25 hours and a quarter of a second whose first watch has had so many more hits, all of one call
 * path. Returns the hits of that path. */
#define LONG_NS (25 * 3600 * NS_PER_S + NS_PER_S / 4)
uint64_t fixture_long(struct report *report, uint64_t hits);

void fixture_free(struct report *report);

#endif
