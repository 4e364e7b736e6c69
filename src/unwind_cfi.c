/* unwind_cfi.c owns the unwinder's use of libdw: the call frame information of one ELF image,
 * brought into rows. It never reads a process. */
#include "unwind_private.h"

#include "watchprof/util.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

struct cfi {
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh_frame;
	Dwarf_CFI *debug_frame; /* owned by dwarf */
	bool is_searched;       /* for the latter */
	/* Where functions begin and how long they are, in order; made when first asked for. */
	struct extent {
		uint64_t start, len;
	} *functions;
	size_t n_functions, cap_functions;
	bool is_listed;
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
	free(cfi->functions);
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
		if (cfi->dwarf)
			dwarf_new_oom_handler(cfi->dwarf, die_of_memory);
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

/* --- functions -------------------------------------------------------------------------------- */

/* How the pointers of a CIE's functions are encoded (Linux Standard Base, core, "Exception Frames");
 * DW_EH_PE_omit: it cannot be told. */
static uint8_t pointer_encoding(const Dwarf_CIE *cie)
{
	const uint8_t *data = cie->augmentation_data;
	uint8_t encoding = DW_EH_PE_absptr;
	size_t i = 0;

	if (cie->augmentation[0] != 'z')
		return cie->augmentation[0] ? DW_EH_PE_omit : DW_EH_PE_absptr;
	for (const char *c = cie->augmentation + 1; *c && i < cie->augmentation_data_size; c++) {
		if (*c == 'R')
			encoding = data[i];
		if (*c == 'P') /* a pointer to the personality routine follows its encoding */
			i += (data[i] & 7) == DW_EH_PE_udata4 ? 4 : (data[i] & 7) == DW_EH_PE_udata2 ? 2 : 8;
		if (*c == 'R' || *c == 'P' || *c == 'L')
			i++;
	}
	return encoding;
}

/* The function of an FDE: an encoded pointer, then a length of the same size. */
static bool fde_extent(const Dwarf_FDE *fde, uint8_t encoding, uint64_t section, const uint8_t *bytes,
	struct extent *out)
{
	size_t size = (encoding & 7) == DW_EH_PE_udata4 ? 4 : 8;
	int32_t narrow[2];
	int64_t wide[2];

	if (encoding == DW_EH_PE_omit || (encoding & 0x70 & ~DW_EH_PE_pcrel) || (encoding & DW_EH_PE_indirect) ||
		((encoding & 7) != DW_EH_PE_udata4 && (encoding & 7) != DW_EH_PE_udata8 && (encoding & 7)) ||
		(size_t)(fde->end - fde->start) < 2 * size)
		return false;
	memcpy(narrow, fde->start, size == 4 ? sizeof(narrow) : 0);
	memcpy(wide, fde->start, size == 8 ? sizeof(wide) : 0);
	out->start = size == 8 ? (uint64_t)wide[0]
		: encoding & DW_EH_PE_signed ? (uint64_t)(int64_t)narrow[0]
					     : (uint32_t)narrow[0];
	out->len = size == 8 ? (uint64_t)wide[1] : (uint32_t)narrow[1];
	if (encoding & DW_EH_PE_pcrel)
		out->start += section + (uint64_t)(fde->start - bytes);
	return true;
}

static int extent_compare(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* All functions of a section .eh_frame. */
static void functions_read(struct cfi *cfi, Elf_Data *data, uint64_t section)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(cfi->elf, NULL);
	Dwarf_CFI_Entry entry, cie;
	Dwarf_Off next, ignored;
	struct extent extent;

	for (Dwarf_Off at = 0;; at = next) {
		int result = dwarf_next_cfi(ident, data, true, at, &next, &entry);

		if (result > 0 || next == (Dwarf_Off)-1)
			break;
		if (result < 0 || dwarf_cfi_cie_p(&entry) ||
			dwarf_next_cfi(ident, data, true, entry.fde.CIE_pointer, &ignored, &cie) != 0 ||
			!dwarf_cfi_cie_p(&cie) ||
			!fde_extent(&entry.fde, pointer_encoding(&cie.cie), section, data->d_buf, &extent))
			continue;
		if (cfi->n_functions == cfi->cap_functions) {
			cfi->cap_functions = cfi->cap_functions ? cfi->cap_functions * 2 : 1024;
			cfi->functions = mem_resize(cfi->functions, cfi->cap_functions, sizeof(*cfi->functions));
		}
		cfi->functions[cfi->n_functions++] = extent;
	}
	if (cfi->n_functions)
		qsort(cfi->functions, cfi->n_functions, sizeof(*cfi->functions), extent_compare);
}

static void functions_list(struct cfi *cfi)
{
	Elf_Scn *section = NULL;
	size_t names;
	GElf_Shdr head;

	cfi->is_listed = true;
	if (elf_getshdrstrndx(cfi->elf, &names))
		return;
	while ((section = elf_nextscn(cfi->elf, section))) {
		const char *name = gelf_getshdr(section, &head) ? elf_strptr(cfi->elf, names, head.sh_name) : NULL;
		Elf_Data *data = name && strcmp(name, ".eh_frame") == 0 ? elf_rawdata(section, NULL) : NULL;

		if (data && data->d_buf)
			functions_read(cfi, data, head.sh_addr);
	}
}

bool cfi_function(struct cfi *cfi, uint64_t vaddr, uint64_t *start)
{
	size_t low = 0, high;

	if (!cfi->is_listed)
		functions_list(cfi);
	high = cfi->n_functions;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (cfi->functions[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || vaddr - cfi->functions[low - 1].start >= cfi->functions[low - 1].len)
		return false;
	*start = cfi->functions[low - 1].start;
	return true;
}
