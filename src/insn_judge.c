/* insn_judge.c owns the verdict on a hit: which operands of which instruction can have touched the watched
 * bytes, and what that says of the kind. Pure; where candidates differ, it says unknown. */
#include "watchprof/hit.h"
#include "watchprof/insn.h"
#include "watchprof/util.h"

#include <string.h>

#define STACK_WORD  8
#define GROUP_BYTES 64 /* of a fast string operation between two traps: a cache line */
#define DIRECTION   0x400U
#define HIT_UNKNOWN (HIT_READ_UNKNOWN | HIT_WRITE_UNKNOWN)

/* How an operand stands to the watched bytes. */
enum match {
	MATCH_NONE,
	MATCH_MAYBE, /* its address cannot be told */
	MATCH_NEAR,  /* in the group of steps that a string instruction has just made */
	MATCH_OFF,   /* there, but masked off */
	MATCH_SURE,
};

/* What an instruction's operands together may have done. */
struct sight {
	uint8_t sure, near, maybe, off; /* kinds */
	bool differs; /* near or maybe: operands of different kinds */
	uint8_t touched;
};

struct range {
	uint64_t addr, len;
};

static bool overlaps(struct range watched, uint64_t addr, uint64_t len)
{
	return addr < watched.addr + watched.len && watched.addr < addr + len;
}

HIT_PATH static uint64_t register_value(const struct user_regs_struct *regs, uint8_t number)
{
	const unsigned long long values[] = {regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp, regs->rbp,
		regs->rsi, regs->rdi, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13, regs->r14,
		regs->r15};

	return number < ARRAY_LEN(values) ? values[number] : 0;
}

