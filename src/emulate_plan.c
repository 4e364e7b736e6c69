/* emulate_plan.c owns the way from the bytes of an instruction to the plan of how to carry it out. It works from
 * allow-lists: what is not in them is left to the thread. It never looks at registers. */
#include "emulate_private.h"

#include "emulate_plan_private.h"
#include "watchprof/hit.h"
#include "watchprof/util.h"

#include <string.h>

#define WORD	   8
#define CACHE_LINE 64
#define LOOSE_BYTES (16U << 10)
#define XSAVE_HEADER 512

/* Kinds of instructions that this processor may run on a buffer: none of them can fail for another reason than
 * those that are looked at (alignment, division, floating-point exceptions). */
static const uint8_t stub_categories[] = {
	ZYDIS_CATEGORY_ADOX_ADCX, ZYDIS_CATEGORY_AES, ZYDIS_CATEGORY_AVX, ZYDIS_CATEGORY_AVX2,
	ZYDIS_CATEGORY_AVX2GATHER, ZYDIS_CATEGORY_AVX512, ZYDIS_CATEGORY_AVX512_BITALG,
	ZYDIS_CATEGORY_AVX512_VBMI, ZYDIS_CATEGORY_AVX512_VP2INTERSECT, ZYDIS_CATEGORY_BINARY,
	ZYDIS_CATEGORY_BITBYTE, ZYDIS_CATEGORY_BLEND, ZYDIS_CATEGORY_BMI1, ZYDIS_CATEGORY_BMI2,
	ZYDIS_CATEGORY_BROADCAST, ZYDIS_CATEGORY_CMOV, ZYDIS_CATEGORY_COMPRESS, ZYDIS_CATEGORY_CONFLICT,
	ZYDIS_CATEGORY_CONVERT, ZYDIS_CATEGORY_DATAXFER, ZYDIS_CATEGORY_EXPAND, ZYDIS_CATEGORY_FMA4,
	ZYDIS_CATEGORY_FP16, ZYDIS_CATEGORY_GATHER, ZYDIS_CATEGORY_GFNI, ZYDIS_CATEGORY_IFMA, ZYDIS_CATEGORY_KMASK,
	ZYDIS_CATEGORY_LOGICAL, ZYDIS_CATEGORY_LOGICAL_FP, ZYDIS_CATEGORY_LZCNT,
	ZYDIS_CATEGORY_MMX, ZYDIS_CATEGORY_MOVDIR, ZYDIS_CATEGORY_PCLMULQDQ, ZYDIS_CATEGORY_ROTATE,
	ZYDIS_CATEGORY_SCATTER, ZYDIS_CATEGORY_SEMAPHORE, ZYDIS_CATEGORY_SETCC, ZYDIS_CATEGORY_SHA,
	ZYDIS_CATEGORY_SHIFT, ZYDIS_CATEGORY_SSE, ZYDIS_CATEGORY_STTNI, ZYDIS_CATEGORY_TBM, ZYDIS_CATEGORY_VAES,
	ZYDIS_CATEGORY_VBMI2, ZYDIS_CATEGORY_VEX, ZYDIS_CATEGORY_VFMA, ZYDIS_CATEGORY_VPCLMULQDQ, ZYDIS_CATEGORY_X87_ALU,
	ZYDIS_CATEGORY_XOP,
};

