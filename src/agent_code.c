/* agent_code.c owns the machine code that is copied into a tracee. It lies among constants, is never run in this program,
 * needs no library and no stack but for signals, and knows nothing but its table, in the page behind its own.
 *
 * The handler: a thread whose tracer has died runs into a page that was protected for watching. All protections of
 * the table are restored, and the access is made again: for the second time where the tracer had made it for the thread and died
 * before the thread was told, a moment of some microseconds. An access that the program itself has forbidden, or one
 * elsewhere, is the program's affair: its own disposition is restored, and what has faulted faults again; a signal that somebody
 * sent is sent again. Returning to the kernel's frame restores all registers, so none need be saved.
 *
 * Or such a thread runs into a breakpoint: the byte of the code is put back and run. Where the kernel lets nobody write into code,
 * the thread comes again until somebody else has taken the breakpoint out (rescue.h). */
#include "watchprof/agent_code.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

/* What the code below has as numbers. */
#define OFFSET(field) offsetof(struct safety_table, field)
_Static_assert(OFFSET(which) == 0 && OFFSET(wanted) == 8 && OFFSET(lists) == 88 && OFFSET(is_locked) == 49256 &&
		       OFFSET(n_breakpoints) == 49264 && OFFSET(breakpoints) == 49272 && BREAKPOINT_CODE == 0xf4,
	"the table of the code");
_Static_assert(sizeof(struct safety_breakpoint) == 24, "its breakpoints");
_Static_assert(sizeof(struct safety_list) == 24584 && sizeof(struct safety_range) == 24, "its lists");
_Static_assert(offsetof(siginfo_t, si_code) == 8 && offsetof(siginfo_t, si_addr) == 16 && SEGV_ACCERR == 2 &&
		       SI_KERNEL == 0x80,
	"siginfo");
_Static_assert(offsetof(ucontext_t, uc_mcontext.gregs) + 8UL * REG_ERR == 192, "the error code of a page fault");
_Static_assert(offsetof(ucontext_t, uc_mcontext.gregs) + 8UL * REG_RIP == 168, "where the thread stands");
_Static_assert(SYS_mprotect == 10 && SYS_rt_sigaction == 13 && SYS_rt_sigreturn == 15 && SYS_sched_yield == 24 && SYS_getpid == 39 &&
		       SYS_exit == 60 && SYS_gettid == 186 && SYS_rt_tgsigqueueinfo == 297 && SIGSEGV == 11,
	"calls");
_Static_assert(PROT_READ == 1 && PROT_WRITE == 2 && PROT_EXEC == 4, "protections");

