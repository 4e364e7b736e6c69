/*
 * contract_values.c: which values the kernel takes from a tracer, what it answers to the others,
 * and what is left of the four slots when perf holds some.
 */
#include "contract.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static int body_store(struct bench *b)
{
	store_byte(b->area + WATCHED, 1);
	return 0;
}

/* --- which values the kernel takes --- */

#define KERNEL_ADDRESS 0xffff888000000000ull

struct refusal_row {
	int reg;        /* the register whose write is judged */
	uint64_t value; /* for DR0: an address, or a small distance from the watched byte */
	uint64_t dr0;   /* distance of the address written first; DR7_ONLY: none */
	int error;      /* errno, or 0: taken */
};

#define DR7_ONLY              UINT64_MAX
#define DR7_SLOT0(type, code) (1ull | ((uint64_t)(type) | (uint64_t)(code) << 2) << 16)

static uint64_t distance_or_address(const struct bench *b, uint64_t value)
{
	return value > 4096 ? value : (uintptr_t)b->area + WATCHED + value;
}

static void test_refusal(struct bench *b)
{
	const struct refusal_row *row = b->row;
	struct tracee t = tracee_start(b, body_store, 0);
	uint64_t before, value = row->reg == 0 ? distance_or_address(b, row->value) : row->value;

	if (row->dr0 != DR7_ONLY)
		check(b, "writing DR0", (uint64_t)poke(&t, 0, distance_or_address(b, row->dr0)), 0);
	before = peek(t.pid, row->reg);
	check(b, "errno", (uint64_t)poke(&t, row->reg, value), (uint64_t)row->error);
	if (row->error != 0)
		check(b, "the register afterwards", peek(t.pid, row->reg), before);
	tracee_kill(&t);
}

static void test_no_dr4_dr5(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store, 0);
	int n;

	for (n = 4; n <= 5; n++) {
		check(b, "writing", (uint64_t)poke(&t, n, 0), EIO);
		check(b, "reading", peek(t.pid, n), 0);
	}
	tracee_kill(&t);
}

/* Bits 10 to 15 and 32 to 63 arm nothing (Linux: DR_CONTROL_RESERVED).  They read back as they were
 * written. */
static void test_dr7_reserved(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store, 0);
	uint64_t dr7 = dr7_bits(0, WATCH_W, 1) | 0xffffffff0000fc00ull;

	check(b, "writing DR0", (uint64_t)poke(&t, 0, (uintptr_t)b->area + WATCHED), 0);
	check(b, "writing DR7", (uint64_t)poke(&t, 7, dr7), 0);
	check(b, "DR7 reads back", peek(t.pid, 7), dr7);
	check(b, "hits", (uint64_t)tracee_finish(&t, PTRACE_CONT).hits, 1);
}

/* Slot 0 is armed.  A DR7 that drops it and asks for an impossible slot 1 must change nothing at
 * all. */
static void test_all_or_nothing(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store, 0);
	uint64_t bad = 1ull << 2 | (uint64_t)WATCH_IO << 20;

	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	check(b, "writing DR1", (uint64_t)poke(&t, 1, (uintptr_t)b->area + WATCHED + 8), 0);
	check(b, "a DR7 with one bad slot", (uint64_t)poke(&t, 7, bad), EINVAL);
	check(b, "DR7 afterwards", peek(t.pid, 7), t.dr7);
	check(b, "one that keeps slot 0", (uint64_t)poke(&t, 7, t.dr7 | bad), EINVAL);
	check(b, "DR7 afterwards", peek(t.pid, 7), t.dr7);
	check(b, "slot 0 still fires", (uint64_t)tracee_finish(&t, PTRACE_CONT).hits, 1);
}

static void test_running_esrch(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store, 0);
	int n;

	tracee_resume(&t, PTRACE_CONT, 0);
	for (n = 0; n < 8; n++)
		check(b, "errno", (uint64_t)poke(&t, n, 0), ESRCH);
	tracee_kill(&t);
}

static int body_two_places(struct bench *b)
{
	store_byte(b->area + WATCHED, 1);
	store_byte(b->area + WATCHED + 9, 1);
	store_byte(b->area + WATCHED, 1);
	return 0;
}

/* DR7 without the slot, the address, DR7 with it, DR6 = 0: from 4 bytes here to 1 odd byte there.
 */
