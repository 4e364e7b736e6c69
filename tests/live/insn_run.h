/* insn_run.h: runs the instructions of insn_forms.h, one at a time, with known registers. Included once per
 * program, which says with FORM_END what follows an instruction (a jump to form_return in the end). To
 * be linked without -pie: some forms have addresses of 32 bits. */
#ifndef INSN_RUN_H
#define INSN_RUN_H

#include <asm/prctl.h>
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MEMORY_BYTES 8192

enum need {
	BASE, REAL, POPCNT, SSE42, MOVBE, BMI, BMI2, CX16, XSAVE, XSAVEC, AVX, AVX2, AVX512, CLZERO, MOVDIRI, MOVDIR64B,
	PREFETCHW, CLFLUSH
};

/* Watched: eight bytes at form_area, in the middle of form_memory. */
extern unsigned char form_memory[MEMORY_BYTES], form_area[], form_other[MEMORY_BYTES];
extern const char form_callee[], form_return[];
void form_run(const char *code);

/* Not at the start of a page: QEMU takes that for the place of every unaligned store. */
__asm__(".bss\n"
	".balign 4096\n"
	".globl form_memory, form_area, form_other\n"
	"form_memory: .zero 2048\n"
	"form_area: .zero 6144\n"
	"form_other: .zero 8192\n"
	"form_stack: .zero 8\n"
	".text\n"
	".globl form_run, form_return, form_callee\n"
	".type form_run, @function\n"
	"form_run:\n"
	".cfi_startproc\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	.cfi_def_cfa_offset 56\n"
	"	mov %rsp, form_stack\n"
	"	mov %rdi, %r11\n"
	"	mov $form_area, %ebx\n"
	"	mov $form_other + 1024, %r15d\n"
	"	mov %rbx, %rsi; mov %rbx, %rdi; mov %rbx, %rbp; mov %rbx, %r8; mov %rbx, %r12; mov %rbx, %r13\n"
	"	mov %r15, %r14\n"
	"	xor %eax, %eax; xor %ecx, %ecx; xor %edx, %edx\n"
	"	call *%r11\n"
	"form_return:\n"
	"	mov form_stack, %rsp\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	.cfi_def_cfa_offset 8\n"
	"	cld\n"
	"	fninit\n"
	"	pushq $0x1f80\n"
	"	ldmxcsr (%rsp)\n"
	"	add $8, %rsp\n"
	"	ret\n"
	".cfi_endproc\n"
	".size form_run, . - form_run\n"
	".type form_callee, @function\n"
	"form_callee:\n"
	".cfi_startproc\n" FORM_END "\n"
	".cfi_endproc\n"
	".size form_callee, . - form_callee\n");

#define FORM(name, kind, size, needs, data, setup, insn) \
	extern const char form_##name[], insn_##name[], end_##name[]; \
	extern const uint64_t data_##name; \
	__asm__(".text\n" \
		".globl form_" #name ", insn_" #name ", end_" #name ", data_" #name "\n" \
		".type form_" #name ", @function\n" \
		"form_" #name ":\n" \
		".cfi_startproc\n" setup "\n" \
		"insn_" #name ": " insn "\n" \
		"end_" #name ":\n" FORM_END "\n" \
		".cfi_endproc\n" \
		".size form_" #name ", . - form_" #name "\n" \
		".section .rodata\n" \
		"data_" #name ": .quad " #data "\n" \
		".text\n");
#include "insn_forms.h"
#undef FORM

struct form {
	const char *name, *kind;
	unsigned size;
	enum need needs;
	const char *start, *insn, *end;
	const uint64_t *data;
};

#define FORM(name, kind, size, needs, data, setup, insn) \
	{#name, kind, size, needs, form_##name, insn_##name, end_##name, &data_##name},
static const struct form forms[] = {
#include "insn_forms.h"
};
#undef FORM

static bool cpuid_has(unsigned leaf, unsigned subleaf, unsigned reg, unsigned bit)
{
	unsigned r[4] = {0};

	return __get_cpuid_count(leaf, subleaf, &r[0], &r[1], &r[2], &r[3]) && r[reg] >> bit & 1;
}

static bool is_emulated(void)
{
	unsigned r[4];

	__cpuid(0x40000000, r[0], r[1], r[2], r[3]);
	return memcmp(&r[1], "TCGTCGTCGTCG", 12) == 0;
}

static bool form_can_run(const struct form *form)
{
	switch (form->needs) {
	case BASE: return true;
	case REAL: return !is_emulated();
	case POPCNT: return __builtin_cpu_supports("popcnt");
	case SSE42: return __builtin_cpu_supports("sse4.2");
	case MOVBE: return cpuid_has(1, 0, 2, 22);
	case BMI: return __builtin_cpu_supports("bmi");
	case BMI2: return __builtin_cpu_supports("bmi2");
	case CX16: return cpuid_has(1, 0, 2, 13);
	case XSAVE: return cpuid_has(1, 0, 2, 27);
	case XSAVEC: return cpuid_has(1, 0, 2, 27) && cpuid_has(13, 1, 0, 1);
	case AVX: return __builtin_cpu_supports("avx");
	case AVX2: return __builtin_cpu_supports("avx2");
	case AVX512: return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512dq");
	case CLZERO: return cpuid_has(0x80000008, 0, 1, 0);
	case MOVDIRI: return cpuid_has(7, 0, 2, 27);
	case MOVDIR64B: return cpuid_has(7, 0, 2, 28);
	case PREFETCHW: return cpuid_has(0x80000001, 0, 2, 8);
	case CLFLUSH: return cpuid_has(1, 0, 3, 19);
	}
	return false;
}

/* Once, before the first form. */
static void forms_prepare(void)
{
	__builtin_cpu_init();
	syscall(SYS_arch_prctl, ARCH_SET_GS, form_area);
}

#endif
