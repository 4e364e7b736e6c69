/* emulate_stub.c owns the code that runs an instruction of the tracee on this processor: one page with a way in and
 * out, and behind it a slot for each plan. The registers of the tracee are loaded, but for its stack pointer (a signal
 * of our own needs a stack), the instruction runs on a buffer, and all is saved. */
#include "emulate_private.h"

#include "watchprof/hit.h"
#include "watchprof/util.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE	   4096
#define SLOT_BYTES 32
#define CODE_BYTES (PAGE + EMULATE_SLOTS * SLOT_BYTES)
#define JUMP_BYTES 5
#define FLAGS_RUN  0x202U /* what is set always */

/* Offsets of the frame, from the template's start. Behind the code: the frame. */
#define FRAME		"emulate_template + 36864 + "
#define FRAME_FLAGS	FRAME "128(%rip)"
#define FRAME_SLOT	FRAME "136(%rip)"
#define FRAME_MASK	FRAME "144(%rip)"
#define FRAME_LEVEL	FRAME "148(%rip)"
#define FRAME_MXCSR	FRAME "152(%rip)"
#define FRAME_CONTROL	FRAME "156(%rip)"
#define FRAME_CLEANMASK FRAME "160(%rip)"
#define FRAME_CLEAN	FRAME "192(%rip)"
#define FRAME_IN	FRAME "768(%rip)"
#define FRAME_OUT	FRAME "17152(%rip)"
#define FRAME_AT(n)	FRAME #n "(%rip)"

_Static_assert(CODE_BYTES == 36864, "FRAME");
_Static_assert(offsetof(struct emulate_frame, flags) == 128, "FRAME_FLAGS");
_Static_assert(offsetof(struct emulate_frame, slot) == 136, "FRAME_SLOT");
_Static_assert(offsetof(struct emulate_frame, mask) == 144, "FRAME_MASK");
_Static_assert(offsetof(struct emulate_frame, level) == 148, "FRAME_LEVEL");
_Static_assert(offsetof(struct emulate_frame, own_mxcsr) == 152, "FRAME_MXCSR");
_Static_assert(offsetof(struct emulate_frame, own_control) == 156, "FRAME_CONTROL");
_Static_assert(offsetof(struct emulate_frame, clean_mask) == 160, "FRAME_CLEANMASK");
_Static_assert(offsetof(struct emulate_frame, clean) == 192, "FRAME_CLEAN");
_Static_assert(offsetof(struct emulate_frame, in) == 768, "FRAME_IN");
_Static_assert(offsetof(struct emulate_frame, out) == 17152, "FRAME_OUT");
_Static_assert(offsetof(struct emulate_frame, buffer) % 64 == 0, "cache lines");

/* Never run where it is: it is copied to the start of a mapping. Level 0: general registers alone, 1: fxsave's,
 * 2: all. */
