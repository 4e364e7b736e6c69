/* symbols_boundary.c owns what lines and symbols tell about where instructions begin. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <elf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

/* The line table's row for an address: it begins with an instruction. */
static bool line_start(Dwfl_Module *module, uint64_t addr, uint64_t *start)
{
	Dwarf_Addr bias, row;
	Dwarf_Line *line;
	Dwarf_Die unit;

	if (!unit_find(module, addr, &unit, &bias))
		return false;
	line = dwarf_getsrc_die(&unit, addr - bias);
	if (!line || dwarf_lineaddr(line, &row))
		return false;
	*start = row + bias;
	return true;
}

/* The function that has an address. A label written by hand, without a size, may have data behind it. */
static bool symbol_start(Dwfl_Module *module, uint64_t addr, uint64_t *start)
{
	GElf_Off offset;
	GElf_Sym symbol;

	if (!dwfl_module_addrinfo(module, addr, &offset, &symbol, NULL, NULL, NULL) || offset >= symbol.st_size ||
		(GELF_ST_TYPE(symbol.st_info) != STT_FUNC && GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC))
		return false;
	*start = addr - offset;
	return true;
}

bool symbols_boundary(struct symbols *symbols, uint64_t ip, unsigned nth, uint64_t *start)
{
	static bool (*const starts[])(Dwfl_Module *module, uint64_t addr, uint64_t *start) = {line_start, symbol_start};
	Dwfl_Module *module = module_at(symbols, ip - 1);

	for (size_t i = 0; module && i < ARRAY_LEN(starts); i++) {
		if (starts[i](module, ip - 1, start) && nth-- == 0)
			return true;
	}
	return false;
}
