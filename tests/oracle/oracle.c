/* oracle.c is the judge of the unwinder. It runs a program one instruction at a time, keeps a
 * shadow stack from what calls, returns and signals really do, and compares the path that the
 * unwinder makes at every instruction with it. It shares no rule with the unwinder: it knows the
 * machine, not the tables. It needs no debug register.
 *
 * oracle [-e FILE] PROGRAM [ARG...]: from the program's entry point to its end. The lines of FILE
 * are "PROGRAM FUNCTION REASON", with patterns of the shell: instructions in that function, or,
 * written
 * ">FUNCTION", in those that it calls, may have a wrong path; "~FUNCTION": paths may end in it, if
 * they are right so far and marked as broken. Exit status 0: right everywhere else; 125: it could
 * not be done. */
#include "watchprof/hit.h"
#include "watchprof/procfs.h"
#include "watchprof/stack.h"
#include "watchprof/symbols.h"
#include "watchprof/unwind.h"
#include "watchprof/util.h"

#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define DEPTH_MAX  4096
#define CODE_MAX   15
#define FAULTS_MAX 5
#define EXCEPT_MAX 64
/* From the handler's stack pointer at its start: struct rt_sigframe of the kernel. */
#define SAVED_RIP   (sizeof(uint64_t) + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]))
#define COLD_PERIOD 997 /* a prime, so that it meets other instructions each time */

struct entry {
	uint64_t slot;   /* where the return address lies; of a signal, the first byte above its
			    frame's */
	uint64_t target; /* it; of a signal, where the interrupted instruction's address is saved */
	bool is_signal;
	/* Of a signal on a stack of its own: that stack. */
	uint64_t low, high;
};

struct exception {
	char program[128], function[128];
	char reason[200];
	uint64_t points;
};

struct oracle {
	pid_t pid;
	struct entry stack[DEPTH_MAX];
	size_t depth;
	struct unwinder *warm, *cold;
	struct stack_reader *reader;
	struct symbols *symbols;
	uint64_t now_ns; /* what the unwinder is told, so that each of its checks is due */
	bool is_stale;   /* symbols: mappings have changed */
	struct exception exceptions[EXCEPT_MAX];
	size_t n_exceptions;
	uint64_t points, excepted, wrong, deepest, signals;
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "oracle: %s: %s\n", what, strerror(errno));
	exit(125);
}

static uint64_t word_read(pid_t pid, uint64_t addr)
{
	uint64_t word = 0;
	struct iovec local = {&word, sizeof(word)},
		     remote = {(void *)(uintptr_t)addr, sizeof(word)};

	process_vm_readv(pid, &local, 1, &remote, 1, 0);
	return word;
}

static struct user_regs_struct regs_get(pid_t pid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		fail("registers");
	return regs;
}

/* --- the machine ------------------------------------------------------------------------------ */

enum act { ACT_OTHER, ACT_CALL, ACT_SYSCALL };

/* What the instruction does, by its opcode behind the prefixes. */
static enum act instruction_act(pid_t pid, uint64_t ip)
{
	unsigned char code[CODE_MAX] = {0};
	struct iovec local = {code, sizeof(code)}, remote = {(void *)(uintptr_t)ip, sizeof(code)};
	size_t i = 0;

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) < 2)
		fail("code");
	while (i < 4 && (strchr("\x66\x67\x2e\x3e\xf2\xf3", code[i]) || (code[i] & 0xf0) == 0x40))
		i++;
	if (code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2))
		return ACT_CALL;
	if (code[i] == 0x0f && code[i + 1] == 0x05)
		return ACT_SYSCALL;
	return ACT_OTHER;
}

static void push(struct oracle *oracle, struct entry entry)
{
	if (oracle->depth == DEPTH_MAX) {
		fprintf(stderr, "oracle: the program calls too deep\n");
		exit(125);
	}
	oracle->stack[oracle->depth++] = entry;
	if (oracle->depth > oracle->deepest)
		oracle->deepest = oracle->depth;
}

/* The innermost signal frame, or -1. */
static ssize_t signal_find(const struct oracle *oracle)
{
	for (size_t i = oracle->depth; i-- > 0;) {
		if (oracle->stack[i].is_signal)
			return (ssize_t)i;
	}
	return -1;
}

