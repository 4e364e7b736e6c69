/* emulate_string.c owns the string instructions: as many iterations of a rep in one go as stay within one page of
 * each pointer. */
#include "emulate_private.h"

#include "watchprof/hit.h"

#include <string.h>

#define PAGE 4096U

/* Iterations from addr on, the element at addr first, that stay within its page; at least one. */
static uint64_t iterations_here(const struct emulate_run *run, uint64_t addr, unsigned size)
{
	uint64_t in_page = addr % PAGE;

	if (in_page + size > PAGE)
		return 1;
	return run->out->is_backwards ? in_page / size + 1 : (PAGE - in_page) / size;
}

/* The lowest byte of n elements. */
static uint64_t range_start(const struct emulate_run *run, uint64_t addr, uint64_t n)
{
	return run->out->is_backwards ? addr - (n - 1) * run->out->element : addr;
}

/* Set the accesses to n iterations. */
static void iterations_set(struct emulate_run *run, uint32_t n)
{
	struct emulate_outcome *out = run->out;

	out->n_iterations = n;
	out->n_accesses = n ? run->plan->n_operands : 0;
	for (unsigned i = 0; i < out->n_accesses; i++) {
		const struct insn_operand *op = &run->plan->operands[i];

		out->accesses[i] = (struct emulate_access){
			range_start(run, insn_operand_address(op, &run->regs), n), n * out->element, op->kind};
	}
}

void emulate_string_pieces(struct emulate_run *run)
{
	const struct emulate_plan *plan = run->plan;
	struct user_regs_struct ahead = run->regs;
	uint64_t n = plan->is_repeated ? run->regs.rcx : 1;

	run->out->element = (uint8_t)plan->operands[0].size;
	run->out->is_backwards = run->regs.eflags & FLAG_DF;
	for (unsigned i = 0; i < plan->n_operands; i++) {
		uint64_t here = iterations_here(
			run, insn_operand_address(&plan->operands[i], &ahead), plan->operands[i].size);

		if (n > here)
			n = here;
	}
	iterations_set(run, (uint32_t)n);
	run->out->is_known = plan->stop_at == 2 || n <= 1;
}

/* n iterations have been made; is_met: the condition to go on is no longer met. */
static enum emulate_result string_end(struct emulate_run *run, uint32_t n, bool is_met)
{
	const struct emulate_plan *plan = run->plan;
	uint64_t moved = (uint64_t)n * run->out->element;

	if (run->out->is_backwards)
		moved = -moved;
	iterations_set(run, n);
	for (unsigned i = 0; i < plan->n_operands; i++)
		run->general[plan->operands[i].base] += moved;
	if (plan->is_repeated) {
		run->general[RCX] -= n;
		run->out->is_under_way = run->general[RCX] != 0 && !is_met;
	}
	run->out->is_known = true;
	return EMULATE_DONE;
}

/* Where iteration i is in a range of n. */
static size_t element_at(const struct emulate_run *run, uint32_t i, uint32_t n)
{
	return (size_t)(run->out->is_backwards ? n - 1 - i : i) * run->out->element;
}

/* Source and destination overlap: one after the other, as each may be read again. */
static bool overlapped_copy(struct emulate_run *run, uint32_t n)
{
	const struct emulate_access *from = &run->out->accesses[0], *to = &run->out->accesses[1];
	uint64_t start = from->addr < to->addr ? from->addr : to->addr;
	unsigned char bytes[3 * PAGE], element[8];
	size_t size = run->out->element;

	if (!emulate_read(run, from->addr, bytes + (from->addr - start), from->len))
		return false;
	/* The rest of the destination is written before it is read. */
	for (uint32_t i = 0; i < n; i++) {
		memcpy(element, bytes + (from->addr - start) + element_at(run, i, n), size);
		memcpy(bytes + (to->addr - start) + element_at(run, i, n), element, size);
	}
	return emulate_write(run, to->addr, bytes + (to->addr - start), to->len);
}

enum emulate_result emulate_movs(struct emulate_run *run)
{
	const struct emulate_access *from = &run->out->accesses[0], *to = &run->out->accesses[1];
	unsigned char bytes[PAGE];
	uint32_t n = run->out->n_iterations;

