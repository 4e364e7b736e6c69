/* emulate_private.h: shared by the emulate files only. */
#ifndef EMULATE_PRIVATE_H
#define EMULATE_PRIVATE_H

#include "watchprof/emulate.h"
#include "watchprof/insn.h"

#define EMULATE_OPERANDS_MAX 3
#define EMULATE_BUFFER_BYTES 4096
#define EMULATE_SLOTS	     1024

#define FLAG_CF	    0x1U
#define FLAG_PF	    0x4U
#define FLAG_AF	    0x10U
#define FLAG_ZF	    0x40U
#define FLAG_SF	    0x80U
#define FLAG_TF	    0x100U
#define FLAG_DF	    0x400U
#define FLAG_OF	    0x800U
#define FLAG_NT	    0x4000U
#define FLAG_RF	    0x10000U
#define FLAG_VM	    0x20000U
#define FLAG_AC	    0x40000U
#define FLAG_ID	    0x200000U
#define FLAGS_STATUS (FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF)

/* Registers as instructions encode them. */
enum general {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, N_GENERAL = 16
};

/* How an instruction is carried out. */
enum emulate_way {
	WAY_STEP, /* not here */
	WAY_STUB, /* by this processor, on a buffer */
	WAY_PUSH,
	WAY_POP,
	WAY_CALL,
	WAY_JUMP,
	WAY_RETURN,
	WAY_PUSH_FLAGS,
	WAY_POP_FLAGS,
	WAY_LEAVE,
	WAY_ENTER,
	WAY_XLAT,
	WAY_STORE_SEGMENT,
	WAY_COPY,  /* 64 bytes: movdir64b */
	WAY_CLEAR, /* a cache line: clzero */
	WAY_FLUSH,
	WAY_NOTHING, /* but that it is passed */
	WAY_MOVS,
	WAY_STOS,
	WAY_LODS,
	WAY_CMPS,
	WAY_SCAS,
	N_WAYS
};

/* What of the state beyond general registers an instruction needs. */
enum emulate_level {
	LEVEL_NONE,
	LEVEL_FX, /* x87, MMX, xmm, mxcsr */
	LEVEL_X,  /* everything, AVX-512's part too */
};

enum emulate_division {
	DIVISION_NONE,
	DIVISION_UNSIGNED,
	DIVISION_SIGNED,
};

/* Where the value of a push, or the target of a branch, comes from. */
enum emulate_source {
	SOURCE_MEMORY,
	SOURCE_REGISTER, /* reg */
	SOURCE_VALUE,	 /* value */
	SOURCE_SEGMENT,	 /* reg */
};

/* An instruction, made ready: what it accesses, and how it is carried out. Addresses are those of the registers in
 * front of it. */
struct emulate_plan {
	uint64_t ip;
	unsigned char bytes[INSN_BYTES_MAX];
	uint8_t length; /* 0: empty */
	uint8_t way;
	uint8_t level;
	uint8_t n_operands; /* those in memory */
	struct insn_operand operands[EMULATE_OPERANDS_MAX]; /* those that only read first */
	bool is_xlat;	   /* the index is al alone */
	bool is_line;	   /* the address is that of its cache line */
	bool is_mmx_mask;  /* the mask of operand 0 is an MMX register */
	bool is_partial;   /* it writes, but not all bytes of its operand: these are read before */
	bool is_repeated;
	uint8_t stop_at;   /* repe, repne: it ends when ZF is not this (0, 1); 2: it does not look at ZF */
	uint8_t align;	   /* of operand 0, which the processor insists on; 0: none */
	/* WAY_STUB */
	unsigned char code[INSN_BYTES_MAX + 1];
	uint8_t n_code;
	uint8_t base;	   /* register that holds the buffer's address */
	uint8_t rsp_as;	   /* register that stands for rsp; INSN_NO_REGISTER: it is not used */
	uint8_t division;  /* enum emulate_division */
	bool can_trap_simd; /* SIMD exceptions, as far as they are not masked */
	bool can_trap_x87;
	uint8_t mxcsr_at;  /* the operand holds a new mxcsr there; INSN_NO_REGISTER: it does not */
	uint16_t opcode;   /* as x87 remembers it */
	/* By hand. */
	uint8_t source, reg;
	uint64_t value;
};

/* What the code of the stub has in memory, at a fixed distance. Offsets are known to the code: emulate_stub.c. */
struct emulate_frame {
	uint64_t general[N_GENERAL];
	uint64_t flags;
	uint64_t slot; /* address of the instruction's code */
	uint32_t mask; /* of the state parts that are loaded and saved; LEVEL_X */
	uint32_t level;
	uint32_t own_mxcsr, own_control;
	uint32_t clean_mask;
	uint32_t unused[7];
	unsigned char clean[576]; /* an area with nothing but initial states */
	unsigned char in[EMULATE_XSTATE_MAX], out[EMULATE_XSTATE_MAX];
	unsigned char buffer[EMULATE_BUFFER_BYTES];
};

