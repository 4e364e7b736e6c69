/* call_table.c owns the reading of the table of system calls: it makes a plan of the pieces of
 * memory that a call touches. It reads memory of the process by the callback only, and changes
 * nothing. */
#include "watchprof/call_table.h"

#include "call_private.h"
#include "watchprof/util.h"

#include <string.h>

#define PAGE          4096
#define ADDRESS_END   (1ULL << 56) /* of user memory, with page tables of five levels */
#define ADDRESS_FIRST 65536        /* vm.mmap_min_addr: what is less is a number */
#define VAGUE_LEN     PAGE
#define PATH_LEN      4096   /* PATH_MAX, with the NUL */
#define EXEC_LEN      131072 /* MAX_ARG_STRLEN */
#define IOVECS_MAX    1024   /* UIO_MAXIOV: more are refused */
#define NO_ARGUMENT   (-1)

struct planner {
	const struct call_memory *memory;
	const uint64_t *args;
	struct call_plan *out;
};

/* Where a pointer stands: in a register, or in memory. */
struct place {
	int8_t argument;
	int16_t parent;
	uint64_t pointer_at;
};

static struct place place_register(const struct call_rule *rule)
{
	return (struct place){.argument = (int8_t)rule->argument, .parent = CALL_NO_PARENT};
}

static struct place place_memory(int parent, uint64_t pointer_at)
{
	return (struct place){
		.argument = NO_ARGUMENT, .parent = (int16_t)parent, .pointer_at = pointer_at};
}

/* The number that argument by of a rule stands for. */
static uint64_t count_get(const struct planner *p, unsigned by)
{
	uint64_t value = p->args[by & 7];

	return by & CALL_INT ? (uint32_t)value : value;
}

/* base + count * size, kept within what fits into memory. */
static uint64_t length_of(uint64_t count, uint64_t size, uint64_t base)
{
	return count > ADDRESS_END / (size ? size : 1) ? ADDRESS_END : base + count * size;
}

/* Copy memory of the caller. False, and the plan is noted as bad, where there is none. */
static bool plan_read(struct planner *p, uint64_t addr, void *out, size_t len)
{
	if (p->memory->read(p->memory->context, addr, out, len))
		return true;
	p->out->is_bad = true;
	return false;
}

/* Add a piece: its index, or -1 where there is nothing at this pointer or no room. piece has what
 * is beside its place. */
static int piece_add(struct planner *p, struct place place, struct call_piece piece)
{
	if (!piece.addr || !piece.len || piece.addr >= ADDRESS_END)
		return -1;
	if (p->out->n == CALL_PIECES_MAX) {
		p->out->is_complete = false;
		return -1;
	}
	piece.argument = place.argument;
	piece.parent = place.parent;
	piece.pointer_at = place.pointer_at;
	piece.len = piece.len < ADDRESS_END - piece.addr ? piece.len : ADDRESS_END - piece.addr;
	p->out->pieces[p->out->n] = piece;
	return (int)p->out->n++;
}

/* The piece that a rule's argument points to. */
static int rule_piece(struct planner *p, const struct call_rule *rule, uint64_t len)
{
	return piece_add(p, place_register(rule),
		(struct call_piece){.addr = p->args[rule->argument],
			.len = len,
			.direction = rule->direction,
			.back = rule->back,
			.scale = rule->scale,
			.base = rule->base,
			.back_needs = rule->back_needs});
}

/* Bytes that are only read. */
static int piece_in(struct planner *p, struct place place, uint64_t addr, uint64_t len)
{
	return piece_add(
		p, place, (struct call_piece){.addr = addr, .len = len, .direction = CALL_IN});
}

static void plan_bytes(struct planner *p, const struct call_rule *rule)
{
	rule_piece(p, rule, rule->size);
}

static void plan_count(struct planner *p, const struct call_rule *rule)
{
	rule_piece(p, rule, length_of(count_get(p, rule->by), rule->size, rule->base));
}

/* A value and its length in memory, which the kernel may change. */
static void plan_count_at(struct planner *p, const struct call_rule *rule)
{
	struct call_rule length = INOUT(rule->by, sizeof(uint32_t));
	uint64_t at = p->args[rule->by];
	uint32_t count = 0;
	int value;

	if (!p->args[rule->argument] && !at)
		return;
	if (at && !plan_read(p, at, &count, sizeof(count)))
		return;
	value = rule_piece(p, rule, length_of((int32_t)count < 0 ? 0 : count, rule->size, 0));
	if (value >= 0) {
		p->out->pieces[value].value_at = at;
		p->out->pieces[value].value_size = sizeof(count);
	}
	rule_piece(p, &length, sizeof(count));
}

