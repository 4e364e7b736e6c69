/* handshake.h: how a target talks with the test that runs it: lines out, lines in. Input is read byte by
 * byte, so that no child or thread inherits what was read ahead. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...)
{
	char line[256];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	line[len] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)len + 1) < 0)
		_exit(99);
}

/* Wait for a line, whose first character goes to *first where that is not NULL. False: the input has
 * ended. */
__attribute__((unused)) static bool told(char *first)
{
	char c = 0;

	for (int i = 0; read(STDIN_FILENO, &c, 1) == 1; i++) {
		if (i == 0 && first)
			*first = c;
		if (c == '\n')
			return true;
	}
	return false;
}
