/* cell: texts that fit into so many columns of the screen. */
#ifndef WATCHPROF_CELL_H
#define WATCHPROF_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Safe to be shown: control characters and what this locale cannot show become escapes, with
 * is_utf8 false everything but ASCII. Owned by the caller, as all the texts below. */
char *cell_safe(const char *text, bool is_utf8);

/* Columns that a safe text takes: two for wide characters, none for combining ones. */
size_t cell_width(const char *text);

/* The text from column `from` on, cut to width columns. */
char *cell_part(const char *text, size_t from, size_t width);

/* The text cut in its middle where it is wider than width. Byte `differs` of it stays to be seen: where it
 * begins to differ from its neighbours. */
char *cell_middle(const char *text, size_t width, size_t differs, bool is_utf8);

/* A C++ name without its template arguments: a<b<c>>::d() becomes a<...>::d(). */
char *cell_collapse(const char *name, bool is_utf8);

/* Write a text and blanks up to width columns; the blanks first where is_right. */
void cell_pad(FILE *out, const char *text, size_t width, bool is_right);

/* A bar of width columns, share of which (0 to 1) is filled: eighths of blocks, or # in ASCII. */
char *cell_bar(double share, unsigned width, bool is_utf8);

/* n values as a graph of n columns, as high as the greatest. */
char *cell_graph(const double *values, size_t n, bool is_utf8);

/* A stream into a text on the heap, and its end. */
FILE *cell_open(char **text, size_t *len);
void cell_close(FILE *out);

#endif