/* The length of a string with its NUL, limit if it is longer; 0: it cannot be read. */
static uint64_t string_length(struct planner *p, uint64_t addr, uint64_t limit)
{
	char text[256];
	uint64_t len = 0;

	while (len < limit) {
		uint64_t part = PAGE - (addr + len) % PAGE;
		const char *end;

		part = part < sizeof(text) ? part : sizeof(text);
		part = part < limit - len ? part : limit - len;
		if (!plan_read(p, addr + len, text, part))
			return 0;
		end = memchr(text, 0, part);
		if (end)
			return len + (uint64_t)(end - text) + 1;
		len += part;
	}
	return limit + 1;
}

static void string_add(
	struct planner *p, struct place place, uint64_t addr, uint64_t limit, bool is_cut)
{
	uint64_t len = addr ? string_length(p, addr, limit) : 0;

	if (len > limit && !is_cut)
		p->out->is_complete = false;
	piece_in(p, place, addr, len > limit ? limit : len);
}

static void plan_string(struct planner *p, const struct call_rule *rule)
{
	string_add(p, place_register(rule), p->args[rule->argument],
		rule->size ? rule->size : PATH_LEN, rule->size);
}

static void plan_strings(struct planner *p, const struct call_rule *rule)
{
	uint64_t at = p->args[rule->argument], list[CALL_PIECES_MAX];
	size_t n = 0;
	int parent;

	if (!at)
		return;
	do {
		if (n == ARRAY_LEN(list)) {
			p->out->is_complete = false;
			return;
		}
		if (!plan_read(p, at + n * sizeof(list[0]), &list[n], sizeof(list[0])))
			return;
	} while (list[n++]);
	parent = piece_in(p, place_register(rule), at, n * sizeof(list[0]));
	for (size_t i = 0; parent >= 0 && i + 1 < n; i++)
		string_add(p, place_memory(parent, at + i * sizeof(list[0])), list[i], EXEC_LEN,
			false);
}

static void plan_bits(struct planner *p, const struct call_rule *rule)
{
	uint64_t bits = count_get(p, rule->by);

	bits = bits > rule->size ? bits - rule->size : 0;
	rule_piece(p, rule, bits > ADDRESS_END ? ADDRESS_END : (bits + 63) / 64 * 8);
}

static void plan_pages(struct planner *p, const struct call_rule *rule)
{
	uint64_t len = count_get(p, rule->by);

	rule_piece(p, rule, len / PAGE + (len % PAGE != 0));
}

/* A row of buffers: struct iovec, count times. one tells of the buffers what is the same for all.
 */
static void iovec_add(
	struct planner *p, struct place place, uint64_t at, uint64_t count, struct call_piece one)
{
	struct {
		uint64_t base, len;
	} list[CALL_PIECES_MAX];
	int parent;

	if (!at || !count || count > IOVECS_MAX)
		return;
	if (count > ARRAY_LEN(list)) {
		p->out->is_complete = false;
		return;
	}
	if (!plan_read(p, at, list, count * sizeof(list[0])))
		return;
	parent = piece_in(p, place, at, count * sizeof(list[0]));
	if (parent < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		one.addr = list[i].base;
		one.len = list[i].len;
		piece_add(p, place_memory(parent, at + i * sizeof(list[0])), one);
		one.before += list[i].len;
	}
}

static void plan_iovec(struct planner *p, const struct call_rule *rule)
{
	bool is_out = rule->direction == CALL_OUT;

	iovec_add(p, place_register(rule), p->args[rule->argument], count_get(p, rule->by),
		(struct call_piece){.direction = rule->direction,
			.back = is_out ? BACK_RESULT : BACK_CHANGED,
			.scale = 1});
}

