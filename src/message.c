/* message.c owns the form of what watchprof itself says beside reports. It decides nothing about when. */
#include "watchprof/message.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

/* Up to the next line of a list (err.h). A newline that begins none came with somebody's text, and is escaped. */
static size_t line_length(const char *text)
{
	const char *end = strstr(text, "\n  ");

	return end ? (size_t)(end - text) : strlen(text);
}

void message_write(FILE *out, const char *kind, const char *text)
{
	fprintf(out, "watchprof: %s", kind);
	for (;;) {
		size_t len = line_length(text);
		char *line = text_format("%.*s", (int)len, text);

		text_escape(out, line);
		free(line);
		fputc('\n', out);
		if (!text[len])
			return;
		text += len + 1;
	}
}
