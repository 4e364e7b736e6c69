/* symbols_debug.c owns the search for the files that symbols come from: the file a process
 * runs, however it is reached, its separate debug file, and what dwz took out of that. A file
 * of another build is refused. Servers are asked by symbols_server.c. */
#include "symbols_private.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define SYSTEM_DEBUG_DIR "/usr/lib/debug"
/* Broken files have longer tables of program headers and notes than any linker makes. */
#define HEADERS_MAX 256
#define NOTES_MAX   65536
#define BUILD_ID_MAX 64

struct build_id {
	unsigned char bits[BUILD_ID_MAX];
	size_t len; /* 0: there is none */
};

/* What is searched, and by what it is known to belong to the module. */
struct debug_query {
	struct symbols *symbols;
	struct build_id id;
	const char *path; /* of the module's file */
	const char *link; /* the name in .gnu_debuglink or .gnu_debugaltlink; NULL: none */
	bool has_crc;
	GElf_Word crc;
	bool is_alt; /* what dwz took out of several debug files */
};

/* A growing list of file names. */
struct names {
	char **name;
	size_t n;
};

static void names_add(struct names *names, char *name)
{
	names->name = mem_resize(names->name, names->n + 1, sizeof(*names->name));
	names->name[names->n++] = name;
}

static void names_fini(struct names *names)
{
	while (names->n)
		free(names->name[--names->n]);
	free(names->name);
}

void symbols_warn(struct symbols *symbols, char *text)
{
	for (size_t i = 0; i < symbols->n_warned; i++) {
		if (strcmp(symbols->warnings[i], text) == 0) {
			free(text);
			return;
		}
	}
	symbols->warnings =
		mem_resize(symbols->warnings, symbols->n_warned + 1, sizeof(*symbols->warnings));
	symbols->warnings[symbols->n_warned++] = text;
}

const char *symbols_warning(struct symbols *symbols)
{
	return symbols->n_told < symbols->n_warned ? symbols->warnings[symbols->n_told++] : NULL;
}

static struct build_id build_id_take(const void *bits, ssize_t len)
{
	struct build_id id = {0};

	if (len <= 0 || (size_t)len > sizeof(id.bits))
		return id;
	id.len = (size_t)len;
	memcpy(id.bits, bits, id.len);
	return id;
}

static bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->len == b->len && memcmp(a->bits, b->bits, a->len) == 0;
}

/* In hexadecimal from byte `from` on, owned by the caller. */
static char *build_id_text(const struct build_id *id, size_t from)
{
	char *text = mem_new(2 * id->len + 1, 1);

	for (size_t i = from; i < id->len; i++)
		snprintf(text + 2 * (i - from), 3, "%02x", id->bits[i]);
	return text;
}

static struct build_id module_build_id(Dwfl_Module *module)
{
	const unsigned char *bits = NULL;
	GElf_Addr addr;
	int len = dwfl_module_build_id(module, &bits, &addr);

	return build_id_take(bits, len);
}

static struct build_id elf_build_id(Elf *elf)
{
	const void *bits = NULL;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &bits);

	return build_id_take(bits, len);
}

/* The build-id in notes, as they lie in a file or in memory. */
static struct build_id notes_build_id(const char *notes, size_t size)
{
	size_t at = 0;

	while (at + sizeof(Elf64_Nhdr) <= size) {
		Elf64_Nhdr header;
		size_t name = at + sizeof(header), desc;

		memcpy(&header, notes + at, sizeof(header));
		desc = name + ((size_t)header.n_namesz + 3) / 4 * 4;
		if (desc + header.n_descsz > size)
			break;
		if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof("GNU") &&
			memcmp(notes + name, "GNU", sizeof("GNU")) == 0)
			return build_id_take(notes + desc, header.n_descsz);
		at = desc + ((size_t)header.n_descsz + 3) / 4 * 4;
	}
	return (struct build_id){0};
}

/* The build-id that a program or library has in the memory of the process: its first page is
 * the ELF header and the program headers. */