/* Buffers of another process are none of ours, unless that is the caller. */
static void plan_iovec_remote(struct planner *p, const struct call_rule *rule)
{
	const struct call_memory *memory = p->memory;
	struct call_piece one = {.direction = rule->direction, .is_fixed = !memory->is_self};

	if (rule->direction == CALL_OUT) {
		one.back = BACK_RESULT;
		one.scale = 1;
	}
	if (memory->is_self && !memory->is_self(memory->context, (int32_t)p->args[0]))
		one.direction = 0;
	iovec_add(p, place_register(rule), p->args[rule->argument], count_get(p, rule->by), one);
}

static void plan_regset(struct planner *p, const struct call_rule *rule)
{
	struct {
		uint64_t base, len;
	} buffer;
	uint64_t at = p->args[rule->argument];
	int parent;

	if (!at || !plan_read(p, at, &buffer, sizeof(buffer)))
		return;
	parent = piece_add(p, place_register(rule),
		(struct call_piece){
			.addr = at, .len = sizeof(buffer), .direction = CALL_IN | CALL_OUT});
	if (parent >= 0)
		piece_add(p, place_memory(parent, at),
			(struct call_piece){.addr = buffer.base,
				.len = buffer.len,
				.direction = rule->direction});
}

/* struct user_msghdr of the kernel. */
struct message {
	uint64_t name;
	uint32_t name_len, pad;
	uint64_t iov, iov_len, control, control_len;
	uint32_t flags, pad_too;
};

/* What is in a message whose header stands at addr, within the piece parent. length tells of its
 * buffers how far they are filled. */
static void message_add(
	struct planner *p, int parent, uint64_t addr, unsigned direction, struct call_piece length)
{
	struct message message;
	struct call_piece name = {.direction = (uint8_t)direction,
		.back = BACK_VALUE,
		.value_at = addr + offsetof(struct message, name_len),
		.value_size = sizeof(message.name_len),
		.back_needs = length.back_needs};

	if (!plan_read(p, addr, &message, sizeof(message)))
		return;
	name.addr = message.name;
	name.len = (int32_t)message.name_len < 0 ? 0 : message.name_len;
	piece_add(p, place_memory(parent, addr + offsetof(struct message, name)), name);
	piece_add(p, place_memory(parent, addr + offsetof(struct message, control)),
		(struct call_piece){.addr = message.control,
			.len = message.control_len,
			.direction = (uint8_t)direction,
			.back_needs = length.back_needs});
	iovec_add(p, place_memory(parent, addr + offsetof(struct message, iov)), message.iov,
		message.iov_len, length);
}

static void plan_msghdr(struct planner *p, const struct call_rule *rule)
{
	uint64_t addr = p->args[rule->argument];
	int parent = piece_add(p, place_register(rule),
		(struct call_piece){.addr = addr,
			.len = sizeof(struct message),
			.direction = CALL_IN | rule->direction});

	if (parent >= 0)
		message_add(p, parent, addr, rule->direction,
			(struct call_piece){
				.direction = rule->direction, .back = BACK_RESULT, .scale = 1});
}

static void plan_mmsghdr(struct planner *p, const struct call_rule *rule)
{
	struct {
		struct message message;
		uint32_t len, pad;
	} *one = NULL;
	uint64_t addr = p->args[rule->argument], n = count_get(p, rule->by);
	int parent;

	n = n < IOVECS_MAX ? n : IOVECS_MAX;
	parent = piece_add(p, place_register(rule),
		(struct call_piece){
			.addr = addr, .len = n * sizeof(*one), .direction = CALL_IN | CALL_OUT});
	for (size_t i = 0; parent >= 0 && i < n && p->out->is_complete && !p->out->is_bad; i++) {
		uint64_t at = addr + i * sizeof(*one);

		message_add(p, parent, at, rule->direction,
			(struct call_piece){.direction = rule->direction,
				.back = BACK_VALUE,
				.value_at = at + sizeof(struct message),
				.value_size = sizeof(one->len),
				.back_needs = (uint32_t)i + 1});
	}
}

static void plan_sigset_pack(struct planner *p, const struct call_rule *rule)
{
	uint64_t at = p->args[rule->argument], pack[2];
	int parent;

	if (!at || !plan_read(p, at, pack, sizeof(pack)))
		return;
	parent = piece_in(p, place_register(rule), at, sizeof(pack));
	if (parent >= 0)
		piece_in(p, place_memory(parent, at), pack[0], pack[1]);
}

static void plan_handle(struct planner *p, const struct call_rule *rule)
{
	uint64_t at = p->args[rule->argument];
	uint32_t len;

	if (at && plan_read(p, at, &len, sizeof(len)))
		rule_piece(p, rule, 8 + (len > 128 ? 0 : len)); /* MAX_HANDLE_SZ */
}