	if (n == 0)
		return string_end(run, 0, false);
	if (n > 1 && from->addr < to->addr + to->len && to->addr < from->addr + from->len) {
		if (!overlapped_copy(run, n))
			return EMULATE_FAULT;
	} else if (!emulate_read(run, from->addr, bytes, from->len) || !emulate_write(run, to->addr, bytes, to->len))
		return EMULATE_FAULT;
	return string_end(run, n, false);
}

enum emulate_result emulate_stos(struct emulate_run *run)
{
	unsigned char bytes[PAGE];
	uint32_t n = run->out->n_iterations;
	size_t size = run->out->element;

	for (uint32_t i = 0; i < n; i++)
		memcpy(bytes + i * size, &run->general[RAX], size);
	if (n && !emulate_write(run, run->out->accesses[0].addr, bytes, n * size))
		return EMULATE_FAULT;
	return string_end(run, n, false);
}

enum emulate_result emulate_lods(struct emulate_run *run)
{
	unsigned char bytes[PAGE];
	uint32_t n = run->out->n_iterations;
	size_t size = run->out->element;
	uint64_t value = 0;

	if (n && !emulate_read(run, run->out->accesses[0].addr, bytes, n * size))
		return EMULATE_FAULT;
	if (n) {
		memcpy(&value, bytes + element_at(run, n - 1, n), size);
		emulate_register_set(run, RAX, value, (unsigned)size);
	}
	return string_end(run, n, false);
}

/* The status flags of a - b (Intel SDM volume 1, "EFLAGS register"). */
static void compare_flags(struct emulate_run *run, uint64_t a, uint64_t b, unsigned size)
{
	unsigned top = size * 8 - 1;
	uint64_t mask = size == 8 ? UINT64_MAX : (1ULL << size * 8) - 1;
	uint64_t difference = (a - b) & mask;
	uint64_t flags = run->regs.eflags & ~(uint64_t)FLAGS_STATUS;

	flags |= a < b ? FLAG_CF : 0;
	flags |= __builtin_parity((unsigned)difference & 0xff) ? 0 : FLAG_PF;
	flags |= (a ^ b ^ difference) & FLAG_AF;
	flags |= difference == 0 ? FLAG_ZF : 0;
	flags |= difference >> top & 1 ? FLAG_SF : 0;
	flags |= ((a ^ b) & (a ^ difference)) >> top & 1 ? FLAG_OF : 0;
	run->regs.eflags = flags;
}

/* Compare elements until the prefix has them stop. The second is NULL for scas: rax is the first. */
static enum emulate_result compare(struct emulate_run *run, const unsigned char *first, const unsigned char *second)
{
	uint32_t n = run->out->n_iterations, i = 0;
	size_t size = run->out->element;
	bool is_met = false;

	while (i < n && !is_met) {
		uint64_t a = 0, b = 0;

		memcpy(&a, second ? first + element_at(run, i, n) : (const unsigned char *)&run->general[RAX], size);
		memcpy(&b, (second ? second : first) + element_at(run, i, n), size);
		compare_flags(run, a, b, (unsigned)size);
		is_met = run->plan->stop_at < 2 && (a == b) == run->plan->stop_at;
		i++;
	}
	return string_end(run, i, is_met);
}

enum emulate_result emulate_cmps(struct emulate_run *run)
{
	unsigned char first[PAGE], second[PAGE];
	const struct emulate_access *accesses = run->out->accesses;

	if (run->out->n_iterations &&
		(!emulate_read(run, accesses[0].addr, first, accesses[0].len) ||
			!emulate_read(run, accesses[1].addr, second, accesses[1].len)))
		return EMULATE_FAULT;
	return compare(run, first, second);
}

enum emulate_result emulate_scas(struct emulate_run *run)
{
	unsigned char bytes[PAGE];
	const struct emulate_access *access = &run->out->accesses[0];

	if (run->out->n_iterations && !emulate_read(run, access->addr, bytes, access->len))
		return EMULATE_FAULT;
	return compare(run, bytes, NULL);
}
