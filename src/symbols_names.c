/* symbols_names.c owns the names of code: the function around an address, its source line, and the
 * functions that were inlined there. It reads a module's symbols at the first question about it. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Deeper nesting than any compiler makes: such debug info is broken. */
#define INLINED_MAX 64
#define SCOPES_MAX  256

void names_clear(struct symbols *symbols)
{
	for (size_t i = 0; i < symbols->n_inlined; i++) {
		free((char *)symbols->inlined[i].function);
		free((char *)symbols->inlined[i].file);
	}
	free(symbols->inlined);
	free(symbols->function);
	free(symbols->file);
	free(symbols->unit);
	free(symbols->module);
	symbols->function = symbols->file = symbols->unit = symbols->module = NULL;
	symbols->inlined = NULL;
	symbols->n_inlined = 0;
}

/* The function around addr by the symbol tables; NULL if no symbol contains it. */
static char *function_by_symbol(Dwfl_Module *module, uint64_t addr)
{
	GElf_Off offset;
	GElf_Sym symbol;
	GElf_Word section;
	const char *found =
		dwfl_module_addrinfo(module, addr, &offset, &symbol, &section, NULL, NULL);
	char *name, *demangled;

	/* A symbol without a size is a label written by hand; one with a size must contain addr. */
	if (!found || (symbol.st_size && offset >= symbol.st_size))
		return NULL;
	name = text_copy(found);
	name[strcspn(name, "@")] = '\0';
	/* What the compiler split off or specialised counts as the function. */
	name[clone_start(name)] = '\0';
	demangled = name_demangle(name);
	if (!demangled)
		return name;
	free(name);
	return demangled;
}

/* The start of the function around addr by its unwind rules; 0 if there are none. */
static uint64_t function_start(Dwfl_Module *module, uint64_t addr)
{
	Dwarf_Addr bias, start, end;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(module, &bias);
	Dwarf_Frame *frame;
	bool is_signal;

	if (!cfi || dwarf_cfi_addrframe(cfi, addr - bias, &frame))
		return 0;
	dwarf_frame_info(frame, &start, &end, &is_signal);
	free(frame);
	/* These are the bounds of one row of rules; the first row of the function has the name. */
	return start + bias;
}

static bool is_entry(Dwfl_Module *module, uint64_t addr)
{
	GElf_Off offset;
	GElf_Sym symbol;

	return dwfl_module_addrinfo(module, addr, &offset, &symbol, NULL, NULL, NULL) && offset == 0 &&
		GELF_ST_TYPE(symbol.st_info) == STT_FUNC;
}

bool unit_find(Dwfl_Module *module, uint64_t addr, Dwarf_Die *unit, Dwarf_Addr *bias)
{
	Dwarf_Die *found, *next = NULL, split;
	uint8_t type;

	if (!module_dwarf(module, bias))
		return false;
	found = dwfl_module_addrdie(module, addr, bias);
	while (!found && (next = dwfl_module_nextcu(module, next, bias))) {
		if (dwarf_haspc(next, addr - *bias) > 0)
			found = next;
	}
	if (!found)
		return false;
	*unit = *found;
	if (dwarf_cu_info(found->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 &&
		type == DW_UT_skeleton && split.addr)
		*unit = split;
	return true;
}

/* The source file of an address in a unit, owned by the caller, and its line; NULL if unknown. */
static char *source_file(Dwarf_Die *unit, uint64_t addr, unsigned *line)
{
	Dwarf_Line *source = dwarf_getsrc_die(unit, addr);
	const char *file = source ? dwarf_linesrc(source, NULL, NULL) : NULL;
	int number = 0;

	if (source)
		dwarf_lineno(source, &number);
	*line = file && number > 0 ? (unsigned)number : 0;
	return file ? text_copy(file) : NULL;
}

/* The source file of a local function by the symbol table, which has the locals of each file behind its
 * name; owned by the caller. */
static char *symbol_file(Dwfl_Module *module, uint64_t addr)
{
	GElf_Off offset;
	GElf_Sym symbol, other;
	const char *name = dwfl_module_addrinfo(module, addr, &offset, &symbol, NULL, NULL, NULL);
	const char *file = NULL;
	int n = dwfl_module_getsymtab_first_global(module);

	if (!name || GELF_ST_BIND(symbol.st_info) != STB_LOCAL)
		return NULL;
	for (int i = 1; i < n; i++) {
		GElf_Addr value;
		const char *found = dwfl_module_getsym_info(module, i, &other, &value, NULL, NULL, NULL);

		if (found && GELF_ST_TYPE(other.st_info) == STT_FILE)
			file = *found ? found : NULL;
		else if (found && value == addr - offset && other.st_info == symbol.st_info &&
			strcmp(found, name) == 0)
			return file ? text_copy(file) : NULL;
	}
	return NULL;
}

/* The name of an inlined function, owned by the caller. */
static char *inlined_name(Dwarf_Die *die)
{
	Dwarf_Attribute linkage;
	const char *mangled = NULL, *name = dwarf_diename(die);
	char *demangled;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &linkage) ||
		dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &linkage))
		mangled = dwarf_formstring(&linkage);
	demangled = mangled ? name_demangle(mangled) : NULL;
	return demangled ? demangled : text_copy(name ? name : "?");
}

/* A number in an attribute; 0 where there is none. */
static unsigned attribute_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? (unsigned)value : 0;
}

/* Where an inlined function was called: the file, owned by the caller, and the line. */
static char *call_file(Dwarf_Die *unit, Dwarf_Die *die, unsigned *line)
{
	unsigned index = attribute_number(die, DW_AT_call_file);
	Dwarf_Files *files;
	const char *file = NULL;
	size_t n;

	*line = attribute_number(die, DW_AT_call_line);
	if (dwarf_getsrcfiles(unit, &files, &n) == 0 && index < n)
		file = dwarf_filesrc(files, index, NULL, NULL);
	return file ? text_copy(file) : NULL;
}

