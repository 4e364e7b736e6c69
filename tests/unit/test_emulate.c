/* test_emulate.c runs instructions twice on a traced child, from the same state: natively, and by the emulator with
 * callbacks to the child; then the child must be in the same state, to the last bit of registers and memory. The
 * forms are those of insn_forms.h and emulate_forms.h, then changed bytes of them (EMULATE_ROUNDS of these). What
 * the forms cannot hold is tested by itself. */
#include "../../src/emulate_private.h"
#include "watchprof/hit.h"
#include "watchprof/insn.h"
#include "watchprof/util.h"

#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cmocka.h>

#define FORM_END "int3"
#include "../live/insn_run.h"

#define FORM(name, kind, size, needs, data, setup, insn) \
	extern const char form_##name[], insn_##name[], end_##name[]; \
	extern const uint64_t data_##name; \
	__asm__(".text\n" \
		".globl form_" #name ", insn_" #name ", end_" #name ", data_" #name "\n" \
		"form_" #name ":\n" setup "\n" \
		"insn_" #name ": " insn "\n" \
		"end_" #name ":\n" FORM_END "\n" \
		".section .rodata\n" \
		"data_" #name ": .quad " #data "\n" \
		".text\n");
#include "emulate_forms.h"
#undef FORM

#define FORM(name, kind, size, needs, data, setup, insn) \
	{#name, kind, size, needs, form_##name, insn_##name, end_##name, &data_##name},
static const struct form more_forms[] = {
#include "emulate_forms.h"
};
#undef FORM

/* Where changed bytes are run. */
extern unsigned char scratch_code[];
__asm__(".text\n"
	".balign 64\n"
	".globl scratch_code\n"
	"scratch_code: .skip 64, 0xcc\n");

#define WATCHED	    8
#define AREA	    ((uint64_t)(uintptr_t)form_area)
#define N_MEMORY    3
#define ROUNDS	    8
#define SETUP_MAX   64
#define STEPS_MAX   6000
#define FUZZ_ROUNDS 12000
#define HOSTILE	    100000
#define FX_XMM	    160
#define FX_MXCSR    24
#define FX_END	    416
#define HEADER	    512
#define FLAGS_HIDDEN 0x10100ULL /* RF, TF */

static unsigned char stack_memory[MEMORY_BYTES] __attribute__((aligned(4096)));
static unsigned char *const memories[N_MEMORY] = {form_memory, form_other, stack_memory};

/* All that an instruction may change. */
struct machine {
	struct user_regs_struct regs;
	unsigned char xstate[EMULATE_XSTATE_MAX];
	size_t xstate_len;
	unsigned char memory[N_MEMORY][MEMORY_BYTES];
};

/* What the callbacks were asked for. */
struct child {
	pid_t pid;
	struct emulator *emulator;
	unsigned n_calls, n_xstate_set, n_fp_set;
	struct emulate_access calls[4 * EMULATE_ACCESSES_MAX];
	bool is_write_refused; /* from the second one on */
	unsigned n_writes;
};

static uint64_t random_next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Tests are the same in every run; for long ones by hand, EMULATE_ROUNDS and EMULATE_SEED. */
static uint64_t number_given(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void random_fill(uint64_t *seed, void *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((unsigned char *)out)[i] = (unsigned char)(random_next(seed) >> 24);
}

/* ---- the child ---- */

static bool is_inside(uint64_t addr, size_t len)
{
	for (unsigned i = 0; i < N_MEMORY; i++) {
		uint64_t start = (uint64_t)(uintptr_t)memories[i];

		if (addr >= start && addr + len >= addr && addr + len <= start + MEMORY_BYTES)
			return true;
	}
	/* form_memory and form_other lie side by side. */
	return addr >= (uint64_t)(uintptr_t)form_memory && addr + len >= addr &&
		addr + len <= (uint64_t)(uintptr_t)form_memory + 2 * MEMORY_BYTES;
}

static void call_note(struct child *child, uint64_t addr, size_t len, uint8_t kind)
{
	if (child->n_calls < ARRAY_LEN(child->calls))
		child->calls[child->n_calls++] = (struct emulate_access){addr, (uint32_t)len, kind};
}

static bool child_read(void *context, uint64_t addr, void *out, size_t len)
{
	struct child *child = context;
	struct iovec here = {out, len}, there = {(void *)(uintptr_t)addr, len};

	call_note(child, addr, len, HIT_READ);
	return is_inside(addr, len) && process_vm_readv(child->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static bool child_write(void *context, uint64_t addr, const void *data, size_t len)
{
	struct child *child = context;
	struct iovec here = {(void *)(uintptr_t)data, len}, there = {(void *)(uintptr_t)addr, len};

	call_note(child, addr, len, HIT_WRITE);
	if (child->is_write_refused && child->n_writes++ == 1)
		return false;
	return is_inside(addr, len) && process_vm_writev(child->pid, &here, 1, &there, 1, 0) == (ssize_t)len;
}

static bool child_fp_get(void *context, struct user_fpregs_struct *out)
{
	return ptrace(PTRACE_GETFPREGS, ((struct child *)context)->pid, NULL, out) == 0;
}

static bool child_fp_set(void *context, const struct user_fpregs_struct *in)
{
	((struct child *)context)->n_fp_set++;
	return ptrace(PTRACE_SETFPREGS, ((struct child *)context)->pid, NULL, in) == 0;
}

static bool child_xstate_get(void *context, void *area, size_t *len)
{
	struct iovec io = {area, *len};
	bool is_good = ptrace(PTRACE_GETREGSET, ((struct child *)context)->pid, NT_X86_XSTATE, &io) == 0;

	*len = io.iov_len;
	return is_good;
}

static bool child_xstate_set(void *context, const void *area, size_t len)
{
	struct iovec io = {(void *)(uintptr_t)area, len};

	((struct child *)context)->n_xstate_set++;
	return ptrace(PTRACE_SETREGSET, ((struct child *)context)->pid, NT_X86_XSTATE, &io) == 0;
}

static struct emulate_target target_of(struct child *child)
{
	return (struct emulate_target){child, child_read, child_write, child_fp_get, child_fp_set, child_xstate_get,
		child_xstate_set};
}

static int children_begin(void **state)
{
	struct child *child = calloc(1, sizeof(*child));
	int status;

	child->emulator = emulator_new();
	assert_non_null(child->emulator);
	child->pid = fork();
	if (child->pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		forms_prepare();
		raise(SIGSTOP);
		_exit(1);
	}
	__builtin_cpu_init();
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_true(WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, child->pid, NULL, PTRACE_O_EXITKILL);
	*state = child;
	return 0;
}

static int children_end(void **state)
{
	struct child *child = *state;

	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	emulator_free(child->emulator);
	free(child);
	return 0;
}

static void memory_move(const struct child *child, struct machine *machine, bool is_to_child)
{
	struct iovec here[N_MEMORY], there[N_MEMORY];
	ssize_t n;

	for (unsigned i = 0; i < N_MEMORY; i++) {
		here[i] = (struct iovec){machine->memory[i], MEMORY_BYTES};
		there[i] = (struct iovec){memories[i], MEMORY_BYTES};
	}
	n = is_to_child ? process_vm_writev(child->pid, here, N_MEMORY, there, N_MEMORY, 0)
			: process_vm_readv(child->pid, here, N_MEMORY, there, N_MEMORY, 0);
	assert_int_equal(n, N_MEMORY * MEMORY_BYTES);
}

static void machine_get(struct child *child, struct machine *out)
{
	assert_int_equal(ptrace(PTRACE_GETREGS, child->pid, NULL, &out->regs), 0);
	out->xstate_len = sizeof(out->xstate);
	assert_true(child_xstate_get(child, out->xstate, &out->xstate_len));
	memory_move(child, out, false);
}

static void machine_set(struct child *child, struct machine *machine)
{
	assert_int_equal(ptrace(PTRACE_SETREGS, child->pid, NULL, &machine->regs), 0);
	assert_true(child_xstate_set(child, machine->xstate, machine->xstate_len));
	memory_move(child, machine, true);
}

/* One ptrace request that lets it run, and the signal that it stopped with. */
static int child_go(const struct child *child, int request)
{
	int status;

	assert_int_equal(ptrace(request, child->pid, NULL, NULL), 0);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_true(WIFSTOPPED(status));
	return WSTOPSIG(status);
}

/* ---- states ---- */

static void xstate_random(uint64_t *seed, struct machine *machine)
{
	static const float nice[] = {0, 1, -1, 0.5F, 3.25F, 1e30F, -7e-40F, 100, -0.0F};
	struct insn_xsave layout = insn_xsave_here();
	unsigned char *area = machine->xstate;
	uint64_t parts;
	uint32_t mxcsr = 0x1f80 | (random_next(seed) & 0x603f) | (random_next(seed) % 4 == 0 ? 0x8040 : 0);
	uint16_t control = 0x37f | (random_next(seed) & 0xc00);
	bool has_x87 = random_next(seed) & 1;
	uint16_t status = has_x87 ? 4 << 11 : 0, tags = has_x87 ? 0xf0 : 0;

	memcpy(area, &control, 2);
	memcpy(area + 2, &status, 2);
	memcpy(area + 4, &tags, 2);
	memcpy(area + FX_MXCSR, &mxcsr, 4);
	for (unsigned i = 0; i < 8; i++)
		random_fill(seed, area + 32 + 16 * i, 10);
	random_fill(seed, area + FX_XMM, FX_END - FX_XMM);
	if (layout.ymm)
		random_fill(seed, area + layout.ymm, 256);
	if (layout.zmm_high) {
		random_fill(seed, area + layout.k, 64);
		random_fill(seed, area + layout.zmm_high, 512);
		random_fill(seed, area + layout.zmm_more, 1024);
	}
	for (unsigned i = 0; i < 40; i++) /* numbers that calculate well */
		memcpy(area + FX_XMM + random_next(seed) % 64 * 4, &nice[random_next(seed) % ARRAY_LEN(nice)], 4);
	memcpy(&parts, area + HEADER, 8);
	parts |= 3 | (layout.ymm ? 4 : 0) | (layout.zmm_high ? 0xe0 : 0);
	memcpy(area + HEADER, &parts, 8);
}

/* As form_run does it. */
static void registers_begin(struct user_regs_struct *regs)
{
	regs->rbx = regs->rsi = regs->rdi = regs->rbp = regs->r8 = regs->r12 = regs->r13 = AREA;
	regs->r14 = regs->r15 = (uint64_t)(uintptr_t)form_other + 1024;
	regs->rax = regs->rcx = regs->rdx = regs->r9 = regs->r10 = regs->r11 = 0;
	regs->rsp = (uint64_t)(uintptr_t)stack_memory + MEMORY_BYTES / 2;
	regs->eflags = 0x202;
	regs->orig_rax = (unsigned long long)-1;
}

static void registers_random(uint64_t *seed, struct user_regs_struct *regs)
{
	regs->rax = random_next(seed);
	regs->rcx = random_next(seed);
	regs->rdx = random_next(seed);
	regs->r9 = random_next(seed);
	regs->r10 = random_next(seed);
	regs->r11 = random_next(seed);
	regs->eflags = 0x202 | (random_next(seed) & FLAGS_STATUS);
}

static bool is_branch(const struct form *form)
{
	struct insn insn;

	return insn_decode((const unsigned char *)form->insn, INSN_BYTES_MAX, AREA, &insn) && insn.flow != FLOW_NEXT;
}

/* Make the start of a form; then its setup runs natively. False: the instruction is not reached. */
static bool form_begin(struct child *child, const struct form *form, unsigned round, uint64_t *seed,
	struct machine *machine)
{
	const unsigned char *data = (const unsigned char *)form->data;
	uint64_t insn = (uint64_t)(uintptr_t)form->insn;
	bool is_callee = *form->data == (uint64_t)(uintptr_t)form_callee;

	registers_begin(&machine->regs);
	machine->regs.rip = (uint64_t)(uintptr_t)form->start;
	memset(machine->memory, 0, sizeof(machine->memory));
	if (round) {
		registers_random(seed, &machine->regs);
		xstate_random(seed, machine);
		random_fill(seed, machine->memory, sizeof(machine->memory));
	}
	if (round < ROUNDS / 2 || !is_callee || is_branch(form))
		memcpy(machine->memory[0] + (form_area - form_memory), data, WATCHED);
	machine_set(child, machine);
	for (unsigned i = 0; i < SETUP_MAX && machine->regs.rip != insn; i++) {
		if (child_go(child, PTRACE_SINGLESTEP) != SIGTRAP)
			return false;
		assert_int_equal(ptrace(PTRACE_GETREGS, child->pid, NULL, &machine->regs), 0);
	}
	machine_get(child, machine);
	return machine->regs.rip == insn;
}

/* ---- comparing ---- */

static bool is_same_memory(const struct machine *is, const struct machine *was, const char *name)
{
	for (unsigned i = 0; i < N_MEMORY; i++) {
		for (unsigned at = 0; at < MEMORY_BYTES; at++) {
			if (is->memory[i][at] == was->memory[i][at])
				continue;
			print_error("%s: memory %u at %u: got %02x, expected %02x\n", name, i, at, is->memory[i][at],
				was->memory[i][at]);
			return false;
		}
	}
	return true;
}

static bool is_same_bytes(const char *name, const char *what, const unsigned char *is, const unsigned char *was,
	size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (is[i] == was[i])
			continue;
		print_error("%s: %s at %zu: got %02x, expected %02x\n", name, what, i, is[i], was[i]);
		return false;
	}
	return true;
}

static bool is_same_state(const struct machine *is, const struct machine *was, const char *name)
{
	struct insn_xsave layout = insn_xsave_here();
	const unsigned char *a = is->xstate, *b = was->xstate;

	return is_same_bytes(name, "x87 and mxcsr", a, b, 28) && is_same_bytes(name, "x87", a + 32, b + 32, 128) &&
		is_same_bytes(name, "xmm", a + FX_XMM, b + FX_XMM, FX_END - FX_XMM) &&
		(!layout.ymm || is_same_bytes(name, "ymm", a + layout.ymm, b + layout.ymm, 256)) &&
		(!layout.k || is_same_bytes(name, "k", a + layout.k, b + layout.k, 64)) &&
		(!layout.zmm_high ||
			(is_same_bytes(name, "zmm", a + layout.zmm_high, b + layout.zmm_high, 512) &&
				is_same_bytes(name, "zmm16", a + layout.zmm_more, b + layout.zmm_more, 1024)));
}

static bool is_same_registers(const struct user_regs_struct *is, const struct user_regs_struct *was, const char *name)
{
	struct user_regs_struct a = *is, b = *was;

	a.eflags &= ~FLAGS_HIDDEN;
	b.eflags &= ~FLAGS_HIDDEN;
	a.orig_rax = b.orig_rax;
	for (size_t i = 0; i < sizeof(a) / sizeof(uint64_t); i++) {
		uint64_t got, expected;

		memcpy(&got, (char *)&a + i * sizeof(got), sizeof(got));
		memcpy(&expected, (char *)&b + i * sizeof(expected), sizeof(expected));
		if (got == expected)
			continue;
		print_error("%s: word %zu of user_regs_struct: got %#lx, expected %#lx\n", name, i, got, expected);
		return false;
	}
	return true;
}

static bool is_same_machine(const struct machine *is, const struct machine *was, const char *name)
{
	return is_same_registers(&is->regs, &was->regs, name) && is_same_state(is, was, name) &&
		is_same_memory(is, was, name);
}

static bool is_covered(const struct emulate_outcome *out, const struct emulate_access *call)
{
	for (unsigned i = 0; i < out->n_accesses; i++) {
		const struct emulate_access *access = &out->accesses[i];

		if (call->addr >= access->addr && call->addr + call->len <= access->addr + access->len &&
			(access->kind & call->kind || call->kind == HIT_READ))
			return true;
	}
	return false;
}

/* The callbacks were asked for nothing that the accesses do not tell. (What is written may be read before, to be put
 * back, or because not all bytes of it are written.) */
static bool is_told(const struct child *child, const struct emulate_outcome *out, const char *name)
{
	for (unsigned i = 0; i < child->n_calls; i++) {
		if (out->element || is_covered(out, &child->calls[i]))
			continue;
		print_error("%s: %u bytes at area%+ld are not among the accesses\n", name, child->calls[i].len,
			(long)(child->calls[i].addr - AREA));
		return false;
	}
	return true;
}

/* ---- the forms ---- */

/* What all calls together touched of the watched bytes. */
struct seen {
	uint32_t n;
	uint8_t kind;
	unsigned size;
	bool is_known;
	unsigned n_accesses;
};

static void seen_add(struct seen *seen, const struct emulate_outcome *out)
{
	uint8_t kind;
	unsigned size = 0;

	seen->n += emulate_touched(out, AREA, WATCHED, &kind);
	seen->kind |= kind;
	seen->is_known &= out->is_known;
	seen->n_accesses += out->n_accesses;
	for (unsigned i = 0; i < out->n_accesses; i++) {
		const struct emulate_access *access = &out->accesses[i];

		if (access->addr < AREA + WATCHED && access->addr + access->len > AREA)
			size = out->element ? out->element : access->len;
	}
	if (size)
		seen->size = size;
}

static bool is_same_access(const struct emulate_access *a, const struct emulate_access *b)
{
	return a->addr == b->addr && a->len == b->len && a->kind == b->kind;
}

/* Until the instruction is at its end. */
static enum emulate_result emulate_whole(struct child *child, struct user_regs_struct *regs, const char *name,
	struct seen *seen)
{
	struct emulate_target target = target_of(child);
	struct emulate_outcome out = {0}, ahead;
	enum emulate_result result = EMULATE_DONE;
	unsigned char code[INSN_BYTES_MAX];
	struct iovec here = {code, sizeof(code)}, there = {(void *)(uintptr_t)regs->rip, sizeof(code)};

	assert_int_equal(process_vm_readv(child->pid, &here, 1, &there, 1, 0), sizeof(code));
	*seen = (struct seen){.is_known = true};
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		struct user_regs_struct before = *regs;
		bool is_known = emulate_accesses(child->emulator, &target, code, sizeof(code), regs, &ahead);

		child->n_calls = 0;
		result = emulate(child->emulator, &target, code, sizeof(code), regs, &out);
		seen_add(seen, &out);
		assert_int_equal(out.length, ahead.length);
		if (result != EMULATE_DONE)
			assert_memory_equal(regs, &before, sizeof(before));
		else if (is_known) {
			assert_int_equal(out.n_accesses, ahead.n_accesses);
			for (unsigned k = 0; k < out.n_accesses; k++)
				assert_true(is_same_access(&out.accesses[k], &ahead.accesses[k]));
		}
		if (!is_told(child, &out, name))
			fail();
		if (result != EMULATE_DONE || !out.is_under_way)
			break;
		assert_int_equal(regs->rip, before.rip);
	}
	return result;
}

/* What the form says that it touches, against what was told. */
static bool is_as_told(const struct form *form, const struct seen *seen, unsigned round)
{
	bool is_off = strstr(form->kind, "off") || form->kind[0] == '-';
	uint8_t kind = is_off ? 0
		: strncmp(form->kind, "rw", 2) == 0 ? HIT_READ | HIT_WRITE
		: form->kind[0] == 'r' ? HIT_READ
					: HIT_WRITE;
	bool is_masked = form->needs >= AVX || strchr(form->kind, '?') || strncmp(form->name, "maskmov", 7) == 0;

	/* Where it goes depends on values. */
	bool is_open = round && (strstr(form->name, "rep") || strstr(form->name, "xlat"));

	if (!seen->is_known || form->size == 0 || is_open)
		return !is_off || seen->n == 0 || !seen->is_known;
	if (seen->kind == kind && (is_off || seen->size == form->size || (is_masked && seen->size <= form->size) ||
						(form->needs == REAL && seen->size > form->size)))
		return true;
	print_error("%s: told kind %u, %u bytes, expected %s, %u bytes\n", form->name, seen->kind, seen->size,
		form->kind, form->size);
	return false;
}

struct tally {
	unsigned n_done, n_step, n_bad, n_skipped;
};

static void form_try(struct child *child, const struct form *form, unsigned round, uint64_t *seed, struct tally *tally)
{
	static struct machine start, native, emulated;
	enum emulate_result result;
	struct seen seen;
	int sig;

	machine_get(child, &start);
	if (!form_begin(child, form, round, seed, &start)) {
		tally->n_skipped++;
		return;
	}
	sig = child_go(child, PTRACE_CONT);
	machine_get(child, &native);
	if (sig == SIGTRAP)
		native.regs.rip--;
	if (sig == SIGILL) {
		tally->n_skipped++;
		return;
	}
	machine_set(child, &start);
	result = emulate_whole(child, &start.regs, form->name, &seen);
	assert_int_equal(ptrace(PTRACE_SETREGS, child->pid, NULL, &start.regs), 0);
	machine_get(child, &emulated);
	if (result == EMULATE_FAULT || (result == EMULATE_DONE && sig != SIGTRAP)) {
		print_error("%s: result %d, signal %d\n", form->name, result, sig);
		tally->n_bad++;
	} else if (!is_as_told(form, &seen, round) ||
		(result == EMULATE_DONE && !is_same_machine(&emulated, &native, form->name)))
		tally->n_bad++;
	if (result == EMULATE_DONE)
		tally->n_done++;
	else
		tally->n_step++;
}

static void forms_try(struct child *child, const struct form *list, size_t n, unsigned *n_run)
{
	uint64_t seed = 88172645463325252ULL;
	unsigned n_bad = 0;

	for (size_t i = 0; i < n; i++) {
		struct tally tally = {0};

		if (!form_can_run(&list[i])) {
			print_message("%s: not run, this processor does not have it\n", list[i].name);
			continue;
		}
		for (unsigned round = 0; round < ROUNDS; round++)
			form_try(child, &list[i], round, &seed, &tally);
		if (tally.n_done == 0)
			print_message("%s: %s\n", list[i].name, tally.n_step ? "left to the thread" : "not run");
		*n_run += tally.n_done > 0;
		n_bad += tally.n_bad > 0 || (tally.n_done == 0 && strncmp(list[i].name, "plain_", 6) == 0);
	}
	assert_int_equal(n_bad, 0);
}

static void test_forms(void **state)
{
	unsigned n_run = 0;

	forms_try(*state, forms, ARRAY_LEN(forms), &n_run);
	print_message("%u forms run both ways\n", n_run);
	assert_true(n_run >= 140);
}

static void test_more_forms(void **state)
{
	unsigned n_run = 0;

	forms_try(*state, more_forms, ARRAY_LEN(more_forms), &n_run);
	print_message("%u forms run both ways\n", n_run);
	assert_true(n_run >= 100);
}

/* ---- changed bytes ---- */

/* Any opcode of any map, in each of the encodings, with an operand at (register) and small displacements. */
static void code_made(uint64_t *seed, unsigned char code[INSN_BYTES_MAX])
{
	static const unsigned char prefixes[] = {0x66, 0xf2, 0xf3, 0xf0};
	uint64_t r = random_next(seed);
	unsigned pp = r & 3, wide = r >> 2 & 1, map = 1 + (r >> 3) % 3, length = r >> 8 & 3, mask = r >> 10 & 7, n = 0;

	switch (r >> 16 & 3) {
	case 0: /* EVEX: R X B R' all inverted, vvvv any, z b V' aaa */
		code[n++] = 0x62;
		code[n++] = (unsigned char)(0xf0 | map);
		code[n++] = (unsigned char)(wide << 7 | (r >> 20 & 15) << 3 | 4 | pp);
		code[n++] = (unsigned char)((r >> 24 & 1) << 7 | length << 5 | (r >> 25 & 1) << 4 | 8 | mask);
		break;
	case 1:
		code[n++] = 0xc4;
		code[n++] = (unsigned char)(0xe0 | map);
		code[n++] = (unsigned char)(wide << 7 | (r >> 20 & 15) << 3 | (length & 1) << 2 | pp);
		break;
	default:
		if (r >> 20 & 1)
			code[n++] = prefixes[pp];
		if (wide)
			code[n++] = (unsigned char)(0x48 | (r >> 21 & 4));
		if (r >> 24 & 3)
			code[n++] = 0x0f;
		if ((r >> 24 & 3) > 1)
			code[n++] = r >> 24 & 1 ? 0x38 : 0x3a;
	}
	code[n++] = (unsigned char)(r >> 32);
	code[n++] = (unsigned char)((r >> 40 & 0x3f) | (r >> 50 & 1 ? 0x40 : 0)); /* ModRM; displacement: what follows */
}

/* The bytes of some form, with one or two changed, or others put in front; or made from scratch. */
static void code_random(uint64_t *seed, unsigned char code[INSN_BYTES_MAX])
{
	static const unsigned char prefixes[] = {
		0x66, 0xf2, 0xf3, 0xf0, 0x40, 0x41, 0x44, 0x48, 0x4f, 0x64, 0x65, 0x67, 0x2e};
	uint64_t n = random_next(seed) % (ARRAY_LEN(forms) + ARRAY_LEN(more_forms));
	const struct form *form = n < ARRAY_LEN(forms) ? &forms[n] : &more_forms[n - ARRAY_LEN(forms)];
	unsigned n_front = random_next(seed) % 4 == 0, n_changes = random_next(seed) % 3;

	random_fill(seed, code, INSN_BYTES_MAX);
	if (random_next(seed) % 3 == 0) {
		code_made(seed, code);
		return;
	}
	for (unsigned i = 0; i < n_front; i++)
		code[i] = prefixes[random_next(seed) % ARRAY_LEN(prefixes)];
	for (size_t i = 0; form->insn + i < form->end && n_front + i < INSN_BYTES_MAX; i++)
		code[n_front + i] = (unsigned char)form->insn[i];
	for (unsigned i = 0; i < n_changes; i++)
		code[n_front + random_next(seed) % (uint64_t)(form->end - form->insn) % (INSN_BYTES_MAX - n_front)] ^=
			(unsigned char)(1U << random_next(seed) % 8);
}

/* Most point into memory that is ours. */
static void registers_scatter(uint64_t *seed, struct user_regs_struct *regs)
{
	unsigned long long *const all[] = {&regs->rax, &regs->rdx, &regs->rbx, &regs->rsp, &regs->rbp, &regs->rsi,
		&regs->rdi, &regs->r8, &regs->r9, &regs->r10, &regs->r11, &regs->r12, &regs->r13, &regs->r14, &regs->r15};

	for (unsigned i = 0; i < ARRAY_LEN(all); i++) {
		*all[i] = (uint64_t)(uintptr_t)form_memory + 1024 + random_next(seed) % 12000;
		if (random_next(seed) % 2)
			*all[i] &= ~63ULL;
		if (random_next(seed) % 6 == 0)
			*all[i] = random_next(seed) % 200;
	}
	regs->rcx = random_next(seed) % 40;
	regs->eflags = 0x202 | (random_next(seed) & (FLAGS_STATUS | (random_next(seed) % 4 ? 0 : 0x400)));
	regs->rip = (uint64_t)(uintptr_t)scratch_code;
	regs->orig_rax = (unsigned long long)-1;
}

static void code_put(const struct child *child, const unsigned char code[INSN_BYTES_MAX])
{
	uint64_t words[2] = {0};

	memcpy(words, code, INSN_BYTES_MAX);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(ptrace(PTRACE_POKETEXT, child->pid, scratch_code + 8 * i, words[i]), 0);
}

/* A step of pushf pushes the flag that makes it one. */
static bool is_push_flags(const unsigned char code[INSN_BYTES_MAX])
{
	static const unsigned char prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf2, 0xf3};
	unsigned i = 0;

	while (i < INSN_BYTES_MAX - 1 &&
		((code[i] & 0xf0) == 0x40 || memchr(prefixes, code[i], sizeof(prefixes)) != NULL))
		i++;
	return code[i] == 0x9c;
}

static void code_text(const unsigned char code[INSN_BYTES_MAX], char text[3 * INSN_BYTES_MAX + 1])
{
	for (unsigned i = 0; i < INSN_BYTES_MAX; i++)
		sprintf(text + 3 * i, "%02x ", code[i]);
}

/* The same natively, up to rip: 0 when it has run. What jumps to itself makes one step. */
static int native_step(const struct child *child, uint64_t rip)
{
	struct user_regs_struct regs;
	int sig;

	for (unsigned i = 0; i < STEPS_MAX; i++) {
		sig = child_go(child, PTRACE_SINGLESTEP);
		if (sig != SIGTRAP)
			return sig;
		ptrace(PTRACE_GETREGS, child->pid, NULL, &regs);
		if (regs.rip != (uint64_t)(uintptr_t)scratch_code || regs.rip == rip)
			return 0;
	}
	return -1;
}

/* -1: wrong; 0: not run here; 1: the same both ways. */
static int code_try(struct child *child, const unsigned char code[INSN_BYTES_MAX], struct machine *start)
{
	static struct machine emulated, native;
	char text[3 * INSN_BYTES_MAX + 1];
	struct user_regs_struct regs = start->regs;
	struct seen seen;
	int sig;

	code_text(code, text);
	code_put(child, code);
	machine_set(child, start);
	if (emulate_whole(child, &regs, text, &seen) != EMULATE_DONE)
		return 0;
	assert_int_equal(ptrace(PTRACE_SETREGS, child->pid, NULL, &regs), 0);
	machine_get(child, &emulated);
	machine_set(child, start);
	sig = native_step(child, regs.rip);
	machine_get(child, &native);
	/* maskmov with an empty mask may fault or not, as the processor likes (Intel SDM volume 2, "MASKMOVDQU"). */
	if (sig == SIGSEGV && seen.n_accesses == 0)
		return 0;
	if (sig != 0)
		print_error("%s: native signal %d\n", text, sig);
	if (sig != 0 || (!is_push_flags(code) && !is_same_machine(&emulated, &native, text)))
		return -1;
	return 1;
}

static void test_changed_bytes(void **state)
{
	static struct machine start;
	struct child *child = *state;
	uint64_t seed = number_given("EMULATE_SEED", 0x9e3779b97f4a7c15ULL);
	uint64_t rounds = number_given("EMULATE_ROUNDS", FUZZ_ROUNDS);
	unsigned char code[INSN_BYTES_MAX];
	unsigned n_same = 0, n_bad = 0;

	machine_get(child, &start);
	for (uint64_t i = 0; i < rounds; i++) {
		int result;

		if (i % 16 == 0) {
			xstate_random(&seed, &start);
			random_fill(&seed, start.memory, sizeof(start.memory));
		}
		registers_scatter(&seed, &start.regs);
		code_random(&seed, code);
		result = code_try(child, code, &start);
		n_same += result > 0;
		n_bad += result < 0;
	}
	print_message("%u of them run both ways\n", n_same);
	assert_int_equal(n_bad, 0);
	assert_true(n_same > rounds / 8);
}

/* ---- without a child: memory that gives anything, and nothing that is compared ---- */

static uint64_t plain_seed = 0x2545f4914f6cdd1dULL;

static bool plain_read(void *context, uint64_t addr, void *out, size_t len)
{
	(void)context;
	(void)addr;
	random_fill(&plain_seed, out, len);
	return true;
}

static bool plain_write(void *context, uint64_t addr, const void *data, size_t len)
{
	volatile unsigned char sum = 0;

	(void)context;
	(void)addr;
	for (size_t i = 0; i < len; i++) /* for tools that look for memory that is not there */
		sum = (unsigned char)(sum + ((const unsigned char *)data)[i]);
	return true;
}

static bool plain_fp_get(void *context, struct user_fpregs_struct *out)
{
	memcpy(out, ((struct machine *)context)->xstate, sizeof(*out));
	return true;
}

static bool plain_fp_set(void *context, const struct user_fpregs_struct *in)
{
	memcpy(((struct machine *)context)->xstate, in, FX_END);
	return true;
}

static bool plain_xstate_get(void *context, void *area, size_t *len)
{
	struct machine *machine = context;

	memcpy(area, machine->xstate, machine->xstate_len);
	*len = machine->xstate_len;
	return true;
}

static bool plain_xstate_set(void *context, const void *area, size_t len)
{
	memcpy(((struct machine *)context)->xstate, area, len);
	return true;
}

static sigjmp_buf trapped;

static void trap_here(int sig)
{
	siglongjmp(trapped, sig);
}

/* A signal in the stub would be the end of the tracer. */
static void test_hostile_bytes(void **state)
{
	static const int signals[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP};
	static struct machine machine;
	struct child *child = *state;
	const struct emulate_target target = {&machine, plain_read, plain_write, plain_fp_get, plain_fp_set,
		plain_xstate_get, plain_xstate_set};
	struct sigaction action = {.sa_handler = trap_here, .sa_flags = SA_NODEFER}, former[ARRAY_LEN(signals)];
	volatile uint64_t seed = number_given("EMULATE_SEED", 0xda942042e4dd58b5ULL);
	volatile unsigned n_bad = 0, n_done = 0;
	const uint64_t rounds = number_given("EMULATE_ROUNDS", HOSTILE / 10) * 10;

	machine_get(child, &machine);
	for (unsigned i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &action, &former[i]);
	for (volatile uint64_t i = 0; i < rounds; i++) {
		uint64_t next = seed;
		unsigned char code[INSN_BYTES_MAX];
		char text[3 * INSN_BYTES_MAX + 1];
		struct emulate_outcome out;
		int sig;

		if (i % 16 == 0)
			xstate_random(&next, &machine);
		registers_scatter(&next, &machine.regs);
		if (i % 2)
			random_fill(&next, code, sizeof(code));
		else
			code_random(&next, code);
		seed = next;
		if ((sig = sigsetjmp(trapped, 1)) != 0) {
			code_text(code, text);
			print_error("%s: signal %d (rax %#llx)\n", text, sig, machine.regs.rax);
			n_bad++;
			continue;
		}
		n_done += emulate(child->emulator, &target, code, sizeof(code), &machine.regs, &out) == EMULATE_DONE;
	}
	for (unsigned i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &former[i], NULL);
	print_message("%u have run\n", n_done);
	assert_int_equal(n_bad, 0);
}

/* ---- one by one ---- */

#define MEM	 ((uint64_t)(uintptr_t)form_memory)
#define PAGE_AT	 4096

/* Carry out one instruction with the child's memory; its registers are those given. */
static enum emulate_result carry_out(struct child *child, const unsigned char *code, size_t len,
	struct user_regs_struct *regs, struct emulate_outcome *out)
{
	struct emulate_target target = target_of(child);

	child->n_calls = child->n_writes = child->n_fp_set = child->n_xstate_set = 0;
	return emulate(child->emulator, &target, code, len, regs, out);
}

#define CARRY_OUT(child, regs, out, ...) \
	carry_out(child, (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}), regs, out)

