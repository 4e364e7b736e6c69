/* fuzz_expr takes bytes as a watch of this very process, whose debug information and memory it is resolved by:
 * members, elements, pointers, casts. What is found must be memory that can be read, or lie in a thread's block. */
#include "fuzz.h"
#include "watchprof/symbols.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <string.h>
#include <unistd.h>

enum fuzz_color { FUZZ_RED = -1, FUZZ_GREEN = 7 };

struct fuzz_part {
	short list[2][3];
	union {
		long whole;
		char bytes[8];
	};
	unsigned one : 1, twelve : 12;
};

struct fuzz_object {
	int number;
	enum fuzz_color color;
	struct fuzz_part part, parts[3];
	struct fuzz_object *next, *none;
	void *any;
	char *text;
	double real;
	int (*call)(const uint8_t *, size_t);
};

struct fuzz_object fuzz_object;
struct fuzz_object *fuzz_pointer = &fuzz_object;
_Thread_local int fuzz_local;
static int fuzz_static = 1;

static void find(struct symbols *symbols, const struct watch *watch)
{
	struct span span = {0};
	uint64_t module = 0;
	char *object = NULL, byte;
	struct err err = {0};

	if (symbols_resolve(symbols, watch, &span, &module, &object, &err) == RESOLVE_FOUND) {
		must(object != NULL);
		symbols_type(symbols);
		if (!module && watch->name && !watch->n_steps && !watch->offset)
			must(sys_memory_read(getpid(), span.addr, &byte, 1) == 1);
	} else {
		must(err.text[0] != 0);
	}
	free(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct symbols *symbols; /* one for all: reading takes a while */
	char *text = mem_new(size + 1, 1);
	struct watch watch;
	struct err err;

	if (!symbols) {
		fuzz_object = (struct fuzz_object){.next = &fuzz_object, .any = &fuzz_object, .text = (char *)"text",
			.number = fuzz_static + fuzz_local, .call = LLVMFuzzerTestOneInput};
		symbols = symbols_new(getpid(), NULL);
	}
	if (size)
		memcpy(text, bytes, size);
	if (watch_parse(text, &watch, &err) == 0) {
		find(symbols, &watch);
		watch_fini(&watch);
	}
	free(text);
	return 0;
}
