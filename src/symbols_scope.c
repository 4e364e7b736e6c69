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
	Elf_Data *needs; /* those that it needs: a copy of a library's variable has one of these */
	size_t names_link, needs_link;
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
	section = section_of(elf, SHT_GNU_verneed, &header);
	versions.needs = section ? elf_getdata(section, NULL) : NULL;
	versions.needs_link = section ? header.sh_link : 0;
	return versions;
}

/* The version of this number among those that a module needs of one library; NULL: it is not there. */
static const char *need_version(Elf *elf, const struct versions *versions, int at, unsigned count, GElf_Versym number)
{
	GElf_Vernaux need;

	while (count-- && gelf_getvernaux(versions->needs, at, &need)) {
		if (need.vna_other == number)
			return elf_strptr(elf, versions->needs_link, need.vna_name);
		if (!need.vna_next)
			break;
		at += (int)need.vna_next;
	}
	return NULL;
}

static const char *needed_version(Elf *elf, const struct versions *versions, GElf_Versym number)
{
	GElf_Verneed library;
	const char *found;
	int at = 0;

	while (number > 1 && versions->needs && gelf_getverneed(versions->needs, at, &library)) {
		found = need_version(elf, versions, at + (int)library.vn_aux, library.vn_cnt, number);
		if (found || !library.vn_next)
			return found;
		at += (int)library.vn_next;
	}
	return NULL;
}

/* Tell which version a symbol is defined with. */
static void version_take(Elf *elf, const struct versions *versions, int symbol, struct definition *out)
{
	GElf_Versym number;
	GElf_Verdef definition;
	GElf_Verdaux name;
	int at = 0;

	out->is_default = true;
	if (!versions->index || !gelf_getversym(versions->index, symbol, &number))
		return;
	out->is_default = !(number & 0x8000);
	number &= 0x7fff;
	while (number > 1 && versions->names && gelf_getverdef(versions->names, at, &definition)) {
		if (definition.vd_ndx == number) {
			if (gelf_getverdaux(versions->names, at + (int)definition.vd_aux, &name))
				out->version = elf_strptr(elf, versions->names_link, name.vda_name);
			return;
		}
		if (!definition.vd_next)
			break;
		at += (int)definition.vd_next;
	}
	out->version = needed_version(elf, versions, number);
	out->is_copy = out->version != NULL;
}

/* The next definition that a module exports under a name, from symbol *i + 1 on. */
static bool exported_next(Dwfl_Module *module, const char *name, int *i, struct definition *out)
{
	GElf_Addr bias = 0;
	Elf *elf = module ? dwfl_module_getelf(module, &bias) : NULL;
	GElf_Shdr header;
	Elf_Scn *section = section_of(elf, SHT_DYNSYM, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	struct versions versions = versions_of(elf);
	GElf_Sym symbol;

	while (data && gelf_getsym(data, ++*i, &symbol)) {
		const char *found = elf_strptr(elf, header.sh_link, symbol.st_name);

		if (symbol.st_shndx == SHN_UNDEF || GELF_ST_BIND(symbol.st_info) == STB_LOCAL || !found ||
			strcmp(found, name) != 0)
			continue;
		*out = (struct definition){.module = module,
			.addr = symbol.st_value +
				(GELF_ST_TYPE(symbol.st_info) == STT_TLS ? 0 : bias),
			.size = symbol.st_size,
			.is_own = GELF_ST_VISIBILITY(symbol.st_other) != STV_DEFAULT,
			.is_unique = GELF_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE};
		version_take(elf, &versions, *i, out);
		return true;
	}
	return false;
}

/* What a module exports under a name and a version (NULL: the default one); a definition without a version
 * serves for all. */
static bool exported(Dwfl_Module *module, const char *name, const char *version, struct definition *out)
{
	for (int i = 0; exported_next(module, name, &i, out);) {
		if (version && out->version ? strcmp(version, out->version) == 0 : out->is_default)
			return true;
	}
	return false;
}

bool symbols_version(Dwfl_Module *module, const char *name, uint64_t addr, const char *version, struct definition *out)
{
	struct definition definition;
	bool is_found = false;

	for (int i = 0; exported_next(module, name, &i, &definition);) {
		bool is_meant = version ? definition.version && strcmp(definition.version, version) == 0
					: definition.is_default;

		if (definition.addr != addr || (is_found && !is_meant))
			continue;
		*out = definition;
		is_found = true;
	}
	return is_found;
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
		members[(*n)++] = member_of(module_at(symbols, links[i].dynamic));
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

/* A unique variable is that of the module that was loaded first, wherever that looks for others (elf/dl-lookup.c
 * of glibc, do_lookup_unique). */
static void unique_find(struct symbols *symbols, const char *name, struct definition *out)
{
	size_t n;
	struct member *members = members_of(symbols, &n);
	struct definition first;

	for (size_t i = 0; i < n; i++) {
		if (exported(members[i].module, name, out->version, &first) && first.is_unique) {
			*out = first;
			break;
		}
	}
	free(members);
}

unsigned symbols_space(struct symbols *symbols, Dwfl_Module *module)
{
	const struct link *link = symbols_link(symbols, module);

	return link ? link->space : 0;
}

bool symbols_bound(struct symbols *symbols, Dwfl_Module *from, const char *name, const char *version, struct definition *out)
{
	struct definition own;

	if (!exported(from, name, version, &own))
		return false;
	*out = own;
	if (own.is_own || symbols_space(symbols, from) || is_symbolic(from))
		return true;
	if (global_find(symbols, name, own.version, out))
		return true;
	*out = own; /* loaded by the program: what is not in the global scope is its own */
	if (own.is_unique)
		unique_find(symbols, name, out);
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
