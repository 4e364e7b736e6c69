/* page_fault.c owns what is done about an access to a shut page: the instruction is run here, on a copy of the
 * thread's registers, or by the thread itself while nobody else runs. It counts nothing that did not happen: a hit is
 * made when the access is over. */
#include "page_private.h"

#include "watchprof/hit.h"
#include "watchprof/hit_cpu.h"
#include "watchprof/hit_values.h"
#include "watchprof/insn.h"
#include "watchprof/stack.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <signal.h>
#include <string.h>

#define FLAG_TF 0x100ULL
#define FLAG_RF 0x10000ULL

/* Documentation/arch/x86/x86_64/mm.rst in the kernel */
#define VSYSCALL      0xffffffffff600000ULL
#define VSYSCALL_SIZE 0x1000

/* So far from the stack pointer a thread has what is its own. */
#define STACK_NEAR 4096

#define BIT(sig) (1ULL << ((sig) - 1))
/* Signals that an instruction raises: blocked, they would lose their handlers (force_sig() in the kernel). */
#define SYNCHRONOUS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) | BIT(SIGSYS))

/* A thread at a fault. */
struct fault {
	struct space *space;
	pid_t tid;
	struct user_regs_struct regs; /* before the instruction */
	unsigned char code[INSN_BYTES_MAX];
	size_t code_len;
	struct emulate_outcome outcome;
	bool is_stepped; /* the thread has run it itself */
	bool is_at_breakpoint; /* rather than at an access to a shut page */
	/* What the emulator read or wrote last: so the memory is now, as nobody else gets at shut pages. len 0: not known. */
	struct {
		uint64_t addr;
		size_t len;
		unsigned char bytes[HIT_VALUE_BYTES];
	} last;
};

/* Callbacks of the emulator. */

HIT_PATH static void last_note(struct fault *fault, uint64_t addr, const void *data, size_t len)
{
	fault->last.addr = addr;
	fault->last.len = len <= sizeof(fault->last.bytes) ? len : 0;
	memcpy(fault->last.bytes, data, fault->last.len);
}

/* The part of [addr, addr + len) from addr on that lies wholly in watched pages, or wholly outside. */
HIT_PATH static size_t fault_part(const struct fault *fault, uint64_t addr, size_t len, bool *is_watched)
{
	size_t part = SPACE_PAGE - addr % SPACE_PAGE;

	*is_watched = space_is_near(fault->space, addr, 1);
	return part < len ? part : len;
}

/* Of watched pages it is known that the program may do this (fault_is_foreign()). Elsewhere the kernel has to check, as
 * it would have. */
HIT_PATH static bool fault_read(void *context, uint64_t addr, void *out, size_t len)
{
	struct fault *fault = context;

	for (size_t at = 0, part; at < len; at += part) {
		char *to = (char *)out + at;
		bool is_watched;

		part = fault_part(fault, addr + at, len - at, &is_watched);
		if (is_watched ? !space_read(fault->space, addr + at, to, part)
			       : sys_memory_read_allowed(fault->tid, addr + at, to, part) != (ssize_t)part)
			return false;
	}
	last_note(fault, addr, out, len);
	return true;
}

/* What may be refused comes first, so that nothing or all is written. */
HIT_PATH static bool fault_write(void *context, uint64_t addr, const void *data, size_t len)
{
	struct fault *fault = context;

	fault->last.len = 0;
	for (int watched = 0; watched <= 1; watched++) {
		for (size_t at = 0, part; at < len; at += part) {
			bool is_watched;

			part = fault_part(fault, addr + at, len - at, &is_watched);
			if (is_watched != watched)
				continue;
			if (is_watched ? !space_write(fault->space, addr + at, (const char *)data + at, part)
				       : sys_memory_write(fault->tid, addr + at, (const char *)data + at, part) !=
						 (ssize_t)part)
				return false;
		}
	}
	last_note(fault, addr, data, len);
	return true;
}

static bool fault_fp_get(void *context, struct user_fpregs_struct *out)
{
	return sys_fpregs_get(((struct fault *)context)->tid, out) == 0;
}

static bool fault_fp_set(void *context, const struct user_fpregs_struct *in)
{
	return sys_fpregs_set(((struct fault *)context)->tid, in) == 0;
}

