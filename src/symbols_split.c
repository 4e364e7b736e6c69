/* symbols_split.c owns debug information that was split off to a package (.dwp): it cuts the parts of a unit out of
 * one, so that libdw reads them like a .dwo file, with the addresses that the program itself has. It tells
 * of .dwo files that are missing. libdw finds those that are there by itself. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than a package has kinds of sections (DWARF 5, section 7.3.5.4). */
#define COLUMNS_MAX 16
/* The sections of a cut: one for each column, strings, addresses, names, and the first, which is none. */
#define SECTIONS_MAX (COLUMNS_MAX + 4)

/* .debug_cu_index (DWARF 5, section 7.3.5.3; version 2 by the DWARF 4 extension of GCC,
 * gcc.gnu.org/wiki/DebugFissionDWP): a hash table of units, then a row of offsets for each, then one of sizes. */
struct index {
	const unsigned char *ids, *rows, *columns, *offsets, *sizes;
	uint32_t version, n_columns, n_units, n_slots;
};

/* A unit that was cut out. */
struct cut {
	uint64_t id;
	void *image; /* the package, with an ELF header and sections of this unit alone */
	size_t size;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_Die die;
};

/* What the split units of one file are read from. */
struct package {
	Dwarf *skeletons; /* of the file itself */
	char *module;	  /* its path: another may be loaded where this one was */
	char *path;	  /* of the package; NULL: there is none */
	int fd;
	Elf *elf;
	struct index index;
	Dwarf_Off *bases; /* where the addresses of units begin in .debug_addr, sorted */
	size_t n_bases;
	struct cut *cuts;
	size_t n_cuts;
	bool is_told; /* that files are missing */
};

/* The names of the sections by column, of version 2 and of version 5. */
static const char *const column_names[][9] = {
	{NULL, ".debug_info.dwo", ".debug_types.dwo", ".debug_abbrev.dwo", ".debug_line.dwo", ".debug_loc.dwo",
		".debug_str_offsets.dwo", ".debug_macinfo.dwo", ".debug_macro.dwo"},
	{NULL, ".debug_info.dwo", NULL, ".debug_abbrev.dwo", ".debug_line.dwo", ".debug_loclists.dwo",
		".debug_str_offsets.dwo", ".debug_macro.dwo", ".debug_rnglists.dwo"},
};

static uint32_t word_at(const unsigned char *words, size_t i)
{
	uint32_t word;

	memcpy(&word, words + i * sizeof(word), sizeof(word));
	return word;
}

static uint64_t id_at(const unsigned char *ids, size_t i)
{
	uint64_t id;

	memcpy(&id, ids + i * sizeof(id), sizeof(id));
	return id;
}

/* A section by its name; false: there is none. */
static bool section_find(Elf *elf, const char *name, Elf_Scn **section, GElf_Shdr *header)
{
	size_t strings;

	*section = NULL;
	if (!elf || elf_getshdrstrndx(elf, &strings))
		return false;
	while ((*section = elf_nextscn(elf, *section))) {
		const char *found = gelf_getshdr(*section, header) ? elf_strptr(elf, strings, header->sh_name) : NULL;

		if (found && strcmp(found, name) == 0)
			return header->sh_type != SHT_NOBITS;
	}
	return false;
}

/* .debug_cu_index or .debug_tu_index. */
static bool index_read(Elf *elf, const char *name, struct index *index)
{
	GElf_Shdr header;
	Elf_Scn *section;
	Elf_Data *data = section_find(elf, name, &section, &header) ? elf_rawdata(section, NULL) : NULL;
	const unsigned char *bytes = data ? data->d_buf : NULL;
	uint64_t need;

	*index = (struct index){0};
	if (!bytes || data->d_size < 4 * sizeof(uint32_t))
		return false;
	/* Of version 5 this is half a word, and the other half is 0. */
	*index = (struct index){.version = word_at(bytes, 0), .n_columns = word_at(bytes, 1),
		.n_units = word_at(bytes, 2), .n_slots = word_at(bytes, 3)};
	if ((index->version != 2 && index->version != 5) || index->n_columns == 0 || index->n_columns > COLUMNS_MAX ||
		index->n_slots == 0 || (index->n_slots & (index->n_slots - 1)))
		return false;
	need = 16 + (uint64_t)index->n_slots * 12 + (2 * (uint64_t)index->n_units + 1) * index->n_columns * 4;
	if (need > data->d_size)
		return false;
	index->ids = bytes + 16;
	index->rows = index->ids + (size_t)index->n_slots * 8;
	index->columns = index->rows + (size_t)index->n_slots * 4;
	index->offsets = index->columns + (size_t)index->n_columns * 4;
	index->sizes = index->offsets + (size_t)index->n_units * index->n_columns * 4;
	return true;
}

