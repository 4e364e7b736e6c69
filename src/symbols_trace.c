/* symbols_trace.c owns what a trace tells of code beyond names: offsets in functions, and the
 * modules with their build-ids. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t symbols_offset(struct symbols *symbols, uint64_t addr)
{
	Dwfl_Module *module = module_at(symbols, addr);
	GElf_Off offset = 0;
	GElf_Sym sym;

	if (!module || !dwfl_module_addrinfo(module, addr, &offset, &sym, NULL, NULL, NULL))
		return 0;
	return offset;
}

/* What the walk over the modules hands on. */
struct walk {
	void (*each)(void *context, const char *path, const char *build_id);
	void *context;
};

static int module_each(
	Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	const struct walk *walk = arg;
	const unsigned char *bits;
	char text[2 * 64 + 1] = "";
	GElf_Addr at;
	int len = dwfl_module_build_id(module, &bits, &at);

	/* Mapped files that are no modules are in the list as well. */
	if (len <= 0 && !dwfl_module_getelf(module, &at))
		return DWARF_CB_OK;
	(void)userdata;
	(void)base;
	for (int i = 0; i < len && i < 64; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", bits[i]);
	walk->each(walk->context, name, text[0] ? text : NULL);
	return DWARF_CB_OK;
}

void symbols_modules(struct symbols *symbols,
	void (*each)(void *context, const char *path, const char *build_id), void *context)
{
	struct walk walk = {each, context};

	dwfl_getmodules(symbols->dwfl, module_each, &walk, 0);
}
