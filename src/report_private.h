/* report_private: the formats, which report.c chooses from, and what they share. */
#ifndef WATCHPROF_REPORT_PRIVATE_H
#define WATCHPROF_REPORT_PRIVATE_H

#include "watchprof/report.h"
#include "watchprof/report_field.h"
#include "watchprof/table.h"

/* Write a report to a stream, whose errors report.c looks at afterwards. */
void report_write_text(FILE *out, const struct report *report);
void report_write_tsv(FILE *out, const struct report *report);
void report_write_csv(FILE *out, const struct report *report);
void report_write_json(FILE *out, const struct report *report);
void report_write_folded(FILE *out, const struct report *report);
void report_write_pprof(FILE *out, const struct report *report);

/* The rows that the view of a report asks for, of one row per process where several were watched. An
 * array that the caller frees. */
struct row *report_rows(const struct report *report, size_t *n);

/* The call paths within the filter and limit of the view; the same. */
struct row *report_paths(const struct report *report, size_t *n);

/* The texts of the watches, by number: an array that the caller frees. */
const char **report_watch_names(const struct report *report);

/* The value of a header field, escaped. */
void report_field_write(FILE *out, const struct report_field *field);

/* The same as a text that the caller frees; FIELD_TEXT is not escaped. */
char *report_field_text(const struct report_field *field);

/* Did the value of a watch change without a hit that can have been a write? */
bool report_is_uncounted(const struct report *report, unsigned watch);

/* Hits that the filters of a watch left out. */
uint64_t report_filtered(const struct report *report, unsigned watch);

/* Hits of a watch of which it is not known whether they read or whether they wrote. It walks all sites. */
uint64_t report_unknown(const struct report *report, unsigned watch);

/* A watch in one line, for formats without a place of their own for watches; the caller frees it. */
char *report_watch_line(const struct report *report, unsigned watch);

/* "yes", "no" or "unknown": did the watched bytes change over the run? */
const char *report_changed(const struct report_watch *watch);

#endif
