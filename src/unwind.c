/* unwind.c owns the walk along the frames, and the only use of libunwind: its generic (remote)
 * unwinder, with accessors of our own over the copied stack. The walk goes by paths walked before (unwind_trail.c), or
 * by rows (unwind_cfi.c, kept by unwind_cache.c); libunwind is asked where a row is an expression, as in procedure linkage
 * tables, and for code whose file cannot be opened. Without rules it never guesses. */
#include "unwind_private.h"

#include "watchprof/maps_watch.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

/* The library exports its search in a remote binary-search table under the name that this macro
 * makes; its installed headers do not declare it. */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
int search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info,
	unw_proc_info_t *out, int need_unwind_info, void *arg);

#define ENTRIES_MAX       256
#define TABLE_ENTRY_WORDS 2 /* of 4 bytes: start of function, its FDE */
#define CHECK_PERIOD      (NS_PER_S / 10)
#define CHECK_SHARE       50 /* the time between two checks, in times of what one takes */

struct unwinder {
	unw_addr_space_t space; /* NULL: not needed yet */
	struct map map;
	bool is_read;
	struct row_cache *rows;
	struct trail *trail;
	struct maps_watch *watch; /* made at the first check */
	uint64_t check_due_ns;
	struct {
		uint64_t ip;
		bool is_entry;
	} entries[ENTRIES_MAX]; /* by a hash of ip */
	/* The unwind under way. */
	struct frame *frame;
	const struct stack_image *stack;
	size_t n_stack;
	struct unwinding *out;
};

/* The registers of one frame; what is not known of callers has no bit in known. */
struct frame {
	uint64_t reg[DWARF_REGS];
	uint32_t known;
	bool is_exact; /* the next instruction to run, not the one behind a call */
};

/* --- mappings --------------------------------------------------------------------------------- */

static void maps_renew(struct unwinder *unwinder)
{
	bool is_changed = map_read(&unwinder->map);

	unwinder->is_read = true;
	if (!is_changed)
		return;
	row_cache_clear(unwinder->rows);
	trail_clear(unwinder->trail);
	memset(unwinder->entries, 0, sizeof(unwinder->entries));
	if (unwinder->space)
		unw_flush_cache(unwinder->space, 0, 0);
}

static bool is_missed(const struct map *map, uint64_t addr)
{
	for (size_t i = 0; i < MISSED_MAX; i++) {
		if (map->missed[i] == addr >> 12)
			return true;
	}
	return false;
}

/* The mapping with an address; if none is known, they may have changed. */
HIT_PATH static const struct area *area_find(struct unwinder *unwinder, uint64_t addr)
{
	struct map *map = &unwinder->map;
	const struct area *area = map_search(map, addr);

	if (area || (unwinder->is_read && is_missed(map, addr)))
		return area;
	maps_renew(unwinder);
	area = map_search(map, addr);
	if (!area)
		map->missed[map->n_missed++ % MISSED_MAX] = addr >> 12;
	return area;
}

void unwinder_flush(struct unwinder *unwinder)
{
	maps_renew(unwinder);
}