__asm__(".section .rodata\n"
	".globl emulate_template, emulate_template_out, emulate_template_end\n"
	".hidden emulate_template, emulate_template_out, emulate_template_end\n"
	"emulate_template:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	stmxcsr " FRAME_MXCSR "\n"
	"	fnstcw " FRAME_CONTROL "\n"
	"	cmpl $1, " FRAME_LEVEL "\n"
	"	jb 2f\n"
	"	ja 1f\n"
	"	fxrstor64 " FRAME_IN "\n"
	"	jmp 2f\n"
	"1:	mov " FRAME_MASK ", %eax\n"
	"	xor %edx, %edx\n"
	"	xrstor64 " FRAME_IN "\n"
	"2:	pushq " FRAME_FLAGS "\n"
	"	popfq\n"
	"	mov " FRAME_AT(0) ", %rax; mov " FRAME_AT(8) ", %rcx; mov " FRAME_AT(16) ", %rdx\n"
	"	mov " FRAME_AT(24) ", %rbx; mov " FRAME_AT(40) ", %rbp; mov " FRAME_AT(48) ", %rsi\n"
	"	mov " FRAME_AT(56) ", %rdi; mov " FRAME_AT(64) ", %r8; mov " FRAME_AT(72) ", %r9\n"
	"	mov " FRAME_AT(80) ", %r10; mov " FRAME_AT(88) ", %r11; mov " FRAME_AT(96) ", %r12\n"
	"	mov " FRAME_AT(104) ", %r13; mov " FRAME_AT(112) ", %r14; mov " FRAME_AT(120) ", %r15\n"
	"	jmp *" FRAME_SLOT "\n"
	"emulate_template_out:\n"
	"	mov %rax, " FRAME_AT(0) "; mov %rcx, " FRAME_AT(8) "; mov %rdx, " FRAME_AT(16) "\n"
	"	mov %rbx, " FRAME_AT(24) "; mov %rbp, " FRAME_AT(40) "; mov %rsi, " FRAME_AT(48) "\n"
	"	mov %rdi, " FRAME_AT(56) "; mov %r8, " FRAME_AT(64) "; mov %r9, " FRAME_AT(72) "\n"
	"	mov %r10, " FRAME_AT(80) "; mov %r11, " FRAME_AT(88) "; mov %r12, " FRAME_AT(96) "\n"
	"	mov %r13, " FRAME_AT(104) "; mov %r14, " FRAME_AT(112) "; mov %r15, " FRAME_AT(120) "\n"
	"	pushfq\n"
	"	popq " FRAME_FLAGS "\n"
	"	cmpl $1, " FRAME_LEVEL "\n"
	"	jb 4f\n"
	"	ja 3f\n"
	"	fxsave64 " FRAME_OUT "\n"
	"	jmp 5f\n"
	"3:	mov " FRAME_MASK ", %eax\n"
	"	xor %edx, %edx\n"
	"	xsave64 " FRAME_OUT "\n"
	"	mov " FRAME_CLEANMASK ", %eax\n"
	"	xor %edx, %edx\n"
	"	xrstor64 " FRAME_CLEAN "\n"
	"5:	fninit\n"
	"	fldcw " FRAME_CONTROL "\n"
	"	ldmxcsr " FRAME_MXCSR "\n"
	"4:	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n"
	"emulate_template_end:\n"
	".text\n");

extern const unsigned char emulate_template[], emulate_template_out[], emulate_template_end[];

#define CLEAN_MXCSR_AT 24
#define MXCSR_INITIAL  0x1f80U
#define PARTS_UPPER    0xe4U /* beyond what fxsave has */

bool emulate_stub_open(struct emulator *emulator)
{
	size_t len = CODE_BYTES + sizeof(struct emulate_frame);
	const uint32_t mxcsr = MXCSR_INITIAL;

	emulator->code = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (emulator->code == MAP_FAILED)
		return false;
	emulator->frame = (struct emulate_frame *)(void *)(emulator->code + CODE_BYTES);
	emulator->frame->clean_mask = emulator->processor.parts & PARTS_UPPER;
	memcpy(emulator->frame->clean + CLEAN_MXCSR_AT, &mxcsr, sizeof(mxcsr));
	memcpy(emulator->code, emulate_template, (size_t)(emulate_template_end - emulate_template));
	if (mprotect(emulator->code, CODE_BYTES, PROT_READ | PROT_EXEC) == 0)
		return true;
	emulate_stub_close(emulator);
	return false;
}

void emulate_stub_close(struct emulator *emulator)
{
	munmap(emulator->code, CODE_BYTES + sizeof(struct emulate_frame));
}

HIT_PATH static unsigned char *slot_of(struct emulator *emulator, const struct emulate_plan *plan)
{
	return emulator->code + PAGE + (size_t)(plan - emulator->plans) * SLOT_BYTES;
}

/* Code is never writable and executable at once. */
bool emulate_stub_write(struct emulator *emulator, const struct emulate_plan *plan)
{
	unsigned char *slot = slot_of(emulator, plan);
	unsigned char *page = emulator->code + (size_t)(slot - emulator->code) / PAGE * PAGE;
	const unsigned char *target = emulator->code + (emulate_template_out - emulate_template);
	int32_t distance = (int32_t)(target - (slot + plan->n_code + JUMP_BYTES));

	if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0)
		return false;
	memcpy(slot, plan->code, plan->n_code);
	slot[plan->n_code] = 0xe9; /* jmp */
	memcpy(slot + plan->n_code + 1, &distance, sizeof(distance));
	emulator->is_broken = mprotect(page, PAGE, PROT_READ | PROT_EXEC) != 0;
	return !emulator->is_broken;
}

