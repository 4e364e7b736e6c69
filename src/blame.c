/* blame.c owns the rules of which code is not to blame for what it does on behalf of its caller. It
 * knows names only, no process. */
#include "watchprof/blame.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

/* The C library's functions on strings and memory, sorted (C11 7.24 and 7.29.4, POSIX string.h and
 * wchar.h, and what glibc adds: string(3), bstring(3)). */
static const char *const helpers[] = {
	"bcmp", "bcopy", "bzero", "explicit_bzero", "index", "memccpy", "memchr", "memcmp", "memcpy",
	"memfrob", "memmem", "memmove", "mempcpy", "memrchr", "memset", "rawmemchr", "rindex", "stpcpy",
	"stpncpy", "strcasecmp", "strcasecmp_l", "strcasestr", "strcat", "strchr", "strchrnul", "strcmp", "strcoll",
	"strcpy", "strcspn", "strdup", "strfry", "strlcat", "strlcpy", "strlen", "strncasecmp", "strncasecmp_l", "strncat",
	"strncmp", "strncpy", "strndup", "strnlen", "strpbrk", "strrchr", "strsep", "strspn", "strstr",
	"strtok", "strtok_r", "strxfrm", "swab", "wcpcpy", "wcpncpy", "wcscat", "wcschr", "wcscmp",
	"wcscpy", "wcscspn", "wcslen", "wcsncat", "wcsncmp", "wcsncpy", "wcsnlen", "wcspbrk", "wcsrchr",
	"wcsspn", "wcsstr", "wcstok", "wmemchr", "wmemcmp", "wmemcpy", "wmemmove", "wmempcpy", "wmemset",
};

/* What glibc adds to the names of a function's forms for different processors. */
static const char *const variants[] = {"avx", "chk", "erms", "evex", "generic", "sse", "ssse", "x86"};

void blame_rules_init(struct blame_rules *rules)
{
	*rules = (struct blame_rules){.helpers = true};
}

void blame_rules_fini(struct blame_rules *rules)
{
	for (size_t i = 0; i < rules->n_modules; i++)
		free(rules->modules[i]);
	free(rules->modules);
	*rules = (struct blame_rules){0};
}

void blame_rules_add(struct blame_rules *rules, const char *list)
{
	if (!*list)
		blame_rules_fini(rules);
	while (*list) {
		size_t len = strcspn(list, ",");

		if (len) {
			rules->modules =
				mem_resize(rules->modules, rules->n_modules + 1, sizeof(*rules->modules));
			rules->modules[rules->n_modules++] = text_format("%.*s", (int)len, list);
		}
		list += len + (list[len] == ',');
	}
}

static int name_compare(const void *key, const void *element)
{
	return strcmp(key, *(const char *const *)element);
}

static bool is_helper_name(const char *name)
{
	return bsearch(name, helpers, ARRAY_LEN(helpers), sizeof(*helpers), name_compare) != NULL;
}

static bool is_variant(const char *suffix)
{
	for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
		if (strncmp(suffix, variants[i], strlen(variants[i])) == 0)
			return true;
	}
	return false;
}

/* memset, __memset_chk, __memset_avx2_unaligned_erms. */
static bool is_helper(const char *function)
{
	const char *name = function + strspn(function, "_");

	if (is_helper_name(name))
		return true;
	for (const char *end = name > function ? strchr(name, '_') : NULL; end; end = strchr(end + 1, '_')) {
		char *stem;
		bool is;

		if (!is_variant(end + 1))
			continue;
		stem = text_format("%.*s", (int)(end - name), name);
		is = is_helper_name(stem);
		free(stem);
		return is;
	}
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* libc for libc.so.6, libc-2.31.so, libc.musl-x86_64.so.1. */
static bool module_is(const char *path, const char *name)
{
	const char *base = base_name(path);
	size_t len = strlen(name);

	return strncmp(base, name, len) == 0 && (base[len] == '\0' || base[len] == '.' || base[len] == '-');
}

/* A stripped C library has no names for the forms of these functions; all that a program calls
 * by itself has one. */
static bool is_nameless_libc(const struct loc *loc)
{
	const char *base = base_name(loc->module);
	size_t len = strlen(base);

	return module_is(loc->module, "libc") &&
		(!loc->function || (strncmp(loc->function, base, len) == 0 && loc->function[len] == '+'));
}

bool blame_is_skipped(const struct blame_rules *rules, const struct loc *loc)
{
	if (rules->helpers && loc->function && is_helper(loc->function))
		return true;
	if (!loc->module)
		return false;
	if (rules->helpers && is_nameless_libc(loc))
		return true;
	for (size_t i = 0; i < rules->n_modules; i++) {
		if (module_is(loc->module, rules->modules[i]))
			return true;
	}
	return false;
}
