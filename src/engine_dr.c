/* engine_dr.c owns the debug registers of all traced threads. It catches accesses by
 * hardware breakpoints set through ptrace, and never reads a register back to decide what is
 * armed: a new thread's DR7 shows its parent's value and is a lie (tests/vm/contract_life.c). */
#include "dr_private.h"

#include "watchprof/access.h"
#include "watchprof/dr.h"
#include "watchprof/dr_probe.h"
#include "watchprof/engine.h"
#include "watchprof/hit_cpu.h"
#include "watchprof/hit_values.h"
#include "watchprof/procfs.h"
#include "watchprof/registers.h"
#include "watchprof/stack.h"
#include "watchprof/sys.h"
#include "watchprof/thread_image.h"
#include "watchprof/tracee.h"
#include "watchprof/unwind.h"
#include "watchprof/util.h"
#include "watchprof/waiting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define HOOK_BIT  IMAGE_BIT(IMAGE_HOOK)
#define RESCUE_NS (2 * NS_PER_S)

HIT_PATH static struct process *process_find(struct engine *engine, pid_t pid)
{
	struct process *process;

	LIST_FOREACH (process, &engine->chains[(unsigned)pid % PROCESS_CHAINS], chain) {
		if (process->pid == pid)
			break;
	}
	return process;
}

static struct process *process_add(struct engine *engine, pid_t pid)
{
	struct process *process = mem_new(1, sizeof(*process));

	process->pid = pid;
	process->image = ++engine->images;
	process->generation = process->newest = process->base = 1;
	LIST_INSERT_HEAD(&engine->processes, process, all);
	LIST_INSERT_HEAD(&engine->chains[(unsigned)pid % PROCESS_CHAINS], process, chain);
	return process;
}

static void process_remove(struct process *process)
{
	LIST_REMOVE(process, all);
	LIST_REMOVE(process, chain);
	armed_free(process->armed);
	accesses_free(process->accesses);
	unwinder_free(process->unwinder);
	free(process);
}

/* Does any process run this image? */
static bool image_is_run(const struct engine *engine, uint32_t image)
{
	const struct process *process;

	LIST_FOREACH (process, &engine->processes, all) {
		if (process->image == image)
			return true;
	}
	return false;
}

static struct unwinder *process_unwinder(struct process *process)
{
	if (!process->unwinder)
		process->unwinder = unwinder_new(process->pid);
	return process->unwinder;
}

static struct accesses *process_accesses(struct process *process)
{
	if (!process->accesses)
		process->accesses = accesses_new(process_unwinder(process));
	accesses_boundaries(process->accesses, &process->boundaries);
	return process->accesses;
}

/* Bring a stopped thread's registers up to date. */
HIT_PATH static int thread_refresh(struct engine *engine, const struct process *process, struct thread *thread)
{
	struct thread_mark *mark = thread_mark(thread);
	bool was_partial = mark->image.is_partial;
	struct thread_image image;
	int result;

	if (mark->generation == process->generation)
		return 0;
	result = registers_arm(thread_tid(thread), &process->dr, process->armed, &image);
	mark->image = result ? (struct thread_image){0} : image;
	if (result)
		return result;
	mark->generation = process->generation;
	engine->counts.threads_unarmed += image.is_partial && !was_partial;
	if (!mark->armed && image.dr.dr7) {
		mark->armed = true;
		engine->counts.threads_armed++;
		engine->counts.threads_born += thread_is_born(thread);
	}
	return 0;
}

/* The same for a thread that cannot fail the run: what cannot be armed is counted. */
static void thread_refresh_late(struct engine *engine, const struct process *process,
	struct thread *thread)
{
	int result = thread_refresh(engine, process, thread);

	if (result == 0 || result == -ESRCH)
		return;
	engine->counts.threads_unarmed++;
	thread_mark(thread)->generation = process->generation; /* not again and again */
}