HIT_PATH void unwinder_check(struct unwinder *unwinder, uint64_t now_ns)
{
	uint64_t start, pause;

	if (now_ns < unwinder->check_due_ns)
		return;
	start = clock_now_ns();
	if (!unwinder->watch) {
		unwinder->watch = maps_watch_new(unwinder->map.pid);
		maps_renew(unwinder);
	} else if (maps_watch_changed(unwinder->watch)) {
		maps_renew(unwinder);
	}
	pause = (clock_now_ns() - start) * CHECK_SHARE;
	unwinder->check_due_ns = now_ns + (pause > CHECK_PERIOD ? pause : CHECK_PERIOD);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A word of the stack. It comes from the copies: the live one may have moved on. */
static bool stack_word(struct unwinder *unwinder, uint64_t addr, uint64_t *value)
{
	struct unwinding *out = unwinder->out;

	for (size_t i = 0; i < unwinder->n_stack; i++) {
		const struct stack_image *image = &unwinder->stack[i];
		uint64_t offset = addr - image->start;

		if (image->len < sizeof(*value) || offset > image->len - sizeof(*value))
			continue;
		memcpy(value, image->bytes + offset, sizeof(*value));
		if (i == 0 && offset + sizeof(*value) > out->used)
			out->used = offset + sizeof(*value);
		return true;
	}
	out->is_short = true;
	out->missing = addr;
	return false;
}

/* --- libunwind -------------------------------------------------------------------------------- */

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *out,
	int need_unwind_info, void *arg)
{
	struct unwinder *unwinder = arg;
	const struct area *area = area_find(unwinder, ip);
	unw_dyn_info_t info = {0};

	if (!area || !area->table)
		return -UNW_ENOINFO;
	info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	info.start_ip = area->start;
	info.end_ip = area->end;
	info.u.rti.segbase = area->table;
	info.u.rti.table_data = area->table_start;
	info.u.rti.table_len =
		area->n_entries * TABLE_ENTRY_WORDS * sizeof(uint32_t) / sizeof(unw_word_t);
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

/* Unwind tables, code at a signal frame, pointers to personality routines are constant and come
 * from the process or its files; everything else is stack. */
static int access_mem(
	unw_addr_space_t space, unw_word_t addr, unw_word_t *value, int write, void *arg)
{
	struct unwinder *unwinder = arg;
	const struct area *area;

	(void)space;
	if (write)
		return -UNW_EREADONLYREG;
	area = map_search(&unwinder->map, addr);
	if (area && area->bytes)
		return map_bytes(&unwinder->map, addr, value, sizeof(*value)) ? 0 : -UNW_EINVAL;
	return stack_word(unwinder, addr, value) ? 0 : -UNW_EINVAL;
}

/* libunwind numbers these registers as DWARF does. */
static int access_reg(
	unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write, void *arg)
{
	const struct unwinder *unwinder = arg;
	const struct frame *frame = unwinder->frame;

	(void)space;
	if (write)
		return -UNW_EREADONLYREG;
	if (reg < 0 || reg > DWARF_RA || !(frame->known & 1U << reg))
		return -UNW_EBADREG;
	*value = frame->reg[reg];
	if (reg == DWARF_RA)
		*value -= !frame->is_exact; /* its rules are those of the call in front */
	return 0;
}

static int access_fpreg(
	unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write, void *arg)
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

/* libunwind's view of the process; made when it is needed first, as it takes much memory. */
static unw_addr_space_t library_space(struct unwinder *unwinder)
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

	if (unwinder->space)
		return unwinder->space;
	unwinder->space = unw_create_addr_space(&accessors, 0);
	if (!unwinder->space)
		die("out of memory (libunwind)");
	unw_set_caching_policy(unwinder->space, UNW_CACHE_GLOBAL);
	return unwinder->space;
}

struct unwinder *unwinder_new(pid_t pid)
{
	struct unwinder *unwinder = mem_new(1, sizeof(*unwinder));

	unwinder->map.pid = pid;
	unwinder->rows = row_cache_new();
	unwinder->trail = trail_new();
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	if (unwinder->space)
		unw_destroy_addr_space(unwinder->space);
	row_cache_free(unwinder->rows);
	trail_free(unwinder->trail);
	map_free(&unwinder->map);
	maps_watch_free(unwinder->watch);
	free(unwinder);
}

static struct cfi *module_cfi(struct module *module)
{
	if (!module->is_looked_at) {
		module->is_looked_at = true;
		module->cfi = cfi_new(module->image, module->len);
	}
	return module->cfi;
}

bool unwind_function(struct unwinder *unwinder, uint64_t ip, uint64_t *start)
{
	const struct area *area = area_find(unwinder, ip);
	struct unwinding nothing;
	unw_proc_info_t info;
	struct cfi *cfi;
	bool is_found;

	unwinder->out = &nothing;
	unwinder->n_stack = 0;
	is_found = find_proc_info(library_space(unwinder), ip, &info, 0, unwinder) == 0;
	unwinder->out = NULL;
	if (is_found) {
		*start = info.start_ip;
		return true;
	}
	/* Programs that are static have no search table. */
	cfi = area && area->is_code && area->module && !area->table ? module_cfi(area->module) : NULL;
	if (!cfi || !cfi_function(cfi, ip + area->to_vaddr, start))
		return false;
	*start -= area->to_vaddr;
	return true;
}

HIT_PATH bool unwind_is_entry(struct unwinder *unwinder, uint64_t ip)
{
	size_t i = (ip ^ ip >> 8) % ENTRIES_MAX;
	uint64_t start;

	if (unwinder->entries[i].ip == ip)
		return unwinder->entries[i].is_entry;
	unwinder->entries[i].is_entry = unwind_function(unwinder, ip, &start) && start == ip;
	unwinder->entries[i].ip = ip; /* at last: the search may have cleared all */
	return unwinder->entries[i].is_entry;
}

