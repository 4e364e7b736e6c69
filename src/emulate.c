/* emulate.c owns the door of the emulator: plans are made once per instruction and kept, as long as its bytes are the
 * same; then one is carried out on copies, which become the tracee's state when all of it has worked. */
#include "watchprof/emulate.h"

#include "emulate_private.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

#define WAYS 2
#define SETS (EMULATE_SLOTS / WAYS)

#define USER_CODE_32 0x23 /* the selector of 32-bit code in Linux (arch/x86/include/asm/segment.h) */

static enum emulate_result not_here(struct emulate_run *run)
{
	(void)run;
	return EMULATE_STEP;
}

static enum emulate_result nothing(struct emulate_run *run)
{
	(void)run;
	return EMULATE_DONE;
}

static enum emulate_result (*const ways[N_WAYS])(struct emulate_run *) = {
	[WAY_STEP] = not_here,
	[WAY_STUB] = emulate_stub,
	[WAY_PUSH] = emulate_push,
	[WAY_POP] = emulate_pop,
	[WAY_CALL] = emulate_call,
	[WAY_JUMP] = emulate_jump,
	[WAY_RETURN] = emulate_return,
	[WAY_PUSH_FLAGS] = emulate_push_flags,
	[WAY_POP_FLAGS] = emulate_pop_flags,
	[WAY_LEAVE] = emulate_leave,
	[WAY_ENTER] = emulate_enter,
	[WAY_XLAT] = emulate_xlat,
	[WAY_STORE_SEGMENT] = emulate_store_segment,
	[WAY_COPY] = emulate_copy,
	[WAY_CLEAR] = emulate_clear,
	[WAY_FLUSH] = emulate_flush,
	[WAY_NOTHING] = nothing,
	[WAY_MOVS] = emulate_movs,
	[WAY_STOS] = emulate_stos,
	[WAY_LODS] = emulate_lods,
	[WAY_CMPS] = emulate_cmps,
	[WAY_SCAS] = emulate_scas,
};

struct emulator *emulator_new(void)
{
	struct emulator *emulator = mem_new(1, sizeof(struct emulator));

	emulate_processor_read(&emulator->processor);
	if (emulate_stub_open(emulator))
		return emulator;
	free(emulator);
	return NULL;
}

void emulator_free(struct emulator *emulator)
{
	if (!emulator)
		return;
	emulate_stub_close(emulator);
	free(emulator);
}

HIT_PATH bool emulate_read(struct emulate_run *run, uint64_t addr, void *out, size_t len)
{
	return run->target->read(run->target->context, addr, out, len);
}

HIT_PATH bool emulate_write(struct emulate_run *run, uint64_t addr, const void *data, size_t len)
{
	return run->target->write(run->target->context, addr, data, len);
}

void emulate_register_set(struct emulate_run *run, unsigned number, uint64_t value, unsigned size)
{
	if (size >= 4)
		run->general[number] = size == 4 ? (uint32_t)value : value;
	else
		memcpy(&run->general[number], &value, size);
}

/* In the order of enum general. */
HIT_PATH static void general_get(const struct user_regs_struct *regs, uint64_t general[N_GENERAL])
{
	const uint64_t values[N_GENERAL] = {regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp, regs->rbp, regs->rsi,
		regs->rdi, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13, regs->r14, regs->r15};

	memcpy(general, values, sizeof(values));
}

HIT_PATH static void general_put(struct user_regs_struct *regs, const uint64_t general[N_GENERAL])
{
	regs->rax = general[0];
	regs->rcx = general[1];
	regs->rdx = general[2];
	regs->rbx = general[3];
	regs->rsp = general[4];
	regs->rbp = general[5];
	regs->rsi = general[6];
	regs->rdi = general[7];
	regs->r8 = general[8];
	regs->r9 = general[9];
	regs->r10 = general[10];
	regs->r11 = general[11];
	regs->r12 = general[12];
	regs->r13 = general[13];
	regs->r14 = general[14];
	regs->r15 = general[15];
}

HIT_PATH static bool is_current(const struct emulate_plan *plan, const unsigned char *code, size_t len, uint64_t ip)
{
	return plan->length && plan->ip == ip && plan->length <= len && memcmp(plan->bytes, code, plan->length) == 0;
}