static struct user_regs_struct registers_plain(void)
{
	struct user_regs_struct regs = {.rip = 0x1000, .eflags = 0x202, .cs = 0x33};

	registers_begin(&regs);
	return regs;
}

#define REP_MOVSB 0xf3, 0xa4
#define REP_STOSQ 0xf3, 0x48, 0xab
#define MOV_STORE 0x48, 0x89, 0x03

/* A rep is at its end, or at that of a page. */
static void test_rep_by_pages(void **state)
{
	struct user_regs_struct regs = registers_plain();
	struct emulate_outcome out;
	uint8_t kind;

	regs.rdi = MEM + 100;
	regs.rcx = 600;
	assert_int_equal(CARRY_OUT(*state, &regs, &out, REP_STOSQ), EMULATE_DONE);
	assert_int_equal(out.n_iterations, (PAGE_AT - 100) / 8);
	assert_true(out.is_under_way);
	assert_int_equal(regs.rip, 0x1000);
	assert_int_equal(regs.rdi, MEM + PAGE_AT - 4);
	assert_int_equal(regs.rcx, 600 - (PAGE_AT - 100) / 8);
	/* One that lies in both. */
	assert_int_equal(CARRY_OUT(*state, &regs, &out, REP_STOSQ), EMULATE_DONE);
	assert_int_equal(out.n_iterations, 1);
	assert_int_equal(emulate_touched(&out, MEM + PAGE_AT, 4, &kind), 1);
	assert_int_equal(kind, HIT_WRITE);
	assert_int_equal(CARRY_OUT(*state, &regs, &out, REP_STOSQ), EMULATE_DONE);
	assert_int_equal(out.n_iterations, 100);
	assert_false(out.is_under_way);
	assert_int_equal(regs.rip, 0x1003);
	assert_int_equal(regs.rcx, 0);
	/* Nothing to do. */
	assert_int_equal(CARRY_OUT(*state, &regs, &out, REP_STOSQ), EMULATE_DONE);
	assert_int_equal(out.n_iterations, 0);
	assert_int_equal(out.n_accesses, 0);
}

