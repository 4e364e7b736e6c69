/* emulate_patch.c owns the making of code that runs on a buffer: the bytes of an instruction, with its operand in
 * memory replaced by (register). All else stays as it is, opcode and prefixes, so that the very same instruction
 * runs; that is why it is not encoded anew. The result is decoded again, and must be the same instruction.
 * Sources: Intel SDM volume 2, "Instruction format", "VEX", "EVEX". */
#include "emulate_plan_private.h"

#include "watchprof/hit.h"
#include "watchprof/util.h"

#include <string.h>

#define REX_W_R	    0x4c /* the bits of REX that stay; B and X belong to the address */
#define RM_SIB	    4
#define FX_MXCSR    24
#define VECTOR_ALIGN 16
#define VECTOR_BYTES 64 /* what is wider (fxsave) has bytes that stay as they are */

static bool is_vector_class(ZydisRegisterClass class)
{
	return class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM || class == ZYDIS_REGCLASS_ZMM ||
		class == ZYDIS_REGCLASS_MASK;
}

static void level_raise(struct emulate_plan *plan, uint8_t level)
{
	if (plan->level < level)
		plan->level = level;
}

/* Sets whose instructions use nothing but general registers, where they name no others. */
static bool is_general(const struct decoded *code)
{
	switch (code->in.meta.isa_ext) {
	case ZYDIS_ISA_EXT_BASE:
	case ZYDIS_ISA_EXT_LONGMODE:
	case ZYDIS_ISA_EXT_BMI1:
	case ZYDIS_ISA_EXT_BMI2:
	case ZYDIS_ISA_EXT_ADOX_ADCX:
	case ZYDIS_ISA_EXT_LZCNT:
	case ZYDIS_ISA_EXT_MOVBE:
	case ZYDIS_ISA_EXT_MOVDIR:
	case ZYDIS_ISA_EXT_TBM:
		return true;
	default:
		return code->in.mnemonic == ZYDIS_MNEMONIC_CRC32 || code->in.mnemonic == ZYDIS_MNEMONIC_POPCNT ||
			code->in.mnemonic == ZYDIS_MNEMONIC_MOVNTI;
	}
}

/* Registers of an instruction that the stub can load and save; false: one that it cannot. */
static bool register_look(struct emulate_plan *plan, const ZydisDecodedOperand *op, uint32_t *used)
{
	ZydisRegisterClass class = ZydisRegisterGetClass(op->reg.value);
	uint8_t number = insn_general_register(op->reg.value);

	if (number != INSN_NO_REGISTER) {
		*used |= 1U << number;
		if (number == RSP && op->encoding != ZYDIS_OPERAND_ENCODING_MODRM_REG)
			return false;
		return true;
	}
	switch (class) {
	case ZYDIS_REGCLASS_FLAGS:
		return true;
	case ZYDIS_REGCLASS_MMX:
	case ZYDIS_REGCLASS_X87:
		plan->can_trap_x87 = true;
		level_raise(plan, LEVEL_FX);
		return true;
	case ZYDIS_REGCLASS_XMM:
		level_raise(plan, LEVEL_FX);
		return true;
	case ZYDIS_REGCLASS_YMM:
	case ZYDIS_REGCLASS_ZMM:
	case ZYDIS_REGCLASS_MASK:
		plan->level = LEVEL_X;
		return true;
	default:
		level_raise(plan, LEVEL_FX);
		return op->reg.value == ZYDIS_REGISTER_MXCSR || op->reg.value == ZYDIS_REGISTER_X87CONTROL ||
			op->reg.value == ZYDIS_REGISTER_X87STATUS || op->reg.value == ZYDIS_REGISTER_X87TAG;
	}
}