static void plan_attributes(struct planner *p, const struct call_rule *rule)
{
	uint64_t at = p->args[rule->argument];
	struct call_rule plain = *rule;
	uint32_t len;

	plain.base = 0;
	if (at && plan_read(p, at + rule->base, &len, sizeof(len)))
		rule_piece(p, &plain, len ? len : rule->size);
}

#define CAPABILITY_VERSION_1 0x19980330
#define CAPABILITY_WORDS     12 /* bytes of struct user_cap_data */

static void plan_capabilities(struct planner *p, const struct call_rule *rule)
{
	uint32_t version;

	if (!p->args[0] || !plan_read(p, p->args[0], &version, sizeof(version)))
		return;
	rule_piece(
		p, rule, version == CAPABILITY_VERSION_1 ? CAPABILITY_WORDS : 2 * CAPABILITY_WORDS);
}

#define FLAG_PIDFD          0x00001000U /* CLONE_PIDFD */
#define FLAG_PARENT_SETTID  0x00100000U
#define FLAG_CHILD_CLEARTID 0x00200000U
#define FLAG_CHILD_SETTID   0x01000000U

/* The word that the child gets its number written to, and zeroed at its end. */
static void child_tid_add(struct planner *p, struct place place, uint64_t addr, uint64_t flags)
{
	if (flags & (FLAG_CHILD_SETTID | FLAG_CHILD_CLEARTID))
		piece_add(p, place,
			(struct call_piece){.addr = addr,
				.len = 4,
				.direction = flags & FLAG_CHILD_SETTID ? CALL_OUT : 0,
				.is_fixed = true});
}

static void tid_add(struct planner *p, struct place place, uint64_t addr)
{
	piece_add(p, place,
		(struct call_piece){.addr = addr,
			.len = 4,
			.direction = CALL_OUT,
			.back = BACK_WHOLE,
			.back_needs = 1});
}

static void plan_clone(struct planner *p, const struct call_rule *rule)
{
	uint64_t flags = p->args[0];

	(void)rule;
	if (flags & (FLAG_PARENT_SETTID | FLAG_PIDFD))
		tid_add(p, (struct place){.argument = 2, .parent = CALL_NO_PARENT}, p->args[2]);
	child_tid_add(
		p, (struct place){.argument = 3, .parent = CALL_NO_PARENT}, p->args[3], flags);
}

static void plan_clone_args(struct planner *p, const struct call_rule *rule)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
			set_tid, set_tid_size, cgroup;
	} clone = {0};
	uint64_t at = p->args[rule->argument], len = p->args[rule->by];
	int parent;

	if (!at || !plan_read(p, at, &clone, len < sizeof(clone) ? len : sizeof(clone)))
		return;
	parent = rule_piece(p, rule, len);
	if (parent < 0)
		return;
	if (clone.flags & FLAG_PIDFD)
		tid_add(p, place_memory(parent, at + 8), clone.pidfd);
	child_tid_add(p, place_memory(parent, at + 16), clone.child_tid, clone.flags);
	if (clone.flags & FLAG_PARENT_SETTID)
		tid_add(p, place_memory(parent, at + 24), clone.parent_tid);
	piece_in(p, place_memory(parent, at + 64), clone.set_tid,
		length_of(clone.set_tid_size, 4, 0));
}

#define NOTIFY_THREAD 2 /* SIGEV_THREAD */

static void plan_sigevent(struct planner *p, const struct call_rule *rule)
{
	struct {
		uint64_t value;
		uint32_t signal, notify;
	} event;
	struct call_rule plain = *rule;
	uint64_t at = p->args[rule->argument];
	int parent;

	if (!at || !plan_read(p, at, &event, sizeof(event)))
		return;
	plain.base = 0;
	parent = rule_piece(p, &plain, rule->size);
	if (parent >= 0 && rule->base && event.notify == NOTIFY_THREAD)
		piece_in(p, place_memory(parent, at), event.value, rule->base);
}

/* The words of others are looked up for writing: see call_options.c. */
static struct call_piece waiter_piece(uint64_t word, uint32_t flags)
{
	bool is_read = (flags & (CALL_FUTEX_PRIVATE | CALL_FUTEX_NUMA)) == CALL_FUTEX_PRIVATE;

