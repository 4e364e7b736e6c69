/* source.c owns the text of the source file in sight. It reads through the eyes it is given. */
#include "model_private.h"

#include <stdlib.h>
#include <string.h>

void source_fini(struct source *source)
{
	free(source->path);
	free(source->bytes);
	free(source->lines);
	free(source->hits);
	*source = (struct source){0};
}

static void lines_split(struct source *source, size_t len)
{
	char *end = source->bytes + len, *at = source->bytes;

	while (at < end) {
		char *stop = memchr(at, '\n', (size_t)(end - at));

		if ((source->n & (source->n + 1)) == 0)
			source->lines = mem_resize(source->lines, 2 * source->n + 2, sizeof(*source->lines));
		source->lines[source->n++] = at;
		if (!stop)
			break;
		*stop = '\0';
		at = stop + 1;
	}
	source->hits = mem_new(source->n + 1, sizeof(*source->hits));
}

void source_open(struct source *source, const struct model_eyes *eyes, pid_t pid, const char *path)
{
	size_t len = 0;

	if (source->path && strcmp(source->path, path) == 0)
		return;
	source_fini(source);
	source->path = text_copy(path);
	if (eyes->source)
		source->bytes = eyes->source(eyes->context, pid, path, &len);
	if (source->bytes)
		lines_split(source, len);
}
