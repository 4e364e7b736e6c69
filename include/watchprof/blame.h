/* blame: whose doing a hit was. memset's caller is of more interest than memset: the function to
 * blame is the first one of the path, from the access outward, that is not passed over. */
#ifndef WATCHPROF_BLAME_H
#define WATCHPROF_BLAME_H

#include "watchprof/profile.h"

#include <stdbool.h>
#include <stddef.h>

/* What is passed over. */
struct blame_rules {
	char **modules; /* all code of these: file names up to a version (libc, libstdc++) */
	size_t n_modules;
	bool helpers; /* the C library's string and memory functions */
};

/* The default rules: helpers alone. */
void blame_rules_init(struct blame_rules *rules);
void blame_rules_fini(struct blame_rules *rules);

/* Add the modules of a list with commas between. An empty list takes all rules away. */
void blame_rules_add(struct blame_rules *rules, const char *list);

/* Is this code passed over? */
bool blame_is_skipped(const struct blame_rules *rules, const struct loc *loc);

#endif
