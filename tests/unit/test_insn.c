/* test_insn.c runs each instruction of insn_forms.h on this processor, takes the registers behind it
 * from the frame of a signal, and lets the decoder say, from these and the code, what it did to the watched
 * bytes. What a table of instructions cannot hold (string instructions under way, unknown code, a
 * cache) is tested by itself. */
#include "watchprof/hit.h"
#include "watchprof/insn.h"
#include "watchprof/insn_cache.h"
#include "watchprof/util.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <cmocka.h>

#define FORM_END "int3"
#include "../live/insn_run.h"

#define WATCHED	     8
#define AREA	     ((uint64_t)(uintptr_t)form_area)
#define XSAVE_MAX    16384
#define EXTENDED_LEN 468 /* offset of extended_size in the signal frame's struct _fpx_sw_bytes */

/* What the signal's frame told. */
static struct caught {
	struct user_regs_struct regs;
	unsigned char xsave[XSAVE_MAX];
	uint32_t xsave_len;
} caught;

static void trap_taken(int sig, siginfo_t *info, void *context)
{
	mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
	greg_t *regs = machine->gregs;

	(void)sig;
	(void)info;
	caught.regs = (struct user_regs_struct){.rax = regs[REG_RAX], .rcx = regs[REG_RCX], .rdx = regs[REG_RDX],
		.rbx = regs[REG_RBX], .rsp = regs[REG_RSP], .rbp = regs[REG_RBP], .rsi = regs[REG_RSI],
		.rdi = regs[REG_RDI], .r8 = regs[REG_R8], .r9 = regs[REG_R9], .r10 = regs[REG_R10],
		.r11 = regs[REG_R11], .r12 = regs[REG_R12], .r13 = regs[REG_R13], .r14 = regs[REG_R14],
		.r15 = regs[REG_R15], .eflags = regs[REG_EFL], .rip = regs[REG_RIP] - 1};
	syscall(SYS_arch_prctl, ARCH_GET_FS, &caught.regs.fs_base);
	syscall(SYS_arch_prctl, ARCH_GET_GS, &caught.regs.gs_base);
	memcpy(&caught.xsave_len, (char *)machine->fpregs + EXTENDED_LEN, sizeof(caught.xsave_len));
	if (caught.xsave_len < sizeof(caught.xsave))
		memcpy(caught.xsave, machine->fpregs, caught.xsave_len);
	regs[REG_RIP] = (greg_t)(uintptr_t)form_return;
}

static void form_catch(const struct form *form)
{
	memset(form_memory, 0, sizeof(form_memory));
	memset(form_other, 0, sizeof(form_other));
	memcpy(form_area, form->data, WATCHED);
	form_run(form->start);
}

static uint64_t address(const char *code)
{
	return (uint64_t)(uintptr_t)code;
}

/* What is known of the ip of a caught form: its own start is the sure boundary, and the caller's. */
static struct insn_place place_of(const struct form *form)
{
	struct insn_place place = {.ip = caught.regs.rip};
	const char *start = form->start;
	uint64_t back;

	place.is_entry = place.ip == address(form_callee);
	insn_decode((const unsigned char *)(uintptr_t)place.ip, INSN_BYTES_MAX, place.ip, &place.at);
	if (!place.is_entry) {
		insn_before((const unsigned char *)start, address(start), place.ip, &place.before);
		return place;
	}
	memcpy(&back, (void *)(uintptr_t)caught.regs.rsp, sizeof(back));
	insn_before((const unsigned char *)start, address(start), back, &place.caller);
	return place;
}

static const char *kind_text(const struct insn_access *access)
{
	static const char *const names[] = {"-", "r", "w", "rw"};
	static char text[16];

	snprintf(text, sizeof(text), "%s%s%s%s", names[access->kind & (HIT_READ | HIT_WRITE)],
		access->kind & HIT_READ_UNKNOWN ? " unknown" : "", access->touched == TOUCHED_NO ? " off" : "",
		access->touched == TOUCHED_UNKNOWN && access->kind & (HIT_READ | HIT_WRITE) ? "?" : "");
	return text;
}

