/*
 * contract_hits.c: what a hit looks like, and which accesses hit.
 *
 * Every tracee here is armed while it is stopped and is followed to its end.
 */
#include "contract.h"

#include <cpuid.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Some tests allow for faults of QEMU's software emulation; each says which. */
static bool in_qemu_tcg(void)
{
	unsigned int eax, name[3];

	__cpuid(0x40000000, eax, name[0], name[1], name[2]);
	return memcmp(name, "TCGTCGTCGTCG", sizeof(name)) == 0;
}

/* --- what a hit looks like --- */

static int body_store(struct bench *b)
{
	store_byte(b->area + WATCHED, 1);
	return 0;
}

static void test_siginfo(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store, 0);
	struct stop s;

	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	s = tracee_first_hit(b, &t);
	check(b, "si_code", (uint64_t)s.code, TRAP_HWBKPT);
	check(b, "si_code is 4", (uint64_t)s.code, 4);
	check(b, "si_addr is rip", s.addr, s.rip);
	check(b, "DR6", s.dr6, DR6_RESERVED | 1);
	tracee_kill(&t);
}

static int body_store_once_labelled(struct bench *b)
{
	__asm__ volatile("lea 1f(%%rip), %%rax\n\t"
			 "mov %%rax, %0\n\t"
			 "movb $1, (%1)\n"
			 "1:"
			 : "=m"(b->note)
			 : "r"(b->area + WATCHED)
			 : "rax", "memory");
	return 0;
}

static void test_rip_is_next(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store_once_labelled, 0);
	struct stop s;

	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	s = tracee_first_hit(b, &t);
	check(b, "rip", s.rip, note_read(b, &t));
	tracee_kill(&t);
}

static int body_store_four(struct bench *b)
{
	int i;

	for (i = 3; i >= 0; i--)
		store_byte(b->area + WATCHED + i, 1);
	return 0;
}

/* No write to DR6 between the hits: each exception replaces the bits of the one before. */
static void test_dr6_per_exception(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store_four, 0);
	int slot;

	for (slot = 0; slot < 4; slot++)
		arm(&t, slot, b->area + WATCHED + slot, WATCH_W, 1);
	for (slot = 3; slot >= 0; slot--)
		check(b, "trap bits", tracee_first_hit(b, &t).dr6 & DR_TRAP_BITS, 1u << slot);
	tracee_kill(&t);
}

static int body_store_raise(struct bench *b)
{
	store_byte(b->area + WATCHED, 1);
	raise(SIGTRAP);
	return 0;
}

static int body_store_int3(struct bench *b)
{
	store_byte(b->area + WATCHED, 1);
	__asm__ volatile("int3");
	return 0;
}

struct stale_row {
	tracee_body *body;
	int code;
	bool clear; /* DR6 = 0 after the hit */
};

static void test_dr6_later(struct bench *b)
{
	const struct stale_row *row = b->row;
	struct tracee t = tracee_start(b, row->body, 0);
	struct stop s;

	arm(&t, 2, b->area + WATCHED, WATCH_W, 1);
	tracee_first_hit(b, &t);
	if (row->clear)
		check(b, "writing DR6", (uint64_t)poke(&t, 6, 0), 0);
	tracee_resume(&t, PTRACE_CONT, 0);
	s = tracee_wait(&t);
	check(b, "stop signal", (uint64_t)(s.status >> 8), SIGTRAP);
	check(b, "si_code", (uint64_t)(int64_t)s.code, (uint64_t)(int64_t)row->code);
	check(b, "DR6", s.dr6, row->clear ? 0 : DR6_RESERVED | 4);
	tracee_kill(&t);
}

static void test_dr6_write(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store, 0);

	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	check(b, "DR6 before any hit", peek(t.pid, 6), DR6_RESERVED);
	check(b, "writing 5", (uint64_t)poke(&t, 6, 5), 0);
	check(b, "DR6 reads back", peek(t.pid, 6), 5);
	check(b, "DR6 at the hit", tracee_first_hit(b, &t).dr6, DR6_RESERVED | 1);
	tracee_kill(&t);
}

