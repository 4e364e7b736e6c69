/* agent_code: machine code of ours that lies in a tracee's memory (agent.h), and the table that it
 * goes by. It is never run while there is a tracer, except for one `syscall` instruction at a time.
 */
#ifndef WATCHPROF_AGENT_CODE_H
#define WATCHPROF_AGENT_CODE_H

#include <stddef.h>
#include <stdint.h>

#define AGENT_CODE_SIZE 4096 /* the code has one page; the table begins in the next one */
#define AGENT_MAGIC     16   /* the first bytes of the code, by which it is found */

/* Runs of pages whose protection is ours at the moment, and the protection that the program gave
 * them. */
#define SAFETY_RANGES_MAX 1024
struct safety_range {
	uint64_t start, len, prot;
};
struct safety_list {
	uint64_t n;
	struct safety_range ranges[SAFETY_RANGES_MAX];
};

/* struct sigaction as the kernel has it. */
struct safety_action {
	uint64_t handler, flags, restorer, mask;
};

/* What a breakpoint of ours is: hlt, of one byte, which is not for programs (Intel SDM volume 2, "HLT"). It is a fault, and not a trap as int3
 * is: whatever becomes of the signal, and of who was to take it, the thread stands at the instruction that it is to run. */
#define BREAKPOINT_CODE 0xf4

/* A breakpoint of ours in the program's code, the byte of the code that it stands for, and the protection of its page. */
#define SAFETY_BREAKPOINTS_MAX 64
struct safety_breakpoint {
	uint64_t addr, byte, prot;
};

struct safety_table {
	uint64_t which;              /* lists[which] is in force: it changes in one store */
	struct safety_action wanted; /* of SIGSEGV, as the program set it */
	struct safety_action ours;
	uint64_t is_installed; /* ours is in force */
	uint64_t size;         /* of the whole scratch area, code and data */
	struct safety_list lists[2];
	uint64_t is_locked; /* a thread takes a breakpoint out */
	uint64_t n_breakpoints;
	struct safety_breakpoint breakpoints[SAFETY_BREAKPOINTS_MAX];
};

#define AGENT_TABLE_SIZE ((sizeof(struct safety_table) + 4095) / 4096 * 4096)

/* The code: bytes from agent_code to agent_code_end. */
extern const unsigned char agent_code[], agent_code_end[];

/* Within it. agent_code_entry: a `syscall` instruction, behind which a thread goes on that nobody
 * traces any more: it restores all protections and ends. agent_code_handler: for SIGSEGV;
 * agent_code_restorer: its way back. */
extern const unsigned char agent_code_entry[], agent_code_handler[], agent_code_restorer[];

#endif