static int64_t sign_extend(uint64_t value, unsigned bits)
{
	return bits == 0 || bits >= 64 ? (int64_t)value : (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* Intel SDM volume 2, "BT": the bit number's quotient selects the word that is accessed. */
static int64_t bits_moved(const struct insn_operand *op, const struct user_regs_struct *regs)
{
	int64_t bit, width = (int64_t)op->size * 8;

	if (op->bits == INSN_NO_REGISTER)
		return 0;
	bit = sign_extend(register_value(regs, op->bits), op->bits_width);
	return (bit >= 0 ? bit / width : -((width - 1 - bit) / width)) * op->size;
}

/* The address, but for the base of the segment, and for the index vector where there is one. */
HIT_PATH static uint64_t offset_of(const struct insn_operand *op, const struct user_regs_struct *regs)
{
	uint64_t offset = (uint64_t)op->disp + register_value(regs, op->base) +
		register_value(regs, op->index) * op->scale + (uint64_t)bits_moved(op, regs);

	return offset - (uint64_t)(regs->eflags & DIRECTION ? -(int64_t)op->step : op->step);
}

static uint64_t address_of(const struct insn_operand *op, const struct user_regs_struct *regs, uint64_t offset)
{
	if (op->is_narrow)
		offset = (uint32_t)offset;
	switch (op->segment) {
	case 'f':
		return offset + regs->fs_base;
	case 'g':
		return offset + regs->gs_base;
	default:
		return offset;
	}
}

uint64_t insn_operand_address(const struct insn_operand *op, const struct user_regs_struct *regs)
{
	return address_of(op, regs, offset_of(op, regs));
}

uint64_t insn_lane_address(const struct insn_operand *op, const struct insn_state *state, unsigned lane)
{
	const unsigned char *at = state->vectors->v[op->index_vector % 32] + (size_t)lane * op->index_element;
	uint64_t index = 0;

	memcpy(&index, at, op->index_element);
	index = (uint64_t)sign_extend(index, op->index_element * 8U);
	return address_of(op, state->regs, offset_of(op, state->regs) + index * op->scale);
}

/* The mask that counts may be cleared by now, element by element: it is not asked. */
static enum match match_spread(const struct insn_operand *op, const struct insn_state *state, struct range watched)
{
	if (!state->vectors)
		return MATCH_MAYBE;
	for (unsigned lane = 0; lane < op->n_elements; lane++) {
		if (overlaps(watched, insn_lane_address(op, state, lane), op->element))
			return MATCH_SURE;
	}
	return MATCH_NONE;
}

static bool has_mask(const struct insn_operand *op, const struct insn_state *state)
{
	return op->mask != INSN_NO_REGISTER && state->vectors;
}

bool insn_element_is_on(const struct insn_operand *op, const struct insn_vectors *vectors, unsigned i)
{
	if (op->is_vector_mask)
		return vectors->v[op->mask % 32][(i + 1) * op->element - 1] & 0x80;
	for (unsigned fold = 0; fold < op->folds; fold++) {
		if (vectors->k[op->mask % 8] >> (i + fold * op->n_elements) & 1)
			return true;
	}
	return false;
}

static enum match match_masked(const struct insn_operand *op, const struct insn_state *state, uint64_t addr,
	struct range watched)
{
	for (unsigned i = 0; i < op->n_elements; i++) {
		if (overlaps(watched, addr + (uint64_t)i * op->element, op->element) &&
			insn_element_is_on(op, state->vectors, i))
			return MATCH_SURE;
	}
	return MATCH_OFF;
}

static enum match match_packed(const struct insn_operand *op, const struct insn_state *state, uint64_t addr,
	struct range watched)
{
	unsigned n = 0;

	for (unsigned i = 0; i < op->n_elements; i++)
		n += insn_element_is_on(op, state->vectors, i);
	return overlaps(watched, addr, (uint64_t)n * op->element) && n ? MATCH_SURE : MATCH_OFF;
}

/* A string instruction may trap behind a group of steps (Intel SDM volume 3, "Data breakpoints", fast
 * strings). */
static enum match match_group(const struct insn_operand *op, const struct insn_state *state, uint64_t addr,
	struct range watched)
{
	uint64_t first = state->regs->eflags & DIRECTION ? addr : addr + op->size - GROUP_BYTES;

	return overlaps(watched, first, GROUP_BYTES) ? MATCH_NEAR : MATCH_NONE;
}

static enum match operand_match(const struct insn_operand *op, bool is_repeated, const struct insn_state *state,
	struct range watched)
{
	uint64_t addr;

	if (op->is_lost)
		return MATCH_MAYBE;
	if (op->lanes == LANES_SPREAD)
		return match_spread(op, state, watched);
	addr = insn_operand_address(op, state->regs);
	if (!overlaps(watched, addr, op->size))
		return is_repeated ? match_group(op, state, addr, watched) : MATCH_NONE;
	if (op->lanes == LANES_MASKED && has_mask(op, state))
		return match_masked(op, state, addr, watched);
	if (op->lanes == LANES_PACKED && has_mask(op, state))
		return match_packed(op, state, addr, watched);
	return MATCH_SURE;
}

/* Of an operand that matches for sure: is it certain that the element there was not left out? */
static uint8_t operand_touched(const struct insn_operand *op, const struct insn_state *state)
{
	switch (op->lanes) {
	case LANES_WHOLE:
		return TOUCHED_YES;
	case LANES_MASKED:
	case LANES_PACKED:
		return has_mask(op, state) && !op->is_lost ? TOUCHED_YES : TOUCHED_UNKNOWN;
	default:
		return TOUCHED_UNKNOWN;
	}
}

static void sight_note(struct sight *sight, const struct insn_operand *op, const struct insn_state *state)
{
	if (sight->touched != TOUCHED_YES)
		sight->touched = operand_touched(op, state);
}

static void possible_note(struct sight *sight, uint8_t *kinds, const struct insn_operand *op)
{
	sight->differs |= *kinds && *kinds != op->kind;
	*kinds |= op->kind;
}

HIT_PATH static struct sight insn_look(const struct insn *insn, const struct insn_state *state, struct range watched)
{
	struct sight sight = {0};

	for (unsigned i = 0; i < insn->n_operands; i++) {
		const struct insn_operand *op = &insn->operands[i];

		switch (operand_match(op, insn->is_repeated, state, watched)) {
		case MATCH_SURE:
			sight.sure |= op->kind;
			sight_note(&sight, op, state);
			break;
		case MATCH_NEAR:
			possible_note(&sight, &sight.near, op);
			break;
		case MATCH_MAYBE:
			possible_note(&sight, &sight.maybe, op);
			break;
		case MATCH_OFF:
			possible_note(&sight, &sight.off, op);
			break;
		case MATCH_NONE:
			break;
		}
	}
	return sight;
}

static uint8_t unknown_of(uint8_t kinds)
{
	return (uint8_t)((kinds & HIT_READ ? HIT_READ_UNKNOWN : 0) | (kinds & HIT_WRITE ? HIT_WRITE_UNKNOWN : 0));
}

static struct insn_access access_make(uint8_t kind, uint8_t touched)
{
	return (struct insn_access){.kind = kind, .touched = touched};
}

static struct insn_access unknown(void)
{
	return access_make(HIT_UNKNOWN, TOUCHED_UNKNOWN);
}

/* It is this instruction; what a possible operand would add is not known. */
static struct insn_access access_sure(const struct sight *sight)
{
	return access_make((uint8_t)(sight->sure | unknown_of(sight->maybe & (uint8_t)~sight->sure)), sight->touched);
}

/* One operand of those that are possible, whichever. */
static struct insn_access access_possible(const struct insn *insn, const struct insn_state *state,
	const struct sight *sight, uint8_t kinds)
{
	if (sight->differs)
		return access_make(unknown_of(kinds), TOUCHED_YES);
	return access_make(kinds, insn->n_operands == 1 ? operand_touched(&insn->operands[0], state) : TOUCHED_YES);
}

static struct insn_access access_at(struct insn_access access)
{
	access.is_at = true;
	return access;
}

/* May it have been interrupted by the trap, and go on later? QEMU stops there even behind the last step, when
 * rcx, the steps left, is 0. */
static bool is_under_way(const struct insn *insn)
{
	return insn->is_repeated || (insn->n_operands && insn->operands[0].lanes == LANES_SPREAD);
}

/* The first instruction of a function: a call led there, or a jump through a pointer (as the one of a
 * procedure linkage table). */
static struct insn_access judge_entry(const struct insn_place *place, const struct insn_state *state,
	struct range watched)
{
	struct sight sight = insn_look(&place->caller, state, watched);

	if (sight.sure)
		return access_sure(&sight);
	if (!place->caller.length && overlaps(watched, state->regs->rsp, STACK_WORD))
		return access_make(HIT_WRITE | HIT_READ_UNKNOWN, TOUCHED_YES);
	return access_make(HIT_READ, TOUCHED_YES);
}

/* Nothing in front of ip accesses memory: a branch led there. A return or a jump through a pointer
 * reads; only a call into the middle of a function would have written, its return address. */
static struct insn_access judge_branch(const struct insn_state *state, struct range watched)
{
	if (overlaps(watched, state->regs->rsp, STACK_WORD))
		return unknown();
	return access_make(HIT_READ, TOUCHED_YES);
}

HIT_PATH struct insn_access insn_judge(const struct insn_place *place, const struct insn_state *state, uint64_t addr,
	uint64_t len)
{
	bool is_ahead = place->before.length && place->before.flow == FLOW_NEXT && !place->is_entry;
	struct range watched = {addr, len};
	struct sight before = {0}, at = {0};

	if (is_ahead)
		before = insn_look(&place->before, state, watched);
	if (before.sure)
		return access_sure(&before);
	if (is_under_way(&place->at))
		at = insn_look(&place->at, state, watched);
	if (at.sure && !before.maybe)
		return access_at(access_sure(&at));
	if (at.sure || (at.near && before.maybe))
		return unknown();
	if (before.maybe)
		return access_possible(&place->before, state, &before, before.maybe);
	if (before.near)
		return access_possible(&place->before, state, &before, before.near);
	if (before.off)
		return access_make(before.off, TOUCHED_NO);
	if (at.near)
		return access_at(access_possible(&place->at, state, &at, at.near));
	if (place->is_entry)
		return judge_entry(place, state, watched);
	if (place->before.length && !is_under_way(&place->at) && (!is_ahead || (place->before.n_operands == 0 && !place->before.is_hint)))
		return judge_branch(state, watched);
	return unknown();
}

HIT_PATH bool insn_is_plain(const struct insn_place *place, uint64_t addr, uint64_t len)
{
	const struct insn *insn = &place->before;
	const struct insn_operand *op = &insn->operands[0];

	return !place->is_entry && insn->length && insn->flow == FLOW_NEXT && !insn->is_repeated && insn->n_operands == 1 &&
		op->lanes == LANES_WHOLE && op->mask == INSN_NO_REGISTER && op->bits == INSN_NO_REGISTER && !op->is_lost &&
		op->base == INSN_NO_REGISTER && op->index == INSN_NO_REGISTER && !op->segment && !op->is_narrow &&
		overlaps((struct range){addr, len}, (uint64_t)op->disp, op->size);
}

bool insn_covers(const struct insn_place *place, const struct insn_state *state, uint64_t addr, uint64_t len,
	struct insn_access *out)
{
	struct range watched = {addr, len};
	struct sight sight = {0};
	bool is_at;

	if (place->is_entry)
		sight = insn_look(&place->caller, state, watched);
	else if (place->before.length && place->before.flow == FLOW_NEXT)
		sight = insn_look(&place->before, state, watched);
	is_at = !sight.sure && !sight.maybe && is_under_way(&place->at);
	if (is_at)
		sight = insn_look(&place->at, state, watched);
	*out = access_sure(&sight);
	out->is_at = is_at;
	return sight.sure && sight.touched == TOUCHED_YES;
}

bool insn_needs_vectors(const struct insn *insn)
{
	for (unsigned i = 0; i < insn->n_operands; i++) {
		if (insn->operands[i].lanes == LANES_SPREAD || insn->operands[i].mask != INSN_NO_REGISTER)
			return true;
	}
	return false;
}
