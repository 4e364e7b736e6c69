/* page_forms: executes each instruction of insn_forms.h on the eight bytes at form_area, from known registers and memory, and
 * prints a checksum of what it leaves: "NAME registers vectors memory". A form that this processor does not have is left out.
 * What it prints is the same whoever watches. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/personality.h>

#define FORM_END "jmp form_capture"
#include "insn_run.h"

#define WATCHED	     8
#define STATE_BYTES  16384 /* of xsave */
#define HEADER_AT    512   /* which parts are in use: not for programs to rely on */
#define LEGACY_AT    160   /* xmm0 to xmm15 */
#define LEGACY_BYTES 256
#define AVX_PART     2
#define LAST_PART    7 /* upper halves of ymm, then of masks and zmm */

extern uint64_t form_registers[17];
extern unsigned char form_state[STATE_BYTES], form_begin[STATE_BYTES];
void form_load(void);

/* No flag changes before it is kept; the stack may be what is watched. */
__asm__(".bss\n"
	".balign 64\n"
	".globl form_registers, form_state, form_begin\n"
	"form_state: .zero 16384\n"
	"form_begin: .zero 16384\n"
	"form_registers: .zero 136\n"
	".text\n"
	".globl form_capture, form_load\n"
	"form_capture:\n"
	"	mov %rax, form_registers; mov %rcx, form_registers+8; mov %rdx, form_registers+16\n"
	"	mov %rbx, form_registers+24; mov %rsp, form_registers+32; mov %rbp, form_registers+40\n"
	"	mov %rsi, form_registers+48; mov %rdi, form_registers+56; mov %r8, form_registers+64\n"
	"	mov %r9, form_registers+72; mov %r10, form_registers+80; mov %r11, form_registers+88\n"
	"	mov %r12, form_registers+96; mov %r13, form_registers+104; mov %r14, form_registers+112\n"
	"	mov %r15, form_registers+120\n"
	"	mov form_stack, %rsp\n"
	"	pushfq\n"
	"	popq form_registers+128\n"
	"	mov $-1, %eax; mov $-1, %edx\n"
	"	xsave64 form_state\n"
	"	jmp form_return\n"
	"form_load:\n"
	"	mov $-1, %eax; mov $-1, %edx\n"
	"	xrstor64 form_begin\n"
	"	mov $9, %r9d; mov $10, %r10d\n"
	"	ret\n");

/* The vector registers that every form begins with: numbers, so that arithmetic has something to do. */
static void begin_make(void)
{
	unsigned size, offset, c, d;
	uint64_t in_use;

	__asm__ volatile("xsave64 %0" : "=m"(form_begin) : "a"(-1), "d"(-1));
	for (unsigned i = 0; i < LEGACY_BYTES; i += 4)
		*(float *)(form_begin + LEGACY_AT + i) = 1.5F + (float)i;
	memcpy(&in_use, form_begin + HEADER_AT, sizeof(in_use));
	in_use |= 2;
	for (unsigned part = AVX_PART; part <= LAST_PART; part++) {
		if (part == 3 || part == 4 || !__get_cpuid_count(13, part, &size, &offset, &c, &d) || !size)
			continue;
		for (unsigned i = 0; i < size; i += 4)
			*(float *)(form_begin + offset + i) = 2.5F + (float)(part * 1000 + i);
		in_use |= 1ULL << part;
	}
	memcpy(form_begin + HEADER_AT, &in_use, sizeof(in_use));
}

static void form_set(int memory, const struct form *form)
{
	static const unsigned char zero[MEMORY_BYTES];
	long offset = form_area - form_memory;

	if (pwrite(memory, zero, sizeof(zero), 0) != sizeof(zero) ||
		pwrite(memory, form->data, WATCHED, offset) != WATCHED ||
		pread(memory, form_memory, MEMORY_BYTES, 0) != MEMORY_BYTES)
		exit(3);
	memset(form_other, 0, sizeof(form_other));
	memset(form_state, 0, sizeof(form_state));
}

/* FNV-1a. */
static uint64_t checksum(const void *data, size_t len)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
	return sum;
}

/* Addresses are in some of the registers: they are always the same ones in a program that begins so. */
static void begin_anew(char *const *argv)
{
	if (personality(0xffffffff) & ADDR_NO_RANDOMIZE)
		return;
	personality(ADDR_NO_RANDOMIZE);
	execve("/proc/self/exe", argv, (char *[]){NULL});
	exit(4);
}

int main(int argc, char **argv)
{
	static unsigned char copy[MEMORY_BYTES];
	int memory = memfd_create("forms", 0);

	(void)argc;
	begin_anew(argv);
	forms_prepare();
	begin_make();
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!form_can_run(&forms[i]))
			continue;
		form_set(memory, &forms[i]);
		form_load();
		form_run(forms[i].start);
		memset(form_state + HEADER_AT, 0, sizeof(uint64_t));
		if (pwrite(memory, form_memory, MEMORY_BYTES, 0) != MEMORY_BYTES || pread(memory, copy, MEMORY_BYTES, 0) != MEMORY_BYTES)
			exit(3);
		printf("%s %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", forms[i].name,
			checksum(form_registers, sizeof(form_registers)), checksum(form_state, sizeof(form_state)),
			checksum(copy, sizeof(copy)));
	}
	return 0;
}