static bool form_check(const struct form *form)
{
	struct insn_xsave layout = insn_xsave_here();
	struct insn_vectors vectors;
	struct insn_state state = {&caught.regs, &vectors};
	struct insn_place place;
	struct insn_access access;
	bool is_good;

	form_catch(form);
	if (!insn_vectors_read(caught.xsave, caught.xsave_len, &layout, &vectors))
		state.vectors = NULL;
	place = place_of(form);
	access = insn_judge(&place, &state, AREA, WATCHED);
	if (strcmp(form->kind, "-") == 0) /* nothing of it lies there: nobody can say what it was */
		is_good = !(access.kind & (HIT_READ | HIT_WRITE)) || place.before.n_operands == 0;
	else
		is_good = strcmp(kind_text(&access), form->kind) == 0;
	if (!is_good)
		print_error("%s: got %s; expected %s (ip %+ld from its end)\n", form->name, kind_text(&access), form->kind,
			(long)(place.ip - address(form->end)));
	return is_good;
}

static void test_forms(void **state)
{
	size_t n_bad = 0, n_run = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (!form_can_run(&forms[i])) {
			print_message("%s: not run, this processor does not have it\n", forms[i].name);
			continue;
		}
		n_run++;
		n_bad += !form_check(&forms[i]);
	}
	print_message("%zu forms run\n", n_run);
	assert_int_equal(n_bad, 0);
	assert_true(n_run >= 150);
}

/* What cannot run here is decoded all the same: operands of that kind, with as many bytes. What is seen
 * behind a branch need not be its operand. */
static void test_forms_decoded(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		uint8_t kind = strncmp(forms[i].kind, "rw", 2) == 0 ? HIT_READ | HIT_WRITE
			: forms[i].kind[0] == 'r'		    ? HIT_READ
								    : HIT_WRITE;
		bool has_none = forms[i].kind[0] == '-' || forms[i].size == 0;
		uint8_t kinds = 0;
		struct insn insn;

		assert_true(insn_decode((const unsigned char *)forms[i].insn, INSN_BYTES_MAX, address(forms[i].insn), &insn));
		for (unsigned k = 0; k < insn.n_operands; k++) {
			const struct insn_operand *op = &insn.operands[k];

			if (forms[i].size == (op->lanes == LANES_SPREAD ? op->element : op->size))
				kinds |= op->kind;
		}
		if (!has_none && insn.flow == FLOW_NEXT && (kinds & kind) != kind)
			fail_msg("%s: no such operand", forms[i].name);
	}
}

/* One instruction of code, with what is known of it. */
struct known {
	unsigned char before[INSN_BYTES_MAX], at[INSN_BYTES_MAX];
	size_t n_before, n_at;
};

static struct insn_access judge(const struct known *code, const struct user_regs_struct *regs, uint64_t addr)
{
	struct insn_place place = {.ip = 0x1000};
	struct insn_state state = {regs, NULL};

	if (code->n_before)
		assert_true(insn_before(code->before, 0x1000 - code->n_before, 0x1000, &place.before));
	if (code->n_at)
		assert_true(insn_decode(code->at, code->n_at, 0x1000, &place.at));
	return insn_judge(&place, &state, addr, 8);
}

static void assert_access(struct insn_access access, uint8_t kind)
{
	assert_int_equal(access.kind, kind);
}

#define NOP_REP_MOVSQ {.before = {0x90}, .n_before = 1, .at = {0xf3, 0x48, 0xa5}, .n_at = 3}
#define UNKNOWN	      (HIT_READ_UNKNOWN | HIT_WRITE_UNKNOWN)

/* The trap came between two steps: ip stands at the instruction, rcx is not yet 0. */
static void test_rep_under_way(void **state)
{
	const struct known code = NOP_REP_MOVSQ;
	struct user_regs_struct regs = {.rip = 0x1000, .rcx = 3, .rsi = 0x5008, .rdi = 0x6008};

	(void)state;
	assert_access(judge(&code, &regs, 0x5000), HIT_READ);
	assert_access(judge(&code, &regs, 0x6000), HIT_WRITE);
	/* Behind a group of steps, as processors do that copy by lines. */
	regs.rdi = 0x6040;
	assert_access(judge(&code, &regs, 0x6000), HIT_WRITE);
	assert_access(judge(&code, &regs, 0x6010), HIT_WRITE);
	/* Source and destination both within the group: nobody knows. */
	regs.rsi = 0x6058;
	assert_access(judge(&code, &regs, 0x6020), UNKNOWN);
	/* Backwards. */
	regs.eflags = 0x400;
	regs.rsi = 0x4ff8;
	regs.rdi = 0x5ff8;
	assert_access(judge(&code, &regs, 0x5000), HIT_READ);
	assert_access(judge(&code, &regs, 0x6000), HIT_WRITE);
	/* Behind the last step, as QEMU stops. */
	regs.rcx = 0;
	assert_access(judge(&code, &regs, 0x6000), HIT_WRITE);
	assert_access(judge(&code, &regs, 0x9000), UNKNOWN);
}

