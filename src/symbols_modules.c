/* symbols_modules.c owns what the dynamic linker says of a process's modules: its lists, in the order
 * in which it searches them, and where their thread-local storage is described. It reads the target's
 * memory and never needs it stopped. */
#include "symbols_private.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <gelf.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* More than any process has: such a list is broken. */
#define LINKS_MAX  100000
#define SPACES_MAX 64

/* struct r_debug_extended of glibc 2.35: the lists of other namespaces (dlmopen) follow. */
struct space {
	struct r_debug debug;
	uint64_t next;
};

pid_t symbols_tid(const struct symbols *symbols)
{
	return procfs_living_thread(symbols->pid);
}

Dwfl_Module *module_at(const struct symbols *symbols, uint64_t addr)
{
	Dwfl_Module *module = NULL;

	dwfl_errno(); /* of an earlier call */
	dwfl_addrsegment(symbols->dwfl, addr, &module);
	if (dwfl_errno()) /* the one error that it has */
		die_of_memory();
	return module;
}

static bool read_at(const struct symbols *symbols, uint64_t addr, void *out, size_t len)
{
	return addr && sys_memory_read(symbols_tid(symbols), addr, out, len) == (ssize_t)len;
}

/* The address of the struct r_debug; 0: there is none (yet). */
static uint64_t debug_address(const struct symbols *symbols, const struct loader *loader)
{
	uint64_t addr = loader->debug;

	if (!addr && !read_at(symbols, loader->debug_pointer, &addr, sizeof(addr)))
		return 0;
	return addr;
}

bool symbols_is_consistent(struct symbols *symbols, const struct loader *loader)
{
	struct r_debug debug;

	return !read_at(symbols, debug_address(symbols, loader), &debug, sizeof(debug)) ||
		debug.r_state == RT_CONSISTENT;
}

static void links_add(struct symbols *symbols, uint64_t first, unsigned space)
{
	struct link_map map;
	uint64_t previous = 0;

	for (uint64_t at = first; at && symbols->n_links < LINKS_MAX; at = (uint64_t)(uintptr_t)map.l_next) {
		/* The way back must be the way that we came: a list that is being changed, or a circle. */
		if (!read_at(symbols, at, &map, sizeof(map)) || (uint64_t)(uintptr_t)map.l_prev != previous) {
			symbols->links_broken = true;
			return;
		}
		previous = at;
		symbols->links =
			mem_resize(symbols->links, symbols->n_links + 1, sizeof(*symbols->links));
		symbols->links[symbols->n_links++] = (struct link){
			.map = at,
			.dynamic = (uint64_t)(uintptr_t)map.l_ld,
			.name = (uint64_t)(uintptr_t)map.l_name,
			.space = space};
	}
}

const struct link *symbols_links(struct symbols *symbols, size_t *n)
{
	struct loader loader;
	struct space space;
	uint64_t at;

	if (!symbols->has_links) {
		loader = symbols_loader(symbols);
		at = debug_address(symbols, &loader);
		for (unsigned i = 0; i < SPACES_MAX && read_at(symbols, at, &space.debug, sizeof(space.debug)); i++) {
			links_add(symbols, (uint64_t)(uintptr_t)space.debug.r_map, i);
			if (space.debug.r_version < 2 || !read_at(symbols, at, &space, sizeof(space)))
				break;
			at = space.next;
		}
		symbols->links_broken |= symbols->n_links == 0;
		symbols->has_links = true;
	}
	*n = symbols->n_links;
	return symbols->links;
}

void symbols_links_forget(struct symbols *symbols)
{
	free(symbols->links);
	symbols->links = NULL;
	symbols->n_links = 0;
	symbols->has_links = symbols->links_broken = false;
	symbols->exporter = NULL;
}

const struct link *symbols_link(struct symbols *symbols, Dwfl_Module *module)
{
	size_t n;
	const struct link *links = symbols_links(symbols, &n);

	for (size_t i = 0; module && i < n; i++) {
		if (module_at(symbols, links[i].dynamic) == module)
			return &links[i];
	}
	return NULL;
}

uint64_t symbols_link_map(struct symbols *symbols, uint64_t module)
{
	const struct link *link = symbols_link(symbols, module_at(symbols, module));

	return link ? link->map : 0;
}

bool symbols_is_started(struct symbols *symbols, const struct loader *loader)
{
	struct r_debug debug;

	return read_at(symbols, debug_address(symbols, loader), &debug, sizeof(debug)) && debug.r_version && debug.r_map &&
		debug.r_state == RT_CONSISTENT && symbols_has_needed(symbols);
}

/* The path of a module; owned by the caller. */
static char *link_name(const struct symbols *symbols, const struct link *link)
{
	char name[PATH_MAX] = "";

	/* It may end near the end of what is mapped. */
	sys_memory_read(symbols_tid(symbols), link->name, name, sizeof(name) - 1);
	return text_copy(name);
}