static int dr_engine_plan(const struct arming *arming, unsigned *slots, struct err *err)
{
	struct dr_image image;

	for (size_t i = 0; slots && i < arming->n; i++)
		slots[i] = dr_slots_needed(&arming->spans[i]);
	return arming_plan(arming, &image, err);
}

/* The process has a new image after exec. */
static void process_renew(struct engine *engine, struct process *process)
{
	process->image = ++engine->images;
	process->dr = (struct dr_image){0};
	armed_free(process->armed);
	process->armed = NULL;
	process->generation = process->base = ++process->newest;
	process->full = 0;
	process->boundaries = (struct boundaries){0}; /* those were of the former image */
	accesses_free(process->accesses);
	process->accesses = NULL;
	unwinder_free(process->unwinder);
	process->unwinder = unwinder_new(process->pid);
}

/* A new process: watched as its parent is, whose memory it has a copy of. parent may be NULL. */
static struct process *process_fork(struct engine *engine, pid_t pid, const struct process *parent)
{
	struct process *process = process_add(engine, pid);

	if (!parent)
		return process;
	process->parent = parent->pid;
	process->image = parent->image;
	process->dr = parent->dr;
	process->armed = armed_copy(parent->armed);
	process->boundaries = parent->boundaries;
	return process;
}

/* A process ends, or executes another program: children that have not had their first stop are what it has been. */
static void children_adopt(struct engine *engine, const struct process *process)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		pid_t pid = thread_pid(thread);

		if (thread_is_fresh(thread) && thread_mark(thread)->origin == process->pid && pid != process->pid &&
			!process_find(engine, pid))
			process_fork(engine, pid, process)->is_unborn = true;
	}
}

static void spare(struct engine *engine, const struct process *process, bool is_limit);

/* The emergency exit, also from a crash in the middle of anything: nothing is freed. */
static void engine_undo(void *context)
{
	struct engine *engine = context;

	spare(engine, NULL, false);
	tracees_recover(engine->tracees);
	dr_release_all(engine);
}

static struct engine *dr_engine_open(const struct target *target, pid_t *pid, struct err *err)
{
	struct engine *engine = mem_new(1, sizeof(*engine));
	int result;

	engine->tracees = tracees_new(target->is_followed);
	LIST_INIT(&engine->processes);
	engine->stack = target->stack;
	engine->has_cpu = target->has_cpu;
	engine->reader = stack_reader_new();
	engine->has_processors = sys_processors() > 1;
	if (target->pid) {
		*pid = target->pid;
		result = tracees_attach(engine->tracees, target->pid, err);
	} else {
		result = tracees_launch(
			engine->tracees, target->command, target->mask, target->input_fd, target->output_fd, pid, err);
	}
	if (result) {
		tracees_free(engine->tracees);
		stack_reader_free(engine->reader);
		free(engine);
		return NULL;
	}
	process_unwinder(process_add(engine, *pid));
	die_hook_push(engine_undo, engine);
	return engine;
}

/* Watches that are hit, or may be if the access was of their kind. */
HIT_PATH static uint64_t watches_touched(const struct thread_image *image, uint64_t dr6)
{
	return dr_watches_hit(&image->dr, dr6) | dr_watches_possible(&image->dr, dr6);
}

/* Before its registers change, take note of a hit that a thread has had and not reported: its
 * DR6 speaks of the image that was written into it. Its trap comes in any case, and has to be taken. */
static void note_in_flight(struct engine *engine, const struct process *process, struct thread *thread,
	uint32_t base)
{
	struct thread_mark *mark = thread_mark(thread);
	uint64_t dr6;

	if (mark->noted_dr6 || mark->generation == 0 || mark->generation == process->generation ||
		sys_debugreg_get(thread_tid(thread), 6, &dr6) || !(dr6 & DR6_SLOT_BITS))
		return;
	mark->noted_dr6 = dr6 & DR6_SLOT_BITS;
	mark->noted = mark->image;
	if (mark->generation >= base)
		return;
	mark->noted = (struct thread_image){0};
	engine->counts.lost++; /* of a set of watches that is gone */
}