static void test_touched(void **state)
{
	struct user_regs_struct regs = registers_plain();
	struct emulate_outcome out;
	uint8_t kind;

	regs.rdi = MEM;
	regs.rcx = 10;
	assert_int_equal(CARRY_OUT(*state, &regs, &out, REP_STOSQ), EMULATE_DONE);
	assert_int_equal(emulate_touched(&out, MEM + 8, 8, &kind), 1);
	assert_int_equal(emulate_touched(&out, MEM + 12, 8, &kind), 2);
	assert_int_equal(emulate_touched(&out, MEM, 4096, &kind), 10);
	assert_int_equal(emulate_touched(&out, MEM + 79, 1, &kind), 1);
	assert_int_equal(emulate_touched(&out, MEM + 80, 8, &kind), 0);
	assert_int_equal(emulate_touched(&out, MEM - 8, 8, &kind), 0);
	assert_int_equal(kind, 0);
	/* The byte is written by one iteration, and read by the next one. */
	regs = registers_plain();
	regs.rsi = MEM;
	regs.rdi = MEM + 1;
	regs.rcx = 20;
	assert_int_equal(CARRY_OUT(*state, &regs, &out, REP_MOVSB), EMULATE_DONE);
	assert_int_equal(out.n_iterations, 20);
	assert_int_equal(emulate_touched(&out, MEM + 5, 1, &kind), 2);
	assert_int_equal(kind, HIT_READ | HIT_WRITE);
	assert_int_equal(emulate_touched(&out, MEM + 5, 2, &kind), 3);
	assert_int_equal(emulate_touched(&out, MEM, 1, &kind), 1);
	assert_int_equal(kind, HIT_READ);
	/* Backwards: the same, but from the other end. */
	regs = registers_plain();
	regs.rsi = MEM + 40;
	regs.rdi = MEM + 39;
	regs.rcx = 20;
	regs.eflags |= 0x400;
	assert_int_equal(CARRY_OUT(*state, &regs, &out, REP_MOVSB), EMULATE_DONE);
	assert_true(out.is_backwards);
	assert_int_equal(emulate_touched(&out, MEM + 39, 1, &kind), 2);
	assert_int_equal(emulate_touched(&out, MEM + 40, 1, &kind), 1);
	assert_int_equal(emulate_touched(&out, MEM + 20, 1, &kind), 1);
	assert_int_equal(kind, HIT_WRITE);
}

