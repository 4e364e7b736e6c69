/* message: what watchprof itself says on a terminal, beside reports: failures, warnings, progress. */
#ifndef WATCHPROF_MESSAGE_H
#define WATCHPROF_MESSAGE_H

#include <stdio.h>

/* Write "watchprof: ", then kind ("", "warning: "), then text and a newline. The text may have several lines, as that of a
 * struct err has: all but the first begin with two blanks, and another newline is none of ours. Each line is escaped
 * (text_escape), as names in it may be the target's. */
void message_write(FILE *out, const char *kind, const char *text);

#endif
