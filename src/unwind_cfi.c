/* unwind_cfi.c owns the unwinder's use of libdw: the call frame information of one ELF image,
 * brought into rows. It never reads a process. */
#include "unwind_private.h"

#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

struct cfi {
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh_frame;
	Dwarf_CFI *debug_frame; /* owned by dwarf */
	bool is_searched;       /* for the latter */
};

struct cfi *cfi_new(const unsigned char *image, size_t len)
{
	struct cfi *cfi = mem_new(1, sizeof(*cfi));

	elf_version(EV_CURRENT);
	/* libelf writes to the memory only where the byte order is not ours. */
	cfi->elf = elf_memory((char *)image, len);
	if (!cfi->elf || elf_kind(cfi->elf) != ELF_K_ELF) {
		cfi_free(cfi);
		return NULL;
	}
	cfi->eh_frame = dwarf_getcfi_elf(cfi->elf);
	return cfi;
}

void cfi_free(struct cfi *cfi)
{
	if (!cfi)
		return;
	if (cfi->eh_frame)
		dwarf_cfi_end(cfi->eh_frame);
	if (cfi->dwarf)
		dwarf_end(cfi->dwarf);
	if (cfi->elf)
		elf_end(cfi->elf);
	free(cfi);
}

/* The frame's state at the address, by either table; the caller frees it. */
static Dwarf_Frame *frame_find(struct cfi *cfi, uint64_t vaddr)
{
	Dwarf_Frame *frame = NULL;

	if (cfi->eh_frame && dwarf_cfi_addrframe(cfi->eh_frame, vaddr, &frame) == 0)
		return frame;
	if (!cfi->is_searched) {
		cfi->is_searched = true;
		cfi->dwarf = dwarf_begin_elf(cfi->elf, DWARF_C_READ, NULL);
		cfi->debug_frame = cfi->dwarf ? dwarf_getcfi(cfi->dwarf) : NULL;
	}
	if (cfi->debug_frame && dwarf_cfi_addrframe(cfi->debug_frame, vaddr, &frame) == 0)
		return frame;
	return NULL;
}

/* One operation that pushes a register plus an offset. */
static bool op_base(const Dwarf_Op *op, struct rule *rule)
{
	int64_t offset = 0;
	uint64_t reg = DWARF_CFA;

	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		reg = (uint64_t)(op->atom - DW_OP_breg0);
		offset = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx) {
		reg = op->number;
		offset = (int64_t)op->number2;
	} else if (op->atom != DW_OP_call_frame_cfa) {
		return false;
	}
	if (reg > DWARF_CFA || offset != (int32_t)offset)
		return false;
	rule->base = (uint8_t)reg;
	rule->offset = (int32_t)offset;
	return true;
}

/* An expression in one of the forms that rules can hold: a base with an offset, then whether its
 * value or the memory there is meant. is_address: at the end, the place is known and not the value.
 */
static bool ops_rule(const Dwarf_Op *ops, size_t n, bool is_address, struct rule *rule)
{
	size_t i = 0;

	if (n > 1 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom != DW_OP_plus_uconst &&
		ops[1].atom != DW_OP_stack_value)
		i++; /* what an expression for a register finds on its stack, and does not use */
	if (i == n || !op_base(&ops[i++], rule))
		return false;
	for (; i < n && ops[i].atom == DW_OP_plus_uconst; i++)
		rule->offset += (int32_t)ops[i].number;
	rule->kind = is_address ? RULE_AT : RULE_IS;
	if (i < n && ((is_address && ops[i].atom == DW_OP_stack_value) ||
			     (!is_address && ops[i].atom == DW_OP_deref))) {
		rule->kind = is_address ? RULE_IS : RULE_AT;
		i++;
	}
	return i == n;
}

/* Registers that functions keep for their callers (System V ABI for x86-64, figure 3.4): where
 * nothing is said of them, they have the same value there. */
static bool is_callee_saved(uint8_t reg)
{
	return reg == DWARF_RBX || reg == DWARF_RBP || (reg >= 12 && reg <= 15);
}

/* The rule of one register. False: it is beyond rules. libdw (0.188, backends/x86_64_cfi.c) takes
 * register 0 for rbx where nothing is said, so that its defaults are not asked. */
static bool row_register(Dwarf_Frame *frame, uint8_t reg, struct row *row)
{
	struct rule *rule = &row->rules[row->n];
	Dwarf_Op memory[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, reg, memory, &ops, &n))
		return false;
	*rule = (struct rule){.reg = reg, .kind = RULE_UNDEFINED};
	if (n == 0 && is_callee_saved(reg))
		return true;
	if (n > 0 && !ops_rule(ops, n, true, rule))
		return false;
	if (reg == DWARF_RSP && rule->kind == RULE_IS && rule->base == DWARF_CFA &&
		rule->offset == 0)
		return true; /* always so, if nothing else is said */
	row->n++;
	return true;
}

static void row_fill(Dwarf_Frame *frame, struct row *row)
{
	Dwarf_Op *ops;
	size_t n;

	row->kind = ROW_LIBRARY;
	if (dwarf_frame_cfa(frame, &ops, &n))
		return;
	row->cfa.reg = DWARF_CFA;
	/* An undefined CFA goes with an undefined return address: the outermost frame. */
	if (n > 0 && !ops_rule(ops, n, false, &row->cfa))
		return;
	if (!row_register(frame, DWARF_RA, row))
		return;
	if (row->rules[0].kind == RULE_UNDEFINED) {
		row->kind = ROW_END;
		return;
	}
	for (uint8_t reg = 0; n > 0 && reg < DWARF_RA; reg++) {
		if (!row_register(frame, reg, row))
			return;
	}
	if (n > 0)
		row->kind = ROW_RULES;
}

void cfi_row(struct cfi *cfi, uint64_t vaddr, struct row *out)
{
	Dwarf_Frame *frame = frame_find(cfi, vaddr);
	bool is_signal = false;

	*out = (struct row){.kind = ROW_NONE};
	if (!frame)
		return;
	if (dwarf_frame_info(frame, NULL, NULL, &is_signal) == DWARF_RA)
		row_fill(frame, out);
	out->is_signal = is_signal;
	free(frame);
}