static struct inlined *inlined_add(struct symbols *symbols, char *function)
{
	symbols->inlined =
		mem_resize(symbols->inlined, symbols->n_inlined + 1, sizeof(*symbols->inlined));
	symbols->inlined[symbols->n_inlined] = (struct inlined){.function = function};
	return &symbols->inlined[symbols->n_inlined++];
}

/* The scopes of code that an address lies in, outermost first, from the children of a DIE on: n are known, and
 * the number of all is returned. dwarf_getscopes() finds none where what was inlined is described in another unit
 * (link-time optimisation), nor below a namespace. */
static int code_scopes(Dwarf_Die *parent, Dwarf_Addr addr, Dwarf_Die *scopes, int n, int depth)
{
	Dwarf_Die die;
	int inner;

	if (n == SCOPES_MAX || depth == SCOPES_MAX || dwarf_child(parent, &die))
		return n;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_namespace:
		case DW_TAG_module:
			inner = n ? 0 : code_scopes(&die, addr, scopes, 0, depth + 1);
			if (inner)
				return inner;
			break;
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (dwarf_haspc(&die, addr) <= 0)
				break;
			scopes[n] = die;
			return code_scopes(&die, addr, scopes, n + 1, depth + 1);
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return n;
}

/* The functions inlined at an address (without the module's bias), innermost first, and the one
 * that they are in at last. Nothing where there are none. */
static void inlined_find(struct symbols *symbols, Dwarf_Die *unit, uint64_t addr, const struct loc *loc)
{
	Dwarf_Die scopes[SCOPES_MAX];
	int n = code_scopes(unit, addr, scopes, 0, 0);
	char *file = loc->file ? text_copy(loc->file) : NULL;
	unsigned line = loc->line;
	struct inlined *frame;

	for (int i = n - 1; i >= 0 && dwarf_tag(&scopes[i]) != DW_TAG_subprogram && symbols->n_inlined < INLINED_MAX; i--) {
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		frame = inlined_add(symbols, inlined_name(&scopes[i]));
		frame->file = file;
		frame->line = line;
		file = call_file(unit, &scopes[i], &line);
	}
	if (symbols->n_inlined == 0) {
		free(file);
		return;
	}
	frame = inlined_add(symbols, text_copy(loc->function ? loc->function : "?"));
	frame->file = file;
	frame->line = line;
}

/* A name for code that has none: its module, and where in it. */
static char *nameless(const struct symbols *symbols, Dwfl_Module *module, uint64_t addr)
{
	const struct procfs_map *map = symbols_map(symbols, addr);
	const char *path = module ? module_path(module) : map ? map->path : "";
	const char *base = strrchr(path, '/');
	uint64_t start = module ? function_start(module, addr) : 0;
	Dwarf_Addr low = map ? map->start : 0;

	if (!*path)
		return text_format("[anonymous 0x%" PRIx64 "]", low);
	if (module)
		dwfl_module_info(module, NULL, &low, NULL, NULL, NULL, NULL, NULL);
	return text_format("%s+0x%" PRIx64, base ? base + 1 : path, (start ? start : addr) - low);
}

/* What the debug info of a module tells about an address. */
static void debug_locate(struct symbols *symbols, Dwfl_Module *module, struct loc *out)
{
	Dwarf_Addr bias;
	Dwarf_Die unit;
	const char *name;

	if (!unit_find(module, out->addr, &unit, &bias)) {
		symbols->unit = symbol_file(module, out->addr);
		return;
	}
	symbols->file = source_file(&unit, out->addr - bias, &out->line);
	name = dwarf_diename(&unit);
	symbols->unit = name ? text_copy(name) : NULL;
	out->file = symbols->file;
	out->function = symbols->function;
	inlined_find(symbols, &unit, out->addr - bias, out);
}

void symbols_warm(struct symbols *symbols)
{
	struct loc loc;

	symbols_locate(symbols, procfs_auxv(symbols->pid, AT_ENTRY), &loc);
}

/* Code that no file is mapped for: the program's own list of what it has compiled tells. */
static bool is_jit(const struct procfs_map *map)
{
	return map && map->executable && map->path[0] != '/' && strncmp(map->path, "[v", 2) != 0;
}

void symbols_locate(struct symbols *symbols, uint64_t addr, struct loc *out)
{
	Dwfl_Module *module = module_at(symbols, addr);
	const struct procfs_map *map = symbols_map(symbols, addr);

	if (!map || !map->executable) {
		symbols_refresh(symbols); /* something was mapped since, maybe where something else was */
		module = module_at(symbols, addr);
		map = symbols_map(symbols, addr);
	}
	names_clear(symbols);
	*out = (struct loc){.addr = addr};
	if (module) {
		symbols->function = function_by_symbol(module, addr);
		debug_locate(symbols, module, out);
		out->is_entry = is_entry(module, addr + 1);
	} else if (is_jit(map)) {
		symbols->function = jit_function(symbols, addr);
		symbols->module = symbols->function ? text_copy("[jit]") : NULL;
	}
	if (!symbols->function && map)
		symbols->function = nameless(symbols, module, addr);
	if (!symbols->module && map)
		symbols->module = text_copy(map->path[0] ? map->path : "[anonymous]");
	out->function = symbols->function;
	out->file = symbols->file;
	out->unit = symbols->unit;
	out->module = symbols->module;
	out->inlined = symbols->inlined;
	out->n_inlined = symbols->n_inlined;
}