/* Done by hand. */
static const struct {
	uint16_t mnemonic;
	uint8_t way;
} by_hand[] = {
	{ZYDIS_MNEMONIC_PUSH, WAY_PUSH}, {ZYDIS_MNEMONIC_POP, WAY_POP}, {ZYDIS_MNEMONIC_CALL, WAY_CALL},
	{ZYDIS_MNEMONIC_JMP, WAY_JUMP}, {ZYDIS_MNEMONIC_RET, WAY_RETURN}, {ZYDIS_MNEMONIC_PUSHF, WAY_PUSH_FLAGS},
	{ZYDIS_MNEMONIC_PUSHFQ, WAY_PUSH_FLAGS}, {ZYDIS_MNEMONIC_POPF, WAY_POP_FLAGS},
	{ZYDIS_MNEMONIC_POPFQ, WAY_POP_FLAGS}, {ZYDIS_MNEMONIC_LEAVE, WAY_LEAVE},
	{ZYDIS_MNEMONIC_ENTER, WAY_ENTER}, {ZYDIS_MNEMONIC_XLAT, WAY_XLAT}, {ZYDIS_MNEMONIC_MOVDIR64B, WAY_COPY},
	{ZYDIS_MNEMONIC_CLZERO, WAY_CLEAR}, {ZYDIS_MNEMONIC_CLFLUSH, WAY_FLUSH},
	{ZYDIS_MNEMONIC_CLFLUSHOPT, WAY_FLUSH}, {ZYDIS_MNEMONIC_CLWB, WAY_FLUSH},
	{ZYDIS_MNEMONIC_MOVSB, WAY_MOVS}, {ZYDIS_MNEMONIC_MOVSW, WAY_MOVS}, {ZYDIS_MNEMONIC_MOVSD, WAY_MOVS},
	{ZYDIS_MNEMONIC_MOVSQ, WAY_MOVS}, {ZYDIS_MNEMONIC_STOSB, WAY_STOS}, {ZYDIS_MNEMONIC_STOSW, WAY_STOS},
	{ZYDIS_MNEMONIC_STOSD, WAY_STOS}, {ZYDIS_MNEMONIC_STOSQ, WAY_STOS}, {ZYDIS_MNEMONIC_LODSB, WAY_LODS},
	{ZYDIS_MNEMONIC_LODSW, WAY_LODS}, {ZYDIS_MNEMONIC_LODSD, WAY_LODS}, {ZYDIS_MNEMONIC_LODSQ, WAY_LODS},
	{ZYDIS_MNEMONIC_CMPSB, WAY_CMPS}, {ZYDIS_MNEMONIC_CMPSW, WAY_CMPS}, {ZYDIS_MNEMONIC_CMPSD, WAY_CMPS},
	{ZYDIS_MNEMONIC_CMPSQ, WAY_CMPS}, {ZYDIS_MNEMONIC_SCASB, WAY_SCAS}, {ZYDIS_MNEMONIC_SCASW, WAY_SCAS},
	{ZYDIS_MNEMONIC_SCASD, WAY_SCAS}, {ZYDIS_MNEMONIC_SCASQ, WAY_SCAS},
};

static bool is_string(const struct decoded *code)
{
	return code->in.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

/* The mask, where insn.c does not give it because it is gone behind the instruction. */
static void mask_find(struct emulate_plan *plan, const struct decoded *code, struct insn_operand *out)
{
	ZydisRegister mask = code->in.avx.mask.reg;

	if (out->lanes != LANES_MASKED && out->lanes != LANES_PACKED && out->lanes != LANES_SPREAD)
		return;
	if (out->lanes == LANES_SPREAD)
		out->folds = 1;
	if (code->in.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
		out->mask = (uint8_t)ZydisRegisterGetId(mask);
		return;
	}
	mask = code->ops[out->lanes == LANES_SPREAD ? 2 : 1].reg.value;
	out->is_vector_mask = true;
	out->mask = (uint8_t)ZydisRegisterGetId(mask);
	plan->is_mmx_mask = ZydisRegisterGetClass(mask) == ZYDIS_REGCLASS_MMX;
}

/* Against the stack pointer in front of the instruction. */
static int64_t stack_ahead(const struct decoded *code, const ZydisDecodedOperand *op)
{
	if (insn_general_register(op->mem.base) != RSP)
		return 0;
	if (code->in.mnemonic == ZYDIS_MNEMONIC_MOVDIR64B)
		return 0;
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
		return insn_operand_kind(op) & HIT_WRITE ? -(int64_t)(op->size / 8) : 0;
	/* pop (%rsp): the address is that of the stack pointer behind it (Intel SDM volume 2, "POP"). */
	return code->in.mnemonic == ZYDIS_MNEMONIC_POP ? op->size / 8 : 0;
}

/* The address, from what the registers hold in front of the instruction. lanes: what insn.c knows of it. */
static void operand_fill(struct emulate_plan *plan, const struct decoded *code, const ZydisDecodedOperand *op,
	const struct insn_operand *lanes)
{
	struct insn_operand *out = &plan->operands[plan->n_operands++];

	*out = *lanes;
	out->kind = insn_operand_kind(op);
	out->is_lost = false;
	out->step = 0;
	out->size = op->size / 8;
	out->base = insn_general_register(op->mem.base);
	out->index = op->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? INSN_NO_REGISTER : insn_general_register(op->mem.index);
	out->scale = op->mem.scale;
	/* All 64 bits of the stack pointer count always (Intel SDM volume 1, "Address-size attribute for stack"). */
	out->is_narrow = code->in.address_width == 32 && !insn_is_hidden_stack(op);
	out->disp = op->mem.disp.value + stack_ahead(code, op);
	if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP)
		out->disp += (int64_t)plan->ip + code->in.length;
	out->segment = op->mem.segment == ZYDIS_REGISTER_FS ? 'f' : op->mem.segment == ZYDIS_REGISTER_GS ? 'g' : 0;
	if (plan->way == WAY_FLUSH) {
		out->lanes = LANES_WHOLE;
		out->kind = HIT_READ;
		out->size = 1;
	}
	mask_find(plan, code, out);
}