/*
 * The kernel gives a step's si_code to a hit that was stepped over; only DR6 tells.  QEMU 7.2 never
 * gets past such an instruction, and the whole guest hangs.
 */
static void test_single_step(struct bench *b)
{
	struct tracee t;
	struct stop s;
	int steps;

	if (in_qemu_tcg()) {
		b->skip = "QEMU's software emulation hangs";
		return;
	}
	t = tracee_start(b, body_store_once_labelled, 0);
	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	tracee_go(&t);
	for (steps = 0; steps < 100000; steps++) {
		tracee_resume(&t, PTRACE_SINGLESTEP, 0);
		s = tracee_wait(&t);
		if (!WIFSTOPPED(s.status) || (s.dr6 & DR_TRAP_BITS) != 0)
			break;
	}
	check(b, "stop signal", (uint64_t)(s.status >> 8), SIGTRAP);
	check(b, "trap bits", s.dr6 & DR_TRAP_BITS, 1);
	check(b, "rip", s.rip, note_read(b, &t));
	printf("# si_code %d, DR6 = %#llx\n", s.code, (unsigned long long)s.dr6);
	check(b, "si_code is a step's", (uint64_t)s.code, TRAP_TRACE);
	tracee_kill(&t);
}

/* --- which accesses hit --- */

static void do_load(uint8_t *p)
{
	load_byte(p);
}

static void do_store(uint8_t *p)
{
	store_byte(p, 1);
}

static void do_store_same(uint8_t *p)
{
	store_byte(p, 0);
}

static void do_add(uint8_t *p)
{
	__asm__ volatile("addl $1, (%0)" : : "r"(p) : "memory", "cc");
}

static void do_lock_inc(uint8_t *p)
{
	__asm__ volatile("lock incl (%0)" : : "r"(p) : "memory", "cc");
}

static void do_xchg(uint8_t *p)
{
	uint32_t v = 1;

	__asm__ volatile("xchgl %0, (%1)" : "+r"(v) : "r"(p) : "memory");
}

static void do_cmpxchg_failing(uint8_t *p)
{
	uint32_t v = 7;

	__asm__ volatile("lock cmpxchgl %1, (%2)" : "+a"(v) : "r"(1), "r"(p) : "memory", "cc");
}

static void do_prefetch(uint8_t *p)
{
	__asm__ volatile("prefetcht0 (%0)\n\tprefetchw (%0)" : : "r"(p) : "memory");
}

static void do_vector_store(uint8_t *p)
{
	__asm__ volatile("movups %%xmm0, (%0)" : : "r"(p) : "memory");
}

static void do_vector_load(uint8_t *p)
{
	__asm__ volatile("movups (%0), %%xmm0" : : "r"(p) : "xmm0");
}

static void do_store_before(uint8_t *p)
{
	__asm__ volatile("movq $-1, -8(%0)" : : "r"(p) : "memory");
}

static void do_store_behind(uint8_t *p)
{
	__asm__ volatile("movl $-1, 4(%0)" : : "r"(p) : "memory");
}

struct access_row {
	void (*access)(uint8_t *p);
	int hits_w;  /* of a 4-byte write watch */
	int hits_rw; /* of a read-or-write watch */
};

static int body_access(struct bench *b)
{
	const struct access_row *row = b->row;

	row->access(b->area + WATCHED);
	return 0;
}

static void check_access(struct bench *b, enum watch_type type, const char *what, int wanted)
{
	struct tracee t = tracee_start(b, body_access, 0);
	struct tally tally;

	arm(&t, 1, b->area + WATCHED, type, 4);
	tally = tracee_finish(&t, PTRACE_CONT);
	check(b, what, (uint64_t)tally.hits, (uint64_t)wanted);
	if (wanted > 0)
		check(b, "DR6", tally.first_dr6, DR6_RESERVED | 2);
	check(b, "the tracee ends with 0", ending(tally.status), 0);
}