static struct build_id memory_build_id(pid_t pid, uint64_t base)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	struct build_id id = {0};
	uint64_t bias = base;

	if (sys_memory_read(pid, base, &header, sizeof(header)) != sizeof(header) ||
		memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(segment))
		return id;
	for (unsigned i = 0; i < header.e_phnum && i < HEADERS_MAX && !id.len; i++) {
		uint64_t at = base + header.e_phoff + i * sizeof(segment);
		char *notes;

		if (sys_memory_read(pid, at, &segment, sizeof(segment)) != sizeof(segment))
			return id;
		if (segment.p_type == PT_LOAD && segment.p_offset == 0)
			bias = base - segment.p_vaddr;
		if (segment.p_type != PT_NOTE || segment.p_filesz > NOTES_MAX)
			continue;
		notes = mem_new(segment.p_filesz + 1, 1);
		if (sys_memory_read(pid, bias + segment.p_vaddr, notes, segment.p_filesz) ==
			(ssize_t)segment.p_filesz)
			id = notes_build_id(notes, segment.p_filesz);
		free(notes);
	}
	return id;
}

int file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -1;
}

static struct build_id file_build_id(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	struct build_id id = elf ? elf_build_id(elf) : (struct build_id){0};

	elf_end(elf);
	return id;
}

/* The file of this name, where its inode is not that of the mapping (some file systems number a
 * file in several ways) but its build-id is that in memory. */
static int open_by_build_id(const struct symbols *symbols, const char *path, uint64_t base)
{
	struct build_id loaded = memory_build_id(symbols->pid, base), id;
	int fd = loaded.len ? file_open(path) : -1;

	if (fd < 0)
		return -1;
	id = file_build_id(fd);
	if (build_id_equal(&id, &loaded))
		return fd;
	close(fd);
	return -1;
}

static bool is_deleted(const char *name)
{
	size_t len = strlen(name), mark = strlen(DELETED);

	return len > mark && strcmp(name + len - mark, DELETED) == 0;
}

int debug_find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	char **file_name, Elf **elf)
{
	struct symbols *symbols = *userdata;
	const struct procfs_map *map = symbols ? symbols_map(symbols, base) : NULL;
	char *opened;
	int fd;

	if (!symbols || (symbols->pid && (name[0] != '/' || !map)))
		return dwfl_linux_proc_find_elf(module, userdata, name, base, file_name, elf);
	if (!symbols->pid) {
		*file_name = text_copy(name);
		return file_open(name);
	}
	fd = procfs_map_open(symbols->pid, map, &opened);
	if (fd < 0)
		fd = open_by_build_id(symbols, opened, base);
	if (fd >= 0) {
		*file_name = opened;
		return fd;
	}
	free(opened);
	symbols_warn(symbols, text_format("%s: the file that process %d runs was replaced or deleted and cannot be "
					  "opened, as root can: names are few or missing",
				      name, (int)symbols->pid));
	/* libdwfl reads it from memory: that has the dynamic symbols. */
	return is_deleted(name) ? dwfl_linux_proc_find_elf(module, userdata, name, base, file_name, elf)
				: -1;
}

/* Is there anything in a file that the module itself does not have? */
static bool elf_has_debug(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, strings, header.sh_name);
		if (header.sh_type == SHT_SYMTAB ||
			(name && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0)))
			return true;
	}
	return false;
}

/* The checksum of .gnu_debuglink: zlib's CRC-32 of the whole file (gdb manual, "Separate Debug Files"). */
static bool file_crc(int fd, GElf_Word *crc)
{
	struct stat st;
	void *bytes;

	if (fstat(fd, &st) || st.st_size <= 0)
		return false;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	*crc = (GElf_Word)crc32_z(crc32_z(0, NULL, 0), bytes, (size_t)st.st_size);
	munmap(bytes, (size_t)st.st_size);
	return true;
}

static void warn_id(const struct debug_query *query, const char *path, const struct build_id *id)
{
	char *theirs = build_id_text(id, 0), *ours = build_id_text(&query->id, 0);

	symbols_warn(query->symbols, text_format("%s is not used: its build-id is %s, that of %s is %s", path,
					     theirs, query->path, ours));
	free(theirs);
	free(ours);
}

