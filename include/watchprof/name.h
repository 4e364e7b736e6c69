/* name: the pieces of a demangled C++, Rust or Go name. */
#ifndef WATCHPROF_NAME_H
#define WATCHPROF_NAME_H

#include <stdbool.h>

/* Can this byte be a part of an identifier? */
bool name_is_word(char c);

/* Behind the next piece of a name: an operator with its signs, something in brackets, or one
 * character. text is where the name begins, at lies in it and is not its end. */
const char *name_piece_end(const char *text, const char *at);

/* What stands behind the last :: outside of brackets; the whole where there is none. */
const char *name_last(const char *name);

#endif
