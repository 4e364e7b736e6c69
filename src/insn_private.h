/* insn_private.h: what insn.c and the emulate files, who alone know Zydis, both ask of an instruction. */
#ifndef INSN_PRIVATE_H
#define INSN_PRIVATE_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64-bit code. ops: ZYDIS_MAX_OPERAND_COUNT of them. False: no instruction. */
bool insn_parse(const unsigned char *bytes, size_t len, ZydisDecodedInstruction *in, ZydisDecodedOperand *ops);

/* The number of a general register; of a part of it, too. INSN_NO_REGISTER: it is none. */
uint8_t insn_general_register(ZydisRegister reg);

/* Set of HIT_READ and HIT_WRITE. */
uint8_t insn_operand_kind(const ZydisDecodedOperand *op);

/* Words that are pushed or popped, which the instruction does not name. */
bool insn_is_hidden_stack(const ZydisDecodedOperand *op);

/* xsave and its kin. */
bool insn_is_state(const ZydisDecodedInstruction *in);

#endif