/* mov %rax,(%rbx) in front of a rep: which of the two it was, the addresses tell. */
static void test_rep_or_before(void **state)
{
	struct known code = {.before = {0x48, 0x89, 0x03}, .n_before = 3, .at = {0xf3, 0x48, 0xad}, .n_at = 3};
	const struct user_regs_struct regs = {.rip = 0x1000, .rcx = 3, .rsi = 0x5008, .rbx = 0x7000};

	(void)state;
	assert_access(judge(&code, &regs, 0x5000), HIT_READ);
	assert_access(judge(&code, &regs, 0x7000), HIT_WRITE);
	/* So it is known whose line it is. */
	assert_true(judge(&code, &regs, 0x5000).is_at);
	assert_false(judge(&code, &regs, 0x7000).is_at);
	/* mov (%rbx),%rbx: its address is gone, so that it may have been either. */
	code.before[1] = 0x8b;
	code.before[2] = 0x1b;
	assert_access(judge(&code, &regs, 0x5000), UNKNOWN);
	assert_access(judge(&code, &regs, 0x7000), HIT_READ);
}

static void test_without_boundary(void **state)
{
	const struct known nothing = {0};
	const struct user_regs_struct regs = {.rip = 0x1000, .rsp = 0x8000};

	(void)state;
	assert_access(judge(&nothing, &regs, 0x5000), UNKNOWN);
	assert_access(judge(&nothing, &regs, 0x8000), UNKNOWN);
}

/* mov %rax,(%rbx), but the bytes are elsewhere: it was not this one, and it is not guessed which. */
static void test_elsewhere(void **state)
{
	const struct known code = {.before = {0x48, 0x89, 0x03}, .n_before = 3};
	const struct user_regs_struct regs = {.rip = 0x1000, .rbx = 0x7000};

	(void)state;
	assert_access(judge(&code, &regs, 0x7008), UNKNOWN);
	assert_access(judge(&code, &regs, 0x6ff8), UNKNOWN);
	assert_access(judge(&code, &regs, 0x7007), HIT_WRITE);
}

/* Behind a trap that compilers put where nothing follows, a branch led to ip. ud1 names memory that it does not touch. */
static void test_behind_trap(void **state)
{
	static const struct known codes[] = {
		{.before = {0x0f, 0x0b}, .n_before = 2},		   /* ud2 */
		{.before = {0x67, 0x0f, 0xb9, 0x40, 0x05}, .n_before = 5}, /* ud1 5(%eax),%eax */
		{.before = {0xcc}, .n_before = 1},			   /* int3 */
	};
	const struct user_regs_struct regs = {.rip = 0x1000, .rax = 0x5000, .rsp = 0x8000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
		assert_access(judge(&codes[i], &regs, 0x6000), HIT_READ);
		assert_access(judge(&codes[i], &regs, 0x5000), HIT_READ);
		assert_access(judge(&codes[i], &regs, 0x8000), UNKNOWN);
	}
}

