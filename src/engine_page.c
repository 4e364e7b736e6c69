/* engine_page.c is the door of the page engine, for machines where debug registers never fire: the pages of the watched
 * variables are shut, and each access to them is a fault of the thread that makes it. It owns which processes there are, and the
 * order in which things begin and end. */
#include "page_private.h"

#include "watchprof/agent.h"
#include "watchprof/insn.h"
#include "watchprof/page_check.h"
#include "watchprof/page_probe.h"
#include "watchprof/procfs.h"
#include "watchprof/stack.h"
#include "watchprof/stop.h"
#include "watchprof/sys.h"
#include "watchprof/thread_image.h"
#include "watchprof/util.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define HOOK_BIT   IMAGE_BIT(IMAGE_HOOK)

/* Processes and threads. */

HIT_PATH struct process *process_find(struct engine *engine, pid_t pid)
{
	struct process *process;

	LIST_FOREACH (process, &engine->chains[(unsigned)pid % PROCESS_CHAINS], chain) {
		if (process->pid == pid)
			break;
	}
	return process;
}

static struct process *process_add(struct engine *engine, pid_t pid, uint32_t image, struct space *space)
{
	struct process *process = mem_new(1, sizeof(*process));

	process->pid = pid;
	process->image = image;
	process->is_counted = true;
	process->space = space;
	process->unwinder = unwinder_new(pid);
	LIST_INSERT_HEAD(&engine->processes, process, all);
	LIST_INSERT_HEAD(&engine->chains[(unsigned)pid % PROCESS_CHAINS], process, chain);
	return process;
}

static bool image_is_run(const struct engine *engine, uint32_t image)
{
	const struct process *process;

	LIST_FOREACH (process, &engine->processes, all) {
		if (process->is_counted && process->image == image)
			return true;
	}
	return false;
}

static void page_thread_free(struct engine *engine, struct page_thread *own)
{
	struct process *process = process_find(engine, own->pid);

	if (process)
		page_call_forget(engine, process, own);
	else
		call_bounce_free(own->bounce);
	LIST_REMOVE(own, all);
	engine->n_threads--;
	free(own);
}

/* Forget the threads of a process (0: of all) that are not traced any more. */
static void page_threads_sweep(struct engine *engine, pid_t pid)
{
	struct page_thread *own, *next;
	struct thread *thread = NULL;

	LIST_FOREACH (own, &engine->threads, all)
		own->is_traced = false;
	while ((thread = tracees_first(engine->tracees, thread))) {
		own = thread_mark(thread)->own;
		if (own)
			own->is_traced = true;
	}
	for (own = LIST_FIRST(&engine->threads); own; own = next) {
		next = LIST_NEXT(own, all);
		if (!own->is_traced && (!pid || own->pid == pid))
			page_thread_free(engine, own);
	}
}

struct page_thread *page_thread(struct engine *engine, struct thread *thread)
{
	struct page_thread *own = thread_mark(thread)->own;

	if (own)
		return own;
	if (engine->n_threads > 2 * tracees_count(engine->tracees) + 16)
		page_threads_sweep(engine, 0);
	own = mem_new(1, sizeof(*own));
	own->tid = thread_tid(thread);
	own->pid = thread_pid(thread);
	LIST_INSERT_HEAD(&engine->threads, own, all);
	engine->n_threads++;
	thread_mark(thread)->own = own;
	engine->counts.threads_armed++;
	engine->counts.threads_born += thread_is_born(thread);
	return own;
}

static void process_remove(struct engine *engine, struct process *process)
{
	page_threads_sweep(engine, process->pid);
	LIST_REMOVE(process, all);
	LIST_REMOVE(process, chain);
	if (process->pid == space_pid(process->space))
		space_forget(process->space);
	space_drop(process->space);
	unwinder_free(process->unwinder);
	free(process);
}

void space_threads_stop(struct engine *engine, const struct space *space)
{
	struct process *process;

	LIST_FOREACH (process, &engine->processes, all) {
		if (process->space == space)
			tracees_stop(engine->tracees, process->pid, STOP_TIMEOUT);
	}
}

void space_threads_go(struct engine *engine, const struct space *space)
{
	struct process *process;

	LIST_FOREACH (process, &engine->processes, all) {
		if (process->space == space)
			tracees_go(engine->tracees, process->pid);
	}
}

/* Beginning. */

