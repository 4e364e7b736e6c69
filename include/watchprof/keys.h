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
	ACTION_LEFT,
	ACTION_RIGHT,
	ACTION_WHEEL_DOWN,
	ACTION_WHEEL_UP,
	ACTION_CLICK,
	ACTION_DETAILS,
	ACTION_BACK,
	ACTION_NEXT_WATCH,
	/* The views, in the order of their keys. */
	ACTION_FUNCTIONS,
	ACTION_CALLERS,
	ACTION_CALLEES,
	ACTION_THREADS,
	ACTION_SOURCE,
	ACTION_VALUES,
	ACTION_WATCHES,
	ACTION_FOLD,
	ACTION_FOLD_ALL,
	ACTION_SEARCH,
	ACTION_SEARCH_NEXT,
	ACTION_FILTER,
	ACTION_SORT,
	ACTION_REVERSE,
	ACTION_PAUSE,
	ACTION_ZERO,
	ACTION_WRITE,
	ACTION_INTERVAL,
	ACTION_ADD,
	ACTION_CHANGE,
	ACTION_CLEAR,
	ACTION_TRACE,
	ACTION_LOG,
	ACTION_SUSPEND,
	ACTION_FILE,   /* of the report: asked for after its format */
	ACTION_RESIZE, /* nothing but drawing anew */
};

/* Keys that are no characters, numbered beyond them. */
enum key {
	KEY_CODE_DOWN = 0x110000,
	KEY_CODE_UP,
	KEY_CODE_LEFT,
	KEY_CODE_RIGHT,
	KEY_CODE_PAGE_DOWN,
	KEY_CODE_PAGE_UP,
	KEY_CODE_HOME,
	KEY_CODE_END,
	KEY_CODE_BACKSPACE,
	KEY_CODE_DELETE,
	KEY_CODE_F1,
	KEY_CODE_F3 = KEY_CODE_F1 + 2,
	KEY_CODE_F4,
	KEY_CODE_F5,
	KEY_CODE_F6,
	KEY_CODE_F7,
	KEY_CODE_F8,
	KEY_CODE_F9,
	KEY_CODE_F10,
	KEY_CODE_WHEEL_DOWN,
	KEY_CODE_WHEEL_UP,
	KEY_CODE_CLICK, /* of the mouse, at a line of the screen */
	KEY_CODE_RESIZE,
	KEY_CODE_NONE, /* nothing was typed */
	KEY_CODE_GONE, /* the terminal has gone */
};

#define KEY_CODE_ENTER '\r'
#define KEY_CODE_ESCAPE 27

struct key_binding {
	int key;
	const char *key_name; /* NULL: a second key of the action before, left out of the help */
	enum action action;
	const char *help;
	const char *bar; /* what the line of function keys says; NULL: not there */
};

/* The action of a key; ACTION_NONE if it has none. */
enum action keys_action(int key);

/* The table, for the help. */
const struct key_binding *keys_table(size_t *n);

#endif
