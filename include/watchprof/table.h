/* table: the columns of a profile, defined once for every output. */
#ifndef WATCHPROF_TABLE_H
#define WATCHPROF_TABLE_H

#include "watchprof/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The columns of a function row, in the order of the tab-separated report. New ones are
 * only ever added at the end. */
enum column_id {
	COLUMN_HITS,
	COLUMN_SHARE,
	COLUMN_READS,
	COLUMN_WRITES,
	COLUMN_WATCH,
	COLUMN_FUNCTION,
	COLUMN_FILE,
	COLUMN_LINE,
	COLUMN_MODULE,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_BLAME,
	COLUMN_PATH,
	COLUMN_UNKNOWN,
	N_COLUMNS,
};

struct column {
	const char *name;
	bool is_number; /* right-aligned for people */
};

extern const struct column table_columns[N_COLUMNS];
const struct column *table_column(enum column_id id);

/* What the numbers in rows stand for. */
struct naming {
	const char *const *watches; /* text of each; may be NULL where COLUMN_WATCH is not asked for */
	const struct profile *profile; /* the same for COLUMN_PATH */
};

/* A count of reads or writes for people, owned by the caller: "12"; "12+" where it may be more, as that is not known
 * of so many of the hits; "-" where it is known of none. */
char *table_bound(uint64_t count, uint64_t unknown, uint64_t hits);

/* Is nothing at all known of such a count? */
bool table_is_open(uint64_t count, uint64_t unknown, uint64_t hits);

/* The text of one cell, not escaped, owned by the caller. What is not known is "-"; reads and writes are lower
 * bounds where COLUMN_UNKNOWN is not 0; share is a fraction with four digits, as in 0.6667. */
char *table_cell(enum column_id id, const struct row *row, const struct naming *naming);

/* The same for people: escaped, shares in percent, reads and writes as table_bound() has them. */
char *table_people_cell(enum column_id id, const struct row *row, const struct naming *naming);

/* The call path of a row, innermost function first: "f < g < main < [truncated]"; not escaped, owned
 * by the caller. */
char *table_path(const struct profile *profile, const struct row *row);

/* How a path ends, if it is not whole: "[truncated]", "[broken]"; else NULL. */
const char *table_path_end(const struct row *row);

/* Rows as aligned text for people (shares in percent, cells escaped, a header line), with
 * every line ending at its last character. indent is written before each line. */
void table_write(FILE *out, const char *indent, const enum column_id *ids, size_t n_ids,
	const struct row *rows, size_t n_rows, const struct naming *naming);

#endif
