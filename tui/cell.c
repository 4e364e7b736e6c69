/* cell.c owns the measuring and cutting of texts for the screen. It knows nothing of what they
 * mean, and of the terminal only whether it takes UTF-8. */
#include "cell.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

FILE *cell_open(char **text, size_t *len)
{
	FILE *out = open_memstream(text, len);

	if (!out)
		die("out of memory");
	return out;
}

void cell_close(FILE *out)
{
	if (fclose(out))
		die("out of memory");
}

/* One character: returns its bytes. *columns is -1 where the locale cannot show it. */
static size_t step(const char *text, int *columns)
{
	size_t len = utf8_sequence(text);
	wchar_t wide;

	*columns = 1;
	if (len > 1)
		*columns = mbtowc(&wide, text, len) > 0 ? wcwidth(wide) : -1;
	return len ? len : 1;
}

char *cell_safe(const char *text, bool is_utf8)
{
	char *escaped = text_escaped(text), *safe = NULL;
	size_t len;
	FILE *out = cell_open(&safe, &len);

	for (const char *at = escaped; *at;) {
		int columns;
		size_t n = step(at, &columns);

		if (n == 1 || (is_utf8 && columns >= 0))
			fwrite(at, 1, n, out);
		else
			for (size_t i = 0; i < n; i++)
				fprintf(out, "\\x%02x", (unsigned char)at[i]);
		at += n;
	}
	cell_close(out);
	free(escaped);
	return safe;
}

size_t cell_width(const char *text)
{
	size_t width = 0;
	int columns;

	for (; *text; width += columns > 0 ? (size_t)columns : 0)
		text += step(text, &columns);
	return width;
}

char *cell_part(const char *text, size_t from, size_t width)
{
	size_t column = 0, begin, end;
	int columns;

	for (begin = 0; text[begin] && column < from; column += columns > 0 ? (size_t)columns : 0)
		begin += step(text + begin, &columns);
	width -= column - from < width ? column - from : width; /* half of a wide one */
	column = 0;
	for (end = begin; text[end];) {
		size_t n = step(text + end, &columns);

		if (columns > 0 && column + (size_t)columns > width)
			break;
		column += columns > 0 ? (size_t)columns : 0;
		end += n;
	}
	return text_format("%.*s", (int)(end - begin), text + begin);
}

/* Columns before a byte of the text. */
static size_t column_of(const char *text, size_t byte)
{
	size_t width = 0;
	int columns;

	for (size_t i = 0; text[i] && i < byte; width += columns > 0 ? (size_t)columns : 0)
		i += step(text + i, &columns);
	return width;
}

/* head columns, a mark, and from column `from` what there is room for, with a mark where more comes. */
static char *cut(const char *text, size_t total, size_t width, size_t head, size_t from, const char *mark)
{
	size_t room = width - head - cell_width(mark);
	bool is_cut = total - from > room;
	char *first = cell_part(text, 0, head), *second, *result;

	second = cell_part(text, from, is_cut ? room - cell_width(mark) : room);
	result = text_format("%s%s%s%s", first, mark, second, is_cut ? mark : "");
	free(first);
	free(second);
	return result;
}

char *cell_middle(const char *text, size_t width, size_t differs, bool is_utf8)
{
	const char *mark = is_utf8 ? "\u2026" : "..";
	size_t total = cell_width(text), at, head, room;

	if (total <= width)
		return text_copy(text);
	if (width < 8)
		return cell_part(text, 0, width);
	head = (width - cell_width(mark) + 1) / 2;
	room = width - head - cell_width(mark);
	at = column_of(text, differs);
	if (at < head || at >= total - room)
		return cut(text, total, width, head, total - room, mark);
	/* What differs lies in the part that would be cut out. */
	head = width / 4;
	room = width - head - cell_width(mark);
	at = at > 2 ? at - 2 : 0;
	return cut(text, total, width, head, at > total - room ? total - room : at, mark);
}

/* The length of an operator's name: its < and > are no brackets. */
static size_t operator_len(const char *name)
{
	const char *word = "operator";
	size_t len = strlen(word);

	return strncmp(name, word, len) == 0 ? len + strspn(name + len, "<>=-") : 0;
}

char *cell_collapse(const char *name, bool is_utf8)
{
	char *text = NULL;
	size_t len, depth = 0;
	FILE *out = cell_open(&text, &len);

	for (const char *at = name; *at;) {
		size_t operator = operator_len(at);

		if (operator) {
			if (depth == 0)
				fwrite(at, 1, operator, out);
			at += operator;
			continue;
		}
		if (*at == '>' && depth > 0 && --depth == 0)
			fputs(is_utf8 ? "\u2026" : "..", out);
		if (depth == 0)
			fputc(*at, out);
		depth += *at++ == '<';
	}
	cell_close(out);
	if (depth == 0)
		return text;
	/* Brackets that do not match: no template. */
	free(text);
	return text_copy(name);
}

void cell_pad(FILE *out, const char *text, size_t width, bool is_right)
{
	size_t used = cell_width(text);
	int blanks = width > used ? (int)(width - used) : 0;

	fprintf(out, "%*s%s%*s", is_right ? blanks : 0, "", text, is_right ? 0 : blanks, "");
}

char *cell_bar(double share, unsigned width, bool is_utf8)
{
	static const char *const blocks[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
	int eighths = (int)(share * width * 8 + 0.5);
	char *text = NULL;
	size_t len;
	FILE *out = cell_open(&text, &len);

	for (unsigned i = 0; i < width; i++) {
		int fill = eighths - 8 * (int)i;

		fill = fill < 0 ? 0 : fill > 8 ? 8 : fill;
		fputs(is_utf8 ? blocks[fill] : fill >= 4 ? "#" : " ", out);
	}
	cell_close(out);
	return text;
}

char *cell_graph(const double *values, size_t n, bool is_utf8)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char ascii[] = "_.:-=+*#";
	double most = 0;
	char *text = NULL;
	size_t len;
	FILE *out = cell_open(&text, &len);

	for (size_t i = 0; i < n; i++)
		most = values[i] > most ? values[i] : most;
	for (size_t i = 0; i < n; i++) {
		unsigned height = most > 0 ? (unsigned)(values[i] / most * 7 + 0.5) : 0;

		if (is_utf8)
			fputs(blocks[height], out);
		else
			fputc(ascii[height], out);
	}
	cell_close(out);
	return text;
}