static void test_access(struct bench *b)
{
	const struct access_row *row = b->row;

	check_access(b, WATCH_W, "hits of a write watch", row->hits_w);
	check_access(b, WATCH_RW, "hits of a read-or-write watch", row->hits_rw);
}

#define SWEEP 16 /* offsets from -SWEEP to SWEEP */

struct sweep_row {
	int width;
	bool load;
};

static void store_wide(uint8_t *p, int width)
{
	switch (width) {
	case 1:
		__asm__ volatile("movb $1, (%0)" : : "r"(p) : "memory");
		break;
	case 2:
		__asm__ volatile("movw $1, (%0)" : : "r"(p) : "memory");
		break;
	case 4:
		__asm__ volatile("movl $1, (%0)" : : "r"(p) : "memory");
		break;
	default:
		__asm__ volatile("movq $1, (%0)" : : "r"(p) : "memory");
		break;
	}
}

static void load_wide(const uint8_t *p, int width)
{
	switch (width) {
	case 1:
		__asm__ volatile("movb (%0), %%al" : : "r"(p) : "rax", "memory");
		break;
	case 2:
		__asm__ volatile("movw (%0), %%ax" : : "r"(p) : "rax", "memory");
		break;
	case 4:
		__asm__ volatile("movl (%0), %%eax" : : "r"(p) : "rax", "memory");
		break;
	default:
		__asm__ volatile("movq (%0), %%rax" : : "r"(p) : "rax", "memory");
		break;
	}
}

/* Accesses of one width at every offset from well before to well behind the watched bytes. */
static int body_sweep(struct bench *b)
{
	const struct sweep_row *row = b->row;
	int at;

	for (at = -SWEEP; at <= SWEEP; at++) {
		b->note = (uint64_t)(at + SWEEP);
		if (row->load)
			load_wide(b->area + WATCHED + at, row->width);
		else
			store_wide(b->area + WATCHED + at, row->width);
	}
	return 0;
}

/*
 * QEMU 7.2 checks a misaligned store as if it began where its page begins, and a misaligned load as
 * if it took both aligned units that it touches: hits that no processor reports.
 */
static bool qemu_hits(const struct sweep_row *row, int at, int length)
{
	int begin = at & ~(row->width - 1);

	if (begin == at || !in_qemu_tcg())
		return false;
	return row->load ? begin < length && begin + 2 * row->width > 0 : at + row->width > 0;
}

/* An access hits where at least one of its bytes is watched, and nowhere else. */
static void check_sweep(struct bench *b, const struct sweep_row *row, int length, const int *hits)
{
	int at, wanted, spurious = 0;
	char what[64];

	for (at = -SWEEP; at <= SWEEP; at++) {
		wanted = at < length && at + row->width > 0;
		if (wanted == 0 && hits[at + SWEEP] == 1 && qemu_hits(row, at, length)) {
			spurious++;
			continue;
		}
		snprintf(what, sizeof(what), "hits at offset %d of %d bytes", at, length);
		check(b, what, (uint64_t)hits[at + SWEEP], (uint64_t)wanted);
	}
	if (spurious > 0)
		printf("# QEMU: %d hits by accesses that touch none of %d bytes\n", spurious,
			length);
}

static void test_sweep(struct bench *b)
{
	const struct sweep_row *row = b->row;
	int hits[2 * SWEEP + 1], length;
	struct tracee t;
	struct stop s;

	for (length = 1; length <= 8; length *= 2) {
		memset(hits, 0, sizeof(hits));
		t = tracee_start(b, body_sweep, 0);
		arm(&t, 0, b->area + WATCHED, row->load ? WATCH_RW : WATCH_W, length);
		tracee_go(&t);
		for (;;) {
			tracee_resume(&t, PTRACE_CONT, 0);
			s = tracee_wait(&t);
			if (!stop_is_hit(&s))
				break;
			hits[note_read(b, &t) % (2 * SWEEP + 1)]++;
		}
		check(b, "the tracee ends with 0", (uint64_t)s.status, 0);
		check_sweep(b, row, length, hits);
	}
}

