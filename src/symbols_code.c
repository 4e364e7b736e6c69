/* symbols_code.c owns where the code of a function begins and ends, and its bytes: those that run, or those of the file
 * where the process is gone. */
#include "symbols_private.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* The bounds of the unwind rules that an address has: they begin and end with an instruction. */
static bool rules_range(Dwfl_Module *module, uint64_t addr, uint64_t *start, uint64_t *end)
{
	Dwarf_Addr bias, first, last;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(module, &bias);
	Dwarf_Frame *frame;
	bool is_signal;

	if (!cfi || dwarf_cfi_addrframe(cfi, addr - bias, &frame))
		return false;
	dwarf_frame_info(frame, &first, &last, &is_signal);
	free(frame);
	*start = first + bias;
	*end = last + bias;
	return true;
}

bool symbols_code_range(struct symbols *symbols, uint64_t addr, uint64_t *start, uint64_t *end)
{
	Dwfl_Module *module = module_at(symbols, addr);
	GElf_Off offset;
	GElf_Sym symbol;

	if (!module)
		return false;
	if (dwfl_module_addrinfo(module, addr, &offset, &symbol, NULL, NULL, NULL) && offset < symbol.st_size) {
		*start = addr - offset;
		*end = *start + symbol.st_size;
		return true;
	}
	return rules_range(module, addr, start, end);
}

/* Bytes of a module's file. */
static bool file_bytes(Dwfl_Module *module, uint64_t addr, unsigned char *bytes, size_t len)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	size_t n = 0;

	if (!elf || elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr part;
		Elf_Data *data;
		uint64_t from;

		if (!gelf_getphdr(elf, (int)i, &part) || part.p_type != PT_LOAD || addr - bias < part.p_vaddr)
			continue;
		from = addr - bias - part.p_vaddr;
		if (from >= part.p_filesz || len > part.p_filesz - from)
			continue;
		data = elf_getdata_rawchunk(elf, (int64_t)(part.p_offset + from), len, ELF_T_BYTE);
		if (!data || data->d_size < len)
			return false;
		memcpy(bytes, data->d_buf, len);
		return true;
	}
	return false;
}

bool symbols_code_bytes(struct symbols *symbols, uint64_t addr, unsigned char *bytes, size_t len)
{
	Dwfl_Module *module = module_at(symbols, addr);

	if (symbols->pid && sys_memory_read(symbols->pid, addr, bytes, len) == (ssize_t)len)
		return true;
	return module && file_bytes(module, addr, bytes, len);
}