/* Write the process's present image into all its stopped threads; those that could not be
 * stopped are written when they stop. The first failure ends it. */
static int refresh_all(struct engine *engine, const struct process *process, uint32_t base, struct err *err)
{
	struct thread *thread = NULL;
	int result;

	while ((thread = tracees_first(engine->tracees, thread))) {
		if (!thread_is_stopped(thread) || thread_pid(thread) != process->pid)
			continue;
		note_in_flight(engine, process, thread, base);
		/* glibc starts threads with all signals blocked for a moment. */
		if (!thread_is_fresh(thread) && thread_stop_signal(thread) == 0)
			trap_mask_note(thread_tid(thread), &thread_mark(thread)->trap_mask);
		result = thread_refresh(engine, process, thread);
		if (result && result != -ESRCH)
			return registers_error(thread_tid(thread), -result, err);
	}
	return 0;
}

/* More is off: each thread is written when it stops by itself. */
static void limit(struct process *process, const struct arming *arming, const struct dr_image *image)
{
	armed_free(process->armed);
	process->armed = armed_new(arming);
	process->dr = *image;
	process->off = arming->off;
	process->generation = ++process->newest;
}

/* Nothing is off any more: threads that have not been written meanwhile need not be interrupted. */
static void spare(struct engine *engine, const struct process *process, bool is_limit)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		struct thread_mark *mark = thread_mark(thread);

		mark->is_spared = is_limit && thread_pid(thread) == process->pid && mark->generation == process->full;
	}
}

/* Write an image into all threads. On failure, what they had before. */
static int process_arm(struct engine *engine, struct process *process, const struct arming *arming,
	const struct dr_image *image, bool is_limit, struct err *err)
{
	uint64_t armed = engine->counts.threads_armed, born = engine->counts.threads_born;
	const struct process former = *process;
	struct err ignored;
	int result;

	process->dr = *image;
	process->armed = armed_new(arming);
	process->generation = is_limit ? process->full : ++process->newest;
	result = refresh_all(engine, process, former.base, err);
	armed_free(result ? process->armed : former.armed);
	if (result) {
		process->dr = former.dr;
		process->armed = former.armed;
		process->generation = ++process->newest;
		refresh_all(engine, process, former.base, &ignored);
		engine->counts.threads_armed = armed;
		engine->counts.threads_born = born;
	} else {
		process->off = arming->off;
		process->hook = arming->hook;
		process->boundaries = arming->boundaries;
		process->full = arming->off ? 0 : process->generation;
	}
	process->base = is_limit ? former.base : process->generation;
	return result;
}

static int dr_engine_arm(struct engine *engine, pid_t pid, const struct arming *arming, struct err *err)
{
	struct process *process = process_find(engine, pid);
	struct dr_image image;
	bool is_limit;
	int result;

	if (arming_plan(arming, &image, err))
		return -1;
	if (!process)
		return 0; /* it has ended meanwhile */
	is_limit = arming->is_limit && process->full && arming->hook == process->hook;
	if (is_limit && arming->off && (arming->off & process->off) == process->off) {
		limit(process, arming, &image);
		return 0;
	}
	is_limit &= !arming->off;
	spare(engine, process, is_limit);
	tracees_stop(engine->tracees, pid, STOP_TIMEOUT);
	result = process_arm(engine, process, arming, &image, is_limit, err);
	spare(engine, process, false);
	if (result == 0 && arming->stopped)
		arming->stopped(arming->observer, pid);
	unwinder_flush(process_unwinder(process));
	tracees_go(engine->tracees, pid);
	return result;
}

/* At the first instruction of a function, the access was the operand of the call (or jump) that
 * led there: the caller is needed to tell whose it was. Its address is on top of the stack. */