static bool registers_look(struct emulate_plan *plan, const struct decoded *code, uint32_t *used)
{
	bool has_vector = false;

	*used = 0;
	for (unsigned i = 0; i < code->in.operand_count; i++) {
		const ZydisDecodedOperand *op = &code->ops[i];

		if (op->type == ZYDIS_OPERAND_TYPE_POINTER ||
			(op->type == ZYDIS_OPERAND_TYPE_REGISTER && !register_look(plan, op, used)))
			return false;
		has_vector |= op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
			is_vector_class(ZydisRegisterGetClass(op->reg.value));
	}
	if (!is_general(code))
		level_raise(plan, LEVEL_FX);
	/* VEX and its kin change a whole vector register, masks need more than xmm. */
	if (has_vector &&
		(code->in.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || plan->operands[0].lanes != LANES_WHOLE))
		plan->level = LEVEL_X;
	if (plan->operands[0].lanes != LANES_WHOLE)
		plan->level = LEVEL_X;
	return true;
}

/* A register that needs no REX and no SIB to be an address, and is not in use. */
static uint8_t register_free(uint32_t *used)
{
	static const uint8_t candidates[] = {RBX, RSI, RDI, RDX, RCX, RAX};

	for (unsigned i = 0; i < ARRAY_LEN(candidates); i++) {
		if (!(*used >> candidates[i] & 1)) {
			*used |= 1U << candidates[i];
			return candidates[i];
		}
	}
	return INSN_NO_REGISTER;
}

struct bytes {
	unsigned char *at;
	uint8_t n;
};

static void byte_put(struct bytes *out, unsigned value)
{
	if (out->n <= INSN_BYTES_MAX)
		out->at[out->n++] = (unsigned char)value;
}

/* Without lock (the buffer is nobody else's, and locks of operands across cache lines are trapped on some
 * machines), segments, and the size of addresses. */
static bool is_prefix_kept(const struct decoded *code, unsigned value)
{
	bool is_elision = code->in.attributes & (ZYDIS_ATTRIB_HAS_XACQUIRE | ZYDIS_ATTRIB_HAS_XRELEASE);

	switch (value) {
	case 0xf0: case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0x67:
		return false;
	case 0xf2: case 0xf3:
		return !is_elision;
	default:
		return (value & 0xf0) != 0x40;
	}
}

/* Prefixes, and the bytes of VEX, EVEX or XOP. Returns where the opcode begins. */
static unsigned prefixes_put(struct bytes *out, const struct decoded *code, const unsigned char *bytes)
{
	const ZydisDecodedInstruction *in = &code->in;
	unsigned at = in->raw.prefix_count, n = 0;

	for (unsigned i = 0; i < in->raw.prefix_count; i++) {
		if (is_prefix_kept(code, bytes[i]))
			byte_put(out, bytes[i]);
	}
	if (in->attributes & ZYDIS_ATTRIB_HAS_REX)
		byte_put(out, bytes[in->raw.rex.offset] & REX_W_R);
	switch (in->encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		at = in->raw.vex.offset;
		n = in->raw.vex.size;
		break;
	case ZYDIS_INSTRUCTION_ENCODING_XOP:
		at = in->raw.xop.offset;
		n = 3;
		break;
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		at = in->raw.evex.offset;
		n = 4;
		break;
	default:
		break;
	}
	for (unsigned i = 0; i < n; i++)
		byte_put(out, bytes[at + i]);
	return at + n;
}

/* In VEX and its kin the bits B and X are inverted: 1 is the lower eight registers. X stays where the index is a
 * vector. */
static void address_bits_clear(unsigned char *code, const struct decoded *in, unsigned n_put, bool is_spread)
{
	unsigned mask = is_spread ? 0x20 : 0x60;

	switch (in->in.encoding) {
	case ZYDIS_INSTRUCTION_ENCODING_VEX:
		if (in->in.raw.vex.size == 3)
			code[n_put - 2] |= mask;
		break;
	case ZYDIS_INSTRUCTION_ENCODING_XOP:
		code[n_put - 2] |= mask;
		break;
	case ZYDIS_INSTRUCTION_ENCODING_EVEX:
		code[n_put - 3] |= mask;
		break;
	default:
		break;
	}
}

