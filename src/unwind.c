/* unwind.c owns the only use of libunwind: its generic (remote) unwinder, with accessors of
 * our own over the copied stack, and the search for a module's unwind table. */
#include "watchprof/unwind.h"

#include "watchprof/hit.h"
#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <elf.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The library exports its search in a remote binary-search table under the name that this macro
 * makes; its installed headers do not declare it. */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
int search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info,
	unw_proc_info_t *out, int need_unwind_info, void *arg);

/* One mapping. Of executable ones, the .eh_frame_hdr of the file they belong to. */
struct area {
	uint64_t start, end;
	bool is_code;
	bool is_live; /* private memory that changes while the process runs: stacks, heap */
	/* What the mapping holds, of constant ones: the file mapped here as well, or a copy of the
	 * vdso. It outlives the process, whose last hits are unwound after its end. */
	const unsigned char *bytes;
	bool is_copy;
	uint64_t table;	      /* address of .eh_frame_hdr; 0: the file has none */
	uint64_t table_start; /* address of the first entry of its search table */
	uint64_t n_entries;
};

#define ENTRIES_MAX 256

struct unwinder {
	pid_t pid;
	unw_addr_space_t space;
	struct area *areas; /* by address */
	size_t n_areas;
	bool is_read;
	struct {
		uint64_t ip;
		bool is_entry;
	} entries[ENTRIES_MAX]; /* by a hash of ip */
	uint64_t missed_page; /* the last page found in no mapping */
	/* The unwind under way. */
	const struct user_regs_struct *regs;
	const struct stack_image *stack;
	int stack_short;
};

/* The head of .eh_frame_hdr, as the Linux Standard Base (core, "Exception Frames") lays it out,
 * in the only form that has a table which can be searched. */
struct eh_frame_hdr {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
} __attribute__((packed));

#define PAGE_BYTES		4096
#define ENCODING_UDATA4		0x03
#define ENCODING_DATAREL_SDATA4 0x3b
#define TABLE_ENTRY_WORDS	2 /* of 4 bytes: start of function, its FDE */

static const struct area *area_search(const struct unwinder *unwinder, uint64_t addr);

/* Constant memory of the process, from our own view of it where there is one. */
static bool target_read(const struct unwinder *unwinder, uint64_t addr, void *out, size_t len)
{
	const struct area *area = area_search(unwinder, addr);

	if (area && area->bytes && area->end - addr >= len) {
		memcpy(out, area->bytes + (addr - area->start), len);
		return true;
	}
	return sys_memory_read(unwinder->pid, addr, out, len) == (ssize_t)len;
}

/* Read the table's head; a table in another form is as good as none. */
static void table_read(const struct unwinder *unwinder, struct area *area, uint64_t addr)
{
	struct eh_frame_hdr head;

	if (!target_read(unwinder, addr, &head, sizeof(head)) || head.version != 1 ||
		head.count_encoding != ENCODING_UDATA4 || head.table_encoding != ENCODING_DATAREL_SDATA4)
		return;
	area->table = addr;
	area->table_start = addr + sizeof(head);
	area->n_entries = head.count;
}

/* Find PT_GNU_EH_FRAME through the program headers that are mapped at base, where the file
 * begins. The load bias is base minus the address that the first segment asks for. */
static void table_find(const struct unwinder *unwinder, struct area *area, uint64_t base)
{
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	uint64_t table = 0, first = UINT64_MAX;

	if (!target_read(unwinder, base, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG))
		return;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (!target_read(unwinder, base + head.e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
			return;
		if (segment.p_type == PT_LOAD && segment.p_vaddr - segment.p_offset < first)
			first = segment.p_vaddr - segment.p_offset;
		if (segment.p_type == PT_GNU_EH_FRAME)
			table = segment.p_vaddr;
	}
	if (table && first != UINT64_MAX)
		table_read(unwinder, area, base - first + table);
}

static void areas_free(struct unwinder *unwinder)
{
	for (size_t i = 0; i < unwinder->n_areas; i++) {
		struct area *area = &unwinder->areas[i];

		if (area->is_copy)
			free((void *)area->bytes);
		else if (area->bytes)
			munmap((void *)area->bytes, area->end - area->start);
	}
	free(unwinder->areas);
	unwinder->areas = NULL;
	unwinder->n_areas = 0;
}

/* Get a view of a constant mapping: tables and code, not what programs write to. A file that
 * ends before the mapping does (replaced in place) would fault, and is left out. */
static void area_view(const struct unwinder *unwinder, struct area *area, const struct procfs_map *map)
{
	uint64_t len = map->end - map->start;
	struct stat st;
	char *name;
	void *view;
	int fd;

	if (map->writable || !map->readable)
		return;
	if (strcmp(map->path, "[vdso]") == 0) {
		area->bytes = mem_new(1, len);
		area->is_copy = true;
		sys_memory_read(unwinder->pid, map->start, (void *)area->bytes, len);
	}
	if (map->path[0] != '/')
		return;
	fd = procfs_map_open(unwinder->pid, map, &name);
	free(name);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (uint64_t)st.st_size + PAGE_BYTES > map->offset + len) {
		view = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, (off_t)map->offset);
		if (view != MAP_FAILED)
			area->bytes = view;
	}
	close(fd);
}

