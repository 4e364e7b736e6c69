/* keys.c owns the table of keys. It acts on nothing. */
#include "watchprof/keys.h"

#include "watchprof/util.h"

static const struct key_binding bindings[] = {
	{'q', "q", ACTION_QUIT, "end the run: disarm, detach, print the report"},
	{'?', "? F1", ACTION_HELP, "this help"},
	{KEY_CODE_F1, NULL, ACTION_HELP, NULL},
	{'j', "j down", ACTION_DOWN, "next row"},
	{KEY_CODE_DOWN, NULL, ACTION_DOWN, NULL},
	{'k', "k up", ACTION_UP, "row before"},
	{KEY_CODE_UP, NULL, ACTION_UP, NULL},
	{KEY_CODE_PAGE_DOWN, "PgDn", ACTION_PAGE_DOWN, "a page down"},
	{KEY_CODE_PAGE_UP, "PgUp", ACTION_PAGE_UP, "a page up"},
	{KEY_CODE_HOME, "Home g", ACTION_FIRST, "first row"},
	{'g', NULL, ACTION_FIRST, NULL},
	{KEY_CODE_END, "End G", ACTION_LAST, "last row"},
	{'G', NULL, ACTION_LAST, NULL},
	{'\t', "Tab", ACTION_NEXT_WATCH, "next watch"},
	{'p', "p", ACTION_PATHS, "functions or call paths"},
	{' ', "space", ACTION_PAUSE, "pause the display (counting goes on)"},
	{'z', "z", ACTION_ZERO, "set all counts to zero"},
	{KEY_CODE_RESIZE, NULL, ACTION_RESIZE, NULL},
};

enum action keys_action(int key)
{
	for (size_t i = 0; i < ARRAY_LEN(bindings); i++) {
		if (bindings[i].key == key)
			return bindings[i].action;
	}
	return ACTION_NONE;
}

const struct key_binding *keys_table(size_t *n)
{
	*n = ARRAY_LEN(bindings);
	return bindings;
}
