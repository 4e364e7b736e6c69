/* unwind_map.c owns the unwinder's knowledge of mappings and its views of the files that are
 * mapped. It knows no register and unwinds nothing. */
#include "unwind_private.h"

#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The head of .eh_frame_hdr, as the Linux Standard Base (core, "Exception Frames") lays it out,
 * in the only form that has a table which can be searched. */
struct eh_frame_hdr {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
} __attribute__((packed));

#define PAGE_BYTES              4096
#define COPY_MAX                (256UL << 20)
#define ENCODING_UDATA4         0x03
#define ENCODING_DATAREL_SDATA4 0x3b

HIT_PATH const struct area *map_search(const struct map *map, uint64_t addr)
{
	size_t low = 0, high = map->n_areas;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (addr >= map->areas[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == map->n_areas || addr < map->areas[low].start)
		return NULL;
	return &map->areas[low];
}

bool map_bytes(const struct map *map, uint64_t addr, void *out, size_t len)
{
	const struct area *area = map_search(map, addr);

	if (area && area->bytes && area->end - addr >= len) {
		memcpy(out, area->bytes + (addr - area->start), len);
		return true;
	}
	return sys_memory_read(map->pid, addr, out, len) == (ssize_t)len;
}

/* --- modules ---------------------------------------------------------------------------------- */

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static struct module *module_add(struct map *map, unsigned char *image, size_t len)
{
	struct module *module = mem_new(1, sizeof(*module));

	module->image = image;
	module->len = len;
	module->next = map->modules;
	map->modules = module;
	return module;
}

/* The module of an open file; the view of it needs no descriptor. */
static struct module *module_of_file(struct map *map, int fd)
{
	struct module *module;
	struct stat stat;
	void *view;

	if (fstat(fd, &stat) || stat.st_size <= 0)
		return NULL;
	for (module = map->modules; module; module = module->next) {
		if (!module->is_copy && is_same_file(&module->stat, &stat))
			return module;
	}
	/* A private copy that may be written: libelf changes the headers of compressed sections in it. */
	view = mmap(NULL, (size_t)stat.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (view == MAP_FAILED)
		return NULL;
	module = module_add(map, view, (size_t)stat.st_size);
	module->stat = stat;
	return module;
}

static bool is_of_same_file(const struct procfs_map *a, const struct procfs_map *b)
{
	return a->inode == b->inode && strcmp(a->path, b->path) == 0;
}

/* What cannot be opened (the kernel's own library; a file that was deleted, where only root gets at
 * it) is copied from memory, each part to where it stands in the file: constant parts are as they
 * were there. There are no section headers then. */
static struct module *module_of_memory(struct map *map, const struct procfs_map *first, size_t n)
{
	size_t n_parts = 1, len = 0;
	struct module *module;
	unsigned char *image;

	for (module = map->modules; module; module = module->next) {
		if (module->is_copy && module->base == first->start &&
			module->stat.st_ino == first->inode)
			return module;
	}
	while (n_parts < n && is_of_same_file(first, &first[n_parts]))
		n_parts++;
	for (size_t i = 0; i < n_parts; i++) {
		size_t end = first[i].offset + (first[i].end - first[i].start);

		len = end > len && !first[i].writable ? end : len;
	}
	if (first->offset || len < sizeof(Elf64_Ehdr) || len > COPY_MAX)
		return NULL;
	image = mem_new(1, len);
	for (size_t i = 0; i < n_parts; i++) {
		if (first[i].readable && !first[i].writable)
			sys_memory_read(map->pid, first[i].start, image + first[i].offset,
				first[i].end - first[i].start);
	}
	if (first->inode) {
		((Elf64_Ehdr *)image)->e_shoff = 0;
		((Elf64_Ehdr *)image)->e_shnum = ((Elf64_Ehdr *)image)->e_shstrndx = 0;
	}
	module = module_add(map, image, len);
	module->is_copy = true;
	module->base = first->start;
	module->stat.st_ino = first->inode;
	return module;
}

static void module_free(struct module *module)
{
	cfi_free(module->cfi);
	if (module->is_copy)
		free(module->image);
	else
		munmap(module->image, module->len);
	free(module);
}

/* Drop the modules that nothing is mapped of any more. */
static void modules_sweep(struct map *map)
{
	struct module **link = &map->modules;

	while (*link) {
		struct module *module = *link;

		if (module->is_used) {
			link = &module->next;
			continue;
		}
		*link = module->next;
		module_free(module);
	}
}

/* --- areas ------------------------------------------------------------------------------------ */

/* Read the table's head; a table in another form is as good as none. */
static void table_read(const struct map *map, struct area *area, uint64_t addr)
{
	struct eh_frame_hdr head;

	if (!map_bytes(map, addr, &head, sizeof(head)) || head.version != 1 ||
		head.count_encoding != ENCODING_UDATA4 ||
		head.table_encoding != ENCODING_DATAREL_SDATA4)
		return;
	area->table = addr;
	area->table_start = addr + sizeof(head);
	area->n_entries = head.count;
}

/* The program headers of a module; NULL if it is no ELF file for this machine. */
static const Elf64_Phdr *segments_of(const struct module *module, unsigned *n)
{
	const Elf64_Ehdr *head = (const void *)module->image;

	if (module->len < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
		head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_phentsize != sizeof(Elf64_Phdr) ||
		head->e_phoff > module->len ||
		head->e_phnum > (module->len - head->e_phoff) / sizeof(Elf64_Phdr))
		return NULL;
	*n = head->e_phnum;
	return (const void *)(module->image + head->e_phoff);
}

/* How the addresses of code differ from those in its file, by the segment that this is of; and
 * where the file has its search table of unwind rules. */
static void area_place(const struct map *map, struct area *area)
{
	unsigned n = 0;
	const Elf64_Phdr *segments = segments_of(area->module, &n);
	const Elf64_Phdr *own = NULL, *table = NULL;

	for (unsigned i = 0; segments && i < n; i++) {
		const Elf64_Phdr *segment = &segments[i];

		if (segment->p_type == PT_GNU_EH_FRAME)
			table = segment;
		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) &&
			(segment->p_offset & -(uint64_t)PAGE_BYTES) <= area->offset &&
			area->offset < segment->p_offset + segment->p_filesz)
			own = segment;
	}
	if (!own) {
		area->module = NULL;
		return;
	}
	area->to_vaddr = own->p_vaddr - own->p_offset + area->offset - area->start;
	if (table)
		table_read(map, area, table->p_vaddr - area->to_vaddr);
}