static void areas_read(struct unwinder *unwinder)
{
	size_t n, base = 0;
	struct procfs_map *maps = procfs_maps(unwinder->pid, &n);

	unwinder->is_read = true;
	if (!maps)
		return; /* it has ended: what is known stays */
	areas_free(unwinder);
	unwinder->areas = mem_new(n, sizeof(*unwinder->areas));
	unwinder->n_areas = n;
	for (size_t i = 0; i < n; i++) {
		unwinder->areas[i] = (struct area){.start = maps[i].start,
			.end = maps[i].end,
			.is_code = maps[i].executable,
			.is_live = maps[i].writable && maps[i].path[0] != '/'};
		area_view(unwinder, &unwinder->areas[i], &maps[i]);
	}
	for (size_t i = 0; i < n; i++) {
		/* The mapping of a file's beginning stands before those of its other parts. */
		if (maps[i].offset == 0)
			base = i;
		if (maps[i].executable && maps[i].path[0] && strcmp(maps[base].path, maps[i].path) == 0)
			table_find(unwinder, &unwinder->areas[i], maps[base].start);
	}
	procfs_maps_free(maps, n);
}

static const struct area *area_search(const struct unwinder *unwinder, uint64_t ip)
{
	size_t low = 0, high = unwinder->n_areas;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (ip >= unwinder->areas[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == unwinder->n_areas || ip < unwinder->areas[low].start)
		return NULL;
	return &unwinder->areas[low];
}

static const struct area *area_find(struct unwinder *unwinder, uint64_t ip)
{
	const struct area *area = area_search(unwinder, ip);

	if (area || (unwinder->is_read && unwinder->missed_page == ip >> 12))
		return area;
	areas_read(unwinder);
	area = area_search(unwinder, ip);
	if (!area)
		unwinder->missed_page = ip >> 12;
	return area;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *out,
	int need_unwind_info, void *arg)
{
	const struct area *area = area_find(arg, ip);
	unw_dyn_info_t info = {0};

	if (!area || !area->table)
		return -UNW_ENOINFO;
	info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	info.start_ip = area->start;
	info.end_ip = area->end;
	info.u.rti.segbase = area->table;
	info.u.rti.table_data = area->table_start;
	info.u.rti.table_len = area->n_entries * TABLE_ENTRY_WORDS * sizeof(uint32_t) / sizeof(unw_word_t);
	return search_unwind_table(space, ip, &info, out, need_unwind_info, arg);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
	(void)space;
	(void)info;
	(void)arg;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *out, void *arg)
{
	(void)space;
	(void)out;
	(void)arg;
	return -UNW_ENOINFO;
}

/* The stack comes from the copy; the live one has moved on. Everything else (unwind tables,
 * code at a signal frame, pointers to personality routines) is constant and comes from the
 * process. Live memory beyond the copy must not be read late. */
static int access_mem(unw_addr_space_t space, unw_word_t addr, unw_word_t *value, int write, void *arg)
{
	struct unwinder *unwinder = arg;
	const struct stack_image *stack = unwinder->stack;
	const struct area *area;

	(void)space;
	if (write)
		return -UNW_EREADONLYREG;
	if (addr >= stack->start && addr - stack->start + sizeof(*value) <= stack->len) {
		memcpy(value, stack->bytes + (addr - stack->start), sizeof(*value));
		return 0;
	}
	area = area_find(unwinder, addr);
	if (area && area->is_live) {
		unwinder->stack_short = 1;
		return -UNW_EINVAL;
	}
	return target_read(unwinder, addr, value, sizeof(*value)) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write, void *arg)
{
	static const size_t offsets[] = {
#define REG(unw, user) [unw] = offsetof(struct user_regs_struct, user) + 1
		REG(UNW_X86_64_RAX, rax), REG(UNW_X86_64_RDX, rdx), REG(UNW_X86_64_RCX, rcx),
		REG(UNW_X86_64_RBX, rbx), REG(UNW_X86_64_RSI, rsi), REG(UNW_X86_64_RDI, rdi),
		REG(UNW_X86_64_RBP, rbp), REG(UNW_X86_64_RSP, rsp), REG(UNW_X86_64_R8, r8),
		REG(UNW_X86_64_R9, r9),	  REG(UNW_X86_64_R10, r10), REG(UNW_X86_64_R11, r11),
		REG(UNW_X86_64_R12, r12), REG(UNW_X86_64_R13, r13), REG(UNW_X86_64_R14, r14),
		REG(UNW_X86_64_R15, r15), REG(UNW_X86_64_RIP, rip),
#undef REG
	};
	const struct unwinder *unwinder = arg;

	(void)space;
	if (write)
		return -UNW_EREADONLYREG;
	if (reg < 0 || (size_t)reg >= ARRAY_LEN(offsets) || !offsets[reg])
		return -UNW_EBADREG;
	memcpy(value, (const char *)unwinder->regs + offsets[reg] - 1, sizeof(*value));
	return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
	void *arg)
{
	(void)space;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
	(void)space;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t addr, char *name, size_t len,
	unw_word_t *offset, void *arg)
{
	(void)space;
	(void)addr;
	(void)name;
	(void)len;
	(void)offset;
	(void)arg;
	return -UNW_ENOINFO;
}

struct unwinder *unwinder_new(pid_t pid)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	struct unwinder *unwinder = mem_new(1, sizeof(*unwinder));

	unwinder->pid = pid;
	unwinder->space = unw_create_addr_space(&accessors, 0);
	if (!unwinder->space)
		die("out of memory (libunwind)");
	unw_set_caching_policy(unwinder->space, UNW_CACHE_GLOBAL);
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	unw_destroy_addr_space(unwinder->space);
	areas_free(unwinder);
	free(unwinder);
}