/* Drop what the stack pointer has left behind: by a return, or by a jump over many frames. A
 * signal's stack is left where the stack pointer is outside of it. */
static void drop(struct oracle *oracle, uint64_t sp)
{
	ssize_t s;

	while ((s = signal_find(oracle)) >= 0 && oracle->stack[s].high &&
		(sp < oracle->stack[s].low || sp > oracle->stack[s].high))
		oracle->depth = (size_t)s;
	while (oracle->depth > 0 && oracle->stack[oracle->depth - 1].slot < sp)
		oracle->depth--;
}

/* The mapping that an address lies in. */
static void bounds_find(pid_t pid, uint64_t addr, uint64_t *low, uint64_t *high)
{
	size_t n;
	struct procfs_map *maps = procfs_maps(pid, &n);

	for (size_t i = 0; i < n; i++) {
		if (addr >= maps[i].start && addr < maps[i].end) {
			*low = maps[i].start;
			*high = maps[i].end;
		}
	}
	procfs_maps_free(maps, n);
}

/* The handler's first instruction: its return address is the restorer; below it, the saved context.
 * The frame is left when the stack pointer is above the whole of it. */
static void signal_enter(struct oracle *oracle, const struct user_regs_struct *before,
	const struct user_regs_struct *now)
{
	struct entry entry = {.target = now->rsp + SAVED_RIP, .is_signal = true};
	uint64_t low = 0, high = 0;

	bounds_find(oracle->pid, now->rsp, &low, &high);
	if (before->rsp < low || before->rsp >= high) {
		entry.low = low;
		entry.high = high;
	}
	entry.slot = entry.high ? UINT64_MAX : before->rsp - 1;
	push(oracle, entry);
	push(oracle, (struct entry){.slot = now->rsp, .target = word_read(oracle->pid, now->rsp)});
	oracle->signals++;
}

/* --- the comparison --------------------------------------------------------------------------- */

/* The name of the function that an instruction is in; "(FILE)" where it has none. */
static void function_name(struct oracle *oracle, uint64_t ip, char *name, size_t size)
{
	struct loc loc = {0};

	if (oracle->is_stale)
		symbols_refresh(oracle->symbols);
	oracle->is_stale = false;
	symbols_locate(oracle->symbols, ip, &loc);
	if (loc.function && strchr(loc.function, '+'))
		snprintf(name, size, "(%.*s)", (int)(strrchr(loc.function, '+') - loc.function),
			loc.function);
	else
		snprintf(name, size, "%s", loc.function ? loc.function : "(nowhere)");
}

/* The entry of the list for the function that an instruction is in, under the given mark (0: none).
 */
static struct exception *exception_find(struct oracle *oracle, uint64_t ip, char mark)
{
	char name[256];

	function_name(oracle, ip, name, sizeof(name));
	for (size_t i = 0; i < oracle->n_exceptions; i++) {
		const char *listed = oracle->exceptions[i].function;
		bool is_marked = listed[0] == '>' || listed[0] == '~';

		if ((is_marked ? listed[0] : 0) == mark &&
			fnmatch(listed + is_marked, name, 0) == 0)
			return &oracle->exceptions[i];
	}
	return NULL;
}

static size_t expect(const struct oracle *oracle, const struct user_regs_struct *regs,
	uint64_t *frames, uint64_t *signals)
{
	size_t n = 0;

	memset(signals, 0, STACK_DEPTH_MAX / 8);
	frames[n++] = regs->rip;
	for (size_t i = oracle->depth; i-- > 0 && n < STACK_DEPTH_MAX;) {
		if (oracle->stack[i].is_signal)
			signals[(n - 1) / 64] |= 1ULL << (n - 1) % 64;
		/* A handler may change where it returns to. */
		frames[n++] = oracle->stack[i].is_signal
				      ? word_read(oracle->pid, oracle->stack[i].target)
				      : oracle->stack[i].target;
	}
	return n;
}