/* Divisions trap where the result does not fit (Intel SDM volume 2, "DIV", "IDIV"). */
static bool is_divisible_signed(__int128 value, int64_t divisor, unsigned size)
{
	__int128 quotient, limit = (__int128)1 << (size * 8 - 1);

	if (divisor == 0)
		return false;
	if (divisor == -1) /* the quotient need not have a place here */
		return value > -limit && value <= limit;
	quotient = value / divisor;
	return quotient >= -limit && quotient < limit;
}

static bool is_divisible(const struct emulate_run *run)
{
	unsigned size = run->plan->operands[0].size, shift = 64 - size * 8;
	uint64_t divisor = 0, low = run->general[RAX], high = run->general[RDX];

	memcpy(&divisor, run->emulator->frame->buffer, size);
	if (size == 1) {
		high = low >> 8;
		low &= 0xff;
	}
	high = high << shift >> shift;
	low = low << shift >> shift;
	if (run->plan->division == DIVISION_UNSIGNED)
		return high < divisor; /* 0 divides nothing: high is not below it */
	return is_divisible_signed(((__int128)((int64_t)(high << shift) >> shift) * ((__int128)1 << size * 8)) + low,
		(int64_t)(divisor << shift) >> shift, size);
}

HIT_PATH static bool is_harmless(const struct emulate_run *run)
{
	const struct emulate_plan *plan = run->plan;
	uint32_t mxcsr = 0;

	if (plan->align && insn_operand_address(&plan->operands[0], &run->regs) % plan->align != 0)
		return false;
	if (plan->mxcsr_at != INSN_NO_REGISTER)
		memcpy(&mxcsr, run->emulator->frame->buffer + plan->mxcsr_at, sizeof(mxcsr));
	return (mxcsr & ~run->emulator->processor.mxcsr_mask) == 0 && (plan->division == DIVISION_NONE || is_divisible(run)) &&
		(plan->level == LEVEL_NONE || emulate_state_is_calm(run));
}

/* Registers that must be put in front of the instruction, and back behind it. */
HIT_PATH static void stub_run(struct emulate_run *run)
{
	const struct emulate_plan *plan = run->plan;
	struct emulate_frame *frame = run->emulator->frame;
	uint8_t bits = plan->operands[0].bits;

	memcpy(frame->general, run->general, sizeof(frame->general));
	if (bits != INSN_NO_REGISTER) /* the word is the right one already */
		frame->general[bits] &= plan->operands[0].size * 8U - 1;
	if (plan->rsp_as != INSN_NO_REGISTER)
		frame->general[plan->rsp_as] = run->general[RSP];
	frame->general[plan->base] = (uint64_t)(uintptr_t)frame->buffer;
	frame->flags = (run->regs.eflags & FLAGS_STATUS) | FLAGS_RUN;
	frame->slot = (uint64_t)(uintptr_t)slot_of(run->emulator, plan);
	emulate_state_load(run);
	if (plan->operands[0].lanes == LANES_SPREAD)
		emulate_state_spread(run);
	((void (*)(void))(uintptr_t)run->emulator->code)();
	if (bits != INSN_NO_REGISTER)
		frame->general[bits] = run->general[bits];
	frame->general[RSP] = plan->rsp_as == INSN_NO_REGISTER ? run->general[RSP] : frame->general[plan->rsp_as];
	if (plan->rsp_as != INSN_NO_REGISTER)
		frame->general[plan->rsp_as] = run->general[plan->rsp_as];
	frame->general[plan->base] = run->general[plan->base];
	memcpy(run->general, frame->general, sizeof(frame->general));
	run->regs.eflags = (run->regs.eflags & ~(uint64_t)FLAGS_STATUS) | (frame->flags & FLAGS_STATUS);
}

HIT_PATH enum emulate_result emulate_stub(struct emulate_run *run)
{
	if (run->emulator->is_broken)
		return EMULATE_STEP;
	if (!emulate_pieces_read(run) || !emulate_state_get(run, run->plan->level))
		return EMULATE_FAULT;
	if (!is_harmless(run))
		return EMULATE_STEP;
	stub_run(run);
	return emulate_pieces_write(run) && emulate_state_set(run) ? EMULATE_DONE : EMULATE_FAULT;
}