/* Where the code alone says which bytes it touched. */
static void test_plain(void **state)
{
	static const struct {
		const char *text;
		struct known code;
		bool is_plain;
	} rows[] = {
		{"mov %rdi, 0x6ff0(%rip), from 0x1000", {.before = {0x48, 0x89, 0x3d, 0xf0, 0x6f, 0, 0}, .n_before = 7}, true},
		{"the last of its bytes", {.before = {0x48, 0x89, 0x3d, 0xe9, 0x6f, 0, 0}, .n_before = 7}, true},
		{"behind the watched bytes", {.before = {0x48, 0x89, 0x3d, 0xf8, 0x6f, 0, 0}, .n_before = 7}, false},
		{"in front of them", {.before = {0x48, 0x89, 0x3d, 0xe8, 0x6f, 0, 0}, .n_before = 7}, false},
		{"lock incl mem(%rip)", {.before = {0xf0, 0xff, 0x05, 0xf0, 0x6f, 0, 0}, .n_before = 7}, true},
		{"mov %rax, 0x7ff0", {.before = {0x48, 0x89, 0x04, 0x25, 0xf0, 0x7f, 0, 0}, .n_before = 8}, true},
		{"mov %rax, (%rbx)", {.before = {0x48, 0x89, 0x03}, .n_before = 3}, false},
		{"mov %rax, 0x7ff0(,%rbx,8)", {.before = {0x48, 0x89, 0x04, 0xdd, 0xf0, 0x7f, 0, 0}, .n_before = 8}, false},
		{"mov %rax, %fs:0x7ff0", {.before = {0x64, 0x48, 0x89, 0x04, 0x25, 0xf0, 0x7f, 0, 0}, .n_before = 9}, false},
		{"push mem(%rip)", {.before = {0xff, 0x35, 0xf0, 0x6f, 0, 0}, .n_before = 6}, false},
		{"jmp *mem(%rip)", {.before = {0xff, 0x25, 0xf0, 0x6f, 0, 0}, .n_before = 6}, false},
		{"bts %rcx, mem(%rip)", {.before = {0x48, 0x0f, 0xab, 0x0d, 0xf0, 0x6f, 0, 0}, .n_before = 8}, false},
		{"rep stos", {.before = {0xf3, 0xaa}, .n_before = 2}, false},
		{"nop", {.before = {0x90}, .n_before = 1}, false},
		{"nothing known", {.n_before = 0}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct insn_place place = {.ip = 0x1000};

		if (rows[i].code.n_before)
			assert_true(insn_before(rows[i].code.before, 0x1000 - rows[i].code.n_before, 0x1000, &place.before));
		if (insn_is_plain(&place, 0x7ff0, 8) != rows[i].is_plain)
			fail_msg("%s", rows[i].text);
		place.is_entry = true; /* a call or a jump led there */
		assert_false(insn_is_plain(&place, 0x7ff0, 8));
	}
}

/* enter with a display of two levels: the frame pointers read lie where rbp no longer points. */
static void test_enter_nested(void **state)
{
	const struct known code = {.before = {0xc8, 0x10, 0x00, 0x02}, .n_before = 4};
	const struct user_regs_struct regs = {.rip = 0x1000, .rbp = 0x7000};

	(void)state;
	assert_access(judge(&code, &regs, 0x7000), HIT_WRITE | HIT_READ_UNKNOWN);
	assert_access(judge(&code, &regs, 0x6ff0), HIT_WRITE | HIT_READ_UNKNOWN);
	assert_access(judge(&code, &regs, 0x9000), HIT_READ);
}

/* At a function's first instruction. */
static void test_entry(void **state)
{
	const unsigned char call_memory[] = {0xff, 0x13}; /* call *(%rbx) */
	const struct user_regs_struct regs = {.rip = 0x1000, .rbx = 0x7000, .rsp = 0x8000};
	struct insn_place place = {.ip = 0x1000, .is_entry = true};
	struct insn_state registers = {&regs, NULL};

	(void)state;
	assert_access(insn_judge(&place, &registers, 0x8000, 8), HIT_WRITE | HIT_READ_UNKNOWN);
	assert_access(insn_judge(&place, &registers, 0x7000, 8), HIT_READ);
	assert_true(insn_decode(call_memory, sizeof(call_memory), 0x2000, &place.caller));
	assert_access(insn_judge(&place, &registers, 0x8000, 8), HIT_WRITE);
	assert_access(insn_judge(&place, &registers, 0x7000, 8), HIT_READ);
	/* The jump of a linkage table, through its pointer. */
	assert_access(insn_judge(&place, &registers, 0x9000, 8), HIT_READ);
}

static void test_vectors_short(void **state)
{
	struct insn_xsave layout = insn_xsave_here();
	unsigned char area[575] = {0};
	struct insn_vectors vectors;

	(void)state;
	assert_false(insn_vectors_read(area, sizeof(area), &layout, &vectors));
}

/* Code for the cache: nops, then mov %rax,(%rbx) up to ip; how often a boundary was asked for. */
static struct code {
	unsigned char bytes[8192];
	uint64_t bounds[3];
	unsigned n_bounds, n_asked;
	bool is_gone;
} code;

#define CODE	0x400000
#define CODE_IP (CODE + 16)

static bool code_boundary(void *context, uint64_t ip, unsigned nth, uint64_t *start)
{
	struct code *at = context;

	(void)ip;
	at->n_asked++;
	if (nth < at->n_bounds)
		*start = at->bounds[nth];
	return nth < at->n_bounds;
}

static size_t code_read(void *context, uint64_t addr, void *out, size_t len)
{
	struct code *at = context;
	size_t left = !at->is_gone && addr >= CODE && addr < CODE + sizeof(at->bytes) ? CODE + sizeof(at->bytes) - addr : 0;

	if (len > left)
		len = left;
	memcpy(out, at->bytes + (addr - CODE), len);
	return len;
}

static const struct insn_source source = {&code, code_boundary, code_read};

static void code_reset(void)
{
	code = (struct code){.bounds = {CODE}, .n_bounds = 1};
	memset(code.bytes, 0x90, sizeof(code.bytes));
	memcpy(code.bytes + 13, "\x48\x89\x03", 3);
}

static void test_cache_once(void **state)
{
	struct insn_cache *cache = insn_cache_new();

	(void)state;
	code_reset();
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 3);
	for (int i = 0; i < 100; i++)
		assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.operands[0].kind, HIT_WRITE);
	assert_int_equal(code.n_asked, 1);
	insn_cache_free(cache);
	cache = insn_cache_new();
	insn_cache_find(cache, CODE_IP, &source);
	assert_int_equal(code.n_asked, 2);
	insn_cache_free(cache);
}