void unwinder_flush(struct unwinder *unwinder)
{
	areas_read(unwinder);
	memset(unwinder->entries, 0, sizeof(unwinder->entries));
	unwinder->missed_page = 0;
	unw_flush_cache(unwinder->space, 0, 0);
}

bool unwind_is_entry(struct unwinder *unwinder, uint64_t ip)
{
	size_t i = (ip ^ ip >> 8) % ENTRIES_MAX;
	struct stack_image nothing = {0};
	unw_proc_info_t info;

	if (unwinder->entries[i].ip == ip)
		return unwinder->entries[i].is_entry;
	unwinder->stack = &nothing;
	unwinder->entries[i].ip = ip;
	unwinder->entries[i].is_entry =
		find_proc_info(unwinder->space, ip, &info, 0, unwinder) == 0 && info.start_ip == ip;
	return unwinder->entries[i].is_entry;
}

/* May the unwinder go on from this frame? Without a table the library would guess along
 * frame pointers that may not be there. */
static bool has_rules(struct unwinder *unwinder, uint64_t ip)
{
	const struct area *area = area_find(unwinder, ip);

	return area && area->table;
}

size_t unwind_path(struct unwinder *unwinder, const struct user_regs_struct *regs,
	const struct stack_image *stack, uint64_t *frames, size_t max, uint8_t *path,
	int *stack_short)
{
	unw_cursor_t cursor;
	unw_word_t ip = regs->rip, sp = regs->rsp, next_ip, next_sp;
	bool is_signal;
	size_t n = 0;
	int step;

	unwinder->regs = regs;
	unwinder->stack = stack;
	unwinder->stack_short = 0;
	frames[n++] = ip;
	*path = PATH_BROKEN;
	if (unw_init_remote(&cursor, unwinder->space, unwinder))
		goto out;
	for (;;) {
		if (!has_rules(unwinder, ip))
			break;
		is_signal = unw_is_signal_frame(&cursor) > 0; /* may lie on a stack of its own */
		step = unw_step(&cursor);
		if (step < 0)
			break;
		if (step == 0 || unw_get_reg(&cursor, UNW_REG_IP, &next_ip) || next_ip == 0) {
			*path = PATH_WHOLE;
			break;
		}
		if (unw_get_reg(&cursor, UNW_REG_SP, &next_sp) || (next_sp <= sp && !is_signal && n > 1))
			break; /* no progress: the callers' frames lie at higher addresses */
		if (n == max) {
			*path = PATH_TRUNCATED;
			break;
		}
		frames[n++] = ip = next_ip;
		sp = next_sp;
	}
out:
	*stack_short = unwinder->stack_short;
	if (unwinder->stack_short)
		*path = PATH_TRUNCATED;
	return n;
}