/* Behind each other: operands in memory as insn.c found them; where it has its own ideas of an instruction, plain
 * ones. */
static struct insn_operand lanes_of(const struct emulate_plan *plan, const struct insn *insn)
{
	static const struct insn_operand plain = {.bits = INSN_NO_REGISTER, .mask = INSN_NO_REGISTER};

	if (plan->way == WAY_LEAVE || plan->way == WAY_ENTER || plan->way == WAY_CLEAR ||
		plan->n_operands >= insn->n_operands)
		return plain;
	return insn->operands[plan->n_operands];
}

/* Zydis 4.0 takes (%r13d) for an address of 32 bits that has no base: SIB with base 5 and mod 0. */
static bool is_misread(const struct decoded *code, const ZydisDecodedOperand *op)
{
	return code->in.raw.sib.offset && code->in.raw.modrm.mod == 0 && (code->in.raw.sib.base & 7) == 5 &&
		op->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN && op->mem.base != ZYDIS_REGISTER_NONE;
}

/* False: more than a plan holds, or not to be trusted. */
static bool operands_fill(struct emulate_plan *plan, const struct decoded *code, const struct insn *insn)
{
	for (unsigned i = 0; i < code->in.operand_count; i++) {
		const ZydisDecodedOperand *op = &code->ops[i];
		struct insn_operand lanes = lanes_of(plan, insn);

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.type == ZYDIS_MEMOP_TYPE_AGEN || !insn_operand_kind(op))
			continue;
		if (plan->n_operands == EMULATE_OPERANDS_MAX || op->mem.type == ZYDIS_MEMOP_TYPE_MIB ||
			is_misread(code, op))
			return false;
		operand_fill(plan, code, op, &lanes);
	}
	return true;
}

/* What is read is read first: pop and movs have it the other way round. */
static void operands_sort(struct emulate_plan *plan)
{
	struct insn_operand former = plan->operands[0];

	if (plan->n_operands == 2 && former.kind == HIT_WRITE && plan->operands[1].kind == HIT_READ) {
		plan->operands[0] = plan->operands[1];
		plan->operands[1] = former;
	}
}

static bool has_prefix(const struct decoded *code, uint8_t value)
{
	for (unsigned i = 0; i < code->in.raw.prefix_count; i++) {
		if (code->in.raw.prefixes[i].value == value)
			return true;
	}
	return false;
}

static void string_fill(struct emulate_plan *plan, const struct decoded *code)
{
	bool is_compare = plan->way == WAY_CMPS || plan->way == WAY_SCAS;

	plan->stop_at = 2;
	/* repne is for those that compare. */
	if (plan->operands[0].is_narrow || (!is_compare && has_prefix(code, 0xf2)))
		plan->way = WAY_STEP;
	if (is_compare && code->in.attributes & (ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REP))
		plan->stop_at = 0;
	else if (is_compare && code->in.attributes & ZYDIS_ATTRIB_HAS_REPNE)
		plan->stop_at = 1;
}

