/* call_private: the form of the table of system calls, shared by its data (call_entries.c, call_options.c) and its
 * reader (call_table.c). */
#ifndef WATCHPROF_CALL_PRIVATE_H
#define WATCHPROF_CALL_PRIVATE_H

#include "watchprof/call_table.h"

#define CALL_RULES_MAX 5

enum call_rule_kind {
	RULE_NONE,
	RULE_BYTES,	    /* size bytes */
	RULE_COUNT,	    /* base + size times argument by */
	RULE_COUNT_AT,	    /* size times the u32 that argument by points to (value-result); by itself a piece */
	RULE_STRING,	    /* up to and with the NUL; of size bytes at most, where that is not 0 */
	RULE_STRINGS,	    /* array of pointers to strings, up to NULL */
	RULE_BITS,	    /* argument by bits, but for the last size, in words of 8 bytes */
	RULE_PAGES,	    /* a byte for each page of argument by bytes */
	RULE_IOVEC,	    /* argument by times struct iovec; direction is that of the buffers */
	RULE_IOVEC_REMOTE,  /* the same, in the process whose pid is argument 0 */
	RULE_REGSET,	    /* one struct iovec, whose length the kernel writes; direction is that of the buffer */
	RULE_MSGHDR,	    /* struct msghdr; direction is that of the buffers */
	RULE_MMSGHDR,	    /* argument by times struct mmsghdr */
	RULE_SIGSET_PACK,   /* pselect6: pointer to a set and its size */
	RULE_HANDLE,	    /* struct file_handle: its length is in its first 4 bytes */
	RULE_ATTRIBUTES,    /* as many bytes as the u32 at offset base says; size, where that is 0 */
	RULE_CLONE,	    /* clone: parent_tid and child_tid, by the flags in argument 0 */
	RULE_CLONE_ARGS,    /* clone3: struct clone_args of argument by bytes */
	RULE_CAPABILITIES,  /* capget, capset: as many words as the version in the header (argument 0) has */
	RULE_SIGEVENT,	    /* struct sigevent; for SIGEV_THREAD with a cookie of base bytes */
	RULE_WAITERS,	    /* argument by, or size, times struct futex_waitv */
	RULE_XATTR,	    /* struct xattr_args of argument by bytes: pointer and length of a value */
	RULE_RANGE,	    /* argument by bytes, up to the end of a page, are mapped otherwise */
	RULE_MMAP,	    /* mmap: that, if the place is not free to choose */
	RULE_MREMAP,	    /* mremap: the old place, and the new one if it is not free to choose */
	RULE_BRK,	    /* brk: what is behind the new end of the heap */
	RULE_FIXED,	    /* size bytes at an address that matters */
	RULE_VAGUE,	    /* memory of unknown extent */
};

struct call_rule {
	uint8_t kind; /* enum call_rule_kind */
	uint8_t argument, by;
	uint8_t direction;
	uint8_t back;
	uint8_t scale; /* BACK_RESULT: bytes for each one of the result */
	uint8_t base;  /* BACK_RESULT, RULE_COUNT: bytes in front */
	uint8_t back_needs;
	uint16_t size;
};

/* What a call does for one value of its selector. */
struct call_option {
	uint32_t value;
	uint8_t class; /* CALL_PLAIN: that of the entry */
	bool looks_once;
	bool is_incomplete;
	struct call_rule rules[CALL_RULES_MAX];
};

struct call_options {
	uint8_t selector; /* the argument that tells */
	uint32_t mask;
	bool is_lifted;	  /* values that are not listed may touch anything; else nothing */
	uint8_t address;  /* but not where this argument is too small to be an address */
	size_t n;
	const struct call_option *list;
};

struct call_entry {
	const char *name;
	uint8_t class;
	bool looks_once;
	bool is_incomplete;
	bool is_pinned; /* pages of the buffers stay in use after the call */
	uint8_t pins_argument; /* the same where this argument has these bits */
	uint32_t pins_mask;
	struct call_rule rules[CALL_RULES_MAX];
	const struct call_options *options; /* beside the rules */
};