/* Of the parts of the state, only what changed is written. */
static void test_state_is_spared(void **state)
{
	struct child *child = *state;
	struct user_regs_struct regs = registers_plain();
	struct emulate_outcome out;

	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x0f, 0x29, 0x03), EMULATE_DONE); /* movaps %xmm0,(%rbx) */
	assert_int_equal(child->n_fp_set + child->n_xstate_set, 0);
	regs = registers_plain();
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0xd9, 0x03), EMULATE_DONE); /* flds (%rbx) */
	assert_int_equal(child->n_fp_set, 1);
	assert_int_equal(child->n_xstate_set, 0);
	if (!__builtin_cpu_supports("avx"))
		return;
	/* vpcmpeqd (%rbx),%xmm0,%xmm0, whose upper half is clear: twice, for the first may clear it. */
	for (unsigned i = 0; i < 2; i++) {
		regs = registers_plain();
		assert_int_equal(CARRY_OUT(child, &regs, &out, 0xc5, 0xf9, 0x76, 0x03), EMULATE_DONE);
	}
	assert_int_equal(child->n_xstate_set, 0);
	/* vcmptrueps (%rbx),%ymm0,%ymm0: all ones. */
	regs = registers_plain();
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0xc5, 0xfc, 0xc2, 0x03, 0x0f), EMULATE_DONE);
	assert_int_equal(child->n_xstate_set, 1);
	assert_int_equal(child->n_fp_set, 0);
}