/* NULL: no instruction. Of the two plans that an address may have, one that is another address's stays. */
HIT_PATH static const struct emulate_plan *plan_find(struct emulator *emulator, const unsigned char *code, size_t len,
	uint64_t ip)
{
	size_t set = (ip ^ ip >> 9) % SETS;
	struct emulate_plan *plans = &emulator->plans[set * WAYS], *plan;

	for (unsigned i = 0; i < WAYS; i++) {
		if (is_current(&plans[i], code, len, ip)) {
			emulator->last[set] = (uint8_t)i;
			return &plans[i];
		}
	}
	emulator->last[set] = plans[0].length && plans[0].ip == ip ? 0 : !emulator->last[set];
	plan = &plans[emulator->last[set]];
	if (!emulate_plan_make(plan, &emulator->processor, code, len, ip)) {
		plan->length = 0;
		return NULL;
	}
	if (plan->way == WAY_STUB && !emulate_stub_write(emulator, plan))
		plan->way = WAY_STEP;
	return plan;
}

/* Fill in run and out: what the instruction would do. */
HIT_PATH static enum emulate_result run_begin(struct emulate_run *run, const unsigned char *code, size_t code_len,
	const struct user_regs_struct *regs)
{
	struct emulate_outcome *out = run->out;

	out->length = out->element = 0;
	out->is_known = out->is_repeated = out->is_under_way = out->is_backwards = false;
	out->n_accesses = 0;
	out->n_iterations = 1;
	run->loaded = LEVEL_NONE;
	run->plan = plan_find(run->emulator, code, code_len, regs->rip);
	if (!run->plan)
		return EMULATE_STEP;
	out->length = run->plan->length;
	run->regs = *regs;
	run->regs.rip += run->plan->length;
	general_get(regs, run->general);
	return emulate_pieces(run);
}

HIT_PATH enum emulate_result emulate(struct emulator *emulator, const struct emulate_target *target, const unsigned char *code,
	size_t code_len, struct user_regs_struct *regs, struct emulate_outcome *out)
{
	struct emulate_run run;
	enum emulate_result result;

	run.emulator = emulator;
	run.target = target;
	run.out = out;
	result = run_begin(&run, code, code_len, regs);
	if (result != EMULATE_DONE)
		return result;
	/* A program that steps itself, or has its accesses checked for alignment, is for the processor. */
	if (regs->eflags & (FLAG_TF | FLAG_AC) || regs->cs == USER_CODE_32)
		return EMULATE_STEP;
	result = ways[run.plan->way](&run);
	if (result != EMULATE_DONE)
		return result;
	general_put(&run.regs, run.general);
	if (out->is_under_way)
		run.regs.rip = regs->rip;
	run.regs.eflags &= ~(uint64_t)FLAG_RF;
	*regs = run.regs;
	return EMULATE_DONE;
}

HIT_PATH bool emulate_accesses(struct emulator *emulator, const struct emulate_target *target, const unsigned char *code,
	size_t code_len, const struct user_regs_struct *regs, struct emulate_outcome *out)
{
	struct emulate_run run;

	run.emulator = emulator;
	run.target = target;
	run.out = out;
	return run_begin(&run, code, code_len, regs) == EMULATE_DONE && out->is_known;
}

/* Numbers of iterations, from first up to but not last. */
struct span {
	uint32_t first, last;
};

/* The iterations of an access that touched the bytes; first == last: none. */
HIT_PATH static struct span span_of(const struct emulate_outcome *out, const struct emulate_access *access, uint64_t addr,
	uint64_t len)
{
	uint64_t start = addr > access->addr ? addr - access->addr : 0;
	uint64_t end = addr + len - access->addr;
	struct span span;

	if (addr + len <= access->addr || addr >= access->addr + access->len)
		return (struct span){0, 0};
	if (!out->element)
		return (struct span){0, 1};
	if (end > access->len)
		end = access->len;
	span = (struct span){(uint32_t)(start / out->element), (uint32_t)((end + out->element - 1) / out->element)};
	if (out->is_backwards)
		span = (struct span){out->n_iterations - span.last, out->n_iterations - span.first};
	return span;
}

HIT_PATH uint32_t emulate_touched(const struct emulate_outcome *out, uint64_t addr, uint64_t len, uint8_t *kind)
{
	struct span all = {0, 0};
	uint32_t n = 0;

	*kind = 0;
	for (unsigned i = 0; i < out->n_accesses; i++) {
		struct span span = span_of(out, &out->accesses[i], addr, len);
		uint32_t both_first = span.first > all.first ? span.first : all.first;
		uint32_t both_last = span.last < all.last ? span.last : all.last;

		if (span.first == span.last)
			continue;
		*kind |= out->accesses[i].kind;
		if (!out->element) {
			n = 1;
			continue;
		}
		/* A string instruction has two at most: those of both count once. */
		n += span.last - span.first - (both_last > both_first ? both_last - both_first : 0);
		all = span;
	}
	return n;
}
