/* emulate: runs one machine instruction of a tracee in the tracer, on a copy of its registers. It never touches a
 * process itself: memory and vector registers come and go through callbacks.
 *
 * The instruction itself runs on this processor, with its operand in memory replaced by a buffer of the tracer.
 * Strings, the stack and branches are done by hand. Whatever is not known to be harmless is left to the thread. */
#ifndef WATCHPROF_EMULATE_H
#define WATCHPROF_EMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define EMULATE_ACCESSES_MAX 64
#define EMULATE_XSTATE_MAX   16384

struct emulate_target {
	void *context; /* passed on */
	/* The tracee's memory, whatever its protection: all len bytes or nothing. A write of 2, 4 or 8 bytes that does
	 * not cross a cache line must be made as one store: others may read the bytes meanwhile. */
	bool (*read)(void *context, uint64_t addr, void *out, size_t len);
	bool (*write)(void *context, uint64_t addr, const void *data, size_t len);
	/* x87, xmm and mxcsr, as fxsave64 has them (NT_PRFPREG). */
	bool (*fp_get)(void *context, struct user_fpregs_struct *out);
	bool (*fp_set)(void *context, const struct user_fpregs_struct *in);
	/* All of it in the standard format of xsave (NT_X86_XSTATE). *len: room at area, then bytes written. */
	bool (*xstate_get)(void *context, void *area, size_t *len);
	/* Dear: asked for only where something beyond fp_set's part changed. area, len: as got, with the changes. */
	bool (*xstate_set)(void *context, const void *area, size_t len);
};

/* len bytes at addr (a linear address: the segment's base is in it). kind: set of HIT_READ and HIT_WRITE. */
struct emulate_access {
	uint64_t addr;
	uint32_t len;
	uint8_t kind;
};

struct emulate_outcome {
	uint8_t length;	       /* of the instruction, in bytes; 0: these bytes are none */
	bool is_known;	       /* accesses is all that it touches; false: it may touch less, or more, than they say */
	bool is_repeated;      /* a string instruction with a prefix that repeats it */
	bool is_under_way;     /* a rep that is not at its end: rip is still at it */
	bool is_backwards;     /* a string instruction with DF set */
	uint8_t element;       /* of a string instruction: bytes for one iteration; 0: it is none */
	uint16_t n_accesses;
	uint32_t n_iterations; /* of a rep in this call; otherwise 1 */
	/* In the order in which the instruction makes them. Neighbouring elements of a mask are one access, and
	 * so are the iterations of a rep. */
	struct emulate_access accesses[EMULATE_ACCESSES_MAX];
};

enum emulate_result {
	EMULATE_DONE,  /* it ran: regs, vector registers and memory have changed */
	EMULATE_STEP,  /* the thread must run it itself: nothing was changed. out tells what is known of it. */
	EMULATE_FAULT, /* a callback refused: nothing was changed */
};

/* NULL: there is no memory in which code can be made. */
struct emulator *emulator_new(void);
void emulator_free(struct emulator *emulator);

/* Run the instruction at regs->rip; code holds code_len bytes from there (INSN_BYTES_MAX at best). Where the result
 * is EMULATE_DONE, regs is as behind it, with RF clear. One call runs as many iterations of a rep as keep each pointer
 * within its page of 4096 bytes; then rip is still at it (is_under_way), with rcx, rsi and rdi advanced. Not for
 * threads with a shadow stack, and for 64-bit code only. out may be looked at whatever the result. */
enum emulate_result emulate(struct emulator *emulator, const struct emulate_target *target, const unsigned char *code,
	size_t code_len, struct user_regs_struct *regs, struct emulate_outcome *out);

/* Only what it would access; nothing runs and nothing is changed. False: not all of it is known (out->is_known).
 * Of cmps and scas with a prefix: what they access at most in this call. */
bool emulate_accesses(struct emulator *emulator, const struct emulate_target *target, const unsigned char *code,
	size_t code_len, const struct user_regs_struct *regs, struct emulate_outcome *out);

/* How many iterations in out touched the len bytes at addr (of instructions without rep: 0 or 1). *kind is what
 * they did. */
uint32_t emulate_touched(const struct emulate_outcome *out, uint64_t addr, uint64_t len, uint8_t *kind);

#endif
