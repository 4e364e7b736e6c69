/* call_table: which memory each system call reads and writes, as pure data. A number and six arguments go in,
 * a plan comes out: the class of the call and every piece of memory that the kernel touches through it.
 * It never makes a call and never changes memory; it reads memory only through the callback that it gets.
 *
 * Sources: manual pages section 2, and the kernel up to Linux 6.18 (arch/x86/entry/syscalls/syscall_64.tbl).
 * Calls of 64-bit code only: numbers of the x32 and i386 ABIs (int 0x80) must not be asked for. */
#ifndef WATCHPROF_CALL_TABLE_H
#define WATCHPROF_CALL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_ARGUMENTS	6
#define CALL_PIECES_MAX 256
#define CALL_IN		1 /* the kernel reads it */
#define CALL_OUT	2 /* the kernel writes it */
#define CALL_MAPPED	4 /* with both of the above: what is mapped there, or how, changes */

enum call_class {
	CALL_PLAIN,
	CALL_MAP,	/* changes mappings, protections or pages, there where its pieces are */
	CALL_SIGRETURN, /* restores registers and the mask from the stack */
	CALL_SIGACTION,
	CALL_SIGMASK, /* the mask that user code runs with changes */
	CALL_FORK,    /* a new process or thread; its first stop comes after the kernel has written child_tid */
	CALL_EXEC,
	CALL_EXIT,
	CALL_FUTEX,		/* the address of the word is its identity: it cannot be put elsewhere */
	CALL_REGISTERS_POINTER, /* the kernel keeps an address for later (rseq, robust list, clear_child_tid) */
	CALL_ASYNC,		/* the kernel will touch memory outside of a call, or in ways of its own (io_uring, aio) */
	CALL_SECCOMP,		/* later calls, also those that are injected, may be refused */
	CALL_UNKNOWN,
};

/* How far a piece that the kernel writes is its own after a call. */
enum call_back {
	BACK_CHANGED, /* where the bytes changed: it may have written less */
	BACK_WHOLE,   /* all of it, if the call succeeded */
	BACK_RESULT,  /* base + scale * result bytes from where the piece begins in the row of buffers */
	BACK_VALUE,   /* as many as the 4 or 8 bytes at value_at say when the call is over */
};

#define CALL_NO_PARENT (-1)

/* A piece of memory. Its pointer is in argument (0-5), or (argument -1) in memory, at pointer_at within the
 * piece number parent. */
struct call_piece {
	uint64_t addr, len;
	uint64_t pointer_at;
	uint64_t before;   /* bytes that the buffers in front of it in the row take: iovec */
	uint64_t value_at; /* BACK_VALUE; also read where back_needs is not 0 */
	uint32_t scale, base;
	uint32_t back_needs; /* a smaller result means that nothing was written here */
	int16_t parent;
	int8_t argument;
	uint8_t direction;  /* set of CALL_IN, CALL_OUT, CALL_MAPPED; 0: only its address is kept */
	uint8_t back;	    /* enum call_back */
	uint8_t value_size; /* bytes at value_at */
	bool is_fixed;	    /* it cannot be put elsewhere: its extent is not known, or its address matters */
};

struct call_plan {
	enum call_class class;
	bool looks_once;  /* a futex wait: asleep, it does not touch the word any more */
	bool is_complete; /* false: it may touch memory that the pieces do not name */
	bool is_bad;	  /* memory that it would read cannot be read: the kernel will say EFAULT, or do a part */
	uint64_t nr;
	size_t n;
	struct call_piece pieces[CALL_PIECES_MAX];
};

/* The memory of the process that makes the call, whatever its protection. */
struct call_memory {
	void *context;
	/* Copy len bytes; all or nothing. */
	bool (*read)(void *context, uint64_t addr, void *out, size_t len);
	/* Is pid (as the process itself numbers it) the process, or a thread of it? May be NULL: not known. */
	bool (*is_self)(void *context, int64_t pid);
};

/* What the call would touch. Pointers that are NULL give no piece, nor do lengths of 0. */
void call_plan(uint64_t nr, const uint64_t args[CALL_ARGUMENTS], const struct call_memory *memory,
	struct call_plan *out);

/* Is the result one of an error (-4095 to -1)? */
bool call_is_error(int64_t result);

/* Is it one of those (512 to 516, ERESTART*) with which the kernel begins the call again, or may? No program sees these. */
bool call_is_restarted(int64_t result);

/* How many bytes from the start of a piece the kernel wrote, at most, if the call gave result; value is what
 * stands at value_at now (BACK_VALUE). */
uint64_t call_written(const struct call_piece *piece, int64_t result, uint64_t value);

#endif