static bool fault_xstate_get(void *context, void *area, size_t *len)
{
	ssize_t n = sys_xstate_get(((struct fault *)context)->tid, area, *len);

	*len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

static bool fault_xstate_set(void *context, const void *area, size_t len)
{
	return sys_xstate_set(((struct fault *)context)->tid, area, len) == 0;
}

HIT_PATH static struct emulate_target fault_target(struct fault *fault)
{
	return (struct emulate_target){.context = fault,
		.read = fault_read,
		.write = fault_write,
		.fp_get = fault_fp_get,
		.fp_set = fault_fp_set,
		.xstate_get = fault_xstate_get,
		.xstate_set = fault_xstate_set};
}

/* Not all of it is cleared: what the emulator fills in is large. */
HIT_PATH static void fault_begin(struct fault *fault, struct space *space, pid_t tid)
{
	fault->space = space;
	fault->tid = tid;
	fault->is_stepped = fault->is_at_breakpoint = false;
	fault->last.len = 0;
}

/* As many bytes of the program's code as there are. */
HIT_PATH static void fault_code(struct fault *fault)
{
	fault->code_len = space_peek(fault->space, fault->regs.rip, fault->code, sizeof(fault->code));
	space_code_mend(fault->space, fault->regs.rip, fault->code, fault->code_len);
}

/* Would the program's own protections refuse it? The kernel then would have raised the signal without us. */
HIT_PATH static bool fault_is_foreign(const struct fault *fault)
{
	const struct emulate_outcome *out = &fault->outcome;

	/* It has jumped into data, maybe. Code is never shut. */
	if (!space_allows(fault->space, fault->regs.rip, out->length, HIT_EXECUTE))
		return true;
	for (size_t i = 0; i < out->n_accesses; i++) {
		if (!space_allows(fault->space, out->accesses[i].addr, out->accesses[i].len, out->accesses[i].kind))
			return true;
	}
	return false;
}

/* Let the thread run the instruction itself, while all pages are open and nobody else runs. False: it stopped for
 * something else before, or has ended. */
static bool fault_step(struct engine *engine, struct fault *fault, struct thread *thread)
{
	struct page_thread *own = page_thread(engine, thread);
	bool is_at_breakpoint = space_breakpoint(fault->space, fault->regs.rip) != 0, is_done;

	space_threads_stop(engine, fault->space);
	space_open(fault->space);
	if (is_at_breakpoint)
		space_breakpoints_out(fault->space);
	if (sys_sigmask_get(fault->tid, &own->mask))
		own->mask = 0;
	/* So that no handler comes in between. */
	own->is_stepped = true;
	sys_sigmask_set(fault->tid, ~SYNCHRONOUS);
	is_done = tracee_step(engine->tracees, thread, 0);
	sys_sigmask_set(fault->tid, own->mask & ~BIT(SIGSEGV));
	own->is_stepped = false;
	if (is_at_breakpoint)
		space_breakpoints_in(fault->space);
	space_shut(fault->space);
	space_threads_go(engine, fault->space);
	return is_done;
}

/* The processor that it happened on, where that is asked for. */
HIT_PATH static void hit_cpu(const struct engine *engine, const struct tracee_event *event, struct hit *hit)
{
	struct hit_pieces pieces = {0};

	hit->cpu = 0;
	if (!engine->has_cpu)
		return;
	hit_cpu_plan(&thread_mark(event->thread)->rseq, event->tid, &pieces);
	hit_cpu_take(&pieces, pieces.n && hit_pieces_read(event->pid, event->tid, &pieces), event->pid, hit);
}

/* What of a hit can be told before the instruction runs. */
HIT_PATH static void hit_begin(struct engine *engine, struct process *process, const struct fault *fault,
	const struct tracee_event *event, struct hit *hit)
{
	hit->time_ns = clock_now_ns();
	if (engine->has_processors)
		tracees_stay_awake(engine->tracees, waiting_note(&engine->waiting, hit->time_ns));
	hit->pid = event->pid;
	hit->tid = event->tid;
	hit->image = process->image;
	hit->path = PATH_NONE;
	hit->n_frames = 1;
	memset(hit->signals, 0, sizeof(hit->signals));
	hit->frames[0] = fault->regs.rip;
	hit->is_at = true;
	hit->is_alone = true; /* writers wait for each other: one of us serves them all */
	hit_cpu(engine, event, hit);
	hit->n_values = 0;
	memset(hit->kinds, 0, sizeof(hit->kinds));
}

HIT_PATH static void hit_path(struct engine *engine, struct process *process, const struct fault *fault, struct hit *hit)
{
	if (engine->stack == 0)
		return;
	unwinder_check(process->unwinder, hit->time_ns);
	stack_through(engine->reader, space_memory(process->space));
	stack_path(engine->reader, process->unwinder, process->pid, &fault->regs, engine->stack, hit);
}

/* Which watches were touched, and how. Returns how often. */
HIT_PATH static uint32_t hit_watches(const struct fault *fault, struct hit *hit)
{
	const struct emulate_outcome *out = &fault->outcome;
	uint32_t times = 0;

	hit->watches = hit->kind = 0;
	for (size_t i = 0; i < out->n_accesses; i++)
		hit->watches |= space_touched(fault->space, fault->regs.fs_base, out->accesses[i].addr, out->accesses[i].len, out->accesses[i].kind);
	for (uint64_t left = hit->watches; left; left &= left - 1) {
		unsigned watch = (unsigned)__builtin_ctzll(left);
		uint64_t addr, len = space_watch(fault->space, fault->regs.fs_base, watch, &addr);
		uint32_t n = emulate_touched(out, addr, len, &hit->kinds[watch]);

		hit->kind |= hit->kinds[watch];
		if (n == 0)
			hit->watches &= ~(1ULL << watch);
		if (n > times)
			times = n;
	}
	return times;
}

HIT_PATH static bool value_get(const struct fault *fault, uint64_t addr, void *out, size_t len)
{
	if (addr < fault->last.addr || addr + len > fault->last.addr + fault->last.len)
		return space_read(fault->space, addr, out, len);
	memcpy(out, fault->last.bytes + (addr - fault->last.addr), len);
	return true;
}

HIT_PATH static void hit_values(const struct fault *fault, struct hit *hit)
{
	for (uint64_t left = hit->watches; left && hit->n_values < HIT_VALUES_MAX; left &= left - 1) {
		struct hit_value *value = &hit->values[hit->n_values];
		uint64_t addr, len;

		value->watch = (uint8_t)__builtin_ctzll(left);
		len = space_watch(fault->space, fault->regs.fs_base, value->watch, &addr);
		if (len > HIT_VALUE_BYTES || !value_get(fault, addr, value->bytes, len))
			continue;
		value->len = (uint8_t)len;
		hit->n_values++;
	}
}

/* Is the next instruction, or may it be, syscall? It copies RF into R11 (Intel SDM volume 2, "SYSCALL"). */
HIT_PATH static bool may_call_next(const struct fault *fault)
{
	static const unsigned char syscall[] = {0x0f, 0x05};
	size_t length = fault->outcome.length;

	return fault->code_len < length + sizeof(syscall) ||
		memmem(fault->code + length, fault->code_len - length, syscall, sizeof(syscall));
}

/* Where nothing but the instruction pointer has changed, it alone is set. RF then is left as the fault has set it (Intel SDM
 * volume 3, 17.3.1.1, "Instruction-Breakpoint Exception Condition"): the next instruction clears it.
 * Sandboxes that have no debug registers may refuse this request altogether. */
HIT_PATH static int regs_put(const struct fault *fault, const struct user_regs_struct *regs)
{
	struct user_regs_struct former = fault->regs;

	former.rip = regs->rip;
	former.eflags &= ~FLAG_RF;
	if (memcmp(&former, regs, sizeof(former)) != 0 || regs->rip != fault->regs.rip + fault->outcome.length ||
		may_call_next(fault))
		return sys_regs_set(fault->tid, regs);
	return sys_ip_set(fault->tid, regs->rip) == 0 ? 0 : sys_regs_set(fault->tid, regs);
}

/* Has the thread got a thread-local variable, maybe? */
static bool is_due(const struct fault *fault)
{
	const struct places *places = space_places(fault->space);
	const struct emulate_outcome *out = &fault->outcome;

	for (size_t i = 0; places && i < out->n_accesses; i++) {
		if ((out->accesses[i].kind & HIT_WRITE) &&
			places_is_due(places, fault->regs.fs_base, out->accesses[i].addr, out->accesses[i].len))
			return true;
	}
	return false;
}

/* The thread has been resumed. */
HIT_PATH static void hit_end(struct engine *engine, const struct hit *hit)
{
	uint64_t now_ns = clock_now_ns();

	engine->counts.stopped_ns += now_ns - hit->time_ns;
	tracees_saw_time(engine->tracees, now_ns);
}

/* Would the instruction be as atomic here as it is where the thread runs it? In pages that are shut nobody else is; elsewhere it
 * may use its own stack, and copy: of that the pieces come one by one anyway. */
HIT_PATH static bool fault_is_atomic(const struct fault *fault)
{
	const struct emulate_outcome *out = &fault->outcome;
	bool is_closed = space_is_closed(fault->space);

	if (!fault->is_at_breakpoint && !is_closed && !out->element)
		return false;
	for (size_t i = 0; i < out->n_accesses; i++) {
		const struct emulate_access *access = &out->accesses[i];
		bool is_changed = (access->kind & (HIT_READ | HIT_WRITE)) == (HIT_READ | HIT_WRITE);
		bool is_stack = access->addr - (fault->regs.rsp - STACK_NEAR) < 2ULL * STACK_NEAR;

		if (!is_changed && (is_stack || out->element || !fault->is_at_breakpoint))
			continue;
		if (!is_closed || !space_is_near(fault->space, access->addr, 1) ||
			!space_is_near(fault->space, access->addr + access->len - 1, 1))
			return false;
	}
	return true;
}

/* Complete the access. False: it did not happen. */
HIT_PATH static bool fault_complete(struct engine *engine, struct fault *fault, const struct emulate_target *target,
	struct thread *thread)
{
	struct user_regs_struct regs = fault->regs;

	if (fault_is_atomic(fault) &&
		emulate(engine->emulator, target, fault->code, fault->code_len, &regs, &fault->outcome) == EMULATE_DONE)
		return regs_put(fault, &regs) == 0;
	engine->counts.stepped++;
	fault->last.len = 0;
	fault->is_stepped = fault_step(engine, fault, thread);
	if (fault->is_stepped && sys_regs_get(fault->tid, &regs) == 0)
		fault->outcome.is_under_way = fault->outcome.is_repeated && regs.rip == fault->regs.rip;
	return fault->is_stepped;
}

/* A program that steps itself gets the trap that our own step stands at (emulate() leaves its instructions to it). */
HIT_PATH static void fault_end(struct engine *engine, struct process *process, const struct fault *fault,
	const struct tracee_event *event)
{
	struct tracee_event trap;

	if (!fault->is_stepped || !(fault->regs.eflags & FLAG_TF)) {
		tracee_resume(engine->tracees, event->thread, 0);
		return;
	}
	trap = *event;
	trap.sig = SIGTRAP;
	page_signal_take(engine, process, &trap);
}

/* The instruction that the thread stands at, and what it would access. False: the thread has ended. */
HIT_PATH static bool fault_look(struct engine *engine, struct fault *fault, struct emulate_target *target)
{
	if (sys_regs_get(fault->tid, &fault->regs))
		return false;
	fault_code(fault);
	*target = fault_target(fault);
	emulate_accesses(engine->emulator, target, fault->code, fault->code_len, &fault->regs, &fault->outcome);
	return true;
}

/* Run it, and let the thread go on. Returns how many hits it was. */
HIT_PATH static uint32_t fault_run(struct engine *engine, struct process *process, struct fault *fault,
	const struct emulate_target *target, const struct tracee_event *event, struct hit *hit, bool *is_done)
{
	uint32_t times;

	hit_begin(engine, process, fault, event, hit);
	times = hit_watches(fault, hit);
	if (times && process->is_counted)
		hit_path(engine, process, fault, hit);
	*is_done = fault_complete(engine, fault, target, event->thread);
	if (!*is_done) {
		tracee_resume(engine->tracees, event->thread, 0);
		return 0;
	}
	if (fault->outcome.element) /* once more, by what really ran: of a rep, as far as it came */
		times = hit_watches(fault, hit);
	if (times && process->is_counted)
		hit_values(fault, hit);
	if (is_due(fault))
		page_place(engine, process, event->thread);
	fault_end(engine, process, fault, event);
	hit_end(engine, hit);
	if (!process->is_counted)
		return 0;
	engine->repeats = times ? times - 1 : 0;
	return times;
}

HIT_PATH bool page_fault_take(struct engine *engine, struct process *process, const struct tracee_event *event, struct hit *hit,
	bool *is_foreign)
{
	struct emulate_target target;
	struct fault fault;
	uint32_t times;
	bool is_done;

	fault_begin(&fault, process->space, event->tid);
	*is_foreign = false;
	if (!fault_look(engine, &fault, &target)) {
		tracee_resume(engine->tracees, event->thread, 0);
		return false;
	}
	*is_foreign = fault_is_foreign(&fault);
	if (*is_foreign)
		return false;
	times = fault_run(engine, process, &fault, &target, event, hit, &is_done);
	engine->counts.neighbours += is_done && process->is_counted && times == 0;
	return times > 0;
}

/* It has not run, and comes next to a SIGSEGV: its own, which looks as that of a breakpoint does? */
static bool fault_is_protected(const struct fault *fault, const struct thread *thread)
{
	struct user_regs_struct regs;
	siginfo_t info;

	return thread_stop_signal(thread) == SIGSEGV && sys_siginfo_get(fault->tid, &info) == 0 && info.si_code == SI_KERNEL &&
		sys_regs_get(fault->tid, &regs) == 0 && regs.rip == fault->regs.rip;
}

bool page_breakpoint_pass(struct engine *engine, struct process *process, struct thread *thread, struct hit *hit)
{
	const struct tracee_event event = {.thread = thread, .pid = thread_pid(thread), .tid = thread_tid(thread)};
	struct page_thread *own = page_thread(engine, thread);
	struct emulate_target target;
	struct fault fault;
	const struct page_thread former = *own;
	uint32_t times = 0;
	bool is_done = false;

	fault_begin(&fault, process->space, event.tid);
	fault.is_at_breakpoint = true;
	if (!fault_look(engine, &fault, &target)) {
		tracee_resume(engine->tracees, thread, 0);
		return false;
	}
	own->due_at = fault.regs.rip;
	own->due_sp = fault.regs.rsp;
	own->is_due_aside = false;
	if (!fault_is_foreign(&fault)) {
		times = fault_run(engine, process, &fault, &target, &event, hit, &is_done);
	} else {
		is_done = fault.is_stepped = fault_step(engine, &fault, thread);
		fault_end(engine, process, &fault, &event);
	}
	if (is_done && !fault.outcome.is_under_way) { /* of a rep, it comes again */
		own->is_due_aside = former.is_due_aside && (former.due_at != own->due_at || former.due_sp != own->due_sp);
		own->due_at = own->is_due_aside ? former.due_at : 0;
		own->due_sp = former.due_sp;
	}
	own->is_protected = !is_done && fault_is_protected(&fault, thread);
	return times > 0;
}

bool page_vsyscall_take(struct engine *engine, struct process *process, const struct tracee_event *event)
{
	struct page_thread *own = page_thread(engine, event->thread);
	struct fault fault;
	bool was_tried = own->is_vsyscall_tried;

	own->is_vsyscall_tried = false;
	fault_begin(&fault, process->space, event->tid);
	if (was_tried || sys_regs_get(event->tid, &fault.regs) || fault.regs.rip / VSYSCALL_SIZE * VSYSCALL_SIZE != VSYSCALL)
		return false;
	own->is_vsyscall_tried = true;
	engine->counts.stepped++;
	fault.is_stepped = fault_step(engine, &fault, event->thread);
	own->is_vsyscall_tried = !fault.is_stepped;
	fault_end(engine, process, &fault, event);
	return true;
}

void page_execute_take(struct engine *engine, struct process *process, const struct tracee_event *event,
	const struct user_regs_struct *regs, uint64_t watches, struct hit *hit)
{
	const struct fault fault = {.space = process->space, .tid = event->tid, .regs = *regs};

	hit_begin(engine, process, &fault, event, hit);
	hit_path(engine, process, &fault, hit);
	hit->watches = watches;
	hit->kind = HIT_EXECUTE;
}