/* ModRM and SIB. */
static void address_put(struct emulate_plan *plan, struct bytes *out, const struct decoded *code, unsigned char modrm)
{
	unsigned reg = modrm >> 3 & 7, index = code->in.raw.sib.index;
	bool is_spread = plan->operands[0].lanes == LANES_SPREAD;

	if (plan->rsp_as != INSN_NO_REGISTER)
		reg = plan->rsp_as;
	byte_put(out, reg << 3 | (is_spread ? RM_SIB : plan->base));
	if (is_spread)
		byte_put(out, (plan->operands[0].element == 8 ? 3U : 2U) << 6 | index << 3 | plan->base);
}

/* mov between rax and an absolute address has no ModRM: its sister that has one. */
static bool absolute_put(struct emulate_plan *plan, struct bytes *out, const struct decoded *code, unsigned at)
{
	if (code->in.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || (plan->bytes[at] & 0xfc) != 0xa0)
		return false;
	byte_put(out, (plan->bytes[at] & 2 ? 0x88 : 0x8a) | (plan->bytes[at] & 1));
	byte_put(out, plan->base);
	return true;
}

static bool code_put(struct emulate_plan *plan, const struct decoded *code)
{
	const ZydisDecodedInstruction *in = &code->in;
	struct bytes out = {plan->code, 0};
	unsigned at = prefixes_put(&out, code, plan->bytes), rest;
	bool is_spread = plan->operands[0].lanes == LANES_SPREAD;

	if (in->attributes & ZYDIS_ATTRIB_HAS_MODRM && in->raw.modrm.mod == 3) {
		for (unsigned i = at; i < in->length; i++) /* the address is in a register already */
			byte_put(&out, plan->bytes[i]);
	} else if (in->attributes & ZYDIS_ATTRIB_HAS_MODRM) {
		address_bits_clear(plan->code, code, out.n, is_spread);
		for (unsigned i = at; i < in->raw.modrm.offset; i++)
			byte_put(&out, plan->bytes[i]);
		address_put(plan, &out, code, plan->bytes[in->raw.modrm.offset]);
		rest = in->raw.modrm.offset + 1U + (in->raw.sib.offset ? 1 : 0) + in->raw.disp.size / 8;
		for (unsigned i = rest; i < in->length; i++)
			byte_put(&out, plan->bytes[i]);
	} else if (!absolute_put(plan, &out, code, at))
		return false;
	plan->n_code = out.n;
	return out.n <= INSN_BYTES_MAX;
}

/* Is an operand in memory at (register) now? */
static bool is_at_base(const struct emulate_plan *plan, const ZydisDecodedOperand *is, const ZydisDecodedOperand *was)
{
	bool is_spread = plan->operands[0].lanes == LANES_SPREAD;

	return insn_general_register(is->mem.base) == plan->base && is->mem.disp.value == 0 &&
		is->mem.segment != ZYDIS_REGISTER_FS && is->mem.segment != ZYDIS_REGISTER_GS &&
		is->mem.index == (is_spread ? was->mem.index : ZYDIS_REGISTER_NONE);
}

/* Is what was made the same instruction, but for the register that stands for the stack pointer, and on (register) where it accesses
 * memory? */
static bool is_same(const struct emulate_plan *plan, const struct decoded *code)
{
	struct decoded made;

	if (!insn_parse(plan->code, plan->n_code, &made.in, made.ops) || made.in.length != plan->n_code ||
		made.in.mnemonic != code->in.mnemonic || made.in.operand_count != code->in.operand_count ||
		made.in.encoding != code->in.encoding)
		return false;
	for (unsigned i = 0; i < made.in.operand_count; i++) {
		const ZydisDecodedOperand *is = &made.ops[i], *was = &code->ops[i];

		if (is->type != was->type || is->size != was->size || is->actions != was->actions)
			return false;
		if (is->type == ZYDIS_OPERAND_TYPE_REGISTER && is->reg.value != was->reg.value &&
			(insn_general_register(was->reg.value) != RSP || insn_general_register(is->reg.value) != plan->rsp_as))
			return false;
		if (is->type == ZYDIS_OPERAND_TYPE_MEMORY && plan->n_operands && !is_at_base(plan, is, was))
			return false;
	}
	return true;
}

