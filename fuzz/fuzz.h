/* fuzz: what a fuzz target is: one function that takes any bytes. driver.c or libFuzzer calls it. */
#ifndef WATCHPROF_FUZZ_H
#define WATCHPROF_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* What must be so whatever the bytes are. */
static inline void must(int is_so)
{
	if (!is_so)
		abort();
}

#endif
