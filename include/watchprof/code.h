/* code: machine instructions as text, as plain data. */
#ifndef WATCHPROF_CODE_H
#define WATCHPROF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_insn {
	uint64_t addr;
	uint8_t length;
	char *text; /* in the syntax of AT&T, as objdump has it */
};

/* The instructions of a function, or of as much around an address as can be told. */
struct code {
	char *function;	 /* its name; NULL: unknown */
	uint64_t offset; /* of the first instruction from the function's beginning */
	struct code_insn *insns;
	size_t n;
};

/* Free the strings and set all to 0. */
void code_fini(struct code *code);

/* Who knows the code of a program image. */
struct code_source {
	/* The code that an address lies in; false: it cannot be had. The caller frees it (code_fini). */
	bool (*read)(void *context, uint32_t image, uint64_t addr, struct code *out);
	void *context;
};

#endif
