/* symbols_needed.c owns what debuginfod servers are asked before a program is launched: for its own debug
 * info and for that of the libraries it will be started with. Which those are its dynamic linker tells: it loads them
 * and runs none of their code. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The dynamic linker that the program asks for, owned by the caller; NULL: none. */
static char *interpreter(Elf *elf)
{
	GElf_Phdr segment;
	const char *text;
	size_t n = 0, size;

	if (!elf || elf_getphdrnum(elf, &n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_INTERP)
			continue;
		text = elf_rawfile(elf, &size);
		if (!text || segment.p_offset > size || segment.p_filesz > size - segment.p_offset || segment.p_filesz > PATH_MAX)
			return NULL;
		return text_format("%.*s", (int)segment.p_filesz, text + segment.p_offset);
	}
	return NULL;
}

/* A word for the shell, owned by the caller. */
static char *quoted(const char *text)
{
	char *out = mem_new(strlen(text) * 4 + 3, 1), *end = out;

	*end++ = '\'';
	for (; *text; text++) {
		if (*text == '\'')
			end = stpcpy(end, "'\\''");
		else
			*end++ = *text;
	}
	*end = '\'';
	return out;
}

/* Ask for the debug info of one file. */
static char *file_fetch(const char *path, struct symbols_source *source)
{
	struct err ignored;
	struct symbols *symbols = symbols_new_file(path, source, &ignored);
	GElf_Addr bias;
	char *linker;

	if (!symbols)
		return NULL;
	symbols_fetch(symbols);
	linker = interpreter(dwfl_module_getelf(symbols->exe, &bias));
	symbols_free(symbols);
	return linker;
}

/* The path in a line of the dynamic linker's list: `NAME => PATH (0xADDRESS)` or `PATH (0xADDRESS)`; NULL: none. */
static const char *line_path(char *line)
{
	char *arrow = strstr(line, " => "), *end = strrchr(line, '('), *path = arrow ? arrow + 4 : line;

	path += strspn(path, " \t");
	if (!end || end <= path || end[-1] != ' ' || *path != '/')
		return NULL;
	end[-1] = '\0';
	return path;
}

void symbols_fetch_command(const char *command, struct symbols_source *source)
{
	char *path = path_search(command), *linker, *words[2], *line = NULL, *ask;
	size_t size = 0;
	FILE *list;

	if (!path)
		return;
	linker = file_fetch(path, source);
	if (linker) {
		words[0] = quoted(linker);
		words[1] = quoted(path);
		ask = text_format("exec %s --list %s 2>/dev/null", words[0], words[1]);
		list = popen(ask, "re");
		while (list && getline(&line, &size, list) > 0) {
			const char *library = line_path(line);

			if (library)
				free(file_fetch(library, source));
		}
		if (list)
			pclose(list);
		free(ask);
		free(words[0]);
		free(words[1]);
	}
	free(line);
	free(linker);
	free(path);
}
