/* screen: the terminal. The only part that knows ncurses. */
#ifndef WATCHPROF_SCREEN_H
#define WATCHPROF_SCREEN_H

#include "watchprof/model.h"

#include <stdbool.h>
#include <stddef.h>

struct screen;

/* Can this terminal show a screen? Touches nothing. If not, *why says so in a few words. */
bool screen_is_possible(const char **why);

/* Take over the terminal; NULL where it refuses. */
struct screen *screen_open(void);

/* Give it back as it was. NULL is fine. */
void screen_close(struct screen *screen);

/* The bytes that give back a terminal whose user has died: the former picture, the cursor, no mouse. NULL: it needs none. */
char *screen_farewell(void);

/* Give the terminal back for a while: until the next screen_draw(). */
void screen_leave(struct screen *screen);

/* Are we in the foreground of the terminal? */
bool screen_is_ours(const struct screen *screen);

/* Its present size in columns and lines. */
void screen_size(const struct screen *screen, size_t *width, size_t *height);

/* Show the lines, as many as the screen is high; with the cursor where has_cursor. */
void screen_draw(struct screen *screen, const struct model_line *lines, size_t n, bool has_cursor, size_t line,
	size_t column);

/* The next key that was typed: a character, an enum key, KEY_CODE_NONE if there is none, or
 * KEY_CODE_GONE where the terminal has gone. *line: where the mouse was, for its keys. */
int screen_key(struct screen *screen, size_t *line);

/* May it be sent UTF-8? */
bool screen_is_utf8(void);

#endif