/* What this processor has. */
struct emulate_processor {
	uint32_t leaves[5][4];
	uint32_t parts; /* XCR0, those parts that the stub handles; 0: no xsave */
	uint32_t area_len; /* of an xsave area with all parts that are enabled; 0: unknown */
	uint32_t mxcsr_mask; /* bits that mxcsr may have; loading others is refused */
	struct insn_xsave layout;
};

struct emulator {
	struct emulate_processor processor;
	unsigned char *code; /* the template, then EMULATE_SLOTS slots, then the frame */
	bool is_broken; /* some code could not be made executable again: nothing runs any more */
	struct emulate_frame *frame;
	size_t state_len; /* bytes at frame->in, LEVEL_X */
	struct insn_vectors vectors;
	struct emulate_plan plans[EMULATE_SLOTS];
	uint8_t last[EMULATE_SLOTS]; /* of each set: the plan used last */
};

/* One instruction, while it is carried out. */
struct emulate_run {
	struct emulator *emulator;
	const struct emulate_target *target;
	const struct emulate_plan *plan;
	struct user_regs_struct regs; /* copied back when all is done */
	uint64_t general[N_GENERAL];
	uint16_t offsets[EMULATE_ACCESSES_MAX]; /* in the buffer, of each access */
	struct emulate_outcome *out;
	uint8_t loaded; /* enum emulate_level: what of the state is in the frame */
	unsigned char header[64]; /* the tracee's, of its area */
};

/* emulate_processor.c: what is there, and whether it has an instruction (ZydisISASet, ZydisMnemonic). */
void emulate_processor_read(struct emulate_processor *processor);
bool emulate_processor_has(const struct emulate_processor *processor, unsigned set, unsigned mnemonic);

/* emulate_plan.c: false: no instruction. */
bool emulate_plan_make(struct emulate_plan *plan, const struct emulate_processor *processor,
	const unsigned char *code, size_t len, uint64_t ip);

/* emulate_pieces.c: fill run->out with the accesses. */
enum emulate_result emulate_pieces(struct emulate_run *run);
/* Bring what it reads into the buffer; carry out of it what it wrote. */
bool emulate_pieces_read(struct emulate_run *run);
bool emulate_pieces_write(struct emulate_run *run);

/* emulate_state.c: vector registers between the tracee and the frame. */
bool emulate_state_get(struct emulate_run *run, uint8_t level);
/* No floating-point exception that traps is to be feared. */
bool emulate_state_is_calm(const struct emulate_run *run);
/* Make the frame ready for the stub; for gathers and scatters, make the index vector count lanes of the buffer. */
void emulate_state_load(struct emulate_run *run);
void emulate_state_spread(struct emulate_run *run);
/* Give back what changed. */
bool emulate_state_set(struct emulate_run *run);
/* The MMX register in the frame. */
const unsigned char *emulate_state_mmx(const struct emulate_run *run, unsigned number);

/* emulate_stub.c */
bool emulate_stub_open(struct emulator *emulator);
void emulate_stub_close(struct emulator *emulator);
bool emulate_stub_write(struct emulator *emulator, const struct emulate_plan *plan);
enum emulate_result emulate_stub(struct emulate_run *run);

/* emulate_stack.c */
enum emulate_result emulate_push(struct emulate_run *run);
enum emulate_result emulate_pop(struct emulate_run *run);
enum emulate_result emulate_call(struct emulate_run *run);
enum emulate_result emulate_jump(struct emulate_run *run);
enum emulate_result emulate_return(struct emulate_run *run);
enum emulate_result emulate_push_flags(struct emulate_run *run);
enum emulate_result emulate_pop_flags(struct emulate_run *run);
enum emulate_result emulate_leave(struct emulate_run *run);
enum emulate_result emulate_enter(struct emulate_run *run);
enum emulate_result emulate_xlat(struct emulate_run *run);
enum emulate_result emulate_store_segment(struct emulate_run *run);
enum emulate_result emulate_copy(struct emulate_run *run);
enum emulate_result emulate_clear(struct emulate_run *run);
enum emulate_result emulate_flush(struct emulate_run *run);

/* emulate_string.c */
void emulate_string_pieces(struct emulate_run *run);
enum emulate_result emulate_movs(struct emulate_run *run);
enum emulate_result emulate_stos(struct emulate_run *run);
enum emulate_result emulate_lods(struct emulate_run *run);
enum emulate_result emulate_cmps(struct emulate_run *run);
enum emulate_result emulate_scas(struct emulate_run *run);

/* emulate.c */
bool emulate_read(struct emulate_run *run, uint64_t addr, void *out, size_t len);
bool emulate_write(struct emulate_run *run, uint64_t addr, const void *data, size_t len);
/* Write size bytes of a general register as the processor does: of 4 the upper half becomes 0. */
void emulate_register_set(struct emulate_run *run, unsigned number, uint64_t value, unsigned size);

#endif
