/* prompt.c owns a line that is being typed. What it is for is not its business. */
#include "model_private.h"

#include <stdlib.h>
#include <string.h>

void prompt_open(struct prompt *prompt, enum action action, const char *label, const char *letters, const char *text)
{
	*prompt = (struct prompt){.action = action, .label = label, .letters = letters};
	if (text)
		prompt->len = prompt->cursor = (size_t)snprintf(prompt->text, PROMPT_MAX, "%.*s", PROMPT_MAX - 1, text);
}

/* The bytes of the character before the cursor, or at it; several of UTF-8. */
static size_t before(const struct prompt *prompt)
{
	size_t n = prompt->cursor > 0;

	while (n && n < prompt->cursor && (prompt->text[prompt->cursor - n] & 0xc0) == 0x80)
		n++;
	return n;
}

static size_t behind(const struct prompt *prompt)
{
	size_t n = prompt->cursor < prompt->len;

	while (n && prompt->cursor + n < prompt->len && (prompt->text[prompt->cursor + n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* Take n bytes away before the cursor. */
static void erase(struct prompt *prompt, size_t n)
{
	memmove(prompt->text + prompt->cursor - n, prompt->text + prompt->cursor, prompt->len - prompt->cursor + 1);
	prompt->cursor -= n;
	prompt->len -= n;
}

static void go_left(struct prompt *prompt)
{
	prompt->cursor -= before(prompt);
}

static void go_right(struct prompt *prompt)
{
	prompt->cursor += behind(prompt);
}

static void go_first(struct prompt *prompt)
{
	prompt->cursor = 0;
}

static void go_last(struct prompt *prompt)
{
	prompt->cursor = prompt->len;
}

static void erase_before(struct prompt *prompt)
{
	erase(prompt, before(prompt));
}

static void erase_behind(struct prompt *prompt)
{
	size_t n = behind(prompt);

	prompt->cursor += n;
	erase(prompt, n);
}

static void erase_line(struct prompt *prompt)
{
	erase(prompt, prompt->cursor);
}

static void erase_rest(struct prompt *prompt)
{
	prompt->len = prompt->cursor;
	prompt->text[prompt->len] = '\0';
}

static void erase_word(struct prompt *prompt)
{
	while (prompt->cursor && prompt->text[prompt->cursor - 1] == ' ')
		erase(prompt, 1);
	while (prompt->cursor && prompt->text[prompt->cursor - 1] != ' ')
		erase(prompt, 1);
}

static void insert(struct prompt *prompt, int key)
{
	if (key < ' ' || key > 0xff || key == 0x7f || prompt->len + 1 >= PROMPT_MAX)
		return;
	memmove(prompt->text + prompt->cursor + 1, prompt->text + prompt->cursor, prompt->len - prompt->cursor + 1);
	prompt->text[prompt->cursor++] = (char)key;
	prompt->len++;
}

/* As in every line of a shell. */
static const struct {
	int key;
	void (*edit)(struct prompt *prompt);
} edits[] = {
	{KEY_CODE_LEFT, go_left},	    {'B' - '@', go_left},	{KEY_CODE_RIGHT, go_right},
	{'F' - '@', go_right},		    {KEY_CODE_HOME, go_first},	{'A' - '@', go_first},
	{KEY_CODE_END, go_last},	    {'E' - '@', go_last},	{KEY_CODE_BACKSPACE, erase_before},
	{'\b', erase_before},		    {0x7f, erase_before},	{KEY_CODE_DELETE, erase_behind},
	{'D' - '@', erase_behind},	    {'U' - '@', erase_line},	{'K' - '@', erase_rest},
	{'W' - '@', erase_word},
};

enum prompt_end prompt_key(struct prompt *prompt, int key)
{
	if (key == KEY_CODE_ESCAPE)
		return PROMPT_LEFT;
	if (prompt->letters) {
		if (key <= 0 || key > 0x7f || !strchr(prompt->letters, key))
			return key < KEY_CODE_DOWN ? PROMPT_LEFT : PROMPT_GOES_ON;
		prompt->text[0] = (char)key;
		prompt->text[1] = '\0';
		return PROMPT_TAKEN;
	}
	if (key == KEY_CODE_ENTER || key == '\n')
		return PROMPT_TAKEN;
	for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
		if (edits[i].key == key) {
			edits[i].edit(prompt);
			return PROMPT_GOES_ON;
		}
	}
	insert(prompt, key);
	return PROMPT_GOES_ON;
}

char *prompt_line(const struct prompt *prompt, size_t width, bool is_utf8, size_t *cursor)
{
	char *head = text_format("%s%.*s", prompt->label, (int)prompt->cursor, prompt->text);
	char *all = text_format("%s%s", prompt->label, prompt->text);
	char *safe_head = cell_safe(head, is_utf8), *safe = cell_safe(all, is_utf8), *line;
	size_t from = 0;

	*cursor = cell_width(safe_head);
	/* A long line is shown around its cursor. */
	if (*cursor + 1 > width)
		from = *cursor + 1 - width;
	*cursor -= from;
	line = cell_part(safe, from, width);
	free(head);
	free(all);
	free(safe_head);
	free(safe);
	return line;
}
