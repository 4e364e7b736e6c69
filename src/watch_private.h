/* watch_private: what watch.c and watch_expr.c share. */
#ifndef WATCHPROF_WATCH_PRIVATE_H
#define WATCHPROF_WATCH_PRIVATE_H

#include "watchprof/watch.h"

/* Parse a TERM into the name, address and steps of a watch. text is the whole watch, for
 * messages; expr is changed. */
int watch_expr_parse(const char *text, char *expr, struct watch *watch, struct err *err);

/* Does the word operator stand before this character? */
bool watch_is_operator(const char *expr, const char *at);

/* 16 for digits behind 0x, else 10. */
int watch_number_base(const char *digits);

#endif
