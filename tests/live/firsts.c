/* firsts: functions whose first instructions are of many kinds, called 100 times each: those that access v themselves, too. */
#include "handshake.h"

#define TIMES 100

volatile long v;

#define FUNCTION(name, code) \
	void name(void); \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" code "\nret\n.cfi_endproc\n.size " #name \
		", .-" #name "\n")

FUNCTION(first_add, "lock incq v(%rip)");
FUNCTION(first_load, "mov v(%rip),%rax");
FUNCTION(first_push, "push %rbx; incq v(%rip); pop %rbx");
FUNCTION(first_sub, "sub $8,%rsp; incq v(%rip); add $8,%rsp");
FUNCTION(first_endbr, "endbr64; incq v(%rip)");
FUNCTION(first_test, "test %rsp,%rsp; jz 1f; incq v(%rip); 1:");
FUNCTION(first_jump, "jmp 1f; hlt; 1: incq v(%rip)");
FUNCTION(first_divide, "divq %rdi"); /* by 7 */
FUNCTION(first_repeat, "rep stosb");
/* Never called. */
FUNCTION(first_call, "syscall");
FUNCTION(first_halt, "hlt");

/* Below what a function without calls may have there. */
#define CALL(name) "sub $128,%%rsp; call " #name "; add $128,%%rsp"

static char room[3 * 4096];

static void fill(void)
{
	void *at = room;
	unsigned long n = sizeof(room);

	__asm__ volatile(CALL(first_repeat) : "+D"(at), "+c"(n) : "a"(0) : "cc", "memory");
}

static long divided(void)
{
	unsigned long low = 100, high = 0;

	__asm__ volatile(CALL(first_divide) : "+a"(low), "+d"(high) : "D"(7L) : "cc", "memory");
	return low == 14 && high == 2;
}

int main(void)
{
	long right = 0;

	say("ready");
	told(NULL);
	for (int i = 0; i < TIMES; i++) {
		first_add();
		first_load();
		first_push();
		first_sub();
		first_endbr();
		first_test();
		first_jump();
		right += divided();
		fill();
	}
	return v == 6 * TIMES && right == TIMES ? 7 : 1;
}
