/* err.c owns the making of failure texts. It never prints and never exits. */
#include "watchprof/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, const char *format, ...)
{
	va_list args;

	err->status = ERR_FAILED;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return -1;
}

int err_set_status(struct err *err, int status, const char *format, ...)
{
	va_list args;

	err->status = status;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return -1;
}

int err_append(struct err *err, const char *format, ...)
{
	size_t used = strlen(err->text);
	va_list args;

	va_start(args, format);
	vsnprintf(err->text + used, sizeof(err->text) - used, format, args);
	va_end(args);
	return -1;
}
