/* message.c owns the form of what watchprof itself says beside reports. It decides nothing about when. */
#include "watchprof/message.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

void message_write(FILE *out, const char *kind, const char *text)
{
	fprintf(out, "watchprof: %s", kind);
	for (;;) {
		size_t len = strcspn(text, "\n");
		char *line = text_format("%.*s", (int)len, text);

		text_escape(out, line);
		free(line);
		fputc('\n', out);
		if (!text[len])
			return;
		text += len + 1;
	}
}