static void hit_caller(struct process *process, const struct user_regs_struct *regs, struct hit *hit)
{
	if (unwind_is_entry(process_unwinder(process), regs->rip) &&
		sys_memory_read(process->pid, regs->rsp, &hit->frames[1], sizeof(hit->frames[1])) ==
			sizeof(hit->frames[1]))
		hit->n_frames = 2;
}

/* How much is known of a thread's registers. */
enum known_regs {
	REGS_UNKNOWN,
	REGS_ENOUGH, /* rip, and rsp where there is a path to be made: at a plain access (access.h), known paths need no more */
	REGS_ALL,
};

/* What a trap was: the slots that fired, of which image. */
struct trap {
	struct thread_image image; /* a copy: the thread may have been planned anew */
	uint64_t dr6;		   /* of slots that stand for watches */
	int sig;		   /* to be passed on */
	uint64_t ip;
	enum known_regs known;
	struct user_regs_struct regs;
};

/* Of a trap, the kernel gives the instruction pointer as the address (tests/vm/contract_hits.c). */
static bool trap_regs(struct trap *trap, pid_t tid, enum known_regs needed)
{
	if (trap->known < needed && sys_regs_get(tid, &trap->regs) == 0)
		trap->known = REGS_ALL;
	return trap->known >= needed;
}

/* Who called. The watched bytes are read together with the stack. Returns whether they were. */
static bool hit_stack(struct engine *engine, struct process *process, struct trap *trap,
	const struct hit_pieces *values, struct hit *hit)
{
	struct unwinder *unwinder = process_unwinder(process);

	stack_also(engine->reader, values->local, values->remote, values->n);
	if (trap->known == REGS_ENOUGH && stack_path_known(engine->reader, unwinder, process->pid, trap->regs.rip,
						  trap->regs.rsp, engine->stack, hit))
		return stack_has_also(engine->reader);
	if (!trap_regs(trap, hit->tid, REGS_ALL))
		return false; /* it was killed meanwhile */
	stack_also(engine->reader, values->local, values->remote, values->n);
	stack_path(engine->reader, unwinder, process->pid, &trap->regs, engine->stack, hit);
	return stack_has_also(engine->reader);
}

/* Where the thread stands, and who called. */
HIT_PATH static void hit_path(struct engine *engine, struct process *process, struct trap *trap, struct hit_pieces *values,
	struct hit *hit)
{
	bool has_values;

	hit->frames[0] = trap->regs.rip;
	unwinder_check(process_unwinder(process), hit->time_ns);
	if (engine->stack > 0) {
		has_values = hit_stack(engine, process, trap, values, hit);
	} else {
		if (trap->known == REGS_ALL)
			hit_caller(process, &trap->regs, hit);
		has_values = values->n && hit_pieces_read(process->pid, hit->tid, values);
	}
	hit_cpu_take(values, has_values, process->pid, hit);
}

/* The registers that a plain access needs, where they are likely to be enough. */
static void trap_regs_some(const struct engine *engine, struct trap *trap, pid_t tid)
{
	uint64_t sp = 0;

	if (engine->stack > 0 && (!stack_is_promising(engine->reader, trap->ip) || sys_sp_get(tid, &sp)))
		return;
	trap->regs.rsp = sp;
	trap->known = REGS_ENOUGH;
}

/* The slots that fired. DR6 need not be asked where one slot alone can have: TRAP_HWBKPT stands for one of its bits
 * (get_si_code() in the kernel's arch/x86/kernel/traps.c). As a program may send itself such a signal
 * (rt_sigqueueinfo(2)), the thread has to stand where it says, or its code there has to make that access. */
HIT_PATH static uint64_t trap_dr6(struct engine *engine, struct process *process, struct thread *thread, bool is_ours,
	struct trap *trap, struct access_shot *shot)
{
	pid_t tid = thread_tid(thread);
	const struct thread_mark *mark = thread_mark(thread);
	int only = is_ours && mark->generation && !mark->noted_dr6 ? thread_image_only_slot(&mark->image, trap->ip) : -1;
	uint64_t dr6;