/* The emergency exit, also from a crash in the middle of anything. */
static void engine_undo(void *context)
{
	struct engine *engine = context;
	struct process *process;

	engine->is_emergency = true;
	tracees_recover(engine->tracees);
	LIST_FOREACH (process, &engine->processes, all) {
		if (space_pid(process->space) == process->pid)
			space_recover(process->space);
	}
	page_release_all(engine);
}

static void engine_free(struct engine *engine)
{
	while (!LIST_EMPTY(&engine->processes))
		process_remove(engine, LIST_FIRST(&engine->processes));
	while (!LIST_EMPTY(&engine->threads))
		page_thread_free(engine, LIST_FIRST(&engine->threads));
	tracees_free(engine->tracees);
	stack_reader_free(engine->reader);
	emulator_free(engine->emulator);
	free(engine);
}

static struct engine *page_engine_open(const struct target *target, pid_t *pid, struct err *err)
{
	struct engine *engine;
	int result;

	if (target->pid && page_check(target->pid, err))
		return NULL;
	engine = mem_new(1, sizeof(*engine));
	engine->tracees = tracees_new(true);
	tracees_report_all(engine->tracees);
	LIST_INIT(&engine->processes);
	LIST_INIT(&engine->threads);
	engine->is_followed = target->is_followed;
	engine->stack = target->stack;
	engine->has_cpu = target->has_cpu;
	engine->reader = stack_reader_new();
	engine->has_processors = sys_processors() > 1;
	engine->emulator = emulator_new();
	if (!engine->emulator) {
		engine_free(engine);
		err_set(err, "the page engine has no memory for code of its own (a policy against that?)");
		return NULL;
	}
	if (target->pid) {
		*pid = target->pid;
		result = tracees_attach(engine->tracees, target->pid, err);
	} else {
		result = tracees_launch(
			engine->tracees, target->command, target->mask, target->input_fd, target->output_fd, pid, err);
	}
	if (result) {
		engine_free(engine);
		return NULL;
	}
	process_add(engine, *pid, ++engine->images, space_new(*pid, &engine->gaps));
	die_hook_push(engine_undo, engine);
	return engine;
}

/* Arming. */

static int page_engine_plan(const struct arming *arming, unsigned *slots, struct err *err)
{
	for (size_t i = 0; slots && i < arming->n; i++)
		slots[i] = 0; /* there is no end of them */
	return space_plan(arming, err);
}

/* Can the thread make calls where it stands? 0: not where it makes a thread, for one, or at its end (inject_begin()). 1: at a
 * signal, unless that ends a call. 2: yes. */
static int call_chance(const struct thread *thread)
{
	switch (stop_decode(thread_status(thread)).kind) {
	case STOP_SIGNAL:
		return 1;
	case STOP_TRAPPED:
	case STOP_GROUP:
	case STOP_CALL:
		return 2;
	default:
		return 0;
	}
}

struct thread *page_thread_stopped(const struct engine *engine, pid_t pid)
{
	struct thread *thread = NULL, *found = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		if (thread_pid(thread) != pid || !thread_is_stopped(thread) || thread_is_fresh(thread))
			continue;
		if (!found || call_chance(thread) > call_chance(found))
			found = thread;
	}
	return found;
}

void page_threads_prepare(struct engine *engine, const struct process *process)
{
	struct thread *thread = NULL;
	struct user_regs_struct regs;

	while ((thread = tracees_first(engine->tracees, thread))) {
		if (thread_pid(thread) != process->pid || !thread_is_stopped(thread))
			continue;
		page_mask_clear(thread_tid(thread), page_thread(engine, thread));
		if (sys_regs_get(thread_tid(thread), &regs) == 0 && page_call_anew(&regs))
			sys_regs_set(thread_tid(thread), &regs);
	}
}

static bool never_asleep(pid_t tid)
{
	(void)tid;
	return false;
}

/* Behind the call that executed a program the thread can make calls for us; before its end it cannot. */
static void exec_finish(struct engine *engine, struct thread *thread)
{
	if (engine->held == thread && stop_decode(thread_status(thread)).kind == STOP_EXEC)
		tracee_finish_call(engine->tracees, thread, UINT64_MAX, never_asleep);
}

int page_rseqs_withdraw(struct engine *engine, struct process *process, const struct arming *arming, const struct places *places,
	struct err *err)
{
	struct thread *thread = NULL;
	struct sys_rseq rseq;

