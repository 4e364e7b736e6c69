/* keys.c owns the table of keys. It acts on nothing. */
#include "watchprof/keys.h"

#include "watchprof/util.h"

static const struct key_binding bindings[] = {
	{KEY_CODE_F1, "F1 ?", ACTION_HELP, "this help", "F1 Help"},
	{'?', NULL, ACTION_HELP, NULL, NULL},
	{'q', "q F10", ACTION_QUIT, "end the run: disarm, detach, print the report", NULL},
	{'1', "1 f", ACTION_FUNCTIONS, "functions that made the hits", NULL},
	{'f', NULL, ACTION_FUNCTIONS, NULL, NULL},
	{'2', "2 p F5", ACTION_CALLERS, "call paths: each function, and who called it", NULL},
	{'p', NULL, ACTION_CALLERS, NULL, NULL},
	{'3', "3", ACTION_CALLEES, "call paths from where threads begin", NULL},
	{'4', "4", ACTION_THREADS, "threads", NULL},
	{'5', "5", ACTION_SOURCE, "source lines, from the hottest or selected; again: instructions", NULL},
	{'6', "6", ACTION_VALUES, "values that were written, most frequent first; again: the last writes", NULL},
	{'7', "7", ACTION_WATCHES, "all watches side by side", NULL},
	{'\t', "Tab", ACTION_NEXT_WATCH, "next watch", NULL},
	{'j', "j down", ACTION_DOWN, "next row", NULL},
	{KEY_CODE_DOWN, NULL, ACTION_DOWN, NULL, NULL},
	{'k', "k up", ACTION_UP, "row before", NULL},
	{KEY_CODE_UP, NULL, ACTION_UP, NULL, NULL},
	{KEY_CODE_PAGE_DOWN, "PgDn ^F", ACTION_PAGE_DOWN, "a page down", NULL},
	{'F' - '@', NULL, ACTION_PAGE_DOWN, NULL, NULL},
	{KEY_CODE_PAGE_UP, "PgUp ^B", ACTION_PAGE_UP, "a page up", NULL},
	{'B' - '@', NULL, ACTION_PAGE_UP, NULL, NULL},
	{KEY_CODE_HOME, "Home g", ACTION_FIRST, "first row", NULL},
	{'g', NULL, ACTION_FIRST, NULL, NULL},
	{KEY_CODE_END, "End G", ACTION_LAST, "last row", NULL},
	{'G', NULL, ACTION_LAST, NULL, NULL},
	{KEY_CODE_LEFT, "left h", ACTION_LEFT, "long names: towards their beginning", NULL},
	{'h', NULL, ACTION_LEFT, NULL, NULL},
	{KEY_CODE_RIGHT, "right l", ACTION_RIGHT, "long names: towards their end", NULL},
	{'l', NULL, ACTION_RIGHT, NULL, NULL},
	{KEY_CODE_ENTER, "Enter", ACTION_DETAILS, "all about the selected row", NULL},
	{'\n', NULL, ACTION_DETAILS, NULL, NULL},
	{KEY_CODE_ESCAPE, "Esc", ACTION_BACK, "back; without a filter", NULL},
	{'x', "x", ACTION_FOLD, "call paths: fold or unfold below the selected row", NULL},
	{'X', "X", ACTION_FOLD_ALL, "call paths: fold everything, or only what has few hits", NULL},
	{KEY_CODE_F3, "/ F3", ACTION_SEARCH, "search a text in the rows", "F3 Search"},
	{'/', NULL, ACTION_SEARCH, NULL, NULL},
	{'n', "n", ACTION_SEARCH_NEXT, "search on", NULL},
	{KEY_CODE_F4, "\\ F4", ACTION_FILTER, "only hits with a text in a function, file or module of their path", "F4 Filter"},
	{'\\', NULL, ACTION_FILTER, NULL, NULL},
	{KEY_CODE_F5, NULL, ACTION_CALLERS, NULL, "F5 Tree"},
	{KEY_CODE_F6, "s F6", ACTION_SORT, "choose the column to sort by", "F6 Sort"},
	{'s', NULL, ACTION_SORT, NULL, NULL},
	{'r', "r", ACTION_REVERSE, "sort the other way round", NULL},
	{KEY_CODE_F7, "space F7", ACTION_PAUSE, "pause the display (counting goes on)", "F7 Pause"},
	{' ', NULL, ACTION_PAUSE, NULL, NULL},
	{KEY_CODE_F8, "z F8", ACTION_ZERO, "set all counts to zero", "F8 Zero"},
	{'z', NULL, ACTION_ZERO, NULL, NULL},
	{KEY_CODE_F9, "w F9", ACTION_WRITE, "write a report now", "F9 Write"},
	{'w', NULL, ACTION_WRITE, NULL, NULL},
	{'+', "+", ACTION_ADD, "add a watch: search the variables, or type an expression", NULL},
	{'e', "e", ACTION_CHANGE, "change the access of the watch", NULL},
	{'-', "-", ACTION_CLEAR, "clear the watch; its counts stay", NULL},
	{'t', "t", ACTION_TRACE, "trace on or off; without --trace a file is asked for", NULL},
	{'i', "i", ACTION_INTERVAL, "how often the screen is refreshed", NULL},
	{'o', "o", ACTION_LOG, "what a launched program has written", NULL},
	{'Z' - '@', "^Z", ACTION_SUSPEND, "to the shell, until fg; counting goes on", NULL},
	{KEY_CODE_F10, NULL, ACTION_QUIT, NULL, "F10 Quit"},
	{KEY_CODE_WHEEL_DOWN, "mouse", ACTION_WHEEL_DOWN, "click selects, the wheel scrolls", NULL},
	{KEY_CODE_WHEEL_UP, NULL, ACTION_WHEEL_UP, NULL, NULL},
	{KEY_CODE_CLICK, NULL, ACTION_CLICK, NULL, NULL},
	{KEY_CODE_RESIZE, NULL, ACTION_RESIZE, NULL, NULL},
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