static int body_own_read(struct bench *b)
{
	char byte = 42;

	if (write(b->pipe[1], &byte, 1) != 1 || read(b->pipe[0], b->area + WATCHED, 1) != 1)
		return 255;
	if (write(b->pipe[1], b->area + WATCHED, 1) != 1 || read(b->pipe[0], &byte, 1) != 1)
		return 255;
	return byte;
}

/* Today's kernels make no stop for an access of their own, and leave no trace of it in DR6 either.
 */
static void test_kernel_access(struct bench *b)
{
	struct tracee t = tracee_start(b, body_own_read, PTRACE_O_TRACESYSGOOD);
	struct tally tally;

	arm(&t, 0, b->area + WATCHED, WATCH_RW, 1);
	tally = tracee_finish(&t, PTRACE_SYSCALL);
	check(b, "hits", (uint64_t)tally.hits, 0);
	check(b, "trap bits at the system call stops", tally.stray_dr6, 0);
	check(b, "the byte went through", ending(tally.status), 42);
}

static int body_rep_stosb(struct bench *b)
{
	uint8_t *p = b->area + WATCHED - 16;
	unsigned long n = 32;

	__asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(1) : "memory");
	return 0;
}

/*
 * A rep store that runs over the watched bytes.  QEMU and Bochs stop once per iteration that
 * touches one; a processor that groups iterations reports the group once (Intel SDM vol. 3, "Data
 * Breakpoint Exception Condition"), so that any number from one to the number of watched bytes is
 * right.
 */
static void test_rep_stosb(struct bench *b)
{
	static const struct {
		int length;
		const char *what;
	} rows[] = {{1, "hits on 1 byte"}, {4, "hits on 4 bytes"}};
	struct tracee t;
	struct tally tally;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		t = tracee_start(b, body_rep_stosb, 0);
		arm(&t, 0, b->area + WATCHED, WATCH_W, rows[i].length);
		tally = tracee_finish(&t, PTRACE_CONT);
		printf("# %s: %d\n", rows[i].what, tally.hits);
		check_range(b, rows[i].what, (uint64_t)tally.hits, 1, (uint64_t)rows[i].length);
		check(b, "the tracee ends with 0", ending(tally.status), 0);
	}
}

/* --- several slots, one instruction --- */

static void do_store8(uint8_t *p)
{
	__asm__ volatile("movq $1, (%0)" : : "r"(p) : "memory");
}

static void do_avx_store(uint8_t *p)
{
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vmovups %%ymm0, (%0)" : : "r"(p) : "memory");
}

static void do_movsq(uint8_t *p)
{
	uint8_t *from = p, *to = p + 8;

	__asm__ volatile("movsq" : "+S"(from), "+D"(to) : : "memory");
}

struct several_row {
	void (*access)(uint8_t *p);
	bool avx; /* needs AVX */
	struct {
		int offset, length; /* length 0: not armed */
	} slot[4];
	/* Trap bits where one slot is reported (the lowest of the first access: movs loads first),
	 * and where all are. */
	uint64_t one, all;
};

static int body_several(struct bench *b)
{
	const struct several_row *row = b->row;

	row->access(b->area + WATCHED);
	return 0;
}

static void test_several(struct bench *b)
{
	const struct several_row *row = b->row;
	struct tracee t;
	struct tally tally;
	int i;

	if (row->avx && !__builtin_cpu_supports("avx")) {
		b->skip = "no AVX here";
		return;
	}
	t = tracee_start(b, body_several, 0);
	for (i = 0; i < 4; i++) {
		if (row->slot[i].length > 0)
			arm(&t, i, b->area + WATCHED + row->slot[i].offset, WATCH_RW,
				row->slot[i].length);
	}
	tally = tracee_finish(&t, PTRACE_CONT);
	check(b, "hits", (uint64_t)tally.hits, 1);
	check_dr6(b, "trap bits", tally.first_dr6, row->one, row->all);
	check(b, "the tracee ends with 0", ending(tally.status), 0);
}

/* --- where the saved ip is not behind the access --- */

