/* insn.c owns the only use of Zydis: from the bytes of an instruction to its operands in memory, as
 * plain data. It never looks at registers or at a process. */
#include "watchprof/insn.h"

#include "insn_private.h"
#include "watchprof/hit.h"
#include "watchprof/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_POINTER 4
#define FRAME_POINTER 5
#define STACK_WORD    8
#define CACHE_LINE    64
#define XSAVE_HEADER  512
#define LOOSE_BYTES   (16U << 10) /* more than any xsave area or tile has */

/* Instructions whose operand in memory is only named, not touched: Intel SDM volume 2, "Operation"
 * of each; data breakpoints should not see them. */
static bool is_hint(const ZydisDecodedInstruction *in)
{
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_CLDEMOTE:
		return true;
	default:
		return in->mnemonic == ZYDIS_MNEMONIC_INVLPG;
	}
}

static uint8_t flow_of(const ZydisDecodedInstruction *in)
{
	switch (in->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return FLOW_CALL;
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_RET:
		return FLOW_AWAY;
	default:
		return in->mnemonic == ZYDIS_MNEMONIC_UD0 || in->mnemonic == ZYDIS_MNEMONIC_UD1 ||
				in->mnemonic == ZYDIS_MNEMONIC_UD2 || in->mnemonic == ZYDIS_MNEMONIC_HLT ||
				in->mnemonic == ZYDIS_MNEMONIC_INT3
			? FLOW_AWAY
			: FLOW_NEXT;
	}
}

/* A flush counts as a byte load (Intel SDM volume 2, "CLFLUSH"); some processors report it for every byte of
 * the cache line, some not at all. */
static bool is_flush(const ZydisDecodedInstruction *in)
{
	return in->mnemonic == ZYDIS_MNEMONIC_CLFLUSH || in->meta.category == ZYDIS_CATEGORY_CLFLUSHOPT ||
		in->meta.category == ZYDIS_CATEGORY_CLWB;
}

bool insn_is_state(const ZydisDecodedInstruction *in)
{
	return in->meta.category == ZYDIS_CATEGORY_XSAVE || in->meta.category == ZYDIS_CATEGORY_XSAVEOPT;
}

static bool is_string(const ZydisDecodedInstruction *in)
{
	return in->meta.category == ZYDIS_CATEGORY_STRINGOP || in->meta.category == ZYDIS_CATEGORY_IOSTRINGOP;
}

static bool is_repeated(const ZydisDecodedInstruction *in)
{
	return is_string(in) &&
		(in->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE));
}

uint8_t insn_general_register(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
		return INSN_NO_REGISTER;
	return (uint8_t)ZydisRegisterGetId(whole);
}

static bool is_vector(ZydisRegister reg)
{
	ZydisRegisterClass class = ZydisRegisterGetClass(reg);

	return class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM || class == ZYDIS_REGCLASS_ZMM;
}

/* Does the instruction write the register? The stack pointer is counted only where it is an operand
 * of its own: what push and pop do to it is known. */
static bool is_written(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops, uint8_t number)
{
	for (unsigned i = 0; number != INSN_NO_REGISTER && i < in->operand_count; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			(ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
			insn_general_register(ops[i].reg.value) == number &&
			(number != STACK_POINTER || ops[i].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT))
			return true;
	}
	return false;
}

/* Is the mask gone: overwritten by the result, or cleared as gathers and scatters do? */
static bool is_mask_written(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops, ZydisRegister mask)
{
	for (unsigned i = 0; i < in->operand_count; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			(ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
			ZydisRegisterGetClass(ops[i].reg.value) == ZydisRegisterGetClass(mask) &&
			ZydisRegisterGetId(ops[i].reg.value) == ZydisRegisterGetId(mask))
			return true;
	}
	return false;
}

static bool has_index_of_four(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_VGATHERDPS:
	case ZYDIS_MNEMONIC_VGATHERDPD:
	case ZYDIS_MNEMONIC_VPGATHERDD:
	case ZYDIS_MNEMONIC_VPGATHERDQ:
	case ZYDIS_MNEMONIC_VSCATTERDPS:
	case ZYDIS_MNEMONIC_VSCATTERDPD:
	case ZYDIS_MNEMONIC_VPSCATTERDD:
	case ZYDIS_MNEMONIC_VPSCATTERDQ:
		return true;
	default:
		return false;
	}
}

/* Classes of instructions that read a masked operand as a whole: no fault is suppressed for what the
 * mask leaves out (Intel SDM volume 2, "EVEX exception classes", the NF ones). */