HIT_PATH size_t unwind_code(struct unwinder *unwinder, uint64_t addr, void *out, size_t len)
{
	const struct area *area = area_find(unwinder, addr);
	ssize_t n;

	if (area && area->bytes) {
		if (len > area->end - addr)
			len = area->end - addr;
		memcpy(out, area->bytes + (addr - area->start), len);
		return len;
	}
	n = sys_memory_read(unwinder->map.pid, addr, out, len);
	return n > 0 ? (size_t)n : 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* `mov $__NR_rt_sigreturn,%rax; syscall`: what a signal handler returns to, in every C library; the
 * kernel's documentation names no other way. musl's has no unwind rules. */
#define SIGRETURN_SYSCALL 7 /* where in it the second instruction is */
static const unsigned char sigreturn_code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

/* The kernel's signal frame (struct rt_sigframe): the handler's return has left the stack pointer
 * at the saved context. */
#define SAVED(reg, context)                                                                        \
	{                                                                                          \
		reg, RULE_AT, DWARF_RSP,                                                           \
			(int32_t)(offsetof(ucontext_t, uc_mcontext.gregs) +                        \
				  (context) * sizeof(greg_t))                                      \
	}
static const struct row sigreturn_row = {
	.kind = ROW_RULES,
	.is_signal = true,
	.n = 17,
	.cfa = SAVED(DWARF_CFA, REG_RSP),
	.rules = {SAVED(DWARF_RA, REG_RIP), SAVED(0, REG_RAX), SAVED(1, REG_RDX), SAVED(2, REG_RCX),
		SAVED(DWARF_RBX, REG_RBX), SAVED(4, REG_RSI), SAVED(5, REG_RDI),
		SAVED(DWARF_RBP, REG_RBP), SAVED(DWARF_RSP, REG_RSP), SAVED(8, REG_R8),
		SAVED(9, REG_R9), SAVED(10, REG_R10), SAVED(11, REG_R11), SAVED(12, REG_R12),
		SAVED(13, REG_R13), SAVED(14, REG_R14), SAVED(15, REG_R15)},
};
#undef SAVED

static bool is_sigreturn(const struct area *area, uint64_t ip)
{
	return area->bytes && ip >= area->start && area->end - ip >= sizeof(sigreturn_code) &&
	       memcmp(area->bytes + (ip - area->start), sigreturn_code, sizeof(sigreturn_code)) ==
		       0;
}

/* The row of a frame that has not been seen before. */
static struct row row_make(const struct area *area, uint64_t ip, bool is_exact)
{
	struct cfi *cfi;
	struct row row = {.kind = ROW_NONE};

	/* A restorer without rules may stand right behind a function that has some. */
	if (!is_exact && is_sigreturn(area, ip))
		return sigreturn_row;
	cfi = module_cfi(area->module);
	if (cfi)
		cfi_row(cfi, ip - !is_exact + area->to_vaddr, &row);
	if (row.kind == ROW_NONE &&
		(is_sigreturn(area, ip) || is_sigreturn(area, ip - SIGRETURN_SYSCALL)))
		return sigreturn_row; /* it stands in there itself */
	return row;
}

/* The row of a frame; NULL: there are no rules. Only code of files has rows that stay; what a
 * compiler at run time wrote has none at all. */
static const struct row *row_find(struct unwinder *unwinder, const struct frame *frame)
{
	uint64_t ip = frame->reg[DWARF_RA], key = ip << 1 | frame->is_exact;
	const struct row *row = row_cache_find(unwinder->rows, key);
	const struct area *area;
	struct row made;

	if (row)
		return row;
	area = area_find(unwinder, ip - !frame->is_exact);
	if (!area || !area->is_code || !area->module)
		return NULL;
	made = row_make(area, ip, frame->is_exact);
	return row_cache_put(unwinder->rows, key, &made);
}

/* --- the walk --------------------------------------------------------------------------------- */

static bool rule_value(struct unwinder *unwinder, const struct frame *frame,
	const struct rule *rule, uint64_t *value)
{
	if (rule->kind == RULE_UNDEFINED || !(frame->known & 1U << rule->base))
		return false;
	*value = frame->reg[rule->base] + (uint64_t)(int64_t)rule->offset;
	return rule->kind == RULE_IS || stack_word(unwinder, *value, value);
}

/* From a frame to its caller by the row. A register that cannot be had is not known there; without
 * frame address or return address there is no caller. */
static bool step_by_row(struct unwinder *unwinder, const struct row *row, struct frame *frame)
{
	struct frame caller;

	if (!rule_value(unwinder, frame, &row->cfa, &frame->reg[DWARF_CFA]))
		return false;
	frame->known |= 1U << DWARF_CFA;
	caller = *frame;
	caller.reg[DWARF_RSP] = frame->reg[DWARF_CFA];
	for (unsigned i = 0; i < row->n; i++) {
		const struct rule *rule = &row->rules[i];

		caller.known |= 1U << rule->reg;
		if (rule_value(unwinder, frame, rule, &caller.reg[rule->reg]))
			continue;
		if (rule->kind != RULE_UNDEFINED)
			return false;
		caller.known &= ~(1U << rule->reg);
	}
	*frame = caller;
	frame->is_exact = row->is_signal;
	return true;
}

/* The same by libunwind, of which a new cursor is made at the frame. */
static bool step_by_library(struct unwinder *unwinder, const struct row *row, struct frame *frame)
{
	static const unw_regnum_t kept[] = {UNW_X86_64_RBX, UNW_X86_64_RBP, UNW_X86_64_RSP,
		UNW_X86_64_R12, UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15, UNW_X86_64_RIP};
	const struct area *area = area_find(unwinder, frame->reg[DWARF_RA]);
	struct frame caller = {.is_exact = row->is_signal};
	unw_cursor_t cursor;
	unw_word_t value;

	if (!area || !area->table)
		return false; /* it would guess */
	unwinder->frame = frame;
	if (unw_init_remote(&cursor, library_space(unwinder), unwinder) || unw_step(&cursor) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		if (unw_get_reg(&cursor, kept[i], &value))
			continue;
		caller.reg[kept[i]] = value;
		caller.known |= 1U << kept[i];
	}
	*frame = caller;
	return frame->known & 1U << DWARF_RA && frame->known & 1U << DWARF_RSP;
}

static void frame_start(struct frame *frame, const struct user_regs_struct *regs)
{
	*frame = (struct frame){
		.reg = {regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi, regs->rbp,
			regs->rsp, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13,
			regs->r14, regs->r15, regs->rip},
		.known = (1U << DWARF_CFA) - 1,
		.is_exact = true,
	};
}

/* One frame on. False: the path ends here, and out says how. */
static bool path_step(struct unwinder *unwinder, struct frame *frame, struct trail_walk *walk, struct unwinding *out)
{
	const struct row *row = row_find(unwinder, frame);
	uint64_t sp = frame->reg[DWARF_RSP];
	bool is_signal;

	if (!row || row->kind == ROW_NONE)
		return false;
	is_signal = row->is_signal; /* the row may go away meanwhile */
	if (row->kind == ROW_END) {
		trail_end(unwinder->trail, walk);
		out->end = PATH_WHOLE;
		return false;
	}
	trail_rules(unwinder->trail, walk, row, frame->reg);
	if (is_signal)
		out->signals[(out->n - 1) / 64] |= 1ULL << (out->n - 1) % 64;
	if (row->kind == ROW_LIBRARY ? !step_by_library(unwinder, row, frame)
				     : !step_by_row(unwinder, row, frame))
		return false;
	if (frame->reg[DWARF_RA] == 0) {
		out->end = PATH_WHOLE;
		return false;
	}
	/* No progress: callers' frames lie at higher addresses, but for what a signal interrupted,
	 * which may have had another stack. */
	if (frame->reg[DWARF_RSP] <= sp && !is_signal && out->n > 1)
		return false;
	if (out->n == out->max) {
		out->end = PATH_TRUNCATED;
		return false;
	}
	trail_caller(unwinder->trail, walk, frame->reg[DWARF_RA]);
	return true;
}

HIT_PATH bool unwind_known(struct unwinder *unwinder, uint64_t ip, uint64_t sp, const struct stack_image *stack,
	struct unwinding *out)
{
	const uint64_t regs[DWARF_REGS] = {[DWARF_RA] = ip, [DWARF_RSP] = sp};

	memset(out->signals, 0, sizeof(out->signals));
	out->is_short = out->lacks_regs = false;
	out->frames[0] = ip;
	return trail_follow(unwinder->trail, regs, 1U << DWARF_RA | 1U << DWARF_RSP, stack, out);
}

void unwind_path(struct unwinder *unwinder, const struct user_regs_struct *regs,
	const struct stack_image *stack, size_t n, struct unwinding *out)
{
	struct trail_walk walk;
	struct frame frame;

	unwinder->stack = stack;
	unwinder->n_stack = n;
	unwinder->out = out;
	out->end = PATH_BROKEN;
	out->is_short = false;
	out->used = 0;
	memset(out->signals, 0, sizeof(out->signals));
	frame_start(&frame, regs);
	out->frames[0] = regs->rip;
	if (n > 0 && trail_follow(unwinder->trail, frame.reg, frame.known, stack, out))
		return;
	trail_begin(unwinder->trail, frame.reg, &walk);
	out->n = 1;
	out->used = 0;
	while (path_step(unwinder, &frame, &walk, out))
		out->frames[out->n++] = frame.reg[DWARF_RA];
	if (out->is_short)
		out->end = PATH_TRUNCATED;
}
