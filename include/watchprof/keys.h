/* keys: what the keyboard can ask of the screen. One table dispatches and makes the help. */
#ifndef WATCHPROF_KEYS_H
#define WATCHPROF_KEYS_H

#include <stddef.h>

enum action {
	ACTION_NONE,
	ACTION_QUIT,
	ACTION_HELP,
	ACTION_DOWN,
	ACTION_UP,
	ACTION_PAGE_DOWN,
	ACTION_PAGE_UP,
	ACTION_FIRST,
	ACTION_LAST,
	ACTION_NEXT_WATCH,
	ACTION_PATHS,
	ACTION_PAUSE,
	ACTION_ZERO,
	ACTION_RESIZE, /* nothing but drawing anew */
};

/* Keys that are no characters, numbered beyond them. */
enum key {
	KEY_CODE_DOWN = 0x110000,
	KEY_CODE_UP,
	KEY_CODE_PAGE_DOWN,
	KEY_CODE_PAGE_UP,
	KEY_CODE_HOME,
	KEY_CODE_END,
	KEY_CODE_F1,
	KEY_CODE_RESIZE,
	KEY_CODE_NONE, /* nothing was typed */
	KEY_CODE_GONE, /* the terminal has gone */
};

struct key_binding {
	int key;
	const char *key_name; /* NULL: a second key of the action before, left out of the help */
	enum action action;
	const char *help;
};

/* The action of a key; ACTION_NONE if it has none. */
enum action keys_action(int key);

/* The table, for the help. */
const struct key_binding *keys_table(size_t *n);

#endif
