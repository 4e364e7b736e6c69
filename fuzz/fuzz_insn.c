/* fuzz_insn takes bytes as code: decodes them from every byte on, and judges what each did to some memory, by
 * registers that are made of the same bytes. */
#include "fuzz.h"
#include "watchprof/hit.h"
#include "watchprof/insn.h"
#include "watchprof/util.h"

#include <string.h>

#define CODE	 0x401000
#define CODE_MAX 64

/* Registers, and vectors of them. */
static void registers_fill(const uint8_t *bytes, size_t size, void *out, size_t len)
{
	unsigned char *to = out;

	for (size_t i = 0; i < len; i++)
		to[i] = size ? bytes[i % size] : 0;
}

static void judge(const uint8_t *bytes, size_t size, const struct insn *before, const struct insn *at)
{
	struct user_regs_struct regs;
	struct insn_vectors vectors;
	struct insn_place place = {.ip = at->address, .before = *before, .at = *at, .is_entry = size & 1};
	struct insn_state state = {&regs, size & 2 ? &vectors : NULL};
	struct insn_access access;

	registers_fill(bytes, size, &regs, sizeof(regs));
	registers_fill(bytes, size, &vectors, sizeof(vectors));
	if (place.is_entry && before->flow == FLOW_CALL)
		place.caller = *before;
	for (unsigned len = 1; len <= 8; len *= 2) {
		access = insn_judge(&place, &state, regs.rax, len);
		must(access.touched <= TOUCHED_NO);
		must(!(access.kind & HIT_READ && access.kind & HIT_READ_UNKNOWN));
		must(!(access.kind & HIT_WRITE && access.kind & HIT_WRITE_UNKNOWN));
	}
}

static void from(const uint8_t *bytes, size_t size, size_t start)
{
	struct insn insn, next = {0};
	struct insn_vectors vectors;
	struct insn_xsave layout = {576, 1088, 1152, 1664};

	insn_vectors_read(bytes + start, size - start, &layout, &vectors);
	if (!insn_decode(bytes + start, size - start, CODE + start, &insn))
		return;
	must(insn.length >= 1 && insn.length <= INSN_BYTES_MAX && insn.length <= size - start);
	must(insn.n_operands <= INSN_OPERANDS_MAX && insn.address == CODE + start);
	insn_needs_vectors(&insn);
	if (!insn_decode(bytes + start + insn.length, size - start - insn.length, CODE + start + insn.length, &next))
		next.address = CODE + start + insn.length;
	judge(bytes, size, &insn, &next);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct insn insn;

	if (size > CODE_MAX)
		size = CODE_MAX;
	for (size_t start = 0; start < size; start++)
		from(bytes, size, start);
	for (size_t end = 1; end <= size; end++) {
		if (insn_before(bytes, CODE, CODE + end, &insn))
			must(insn.address + insn.length == CODE + end);
	}
	return 0;
}