/* The row of a unit, counted from 1; 0: it is not in the package. */
static uint32_t index_row(const struct index *index, uint64_t id)
{
	uint32_t mask = index->n_slots - 1, slot = (uint32_t)id & mask, step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < index->n_slots; i++) {
		uint32_t row = word_at(index->rows, slot);

		if (row == 0)
			return 0;
		if (id_at(index->ids, slot) == id)
			return row <= index->n_units ? row : 0;
		slot = (slot + step) & mask;
	}
	return 0;
}

/* The sections of an image that is being made. */
struct sections {
	Elf64_Shdr header[SECTIONS_MAX];
	unsigned n;
	char names[SECTIONS_MAX * 32];
	size_t names_len;
};

static void section_add(struct sections *sections, const char *name, uint64_t offset, uint64_t size)
{
	sections->header[sections->n++] = (Elf64_Shdr){.sh_name = (Elf64_Word)sections->names_len,
		.sh_type = SHT_PROGBITS, .sh_offset = offset, .sh_size = size, .sh_addralign = 1};
	sections->names_len += (size_t)snprintf(sections->names + sections->names_len,
				       sizeof(sections->names) - sections->names_len, "%s", name) + 1;
}

/* Add what a unit has in one section of the package. */
static bool column_add(const struct package *package, struct sections *sections, uint32_t row, uint32_t column)
{
	const struct index *index = &package->index;
	uint32_t kind = word_at(index->columns, column);
	size_t at = (size_t)(row - 1) * index->n_columns + column;
	uint32_t offset = word_at(index->offsets, at), size = word_at(index->sizes, at);
	const char *name = kind < ARRAY_LEN(column_names[0]) ? column_names[index->version == 5][kind] : NULL;
	GElf_Shdr header;
	Elf_Scn *section;

	if (!name || size == 0)
		return true;
	if (!section_find(package->elf, name, &section, &header) || header.sh_flags & SHF_COMPRESSED ||
		(uint64_t)offset + size > header.sh_size)
		return false;
	section_add(sections, name, header.sh_offset + offset, size);
	return true;
}

/* Where the addresses of a skeleton unit begin; false: it has none. */
static bool address_base(Dwarf_Die *skeleton, Dwarf_Off *base)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if ((!dwarf_attr(skeleton, DW_AT_addr_base, &attribute) &&
		    !dwarf_attr(skeleton, DW_AT_GNU_addr_base, &attribute)) ||
		dwarf_formudata(&attribute, &word))
		return false;
	*base = word;
	return true;
}