	while ((thread = tracees_first(engine->tracees, thread))) {
		struct page_thread *own;
		int status, result;

		if (thread_pid(thread) != process->pid || !thread_is_stopped(thread) || sys_rseq_get(thread_tid(thread), &rseq) ||
			!rseq.addr || !space_will_shut(arming, places, rseq.addr, rseq.size))
			continue;
		own = page_thread(engine, thread);
		page_call_put_off(thread);
		status = thread_status(thread);
		result = space_rseq_withdraw(process->space, own->tid, &status, &own->rseq);
		thread_status_set(thread, status);
		if (result && result != -ESRCH)
			return err_set(err, "thread %d: the kernel writes into a page of a watched variable (rseq), which cannot be "
				"changed now: %s", own->tid, strerror(-result));
	}
	return 0;
}

/* Who was counted at a breakpoint that there is no more runs on without coming to it again. */
static void due_forget(struct engine *engine, const struct process *process)
{
	struct page_thread *own;

	LIST_FOREACH (own, &engine->threads, all) {
		if (own->pid == process->pid && own->due_at && !space_breakpoint(process->space, own->due_at))
			own->due_at = 0;
	}
}

static int process_arm(struct engine *engine, struct process *process, const struct arming *arming, struct err *err)
{
	struct thread *thread = page_thread_stopped(engine, process->pid);
	struct span spans[WATCHES_MAX];
	const struct arming common = page_common(arming, spans);
	struct places *places;
	int status = 0, result;

	if (!thread && !space_agent(process->space))
		return err_set(err, "process %d: no thread of it could be stopped", process->pid);
	if (thread && thread != engine->held && stop_decode(thread_status(thread)).kind == STOP_EXEC)
		return 0; /* it runs another program already, which is reported next */
	if (thread)
		exec_finish(engine, thread);
	if (thread && !space_agent(process->space)) {
		page_call_put_off(thread);
		page_signal_begin(thread);
	}
	places = page_places(engine, process, arming);
	result = page_rseqs_withdraw(engine, process, &common, places, err);
	if (thread)
		status = thread_status(thread);
	if (result == 0)
		result = space_arm(process->space, thread ? thread_tid(thread) : 0, &status, &common, places, err);
	if (thread)
		thread_status_set(thread, status);
	if (result) {
		places_free(places);
		return -1;
	}
	due_forget(engine, process);
	if (space_is_armed(process->space))
		page_threads_prepare(engine, process);
	return 0;
}

/* Nobody is spared: calls that threads sleep in are begun again. */
void page_spare_nobody(struct engine *engine)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread)))
		thread_mark(thread)->is_spared = false;
}

static int page_engine_arm(struct engine *engine, pid_t pid, const struct arming *arming, struct err *err)
{
	struct process *process = process_find(engine, pid);
	int result;

	if (space_plan(arming, err))
		return -1;
	if (!process)
		return 0; /* it has ended meanwhile */
	/* One of them has to make the agent, and where each has its own they are all asked for it. */
	if (space_agent(process->space) && !page_is_local(arming))
		page_calls_spare(engine, process, arming, NULL);
	else
		page_spare_nobody(engine);
	space_threads_stop(engine, process->space);
	result = process_arm(engine, process, arming, err);
	if (result == 0 && arming->stopped)
		arming->stopped(arming->observer, pid);
	unwinder_flush(process->unwinder);
	space_threads_go(engine, process->space);
	return result;
}

/* Events. */

/* Let the held thread go on. Returns true with a hit to be reported. */
HIT_PATH static bool held_release(struct engine *engine, struct hit *hit)
{
	struct thread *thread = engine->held;
	struct user_regs_struct regs;
	struct process *process;
	bool is_passing;

	if (!thread)
		return false;
	is_passing = engine->is_passing;
	engine->held = NULL;
	engine->is_passing = false;
	process = process_find(engine, thread_pid(thread));
	/* What is held for another reason runs into the breakpoint where it stands, and is counted. */
	if (process && is_passing && sys_regs_get(thread_tid(thread), &regs) == 0 && space_breakpoint(process->space, regs.rip))
		return page_breakpoint_pass(engine, process, thread, hit);
	tracee_resume(engine->tracees, thread, engine->held_sig);
	return false;
}