static bool is_read_whole(const ZydisDecodedInstruction *in)
{
	switch (in->meta.exception_class) {
	case ZYDIS_EXCEPTION_CLASS_E1NF:
	case ZYDIS_EXCEPTION_CLASS_E2NF:
	case ZYDIS_EXCEPTION_CLASS_E3NF:
	case ZYDIS_EXCEPTION_CLASS_E4NF:
	case ZYDIS_EXCEPTION_CLASS_E5NF:
	case ZYDIS_EXCEPTION_CLASS_E6NF:
	case ZYDIS_EXCEPTION_CLASS_E9NF:
	case ZYDIS_EXCEPTION_CLASS_E10NF:
	case ZYDIS_EXCEPTION_CLASS_E11NF:
		return true;
	default:
		return in->mnemonic == ZYDIS_MNEMONIC_VDBPSADBW; /* one of them, though Zydis 4.0 has it elsewhere */
	}
}

/* An index vector: the base and one address for each of its lanes. */
static void spread_fill(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
	const ZydisDecodedOperand *op, struct insn_operand *out)
{
	unsigned bytes = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, op->mem.index) / 8;
	unsigned lanes;

	out->lanes = LANES_SPREAD;
	out->index = INSN_NO_REGISTER;
	out->index_vector = (uint8_t)ZydisRegisterGetId(op->mem.index);
	out->index_element = has_index_of_four(in->mnemonic) ? 4 : 8;
	out->element = (uint8_t)(op->size / 8);
	lanes = bytes / out->index_element;
	for (unsigned i = 0; i < in->operand_count; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER && is_vector(ops[i].reg.value) &&
			ops[i].element_count < lanes)
			lanes = ops[i].element_count;
	}
	out->n_elements = (uint8_t)lanes;
}

/* Masks of AVX-512: one bit of a k register for each element. */
static void mask_fill(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
	const ZydisDecodedOperand *op, struct insn_operand *out)
{
	const ZydisDecodedOperand *result = &ops[0];
	bool has_vector = result->type == ZYDIS_OPERAND_TYPE_REGISTER && is_vector(result->reg.value);
	bool converts = in->meta.category == ZYDIS_CATEGORY_CONVERT;

	/* Each finer element of the result needs a whole one that is read (vgf2p8affineqb). */
	if (has_vector && !in->avx.broadcast.mode && !converts && result->element_size < op->element_size)
		return;
	if (out->lanes != LANES_WHOLE || in->avx.mask.mode <= ZYDIS_MASK_MODE_DISABLED ||
		in->avx.mask.reg == ZYDIS_REGISTER_K0 || is_read_whole(in))
		return;
	out->lanes = in->meta.category == ZYDIS_CATEGORY_COMPRESS || in->meta.category == ZYDIS_CATEGORY_EXPAND
		? LANES_PACKED
		: LANES_MASKED;
	out->element = (uint8_t)(op->element_size / 8);
	out->n_elements = (uint8_t)op->element_count;
	out->folds = 1;
	if (has_vector && in->avx.broadcast.mode)
		out->folds = (uint8_t)(result->element_count / op->element_count);
	else if (in->avx.broadcast.mode) /* a comparison, whose result is a mask */
		out->folds = (uint8_t)(in->avx.vector_length / op->element_size / op->element_count);
	else if (has_vector && result->size == op->size && !converts) {
		/* Elements of the result count, where those read are finer. */
		out->element = (uint8_t)(result->element_size / 8);
		out->n_elements = (uint8_t)result->element_count;
	}
	out->mask = is_mask_written(in, ops, in->avx.mask.reg)
		? INSN_NO_REGISTER
		: (uint8_t)ZydisRegisterGetId(in->avx.mask.reg);
}

/* Masks of AVX and SSE: the sign bits of a vector's elements. */
static void vector_mask_fill(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
	const ZydisDecodedOperand *op, struct insn_operand *out)
{
	const ZydisDecodedOperand *mask = &ops[1];

	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		out->element = (uint8_t)(op->element_size / 8);
		break;
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
	case ZYDIS_MNEMONIC_MASKMOVQ:
		out->element = 1;
		break;
	default:
		return;
	}
	out->lanes = LANES_MASKED;
	out->n_elements = (uint8_t)(out->size / out->element);
	out->is_vector_mask = true;
	out->folds = 1;
	out->mask = is_vector(mask->reg.value) && !is_mask_written(in, ops, mask->reg.value)
		? (uint8_t)ZydisRegisterGetId(mask->reg.value)
		: INSN_NO_REGISTER; /* the registers of MMX are not looked at */
}