/* Of a push or a branch: what it pushes, where it goes. */
static void source_fill(struct emulate_plan *plan, const struct decoded *code)
{
	const ZydisDecodedOperand *op = &code->ops[0];

	switch (op->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		plan->source = SOURCE_REGISTER;
		plan->reg = insn_general_register(op->reg.value);
		if (ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_SEGMENT) {
			plan->source = SOURCE_SEGMENT;
			plan->reg = (uint8_t)ZydisRegisterGetId(op->reg.value);
		} else if (plan->reg == INSN_NO_REGISTER)
			plan->way = WAY_STEP;
		break;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		plan->source = SOURCE_VALUE;
		plan->value = op->imm.value.u;
		if (op->imm.is_relative)
			plan->value += plan->ip + code->in.length;
		break;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		plan->source = SOURCE_MEMORY;
		break;
	default:
		plan->way = WAY_STEP;
	}
}

static bool is_near_word(const struct decoded *code)
{
	return code->in.meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR ||
		code->in.meta.branch_type == ZYDIS_BRANCH_TYPE_SHORT;
}

/* What nested functions' enter copies lies below the frame pointer: its 31 words at most. */
#define DISPLAY_BYTES (32 * WORD)

static void frame_fill(struct emulate_plan *plan, const struct decoded *code)
{
	bool is_enter = plan->way == WAY_ENTER;
	struct insn_operand *op = &plan->operands[0];

	plan->n_operands = 1;
	*op = (struct insn_operand){.kind = is_enter ? HIT_WRITE : HIT_READ, .base = is_enter ? RSP : RBP,
		.disp = is_enter ? -WORD : 0, .size = WORD, .index = INSN_NO_REGISTER, .bits = INSN_NO_REGISTER,
		.mask = INSN_NO_REGISTER};
	plan->value = is_enter ? code->ops[0].imm.value.u : 0;
	if (has_prefix(code, 0x66))
		plan->way = WAY_STEP;
	if (is_enter && code->ops[1].imm.value.u % 32 != 0) {
		plan->way = WAY_STEP;
		op->lanes = LANES_LOOSE;
		op->disp = -DISPLAY_BYTES;
	}
}

/* Only a jump may have nothing to do with memory. */
static bool is_in_memory(const struct emulate_plan *plan)
{
	return plan->way != WAY_JUMP || plan->source == SOURCE_MEMORY;
}

