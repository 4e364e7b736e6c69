/* symbols_scope.c owns the question which of several definitions of a name the dynamic linker has chosen
 * (the manual page of ld.so; System V ABI, "Shared Object Dependencies"). It goes by the files of the modules and the order of
 * the dynamic linker's list, and never looks at what code has been bound to. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* Definitions of one name in one module that differ by version. */
struct versions {
	Elf_Data *index; /* of each dynamic symbol; NULL: there are none */
	Elf_Data *names; /* those that the module defines */
	size_t names_link;
};

static Elf_Scn *section_of(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, header) && header->sh_type == type)
			return section;
	}
	return NULL;
}

static struct versions versions_of(Elf *elf)
{
	struct versions versions = {0};
	GElf_Shdr header;
	Elf_Scn *section = section_of(elf, SHT_GNU_versym, &header);

	versions.index = section ? elf_getdata(section, NULL) : NULL;
	section = section_of(elf, SHT_GNU_verdef, &header);
	versions.names = section ? elf_getdata(section, NULL) : NULL;
	versions.names_link = section ? header.sh_link : 0;
	return versions;
}

/* The version that a symbol is defined with; NULL: with none. *is_default: it is the one that a
 * reference without a version means. */
static const char *version_of(Elf *elf, const struct versions *versions, int symbol, bool *is_default)
{
	GElf_Versym number;
	GElf_Verdef definition;
	GElf_Verdaux name;
	int at = 0;

	*is_default = true;
	if (!versions->index || !versions->names || !gelf_getversym(versions->index, symbol, &number))
		return NULL;
	*is_default = !(number & 0x8000);
	number &= 0x7fff;
	while (number > 1 && gelf_getverdef(versions->names, at, &definition)) {
		if (definition.vd_ndx == number)
			return gelf_getverdaux(versions->names, at + (int)definition.vd_aux, &name)
				? elf_strptr(elf, versions->names_link, name.vda_name)
				: NULL;
		if (!definition.vd_next)
			break;
		at += (int)definition.vd_next;
	}
	return NULL;
}

/* What a module exports under a name and a version (NULL: the default one); a definition without a version
 * serves for all. */
static bool exported(Dwfl_Module *module, const char *name, const char *version, struct definition *out)
{
	GElf_Addr bias;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	GElf_Shdr header;
	Elf_Scn *section = section_of(elf, SHT_DYNSYM, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	struct versions versions = versions_of(elf);
	GElf_Sym symbol;

	for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
		const char *found = elf_strptr(elf, header.sh_link, symbol.st_name), *own;
		bool is_default;

		if (symbol.st_shndx == SHN_UNDEF || GELF_ST_BIND(symbol.st_info) == STB_LOCAL || !found ||
			strcmp(found, name) != 0)
			continue;
		own = version_of(elf, &versions, i, &is_default);
		if (version && own ? strcmp(version, own) != 0 : !is_default)
			continue;
		*out = (struct definition){.module = module,
			.version = own,
			.addr = symbol.st_value +
				(GELF_ST_TYPE(symbol.st_info) == STT_TLS ? 0 : bias),
			.size = symbol.st_size,
			.is_own = GELF_ST_VISIBILITY(symbol.st_other) != STV_DEFAULT};
		return true;
	}
	return false;
}

