/* symbols.c owns the list of a process's modules, their files and the names of code. It
 * opens files as the process sees them (other mount namespaces, replaced and deleted
 * files) and never goes to a network. */
#include "watchprof/symbols.h"

#include "symbols_private.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *demangle(const char *name, int options)
{
	/* Only names that are surely mangled: the old g++ schemes match ordinary C names. */
	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0)
		return NULL;
	return cplus_demangle(name, options | DMGL_ANSI | DMGL_AUTO);
}

char *name_demangle(const char *name)
{
	return demangle(name, DMGL_PARAMS);
}

char *name_demangle_plain(const char *name)
{
	return demangle(name, DMGL_NO_OPTS);
}

const char *module_path(Dwfl_Module *module)
{
	const char *name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

	return name ? name : "?";
}

const struct procfs_map *symbols_map(const struct symbols *symbols, uint64_t addr)
{
	for (size_t i = 0; i < symbols->n_maps; i++) {
		if (addr >= symbols->maps[i].start && addr < symbols->maps[i].end)
			return &symbols->maps[i];
	}
	return NULL;
}

static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	char **file_name, Elf **elf)
{
	const struct symbols *symbols = *userdata;
	const struct procfs_map *map = symbols ? symbols_map(symbols, base) : NULL;
	char *opened;
	int fd;

	if (name[0] != '/' || !map)
		return dwfl_linux_proc_find_elf(module, userdata, name, base, file_name, elf);
	fd = procfs_map_open(symbols->pid, map, &opened);
	if (fd < 0)
		free(opened);
	else
		*file_name = opened;
	return fd;
}

/* The standard search (build-id tree, debug link) without the network: libdwfl would ask
 * debuginfod, for as long as minutes, where the environment names a server. */
static int find_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	const char *file_name, const char *link, GElf_Word crc, char **debuginfo)
{
	const char *set = getenv("DEBUGINFOD_URLS");
	char *urls = set ? text_copy(set) : NULL;
	int fd;

	unsetenv("DEBUGINFOD_URLS");
	fd = dwfl_standard_find_debuginfo(
		module, userdata, name, base, file_name, link, crc, debuginfo);
	if (urls)
		setenv("DEBUGINFOD_URLS", urls, 1);
	free(urls);
	return fd;
}

static int module_adopt(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	GElf_Addr bias;

	(void)name;
	(void)base;
	*userdata = arg; /* read by find_elf */
	/* Opened now, when the process surely lives: names are looked up after it may have gone. */
	dwfl_module_getelf(module, &bias);
	return DWARF_CB_OK;
}

void symbols_refresh(struct symbols *symbols)
{
	pid_t living = procfs_living_thread(symbols->pid);

	symbols_links_forget(symbols);
	procfs_maps_free(symbols->maps, symbols->n_maps);
	symbols->maps = procfs_maps(symbols->pid, &symbols->n_maps);
	dwfl_report_begin(symbols->dwfl);
	if (living)
		dwfl_linux_proc_report(symbols->dwfl, living);
	dwfl_report_end(symbols->dwfl, NULL, NULL);
	dwfl_getmodules(symbols->dwfl, module_adopt, symbols, 0);
	symbols->exe = dwfl_addrmodule(symbols->dwfl, procfs_auxv(symbols->pid, AT_PHDR));
}

struct symbols *symbols_new(pid_t pid)
{
	static char *debug_path; /* NULL: the standard places */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = find_debuginfo,
		.debuginfo_path = &debug_path,
	};
	struct symbols *symbols = mem_new(1, sizeof(*symbols));

	symbols->pid = pid;
	symbols->dwfl = dwfl_begin(&callbacks);
	if (!symbols->dwfl)
		die("libdwfl: %s", dwfl_errmsg(-1));
	symbols_refresh(symbols);
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	dwfl_end(symbols->dwfl);
	symbols_links_forget(symbols);
	procfs_maps_free(symbols->maps, symbols->n_maps);
	free(symbols->build_id);
	free(symbols->function);
	free(symbols->file);
	free(symbols->unit);
	free(symbols->module);
	free(symbols);
}

