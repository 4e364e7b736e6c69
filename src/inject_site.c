/* inject_site.c owns the search for code of the process's own that calls can be made with, and the
 * frames of the way back. It stops nobody and changes no register.
 *
 * The place of the frames is the lowest part of the first thread's stack, of which the kernel
 * reserves 128 KiB at the start: it is taken only while it is zero, as it is where no thread has
 * ever been, and made zero again. */
#include "watchprof/inject_site.h"

#include "watchprof/call_table.h"
#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <cpuid.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define UC_FLAGS     7 /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS of asm/ucontext.h */
#define NO_STACK     3 /* a mode that sigaltstack(2) refuses: the thread's stays as it is */
#define CODE_CHUNK   65536
#define CODE_OVERLAP 16
#define THREAD_AT                                                                                  \
	1024 /* of the frame of the thread that makes the call; before it lies the child's */
#define STATE_AT      2048 /* of the vector registers, on a multiple of 64 */
#define SW_BYTES_AT   464  /* in them: struct _fpx_sw_bytes */
#define FEATURES_AT   512  /* the features in use */
#define TILE_FEATURES (3ULL << 17)
#define EXTENDED_LEAF 13
#define STACK_LEFT    32768 /* bytes between the place and a thread that is on this stack, at least \
			     */

/* What the kernel takes from the stack in rt_sigreturn(2), behind the address of the restorer. */
struct frame {
	uint64_t restorer;
	uint64_t flags, link;
	struct {
		uint64_t sp;
		int32_t flags, pad;
		uint64_t size;
	} stack;
	struct sigcontext context;
	uint64_t mask;
};

struct code_pattern {
	const unsigned char *bytes;
	size_t len;
	uint64_t found;
};

/* Look for patterns in a mapping, each if it has not been found yet. */
static void code_search(
	int memory_fd, uint64_t start, uint64_t end, struct code_pattern *patterns, size_t n)
{
	unsigned char *code = mem_new(1, CODE_CHUNK);

	for (uint64_t at = start; at < end; at += CODE_CHUNK - CODE_OVERLAP) {
		size_t want = end - at < CODE_CHUNK ? end - at : CODE_CHUNK;
		ssize_t got = sys_memory_force_read(memory_fd, at, code, want);
		bool is_all = true;

		for (size_t i = 0; i < n && got > 0; i++) {
			const unsigned char *found =
				patterns[i].found ? NULL
						  : memmem(code, (size_t)got, patterns[i].bytes,
							    patterns[i].len);

			if (found)
				patterns[i].found = at + (uint64_t)(found - code);
			is_all &= patterns[i].found != 0;
		}
		if (got < (ssize_t)want || is_all)
			break;
	}
	free(code);
}

void inject_site_find(pid_t pid, int memory_fd, struct inject_site *site)
{
	static const unsigned char syscall_ret[] = {0x0f, 0x05, 0xc3},
				   restorer[] = {
					   0x48, 0xc7, 0xc0, SYS_rt_sigreturn, 0, 0, 0, 0x0f, 0x05};
	/* The last is for want of the others. */
	struct code_pattern patterns[] = {{syscall_ret, sizeof(syscall_ret), 0},
		{restorer, sizeof(restorer), 0}, {syscall_ret, sizeof(syscall_ret) - 1, 0}};
	size_t n;
	struct procfs_map *maps = procfs_maps(pid, &n);

	*site = (struct inject_site){.memory_fd = memory_fd};
	/* Code of a file, which seldom goes; and the kernel's. The vsyscall page cannot be jumped
	 * into. */
	for (size_t i = 0; i < n; i++) {
		bool is_code = maps[i].executable && !maps[i].writable &&
			       (maps[i].path[0] == '/' || strcmp(maps[i].path, "[vdso]") == 0);

		if (is_code && (!patterns[0].found || !patterns[1].found))
			code_search(memory_fd, maps[i].start, maps[i].end, patterns,
				ARRAY_LEN(patterns));
		if (strcmp(maps[i].path, "[stack]") == 0 &&
			maps[i].end - maps[i].start > INJECT_WAY_SIZE + STACK_LEFT)
			site->way = maps[i].start;
	}
	procfs_maps_free(maps, n);
	site->syscall_at = patterns[0].found ? patterns[0].found : patterns[2].found;
	if (patterns[0].found && site->way)
		site->restorer = patterns[1].found;
}

static bool is_zero(const struct inject_site *site, size_t start, size_t len)
{
	unsigned char *bytes = mem_new(1, len);
	bool zero = sys_memory_force_read(site->memory_fd, site->way + start, bytes, len) ==
		    (ssize_t)len;

	for (size_t i = 0; i < len && zero; i++)
		zero = bytes[i] == 0;
	free(bytes);
	return zero;
}

/* Bytes of a signal's frame that these features need (Intel's manual, volume 1, 13.4 and 13.5.2).
 */
static uint32_t state_size(uint64_t features)
{
	uint32_t size = FEATURES_AT + 64, a, b, c, d;

	for (unsigned i = 2; i < 63; i++) {
		if ((features >> i & 1) && __get_cpuid_count(EXTENDED_LEAF, i, &a, &b, &c, &d) &&
			a + b > size)
			size = a + b;
	}
	return size;
}