bool page_breakpoint(const struct process *process, pid_t tid, struct user_regs_struct *regs, uint64_t *watches)
{
	siginfo_t info;

	/* exc_general_protection() in the kernel. */
	if (sys_siginfo_get(tid, &info) || info.si_code != SI_KERNEL || sys_regs_get(tid, regs))
		return false;
	*watches = space_breakpoint(process->space, regs->rip);
	return *watches || space_was_breakpoint(process->space, regs->rip);
}

static void hook_reached(struct engine *engine, struct process *process, const struct tracee_event *event)
{
	engine->hook_due = true;
	engine->hook_pid = event->pid;
	engine->hook_tid = event->tid;
	engine->hook_image = process->image;
}

/* Has this been counted when the thread came here before, and could not run on? */
static bool is_due(struct engine *engine, struct thread *thread, const struct user_regs_struct *regs)
{
	const struct page_thread *own = page_thread(engine, thread);

	return !own->is_due_aside && own->due_at == regs->rip && own->due_sp == regs->rsp;
}

/* A SIGSEGV of a breakpoint; with a hit to be reported. */
static bool breakpoint_take(struct engine *engine, struct process *process, const struct tracee_event *event,
	const struct user_regs_struct *regs, uint64_t watches, struct hit *hit)
{
	engine->held = event->thread;
	engine->held_sig = 0;
	engine->is_passing = true;
	if (!watches || !process->is_counted || is_due(engine, event->thread, regs))
		return false;
	if (watches & HOOK_BIT)
		hook_reached(engine, process, event);
	watches &= ~HOOK_BIT;
	if (watches)
		page_execute_take(engine, process, event, regs, watches, hit);
	return watches != 0;
}

/* A SIGSEGV as one of a breakpoint: is it the program's own nevertheless, raised by the instruction that is there? */
static bool is_protected(struct engine *engine, const struct process *process, struct thread *thread,
	const struct user_regs_struct *regs, uint64_t watches)
{
	const uint64_t generation = space_breakpoints_generation(process->space);
	struct page_thread *own = page_thread(engine, thread);
	bool is_its_own = own->is_protected;

	own->is_protected = false;
	if (watches || is_its_own)
		return is_its_own;
	is_its_own = own->gone_at == regs->rip && own->gone_in == generation;
	own->gone_at = regs->rip;
	own->gone_in = generation;
	return is_its_own;
}

/* Did a thread run into this address for an instruction, rather than for data? Where code lies, its data may lie as well. */
static bool may_be_code(pid_t tid, uint64_t addr)
{
	struct user_regs_struct regs;

	return sys_regs_get(tid, &regs) == 0 && addr - regs.rip < INSN_BYTES_MAX;
}

/* A SIGSEGV: of a shut page? */
HIT_PATH static bool segv_take(struct engine *engine, struct process *process, const struct tracee_event *event, struct hit *hit)
{
	bool is_foreign = true, is_hit = false, is_own = false;
	struct user_regs_struct regs;
	uint64_t watches;
	siginfo_t info;

	/* The thread has ended; or, if the kernel has refused that, it faults again. */
	if (sys_siginfo_get(event->tid, &info)) {
		tracee_resume(engine->tracees, event->thread, 0);
		return false;
	}
	if (info.si_code == SI_KERNEL && page_breakpoint(process, event->tid, &regs, &watches)) {
		is_own = is_protected(engine, process, event->thread, &regs, watches);
		if (!is_own)
			return breakpoint_take(engine, process, event, &regs, watches, hit);
	}
	if (info.si_code == SI_KERNEL && !is_own && space_is_watched(process->space))
		is_foreign = !page_vsyscall_take(engine, process, event);
	if (info.si_code == SEGV_ACCERR) {
		uint64_t addr = (uint64_t)(uintptr_t)info.si_addr;

		if (space_is_near(process->space, addr, 1)) {
			is_hit = page_fault_take(engine, process, event, hit, &is_foreign);
		} else if (space_was_shut(process->space, addr, may_be_code(event->tid, addr))) {
			tracee_resume(engine->tracees, event->thread, 0);
			return false;
		}
	}
	if (is_foreign)
		page_signal_take(engine, process, event);
	return is_hit;
}

/* The process that is forked by another one: with its memory, or a copy. */
static struct process *child_add(struct engine *engine, pid_t pid, const struct process *parent)
{
	bool is_shared = sys_shares_memory(pid, space_pid(parent->space));
	struct process *child = process_add(
		engine, pid, parent->image, is_shared ? space_use(parent->space) : space_fork(parent->space, pid));