/* Of 16 bytes, SSE wants all operands aligned but these (Intel SDM volume 2, "SSE exception classes"). */
static bool is_unaligned_sse(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_MOVUPS: case ZYDIS_MNEMONIC_MOVUPD: case ZYDIS_MNEMONIC_MOVDQU: case ZYDIS_MNEMONIC_LDDQU:
	case ZYDIS_MNEMONIC_PCMPESTRI: case ZYDIS_MNEMONIC_PCMPESTRM: case ZYDIS_MNEMONIC_PCMPISTRI:
	case ZYDIS_MNEMONIC_PCMPISTRM: case ZYDIS_MNEMONIC_MASKMOVDQU:
		return true;
	default:
		return false;
	}
}

static uint8_t align_of(const struct emulate_plan *plan, const struct decoded *code, bool has_vector)
{
	uint32_t size = plan->operands[0].size;

	switch (code->in.mnemonic) {
	case ZYDIS_MNEMONIC_VMOVAPS: case ZYDIS_MNEMONIC_VMOVAPD: case ZYDIS_MNEMONIC_VMOVDQA:
	case ZYDIS_MNEMONIC_VMOVDQA32: case ZYDIS_MNEMONIC_VMOVDQA64: case ZYDIS_MNEMONIC_VMOVNTDQ:
	case ZYDIS_MNEMONIC_VMOVNTPS: case ZYDIS_MNEMONIC_VMOVNTPD: case ZYDIS_MNEMONIC_VMOVNTDQA:
		return (uint8_t)size;
	case ZYDIS_MNEMONIC_CMPXCHG16B: case ZYDIS_MNEMONIC_FXSAVE: case ZYDIS_MNEMONIC_FXSAVE64:
	case ZYDIS_MNEMONIC_FXRSTOR: case ZYDIS_MNEMONIC_FXRSTOR64:
		return VECTOR_ALIGN;
	default:
		return has_vector && code->in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && size == VECTOR_ALIGN &&
				!is_unaligned_sse(code->in.mnemonic)
			? VECTOR_ALIGN
			: 0;
	}
}

/* What may trap, if the tracee's control words let it. */
static void traps_fill(struct emulate_plan *plan, const struct decoded *code)
{
	switch (code->in.meta.category) {
	case ZYDIS_CATEGORY_DATAXFER: case ZYDIS_CATEGORY_LOGICAL: case ZYDIS_CATEGORY_LOGICAL_FP:
		break;
	default:
		plan->can_trap_simd = plan->level != LEVEL_NONE;
	}
	/* Those that convert MMX's numbers wait for x87 even where these come from memory (Intel SDM volume 2, "CVTPI2PS"). */
	if (code->in.meta.isa_set == ZYDIS_ISA_SET_X87 || code->in.meta.isa_set == ZYDIS_ISA_SET_SSE3X87 ||
		code->in.mnemonic == ZYDIS_MNEMONIC_CVTPI2PS || code->in.mnemonic == ZYDIS_MNEMONIC_CVTPI2PD)
		plan->can_trap_x87 = true;
	if (code->in.mnemonic == ZYDIS_MNEMONIC_DIV)
		plan->division = DIVISION_UNSIGNED;
	if (code->in.mnemonic == ZYDIS_MNEMONIC_IDIV)
		plan->division = DIVISION_SIGNED;
	if (code->in.mnemonic == ZYDIS_MNEMONIC_LDMXCSR || code->in.mnemonic == ZYDIS_MNEMONIC_VLDMXCSR)
		plan->mxcsr_at = 0;
	if (code->in.mnemonic == ZYDIS_MNEMONIC_FXRSTOR || code->in.mnemonic == ZYDIS_MNEMONIC_FXRSTOR64)
		plan->mxcsr_at = FX_MXCSR;
}