	if (only >= 0) {
		const struct dr_slot *slot = &mark->image.dr.slot[only];

		trap->regs.rip = trap->ip;
		if (access_shoot_plain(process_accesses(process), &trap->regs, slot->addr, slot->len, shot))
			trap_regs_some(engine, trap, tid);
		if (trap_regs(trap, tid, REGS_ENOUGH) && trap->regs.rip == trap->ip)
			return 1ULL << only;
	}
	return sys_debugreg_get(tid, 6, &dr6) ? 0 : dr6;
}

/* The thread has been resumed. */
HIT_PATH static void hit_end(struct engine *engine, const struct hit *hit)
{
	uint64_t now_ns = clock_now_ns();

	engine->counts.stopped_ns += now_ns - hit->time_ns;
	tracees_saw_time(engine->tracees, now_ns);
}

/* A trap of the held thread that hit watches. Fills hit; then the thread is resumed, unless it stands
 * at the hook. The path is made before, so that it may ask for more of the stack. False: nothing that is
 * watched for was done. */
HIT_PATH static bool hit_make(struct engine *engine, struct process *process, const struct tracee_event *event,
	struct trap *trap, struct access_shot *shot, struct hit *hit)
{
	bool is_data = trap->dr6 & ~dr_slots_of(&trap->image.dr, ACCESS_EXECUTE), has_shot = trap->known == REGS_ENOUGH;
	struct hit_pieces values;

	hit->time_ns = clock_now_ns();
	if (engine->has_processors)
		tracees_stay_awake(engine->tracees, waiting_note(&engine->waiting, hit->time_ns));
	hit->pid = event->pid;
	hit->tid = event->tid;
	hit->image = process->image;
	hit->path = PATH_NONE;
	hit->n_frames = 1;
	memset(hit->signals, 0, sizeof(hit->signals));
	hit->frames[0] = trap->ip;
	hit->is_alone = tracees_count(engine->tracees) == 1;
	hit->n_values = hit->cpu = 0;
	hit_pieces_plan(&trap->image.dr, watches_touched(&trap->image, trap->dr6) & ~trap->image.waiting, hit, &values);
	if (engine->has_cpu)
		hit_cpu_plan(&thread_mark(event->thread)->rseq, event->tid, &values);
	if ((is_data || engine->stack > 0 || trap->sig) && trap_regs(trap, event->tid, REGS_ENOUGH)) {
		hit_path(engine, process, trap, &values, hit);
		if (is_data && !has_shot)
			access_shoot(process_accesses(process), event->tid, &trap->regs,
				hit->n_frames > 1 ? hit->frames[1] : 0, shot);
		has_shot = is_data;
	} else if (values.rseq) {
		hit_cpu_take(&values, values.n && hit_pieces_read(process->pid, event->tid, &values), process->pid, hit);
	}
	if (!engine->held)
		tracee_resume(engine->tracees, event->thread, trap->sig);
	hit_end(engine, hit);
	engine->counts.masked_off += !access_judge(has_shot ? shot : NULL, &trap->image.dr, trap->dr6,
		~(trap->image.waiting | HOOK_BIT), hit);
	return hit->watches != 0;
}

/* The slots that a trap is of, and which registers they are of. Returns the watches that were touched. */
HIT_PATH static uint64_t trap_slots(struct engine *engine, const struct process *process, struct thread_mark *mark,
	uint64_t dr6, struct trap *trap)
{
	bool is_noted = mark->noted_dr6;

	trap->image = is_noted ? mark->noted : mark->image;
	dr6 = is_noted ? mark->noted_dr6 : dr6 & DR6_SLOT_BITS;
	mark->noted_dr6 = 0;
	if (!is_noted && mark->generation < process->base) {
		engine->counts.lost += dr6 != 0; /* of a set of watches that is gone */
		return 0;
	}
	trap->dr6 = dr6 & thread_image_slots(&trap->image);
	return watches_touched(&trap->image, dr6);
}