/* Two places that take turns do not drive each other out, wherever they are; many do, and are found again. */
static void test_cache_turns(void **state)
{
	struct insn_cache *cache = insn_cache_new();

	(void)state;
	code_reset();
	for (uint64_t other = CODE_IP + 1; other < CODE_IP + 4096; other++) {
		insn_cache_find(cache, CODE_IP, &source);
		insn_cache_find(cache, other, &source);
		code.n_asked = 0;
		for (int i = 0; i < 3; i++) {
			assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->ip, CODE_IP);
			assert_int_equal(insn_cache_find(cache, other, &source)->ip, other);
		}
		assert_int_equal(code.n_asked, 0);
	}
	for (uint64_t ip = CODE_IP; ip < CODE_IP + 4096; ip++)
		assert_int_equal(insn_cache_find(cache, ip, &source)->ip, ip);
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 3);
	assert_int_not_equal(code.n_asked, 0);
	insn_cache_free(cache);
}

/* The start of a function of megabytes is too far away; a boundary behind it is not. */
static void test_cache_far_boundary(void **state)
{
	struct insn_cache *cache = insn_cache_new();

	(void)state;
	code_reset();
	code.bounds[0] = CODE_IP - (2U << 20);
	code.bounds[1] = CODE;
	code.n_bounds = 2;
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 3);
	assert_int_equal(code.n_asked, 2);
	insn_cache_free(cache);
}

/* Code that may change is compared each time, in front of ip and at it. */
static void test_cache_changed_code(void **state)
{
	struct insn_cache *cache = insn_cache_new();

	(void)state;
	code_reset();
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.operands[0].kind, HIT_WRITE);
	insn_cache_find(cache, CODE_IP, &source);
	assert_int_equal(code.n_asked, 1);
	code.bytes[14] = 0x8b; /* mov (%rbx),%rax */
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.operands[0].kind, HIT_READ);
	assert_int_equal(code.n_asked, 2);
	memcpy(code.bytes + 16, "\xf3\xaa", 2);
	assert_true(insn_cache_find(cache, CODE_IP, &source)->at.is_repeated);
	code.bytes[13] = 0x0f; /* 0f 8b 03 90 ...: a jump that goes beyond ip */
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 0);
	insn_cache_free(cache);
}

/* Code that cannot be read at first. */
static void test_cache_unreadable(void **state)
{
	struct insn_cache *cache = insn_cache_new();

	(void)state;
	code_reset();
	code.is_gone = true;
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 0);
	code.is_gone = false;
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 3);
	insn_cache_free(cache);
}

