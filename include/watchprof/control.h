/* control: what a run can be asked to do while it goes on, for the live screen and the control
 * socket alike. Each call does all of it at once or fails, with err set, and leaves everything as
 * it was. Hits of the other watches are never lost: the threads stop for the change, and what they
 * had hit before is counted. To be called between two events of the run: from a frontend's wish, or
 * at a tick. */
#ifndef WATCHPROF_CONTROL_H
#define WATCHPROF_CONTROL_H

#include "watchprof/err.h"
#include "watchprof/report.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct session;

/* Watch one more: text as for -e. Refused: what -e would refuse, an unknown name, one that is
 * watched in this way already, more than the slots hold. A watch that was cleared before goes on
 * counting where it stopped. */
int session_watch_add(struct session *session, const char *text, struct err *err);

/* Watch another access of a watched EXPR: text is EXPR:ACCESS. The former watch is cleared and
 * keeps its counts; the new one has its own. `EXPR:---` clears. */
int session_watch_change(struct session *session, const char *text, struct err *err);

/* Stop watching: text is a watch as listed, or its EXPR if that is watched once, or EXPR:---. Its
 * counts stay in the reports; its slots are free. */
int session_watch_clear(struct session *session, const char *text, struct err *err);

/* Disarm all watches, and arm them again. Doing what is done already is no error. */
int session_pause(struct session *session, bool on, struct err *err);

/* Begin counting anew. */
void session_zero(struct session *session);

/* Trace hits from now on, or no more. path: of a trace that is to begin, in the format of --trace-format; NULL: there is
 * one, or it is refused. And write the ring of --flight to a file. */
int session_trace(struct session *session, bool on, const char *path, struct err *err);
int session_trace_dump(struct session *session, struct err *err);

/* End the run; why goes into the report. Takes ownership of the text. */
void session_end(struct session *session, char *why);

/* A report of the state so far, to a stream; or of all that have a file, into their files
 * (report_save). report_files: how many were written goes to *n. */
int session_report_write(
	struct session *session, FILE *out, enum report_format format, struct err *err);
int session_report_files(struct session *session, size_t *n, struct err *err);

#endif