static void frames_print(struct oracle *oracle, const char *title, const uint64_t *frames, size_t n)
{
	char name[256];

	printf("#   %s:", title);
	for (size_t i = 0; i < n && i < 12; i++) {
		function_name(oracle, frames[i], name, sizeof(name));
		printf(" %" PRIx64 " %s", frames[i], name);
	}
	printf("\n");
}

static const struct hit *path_make(
	struct oracle *oracle, struct unwinder *unwinder, const struct user_regs_struct *regs)
{
	static struct hit hit;

	stack_path(oracle->reader, unwinder, oracle->pid, regs, STACK_DEPTH_MAX, &hit);
	return &hit;
}

/* One path against the truth. The list excuses some. */
static void compare_path(struct oracle *oracle, const struct hit *hit,
	const struct user_regs_struct *regs, const char *what)
{
	uint64_t frames[STACK_DEPTH_MAX], signals[STACK_DEPTH_MAX / 64];
	size_t n = expect(oracle, regs, frames, signals);
	bool is_prefix = hit->n_frames <= n &&
			 memcmp(hit->frames, frames, hit->n_frames * sizeof(*frames)) == 0;
	struct exception *exception;

	if (hit->n_frames == n && is_prefix &&
		memcmp(hit->signals, signals, sizeof(signals)) == 0 &&
		hit->path == (n < STACK_DEPTH_MAX ? PATH_WHOLE : PATH_TRUNCATED))
		return;
	exception = exception_find(oracle, regs->rip, 0);
	if (!exception && n > 1)
		exception = exception_find(oracle, frames[1] - 1, '>');
	if (!exception && is_prefix && hit->path == PATH_BROKEN)
		exception = exception_find(
			oracle, hit->frames[hit->n_frames - 1] - (hit->n_frames > 1), '~');
	if (exception) {
		exception->points++;
		oracle->excepted++;
		return;
	}
	oracle->wrong++;
	if (oracle->wrong > FAULTS_MAX)
		return;
	printf("# wrong (%s), end %u, rsp %llx\n", what, hit->path, regs->rsp);
	frames_print(oracle, "is", hit->frames, hit->n_frames);
	frames_print(oracle, "should be", frames, n);
}

/* With rules that are kept, by the path that was walked just now, and now and then with none. */
static void compare(struct oracle *oracle, const struct user_regs_struct *regs)
{
	oracle->points++;
	compare_path(oracle, path_make(oracle, oracle->warm, regs), regs, "warm");
	compare_path(oracle, path_make(oracle, oracle->warm, regs), regs, "known");
	if (oracle->points % COLD_PERIOD)
		return;
	unwinder_free(oracle->cold);
	oracle->cold = unwinder_new(oracle->pid);
	compare_path(oracle, path_make(oracle, oracle->cold, regs), regs, "cold");
}

/* --- the run ---------------------------------------------------------------------------------- */

/* A stop of the program: false if it has ended, with its status. *sig: a signal on its way to it.
 */
static bool stop_wait(pid_t pid, int *sig, int *status)
{
	if (waitpid(pid, status, __WALL) != pid)
		fail("wait");
	if (WIFEXITED(*status) || WIFSIGNALED(*status))
		return false;
	*sig = WSTOPSIG(*status) == SIGTRAP ? 0 : WSTOPSIG(*status);
	return true;
}

static pid_t launch(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		fail(argv[0]);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		exit(125);
	return pid;
}