const char *symbols_build_id(struct symbols *symbols)
{
	const unsigned char *bits;
	GElf_Addr addr, bias;
	int len;

	if (symbols->build_id || !symbols->exe)
		return symbols->build_id;
	dwfl_module_getelf(symbols->exe, &bias);
	len = dwfl_module_build_id(symbols->exe, &bits, &addr);
	if (len <= 0)
		return NULL;
	symbols->build_id = mem_new(2 * (size_t)len + 1, 1);
	for (int i = 0; i < len; i++)
		snprintf(symbols->build_id + 2 * i, 3, "%02x", bits[i]);
	return symbols->build_id;
}

uint64_t module_export(Dwfl_Module *module, const char *name)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	while (elf && (section = elf_nextscn(elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || !header.sh_entsize)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
			const char *found = elf_strptr(elf, header.sh_link, symbol.st_name);

			if (symbol.st_shndx != SHN_UNDEF && found && strcmp(found, name) == 0)
				return symbol.st_value + bias;
		}
	}
	return 0;
}

struct loader symbols_loader(struct symbols *symbols)
{
	uint64_t base = procfs_auxv(symbols->pid, AT_BASE);
	struct loader loader = {
		.is_dynamic = base != 0, .entry = procfs_auxv(symbols->pid, AT_ENTRY)};
	Dwfl_Module *module = base ? dwfl_addrmodule(symbols->dwfl, base) : NULL;

	if (!module)
		return loader;
	/* glibc's names; musl has the function under the same name, and a pointer to the struct. */
	loader.hook = module_export(module, "_dl_debug_state");
	loader.debug = module_export(module, "_r_debug");
	if (!loader.debug)
		loader.debug_pointer = module_export(module, "_dl_debug_addr");
	return loader;
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

/* The source file of an address, owned by the caller, and its line; NULL if that is unknown. */
static char *source_file(Dwfl_Module *module, uint64_t addr, unsigned *line)
{
	Dwfl_Line *source = dwfl_module_getsrc(module, addr);
	int number = 0;
	const char *file = source ? dwfl_lineinfo(source, NULL, &number, NULL, NULL, NULL) : NULL;

	*line = file && number > 0 ? (unsigned)number : 0;
	return file ? text_copy(file) : NULL;
}

/* The source file that the function around addr begins in. */
static char *unit_file(Dwfl_Module *module, uint64_t addr)
{
	GElf_Off offset;
	GElf_Sym symbol;
	unsigned line;

	if (!dwfl_module_addrinfo(module, addr, &offset, &symbol, NULL, NULL, NULL))
		return NULL;
	return source_file(module, addr - offset, &line);
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

void symbols_locate(struct symbols *symbols, uint64_t addr, struct loc *out)
{
	Dwfl_Module *module = dwfl_addrmodule(symbols->dwfl, addr);
	const struct procfs_map *map = symbols_map(symbols, addr);

	if (!map) {
		symbols_refresh(symbols); /* something was mapped since */
		module = dwfl_addrmodule(symbols->dwfl, addr);
		map = symbols_map(symbols, addr);
	}
	free(symbols->function);
	free(symbols->file);
	free(symbols->unit);
	free(symbols->module);
	symbols->function = symbols->file = symbols->unit = symbols->module = NULL;
	*out = (struct loc){.addr = addr};
	if (module) {
		symbols->function = function_by_symbol(module, addr);
		symbols->file = source_file(module, addr, &out->line);
		symbols->unit = unit_file(module, addr);
		out->is_entry = is_entry(module, addr + 1);
	}
	if (!symbols->function && map)
		symbols->function = nameless(symbols, module, addr);
	if (map)
		symbols->module = text_copy(map->path[0] ? map->path : "[anonymous]");
	out->function = symbols->function;
	out->file = symbols->file;
	out->unit = symbols->unit;
	out->module = symbols->module;
}

char *symbols_range_warning(struct symbols *symbols, const struct watch *watch, const struct span *span)
{
	const struct procfs_map *map = symbols_map(symbols, span->addr);

	if (span->addr >> 56)
		return NULL; /* not user memory: the engine refuses it */
	if (!map)
		return text_format("%s: nothing is mapped at 0x%" PRIx64 " now", watch->text, span->addr);
	if (span->access == ACCESS_WRITE && !map->writable)
		return text_format("%s: the memory at 0x%" PRIx64 " is read-only (%s)", watch->text, span->addr,
			map->path[0] ? map->path : "anonymous");
	return NULL;
}
