/* insn: what one machine instruction does to memory. A debug register traps behind the access, so the
 * question is put backwards: the registers are those after the instruction, and it is known that
 * some watched byte was touched. Which operand was it, did it read or write, how wide is it?
 *
 * Everything here works on copies of code and registers, never on a live thread.
 * Sources: Intel SDM volume 2 (operands, masks, order of string instructions), volume 3 chapter
 * "Debug registers" (traps come behind the access; between the steps of rep, gather and scatter). */
#ifndef WATCHPROF_INSN_H
#define WATCHPROF_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define INSN_BYTES_MAX	  15 /* of one instruction */
#define INSN_OPERANDS_MAX 4  /* operands in memory */
#define INSN_NO_REGISTER  0xff

/* Which bytes of an operand are touched. */
enum insn_lanes {
	LANES_WHOLE,  /* all */
	LANES_MASKED, /* elements whose mask bit is set */
	LANES_PACKED, /* as many elements from the first as mask bits are set (compress, expand) */
	LANES_SPREAD, /* each lane of an index vector has an address of its own (gather, scatter) */
	LANES_LOOSE,  /* some; which ones depends on processor state (xsave) */
};

/* One operand in memory. Registers are numbered as instructions encode them (0 rax, 1 rcx, 2 rdx,
 * 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8-15). */
struct insn_operand {
	uint8_t kind;	 /* set of HIT_READ and HIT_WRITE */
	uint8_t lanes;	 /* enum insn_lanes */
	bool is_lost;	 /* the instruction changed a register that the address was made of */
	bool is_narrow;	 /* addresses have 32 bits */
	uint8_t segment; /* 0; 'f' or 'g': the base of fs or gs is added */
	uint8_t base, index, scale;
	uint8_t bits;	    /* bt with a bit number in this register: counts bits from the address */
	uint8_t bits_width; /* of that register, in bits */
	int8_t step;	    /* bytes that base has moved meanwhile, forwards where DF is clear */
	int64_t disp;
	uint32_t size; /* bytes */
	uint8_t element, n_elements;
	uint8_t mask;	      /* register that tells the elements: k or vector; INSN_NO_REGISTER: none is left */
	bool is_vector_mask;  /* the sign bits of a vector's elements */
	uint8_t folds;	      /* mask bits per element: each stands for elements of the result (broadcast) */
	uint8_t index_vector; /* LANES_SPREAD: the vector, and the bytes of its elements */
	uint8_t index_element;
};

enum insn_flow {
	FLOW_NEXT, /* the next instruction may follow */
	FLOW_AWAY, /* it does not: jump, return, trap */
	FLOW_CALL, /* it follows when the called function returns */
};

/* length 0: no instruction. */
struct insn {
	uint64_t address;
	uint8_t length;
	uint8_t flow;	  /* enum insn_flow */
	bool is_repeated; /* a rep string instruction */
	bool is_hint;	  /* it names memory that it does not touch: a prefetch, a nop */
	uint8_t n_operands;
	struct insn_operand operands[INSN_OPERANDS_MAX];
};

/* Decode the instruction of 64-bit code at address; bytes are len bytes from there.
 * False: these are no instruction. */
bool insn_decode(const unsigned char *bytes, size_t len, uint64_t address, struct insn *out);

/* The name of an address, owned by insn_text(); NULL: it has none. */
typedef char *insn_name_fn(void *context, uint64_t addr);

/* Write the instruction as text, in the syntax of AT&T; name, which may be NULL, is asked about the addresses in it. Returns its
 * length; 0: these bytes are none. */
size_t insn_text(const unsigned char *bytes, size_t len, uint64_t address, insn_name_fn *name, void *context, char *text,
	size_t size);

/* Decode from start, where an instruction is known to begin, to ip: out becomes the instruction that ends at
 * ip. bytes are the ip - start bytes from start. False: none ends there. */
bool insn_before(const unsigned char *bytes, uint64_t start, uint64_t ip, struct insn *out);

/* Does telling what it touched need the vector and mask registers? */
bool insn_needs_vectors(const struct insn *insn);

/* Vector and mask registers. */
struct insn_vectors {
	uint64_t k[8];
	unsigned char v[32][64];
};

/* Where the parts of an xsave area in the standard format lie; 0: this processor has no such part. */
struct insn_xsave {
	uint32_t ymm, k, zmm_high, zmm_more;
};

/* The layout of this processor's areas (cpuid leaf 13). */
struct insn_xsave insn_xsave_here(void);

/* Take the registers out of an area, as NT_X86_XSTATE and signal frames have it. False:
 * it is too short to be one. */
bool insn_vectors_read(const unsigned char *area, size_t len, const struct insn_xsave *layout,
	struct insn_vectors *out);

/* What surrounds the saved ip of a hit. */
struct insn_place {
	uint64_t ip;
	bool is_entry;	    /* ip is the first instruction of a function */
	struct insn before; /* the one that ends at ip, where it is known */
	struct insn at;	    /* the one at ip: a rep or a gather may be under way */
	struct insn caller; /* for is_entry: the call that ends at the return address, where it is known */
};

/* The registers of the hit; vectors may be NULL: unknown. */
struct insn_state {
	const struct user_regs_struct *regs;
	const struct insn_vectors *vectors;
};

/* Where an operand lies, by these registers (not one of LANES_SPREAD), and where a lane of one of LANES_SPREAD does. */
uint64_t insn_operand_address(const struct insn_operand *op, const struct user_regs_struct *regs);
uint64_t insn_lane_address(const struct insn_operand *op, const struct insn_state *state, unsigned lane);

/* Does the mask of an operand that has one leave element i in? */
bool insn_element_is_on(const struct insn_operand *op, const struct insn_vectors *vectors, unsigned i);

enum insn_touched {
	TOUCHED_UNKNOWN,
	TOUCHED_YES,
	TOUCHED_NO, /* the processor reported a neighbour: the elements that lie there were masked off */
};

struct insn_access {
	uint8_t kind; /* set of enum hit_kind; what cannot be told is HIT_READ_UNKNOWN, HIT_WRITE_UNKNOWN */
	uint8_t touched; /* enum insn_touched */
	bool is_at;    /* it was the instruction at ip, which is under way */
};

/* What the access of a hit did to the len bytes at addr. Never a guess: where instructions
 * that could have been it differ, what they differ in is unknown. */
struct insn_access insn_judge(const struct insn_place *place, const struct insn_state *state, uint64_t addr,
	uint64_t len);

/* Is an instruction that touches these bytes ahead of ip, at an address that no register is part of, with one operand and no mask? Then
 * insn_judge() says of them the same whatever the registers hold. */
bool insn_is_plain(const struct insn_place *place, uint64_t addr, uint64_t len);

/* For bytes of which the processor did not tell that they were touched: was it so? True only where the address of
 * an operand says so, and no mask leaves them out; then *out is what was done to them. */
bool insn_covers(const struct insn_place *place, const struct insn_state *state, uint64_t addr, uint64_t len,
	struct insn_access *out);

#endif
