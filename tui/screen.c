/* screen.c owns the terminal while the live screen is up. It decides nothing about what
 * is shown. */
#include "watchprof/screen.h"

#include "watchprof/util.h"

#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* <term.h> makes words of every day into macros. */
#undef lines
#undef columns

struct screen {
	SCREEN *terminal;
	bool has_colors;
	struct sigaction stop_action, output_action;
};

bool screen_is_possible(const char **why)
{
	int status;
	const char *cup;
	bool can_move;

	if (!isatty(STDIN_FILENO)) {
		*why = "the input is no terminal";
		return false;
	}
	if (setupterm(NULL, STDOUT_FILENO, &status) != OK) {
		*why = "the terminal type (TERM) is unset or unknown";
		return false;
	}
	cup = tigetstr("cup");
	can_move = cup && cup != (char *)-1;
	del_curterm(cur_term); /* newterm(3) makes its own */
	if (!can_move) {
		*why = "this terminal type cannot move its cursor";
		return false;
	}
	return true;
}

/* Add what a capability says, without its padding ($<5>). */
static void capability_add(FILE *out, const char *text)
{
	while (text && text != (const char *)-1 && *text) {
		const char *end = strncmp(text, "$<", 2) == 0 ? strchr(text, '>') : NULL;

		if (!end)
			fputc(*text, out);
		text = end ? end + 1 : text + 1;
	}
}

char *screen_farewell(void)
{
	static const char *const names[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};
	char *text = NULL, *mouse;
	size_t len;
	int status;
	FILE *out;

	if (setupterm(NULL, STDOUT_FILENO, &status) != OK)
		return NULL;
	out = open_memstream(&text, &len);
	if (!out)
		die("out of memory");
	/* ncurses' own choice where a terminal has a mouse and does not say how it is turned off. */
	mouse = tigetstr("XM");
	if (mouse && mouse != (char *)-1)
		capability_add(out, tiparm(mouse, 0));
	else
		capability_add(out, tigetstr("kmous") ? "\033[?1000l" : NULL);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		capability_add(out, tigetstr(names[i]));
	capability_add(out, "\r\n"); /* the terminal may have no other picture to go back to */
	if (fclose(out))
		die("out of memory");
	del_curterm(cur_term);
	return text;
}

bool screen_is_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static void screen_undo(void *screen)
{
	(void)screen;
	if (!isendwin())
		endwin();
}

/* ^Z is a key like others: the terminal must be given back before the shell has it. */
static void suspend_key_take(void)
{
	struct termios modes;

	if (tcgetattr(STDIN_FILENO, &modes))
		return;
	modes.c_cc[VSUSP] = _POSIX_VDISABLE;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &modes);
	def_prog_mode();
}

struct screen *screen_open(void)
{
	struct screen *screen = mem_new(1, sizeof(*screen));
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	screen->terminal = newterm(NULL, stdout, stdin);
	if (!screen->terminal) {
		free(screen);
		return NULL;
	}
	/* A stopped watchprof would freeze the target at its next hit. So nothing stops this process, also
	 * where it uses the terminal as one in the background (tcsetattr(3), SIGTTOU). */
	sigaction(SIGTSTP, &ignore, &screen->stop_action);
	sigaction(SIGTTOU, &ignore, &screen->output_action);
	die_hook_push(screen_undo, screen);
	cbreak();
	suspend_key_take();
	nonl(); /* Enter is told apart from ^J, and output needs no help */
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	set_escdelay(25);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	screen->has_colors = has_colors() && !getenv("NO_COLOR");
	if (screen->has_colors) {
		start_color();
		use_default_colors();
		init_pair(LINE_TITLE, COLOR_CYAN, -1);
		init_pair(LINE_ALERT, COLOR_RED, -1);
		init_pair(LINE_HOT, COLOR_YELLOW, -1);
	}
	return screen;
}

void screen_close(struct screen *screen)
{
	if (!screen)
		return;
	die_hook_pop();
	if (!isendwin())
		endwin();
	delscreen(screen->terminal);
	sigaction(SIGTSTP, &screen->stop_action, NULL);
	sigaction(SIGTTOU, &screen->output_action, NULL);
	free(screen);
}