/* Words of the stack that an instruction pushes or pops, against the stack pointer behind it. */
static void stack_fill(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops, struct insn_operand *out)
{
	bool has_count = in->meta.category == ZYDIS_CATEGORY_RET && ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	out->base = STACK_POINTER;
	if (in->meta.category == ZYDIS_CATEGORY_RET && in->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR &&
		in->mnemonic == ZYDIS_MNEMONIC_RET)
		out->size = 2 * in->operand_width / 8;
	if (out->kind & HIT_READ)
		out->disp = -(int64_t)out->size;
	if (has_count)
		out->disp -= (int64_t)ops[0].imm.value.u;
	/* pop %rsp, and iret, which loads it from there. */
	out->is_lost = is_written(in, ops, STACK_POINTER) || in->mnemonic == ZYDIS_MNEMONIC_IRETQ ||
		in->mnemonic == ZYDIS_MNEMONIC_IRETD || in->mnemonic == ZYDIS_MNEMONIC_IRET;
}

bool insn_is_hidden_stack(const ZydisDecodedOperand *op)
{
	return op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && op->mem.base == ZYDIS_REGISTER_RSP;
}

/* How far the stack pointer stands below where an explicit operand of push or call saw it. */
static int64_t stack_moved(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops)
{
	if (in->meta.category != ZYDIS_CATEGORY_PUSH && in->meta.category != ZYDIS_CATEGORY_CALL)
		return 0;
	for (unsigned i = 0; i < in->operand_count; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY && insn_is_hidden_stack(&ops[i]))
			return ops[i].size / 8;
	}
	return 0;
}

/* The address, from what the registers hold behind the instruction. */
static void address_fill(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
	const ZydisDecodedOperand *op, uint64_t next, struct insn_operand *out)
{
	out->base = insn_general_register(op->mem.base);
	out->index = op->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? INSN_NO_REGISTER : insn_general_register(op->mem.index);
	out->scale = op->mem.scale;
	out->disp = op->mem.disp.value;
	out->is_narrow = in->address_width == 32;
	if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP)
		out->disp += (int64_t)next;
	if (op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS)
		out->segment = op->mem.segment == ZYDIS_REGISTER_FS ? 'f' : 'g';
	if (out->base == STACK_POINTER)
		out->disp += stack_moved(in, ops);
	if (is_string(in))
		out->step = (int8_t)out->size;
	else
		out->is_lost = is_written(in, ops, out->base) || is_written(in, ops, out->index);
	if (op->mem.type == ZYDIS_MEMOP_TYPE_MIB)
		out->is_lost = true;
}

/* bt and its kin with the bit number in a register: that may point beyond the operand. */
static void bits_fill(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops, struct insn_operand *out)
{
	if (in->meta.category != ZYDIS_CATEGORY_BITBYTE || ops[0].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		ops[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return;
	out->bits = insn_general_register(ops[1].reg.value);
	out->bits_width = (uint8_t)ops[1].size;
}

uint8_t insn_operand_kind(const ZydisDecodedOperand *op)
{
	uint8_t kind = 0;

	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		kind |= HIT_READ;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		kind |= HIT_WRITE; /* cmpxchg writes always: what was there, where it fails */
	return kind;
}

static void operand_fill(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
	const ZydisDecodedOperand *op, uint64_t next, struct insn_operand *out)
{
	*out = (struct insn_operand){.kind = insn_operand_kind(op),
		.base = INSN_NO_REGISTER,
		.index = INSN_NO_REGISTER,
		.bits = INSN_NO_REGISTER,
		.mask = INSN_NO_REGISTER,
		.size = op->size / 8};
	if (insn_is_hidden_stack(op)) {
		stack_fill(in, ops, out);
		return;
	}
	address_fill(in, ops, op, next, out);
	bits_fill(in, ops, out);
	if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
		spread_fill(in, ops, op, out);
	mask_fill(in, ops, op, out);
	vector_mask_fill(in, ops, op, out);
	if (is_flush(in)) {
		out->lanes = LANES_LOOSE;
		out->disp -= CACHE_LINE - 1;
		out->size = 2 * CACHE_LINE - 1;
	}
	if (insn_is_state(in) || out->size == 0) {
		out->lanes = LANES_LOOSE;
		out->size = LOOSE_BYTES;
	}
}

/* xsave writes the area; of it, it reads the set of parts in the header only. */
static void xsave_split(struct insn *out)
{
	struct insn_operand *set = &out->operands[1];

	*set = out->operands[0];
	out->operands[0].kind = HIT_WRITE;
	out->n_operands = 2;
	set->kind = HIT_READ | HIT_WRITE;
	set->lanes = LANES_WHOLE;
	set->disp += XSAVE_HEADER;
	set->size = sizeof(uint64_t);
}

/* Instructions whose operands the general rules do not give. */
static bool special_fill(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops, struct insn *out)
{
	struct insn_operand *first = &out->operands[0];
	unsigned level = in->mnemonic == ZYDIS_MNEMONIC_ENTER ? (unsigned)ops[1].imm.value.u % 32 : 0;

	*first = (struct insn_operand){.kind = HIT_WRITE,
		.base = INSN_NO_REGISTER,
		.index = INSN_NO_REGISTER,
		.bits = INSN_NO_REGISTER,
		.mask = INSN_NO_REGISTER,
		.size = STACK_WORD};
	out->n_operands = 1;
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_LEAVE: /* the word below the new stack pointer was rbp */
		first->kind = HIT_READ;
		first->base = STACK_POINTER;
		first->disp = -STACK_WORD;
		return true;
	case ZYDIS_MNEMONIC_ENTER: /* rbp points to its old value; the display lies below */
		first->base = FRAME_POINTER;
		first->disp = -(int64_t)level * STACK_WORD;
		first->size += level * STACK_WORD;
		if (level > 1) {
			out->operands[1] = *first;
			out->operands[1].kind = HIT_READ;
			out->operands[1].is_lost = true;
			out->n_operands = 2;
		}
		return true;
	case ZYDIS_MNEMONIC_CLZERO: /* the cache line of rax (AMD) */
		first->base = 0;
		first->lanes = LANES_LOOSE;
		first->disp = -(CACHE_LINE - 1);
		first->size = 2 * CACHE_LINE - 1;
		return true;
	default:
		out->n_operands = 0;
		return false;
	}
}

bool insn_parse(const unsigned char *bytes, size_t len, ZydisDecodedInstruction *in, ZydisDecodedOperand *ops)
{
	ZydisDecoder decoder;

	return ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
		ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, len, in, ops));
}