/* A SIGTRAP is about to be delivered. DR6 is zero but for hits not yet reported, as it is cleared
 * after each; so its bits mean hits even where the kernel merged our signal with one that
 * was pending. The signal is ours only if its code says so. */
HIT_PATH static bool trap_take(struct engine *engine, struct process *process, const struct tracee_event *event,
	struct hit *hit)
{
	struct thread_mark *mark = thread_mark(event->thread);
	struct access_shot shot;
	struct trap trap = {0};
	siginfo_t info = {0};
	uint64_t dr6 = 0, watches;

	if (sys_siginfo_get(event->tid, &info))
		info.si_code = TRAP_HWBKPT; /* it was killed meanwhile: nothing to pass on */
	trap.ip = (uint64_t)(uintptr_t)info.si_addr;
	dr6 = trap_dr6(engine, process, event->thread, info.si_code == TRAP_HWBKPT, &trap, &shot);
	watches = trap_slots(engine, process, mark, dr6, &trap);
	if (watches & trap.image.waiting) {
		watches &= ~trap.image.waiting;
		mark->generation = 0; /* it has its own of the variable now: to be planned anew */
	}
	trap.sig = info.si_code == TRAP_HWBKPT ? 0 : SIGTRAP;
	/* Also where the program's own SIGTRAP was pending, blocked: the kernel took that for ours and
	 * unblocked it; blocked again, it goes back into the queue (ptrace_signal() in the kernel). */
	if (trap.sig == 0 || watches)
		engine->counts.traps_unblocked += trap_mask_restore(event->tid, &mark->trap_mask);
	if (dr6 & DR6_SLOT_BITS)
		sys_debugreg_set(event->tid, 6, 0);
	thread_refresh_late(engine, process, event->thread);
	if (watches & HOOK_BIT) {
		engine->held = event->thread;
		engine->held_sig = trap.sig;
		engine->hook_due = true;
		engine->hook_pid = event->pid;
		engine->hook_tid = event->tid;
		engine->hook_image = process->image;
		watches &= ~HOOK_BIT; /* a data hit may have come together with it */
	}
	if (watches)
		return hit_make(engine, process, event, &trap, &shot, hit);
	if (!engine->held)
		tracee_resume(engine->tracees, event->thread, trap.sig);
	return false;
}

static void held_release(struct engine *engine)
{
	struct thread *thread = engine->held;

	if (!thread)
		return;
	engine->held = NULL;
	tracee_resume(engine->tracees, thread, engine->held_sig);
}

static enum engine_event exec_take(struct engine *engine, struct process *process,
	const struct tracee_event *event, struct engine_note *note)
{
	children_adopt(engine, process);
	note->old_image = process->image;
	process_renew(engine, process);
	note->image = process->image;
	note->is_last = !image_is_run(engine, note->old_image);
	if (thread_mark(event->thread)->generation) /* written while it stood here */
		registers_write(event->tid, &(struct dr_image){0});
	*thread_mark(event->thread) = (struct thread_mark){0};
	engine->held = event->thread;
	engine->held_sig = 0;
	return ENGINE_IMAGE;
}

static enum engine_event exit_take(struct engine *engine, struct process *process,
	const struct tracee_event *event, struct engine_note *note)
{
	children_adopt(engine, process);
	note->status = event->status;
	note->old_image = note->image = process->image;
	process_remove(process);
	note->is_last = !image_is_run(engine, note->old_image);
	return ENGINE_EXITED;
}

/* The first stop of a process that was forked. */
static enum engine_event fork_take(struct engine *engine, struct process *process, const struct tracee_event *event,
	struct engine_note *note)
{
	struct procfs_status status;
	pid_t parent = thread_mark(event->thread)->origin;

	/* What the parent's event has not told yet, its child's status tells: it stands at that event. */
	if (!process && !parent && procfs_status(event->pid, &status))
		parent = status.parent;
	if (!process)
		process = process_fork(engine, event->pid, parent ? process_find(engine, parent) : NULL);
	process->is_unborn = false;
	note->parent = process->parent;
	note->image = process->image;
	thread_refresh_late(engine, process, event->thread);
	engine->held = event->thread;
	engine->held_sig = event->sig;
	return ENGINE_FORK;
}