static int body_call_memory(struct bench *b)
{
	/* The callee pops its return address: no stack is left behind.  128: the red zone. */
	__asm__ volatile("lea 1f(%%rip), %%rax\n\t"
			 "sub $128, %%rsp\n\t"
			 "mov %%rax, %0\n\t"
			 "mov %%rax, (%1)\n\t"
			 "call *(%1)\n"
			 "1:\tadd $136, %%rsp"
			 : "=m"(b->note)
			 : "r"(b->area + WATCHED)
			 : "rax", "memory", "cc");
	return 0;
}

static int body_jump_memory(struct bench *b)
{
	__asm__ volatile("lea 1f(%%rip), %%rax\n\t"
			 "mov %%rax, %0\n\t"
			 "mov %%rax, (%1)\n\t"
			 "jmp *(%1)\n\t"
			 "ud2\n"
			 "1:"
			 : "=m"(b->note)
			 : "r"(b->area + WATCHED)
			 : "rax", "memory");
	return 0;
}

struct branch_row {
	tracee_body *body;
};

/* The first hit is the store of the pointer, the second the load that is part of the branch. */
static void test_branch(struct bench *b)
{
	const struct branch_row *row = b->row;
	struct tracee t = tracee_start(b, row->body, 0);

	arm(&t, 0, b->area + WATCHED, WATCH_RW, 8);
	tracee_first_hit(b, &t);
	check(b, "rip is the branch's target", tracee_first_hit(b, &t).rip, note_read(b, &t));
	check(b, "the tracee ends with 0", ending(tracee_finish(&t, PTRACE_CONT).status), 0);
}

__attribute__((noinline)) static void watched_function(volatile uint64_t *n)
{
	*n = *n + 1;
}

static int body_call_three_times(struct bench *b)
{
	void (*volatile call)(volatile uint64_t *) = watched_function;
	int i;

	for (i = 0; i < 3; i++)
		call(&b->note);
	return (int)b->note;
}

/* RF lets the instruction run once the tracee goes on: it must not trap again without being reached
 * again. */
static void test_execute(struct bench *b)
{
	struct tracee t = tracee_start(b, body_call_three_times, 0);
	struct tally tally;
	struct stop s;
	uint64_t i;

	arm(&t, 3, (const void *)(uintptr_t)watched_function, WATCH_X, 1);
	for (i = 0; i < 3; i++) {
		s = tracee_first_hit(b, &t);
		check(b, "rip is the function", s.rip, (uintptr_t)watched_function);
		check(b, "DR6", s.dr6, DR6_RESERVED | 8);
		check(b, "it has not run yet", note_read(b, &t), i);
	}
	tally = tracee_finish(&t, PTRACE_CONT);
	check(b, "hits after the third", (uint64_t)tally.hits, 0);
	check(b, "calls", ending(tally.status), 3);
}

/* --- the tables --- */

static const struct stale_row stale_raise = {body_store_raise, -6, false}; /* SI_TKILL */
static const struct stale_row stale_int3 = {body_store_int3, 128, false};  /* SI_KERNEL */
static const struct stale_row cleared_raise = {body_store_raise, -6, true};

static const struct access_row access_rows[] = {
	{do_load, 0, 1},
	{do_store, 1, 1},
	{do_store_same, 1, 1},
	{do_add, 1, 1},
	{do_lock_inc, 1, 1},
	{do_xchg, 1, 1},
	{do_cmpxchg_failing, 1, 1},
	{do_prefetch, 0, 0},
	{do_vector_store, 1, 1},
	{do_vector_load, 0, 1},
	{do_store_before, 0, 0},
	{do_store_behind, 0, 0},
};

static const struct sweep_row sweep_rows[] = {
	{1, false},
	{2, false},
	{4, false},
	{8, false},
	{1, true},
	{2, true},
	{4, true},
	{8, true},
};

static const struct several_row two_slots = {do_store8, false, {{0, 8}, {4, 4}}, 1, 3};
static const struct several_row same_slots = {
	do_store8, false, {{0, 1}, {0, 1}, {0, 1}, {0, 1}}, 1, 15};
