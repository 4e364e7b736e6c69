/* unwind_private: what the unwinder's files share. unwind_map.c knows the mappings, unwind_cfi.c
 * reads rules with libdw, unwind_cache.c keeps them by address, unwind_trail.c the paths that they gave, unwind.c
 * walks. */
#ifndef WATCHPROF_UNWIND_PRIVATE_H
#define WATCHPROF_UNWIND_PRIVATE_H

#include "watchprof/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Registers by their DWARF numbers (System V ABI for x86-64, figure 3.36); behind them the
 * canonical frame address. */
enum unwind_reg {
	DWARF_RBX = 3,
	DWARF_RBP = 6,
	DWARF_RSP = 7,
	DWARF_RA = 16,
	DWARF_CFA = 17,
	DWARF_REGS = 18,
};

/* Where a value lies: base + offset is the value, or the address of it. */
enum rule_kind {
	RULE_IS,
	RULE_AT,
	RULE_UNDEFINED,
};

struct rule {
	uint8_t reg; /* whose value in the calling frame; DWARF_RA: the return address */
	uint8_t kind;
	uint8_t base; /* an enum unwind_reg */
	int32_t offset;
};

enum row_kind {
	ROW_NONE, /* no rules: the path breaks here */
	ROW_RULES,
	ROW_LIBRARY, /* expressions that rules cannot hold: libunwind evaluates them */
	ROW_END,     /* the outermost frame */
};

#define ROW_RULES_MAX 17 /* the sixteen registers and the return address */

/* All that one instruction's frame needs to be left: registers without a rule keep their value. */
struct row {
	uint8_t kind; /* enum row_kind */
	bool is_signal;
	uint8_t n;
	struct rule cfa;
	struct rule rules[ROW_RULES_MAX];
};

/* One mapped file (or the vdso): a view of all of it, which outlives the process, whose last hits
 * may be unwound after its end. */
struct module {
	struct stat stat;
	unsigned char *image;
	size_t len;
	bool is_copy;  /* of memory: of the vdso, or of a file that cannot be opened */
	uint64_t base; /* where in memory that was */
	bool is_used;
	bool is_looked_at; /* cfi was made, if it could be */
	struct cfi *cfi;
	struct module *next;
};

/* One mapping. */
struct area {
	uint64_t start, end, offset, inode;
	bool is_code;
	const unsigned char *bytes; /* what it holds, of constant ones: part of a module's image */
	struct module *module;
	uint64_t to_vaddr;    /* to be added to an address for the one in the file, of code */
	uint64_t table;       /* address of .eh_frame_hdr; 0: the file has none */
	uint64_t table_start; /* address of the first entry of its search table */
	uint64_t n_entries;
};

#define MISSED_MAX 8

struct map {
	pid_t pid;
	struct area *areas; /* by address */
	size_t n_areas;
	struct module *modules;
	uint64_t missed[MISSED_MAX]; /* the last pages found in no mapping */
	unsigned n_missed;
};

/* Read the mappings anew. Returns whether code of a file came, went or moved. Where the process
 * has ended, what is known stays. */
bool map_read(struct map *map);
void map_free(struct map *map);

/* The mapping that holds the address, or NULL. */
const struct area *map_search(const struct map *map, uint64_t addr);

/* Constant memory of the process, from our own view of it where there is one. */
bool map_bytes(const struct map *map, uint64_t addr, void *out, size_t len);

/* The rules of an ELF image, which must stay where it is; NULL if it has none. */
struct cfi *cfi_new(const unsigned char *image, size_t len);
void cfi_free(struct cfi *cfi);

/* The row for an address as in the file. */
void cfi_row(struct cfi *cfi, uint64_t vaddr, struct row *out);

/* The start of the function that an address as in the file is in, by section .eh_frame. False: it is in
 * none. */
bool cfi_function(struct cfi *cfi, uint64_t vaddr, uint64_t *start);

struct row_cache;

struct row_cache *row_cache_new(void);
void row_cache_free(struct row_cache *cache);
void row_cache_clear(struct row_cache *cache);

/* The row kept under a key, or NULL. It stays until the next call that changes the cache. */
const struct row *row_cache_find(const struct row_cache *cache, uint64_t key);
const struct row *row_cache_put(struct row_cache *cache, uint64_t key, const struct row *row);

struct trail;

struct trail *trail_new(void);
void trail_free(struct trail *trail);

/* Rules have changed: no path is known any more. */
void trail_clear(struct trail *trail);

/* Where a register's value in a frame comes from. Offsets are from the innermost frame's stack pointer. */
enum origin_kind {
	ORIGIN_FIXED,	 /* it is the address at the offset */
	ORIGIN_REGISTER, /* nobody has saved it: it is the thread's own */
	ORIGIN_SLOT,	 /* the word of the stack at the offset */
	ORIGIN_NONE,
};

struct origin {
	uint8_t kind; /* enum origin_kind */
	int64_t offset;
};

/* A walk by rules that is taken note of, frame by frame. */
struct trail_walk {
	uint64_t sp;
	uint32_t at; /* the tree's stride of the present frame; 0: no longer noted */
	uint32_t epoch;
	struct origin origins[DWARF_REGS];
};

/* Make a path from the registers (by DWARF number; that of the return address has the instruction pointer; known: a bit
 * for each that is) and the first copy of the stack, if it is known by former walks: then it is the one that rules would give. Fills n, used, end and
 * frames from the second on. False: rules must tell; n, used and frames are undefined then. */
bool trail_follow(struct trail *trail, const uint64_t *regs, uint32_t known, const struct stack_image *stack,
	struct unwinding *out);

/* Take note of a walk: of its beginning; of the rules that the present frame, whose registers these are, is left by, before
 * it is left; of the caller that they led to; or that the present frame is the outermost one. */
void trail_begin(struct trail *trail, const uint64_t *regs, struct trail_walk *walk);
void trail_rules(struct trail *trail, struct trail_walk *walk, const struct row *row, const uint64_t *regs);
void trail_caller(struct trail *trail, struct trail_walk *walk, uint64_t ip);
void trail_end(struct trail *trail, const struct trail_walk *walk);

#endif