extern const struct call_entry call_entries[];
extern const uint64_t call_entries_end;

extern const struct call_options call_ioctl, call_fcntl, call_prctl, call_arch_prctl, call_semctl, call_shmctl,
	call_msgctl, call_futex, call_ptrace, call_keyctl, call_setsockopt, call_getsockopt, call_sysfs,
	call_modify_ldt, call_futex_wake, call_futex_wait;

/* Marks the number of an argument in by: an int, of which the upper half does not count. */
#define CALL_INT 8
#define INT(arg) (CALL_INT | (arg))

/* Flags of a futex (linux/futex.h): it is the process's own; a word with the number of a node follows it, which the kernel
 * may set. */
#define CALL_FUTEX_PRIVATE 128
#define CALL_FUTEX_NUMA	   4

/* In address: whatever the arguments are. */
#define CALL_ANY 16

/* The rules, as the data writes them. */
#define IN(arg, bytes)	  {.kind = RULE_BYTES, .argument = arg, .direction = CALL_IN, .size = bytes}
#define OUT(arg, bytes)	  {.kind = RULE_BYTES, .argument = arg, .direction = CALL_OUT, .back = BACK_WHOLE, .size = bytes}
#define OUT_MAYBE(arg, bytes) {.kind = RULE_BYTES, .argument = arg, .direction = CALL_OUT, .size = bytes}
#define OUT_POSITIVE(arg, bytes) \
	{.kind = RULE_BYTES, .argument = arg, .direction = CALL_OUT, .back = BACK_WHOLE, .back_needs = 1, .size = bytes}
#define INOUT(arg, bytes) {.kind = RULE_BYTES, .argument = arg, .direction = CALL_IN | CALL_OUT, .size = bytes}
#define STRING(arg)	  {.kind = RULE_STRING, .argument = arg, .direction = CALL_IN}
#define STRINGS(arg)	  {.kind = RULE_STRINGS, .argument = arg, .direction = CALL_IN}
#define IN_COUNT(arg, count, bytes) \
	{.kind = RULE_COUNT, .argument = arg, .by = count, .direction = CALL_IN, .size = bytes}
#define INOUT_COUNT(arg, count, bytes) \
	{.kind = RULE_COUNT, .argument = arg, .by = count, .direction = CALL_IN | CALL_OUT, .size = bytes}
#define OUT_COUNT(arg, count, bytes) \
	{.kind = RULE_COUNT, .argument = arg, .by = count, .direction = CALL_OUT, .size = bytes}
#define OUT_ALL(arg, count, bytes) \
	{.kind = RULE_COUNT, .argument = arg, .by = count, .direction = CALL_OUT, .back = BACK_WHOLE, .size = bytes}
/* Of which result times bytes are written. */
#define OUT_RESULT(arg, count, bytes)                                                           \
	{.kind = RULE_COUNT, .argument = arg, .by = count, .direction = CALL_OUT, .back = BACK_RESULT, \
		.scale = bytes, .size = bytes}
#define VALUE_OUT(arg, length) \
	{.kind = RULE_COUNT_AT, .argument = arg, .by = length, .direction = CALL_OUT, .back = BACK_VALUE, .size = 1}
#define BITS(arg, count, ways) \
	{.kind = RULE_BITS, .argument = arg, .by = count, .direction = ways, .back = BACK_WHOLE}
#define NODES(arg, count, ways) {.kind = RULE_BITS, .argument = arg, .by = count, .direction = ways, .size = 1}
#define IOVEC(arg, count, ways) {.kind = RULE_IOVEC, .argument = arg, .by = count, .direction = ways}
#define SIGSET(arg, length)    IN_COUNT(arg, length, 1)
#define RANGE(arg, count)      {.kind = RULE_RANGE, .argument = arg, .by = count}
#define VAGUE(arg)	       {.kind = RULE_VAGUE, .argument = arg, .direction = CALL_IN | CALL_OUT}
#define FIXED(arg, bytes, ways) {.kind = RULE_FIXED, .argument = arg, .direction = ways, .size = bytes}

#endif