void screen_leave(struct screen *screen)
{
	(void)screen;
	endwin();
}

bool screen_is_ours(const struct screen *screen)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	(void)screen;
	return group < 0 || group == getpgrp(); /* below 0: it has gone, which its keys tell */
}

void screen_size(const struct screen *screen, size_t *width, size_t *height)
{
	(void)screen;
	*width = (size_t)COLS;
	*height = (size_t)LINES;
}

static attr_t style_attributes(const struct screen *screen, enum line_style style)
{
	static const attr_t attributes[] = {
		[LINE_PLAIN] = A_NORMAL,
		[LINE_TITLE] = A_BOLD,
		[LINE_HEADING] = A_REVERSE,
		[LINE_SELECTED] = A_REVERSE,
		[LINE_ALERT] = A_BOLD,
		[LINE_HOT] = A_BOLD,
		[LINE_DIM] = A_NORMAL,
	};
	bool is_colored = screen->has_colors && (style == LINE_TITLE || style == LINE_ALERT || style == LINE_HOT);

	return attributes[style] | (is_colored ? COLOR_PAIR(style) : 0);
}

/* Blanks up to the right edge, in the attributes of the text before them. */
static void line_extend(int from)
{
	for (int i = from; i > 0 && i < COLS; i++)
		addch(' ');
}

void screen_draw(struct screen *screen, const struct model_line *lines, size_t n, bool has_cursor, size_t line,
	size_t column)
{
	erase();
	for (size_t i = 0; i < n && i < (size_t)LINES; i++) {
		attrset(style_attributes(screen, lines[i].style));
		mvaddstr((int)i, 0, lines[i].text);
		/* Bars of the screen are as wide as it is. */
		if (lines[i].style == LINE_HEADING || lines[i].style == LINE_SELECTED)
			line_extend(getcurx(stdscr));
	}
	attrset(A_NORMAL);
	if (has_cursor)
		move((int)line, (int)column);
	curs_set(has_cursor);
	refresh();
}

/* Something was there to be read and nothing came: the end of the input, if it is so again. */
static bool is_at_end(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	int n = 0;

	return poll(&input, 1, 0) > 0 && (input.revents & POLLIN) && ioctl(STDIN_FILENO, FIONREAD, &n) == 0 && n == 0;
}

/* What the mouse did; the line of a click in *line. */
static int mouse_key(size_t *line)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return KEY_CODE_RESIZE; /* nothing to do */
	*line = (size_t)(event.y > 0 ? event.y : 0);
	if (event.bstate & BUTTON4_PRESSED)
		return KEY_CODE_WHEEL_UP;
	return event.bstate & BUTTON5_PRESSED ? KEY_CODE_WHEEL_DOWN : KEY_CODE_CLICK;
}

int screen_key(struct screen *screen, size_t *line)
{
	static const struct {
		int curses;
		enum key key;
	} keys[] = {
		{KEY_DOWN, KEY_CODE_DOWN},     {KEY_UP, KEY_CODE_UP},	      {KEY_LEFT, KEY_CODE_LEFT},
		{KEY_RIGHT, KEY_CODE_RIGHT},   {KEY_NPAGE, KEY_CODE_PAGE_DOWN}, {KEY_PPAGE, KEY_CODE_PAGE_UP},
		{KEY_HOME, KEY_CODE_HOME},     {KEY_END, KEY_CODE_END},	      {KEY_BACKSPACE, KEY_CODE_BACKSPACE},
		{KEY_DC, KEY_CODE_DELETE},     {KEY_ENTER, KEY_CODE_ENTER},   {KEY_RESIZE, KEY_CODE_RESIZE},
	};
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	int key;

	(void)screen;
	if (poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)))
		return KEY_CODE_GONE;
	key = getch();
	if (key == ERR)
		return input.revents & POLLIN && is_at_end() ? KEY_CODE_GONE : KEY_CODE_NONE;
	if (key == KEY_MOUSE)
		return mouse_key(line);
	if (key > KEY_F0 && key <= KEY_F(10))
		return KEY_CODE_F1 + key - KEY_F(1);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (keys[i].curses == key)
			return keys[i].key;
	}
	return key < KEY_MIN ? key : KEY_CODE_RESIZE;
}