__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl agent_code, agent_code_end, agent_code_entry, agent_code_handler, agent_code_restorer\n"
	".set .Ltable, .Lstart + 4096\n"
	"agent_code:\n"
	".Lstart:\n"
	".ascii \"watchprof\\0agent\\0\"\n"
	"agent_code_entry:\n"
	"	syscall\n"
	"	lea 1f(%rip), %r15\n"
	"	jmp .Lopen_all\n"
	"1:	xor %edi, %edi\n"
	"	mov $60, %eax\n" /* exit */
	"	syscall\n"
	"	hlt\n"
	/* These very bytes tell debuggers and unwinders that a signal's frame lies here. */
	"agent_code_restorer:\n"
	"	.byte 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05\n" /* mov $15, %rax: rt_sigreturn; syscall */

	/* .Llist_find: the list in force. Returns (%r15): rbx: its first range; r14: how many there are. */
	".Llist_find:\n"
	"	lea .Ltable(%rip), %rbx\n"
	"	mov (%rbx), %rax\n"
	"	and $1, %eax\n"
	"	imul $24584, %rax, %rax\n"
	"	lea 96(%rbx,%rax), %rbx\n"
	"	mov -8(%rbx), %r14\n"
	"	jmp *%r15\n"

	/* .Lopen_all: all protections as the program has them. Returns (%r15). Keeps r8, r12, r13, rbp. Several threads may do so at
	 * a time. */
	".Lopen_all:\n"
	"	mov %r15, %r9\n"
	"	lea 1f(%rip), %r15\n"
	"	jmp .Llist_find\n"
	"1:	sub $1, %r14\n"
	"	jb 2f\n"
	"	mov (%rbx), %rdi\n"
	"	mov 8(%rbx), %rsi\n"
	"	mov 16(%rbx), %rdx\n"
	"	mov $10, %eax\n" /* mprotect */
	"	syscall\n"
	"	add $24, %rbx\n"
	"	jmp 1b\n"
	"2:	lea .Ltable(%rip), %rbx\n"
	"	jmp *%r9\n"

	/* handler(rdi: signal, rsi: siginfo, rdx: context) */
	"agent_code_handler:\n"
	"	mov %rsi, %r12\n"
	"	mov %rdx, %r13\n"
	"	cmpl $0x80, 8(%rsi)\n" /* SI_KERNEL */
	"	je .Lbreakpoint\n"
	"	cmpl $2, 8(%rsi)\n" /* SEGV_ACCERR */
	"	jne .Lforeign\n"
	"	mov 16(%rsi), %rbp\n"
	"	lea 1f(%rip), %r15\n"
	"	jmp .Llist_find\n"
	"1:	sub $1, %r14\n"
	"	jb .Lforeign\n"
	"	mov %rbp, %rax\n"
	"	sub (%rbx), %rax\n"
	"	cmp 8(%rbx), %rax\n"
	"	jb 2f\n"
	"	add $24, %rbx\n"
	"	jmp 1b\n"
	/* What the access needs, from the error code: bit 4: fetch, bit 1: write. A page that can be used at all can be read. */
	"2:	mov 192(%r13), %rcx\n"
	"	mov $7, %eax\n"
	"	test $2, %cl\n"
	"	jz 3f\n"
	"	mov $2, %eax\n"
	"3:	test $16, %cl\n"
	"	jz 4f\n"
	"	mov $4, %eax\n"
	"4:	test 16(%rbx), %rax\n"
	"	jz .Lforeign\n"
	"	mov %rbx, %r8\n"
	"	lea 5f(%rip), %r15\n"
	"	jmp .Lopen_all\n"
	"5:	mov (%r8), %rdi\n"
	"	mov 8(%r8), %rsi\n"
	"	mov 16(%r8), %rdx\n"
	"	mov $10, %eax\n" /* mprotect, again */
	"	syscall\n"
	"	test %eax, %eax\n"
	"	jnz .Lforeign\n" /* or it would fault for ever */
	"	ret\n"

	/* One thread at a time; r8: which it is, rbp: where. */
	".Lbreakpoint:\n"
	"	lea .Ltable(%rip), %rbx\n"
	"	mov 168(%r13), %rbp\n"
	"	mov 49264(%rbx), %r14\n"
	"	lea 49272(%rbx), %r8\n"
	"1:	sub $1, %r14\n"
	"	jb .Lforeign\n"
	"	cmp (%r8), %rbp\n"
	"	je 2f\n"
	"	add $24, %r8\n"
	"	jmp 1b\n"
	"2:	lea 3f(%rip), %r15\n"
	"	jmp .Llock\n"
	"3:	lea 4f(%rip), %r15\n"
	"	jmp .Ltake_out\n"
	"4:	xor %r10d, %r10d\n" /* 1: the instruction faults by itself */
	"	test %eax, %eax\n"
	"	jz 5f\n"
	"	js 6f\n"
	/* Another thread was here before; or, where this one was told so already (by half its stack pointer beside the byte), the
	 * fault is not the breakpoint's. */
	"	mov 160(%r13), %ecx\n"
	"	cmp %ecx, 12(%r8)\n"
	"	sete %r10b\n"
	"	mov %ecx, 12(%r8)\n"
	"5:	movq $0, 49256(%rbx)\n"
	"	test %r10d, %r10d\n"
	"	jnz .Lforeign\n"
	"	ret\n"
	"6:	movq $0, 49256(%rbx)\n"
	"	mov $24, %eax\n" /* sched_yield */
	"	syscall\n"
	"	ret\n"

	/* .Llock: the breakpoints, for one thread at a time. Returns (%r15). */
	".Llock:\n"
	"	mov $1, %eax\n"
	"	xchg %rax, 49256(%rbx)\n"
	"	test %eax, %eax\n"
	"	jz 1f\n"
	"	mov $24, %eax\n" /* sched_yield */
	"	syscall\n"
	"	jmp .Llock\n"
	"1:	jmp *%r15\n"

	/* .Ltake_out: r8: a breakpoint. eax: 0: its byte is back, 1: there was none, negative: its page cannot be opened. Returns
	 * (%r15). Keeps r8, r12 to r14, rbp. */
	".Ltake_out:\n"
	"	mov (%r8), %rdi\n"
	"	and $-4096, %rdi\n"
	"	mov $4096, %esi\n"
	"	mov 16(%r8), %rdx\n"
	"	or $2, %edx\n"
	"	mov $10, %eax\n" /* mprotect */
	"	syscall\n"
	"	test %eax, %eax\n"
	"	jnz 2f\n"
	"	mov (%r8), %rcx\n"
	"	mov $1, %r9d\n"
	"	cmpb $0xf4, (%rcx)\n"
	"	jne 1f\n"
	"	mov 8(%r8), %al\n"
	"	mov %al, (%rcx)\n"
	"	xor %r9d, %r9d\n"
	"1:	mov 16(%r8), %rdx\n"
	"	mov $10, %eax\n" /* mprotect, of the same */
	"	syscall\n"
	"	mov %r9d, %eax\n"
	"2:	jmp *%r15\n"

	/* The program's own: there will be nobody any more who opens pages, or takes breakpoints out. */
	".Lforeign:\n"
	"	lea 1f(%rip), %r15\n"
	"	jmp .Lopen_all\n"
	"1:	lea 2f(%rip), %r15\n"
	"	jmp .Llock\n"
	"2:	mov 49264(%rbx), %r14\n"
	"	lea 49272(%rbx), %r8\n"
	"3:	sub $1, %r14\n"
	"	jb 5f\n"
	"	lea 4f(%rip), %r15\n"
	"	jmp .Ltake_out\n"
	"4:	add $24, %r8\n"
	"	jmp 3b\n"
	"5:	movq $0, 49256(%rbx)\n"
	"	lea 8(%rbx), %rsi\n" /* wanted */
	"	mov $11, %edi\n"
	"	xor %edx, %edx\n"
	"	mov $8, %r10d\n"
	"	mov $13, %eax\n" /* rt_sigaction */
	"	syscall\n"
	"	cmpl $0, 8(%r12)\n"
	"	jg 2f\n" /* by the kernel: the instruction faults again */
	"	mov $39, %eax\n" /* getpid */
	"	syscall\n"
	"	mov %rax, %rbp\n"
	"	mov $186, %eax\n" /* gettid */
	"	syscall\n"
	"	mov %rbp, %rdi\n"
	"	mov %rax, %rsi\n"
	"	mov $11, %edx\n"
	"	mov %r12, %r10\n"
	"	mov $297, %eax\n" /* rt_tgsigqueueinfo */
	"	syscall\n"
	"2:	ret\n"
	"agent_code_end:\n"
	".byte 0\n"
	".popsection\n");