static void test_change_live(struct bench *b)
{
	struct tracee t = tracee_start(b, body_two_places, 0);
	uintptr_t there = (uintptr_t)b->area + WATCHED + 9;
	struct tally tally;

	arm(&t, 0, b->area + WATCHED, WATCH_W, 4);
	check(b, "an address that does not suit the live length", (uint64_t)poke(&t, 0, there),
		EINVAL);
	check(b, "DR0 afterwards", peek(t.pid, 0), (uintptr_t)b->area + WATCHED);
	tracee_first_hit(b, &t);
	check(b, "DR7 without it", (uint64_t)poke(&t, 7, 0), 0);
	check(b, "the address", (uint64_t)poke(&t, 0, there), 0);
	check(b, "DR7 with it", (uint64_t)poke(&t, 7, dr7_bits(0, WATCH_W, 1)), 0);
	check(b, "DR6 = 0", (uint64_t)poke(&t, 6, 0), 0);
	check(b, "hits there, none here", (uint64_t)(tally = tracee_finish(&t, PTRACE_CONT)).hits,
		1);
	check(b, "the tracee ends with 0", ending(tally.status), 0);
}

/* An aligned address may be written while the slot is live. */
static void test_move_live(struct bench *b)
{
	struct tracee t = tracee_start(b, body_two_places, 0);

	arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
	tracee_first_hit(b, &t);
	check(b, "writing DR0", (uint64_t)poke(&t, 0, (uintptr_t)b->area + WATCHED + 9), 0);
	check(b, "hits there, none here", (uint64_t)tracee_finish(&t, PTRACE_CONT).hits, 1);
}

/* --- slots are shared with perf --- */

static int perf_open(const struct bench *b, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)b->area + 2048,
		.bp_len = HW_BREAKPOINT_LEN_1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void perf_close(const int *fd, int n)
{
	while (n > 0)
		close(fd[--n]);
}

/* Opens n breakpoints; marks the test as failed if perf does not let it. */
static bool perf_take(struct bench *b, pid_t pid, int cpu, int *fd, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		fd[i] = perf_open(b, pid, cpu);
		if (fd[i] < 0) {
			check(b, "errno of perf_event_open", (uint64_t)errno, 0);
			perf_close(fd, i);
			return false;
		}
	}
	return true;
}

struct perf_row {
	bool system_wide; /* on processor 0, or on the tracee */
};

static void test_perf_takes_all(struct bench *b)
{
	const struct perf_row *row = b->row;
	struct tracee t;
	int fd[4], n;

	/* Without a machine of our own somebody else may hold slots of that processor, or want them. */
	if (row->system_wide && b->dr6_mode == DR6_EITHER) {
		b->skip = "only where the machine is ours";
		return;
	}
	t = tracee_start(b, body_store, 0);
	if (perf_take(b, row->system_wide ? -1 : t.pid, row->system_wide ? 0 : -1, fd, 4)) {
		for (n = 0; n < 4; n++)
			check(b, "writing an address",
				(uint64_t)poke(&t, n, (uintptr_t)b->area + WATCHED), ENOSPC);
		check(b, "writing DR7", (uint64_t)poke(&t, 7, dr7_bits(0, WATCH_W, 1)), ENOSPC);
		check(b, "DR7 afterwards", peek(t.pid, 7), 0);
		perf_close(fd, 4);
		arm(&t, 0, b->area + WATCHED, WATCH_W, 1);
		check(b, "hits once perf is gone", (uint64_t)tracee_finish(&t, PTRACE_CONT).hits,
			1);
	} else {
		tracee_kill(&t);
	}
}

/* One slot is left.  A DR7 that asks for two gets none. */
static void test_perf_takes_three(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store, 0);
	uint64_t two = dr7_bits(0, WATCH_W, 1) | dr7_bits(1, WATCH_W, 1);
	int fd[3];

	if (!perf_take(b, t.pid, -1, fd, 3)) {
		tracee_kill(&t);
		return;
	}
	check(b, "the first address", (uint64_t)poke(&t, 0, (uintptr_t)b->area + WATCHED), 0);
	check(b, "the second", (uint64_t)poke(&t, 1, (uintptr_t)b->area + WATCHED), ENOSPC);
	check(b, "DR7 with both", (uint64_t)poke(&t, 7, two), ENOSPC);
	check(b, "DR7 afterwards", peek(t.pid, 7), 0);
	check(b, "hits", (uint64_t)tracee_finish(&t, PTRACE_CONT).hits, 0);
	perf_close(fd, 3);
}