	child->parent = parent->pid;
	child->is_counted = engine->is_followed && parent->is_counted;
	return child;
}

/* A process ends, or executes another program: children that have not had their first stop are what it has been. */
static void children_adopt(struct engine *engine, const struct process *process)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		pid_t pid = thread_pid(thread);

		if (thread_is_fresh(thread) && thread_mark(thread)->origin == process->pid && pid != process->pid &&
			!process_find(engine, pid))
			child_add(engine, pid, process)->is_unborn = true;
	}
}

static enum engine_event exec_take(struct engine *engine, struct process *process, const struct tracee_event *event,
	struct engine_note *note)
{
	children_adopt(engine, process);
	note->old_image = process->image;
	thread_mark(event->thread)->own = NULL;
	page_threads_sweep(engine, event->pid);
	if (space_pid(process->space) == event->pid)
		space_forget(process->space);
	space_drop(process->space);
	process->space = space_new(event->pid, &engine->gaps);
	process->image = ++engine->images;
	unwinder_free(process->unwinder);
	process->unwinder = unwinder_new(event->pid);
	note->image = process->image;
	note->is_last = !image_is_run(engine, note->old_image);
	engine->held = event->thread;
	engine->held_sig = 0;
	return ENGINE_IMAGE;
}

/* A process that is not followed: it goes, as it would be without us. */
static void child_leave(struct engine *engine, struct process *process, struct thread *thread)
{
	tracee_leave(engine->tracees, thread, false);
	process_remove(engine, process);
}

/* What the first stop of a process tells of its parent. */
static struct process *parent_find(struct engine *engine, const struct tracee_event *event)
{
	struct procfs_status status;
	pid_t origin = thread_mark(event->thread)->origin;

	if (!origin && procfs_status(event->pid, &status))
		origin = status.parent;
	return process_find(engine, origin);
}

/* Watch a child as its parent, or leave it as it would be without us. */
static void child_settle(struct engine *engine, struct process *child, struct thread *thread)
{
	int stop = thread_status(thread);
	pid_t tid = thread_tid(thread);
	struct user_regs_struct regs;
	bool is_watched = true;

	if (sys_regs_get(tid, &regs))
		regs.fs_base = 0;
	if (space_pid(child->space) != child->pid)
		space_lend(child->pid, tid, &stop);
	else if (child->is_counted)
		is_watched = space_adopt(child->space, tid, &stop, regs.fs_base) == 0;
	else
		space_leave_child(child->space, tid, &stop);
	thread_status_set(thread, stop);
	if (!is_watched && sys_regs_get(tid, &regs) == 0)
		engine->counts.threads_unarmed++; /* it has not ended */
	if (space_pid(child->space) == child->pid)
		page_rseq_inherit(engine, child, thread, regs.fs_base);
	if (child->is_counted)
		page_place(engine, child, thread);
}

/* The first stop of a process that was forked; child is what is known of it, if its parent has ended. False: nothing for the
 * caller. */
static bool fork_take(struct engine *engine, struct process *child, const struct tracee_event *event,
	struct engine_note *note)
{
	const struct process *parent = child ? NULL : parent_find(engine, event);

	if (!child && !parent) {
		tracee_leave(engine->tracees, event->thread, false);
		return false;
	}
	if (!child)
		child = child_add(engine, event->pid, parent);
	child->is_unborn = false;
	child_settle(engine, child, event->thread);
	if (!child->is_counted && space_pid(child->space) == child->pid) {
		child_leave(engine, child, event->thread);
		return false;
	}
	if (!child->is_counted) {
		tracee_resume(engine->tracees, event->thread, event->sig);
		return false;
	}
	note->parent = child->parent;
	note->image = child->image;
	engine->held = event->thread;
	engine->held_sig = event->sig;
	return true;
}

static enum engine_event exit_take(struct engine *engine, struct process *process, const struct tracee_event *event,
	struct engine_note *note)
{
	children_adopt(engine, process);
	note->status = event->status;
	note->old_image = note->image = process->image;
	process_remove(engine, process);
	note->is_last = !image_is_run(engine, note->old_image);
	return ENGINE_EXITED;
}

