/* Built with lines: lined_label has no size, but each instruction has its line. */
	.text
	.byte 0x48, 0xb8
	.globl lined_label
lined_label:
	incl lined(%rip)
	movl lined(%rip), %eax
	ret
	.globl fill_label
fill_label:
	leaq area(%rip), %rdi
	movl $8, %ecx
	xorl %eax, %eax
	rep stosb
	ret
	.section .note.GNU-stack, "", @progbits