/* Does a file belong to the module? By build-id where both have one, else by checksum. */
static bool file_belongs(const struct debug_query *query, const char *path, int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	struct build_id id = elf ? elf_build_id(elf) : (struct build_id){0};
	bool has_debug = elf && elf_has_debug(elf);
	GElf_Word crc;

	elf_end(elf);
	if (!has_debug)
		return false;
	if (query->id.len && id.len) {
		if (build_id_equal(&id, &query->id))
			return true;
		warn_id(query, path, &id);
		return false;
	}
	if (!query->has_crc || !file_crc(fd, &crc))
		return false;
	if (crc == query->crc)
		return true;
	symbols_warn(query->symbols,
		text_format("%s is not used: its CRC is %08" PRIx32 ", the .gnu_debuglink of %s has %08" PRIx32, path,
			crc, query->path, query->crc));
	return false;
}

/* The directories of debug files in their order; number i, NULL behind the last. */
static const char *debug_dir(const struct symbols *symbols, size_t i)
{
	size_t n = symbols->source ? symbols->source->n_debug_dirs : 0;

	if (i < n)
		return symbols->source->debug_dirs[i];
	return i == n ? SYSTEM_DEBUG_DIR : NULL;
}

/* Up to what the root directory of the process is in the name of its file: 0 where it is ours. */
static size_t root_length(const char *path)
{
	const char *root = strncmp(path, "/proc/", 6) == 0 ? strstr(path, "/root/") : NULL;

	return root ? (size_t)(root - path) + 5 : 0;
}

/* The directory part of a path, without the last slash. */
static int dir_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) : 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_by_id(const struct debug_query *query, struct names *names)
{
	size_t root = root_length(query->path);
	char *first, *rest;
	const char *dir;

	if (query->id.len < 2)
		return;
	first = text_format("%02x", query->id.bits[0]);
	rest = build_id_text(&query->id, 1);
	for (size_t i = 0; (dir = debug_dir(query->symbols, i)); i++) {
		if (root && strcmp(dir, SYSTEM_DEBUG_DIR) == 0)
			names_add(names, text_format("%.*s%s/.build-id/%s/%s.debug", (int)root, query->path, dir,
						 first, rest));
		names_add(names, text_format("%s/.build-id/%s/%s.debug", dir, first, rest));
	}
	free(first);
	free(rest);
}

/* The directories in which a file named by .gnu_debuglink may lie (gdb manual, same place). */
static void add_link_dirs(const struct debug_query *query, struct names *names)
{
	size_t root = root_length(query->path);
	const char *inner = query->path + root, *dir;

	names_add(names, text_format("%.*s", dir_length(query->path), query->path));
	names_add(names, text_format("%.*s/.debug", dir_length(query->path), query->path));
	for (size_t i = 0; (dir = debug_dir(query->symbols, i)); i++) {
		bool is_system = strcmp(dir, SYSTEM_DEBUG_DIR) == 0;

		if (root && is_system)
			names_add(names, text_format("%.*s%s%.*s", (int)root, query->path, dir,
						 dir_length(inner), inner));
		names_add(names, text_format("%s%.*s", dir, dir_length(inner), inner));
		if (!is_system)
			names_add(names, text_copy(dir));
	}
}

/* What dwz made has a name below a debug directory, or beside the debug file (dwz(1), -M). */
static void add_alt(const struct debug_query *query, struct names *names)
{
	size_t root = root_length(query->path);
	const char *dir;

	if (query->link[0] != '/') {
		names_add(names, text_format("%.*s/%s", dir_length(query->path), query->path, query->link));
	} else {
		if (root)
			names_add(names, text_format("%.*s%s", (int)root, query->path, query->link));
		names_add(names, text_copy(query->link));
	}
	for (size_t i = 0; (dir = debug_dir(query->symbols, i)); i++)
		names_add(names, text_format("%s/.dwz/%s", dir, base_name(query->link)));
}

/* The name of a debug file where there is no .gnu_debuglink; owned by the caller. */
static char *link_name(const struct debug_query *query)
{
	if (query->link)
		return text_copy(base_name(query->link));
	return text_format("%s.debug", base_name(query->path));
}

