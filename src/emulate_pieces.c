/* emulate_pieces.c owns which bytes of memory an instruction accesses, element by element where it has a mask or an
 * index vector, and carries them between the tracee and the buffer. */
#include "emulate_private.h"

#include "watchprof/hit.h"
#include "watchprof/util.h"

#include <string.h>

#define CACHE_LINE   64
#define VECTOR_BYTES 64

HIT_PATH static bool is_full(const struct emulate_run *run)
{
	return run->out->n_accesses == EMULATE_ACCESSES_MAX;
}

/* A piece that continues the last one becomes part of it. */
HIT_PATH static void piece_put(struct emulate_run *run, const struct emulate_access *access, uint16_t offset)
{
	struct emulate_outcome *out = run->out;
	struct emulate_access *last = &out->accesses[out->n_accesses - 1];

	if (out->n_accesses && run->plan->operands[0].lanes == LANES_MASKED && last->kind == access->kind &&
		last->addr + last->len == access->addr) {
		last->len += access->len;
		return;
	}
	if (is_full(run)) {
		out->is_known = false;
		return;
	}
	run->offsets[out->n_accesses] = offset;
	out->accesses[out->n_accesses++] = *access;
}

HIT_PATH static void piece_add(struct emulate_run *run, const struct insn_operand *op, uint64_t addr, uint32_t len,
	unsigned offset)
{
	const struct emulate_access access = {addr, len, op->kind};

	piece_put(run, &access, (uint16_t)offset);
}

HIT_PATH static uint64_t address_of(const struct emulate_run *run, const struct insn_operand *op)
{
	struct user_regs_struct regs;
	uint64_t addr;

	if (run->plan->is_xlat) {
		regs = run->regs;
		regs.rbx += regs.rax & 0xff;
		return insn_operand_address(op, &regs);
	}
	addr = insn_operand_address(op, &run->regs);
	return run->plan->is_line ? addr & ~(uint64_t)(CACHE_LINE - 1) : addr;
}

/* insn.c names vector registers; an MMX register takes the place of the one with its number, which no instruction of
 * MMX has for a mask. */
static void mmx_mask_fill(struct emulate_run *run)
{
	unsigned number = run->plan->operands[0].mask;

	if (run->plan->is_mmx_mask)
		memcpy(run->emulator->vectors.v[number % 8], emulate_state_mmx(run, number), 8);
}

static void elements_add(struct emulate_run *run, const struct insn_operand *op)
{
	const struct insn_vectors *vectors = &run->emulator->vectors;
	const struct insn_state state = {&run->regs, vectors};
	uint64_t addr = op->lanes == LANES_SPREAD ? 0 : address_of(run, op);
	unsigned n = 0;

	for (unsigned i = 0; i < op->n_elements; i++) {
		unsigned offset = i * op->element;

		if (!insn_element_is_on(op, vectors, i))
			continue;
		n++;
		if (op->lanes == LANES_MASKED)
			piece_add(run, op, addr + offset, op->element, offset);
		else if (op->lanes == LANES_SPREAD)
			piece_add(run, op, insn_lane_address(op, &state, i), op->element, offset);
	}
	if (op->lanes == LANES_PACKED && n)
		piece_add(run, op, addr, n * op->element, 0);
}

HIT_PATH static bool needs_elements(const struct emulate_plan *plan)
{
	for (unsigned i = 0; i < plan->n_operands; i++) {
		if (plan->operands[i].lanes != LANES_WHOLE && plan->operands[i].lanes != LANES_LOOSE)
			return true;
	}
	return false;
}

HIT_PATH enum emulate_result emulate_pieces(struct emulate_run *run)
{
	const struct emulate_plan *plan = run->plan;

	run->out->is_repeated = plan->is_repeated;
	run->out->is_known = plan->way != WAY_STEP || !plan->is_repeated;
	if (plan->way >= WAY_MOVS) {
		emulate_string_pieces(run);
		return EMULATE_DONE;
	}
	if (needs_elements(plan)) {
		if (!run->emulator->processor.parts) {
			run->out->is_known = false;
			return EMULATE_STEP;
		}
		if (!emulate_state_get(run, LEVEL_X))
			return EMULATE_FAULT;
		mmx_mask_fill(run);
	}
	for (unsigned i = 0; i < plan->n_operands; i++) {
		const struct insn_operand *op = &plan->operands[i];

		if (op->lanes == LANES_WHOLE || op->lanes == LANES_LOOSE)
			piece_add(run, op, address_of(run, op), op->size, 0);
		else
			elements_add(run, op);
		if (op->lanes == LANES_LOOSE)
			run->out->is_known = false;
	}
	return EMULATE_DONE;
}

HIT_PATH bool emulate_pieces_read(struct emulate_run *run)
{
	unsigned char *buffer = run->emulator->frame->buffer;
	const struct insn_operand *op = &run->plan->operands[0];

	if (op->lanes != LANES_WHOLE)
		memset(buffer, 0, 2 * (size_t)VECTOR_BYTES);
	for (unsigned i = 0; i < run->out->n_accesses; i++) {
		const struct emulate_access *access = &run->out->accesses[i];

		if ((access->kind & HIT_READ || run->plan->is_partial) &&
			!emulate_read(run, access->addr, buffer + run->offsets[i], access->len))
			return false;
	}
	return true;
}

/* Several pieces: what was written before one that is refused is put back. */
static bool pieces_write_all(struct emulate_run *run)
{
	const struct emulate_outcome *out = run->out;
	unsigned char former[EMULATE_ACCESSES_MAX][VECTOR_BYTES];
	unsigned i;

	for (i = 0; i < out->n_accesses; i++) {
		if (!emulate_read(run, out->accesses[i].addr, former[i], out->accesses[i].len))
			return false;
	}
	for (i = 0; i < out->n_accesses; i++) {
		if (!emulate_write(run, out->accesses[i].addr, run->emulator->frame->buffer + run->offsets[i],
			    out->accesses[i].len))
			break;
	}
	if (i == out->n_accesses)
		return true;
	while (i-- > 0)
		emulate_write(run, out->accesses[i].addr, former[i], out->accesses[i].len);
	return false;
}

HIT_PATH bool emulate_pieces_write(struct emulate_run *run)
{
	const struct emulate_outcome *out = run->out;

	if (out->n_accesses == 0 || !(out->accesses[0].kind & HIT_WRITE))
		return true;
	if (out->n_accesses > 1)
		return pieces_write_all(run);
	return emulate_write(run, out->accesses[0].addr, run->emulator->frame->buffer + run->offsets[0],
		out->accesses[0].len);
}