static void test_left_to_the_thread(void **state)
{
	static const uint64_t flags[] = {0x100, 0x40000}; /* TF, AC */
	struct child *child = *state;
	struct user_regs_struct regs = registers_plain(), before;
	struct emulate_outcome out;

	for (unsigned i = 0; i < ARRAY_LEN(flags); i++) {
		regs = registers_plain();
		regs.eflags |= flags[i];
		before = regs;
		assert_int_equal(CARRY_OUT(child, &regs, &out, MOV_STORE), EMULATE_STEP);
		assert_memory_equal(&regs, &before, sizeof(regs));
		/* Yet it is known what it would do. */
		assert_int_equal(out.n_accesses, 1);
		assert_int_equal(out.accesses[0].kind, HIT_WRITE);
	}
	regs = registers_plain();
	regs.cs = 0x23;
	assert_int_equal(CARRY_OUT(child, &regs, &out, MOV_STORE), EMULATE_STEP);
	regs = registers_plain();
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x48, 0x89), EMULATE_STEP); /* cut off */
	assert_int_equal(out.length, 0);
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x0f, 0x05), EMULATE_STEP); /* syscall */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0xcc), EMULATE_STEP);	   /* int3 */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0xe4, 0x10), EMULATE_STEP); /* in $0x10,%al */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x6c), EMULATE_STEP);	   /* insb */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x8e, 0x23), EMULATE_STEP); /* mov (%rbx),%fs */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x0f, 0x01, 0x03), EMULATE_STEP); /* sgdt */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x0f, 0xff, 0x03), EMULATE_STEP); /* ud0 */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x48, 0x0f, 0xc7, 0x23), EMULATE_STEP); /* xsavec64 */
}

