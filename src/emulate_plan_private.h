/* emulate_plan_private.h: shared by emulate_plan.c and emulate_patch.c, who alone know Zydis's view of an
 * instruction. */
#ifndef EMULATE_PLAN_PRIVATE_H
#define EMULATE_PLAN_PRIVATE_H

#include "emulate_private.h"
#include "insn_private.h"

struct decoded {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
};

/* emulate_patch.c: make plan->code: the same instruction, but with its operand in memory at a register. False: it cannot be run
 * that way. */
bool emulate_patch(struct emulate_plan *plan, const struct decoded *code);
/* The same of an instruction that accesses no memory. */
bool emulate_patch_plain(struct emulate_plan *plan, const struct decoded *code);

#endif
