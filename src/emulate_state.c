/* emulate_state.c owns the vector registers and floating-point state of the tracee while an instruction runs: taken
 * from its callbacks into the frame, compared behind the instruction, and given back only where they changed.
 * Sources: Intel SDM volume 1, chapter "Managing state using the XSAVE feature set"; "FXSAVE" in volume 2. */
#include "emulate_private.h"

#include "watchprof/util.h"

#include <string.h>

#define HEADER	      512
#define HEADER_BYTES  64
#define FX_BYTES      512
#define FX_CONTROL    0
#define FX_STATUS     2
#define FX_OPCODE     6
#define FX_IP	      8
#define FX_DATA	      16
#define FX_MXCSR      24
#define FX_MASK	      28
#define FX_X87	      32
#define FX_XMM	      160
#define FX_END	      416 /* what follows belongs to the system */
#define REGISTER_STEP 16 /* between the x87 registers */
#define PART_X87      0x1U
#define PART_SSE      0x2U
#define PART_YMM      0x4U
#define PART_K	      0x20U
#define PART_ZMM_HIGH 0x40U
#define PART_ZMM_MORE 0x80U
#define X87_INITIAL   0x37f
#define X87_MASKS     0x3fU
#define X87_PENDING   0x80U
#define MXCSR_MASKS   0x1f80U

/* Where a part lies in an area. */
struct part {
	uint64_t bit;
	uint32_t offset, len;
};

#define PARTS_MAX 4

static unsigned parts_list(const struct emulate_processor *processor, struct part parts[PARTS_MAX])
{
	const struct part all[PARTS_MAX] = {
		{PART_YMM, processor->layout.ymm, 256},
		{PART_K, processor->layout.k, 64},
		{PART_ZMM_HIGH, processor->layout.zmm_high, 512},
		{PART_ZMM_MORE, processor->layout.zmm_more, 1024},
	};
	unsigned n = 0;

	for (unsigned i = 0; i < PARTS_MAX; i++) {
		if (processor->parts & all[i].bit)
			parts[n++] = all[i];
	}
	return n;
}

/* Parts in their initial state need not be written in the area: here they are. */
static void area_fill(struct emulator *emulator)
{
	unsigned char *in = emulator->frame->in;
	struct part parts[PARTS_MAX];
	unsigned n = parts_list(&emulator->processor, parts);
	const uint16_t control = X87_INITIAL;
	uint64_t set;

	memcpy(&set, in + HEADER, sizeof(set));
	if (!(set & PART_X87)) {
		memset(in, 0, FX_MXCSR);
		memset(in + FX_X87, 0, FX_XMM - FX_X87);
		memcpy(in + FX_CONTROL, &control, sizeof(control));
	}
	if (!(set & PART_SSE))
		memset(in + FX_XMM, 0, FX_END - FX_XMM);
	for (unsigned i = 0; i < n; i++) {
		if (!(set & parts[i].bit))
			memset(in + parts[i].offset, 0, parts[i].len);
	}
}

static bool area_get(struct emulate_run *run)
{
	struct emulator *emulator = run->emulator;
	const struct insn_xsave *layout = &emulator->processor.layout;
	uint32_t end = HEADER + HEADER_BYTES;
	struct part parts[PARTS_MAX];
	unsigned n = parts_list(&emulator->processor, parts);

	emulator->state_len = EMULATE_XSTATE_MAX;
	if (!run->target->xstate_get(run->target->context, emulator->frame->in, &emulator->state_len))
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (end < parts[i].offset + parts[i].len)
			end = parts[i].offset + parts[i].len;
	}
	if (emulator->state_len < end)
		return false;
	area_fill(emulator);
	return insn_vectors_read(emulator->frame->in, emulator->state_len, layout, &emulator->vectors);
}

HIT_PATH bool emulate_state_get(struct emulate_run *run, uint8_t level)
{
	struct user_fpregs_struct fx;

	if (run->loaded >= level)
		return true;
	if (level == LEVEL_X && !area_get(run))
		return false;
	if (level == LEVEL_FX) {
		if (!run->target->fp_get(run->target->context, &fx))
			return false;
		memcpy(run->emulator->frame->in, &fx, sizeof(fx));
	}
	run->loaded = level;
	return true;
}

/* The area has the registers in the order of the x87 stack, from its top on. */
const unsigned char *emulate_state_mmx(const struct emulate_run *run, unsigned number)
{
	const unsigned char *in = run->emulator->frame->in;
	unsigned top = in[FX_STATUS + 1] >> 3 & 7;

	return in + FX_X87 + (size_t)((number - top) % 8) * REGISTER_STEP;
}

bool emulate_state_is_calm(const struct emulate_run *run)
{
	const unsigned char *in = run->emulator->frame->in;
	uint16_t control, status;
	uint32_t mxcsr;

	memcpy(&control, in + FX_CONTROL, sizeof(control));
	memcpy(&status, in + FX_STATUS, sizeof(status));
	memcpy(&mxcsr, in + FX_MXCSR, sizeof(mxcsr));
	if (mxcsr & ~run->emulator->processor.mxcsr_mask)
		return false;
	if (run->plan->can_trap_x87 && (status & X87_PENDING || (control & X87_MASKS) != X87_MASKS))
		return false;
	return !run->plan->can_trap_simd || (mxcsr & MXCSR_MASKS) == MXCSR_MASKS;
}

