/* emulate_stack.c owns the instructions that are done by hand but strings: the stack, branches through memory,
 * and some that only move bytes. */
#include "emulate_private.h"

#include "watchprof/hit.h"

#include <string.h>

#define WORD	      8
#define CACHE_LINE    64
#define PAGE	      4096
#define ADDRESS_BITS  47 /* of what programs may use; beyond, a branch is refused before it goes */
/* What popf changes in a program (Intel SDM volume 2, "POPF", privilege level 3). */
#define FLAGS_POPPED (FLAGS_STATUS | FLAG_TF | FLAG_DF | FLAG_NT | FLAG_AC | FLAG_ID)

static bool is_target(uint64_t addr)
{
	return addr >> ADDRESS_BITS == 0;
}

static uint64_t segment_value(const struct user_regs_struct *regs, unsigned number)
{
	const uint64_t values[] = {regs->es, regs->cs, regs->ss, regs->ds, regs->fs, regs->gs};

	return number < 6 ? values[number] & 0xffff : 0;
}

/* The operand of a push, call or jump. False: it cannot be read. */
static bool source_value(struct emulate_run *run, uint64_t *value)
{
	const struct emulate_plan *plan = run->plan;

	*value = plan->value;
	switch (plan->source) {
	case SOURCE_MEMORY:
		*value = 0;
		return emulate_read(run, run->out->accesses[0].addr, value, run->out->accesses[0].len);
	case SOURCE_REGISTER:
		*value = run->general[plan->reg];
		return true;
	case SOURCE_SEGMENT:
		*value = segment_value(&run->regs, plan->reg);
		return true;
	default:
		return true;
	}
}

/* The stack is the last access of a push or call. */
static bool word_push(struct emulate_run *run, uint64_t value)
{
	const struct emulate_access *stack = &run->out->accesses[run->out->n_accesses - 1];

	if (!emulate_write(run, stack->addr, &value, stack->len))
		return false;
	run->general[RSP] -= stack->len;
	return true;
}

enum emulate_result emulate_push(struct emulate_run *run)
{
	uint64_t value;

	return source_value(run, &value) && word_push(run, value) ? EMULATE_DONE : EMULATE_FAULT;
}

enum emulate_result emulate_pop(struct emulate_run *run)
{
	const struct emulate_access *stack = &run->out->accesses[0];
	uint64_t value = 0;

	if (!emulate_read(run, stack->addr, &value, stack->len) ||
		(run->plan->source == SOURCE_MEMORY &&
			!emulate_write(run, run->out->accesses[1].addr, &value, stack->len)))
		return EMULATE_FAULT;
	run->general[RSP] += stack->len;
	if (run->plan->source == SOURCE_REGISTER)
		emulate_register_set(run, run->plan->reg, value, stack->len);
	return EMULATE_DONE;
}

enum emulate_result emulate_call(struct emulate_run *run)
{
	uint64_t target;

	if (!source_value(run, &target))
		return EMULATE_FAULT;
	if (!is_target(target))
		return EMULATE_STEP;
	if (!word_push(run, run->regs.rip))
		return EMULATE_FAULT;
	run->regs.rip = target;
	return EMULATE_DONE;
}

enum emulate_result emulate_jump(struct emulate_run *run)
{
	uint64_t target;

	if (!source_value(run, &target))
		return EMULATE_FAULT;
	if (!is_target(target))
		return EMULATE_STEP;
	run->regs.rip = target;
	return EMULATE_DONE;
}

enum emulate_result emulate_return(struct emulate_run *run)
{
	uint64_t target;

	if (!emulate_read(run, run->out->accesses[0].addr, &target, WORD))
		return EMULATE_FAULT;
	if (!is_target(target))
		return EMULATE_STEP;
	run->regs.rip = target;
	run->general[RSP] += WORD + run->plan->value;
	return EMULATE_DONE;
}

enum emulate_result emulate_push_flags(struct emulate_run *run)
{
	return word_push(run, run->regs.eflags & ~(uint64_t)(FLAG_RF | FLAG_VM)) ? EMULATE_DONE : EMULATE_FAULT;
}

enum emulate_result emulate_pop_flags(struct emulate_run *run)
{
	const struct emulate_access *stack = &run->out->accesses[0];
	uint64_t value = 0, changed = stack->len == 2 ? FLAGS_POPPED & 0xffff : FLAGS_POPPED;

	if (!emulate_read(run, stack->addr, &value, stack->len))
		return EMULATE_FAULT;
	/* A trap behind the next instruction is for the processor; and the kernel lets no tracer set ID (FLAG_MASK in
	 * arch/x86/kernel/ptrace.c). */
	if (value & FLAG_TF || (value ^ run->regs.eflags) & changed & FLAG_ID)
		return EMULATE_STEP;
	run->regs.eflags = (run->regs.eflags & ~changed) | (value & changed);
	run->general[RSP] += stack->len;
	return EMULATE_DONE;
}

enum emulate_result emulate_leave(struct emulate_run *run)
{
	uint64_t value;

	if (!emulate_read(run, run->out->accesses[0].addr, &value, WORD))
		return EMULATE_FAULT;
	run->general[RSP] = run->general[RBP] + WORD;
	run->general[RBP] = value;
	return EMULATE_DONE;
}

/* It also looks whether the new end of the stack may be written (Intel SDM volume 2, "ENTER"). */
enum emulate_result emulate_enter(struct emulate_run *run)
{
	uint64_t frame = run->out->accesses[0].addr;

	if ((frame - run->plan->value) / PAGE != frame / PAGE)
		return EMULATE_STEP;
	if (!word_push(run, run->general[RBP]))
		return EMULATE_FAULT;
	run->general[RBP] = run->general[RSP];
	run->general[RSP] -= run->plan->value;
	return EMULATE_DONE;
}

enum emulate_result emulate_xlat(struct emulate_run *run)
{
	uint8_t value;

	if (!emulate_read(run, run->out->accesses[0].addr, &value, 1))
		return EMULATE_FAULT;
	emulate_register_set(run, RAX, value, 1);
	return EMULATE_DONE;
}

enum emulate_result emulate_store_segment(struct emulate_run *run)
{
	uint64_t value = segment_value(&run->regs, run->plan->reg);

	return emulate_write(run, run->out->accesses[0].addr, &value, 2) ? EMULATE_DONE : EMULATE_FAULT;
}

enum emulate_result emulate_copy(struct emulate_run *run)
{
	const struct emulate_access *accesses = run->out->accesses;
	unsigned char line[CACHE_LINE];

	if (run->out->n_accesses != 2 || accesses[1].addr % CACHE_LINE != 0)
		return EMULATE_STEP;
	return emulate_read(run, accesses[0].addr, line, CACHE_LINE) &&
			emulate_write(run, accesses[1].addr, line, CACHE_LINE)
		? EMULATE_DONE
		: EMULATE_FAULT;
}

enum emulate_result emulate_clear(struct emulate_run *run)
{
	static const unsigned char line[CACHE_LINE];

	return emulate_write(run, run->out->accesses[0].addr, line, CACHE_LINE) ? EMULATE_DONE : EMULATE_FAULT;
}

/* Flushing changes nothing that a program can see, but it is refused where a load would be. */
enum emulate_result emulate_flush(struct emulate_run *run)
{
	unsigned char byte;

	return emulate_read(run, run->out->accesses[0].addr, &byte, 1) ? EMULATE_DONE : EMULATE_FAULT;
}