static int base_compare(const void *a, const void *b)
{
	const Dwarf_Off *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void bases_read(struct package *package)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	Dwarf_Off base;

	while (dwarf_get_units(package->skeletons, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		if (!address_base(&die, &base))
			continue;
		package->bases = mem_resize(package->bases, package->n_bases + 1, sizeof(*package->bases));
		package->bases[package->n_bases++] = base;
	}
	if (package->n_bases)
		qsort(package->bases, package->n_bases, sizeof(*package->bases), base_compare);
}

/* The addresses of a unit in the file itself: up to those of the next. */
static const char *addresses(const struct package *package, Dwarf_Die *skeleton, size_t *size)
{
	GElf_Shdr header;
	Elf_Scn *section;
	Elf_Data *data;
	Dwarf_Off base, end;

	*size = 0;
	if (!address_base(skeleton, &base) ||
		!section_find(dwarf_getelf(package->skeletons), ".debug_addr", &section, &header))
		return NULL;
	data = elf_getdata(section, NULL);
	if (!data || !data->d_buf || base > data->d_size)
		return NULL;
	end = data->d_size;
	for (size_t low = 0, high = package->n_bases; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (package->bases[middle] > base) {
			high = middle;
			end = package->bases[middle] < end ? package->bases[middle] : end;
		} else {
			low = middle + 1;
		}
	}
	*size = end - base;
	return (const char *)data->d_buf + base;
}

/* Map the package again, with room behind it. It is changed in this process alone. */
static char *package_map(const struct package *package, size_t file_size, size_t *room, size_t *size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *image;

	*room = (file_size + page - 1) / page * page;
	*size += *room;
	image = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (image == MAP_FAILED)
		return NULL;
	if (mmap(image, file_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, package->fd, 0) !=
		MAP_FAILED)
		return image;
	munmap(image, *size);
	return NULL;
}

/* Write the header and the table of sections that make the image an ELF file of its own; the addresses and the
 * names go behind the package. */
static bool image_make(const struct package *package, struct sections *sections, const char *addrs, size_t addrs_size,
	struct cut *cut)
{
	struct stat st;
	Elf64_Ehdr *header;
	size_t room, table;

	if (fstat(package->fd, &st) || st.st_size < (off_t)sizeof(*header))
		return false;
	cut->size = (addrs_size + 7) / 8 * 8 + sizeof(*sections);
	cut->image = package_map(package, (size_t)st.st_size, &room, &cut->size);
	if (!cut->image)
		return false;
	if (addrs_size)
		memcpy((char *)cut->image + room, addrs, addrs_size);
	section_add(sections, ".debug_addr.dwo", room, addrs_size);
	table = room + (addrs_size + 7) / 8 * 8;
	section_add(sections, ".shstrtab", table + offsetof(struct sections, names), 0);
	sections->header[sections->n - 1].sh_type = SHT_STRTAB;
	sections->header[sections->n - 1].sh_size = sections->names_len;
	memcpy((char *)cut->image + table, sections, sizeof(*sections));
	header = cut->image;
	header->e_shoff = table;
	header->e_shnum = (Elf64_Half)sections->n;
	header->e_shstrndx = (Elf64_Half)(sections->n - 1);
	return true;
}

static void cut_fini(struct cut *cut)
{
	dwarf_end(cut->dwarf);
	elf_end(cut->elf);
	if (cut->image)
		munmap(cut->image, cut->size);
	*cut = (struct cut){0};
}

/* Cut a unit out of the package. */
static bool cut_make(const struct package *package, Dwarf_Die *skeleton, uint32_t row, struct cut *cut)
{
	struct sections sections = {.n = 1, .names_len = 1};
	GElf_Shdr header;
	Elf_Scn *section;
	Dwarf_CU *unit = NULL;
	size_t size;
	const char *addrs = addresses(package, skeleton, &size);

	for (uint32_t i = 0; i < package->index.n_columns; i++) {
		if (!column_add(package, &sections, row, i))
			return false;
	}
	if (section_find(package->elf, ".debug_str.dwo", &section, &header) && !(header.sh_flags & SHF_COMPRESSED))
		section_add(&sections, ".debug_str.dwo", header.sh_offset, header.sh_size);
	if (!image_make(package, &sections, addrs, size, cut))
		return false;
	cut->elf = elf_memory(cut->image, cut->size);
	cut->dwarf = cut->elf ? dwarf_begin_elf(cut->elf, DWARF_C_READ, NULL) : NULL;
	if (cut->dwarf)
		dwarf_new_oom_handler(cut->dwarf, die_of_memory);
	return cut->dwarf && dwarf_get_units(cut->dwarf, NULL, &unit, NULL, NULL, &cut->die, NULL) == 0 && cut->die.addr;
}

/* Open a package of this name, if it is one. */
static bool package_open(struct package *package, char *path)
{
	GElf_Ehdr header;

	package->fd = file_open(path);
	package->elf = package->fd >= 0 ? elf_begin(package->fd, ELF_C_READ_MMAP, NULL) : NULL;
	if (package->elf && gelf_getehdr(package->elf, &header) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
		index_read(package->elf, ".debug_cu_index", &package->index)) {
		package->path = path;
		return true;
	}
	elf_end(package->elf);
	if (package->fd >= 0)
		close(package->fd);
	package->elf = NULL;
	package->fd = -1;
	free(path);
	return false;
}

/* Search the package beside the program and beside its debug file. */
static void package_find(struct package *package, Dwfl_Module *module)
{
	static const char end[] = ".debug";
	const char *main_file = NULL, *debug_file = NULL;
	size_t len;

	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
	len = debug_file ? strlen(debug_file) : 0;
	if ((main_file && package_open(package, text_format("%s.dwp", main_file))) ||
		package_open(package, text_format("%s.dwp", module_path(module))) ||
		(debug_file && package_open(package, text_format("%s.dwp", debug_file))))
		return;
	if (len > strlen(end) && strcmp(debug_file + len - strlen(end), end) == 0)
		package_open(package, text_format("%.*s.dwp", (int)(len - strlen(end)), debug_file));
}

/* Types that have units of their own are not cut out: a unit may have them from any other unit's file, and libdw
 * looks for them in its own alone. */
static void types_tell(struct symbols *symbols, const struct package *package)
{
	struct index types;

	if (index_read(package->elf, ".debug_tu_index", &types) && types.n_units)
		symbols_warn(symbols, text_format("%s: types that were compiled with -fdebug-types-section cannot be read from "
						  "a package: their members are unknown",
					      package->path));
}

/* The package of the file that a module's skeleton units are in, found at the first question. */
static struct package *package_of(struct symbols *symbols, const struct units *units)
{
	struct package *package;

	for (size_t i = 0; i < symbols->n_packages; i++) {
		if (symbols->packages[i].skeletons == units->dwarf &&
			strcmp(symbols->packages[i].module, module_path(units->module)) == 0)
			return &symbols->packages[i];
	}
	symbols->packages = mem_resize(symbols->packages, symbols->n_packages + 1, sizeof(*symbols->packages));
	package = &symbols->packages[symbols->n_packages++];
	*package = (struct package){.skeletons = units->dwarf, .module = text_copy(module_path(units->module)), .fd = -1};
	package_find(package, units->module);
	if (package->path) {
		bases_read(package);
		types_tell(symbols, package);
	}
	return package;
}

static bool cut_find(struct package *package, Dwarf_Die *skeleton, uint64_t id, Dwarf_Die *split)
{
	struct cut cut = {.id = id};
	uint32_t row;

	for (size_t i = 0; i < package->n_cuts; i++) {
		if (package->cuts[i].id == id) {
			*split = package->cuts[i].die;
			return true;
		}
	}
	row = package->path ? index_row(&package->index, id) : 0;
	if (!row)
		return false;
	if (!cut_make(package, skeleton, row, &cut)) {
		cut_fini(&cut);
		return false;
	}
	package->cuts = mem_resize(package->cuts, package->n_cuts + 1, sizeof(*package->cuts));
	package->cuts[package->n_cuts++] = cut;
	*split = cut.die;
	return true;
}

/* The file that a unit was split off to, owned by the caller. */
static char *split_path(Dwarf_Die *skeleton)
{
	Dwarf_Attribute attribute;
	const char *name = NULL, *dir = NULL;

	if (dwarf_attr(skeleton, DW_AT_dwo_name, &attribute) || dwarf_attr(skeleton, DW_AT_GNU_dwo_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (dwarf_attr(skeleton, DW_AT_comp_dir, &attribute))
		dir = dwarf_formstring(&attribute);
	if (!name)
		return text_copy("?");
	return name[0] == '/' || !dir ? text_copy(name) : text_format("%s/%s", dir, name);
}

static void missing_tell(struct symbols *symbols, struct package *package, Dwfl_Module *module, Dwarf_Die *skeleton)
{
	char *path = split_path(skeleton), *where;

	if (!package->is_told) {
		where = package->path ? text_format("is not in %s", package->path)
				      : text_format("is missing, and there is no package %s.dwp that can be read", module_path(module));
		symbols_warn(symbols, text_format("%s: debug information that was split off to %s %s: types, members and "
						  "statics of functions there are unknown",
					      module_path(module), path, where));
		free(where);
	}
	package->is_told = true;
	free(path);
}

bool split_find(const struct units *units, Dwarf_Die *skeleton, Dwarf_Die *split)
{
	void **userdata = NULL;
	struct symbols *symbols;
	struct package *package;
	uint64_t id;

	dwfl_module_info(units->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	symbols = userdata ? *userdata : NULL;
	if (!symbols || dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, NULL, &id, NULL, NULL))
		return false;
	package = package_of(symbols, units);
	if (cut_find(package, skeleton, id, split))
		return true;
	missing_tell(symbols, package, units->module, skeleton);
	return false;
}

void packages_free(struct symbols *symbols)
{
	for (size_t i = 0; i < symbols->n_packages; i++) {
		struct package *package = &symbols->packages[i];

		while (package->n_cuts)
			cut_fini(&package->cuts[--package->n_cuts]);
		free(package->cuts);
		free(package->bases);
		free(package->path);
		free(package->module);
		elf_end(package->elf);
		if (package->fd >= 0)
			close(package->fd);
	}
	free(symbols->packages);
}