	return (struct call_piece){.addr = word,
		.len = flags & CALL_FUTEX_NUMA ? 8 : 4,
		.direction = is_read ? CALL_IN : CALL_IN | CALL_OUT,
		.is_fixed = true};
}

static void plan_waiters(struct planner *p, const struct call_rule *rule)
{
	struct {
		uint64_t value, word;
		uint32_t flags, pad;
	} list[128]; /* FUTEX_WAITV_MAX */
	uint64_t at = p->args[rule->argument], n = rule->size ? rule->size : count_get(p, rule->by);
	int parent;

	if (!at || !n || n > ARRAY_LEN(list) || !plan_read(p, at, list, n * sizeof(list[0])))
		return;
	parent = piece_in(p, place_register(rule), at, n * sizeof(list[0]));
	for (size_t i = 0; parent >= 0 && i < n; i++)
		piece_add(p, place_memory(parent, at + i * sizeof(list[0]) + 8),
			waiter_piece(list[i].word, list[i].flags));
}

static void plan_xattr(struct planner *p, const struct call_rule *rule)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} value;
	uint64_t at = p->args[rule->argument], len = p->args[rule->by];
	int parent;

	if (!at || len < sizeof(value) || !plan_read(p, at, &value, sizeof(value)))
		return;
	parent = piece_in(p, place_register(rule), at, len);
	if (parent >= 0)
		piece_add(p, place_memory(parent, at),
			(struct call_piece){.addr = value.value,
				.len = value.size,
				.direction = rule->direction,
				.back = BACK_RESULT,
				.scale = 1});
}

static void plan_fixed(struct planner *p, const struct call_rule *rule)
{
	int piece = rule_piece(p, rule, rule->size);

	if (piece >= 0)
		p->out->pieces[piece].is_fixed = true;
}

static void plan_vague(struct planner *p, const struct call_rule *rule)
{
	int piece = p->args[rule->argument] < ADDRESS_FIRST ? -1 : rule_piece(p, rule, VAGUE_LEN);

	if (piece >= 0)
		p->out->pieces[piece].is_fixed = true;
}

/* Bytes that are mapped otherwise afterwards: whole pages. */
static void range_add(struct planner *p, struct place place, uint64_t addr, uint64_t len)
{
	len = len > ADDRESS_END ? ADDRESS_END : (len + addr % PAGE + PAGE - 1) / PAGE * PAGE;
	piece_add(p, place,
		(struct call_piece){.addr = addr / PAGE * PAGE,
			.len = len,
			.direction = CALL_IN | CALL_OUT | CALL_MAPPED,
			.is_fixed = true});
}

static void plan_range(struct planner *p, const struct call_rule *rule)
{
	range_add(p, place_register(rule), p->args[rule->argument], p->args[rule->by]);
}

#define FLAG_MAP_FIXED 0x10 /* and not MAP_FIXED_NOREPLACE, which replaces nothing */

static void plan_mmap(struct planner *p, const struct call_rule *rule)
{
	if (p->args[3] & FLAG_MAP_FIXED)
		plan_range(p, rule);
}

#define FLAG_MREMAP_FIXED 2

static void plan_mremap(struct planner *p, const struct call_rule *rule)
{
	plan_range(p, rule);
	if (p->args[3] & FLAG_MREMAP_FIXED)
		range_add(p, (struct place){.argument = 4, .parent = CALL_NO_PARENT}, p->args[4],
			p->args[2]);
}

/* Where the heap ends is not known here: it may lose all that is behind. 0 only asks. */
#define HEAP_MAX (1ULL << 40)

static void plan_brk(struct planner *p, const struct call_rule *rule)
{
	range_add(p, place_register(rule), p->args[0], HEAP_MAX);
}

typedef void plan_rule(struct planner *p, const struct call_rule *rule);