/* The prefix for addresses of 32 bits (linkers fill in "addr32 call") does not cut the stack pointer. */
static void test_stack_is_wide(void **state)
{
	static const struct {
		unsigned char code[6];
		uint8_t len, kind;
		int8_t offset;
	} list[] = {
		{{0x67, 0x50}, 2, HIT_WRITE, -8}, /* push %rax */
		{{0x67, 0x58}, 2, HIT_READ, 0},	  /* pop %rax */
		{{0x67, 0x9c}, 2, HIT_WRITE, -8}, /* pushfq */
		{{0x67, 0xe8, 1, 0, 0, 0}, 6, HIT_WRITE, -8}, /* call */
		{{0x67, 0xc3}, 2, HIT_READ, 0}, /* ret */
	};
	struct child *child = *state;
	struct emulate_target target = target_of(child);

	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		struct user_regs_struct regs = registers_plain();
		struct emulate_outcome out;

		regs.rsp += 5ULL << 32;
		assert_true(emulate_accesses(child->emulator, &target, list[i].code, list[i].len, &regs, &out));
		assert_int_equal(out.n_accesses, 1);
		assert_int_equal(out.accesses[0].addr, regs.rsp + (uint64_t)list[i].offset);
		assert_int_equal(out.accesses[0].kind, list[i].kind);
	}
}