/* The nearest boundary first; one from which nothing ends at ip is no boundary. */
static void test_cache_boundaries(void **state)
{
	struct insn_cache *cache = insn_cache_new();

	(void)state;
	code_reset();
	code.bounds[0] = CODE + 14; /* in the middle: 89 03 is an instruction, too */
	code.n_bounds = 1;
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 2);
	insn_cache_free(cache);
	cache = insn_cache_new();
	code.bytes[12] = 0xb8; /* mov $imm,%eax from here goes beyond ip */
	code.bounds[0] = CODE_IP;
	code.bounds[1] = CODE + 12;
	code.bounds[2] = CODE + 13;
	code.n_bounds = 3;
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 3);
	insn_cache_free(cache);
	cache = insn_cache_new();
	code.n_bounds = 2;
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 0);
	insn_cache_free(cache);
}

/* More addresses than there is room for: each is answered, nothing grows. */
static void test_cache_bounded(void **state)
{
	struct insn_cache *cache = insn_cache_new();

	(void)state;
	code_reset();
	for (uint64_t ip = 0x100000; ip < 0x110000; ip++)
		assert_int_equal(insn_cache_find(cache, ip, &source)->ip, ip);
	assert_int_equal(insn_cache_find(cache, CODE_IP, &source)->before.length, 3);
	insn_cache_free(cache);
}

static char *fake_name(void *context, uint64_t addr)
{
	*(uint64_t *)context = addr;
	return addr == 0x2009 ? NULL : text_copy("name\033");
}

/* Instructions as objdump writes them, with the names of addresses in them. */
static void test_text(void **state)
{
	static const struct {
		unsigned char bytes[INSN_BYTES_MAX];
		const char *text;
		size_t len;
		uint64_t named;
	} all[] = {
		{{0x89, 0x05, 0x03, 0x10, 0, 0}, "mov %eax, 0x1003(%rip) <name\033>", 6, 0x3009},
		{{0x89, 0x05, 0x03, 0, 0, 0}, "mov %eax, 0x3(%rip)", 6, 0x2009},
		{{0xe8, 0xfb, 0xff, 0xff, 0xff}, "call 0x2000 <name\033>", 5, 0x2000},
		{{0x74, 0x10}, "jz 0x2012 <name\033>", 2, 0x2012},
		{{0xf0, 0x48, 0x83, 0x44, 0x91, 0xf8, 0x01}, "lock addq $0x1, -0x8(%rcx,%rdx,4)", 7, 0},
		{{0x06}, "", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		char text[64] = "";
		uint64_t named = 0;

		assert_int_equal(insn_text(all[i].bytes, INSN_BYTES_MAX, 0x2000, fake_name, &named, text, sizeof(text)), all[i].len);
		assert_string_equal(text, all[i].text);
		assert_int_equal(named, all[i].named);
		/* Cut off, and in little room. */
		assert_true(insn_text(all[i].bytes, all[i].len ? all[i].len - 1 : 0, 0x2000, NULL, NULL, text, sizeof(text)) < INSN_BYTES_MAX);
		assert_int_equal(insn_text(all[i].bytes, INSN_BYTES_MAX, 0x2000, fake_name, &named, text, 8), all[i].len);
		assert_true(memchr(text, '\0', 8) != NULL);
	}
}

int main(void)
{
	static char stack[65536];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_sigaction = trap_taken, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_forms_decoded),
		cmocka_unit_test(test_rep_under_way),
		cmocka_unit_test(test_rep_or_before),
		cmocka_unit_test(test_without_boundary),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_behind_trap),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_enter_nested),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_vectors_short),
		cmocka_unit_test(test_cache_once),
		cmocka_unit_test(test_cache_turns),
		cmocka_unit_test(test_cache_far_boundary),
		cmocka_unit_test(test_cache_changed_code),
		cmocka_unit_test(test_cache_unreadable),
		cmocka_unit_test(test_cache_boundaries),
		cmocka_unit_test(test_cache_bounded),
		cmocka_unit_test(test_text),
	};

	sigaltstack(&alternate, NULL);
	sigaction(SIGTRAP, &action, NULL);
	forms_prepare();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