bool emulate_patch(struct emulate_plan *plan, const struct decoded *code)
{
	bool has_modrm = code->in.attributes & ZYDIS_ATTRIB_HAS_MODRM;
	uint32_t used;

	if (plan->n_operands != 1 || plan->operands[0].size > EMULATE_BUFFER_BYTES || !registers_look(plan, code, &used))
		return false;
	plan->align = align_of(plan, code, plan->level != LEVEL_NONE);
	traps_fill(plan, code);
	plan->is_partial = plan->operands[0].kind == HIT_WRITE &&
		(plan->operands[0].size > VECTOR_BYTES || code->in.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED);
	if (has_modrm && code->in.raw.modrm.mod == 3) {
		/* Only maskmov has its address in a register nevertheless. */
		if (plan->operands[0].base != RDI || plan->operands[0].lanes != LANES_MASKED)
			return false;
		plan->base = RDI;
	} else
		plan->base = register_free(&used);
	if (used >> RSP & 1) {
		plan->rsp_as = register_free(&used);
		if (plan->rsp_as == INSN_NO_REGISTER || plan->operands[0].bits == RSP)
			return false;
	}
	if (has_modrm)
		plan->opcode = (uint16_t)((code->in.opcode & 7) << 8 | plan->bytes[code->in.raw.modrm.offset]);
	return plan->base != INSN_NO_REGISTER && code_put(plan, code) && is_same(plan, code);
}

/* Registers of an instruction without memory; false: one that the stub cannot load and save, or that is not encoded where it can be
 * changed. */
static bool plain_look(const struct decoded *code, uint32_t *used)
{
	*used = 0;
	for (unsigned i = 0; i < code->in.operand_count; i++) {
		const ZydisDecodedOperand *op = &code->ops[i];
		uint8_t number = insn_general_register(op->reg.value);

		if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			continue;
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) { /* lea */
			const uint8_t base = insn_general_register(op->mem.base), index = insn_general_register(op->mem.index);

			if ((op->mem.base != ZYDIS_REGISTER_NONE && base == INSN_NO_REGISTER) || base == RSP)
				return false;
			*used |= (base != INSN_NO_REGISTER ? 1U << base : 0) | (index != INSN_NO_REGISTER ? 1U << index : 0);
			continue;
		}
		if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
			return false;
		if (number == INSN_NO_REGISTER && ZydisRegisterGetClass(op->reg.value) != ZYDIS_REGCLASS_FLAGS)
			return false;
		if (number == RSP && op->encoding != ZYDIS_OPERAND_ENCODING_MODRM_REG &&
			op->encoding != ZYDIS_OPERAND_ENCODING_MODRM_RM)
			return false;
		*used |= number != INSN_NO_REGISTER ? 1U << number : 0;
	}
	return true;
}

/* Another register in the place of the stack pointer; the bits that REX has for it are 0 for both. */
static void plain_put(struct emulate_plan *plan, const struct decoded *code)
{
	memcpy(plan->code, plan->bytes, plan->length);
	plan->n_code = plan->length;
	for (unsigned i = 0; i < code->in.operand_count; i++) {
		const ZydisDecodedOperand *op = &code->ops[i];
		unsigned shift = op->encoding == ZYDIS_OPERAND_ENCODING_MODRM_REG ? 3 : 0;
		unsigned char *modrm = &plan->code[code->in.raw.modrm.offset];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && insn_general_register(op->reg.value) == RSP)
			*modrm = (unsigned char)((*modrm & ~(7U << shift)) | (unsigned)plan->rsp_as << shift);
	}
}

bool emulate_patch_plain(struct emulate_plan *plan, const struct decoded *code)
{
	uint32_t used;

	/* What a division needs is looked at in memory only (emulate_stub.c). */
	if ((!is_general(code) && code->in.mnemonic != ZYDIS_MNEMONIC_LEA) || code->in.mnemonic == ZYDIS_MNEMONIC_DIV ||
		code->in.mnemonic == ZYDIS_MNEMONIC_IDIV || !plain_look(code, &used))
		return false;
	plan->operands[0].bits = INSN_NO_REGISTER;
	plan->base = register_free(&used);
	if (used >> RSP & 1)
		plan->rsp_as = register_free(&used);
	if (plan->base == INSN_NO_REGISTER || (used >> RSP & 1 && plan->rsp_as == INSN_NO_REGISTER))
		return false;
	plain_put(plan, code);
	return is_same(plan, code);
}