/* What is done by hand needs a look at a few more things. */
static void hand_fill(struct emulate_plan *plan, const struct decoded *code)
{
	switch (plan->way) {
	case WAY_PUSH:
		source_fill(plan, code);
		break;
	case WAY_POP:
		source_fill(plan, code);
		if (plan->source == SOURCE_SEGMENT)
			plan->way = WAY_STEP;
		break;
	case WAY_CALL:
	case WAY_JUMP:
	case WAY_RETURN:
		if (plan->way == WAY_RETURN && code->ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			plan->value = code->ops[0].imm.value.u;
		else if (plan->way != WAY_RETURN)
			source_fill(plan, code);
		if (!is_near_word(code) || has_prefix(code, 0x66) ||
			(is_in_memory(plan) && (plan->n_operands == 0 || plan->operands[0].size != WORD)))
			plan->way = WAY_STEP;
		break;
	case WAY_LEAVE:
	case WAY_ENTER:
		frame_fill(plan, code);
		break;
	case WAY_XLAT:
		plan->is_xlat = true;
		plan->operands[0].index = INSN_NO_REGISTER;
		break;
	case WAY_COPY: /* of which operand a segment would be is not the same everywhere */
		if (plan->operands[0].segment || plan->operands[1].segment)
			plan->way = WAY_STEP;
		break;
	case WAY_CLEAR:
		plan->n_operands = 1;
		plan->is_line = true;
		plan->operands[0] = (struct insn_operand){.kind = HIT_WRITE, .base = RAX, .size = CACHE_LINE,
			.index = INSN_NO_REGISTER, .bits = INSN_NO_REGISTER, .mask = INSN_NO_REGISTER};
		if (code->in.raw.prefix_count != 0)
			plan->way = WAY_STEP;
		break;
	default:
		break;
	}
}

/* Of the instructions that Zydis has as long forms of nop some are none on all processors. */
static bool is_nothing(const ZydisDecodedInstruction *in)
{
	return in->mnemonic == ZYDIS_MNEMONIC_ENDBR64 ||
		(in->mnemonic == ZYDIS_MNEMONIC_NOP &&
			(in->meta.category == ZYDIS_CATEGORY_NOP || (in->opcode == 0x1f && in->raw.modrm.reg == 0)));
}

static uint8_t way_of(const struct decoded *code)
{
	const ZydisDecodedInstruction *in = &code->in;

	if (in->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		return WAY_STEP;
	if (is_nothing(in))
		return WAY_NOTHING;
	if (in->mnemonic == ZYDIS_MNEMONIC_LEA)
		return WAY_STUB;
	for (unsigned i = 0; i < ARRAY_LEN(by_hand); i++) {
		/* movsd and cmpsd are names of SSE instructions, too. */
		if (by_hand[i].mnemonic == in->mnemonic && (by_hand[i].way < WAY_MOVS || is_string(code)))
			return by_hand[i].way;
	}
	if (in->mnemonic == ZYDIS_MNEMONIC_MOV && code->ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		ZydisRegisterGetClass(code->ops[1].reg.value) == ZYDIS_REGCLASS_SEGMENT)
		return WAY_STORE_SEGMENT;
	for (unsigned i = 0; i < ARRAY_LEN(stub_categories); i++) {
		if (stub_categories[i] == in->meta.category)
			return WAY_STUB;
	}
	return WAY_STEP;
}

/* Bytes that nobody here knows the number of. Of what xsave writes, it reads the set of parts in the header alone. */
static void loose_fill(struct emulate_plan *plan, const struct decoded *code,
	const struct emulate_processor *processor)
{
	for (unsigned i = 0; i < plan->n_operands; i++) {
		struct insn_operand *op = &plan->operands[i];

		if (op->lanes != LANES_LOOSE && op->size != 0)
			continue;
		plan->way = WAY_STEP;
		op->lanes = LANES_LOOSE;
		op->size = insn_is_state(&code->in) && processor->area_len ? processor->area_len : LOOSE_BYTES;
	}
	if (insn_is_state(&code->in) && plan->n_operands == 1 && plan->operands[0].kind == (HIT_READ | HIT_WRITE)) {
		plan->operands[0].kind = HIT_WRITE;
		plan->operands[1] = plan->operands[0];
		plan->operands[1].kind = HIT_READ | HIT_WRITE;
		plan->operands[1].lanes = LANES_WHOLE;
		plan->operands[1].disp += XSAVE_HEADER;
		plan->operands[1].size = WORD;
		plan->n_operands = 2;
	}
}

/* Of those without an operand in memory, can it be carried out all the same? */
static bool is_plain(const struct emulate_plan *plan)
{
	return plan->way == WAY_STUB || plan->way == WAY_NOTHING || (plan->way == WAY_JUMP && !is_in_memory(plan));
}

bool emulate_plan_make(struct emulate_plan *plan, const struct emulate_processor *processor,
	const unsigned char *code, size_t len, uint64_t ip)
{
	struct decoded decoded;
	struct insn insn;
	bool is_whole;

	*plan = (struct emulate_plan){.ip = ip, .rsp_as = INSN_NO_REGISTER, .mxcsr_at = INSN_NO_REGISTER};
	if (!insn_parse(code, len, &decoded.in, decoded.ops) || !insn_decode(code, len, ip, &insn))
		return false;
	plan->length = decoded.in.length;
	memcpy(plan->bytes, code, plan->length);
	plan->is_repeated = insn.is_repeated;
	plan->way = way_of(&decoded);
	if (insn.is_hint)
		return true;
	is_whole = operands_fill(plan, &decoded, &insn);
	hand_fill(plan, &decoded);
	operands_sort(plan);
	if (is_string(&decoded))
		string_fill(plan, &decoded);
	loose_fill(plan, &decoded, processor);
	if (!is_whole || (plan->n_operands == 0 && !is_plain(plan)) ||
		(plan->way != WAY_NOTHING &&
			!emulate_processor_has(processor, decoded.in.meta.isa_set, decoded.in.mnemonic)))
		plan->way = WAY_STEP;
	if (plan->way == WAY_STORE_SEGMENT)
		plan->reg = (uint8_t)ZydisRegisterGetId(decoded.ops[1].reg.value);
	if (plan->way == WAY_STUB && !(plan->n_operands ? emulate_patch : emulate_patch_plain)(plan, &decoded))
		plan->way = WAY_STEP;
	return true;
}