static const struct several_row vector16 = {
	do_vector_store, false, {{0, 8}, {8, 4}, {12, 4}}, 1, 7};
static const struct several_row vector32 = {
	do_avx_store, true, {{0, 8}, {8, 8}, {16, 8}, {24, 8}}, 1, 15};
static const struct several_row movsq_up = {
	do_movsq, false, {{0, 0}, {0, 8}, {0, 0}, {8, 8}}, 2, 10};
static const struct several_row movsq_down = {
	do_movsq, false, {{0, 0}, {8, 8}, {0, 0}, {0, 8}}, 8, 10};

static const struct branch_row branch_call = {body_call_memory};
static const struct branch_row branch_jump = {body_jump_memory};

static const struct test tests[] = {
	{"a hit: SIGTRAP, si_code 4, si_addr == rip, DR6 of its slot", test_siginfo, NULL},
	{"a data hit stops behind the instruction", test_rip_is_next, NULL},
	{"DR6 shows the slots of the latest exception only", test_dr6_per_exception, NULL},
	{"DR6 is stale at a later raise(SIGTRAP), si_code -6", test_dr6_later, &stale_raise},
	{"DR6 is stale at a later int3, si_code 128", test_dr6_later, &stale_int3},
	{"DR6 written as 0 stays 0 at a later raise(SIGTRAP)", test_dr6_later, &cleared_raise},
	{"a tracer's write changes DR6, a hit overwrites it", test_dr6_write, NULL},
	{"a hit under PTRACE_SINGLESTEP has the step's si_code 2 and its DR6 bit", test_single_step,
		NULL},
	{"load", test_access, &access_rows[0]},
	{"store", test_access, &access_rows[1]},
	{"store of the same value", test_access, &access_rows[2]},
	{"add to memory", test_access, &access_rows[3]},
	{"lock inc", test_access, &access_rows[4]},
	{"xchg", test_access, &access_rows[5]},
	{"failed cmpxchg counts as a write", test_access, &access_rows[6]},
	{"prefetch never hits", test_access, &access_rows[7]},
	{"16-byte vector store", test_access, &access_rows[8]},
	{"16-byte vector load", test_access, &access_rows[9]},
	{"a store that ends right before", test_access, &access_rows[10]},
	{"a store that begins right behind", test_access, &access_rows[11]},
	{"1-byte stores around watches of 1, 2, 4, 8 bytes", test_sweep, &sweep_rows[0]},
	{"2-byte stores, overlaps included", test_sweep, &sweep_rows[1]},
	{"4-byte stores, overlaps included", test_sweep, &sweep_rows[2]},
	{"8-byte stores, overlaps included", test_sweep, &sweep_rows[3]},
	{"1-byte loads around watches of 1, 2, 4, 8 bytes", test_sweep, &sweep_rows[4]},
	{"2-byte loads, overlaps included", test_sweep, &sweep_rows[5]},
	{"4-byte loads, overlaps included", test_sweep, &sweep_rows[6]},
	{"8-byte loads, overlaps included", test_sweep, &sweep_rows[7]},
	{"read(2) and write(2) of the variable make no hit and no DR6 bit", test_kernel_access,
		NULL},
	{"rep stosb", test_rep_stosb, NULL},
	{"one store under two slots is one hit", test_several, &two_slots},
	{"one store under four equal slots is one hit", test_several, &same_slots},
	{"a 16-byte store over three slots is one hit", test_several, &vector16},
	{"a 32-byte store over four slots is one hit", test_several, &vector32},
	{"movsq from slot 1 to slot 3 is one hit", test_several, &movsq_up},
	{"movsq from slot 3 to slot 1 is one hit", test_several, &movsq_down},
	{"call *mem stops at the callee's first instruction", test_branch, &branch_call},
	{"jmp *mem stops at its target", test_branch, &branch_jump},
	{"an execute breakpoint stops before the instruction, once each time", test_execute, NULL},
};

const struct test_table hit_tests = {tests, sizeof(tests) / sizeof(tests[0])};
