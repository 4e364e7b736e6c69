/* code.c owns nothing but the end of a list of instructions. It reads no code. */
#include "watchprof/code.h"

#include <stdlib.h>

void code_fini(struct code *code)
{
	for (size_t i = 0; i < code->n; i++)
		free(code->insns[i].text);
	free(code->insns);
	free(code->function);
	*code = (struct code){0};
}
