/* report_values: what reports tell of the values of a watch, as keys and texts that all formats share. */
#ifndef WATCHPROF_REPORT_VALUES_H
#define WATCHPROF_REPORT_VALUES_H

#include "watchprof/value_text.h"
#include "watchprof/values.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_VALUE_FIELDS_MAX 20

/* The values of one watch. */
struct report_values {
	bool has_filters;
	uint64_t filtered; /* hits that the watch's filters left out: they are in no other count of hits */
	bool is_known;	   /* what follows */
	struct value_stats stats;
	const struct value_type *type; /* NULL: not known */
	struct value_places places;    /* where pointers point; name NULL: not known */
	const char *writer;  /* function of the last write; NULL: unknown */
	const struct value_history *history; /* the last writes; NULL: none */
	uint64_t written_ns; /* from the start of the run to the last write */
};

/* Keys are stable. text NULL: the field is the count. */
struct report_value_field {
	const char *key;
	char *text;
	bool is_number; /* the text is a number, as JSON has it */
	uint64_t count;
};

/* The fields of a watch; returns their number. report_value_free() frees their texts. */
size_t report_value_fields(const struct report_values *values, struct report_value_field *fields);
void report_value_free(struct report_value_field *fields, size_t n);

/* One of the values as every output shows it, safe for a terminal, owned by the caller. */
char *report_value(const struct report_values *values, const struct value *value);

/* Some lines for people. */
void report_value_text(FILE *out, const struct report_values *values);

#endif