HIT_PATH void emulate_state_load(struct emulate_run *run)
{
	struct emulate_frame *frame = run->emulator->frame;
	uint64_t header[HEADER_BYTES / sizeof(uint64_t)] = {run->emulator->processor.parts};

	frame->level = run->loaded;
	if (run->loaded == LEVEL_NONE)
		return;
	if (run->loaded == LEVEL_X) {
		memcpy(run->header, frame->in + HEADER, HEADER_BYTES);
		memcpy(frame->in + HEADER, header, HEADER_BYTES);
		memset(frame->out + HEADER, 0, HEADER_BYTES);
	}
	/* Some processors do not save x87's pointers where no exception waits (AMD APM volume 2, "FXSAVE"). */
	memcpy(frame->out, frame->in, FX_BYTES);
	frame->mask = run->emulator->processor.parts;
}

/* Where a vector register's pieces lie in the area. */
static void vector_write(struct emulator *emulator, unsigned char *area, unsigned number, const unsigned char *value)
{
	const struct insn_xsave *layout = &emulator->processor.layout;

	if (number >= 16) {
		memcpy(area + layout->zmm_more + (size_t)(number - 16) * 64, value, 64);
		return;
	}
	memcpy(area + FX_XMM + (size_t)number * 16, value, 16);
	if (emulator->processor.parts & PART_YMM)
		memcpy(area + layout->ymm + (size_t)number * 16, value + 16, 16);
	if (emulator->processor.parts & PART_ZMM_HIGH)
		memcpy(area + layout->zmm_high + (size_t)number * 32, value + 32, 32);
}

void emulate_state_spread(struct emulate_run *run)
{
	const struct insn_operand *op = &run->plan->operands[0];
	unsigned char lanes[64] = {0};

	for (unsigned i = 0; i < op->n_elements && i < sizeof(lanes) / op->index_element; i++)
		lanes[(size_t)i * op->index_element] = (unsigned char)i;
	vector_write(run->emulator, run->emulator->frame->in, op->index_vector, lanes);
}

/* x87 remembers where its last instruction and operand were: in the tracee, not here. */
static void pointers_mend(struct emulate_run *run)
{
	struct emulate_frame *frame = run->emulator->frame;
	uint64_t ip, data, code = (uint64_t)(uintptr_t)run->emulator->code;
	uint64_t buffer = (uint64_t)(uintptr_t)frame->buffer;

	memcpy(&ip, frame->out + FX_IP, sizeof(ip));
	memcpy(&data, frame->out + FX_DATA, sizeof(data));
	if (ip >= code && ip < (uint64_t)(uintptr_t)frame) {
		memcpy(frame->out + FX_IP, &run->plan->ip, sizeof(ip));
		if (memcmp(frame->out + FX_OPCODE, frame->in + FX_OPCODE, sizeof(run->plan->opcode)) != 0)
			memcpy(frame->out + FX_OPCODE, &run->plan->opcode, sizeof(run->plan->opcode));
	}
	if (data >= buffer && data < buffer + sizeof(frame->buffer))
		memcpy(frame->out + FX_DATA, &run->out->accesses[0].addr, sizeof(data));
}

/* Take what changed of one part into the area that the tracee gets. */
static bool part_take(struct emulate_frame *frame, uint32_t offset, uint32_t len)
{
	if (memcmp(frame->in + offset, frame->out + offset, len) == 0)
		return false;
	memcpy(frame->in + offset, frame->out + offset, len);
	return true;
}

/* The parts beyond fxsave's that changed. */
static uint64_t parts_take(struct emulate_run *run)
{
	struct emulate_frame *frame = run->emulator->frame;
	struct part parts[PARTS_MAX];
	unsigned n = parts_list(&run->emulator->processor, parts);
	uint64_t saved, changed = 0;

	memcpy(&saved, frame->out + HEADER, sizeof(saved));
	for (unsigned i = 0; i < n; i++) {
		if (!(saved & parts[i].bit))
			memset(frame->out + parts[i].offset, 0, parts[i].len);
		if (part_take(frame, parts[i].offset, parts[i].len))
			changed |= parts[i].bit;
	}
	return changed;
}

/* The registers of the spread operand were numbers of lanes meanwhile. */
static void spread_undo(struct emulate_run *run)
{
	const struct insn_operand *op = &run->plan->operands[0];
	const unsigned char *value = run->emulator->vectors.v[op->index_vector % 32];

	if (op->lanes != LANES_SPREAD)
		return;
	vector_write(run->emulator, run->emulator->frame->in, op->index_vector, value);
	vector_write(run->emulator, run->emulator->frame->out, op->index_vector, value);
}

HIT_PATH bool emulate_state_set(struct emulate_run *run)
{
	struct emulate_frame *frame = run->emulator->frame;
	uint64_t set, changed = 0;
	bool is_fx;
	struct user_fpregs_struct fx;

	if (run->loaded == LEVEL_NONE)
		return true;
	pointers_mend(run);
	if (run->loaded == LEVEL_X) {
		memcpy(frame->in + HEADER, run->header, HEADER_BYTES);
		changed = parts_take(run);
		spread_undo(run);
	}
	is_fx = part_take(frame, 0, FX_MASK);
	is_fx |= part_take(frame, FX_X87, FX_END - FX_X87);
	if (changed) {
		memcpy(&set, frame->in + HEADER, sizeof(set));
		set |= changed | (is_fx ? PART_X87 | PART_SSE : 0);
		memcpy(frame->in + HEADER, &set, sizeof(set));
		return run->target->xstate_set(run->target->context, frame->in, run->emulator->state_len);
	}
	if (!is_fx)
		return true;
	memcpy(&fx, frame->in, sizeof(fx));
	return run->target->fp_set(run->target->context, &fx);
}
