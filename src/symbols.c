/* symbols.c owns the list of a process's modules and of its mappings. Where their files come from is
 * symbols_debug.c's, the names in them are symbols_find.c's and symbols_names.c's. */
#include "watchprof/symbols.h"

#include "symbols_private.h"
#include "watchprof/dr.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
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

/* Did libdwfl fail for lack of memory just now? Its errors, libelf's and libdw's have no public numbers; their words are not
 * translated, as main() leaves LC_MESSAGES alone. */
static bool is_out_of_memory(void)
{
	const char *error = dwfl_errmsg(-1);

	return error && strcmp(error, "out of memory") == 0;
}

static int module_adopt(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	GElf_Addr bias;

	(void)name;
	(void)base;
	*userdata = arg; /* read by debug_find_elf() and debug_find() */
	/* Opened now, when the process surely lives: names are looked up after it may have gone. What is not opened
	 * stays so. */
	if (!dwfl_module_getelf(module, &bias) && is_out_of_memory())
		die_of_memory();
	return DWARF_CB_OK;
}

void symbols_refresh(struct symbols *symbols)
{
	pid_t living = procfs_living_thread(symbols->pid);
	int error = 0;

	symbols_links_forget(symbols);
	procfs_maps_free(symbols->maps, symbols->n_maps);
	symbols->maps = procfs_maps(symbols->pid, &symbols->n_maps);
	dwfl_report_begin(symbols->dwfl);
	if (living)
		error = dwfl_linux_proc_report(symbols->dwfl, living);
	if (error == ENOMEM || (error < 0 && is_out_of_memory()))
		die_of_memory();
	dwfl_report_end(symbols->dwfl, NULL, NULL);
	dwfl_getmodules(symbols->dwfl, module_adopt, symbols, 0);
	symbols->exe = module_at(symbols, procfs_auxv(symbols->pid, AT_PHDR));
}

static struct symbols *symbols_begin(pid_t pid, struct symbols_source *source)
{
	struct symbols *symbols = mem_new(1, sizeof(*symbols));

	symbols->pid = pid;
	symbols->source = source;
	symbols->callbacks = (Dwfl_Callbacks){.find_elf = debug_find_elf,
		.find_debuginfo = debug_find,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &symbols->debug_path};
	symbols->dwfl = dwfl_begin(&symbols->callbacks);
	if (!symbols->dwfl)
		die("libdwfl: %s", dwfl_errmsg(-1));
	return symbols;
}

struct symbols *symbols_new(pid_t pid, struct symbols_source *source)
{
	struct symbols *symbols = symbols_begin(pid, source);

	symbols_refresh(symbols);
	return symbols;
}

struct symbols *symbols_new_file(const char *path, struct symbols_source *source, struct err *err)
{
	struct symbols *symbols = symbols_begin(0, source);

	dwfl_report_begin(symbols->dwfl);
	symbols->exe = dwfl_report_elf(symbols->dwfl, path, path, -1, 0, true);
	if (!symbols->exe) {
		err_set(err, "%s: its symbols cannot be read: %s", path, dwfl_errmsg(-1));
		symbols_free(symbols);
		return NULL;
	}
	dwfl_report_end(symbols->dwfl, NULL, NULL);
	dwfl_getmodules(symbols->dwfl, module_adopt, symbols, 0);
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	packages_free(symbols);
	dwfl_end(symbols->dwfl);
	symbols_links_forget(symbols);
	procfs_maps_free(symbols->maps, symbols->n_maps);
	for (size_t i = 0; i < symbols->n_warned; i++)
		free(symbols->warnings[i]);
	free(symbols->warnings);
	value_type_fini(&symbols->type);
	free(symbols->build_id);
	jit_free(symbols->jit);
	names_clear(symbols);
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
		snprintf(symbols->build_id + 2 * (size_t)i, 3, "%02x", bits[i]);
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
	Dwfl_Module *module = base ? module_at(symbols, base) : NULL;

	if (!module)
		return loader;
	/* glibc's names; musl has the function under the same name, and a pointer to the struct. */
	loader.hook = module_export(module, "_dl_debug_state");
	loader.debug = module_export(module, "_r_debug");
	if (!loader.debug)
		loader.debug_pointer = module_export(module, "_dl_debug_addr");
	return loader;
}

/* The name of a symbol without its version, demangled, owned by the caller. */
static char *symbol_name(const char *raw)
{
	char *name = text_copy(raw), *demangled;

	name[strcspn(name, "@")] = '\0';
	demangled = name_demangle(name);
	if (!demangled)
		return name;
	free(name);
	return demangled;
}

/* The object that an address lies in: its name, owned by the caller, and its end; NULL: none is known. */
static char *object_at(struct symbols *symbols, uint64_t addr, uint64_t *end)
{
	Dwfl_Module *module = module_at(symbols, addr);
	GElf_Off offset;
	GElf_Sym symbol;
	const char *raw =
		module ? dwfl_module_addrinfo(module, addr, &offset, &symbol, NULL, NULL, NULL) : NULL;

	if (!raw || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || offset >= symbol.st_size)
		return NULL;
	*end = addr - offset + symbol.st_size;
	return symbol_name(raw);
}

char *symbols_name(struct symbols *symbols, uint64_t addr)
{
	Dwfl_Module *module = module_at(symbols, addr);
	GElf_Off offset;
	GElf_Sym symbol;
	const char *raw =
		module ? dwfl_module_addrinfo(module, addr, &offset, &symbol, NULL, NULL, NULL) : NULL;
	char *name, *text;

	/* The nearest one before it is not its name. */
	if (!raw || !*raw || (offset && offset >= symbol.st_size))
		return NULL;
	name = symbol_name(raw);
	if (!offset)
		return name;
	text = text_format("%s+0x%" PRIx64, name, (uint64_t)offset);
	free(name);
	return text;
}

/* A watch that reaches beyond the object it begins in. */
static char *overlap_warning(struct symbols *symbols, const struct watch *watch, const struct span *span)
{
	uint64_t end, neighbour_end, last = span->addr + span->len;
	char *object = object_at(symbols, span->addr, &end), *neighbour = NULL, *text = NULL;

	if (object && end < last) {
		for (uint64_t addr = end; addr < last && addr < end + DR_BYTES_MAX && !neighbour; addr++)
			neighbour = object_at(symbols, addr, &neighbour_end);
		text = text_format("%s: the last %" PRIu64 " of the watched bytes are not %s's%s%s", watch->text, last - end,
			object, neighbour ? "; there is " : "", neighbour ? neighbour : "");
	}
	free(object);
	free(neighbour);
	return text;
}

char *symbols_range_warning(struct symbols *symbols, const struct watch *watch, const struct span *span)
{
	const struct procfs_map *map = symbols_map(symbols, span->addr);

	if (!span_is_user(span))
		return NULL; /* the engine refuses it */
	if (!map)
		return text_format("%s: nothing is mapped at 0x%" PRIx64 " now", watch->text, span->addr);
	if (span->access == ACCESS_WRITE && !map->writable)
		return text_format("%s: the memory at 0x%" PRIx64 " is read-only (%s)", watch->text, span->addr,
			map->path[0] ? map->path : "anonymous");
	return span->access == ACCESS_EXECUTE ? NULL : overlap_warning(symbols, watch, span);
}