/* xlat adds the whole of al, and cuts the sum to the size of addresses. */
static void test_translate(void **state)
{
	struct user_regs_struct regs = registers_plain();
	struct emulate_outcome out;
	const uint8_t value = 0x5a;

	assert_true(child_write(*state, MEM + 0xe0, &value, 1));
	regs.rbx = 0xffffffff00000000ULL + MEM - 0x10;
	regs.rax = 0x1234f0;
	assert_int_equal(CARRY_OUT(*state, &regs, &out, 0x67, 0xd7), EMULATE_DONE);
	assert_int_equal(regs.rax, 0x12345a);
	assert_int_equal(out.accesses[0].addr, MEM + 0xe0);
	regs.rbx = 0xfffffffffffffff0ULL;
	regs.rax = 0xff;
	assert_int_equal(CARRY_OUT(*state, &regs, &out, 0x67, 0xd7), EMULATE_FAULT);
	assert_int_equal(out.accesses[0].addr, 0xef);
}

/* An exception of x87 that waits would be raised here, in the tracer. */
static void test_waiting_exception(void **state)
{
	static const unsigned char list[][4] = {
		{0x90, 0x0f, 0x2a, 0x03}, /* cvtpi2ps (%rbx),%xmm0 */
		{0x66, 0x0f, 0x2a, 0x03}, /* cvtpi2pd (%rbx),%xmm0 */
		{0x90, 0x0f, 0x6f, 0x03}, /* movq (%rbx),%mm0 */
		{0x90, 0x90, 0xd9, 0x03}, /* flds (%rbx) */
	};
	struct child *child = *state;
	struct user_fpregs_struct fx;
	struct emulate_outcome out;

	assert_true(child_fp_get(child, &fx));
	fx.cwd = 0x37b; /* a division by zero, not masked */
	fx.swd = 0x8084;
	assert_true(child_fp_set(child, &fx));
	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		struct user_regs_struct regs = registers_plain();
		size_t at = 0;

		while (list[i][at] == 0x90)
			at++;
		assert_int_equal(carry_out(child, list[i] + at, sizeof(list[i]) - at, &regs, &out), EMULATE_STEP);
	}
}

/* RF, which the kernel shows set at a fault, ends with the instruction. */
static void test_resume_flag(void **state)
{
	struct user_regs_struct regs = registers_plain();
	struct emulate_outcome out;

	regs.eflags |= 0x10000;
	assert_int_equal(CARRY_OUT(*state, &regs, &out, MOV_STORE), EMULATE_DONE);
	assert_int_equal(regs.eflags, 0x202);
	assert_int_equal(regs.rip, 0x1003);
}

/* Other code at the same address, as programs make that translate themselves. */
static void test_code_changes(void **state)
{
	struct user_regs_struct regs = registers_plain();
	struct emulate_outcome out;
	const uint64_t value = 0x1122334455667788;

	assert_true(child_write(*state, AREA, &value, sizeof(value)));
	for (unsigned i = 0; i < 3; i++) {
		regs = registers_plain();
		assert_int_equal(CARRY_OUT(*state, &regs, &out, 0x8b, 0x03), EMULATE_DONE); /* mov (%rbx),%eax */
		assert_int_equal(regs.rax, 0x55667788);
		regs = registers_plain();
		assert_int_equal(CARRY_OUT(*state, &regs, &out, 0x8a, 0x03), EMULATE_DONE); /* mov (%rbx),%al */
		assert_int_equal(regs.rax, 0x88);
		regs = registers_plain();
		assert_int_equal(CARRY_OUT(*state, &regs, &out, 0x03, 0x0b), EMULATE_DONE); /* add (%rbx),%ecx */
		assert_int_equal(regs.rcx, 0x55667788);
	}
}

/* More places than the cache has, at addresses that share a set. */
static void test_many_places(void **state)
{
	struct emulate_outcome out;

	for (unsigned round = 0; round < 2; round++) {
		for (uint64_t ip = 0; ip < 5000; ip++) {
			unsigned char code[] = {0x80, 0x03, (unsigned char)ip}; /* addb $ip,(%rbx) */
			struct user_regs_struct regs = registers_plain();
			unsigned char is, was;

			regs.rip = 0x400000 + ip * (round ? 512 : 3);
			assert_true(child_read(*state, AREA, &was, 1));
			assert_int_equal(carry_out(*state, code, sizeof(code), &regs, &out), EMULATE_DONE);
			assert_true(child_read(*state, AREA, &is, 1));
			assert_int_equal(is, (unsigned char)(was + ip));
		}
	}
}

static void test_refused_memory(void **state)
{
	struct child *child = *state;
	struct user_regs_struct regs = registers_plain(), before;
	struct emulate_outcome out;

	regs.rbx = 0x10;
	before = regs;
	assert_int_equal(CARRY_OUT(child, &regs, &out, MOV_STORE), EMULATE_FAULT);
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x48, 0x01, 0x03), EMULATE_FAULT); /* add %rax,(%rbx) */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0xff, 0x33), EMULATE_FAULT);	    /* pushq (%rbx) */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0xff, 0x13), EMULATE_FAULT);	    /* call *(%rbx) */
	regs.rsp = before.rsp = 0x10;
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x50), EMULATE_FAULT); /* push %rax */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0xc3), EMULATE_FAULT); /* ret */
	assert_memory_equal(&regs, &before, sizeof(regs));
	/* A branch to where no program is. */
	regs = registers_plain();
	assert_true(child_write(child, AREA, &(uint64_t){1ULL << 63}, 8));
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0xff, 0x23), EMULATE_STEP); /* jmp *(%rbx) */
}