/* Run to the program's entry point, where the dynamic linker has done its first work. */
static void run_to_entry(pid_t pid)
{
	uint64_t entry = procfs_auxv(pid, AT_ENTRY);
	long code = ptrace(PTRACE_PEEKTEXT, pid, entry, NULL);
	struct user_regs_struct regs;
	int status;

	if (ptrace(PTRACE_POKETEXT, pid, entry, (code & ~0xffL) | 0xcc) ||
		ptrace(PTRACE_CONT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
		!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		fail("entry point");
	regs = regs_get(pid);
	regs.rip = entry;
	if (ptrace(PTRACE_POKETEXT, pid, entry, code) || ptrace(PTRACE_SETREGS, pid, NULL, &regs))
		fail("entry point");
}

/* After a step: what it did to the shadow stack. */
static void follow(struct oracle *oracle, enum act act, int sig,
	const struct user_regs_struct *before, const struct user_regs_struct *now)
{
	ssize_t s = signal_find(oracle);

	if (act == ACT_SYSCALL && !sig && before->rax == SYS_rt_sigreturn && s >= 0) {
		oracle->depth = (size_t)s;
	} else if (act == ACT_CALL && !sig && now->rsp == before->rsp - sizeof(uint64_t)) {
		push(oracle, (struct entry){
				     .slot = now->rsp, .target = word_read(oracle->pid, now->rsp)});
	} else if (sig && now->rip != before->rip && now->rdi == (uint64_t)sig) {
		signal_enter(oracle, before, now);
	} else {
		drop(oracle, now->rsp);
	}
	if (act == ACT_SYSCALL && (before->rax == SYS_mmap || before->rax == SYS_munmap)) {
		oracle->is_stale = true;
		unwinder_check(oracle->warm, oracle->now_ns += NS_PER_S * 60);
	}
}

static int run(struct oracle *oracle)
{
	struct user_regs_struct before = regs_get(oracle->pid), now;
	int sig = 0, status;

	for (;;) {
		enum act act = ACT_OTHER;

		compare(oracle, &before);
		if (!sig)
			act = instruction_act(oracle->pid, before.rip);
		if (ptrace(PTRACE_SINGLESTEP, oracle->pid, NULL, (long)sig))
			fail("step");
		int passed = sig;
		if (!stop_wait(oracle->pid, &sig, &status))
			return status;
		now = regs_get(oracle->pid);
		if (sig && !passed && now.rip == before.rip && now.rsp == before.rsp)
			continue; /* a signal came before the instruction */
		follow(oracle, act, passed, &before, &now);
		before = now;
	}
}

static void exceptions_read(struct oracle *oracle, const char *path, const char *program)
{
	const char *slash = strrchr(program, '/');
	FILE *file = fopen(path, "re");
	char line[512];

	if (!file)
		fail(path);
	while (fgets(line, sizeof(line), file) && oracle->n_exceptions < EXCEPT_MAX) {
		struct exception *exception = &oracle->exceptions[oracle->n_exceptions];

		if (line[0] != '#' && sscanf(line, "%127s %127s %199[^\n]", exception->program,
					      exception->function, exception->reason) == 3)
			oracle->n_exceptions +=
				fnmatch(exception->program, slash ? slash + 1 : program, 0) == 0;
	}
	fclose(file);
}

int main(int argc, char **argv)
{
	static struct oracle oracle;
	const char *exceptions = NULL;
	int c, status;

	while ((c = getopt(argc, argv, "+e:")) != -1) {
		if (c != 'e')
			return 125;
		exceptions = optarg;
	}
	if (optind == argc) {
		fprintf(stderr, "Usage: oracle [-e EXCEPTIONS] PROGRAM [ARG...]\n");
		return 125;
	}
	if (exceptions)
		exceptions_read(&oracle, exceptions, argv[optind]);
	oracle.pid = launch(argv + optind);
	run_to_entry(oracle.pid);
	oracle.warm = unwinder_new(oracle.pid);
	oracle.cold = unwinder_new(oracle.pid);
	oracle.reader = stack_reader_new();
	oracle.symbols = symbols_new(oracle.pid, NULL);
	status = run(&oracle);
	printf("# %" PRIu64 " points, %" PRIu64 " frames deep at most, %" PRIu64
	       " signals, %" PRIu64 " excepted, %" PRIu64 " wrong; status %d\n",
		oracle.points, oracle.deepest + 1, oracle.signals, oracle.excepted, oracle.wrong,
		status);
	for (size_t i = 0; i < oracle.n_exceptions; i++) {
		if (oracle.exceptions[i].points)
			printf("# excepted: %" PRIu64 " in %s: %s\n", oracle.exceptions[i].points,
				oracle.exceptions[i].function, oracle.exceptions[i].reason);
	}
	unwinder_free(oracle.warm);
	unwinder_free(oracle.cold);
	stack_reader_free(oracle.reader);
	symbols_free(oracle.symbols);
	return oracle.wrong || status ? 1 : 0;
}