bool insn_decode(const unsigned char *bytes, size_t len, uint64_t address, struct insn *out)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;

	*out = (struct insn){.address = address};
	if (!insn_parse(bytes, len, &in, ops))
		return false;
	out->length = in.length;
	out->flow = flow_of(&in);
	out->is_hint = is_hint(&in);
	out->is_repeated = is_repeated(&in);
	if (out->is_hint || special_fill(&in, ops, out))
		return true;
	for (unsigned i = 0; i < in.operand_count && out->n_operands < INSN_OPERANDS_MAX; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY && ops[i].mem.type != ZYDIS_MEMOP_TYPE_AGEN &&
			insn_operand_kind(&ops[i]))
			operand_fill(&in, ops, &ops[i], address + in.length, &out->operands[out->n_operands++]);
	}
	if (insn_is_state(&in) && out->n_operands == 1 && out->operands[0].kind == (HIT_READ | HIT_WRITE))
		xsave_split(out);
	return true;
}

/* The address that an instruction names: where it jumps, or memory at a distance from itself. */
static bool named_address(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops, uint64_t address, ZyanU64 *named)
{
	for (unsigned i = 0; i < in->operand_count_visible; i++) {
		bool is_branch = ops[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && ops[i].imm.is_relative;
		bool is_near = ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY && ops[i].mem.base == ZYDIS_REGISTER_RIP;

		if ((is_branch || is_near) && ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(in, &ops[i], address, named)))
			return true;
	}
	return false;
}

/* As objdump writes them. */
static bool formatter_begin(ZydisFormatter *formatter)
{
	static const struct {
		ZydisFormatterProperty property;
		ZyanUPointer value;
	} properties[] = {
		{ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE},
		{ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE},
		{ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED},
		{ZYDIS_FORMATTER_PROP_PRINT_BRANCH_SIZE, ZYAN_FALSE},
	};

	if (ZYAN_FAILED(ZydisFormatterInit(formatter, ZYDIS_FORMATTER_STYLE_ATT)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(properties); i++)
		ZydisFormatterSetProperty(formatter, properties[i].property, properties[i].value);
	return true;
}

size_t insn_text(const unsigned char *bytes, size_t len, uint64_t address, insn_name_fn *name, void *context, char *text,
	size_t size)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	ZydisFormatter formatter;
	ZyanU64 named;
	char *found = NULL;
	size_t end;

	if (!insn_parse(bytes, len, &in, ops) || !formatter_begin(&formatter))
		return 0;
	if (ZYAN_FAILED(ZydisFormatterFormatInstruction(
		    &formatter, &in, ops, in.operand_count_visible, text, size, address, NULL)))
		snprintf(text, size, "%s", ZydisMnemonicGetString(in.mnemonic));
	if (name && named_address(&in, ops, address, &named))
		found = name(context, named);
	end = strlen(text);
	if (found)
		snprintf(text + end, size - end, " <%s>", found);
	free(found);
	return in.length;
}

bool insn_before(const unsigned char *bytes, uint64_t start, uint64_t ip, struct insn *out)
{
	ZydisDecodedInstruction in;
	ZydisDecoderContext context;
	ZydisDecoder decoder;
	uint64_t at = start;

	out->length = 0;
	if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return false;
	while (at < ip) {
		if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(
			    &decoder, &context, bytes + (at - start), ip - at, &in)))
			return false;
		if (at + in.length == ip)
			return insn_decode(bytes + (at - start), in.length, at, out);
		at += in.length;
	}
	return false;
}