void symbols_home(struct symbols *symbols, uint64_t addr, struct home *out)
{
	Dwfl_Module *module = module_at(symbols, addr);
	const struct link *link = module == symbols->exe ? NULL : symbols_link(symbols, module);

	*out = (struct home){0};
	if (!link)
		return;
	*out = (struct home){.dynamic = link->dynamic, .name = link_name(symbols, link)};
	dwfl_module_info(module, NULL, &out->start, &out->end, NULL, NULL, NULL, NULL);
}

bool symbols_is_home(struct symbols *symbols, const struct home *home)
{
	size_t n;
	const struct link *links = symbols_links(symbols, &n);
	bool is_same = symbols->links_broken; /* the process is dying: it has what it had */

	for (size_t i = 0; i < n && !is_same; i++) {
		char *name = links[i].dynamic == home->dynamic ? link_name(symbols, &links[i]) : NULL;

		is_same = name && strcmp(name, home->name) == 0;
		free(name);
	}
	return is_same;
}

bool symbols_is_taken(struct symbols *symbols, const struct home *home)
{
	size_t n;
	const struct link *links = symbols_links(symbols, &n);

	for (size_t i = 0; i < n; i++) {
		if (links[i].dynamic >= home->start && links[i].dynamic < home->end)
			return true;
	}
	return false;
}

bool symbols_is_linker(struct symbols *symbols, uint64_t addr)
{
	uint64_t base = procfs_auxv(symbols->pid, AT_BASE);
	Dwfl_Module *linker = base ? module_at(symbols, base) : NULL;

	return linker && module_at(symbols, addr) == linker;
}

void home_fini(struct home *home)
{
	free(home->name);
	*home = (struct home){0};
}

uint64_t symbols_export(struct symbols *symbols, const char *name)
{
	size_t n;
	const struct link *links = symbols_links(symbols, &n);
	uint64_t found = symbols->exporter ? module_export(symbols->exporter, name) : 0;

	/* The program's own C library, not that of another namespace. What is asked for mostly is where the
	 * last was, and nobody has two of it. */
	for (size_t i = 0; i < n && !found && links[i].space == 0; i++) {
		Dwfl_Module *module = module_at(symbols, links[i].dynamic);

		found = module ? module_export(module, name) : 0;
		if (found)
			symbols->exporter = module;
	}
	return found;
}

uint64_t symbols_ready_hook(struct symbols *symbols)
{
	uint64_t found;

	/* Since glibc 2.31 dl_open_worker() runs constructors by this function (elf/dl-open.c); one that
	 * has the placeholder is 2.34 or newer. At the debug function before, up to 2.40, the library is
	 * mapped and not relocated. */
	symbols->exporter = NULL; /* there are two of it: in the C library, which is found first, and in ld.so */
	found = symbols_export(symbols, "_dl_catch_exception");
	return symbols_export(symbols, "__rtld_version_placeholder") ? found : 0;
}

/* The segment that a thread's own copy of a module's variables begins as. */
static bool module_tls(Dwfl_Module *module, GElf_Phdr *out)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (gelf_getphdr(elf, (int)i, out) && out->p_type == PT_TLS)
			return true;
	}
	return false;
}

bool symbols_exe_tls(struct symbols *symbols, uint64_t module, uint64_t *below)
{
	GElf_Phdr tls;
	uint64_t mask;

	if (!symbols->exe || module_at(symbols, module) != symbols->exe ||
		!module_tls(symbols->exe, &tls))
		return false;
	/* "ELF Handling for Thread-Local Storage", variant II: the block ends at the thread pointer, or as
	 * far below it as its alignment wants. Linkers put these offsets into local-exec code, so that no C
	 * library can place it elsewhere. */
	mask = tls.p_align ? tls.p_align - 1 : 0;
	*below = tls.p_memsz + ((0 - tls.p_vaddr - tls.p_memsz) & mask);
	return true;
}

/* A function's address by any symbol table of a module. */
static uint64_t module_function(Dwfl_Module *module, const char *name)
{
	int n = dwfl_module_getsymtab(module);

	for (int i = 1; i < n; i++) {
		GElf_Sym symbol;
		GElf_Addr value;
		GElf_Word section;
		const char *found = dwfl_module_getsym_info(module, i, &symbol, &value, &section, NULL, NULL);

		if (found && section != SHN_UNDEF && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
			strcmp(found, name) == 0)
			return value;
	}
	return 0;
}

uint64_t symbols_static_ready(struct symbols *symbols)
{
	/* Called after the thread pointer was set and before any constructor: by glibc's start, by musl's. */
	static const char *const names[] = {"__libc_init_first", "__libc_start_init", "main"};
	uint64_t found = 0;

	for (size_t i = 0; symbols->exe && i < ARRAY_LEN(names) && !found; i++)
		found = module_function(symbols->exe, names[i]);
	return found;
}