/* The second of several pieces is refused: the first one is put back. */
static void test_refused_piece(void **state)
{
	struct child *child = *state;
	struct user_regs_struct regs = registers_plain();
	struct emulate_outcome out;
	unsigned char before[16], after[16];
	struct machine *machine = calloc(1, sizeof(*machine));

	machine_get(child, machine);
	memset(machine->xstate + FX_XMM, 0x11, 16);
	memset(machine->xstate + FX_XMM + 16, 0, 16);
	machine->xstate[FX_XMM + 16] = machine->xstate[FX_XMM + 16 + 15] = 0x80; /* xmm1: the mask */
	machine->xstate[HEADER] |= 3;
	machine_set(child, machine);
	free(machine);
	assert_true(child_read(child, AREA, before, sizeof(before)));
	child->is_write_refused = true;
	/* maskmovdqu %xmm1,%xmm0 */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x66, 0x0f, 0xf7, 0xc1), EMULATE_FAULT);
	child->is_write_refused = false;
	assert_int_equal(out.n_accesses, 2);
	assert_int_equal(child->n_writes, 3);
	assert_true(child_read(child, AREA, after, sizeof(after)));
	assert_memory_equal(after, before, sizeof(after));
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x66, 0x0f, 0xf7, 0xc1), EMULATE_DONE);
	assert_true(child_read(child, AREA, after, sizeof(after)));
	before[0] = before[15] = 0x11;
	assert_memory_equal(after, before, sizeof(after));
}

/* What is done by hand would run anywhere; where the processor has no such instruction, it is the thread that gets SIGILL. */
static void test_not_here(void **state)
{
	static const struct {
		unsigned char code[5];
		uint8_t len, leaf, output, bit; /* of cpuid: emulate_processor.c */
	} list[] = {
		{{0x0f, 0x01, 0xfc}, 3, 4, 1, 0},		/* clzero */
		{{0x66, 0x0f, 0x38, 0xf8, 0x06}, 5, 1, 2, 28}, /* movdir64b (%rsi),%rax */
		{{0x66, 0x0f, 0xae, 0x3b}, 4, 1, 1, 23},	/* clflushopt (%rbx) */
		{{0x66, 0x0f, 0xae, 0x33}, 4, 1, 1, 24},	/* clwb (%rbx) */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		struct emulate_processor processor = {0};
		struct emulate_plan plan;

		assert_true(emulate_plan_make(&plan, &processor, list[i].code, list[i].len, 0x1000));
		assert_int_equal(plan.way, WAY_STEP);
		assert_true(plan.n_operands > 0); /* what it would touch is told */
		processor.leaves[list[i].leaf][list[i].output] = 1U << list[i].bit;
		assert_true(emulate_plan_make(&plan, &processor, list[i].code, list[i].len, 0x1000));
		assert_int_not_equal(plan.way, WAY_STEP);
	}
}

/* On a processor that is made to have it, perhaps; it is done by hand. */
static void test_direct_store(void **state)
{
	struct child *child = *state;
	struct user_regs_struct regs = registers_plain();
	struct emulate_outcome out;
	unsigned char from[64], to[64];

	child->emulator->processor.leaves[1][2] |= 1U << 28;
	regs.rsi = MEM + 3;
	regs.rax = MEM + 128;
	assert_true(child_read(child, regs.rsi, from, sizeof(from)));
	/* movdir64b (%rsi),%rax */
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x66, 0x0f, 0x38, 0xf8, 0x06), EMULATE_DONE);
	assert_int_equal(out.n_accesses, 2);
	assert_int_equal(out.accesses[0].addr, MEM + 3);
	assert_int_equal(out.accesses[0].kind, HIT_READ);
	assert_int_equal(out.accesses[1].addr, MEM + 128);
	assert_int_equal(out.accesses[1].kind, HIT_WRITE);
	assert_true(child_read(child, regs.rax, to, sizeof(to)));
	assert_memory_equal(to, from, sizeof(to));
	regs = registers_plain();
	regs.rsi = MEM;
	regs.rax = MEM + 8;
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x66, 0x0f, 0x38, 0xf8, 0x06), EMULATE_STEP);
}

static size_t form_length(const struct form *form)
{
	return (size_t)(form->end - form->insn);
}

/* Instructions that this processor lacks are decoded, and left to the thread if need be: what they touch is told. */
static void test_forms_not_here(void **state)
{
	struct child *child = *state;
	struct emulate_target target = target_of(child);

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct user_regs_struct regs = registers_plain();
		struct emulate_outcome out;

		if (form_can_run(&forms[i]))
			continue;
		emulate_accesses(child->emulator, &target, (const unsigned char *)forms[i].insn, INSN_BYTES_MAX, &regs,
			&out);
		assert_int_equal(out.length, form_length(&forms[i]));
	}
}

/* Nobody tells how much of an area is written; but what is only read lies in its header. */
static void test_xsave_is_told(void **state)
{
	struct child *child = *state;
	struct user_regs_struct regs = registers_plain();
	struct emulate_outcome out;
	uint8_t kind;

	regs.rax = 7;
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x0f, 0xae, 0x23), EMULATE_STEP); /* xsave (%rbx) */
	assert_false(out.is_known);
	assert_int_equal(emulate_touched(&out, AREA + 160, 8, &kind), 1);
	assert_int_equal(kind, HIT_WRITE);
	assert_int_equal(emulate_touched(&out, AREA + 512, 8, &kind), 1);
	assert_int_equal(kind, HIT_READ | HIT_WRITE);
	assert_int_equal(emulate_touched(&out, AREA - 8, 8, &kind), 0);
	assert_int_equal(CARRY_OUT(child, &regs, &out, 0x0f, 0xae, 0x2b), EMULATE_STEP); /* xrstor (%rbx) */
	assert_int_equal(emulate_touched(&out, AREA + 160, 8, &kind), 1);
	assert_int_equal(kind, HIT_READ);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, children_begin, children_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_forms),
		TEST(test_more_forms),
		TEST(test_forms_not_here),
		TEST(test_changed_bytes),
		TEST(test_hostile_bytes),
		TEST(test_rep_by_pages),
		TEST(test_touched),
		TEST(test_state_is_spared),
		TEST(test_left_to_the_thread),
		TEST(test_stack_is_wide),
		TEST(test_translate),
		TEST(test_waiting_exception),
		TEST(test_resume_flag),
		TEST(test_code_changes),
		TEST(test_many_places),
		TEST(test_refused_memory),
		TEST(test_refused_piece),
		cmocka_unit_test(test_not_here),
		TEST(test_direct_store),
		TEST(test_xsave_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