/* The vector registers as a frame has them. False: more than there is room for. */
static bool state_lay(pid_t tid, unsigned char *out, size_t room)
{
	ssize_t len = sys_xstate_get(tid, out, room);
	struct _fpx_sw_bytes sw = {.magic1 = FP_XSTATE_MAGIC1};
	const uint32_t magic2 = FP_XSTATE_MAGIC2;
	uint64_t in_use;

	if (len < FEATURES_AT + 64)
		return false;
	/* There the request tells which features the kernel lets a thread use. The tile registers'
	 * room in a frame is had by permission only (arch_prctl(2)). */
	memcpy(&sw.xstate_bv, out + SW_BYTES_AT, sizeof(sw.xstate_bv));
	memcpy(&in_use, out + FEATURES_AT, sizeof(in_use));
	sw.xstate_bv &= ~TILE_FEATURES;
	sw.xstate_size = state_size(sw.xstate_bv);
	sw.extended_size = sw.xstate_size + (uint32_t)sizeof(magic2);
	if ((in_use & TILE_FEATURES) || sw.extended_size > room)
		return false;
	memcpy(out + SW_BYTES_AT, &sw, sizeof(sw));
	memcpy(out + sw.xstate_size, &magic2, sizeof(magic2));
	return true;
}

static void context_fill(struct sigcontext *context, const struct user_regs_struct *regs)
{
	context->r8 = regs->r8;
	context->r9 = regs->r9;
	context->r10 = regs->r10;
	context->r11 = regs->r11;
	context->r12 = regs->r12;
	context->r13 = regs->r13;
	context->r14 = regs->r14;
	context->r15 = regs->r15;
	context->rdi = regs->rdi;
	context->rsi = regs->rsi;
	context->rbp = regs->rbp;
	context->rbx = regs->rbx;
	context->rdx = regs->rdx;
	context->rax = regs->rax;
	context->rcx = regs->rcx;
	context->rsp = regs->rsp;
	context->rip = regs->rip;
	context->eflags = regs->eflags;
	context->cs = (uint16_t)regs->cs;
	context->gs = (uint16_t)regs->gs;
	context->fs = (uint16_t)regs->fs;
	context->__pad0 = (uint16_t)regs->ss;
}

/* A call that is to be started again is: with its first timeout, where it has one. */
static void context_restart(struct sigcontext *context, const struct user_regs_struct *regs)
{
	if ((long)regs->orig_rax < 0 || !call_is_restarted((int64_t)regs->rax))
		return;
	context->rax = regs->orig_rax;
	context->rip -= 2;
}

static struct frame frame_make(
	const struct inject_site *site, const struct user_regs_struct *regs, uint64_t mask)
{
	struct frame frame = {.restorer = site->restorer,
		.flags = UC_FLAGS,
		.stack.flags = NO_STACK,
		.mask = mask};

	context_fill(&frame.context, regs);
	return frame;
}

/* Of a thread of ours: exit(0). */
static struct frame child_frame(const struct inject_site *site, const struct user_regs_struct *regs)
{
	struct frame frame = frame_make(site, regs, UINT64_MAX);

	frame.context.rip = site->syscall_at;
	frame.context.rax = SYS_exit;
	frame.context.rdi = 0;
	return frame;
}

uint64_t inject_way_lay(const struct inject_site *site, pid_t tid,
	const struct user_regs_struct *regs, uint64_t mask)
{
	unsigned char *place;
	struct frame frame;
	bool good;

	if (!site->restorer || regs->rsp - site->way < INJECT_WAY_SIZE + STACK_LEFT ||
		!is_zero(site, 0, INJECT_WAY_SIZE))
		return 0;
	place = mem_new(1, INJECT_WAY_SIZE);
	frame = child_frame(site, regs);
	memcpy(place, &frame, sizeof(frame));
	frame = frame_make(site, regs, mask);
	context_restart(&frame.context, regs);
	frame.context.fpstate = (struct _fpstate *)(uintptr_t)(site->way + STATE_AT);
	memcpy(place + THREAD_AT, &frame, sizeof(frame));
	good = state_lay(tid, place + STATE_AT, INJECT_WAY_SIZE - STATE_AT) &&
	       sys_memory_force_write(site->memory_fd, site->way, place, INJECT_WAY_SIZE) ==
		       INJECT_WAY_SIZE;
	free(place);
	return good ? site->way + THREAD_AT : 0;
}

uint64_t inject_way_child(const struct inject_site *site)
{
	return site->restorer ? site->way : 0;
}

bool inject_way_lay_child(const struct inject_site *site)
{
	const struct user_regs_struct regs = {
		.cs = 0x33, .ss = 0x2b, .eflags = 0x202, .rsp = site->way};
	struct frame frame = child_frame(site, &regs);

	return site->restorer && is_zero(site, 0, THREAD_AT) &&
	       sys_memory_force_write(site->memory_fd, site->way, &frame, sizeof(frame)) ==
		       sizeof(frame);
}

void inject_way_clear(const struct inject_site *site, bool with_child)
{
	size_t start = with_child ? 0 : THREAD_AT;
	unsigned char *zeros;

	if (!site->restorer)
		return;
	zeros = mem_new(1, INJECT_WAY_SIZE);
	sys_memory_force_write(site->memory_fd, site->way + start, zeros, INJECT_WAY_SIZE - start);
	free(zeros);
}
