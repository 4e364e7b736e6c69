/* Built without lines: plain_function is a symbol with a size, nameless_label one that says nothing. What lies in
 * front of each is no code. */
	.text
	.byte 0x48, 0xb8
	.globl plain_function
	.type plain_function, @function
plain_function:
	addl $1, plain(%rip)
	movl $7, plain(%rip)
	movl plain(%rip), %eax
	ret
	.size plain_function, . - plain_function
	.byte 0x48, 0xb8
	.globl nameless_label
nameless_label:
	incl nameless(%rip)
	ret
	.section .note.GNU-stack, "", @progbits