/* An event of a process that only shares the memory of one that is counted. */
static void uncounted_take(struct engine *engine, struct process *process, const struct tracee_event *event)
{
	children_adopt(engine, process);
	if (event->kind == TRACEE_EXITED)
		process_remove(engine, process);
	else
		child_leave(engine, process, event->thread); /* it runs another program */
}

/* An event of a process. False: nothing for the caller. */
HIT_PATH static bool process_event(struct engine *engine, struct process *process, const struct tracee_event *event,
	struct engine_note *note, enum engine_event *out)
{
	note->image = process->image;
	*out = ENGINE_HIT;
	switch (event->kind) {
	case TRACEE_EXITED:
	case TRACEE_EXEC:
		if (!process->is_counted) {
			uncounted_take(engine, process, event);
			return false;
		}
		*out = event->kind == TRACEE_EXEC ? exec_take(engine, process, event, note)
						  : exit_take(engine, process, event, note);
		return true;
	case TRACEE_VISIT:
		page_place(engine, process, event->thread);
		if (space_is_armed(process->space))
			page_mask_clear(event->tid, page_thread(engine, event->thread));
		tracee_resume(engine->tracees, event->thread, event->sig);
		return false;
	case TRACEE_HALT:
		/* The stop is complete, and the parent told, when the agent stands in it, too. */
		if (space_agent(process->space))
			agent_settle(space_agent(process->space));
		tracee_resume(engine->tracees, event->thread, 0);
		return false;
	case TRACEE_CALL:
		page_call_take(engine, process, event);
		return false;
	case TRACEE_TRAP:
	case TRACEE_SIGNAL:
		if (event->sig == SIGSEGV)
			return segv_take(engine, process, event, &note->hit);
		page_signal_take(engine, process, event);
		return false;
	default:
		return false;
	}
}

/* One event of the tracees. False: nothing for the caller. */
HIT_PATH static bool event_take(struct engine *engine, const struct tracee_event *event, struct engine_note *note,
	enum engine_event *out)
{
	struct process *process;

	*out = event->kind == TRACEE_NONE ? ENGINE_END : ENGINE_DEADLINE;
	if (event->kind == TRACEE_DEADLINE || event->kind == TRACEE_NONE)
		return true;
	note->pid = event->pid;
	process = process_find(engine, event->pid);
	if (process && !process->is_unborn)
		return process_event(engine, process, event, note, out);
	*out = ENGINE_FORK;
	if (event->kind != TRACEE_EXITED)
		return fork_take(engine, process, event, note);
	if (process)
		process_remove(engine, process);
	return false;
}

HIT_PATH static enum engine_event page_engine_next(struct engine *engine, struct engine_note *note, uint64_t deadline_ns)
{
	struct tracee_event event;
	enum engine_event out;

	if (engine->repeats) {
		engine->repeats--;
		return ENGINE_HIT;
	}
	for (;;) {
		if (engine->hook_due) {
			engine->hook_due = false;
			note->pid = engine->hook_pid;
			note->tid = engine->hook_tid;
			note->image = engine->hook_image;
			return ENGINE_MODULES;
		}
		if (engine->held)
			note->pid = thread_pid(engine->held);
		if (held_release(engine, &note->hit))
			return ENGINE_HIT;
		tracees_next(engine->tracees, deadline_ns, &event);
		if (event_take(engine, &event, note, &out))
			return out;
	}
}

static struct engine_counts page_engine_counts(const struct engine *engine)
{
	struct engine_counts counts = engine->counts;

	counts.threads_now = tracees_count(engine->tracees);
	counts.unshut = engine->gaps.n;
	counts.windows += engine->gaps.n;
	counts.window_ns += engine->gaps.ns;
	if (engine->gaps.n_now)
		counts.window_ns += engine->gaps.n_now * clock_now_ns();
	return counts;
}

static void page_engine_close(struct engine *engine)
{
	if (!engine)
		return;
	die_hook_pop();
	page_release_all(engine);
	engine_free(engine);
}

const struct engine_ops engine_page = {
	.name = "page",
	.instead = "debug registers do not fire here: the page engine is used, which is slower for all that lies near the variable "
		   "(see ENGINES in the manual page)",
	.probe = page_probe,
	.plan = page_engine_plan,
	.open = page_engine_open,
	.arm = page_engine_arm,
	.next = page_engine_next,
	.counts = page_engine_counts,
	.rescue = page_rescue,
	.close = page_engine_close,
};