static int body_exec(struct bench *b)
{
	(void)b;
	execl("/proc/self/exe", "contract", "--exit", (char *)NULL);
	return 255;
}

/* An address alone, DR7 = 0, keeps its slot from perf until the thread execs. */
static void test_address_reserves(struct bench *b)
{
	struct tracee t = tracee_start(b, body_exec, PTRACE_O_TRACEEXEC);
	struct stop s;
	int n, fd[4];

	for (n = 0; n < 4; n++)
		check(b, "writing an address", (uint64_t)poke(&t, n, (uintptr_t)b->area + WATCHED),
			0);
	fd[0] = perf_open(b, t.pid, -1);
	check(b, "errno of perf_event_open", fd[0] < 0 ? (uint64_t)errno : 0, ENOSPC);
	if (fd[0] >= 0)
		close(fd[0]);
	tracee_go(&t);
	tracee_resume(&t, PTRACE_CONT, 0);
	s = tracee_wait(&t);
	check(b, "the exec event", (uint64_t)(s.status >> 16), PTRACE_EVENT_EXEC);
	if (perf_take(b, t.pid, -1, fd, 4))
		perf_close(fd, 4);
	tracee_kill(&t);
}

/* --- the tables --- */

static const struct refusal_row refuse_io = {7, DR7_SLOT0(WATCH_IO, 0), 0, EINVAL};
static const struct refusal_row refuse_x2 = {7, DR7_SLOT0(WATCH_X, 1), 0, EINVAL};
static const struct refusal_row refuse_x4 = {7, DR7_SLOT0(WATCH_X, 3), 0, EINVAL};
static const struct refusal_row refuse_x8 = {7, DR7_SLOT0(WATCH_X, 2), 0, EINVAL};
static const struct refusal_row refuse_odd2 = {7, DR7_SLOT0(WATCH_W, 1), 1, EINVAL};
static const struct refusal_row refuse_odd4 = {7, DR7_SLOT0(WATCH_W, 3), 2, EINVAL};
static const struct refusal_row refuse_odd8 = {7, DR7_SLOT0(WATCH_RW, 2), 4, EINVAL};
static const struct refusal_row refuse_kernel = {0, KERNEL_ADDRESS, DR7_ONLY, EINVAL};
static const struct refusal_row take_unmapped = {0, 0x100000000000ull, DR7_ONLY, 0};
static const struct refusal_row take_dr7_only = {7, DR7_SLOT0(WATCH_W, 0), DR7_ONLY, 0};

static const struct perf_row perf_task = {false};
static const struct perf_row perf_system = {true};

static const struct test tests[] = {
	{"type 2 (I/O) is refused: EINVAL", test_refusal, &refuse_io},
	{"execute with length 2 is refused: EINVAL", test_refusal, &refuse_x2},
	{"execute with length 4 is refused: EINVAL", test_refusal, &refuse_x4},
	{"execute with length 8 is refused: EINVAL", test_refusal, &refuse_x8},
	{"length 2 at an odd address is refused: EINVAL", test_refusal, &refuse_odd2},
	{"length 4 at address + 2 is refused: EINVAL", test_refusal, &refuse_odd4},
	{"length 8 at address + 4 is refused: EINVAL", test_refusal, &refuse_odd8},
	{"a kernel address is refused: EINVAL", test_refusal, &refuse_kernel},
	{"an unmapped user address is accepted", test_refusal, &take_unmapped},
	{"DR7 before any address is accepted", test_refusal, &take_dr7_only},
	{"DR4 and DR5: writing EIO, reading 0", test_no_dr4_dr5, NULL},
	{"reserved bits of DR7 are accepted, arm nothing and read back", test_dr7_reserved, NULL},
	{"a DR7 with one refused slot changes nothing", test_all_or_nothing, NULL},
	{"a running thread's registers cannot be written: ESRCH", test_running_esrch, NULL},
	{"a live slot changes by DR7, address, DR7, DR6", test_change_live, NULL},
	{"the address of a live slot can be moved", test_move_live, NULL},
	{"perf on the task holds all slots: ENOSPC", test_perf_takes_all, &perf_task},
	{"perf on one processor holds all slots: ENOSPC", test_perf_takes_all, &perf_system},
	{"perf holds three slots: two more are ENOSPC, nothing half-armed", test_perf_takes_three,
		NULL},
	{"an address reserves its slot with DR7 = 0, until exec", test_address_reserves, NULL},
};

const struct test_table value_tests = {tests, sizeof(tests) / sizeof(tests[0])};