/* The module of a constant mapping: tables and code, not what programs write to. n: how many
 * mappings are left, this one included. */
static struct module *area_module(struct map *map, const struct procfs_map *mapping, size_t n)
{
	struct module *module = NULL;
	char *name;
	int fd;

	if (strcmp(mapping->path, "[vdso]") == 0)
		return module_of_memory(map, mapping, n);
	if (mapping->path[0] != '/' || mapping->inode == 0)
		return NULL;
	fd = procfs_map_open(map->pid, mapping, &name);
	free(name);
	if (fd < 0)
		return module_of_memory(map, mapping, n);
	module = module_of_file(map, fd);
	close(fd);
	return module;
}

/* A file that ends before the mapping does (replaced in place) would fault, and is left out. */
static void area_view(struct area *area)
{
	const struct module *module = area->module;

	if (module && area->offset + (area->end - area->start) < module->len + PAGE_BYTES)
		area->bytes = module->image + area->offset;
}

static void areas_fill(struct map *map, const struct procfs_map *maps, size_t n)
{
	size_t former = n;

	for (size_t i = 0; i < n; i++) {
		struct area *area = &map->areas[i];

		*area = (struct area){.start = maps[i].start,
			.end = maps[i].end,
			.offset = maps[i].offset,
			.inode = maps[i].inode,
			.is_code = maps[i].executable};
		if (maps[i].writable || !maps[i].readable)
			continue;
		/* The parts of a file stand one after the other: it is opened once. */
		if (former < n && is_of_same_file(&maps[former], &maps[i]))
			area->module = map->areas[former].module;
		else
			area->module = area_module(map, &maps[i], n - i);
		former = i;
		area_view(area);
		if (area->module)
			area->module->is_used = true;
	}
	map->n_areas = n;
	for (size_t i = 0; i < n; i++) {
		if (map->areas[i].is_code && map->areas[i].module)
			area_place(map, &map->areas[i]);
	}
}

/* The next area with code of a file, from i on. */
static size_t code_next(const struct area *areas, size_t n, size_t i)
{
	while (i < n && !(areas[i].is_code && areas[i].module))
		i++;
	return i;
}

/* Code without a file never has rows; it may come and go. */
static bool is_code_same(const struct area *a, size_t n_a, const struct area *b, size_t n_b)
{
	size_t i = code_next(a, n_a, 0), j = code_next(b, n_b, 0);

	while (i < n_a && j < n_b) {
		if (a[i].start != b[j].start || a[i].end != b[j].end ||
			a[i].module != b[j].module || a[i].to_vaddr != b[j].to_vaddr)
			return false;
		i = code_next(a, n_a, i + 1);
		j = code_next(b, n_b, j + 1);
	}
	return i == n_a && j == n_b;
}

bool map_read(struct map *map)
{
	size_t n, n_former = map->n_areas;
	struct procfs_map *maps = procfs_maps(map->pid, &n);
	struct area *former = map->areas;
	bool is_changed;

	memset(map->missed, 0, sizeof(map->missed));
	if (!maps)
		return false;
	for (struct module *module = map->modules; module; module = module->next)
		module->is_used = false;
	map->areas = mem_new(n, sizeof(*map->areas));
	map->n_areas = 0;
	areas_fill(map, maps, n);
	is_changed = !is_code_same(former, n_former, map->areas, map->n_areas);
	free(former);
	modules_sweep(map);
	procfs_maps_free(maps, n);
	return is_changed;
}

void map_free(struct map *map)
{
	free(map->areas);
	for (struct module *module = map->modules; module; module = module->next)
		module->is_used = false;
	modules_sweep(map);
}