static plan_rule *const rule_plans[] = {
	[RULE_BYTES] = plan_bytes,
	[RULE_COUNT] = plan_count,
	[RULE_COUNT_AT] = plan_count_at,
	[RULE_STRING] = plan_string,
	[RULE_STRINGS] = plan_strings,
	[RULE_BITS] = plan_bits,
	[RULE_PAGES] = plan_pages,
	[RULE_IOVEC] = plan_iovec,
	[RULE_IOVEC_REMOTE] = plan_iovec_remote,
	[RULE_REGSET] = plan_regset,
	[RULE_MSGHDR] = plan_msghdr,
	[RULE_MMSGHDR] = plan_mmsghdr,
	[RULE_SIGSET_PACK] = plan_sigset_pack,
	[RULE_HANDLE] = plan_handle,
	[RULE_ATTRIBUTES] = plan_attributes,
	[RULE_CLONE] = plan_clone,
	[RULE_CLONE_ARGS] = plan_clone_args,
	[RULE_CAPABILITIES] = plan_capabilities,
	[RULE_SIGEVENT] = plan_sigevent,
	[RULE_WAITERS] = plan_waiters,
	[RULE_XATTR] = plan_xattr,
	[RULE_RANGE] = plan_range,
	[RULE_MMAP] = plan_mmap,
	[RULE_MREMAP] = plan_mremap,
	[RULE_BRK] = plan_brk,
	[RULE_FIXED] = plan_fixed,
	[RULE_VAGUE] = plan_vague,
};

static void rules_plan(struct planner *p, const struct call_rule *rules)
{
	for (size_t i = 0; i < CALL_RULES_MAX && rules[i].kind != RULE_NONE; i++)
		rule_plans[rules[i].kind](p, &rules[i]);
}

static void options_plan(struct planner *p, const struct call_options *options)
{
	uint32_t value = (uint32_t)p->args[options->selector] & options->mask;

	for (size_t i = 0; i < options->n; i++) {
		const struct call_option *option = &options->list[i];

		if (option->value != value)
			continue;
		rules_plan(p, option->rules);
		if (option->class != CALL_PLAIN)
			p->out->class = option->class;
		p->out->looks_once |= option->looks_once;
		p->out->is_complete &= !option->is_incomplete;
		return;
	}
	if (options->is_lifted &&
		(options->address & CALL_ANY || p->args[options->address] >= ADDRESS_FIRST))
		p->out->is_complete = false;
}

static const struct call_entry *entry_get(uint64_t nr)
{
	return nr < call_entries_end && call_entries[nr].name ? &call_entries[nr] : NULL;
}

/* Pages that stay in use, or addresses that the kernel keeps, cannot be those of a scratch area. */
static bool entry_pins(const struct call_entry *entry, const uint64_t *args)
{
	return entry->is_pinned || entry->class == CALL_REGISTERS_POINTER ||
	       args[entry->pins_argument] & entry->pins_mask;
}

void call_plan(uint64_t nr, const uint64_t args[CALL_ARGUMENTS], const struct call_memory *memory,
	struct call_plan *out)
{
	const struct call_entry *entry = entry_get(nr);
	struct planner planner = {.memory = memory, .args = args, .out = out};

	out->nr = nr;
	out->n = 0;
	out->is_bad = false;
	out->class = entry ? entry->class : CALL_UNKNOWN;
	out->looks_once = entry && entry->looks_once;
	out->is_complete = entry && !entry->is_incomplete;
	if (!entry)
		return;
	rules_plan(&planner, entry->rules);
	if (entry->options)
		options_plan(&planner, entry->options);
	if (entry_pins(entry, args)) {
		for (size_t i = 0; i < out->n; i++)
			out->pieces[i].is_fixed = true;
	}
}

bool call_is_error(int64_t result)
{
	return result < 0 && result >= -4095;
}

bool call_is_restarted(int64_t result)
{
	return result <= -512 && result >= -516;
}

static uint64_t part_of(uint64_t total, uint64_t before, uint64_t len)
{
	uint64_t left = total > before ? total - before : 0;

	return left < len ? left : len;
}

uint64_t call_written(const struct call_piece *piece, int64_t result, uint64_t value)
{
	if (!(piece->direction & CALL_OUT) || piece->direction & CALL_MAPPED)
		return 0;
	if (piece->back == BACK_CHANGED)
		return !call_is_error(result) && result < (int64_t)piece->back_needs ? 0
										     : piece->len;
	if (call_is_error(result) || result < (int64_t)piece->back_needs)
		return 0;
	if (piece->back == BACK_RESULT)
		return part_of(length_of((uint64_t)result, piece->scale, piece->base),
			piece->before, piece->len);
	if (piece->back == BACK_VALUE)
		return part_of(value, piece->before, piece->len);
	return piece->len;
}