static void add_by_link(const struct debug_query *query, struct names *names)
{
	struct names dirs = {0};
	char *link;

	if (!query->has_crc && !query->id.len)
		return; /* nothing would tell whether a file belongs to the module */
	link = link_name(query);
	add_link_dirs(query, &dirs);
	for (size_t i = 0; i < dirs.n; i++)
		names_add(names, text_format("%s/%s", dirs.name[i], link));
	names_fini(&dirs);
	free(link);
}

/* The first file that belongs to the module: its descriptor, and its name in *found; or -1. */
static int query_open(const struct debug_query *query, char **found)
{
	struct names names = {0};
	int fd = -1;

	add_by_id(query, &names);
	if (query->is_alt)
		add_alt(query, &names);
	else
		add_by_link(query, &names);
	for (size_t i = 0; i < names.n && fd < 0; i++) {
		fd = file_open(names.name[i]);
		if (fd >= 0 && !file_belongs(query, names.name[i], fd)) {
			close(fd);
			fd = -1;
		}
		if (fd >= 0)
			*found = text_copy(names.name[i]);
	}
	names_fini(&names);
	return fd;
}

/* The query for a module's own debug file, or (link with a directory: libdwfl's find_debug_altlink) for
 * what dwz took out of that. */
static struct debug_query query_make(struct symbols *symbols, Dwfl_Module *module, const char *path,
	const char *link, GElf_Word crc)
{
	struct debug_query query = {.symbols = symbols,
		.id = module_build_id(module),
		.path = path && *path ? path : module_path(module),
		.link = link && *link ? link : NULL,
		.crc = crc,
		.is_alt = link && strchr(link, '/')};
	const void *bits = NULL;
	const char *alt;
	Dwarf_Addr bias;
	Dwarf *dwarf;

	query.has_crc = query.link && !query.is_alt;
	if (!query.is_alt)
		return query;
	/* It is loaded by now: this does not search. */
	dwarf = dwfl_module_getdwarf(module, &bias);
	query.id = (struct build_id){0};
	if (dwarf) {
		ssize_t len = dwelf_dwarf_gnu_debugaltlink(dwarf, &alt, &bits);

		query.id = build_id_take(bits, len);
	}
	return query;
}

int debug_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *file_name,
	const char *link, GElf_Word crc, char **found)
{
	struct symbols *symbols = *userdata;
	struct debug_query query;
	char *id;
	int fd;

	(void)name;
	(void)base;
	if (!symbols)
		return -1;
	query = query_make(symbols, module, file_name, link, crc);
	fd = query_open(&query, found);
	if (fd >= 0 || !symbols->source || query.is_alt || !query.id.len)
		return fd;
	id = build_id_text(&query.id, 0);
	fd = server_find(symbols, id, query.path, module, found);
	free(id);
	return fd;
}

void debug_searched(struct symbols *symbols, Dwfl_Module *module, struct err *err)
{
	GElf_Addr bias;
	GElf_Word crc = 0;
	Elf *elf = dwfl_module_getelf(module, &bias);
	const char *link = elf ? dwelf_elf_gnu_debuglink(elf, &crc) : NULL;
	struct debug_query query = query_make(symbols, module, module_path(module), link, crc);
	struct names ids = {0}, dirs = {0};
	char *name = link_name(&query);

	add_by_id(&query, &ids);
	if (query.has_crc || query.id.len)
		add_link_dirs(&query, &dirs);
	err_append(err, "; %s is stripped and no debug file was found: ", query.path);
	if (ids.n + dirs.n == 0)
		err_append(err, "it has neither a build-id nor a .gnu_debuglink to search by");
	for (size_t i = 0; i < ids.n; i++)
		err_append(err, "%s%s", i ? ", " : "searched ", ids.name[i]);
	for (size_t i = 0; i < dirs.n; i++) {
		if (i == 0)
			err_append(err, "%s%s in ", ids.n ? ", and " : "searched ", name);
		err_append(err, "%s%s", i == 0 ? "" : i + 1 < dirs.n ? ", " : " and ", dirs.name[i]);
	}
	free(name);
	names_fini(&ids);
	names_fini(&dirs);
}
