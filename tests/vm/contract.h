/*
 * contract.h: what the debug-register contract tests share.
 *
 * A test drives a forked child (the tracee) through bare ptrace(2) and compares what the kernel
 * shows with what it must show.  Everything a test needs hangs off struct bench; there is no state
 * between two tests.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* included first everywhere: the C library shows TRAP_HWBKPT only then */
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The access types and the enable bits of DR7: Intel SDM vol. 3, "Debug Control Register (DR7)". */
enum watch_type { WATCH_X = 0, WATCH_W = 1, WATCH_IO = 2, WATCH_RW = 3 };

#define DR_TRAP_BITS 0xfull
#define DR6_RESERVED 0xffff0ff0ull /* the bits of DR6 that read as one */

/* Where in struct bench's page the watched bytes lie: room on both sides for near misses. */
#define WATCHED 64

/* Which bits of DR6 the processor sets when one instruction touches several slots. */
enum dr6_mode { DR6_EITHER, DR6_ONE, DR6_ALL };

struct bench {
	uint8_t *area;          /* two pages of memory, at the same address in every tracee */
	volatile uint64_t note; /* written by the tracee, read by note_read() */
	int pipe[2];            /* for tracees that wait for something after they have started */
	enum dr6_mode dr6_mode;
	const void *row;     /* the line of a table that this test runs */
	unsigned int failed; /* checks of this test that failed */
	const char *skip;    /* why this test cannot be run here, or NULL */
};

struct test {
	const char *name;
	void (*function)(struct bench *b);
	const void *row;
};

/* Runs in the tracee; the value becomes its exit status. */
typedef int tracee_body(struct bench *b);

struct tracee {
	pid_t pid;
	int go;       /* write end of the pipe that the tracee waits for, or -1 */
	uint64_t dr7; /* what arm() has written */
};

struct stop {
	int status;
	int code;      /* si_code, if the stop is a signal's */
	uint64_t addr; /* si_addr */
	uint64_t rip;
	uint64_t dr6;
};

/* What happened from a tracee's start to its end. */
struct tally {
	int hits;
	uint64_t first_dr6; /* of the first hit; DR6 is set to 0 after each */
	uint64_t stray_dr6; /* trap bits seen at stops that were no hits */
	int status;         /* of waitpid(2), when it ended */
};

struct test_table {
	const struct test *tests;
	size_t count;
};

extern const struct test_table hit_tests;   /* contract_hits.c */
extern const struct test_table value_tests; /* contract_values.c */
extern const struct test_table life_tests;  /* contract_life.c */

/* A failed system call that a test cannot go on without. */
_Noreturn void bail(const char *what);

/* Compare; on a difference print both values and mark the test as failed. */
bool check(struct bench *b, const char *what, uint64_t got, uint64_t wanted);
bool check_range(struct bench *b, const char *what, uint64_t got, uint64_t min, uint64_t max);

/* Trap bits: what a processor sets that reports one slot, and one that reports all; prints what was
 * seen. */
void check_dr6(struct bench *b, const char *what, uint64_t dr6, uint64_t one, uint64_t all);

/* How a tracee ended, as one number: its exit status, or 1000 + the signal that killed it. */
unsigned int ending(int status);

/* Forks a tracee and stops it before its body begins. */
struct tracee tracee_start(struct bench *b, tracee_body *body, long options);

/* The body may begin as soon as the tracee runs. */
void tracee_go(struct tracee *t);

void tracee_resume(const struct tracee *t, int request, int signal);
struct stop tracee_wait(const struct tracee *t);

/* Runs the body up to its first hit; marks the test as failed if something else comes first. */
struct stop tracee_first_hit(struct bench *b, struct tracee *t);

/* Runs to the end with this request (PTRACE_CONT, PTRACE_SYSCALL), passing signals on, swallowing
 * hits. */
struct tally tracee_finish(struct tracee *t, int request);

/* Ends it without further ado. */
void tracee_kill(struct tracee *t);

bool stop_is_hit(const struct stop *s);
uint64_t note_read(const struct bench *b, const struct tracee *t);

/* 0, or the errno of PTRACE_POKEUSER on debug register n. */
int poke(const struct tracee *t, int n, uint64_t value);
uint64_t peek(pid_t pid, int n);

uint64_t dr7_bits(int slot, enum watch_type type, int length);

/* Arms one slot on top of those armed before; bail() if the kernel refuses. */
void arm(struct tracee *t, int slot, const volatile void *addr, enum watch_type type, int length);

static inline void store_byte(volatile void *p, uint8_t v)
{
	__asm__ volatile("movb %1, (%0)" : : "r"(p), "q"(v) : "memory");
}

static inline uint8_t load_byte(const volatile void *p)
{
	uint8_t v;

	__asm__ volatile("movb (%1), %0" : "=q"(v) : "r"(p) : "memory");
	return v;
}

#endif