/* The next entry of a kind in a module's dynamic section, from *i on; NULL where it is no string. */
static bool dynamic_next(Dwfl_Module *module, GElf_Sxword tag, int *i, GElf_Dyn *out, const char **string)
{
	GElf_Addr bias;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	GElf_Shdr header;
	Elf_Scn *section = section_of(elf, SHT_DYNAMIC, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	while (data && gelf_getdyn(data, (*i)++, out) && out->d_tag != DT_NULL) {
		if (out->d_tag != tag)
			continue;
		*string = tag == DT_NEEDED || tag == DT_SONAME ? elf_strptr(elf, header.sh_link, out->d_un.d_val)
							       : NULL;
		return true;
	}
	return false;
}

/* Was it linked to use its own definitions (-Bsymbolic)? */
static bool is_symbolic(Dwfl_Module *module)
{
	const char *string;
	GElf_Dyn entry;
	int i = 0, j = 0;

	return dynamic_next(module, DT_SYMBOLIC, &i, &entry, &string) ||
		(dynamic_next(module, DT_FLAGS, &j, &entry, &string) && entry.d_un.d_val & DF_SYMBOLIC);
}

/* One module of the program's namespace. */
struct member {
	Dwfl_Module *module;
	const char *path, *base, *soname; /* what it may be called by others; soname may be NULL */
	bool is_global; /* every module looks in it */
	bool is_done;	/* what it needs was marked, too */
};

static struct member member_of(Dwfl_Module *module)
{
	struct member member = {.module = module, .path = module ? module_path(module) : ""};
	const char *slash = strrchr(member.path, '/');
	GElf_Dyn entry;
	int i = 0;

	member.base = slash ? slash + 1 : member.path;
	dynamic_next(module, DT_SONAME, &i, &entry, &member.soname);
	return member;
}

static bool is_called(const struct member *member, const char *needed)
{
	return strcmp(member->base, needed) == 0 || strcmp(member->path, needed) == 0 ||
		(member->soname && strcmp(member->soname, needed) == 0);
}

/* The modules of the program's namespace, in order of search; the caller frees them. */
static struct member *members_of(struct symbols *symbols, size_t *n)
{
	size_t n_links;
	const struct link *links = symbols_links(symbols, &n_links);
	struct member *members = mem_new(n_links + 1, sizeof(*members));

	*n = 0;
	for (size_t i = 0; i < n_links && links[i].space == 0; i++)
		members[(*n)++] = member_of(dwfl_addrmodule(symbols->dwfl, links[i].dynamic));
	return members;
}

static void mark_needed(struct member *members, size_t n, struct member *of)
{
	const char *needed;
	GElf_Dyn entry;
	int i = 0;

	of->is_done = true;
	while (dynamic_next(of->module, DT_NEEDED, &i, &entry, &needed)) {
		for (size_t j = 0; needed && j < n; j++)
			members[j].is_global |= is_called(&members[j], needed);
	}
}

/* Mark what the program was started with, where every module looks first: itself, what it needs, and
 * what was loaded before that (LD_PRELOAD), with what those need. */
static void mark_global(struct member *members, size_t n)
{
	bool any = n > 0;

	if (n > 0)
		members[0].is_global = true;
	while (any) {
		size_t first = 1;

		any = false;
		for (size_t i = 0; i < n; i++) {
			if (!members[i].is_global || members[i].is_done)
				continue;
			mark_needed(members, n, &members[i]);
			any = true;
		}
		while (first < n && !members[first].is_global)
			first++;
		for (size_t i = 1; first < n && i < first; i++) {
			any |= !members[i].is_global;
			members[i].is_global = true;
		}
	}
}

/* The first definition of a name where every module looks for it. */
static bool global_find(struct symbols *symbols, const char *name, const char *version, struct definition *out)
{
	size_t n;
	struct member *members = members_of(symbols, &n);
	bool is_found = false;

	mark_global(members, n);
	for (size_t i = 0; i < n && !is_found; i++)
		is_found = members[i].is_global && exported(members[i].module, name, version, out);
	free(members);
	return is_found;
}

unsigned symbols_space(struct symbols *symbols, Dwfl_Module *module)
{
	const struct link *link = symbols_link(symbols, module);

	return link ? link->space : 0;
}

bool symbols_bound(struct symbols *symbols, Dwfl_Module *from, const char *name, struct definition *out)
{
	struct definition own;

	if (!exported(from, name, NULL, &own))
		return false;
	*out = own;
	if (own.is_own || symbols_space(symbols, from) || is_symbolic(from))
		return true;
	if (!global_find(symbols, name, own.version, out))
		*out = own; /* loaded by the program: what is not in the global scope is its own */
	return true;
}

bool symbols_has_needed(struct symbols *symbols)
{
	size_t n;
	struct member *members = members_of(symbols, &n);
	const char *needed;
	GElf_Dyn entry;
	bool any = false, is_there = false;
	int i = 0;

	while (!is_there && dynamic_next(symbols->exe, DT_NEEDED, &i, &entry, &needed)) {
		any = true;
		for (size_t j = 0; needed && j < n; j++)
			is_there |= is_called(&members[j], needed);
	}
	free(members);
	return is_there || !any;
}
