/* fuzz_trace takes bytes as a binary trace and decodes them in both forms. Its seeds are
 * traces that the program itself has made. */
#include "fuzz.h"
#include "watchprof/trace.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const enum trace_format formats[] = {TRACE_TEXT, TRACE_JSON};

	for (size_t i = 0; i < ARRAY_LEN(formats) && size > 0; i++) {
		FILE *in = fmemopen((void *)bytes, size, "r"), *out = fopen("/dev/null", "w");
		struct err err = {0};

		if (!in || !out)
			abort();
		if (trace_decode(in, "fuzz", out, formats[i], &err) && (!err.text[0] || strchr(err.text, '\n')))
			abort(); /* a failure is one line */
		fclose(in);
		fclose(out);
	}
	return 0;
}