/* An event of a process. False: nothing for the caller. */
HIT_PATH static bool process_event(struct engine *engine, const struct tracee_event *event, struct engine_note *note,
	enum engine_event *out)
{
	struct process *process = process_find(engine, event->pid);

	note->pid = event->pid;
	if (event->kind == TRACEE_EXITED && (!process || process->is_unborn)) {
		if (process)
			process_remove(process);
		return false;
	}
	if (!process || process->is_unborn) {
		*out = fork_take(engine, process, event, note);
		return true;
	}
	note->image = process->image;
	switch (event->kind) {
	case TRACEE_EXITED:
		*out = exit_take(engine, process, event, note);
		return true;
	case TRACEE_EXEC:
		*out = exec_take(engine, process, event, note);
		return true;
	case TRACEE_VISIT:
		note_in_flight(engine, process, event->thread, process->base);
		thread_refresh_late(engine, process, event->thread);
		tracee_resume(engine->tracees, event->thread, event->sig);
		return false;
	case TRACEE_TRAP:
		*out = ENGINE_HIT;
		return trap_take(engine, process, event, &note->hit);
	default:
		return false;
	}
}

/* One event of the tracees. False: nothing for the caller. */
HIT_PATH static bool event_take(struct engine *engine, const struct tracee_event *event, struct engine_note *note,
	enum engine_event *out)
{
	switch (event->kind) {
	case TRACEE_DEADLINE:
		*out = ENGINE_DEADLINE;
		return true;
	case TRACEE_NONE:
		*out = ENGINE_END;
		return true;
	default:
		return process_event(engine, event, note, out);
	}
}

HIT_PATH static enum engine_event dr_engine_next(struct engine *engine, struct engine_note *note,
	uint64_t deadline_ns)
{
	struct tracee_event event;
	enum engine_event out;

	for (;;) {
		if (engine->hook_due) {
			engine->hook_due = false;
			note->pid = engine->hook_pid;
			note->tid = engine->hook_tid;
			note->image = engine->hook_image;
			return ENGINE_MODULES;
		}
		held_release(engine);
		tracees_next(engine->tracees, deadline_ns, &event);
		if (event_take(engine, &event, note, &out))
			return out;
	}
}

static struct engine_counts dr_engine_counts(const struct engine *engine)
{
	struct engine_counts counts = engine->counts;

	counts.threads_now = tracees_count(engine->tracees);
	return counts;
}

static void dr_engine_close(struct engine *engine)
{
	if (!engine)
		return;
	die_hook_pop();
	dr_release_all(engine);
	dr_release_asleep(engine);
	tracees_free(engine->tracees);
	while (!LIST_EMPTY(&engine->processes))
		process_remove(LIST_FIRST(&engine->processes));
	stack_reader_free(engine->reader);
	free(engine);
}

static void dr_engine_rescue(pid_t pid, pid_t ward, int *ward_status)
{
	struct engine engine = {.tracees = tracees_new(false)};
	struct thread *thread = NULL;

	if (tracees_take_over(engine.tracees, pid, ward, ward_status, RESCUE_NS)) {
		/* Nothing is known of them: each may be armed, and have a trap under way. */
		while ((thread = tracees_first(engine.tracees, thread)))
			thread_mark(thread)->generation = 1;
		dr_release_all(&engine);
	}
	tracees_free(engine.tracees);
}

const struct engine_ops engine_dr = {
	.name = "dr",
	.is_trapping = true,
	.probe = dr_probe,
	.plan = dr_engine_plan,
	.open = dr_engine_open,
	.arm = dr_engine_arm,
	.next = dr_engine_next,
	.counts = dr_engine_counts,
	.rescue = dr_engine_rescue,
	.close = dr_engine_close,
};
