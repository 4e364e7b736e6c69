/* page_call.c owns system calls while pages are shut. The kernel must find the memory that a program hands to it as if
 * it were open: buffers are put elsewhere for the time of the call, or the pages are open meanwhile. What the kernel does there is
 * no access of the program's, and is not counted. */
#include "page_private.h"

#include "watchprof/agent.h"
#include "watchprof/hit.h"
#include "watchprof/procfs.h"
#include "watchprof/stop.h"
#include "watchprof/sys.h"
#include "watchprof/syscall_restart.h"
#include "watchprof/util.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* How long the others stand for a call that has pages open; one that takes longer is left to itself. */
#define ALONE_NS (NS_PER_S / 500)
/* How long for one that goes to sleep at once, if it gets a processor. */
#define LOOK_NS NS_PER_S
/* The kernel reads a signal frame of so many bytes at most (the vector state included). */
#define FRAME_BYTES 16384
/* Of the results that begin a call again: with the arguments that the thread has then, or with those that the kernel
 * remembers, which are not the program's. */
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define HEAP_BYTES	      (64UL << 20)
#define HEAP_MOST	      (1UL << 40) /* no heap is larger, and no library is so near to it */
#define SYSCALL_LENGTH	      2 /* bytes of the instruction */

static unsigned kind_of(unsigned direction)
{
	return (direction & CALL_IN ? HIT_READ : 0U) | (direction & CALL_OUT ? HIT_WRITE : 0U);
}

static bool memory_read(void *context, uint64_t addr, void *out, size_t len)
{
	return space_read(context, addr, out, len);
}

static bool memory_write(void *context, uint64_t addr, const void *data, size_t len)
{
	return space_write(context, addr, data, len);
}

/* The thread group of a thread id as the process itself counts them; only where we count alike. */
static bool memory_is_self(void *context, int64_t pid)
{
	struct procfs_status status;
	pid_t own = space_pid(context);

	return pid == own || (procfs_status((pid_t)pid, &status) && status.tgid == own);
}

static bool memory_is_granted(void *context, uint64_t addr, uint64_t len, unsigned direction)
{
	return space_allows(context, addr, len, kind_of(direction));
}

static bool memory_is_shut(void *context, uint64_t addr, uint64_t len, unsigned direction)
{
	return space_is_shut(context, addr, len, kind_of(direction));
}

static struct bounce_memory memory_of(struct space *space)
{
	return (struct bounce_memory){.memory = {.context = space, .read = memory_read, .is_self = memory_is_self},
		.write = memory_write,
		.is_shut = memory_is_shut,
		.is_granted = memory_is_granted};
}

static void arguments_set(struct user_regs_struct *regs, const uint64_t args[CALL_ARGUMENTS])
{
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

/* Open pages. */

static void call_open(struct page_thread *own, struct space *space)
{
	space_open(space);
	own->space = space;
	own->opened_ns = 0;
}

static void call_shut(struct engine *engine, struct page_thread *own)
{
	if (!own->space)
		return;
	if (own->is_map)
		space_refresh(own->space);
	space_shut(own->space);
	if (own->opened_ns) {
		engine->counts.windows++;
		engine->counts.window_ns += clock_now_ns() - own->opened_ns;
	}
	own->space = NULL;
	own->is_map = false;
}

/* Buffers elsewhere. */

static void bounce_drop(struct space *space, struct page_thread *own)
{
	call_bounce_free(own->bounce);
	own->bounce = NULL;
	space_scratch_give(space, own->scratch);
	own->scratch = 0;
}

/* Put the buffers of a call elsewhere. */
static enum bounce_result bounce_begin(struct space *space, struct page_thread *own, struct call_plan *plan,
	struct user_regs_struct *regs)
{
	const struct bounce_memory memory = memory_of(space);
	uint64_t args[CALL_ARGUMENTS], scratch;
	enum bounce_result result;
	size_t len;

	if (!own->bounce && (own->scratch = space_scratch_take(space, &scratch, &len)))
		own->bounce = call_bounce_new(scratch, len);
	if (!own->bounce)
		return BOUNCE_LIFT; /* many threads are in such calls */
	memcpy(args, own->args, sizeof(args));
	result = call_bounce_enter(own->bounce, plan, &memory, args);
	if (result == BOUNCE_DONE) {
		arguments_set(regs, args);
		sys_regs_set(own->tid, regs);
	} else if (!call_bounce_is_busy(own->bounce)) {
		bounce_drop(space, own);
	}
	return result;
}

bool page_call_anew(struct user_regs_struct *regs)
{
	if ((int64_t)regs->orig_rax < 0 || (int64_t)regs->rax != -ERESTART_RESTARTBLOCK)
		return false;
	regs->rax = (unsigned long long)-ERESTARTNOHAND;
	return true;
}

/* The call has ended, or begins again with the program's own arguments. */
static void bounce_end(struct space *space, struct page_thread *own, int64_t result)
{
	const struct bounce_memory memory = memory_of(space);
	struct user_regs_struct regs;
	uint64_t args[CALL_ARGUMENTS];

	if (!own->bounce || !call_bounce_is_busy(own->bounce))
		return;
	if (sys_regs_get(own->tid, &regs) == 0) {
		call_bounce_leave(own->bounce, &memory, result, args);
		arguments_set(&regs, args);
		/* Buffers that the kernel remembers are given to others by then. */
		page_call_anew(&regs);
		sys_regs_set(own->tid, &regs);
	} else {
		call_bounce_cancel(own->bounce, NULL);
	}
	bounce_drop(space, own);
}

/* Ends. */

/* Does the call look at, or hand on, the disposition of SIGSEGV? One that only shares the memory has its own. */
static bool is_about_segv(const struct process *process, const struct page_thread *own)
{
	return process->pid == space_pid(process->space) &&
		((own->nr == SYS_rt_sigaction && (int)own->args[0] == SIGSEGV) || own->nr == SYS_execve ||
			own->nr == SYS_execveat);
}

static void segv_back(struct space *space, struct page_thread *own)
{
	if (own->is_aside)
		space_back(space);
	own->is_aside = false;
}

/* Does the call set or tell the mask of signals, or hand it on? */
static bool is_about_mask(uint64_t nr)
{
	switch (nr) {
	case SYS_rt_sigprocmask:
	case SYS_rt_sigreturn:
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
	case SYS_execve:
	case SYS_execveat:
		return true;
	default:
		return false;
	}
}

/* A lock with priority inheritance whose owner has died is written into by the kernel for the one that gets it: behind its
 * sleep, where the page is shut. Then the kernel gives the lock back and says EFAULT (futex_lock_pi()): the call is made again. */
static void call_again(pid_t tid)
{
	struct user_regs_struct regs;

	if (sys_regs_get(tid, &regs))
		return;
	regs.rip -= SYSCALL_LENGTH;
	regs.rax = regs.orig_rax;
	sys_regs_set(tid, &regs);
}

static bool is_map_call(uint64_t nr)
{
	return nr == SYS_mmap || nr == SYS_brk || nr == SYS_mremap || nr == SYS_shmat;
}

/* The thread has registered restartable sequences in a page that will be shut: the kernel would write there. Or it has
 * taken away its registration, which is ours to forget. */
static void rseq_take(const struct space *space, struct thread *thread, struct page_thread *own)
{
	int status = thread_status(thread);

	own->rseq.addr = 0;
	space_rseq_withdraw(space, own->tid, &status, &own->rseq);
	thread_status_set(thread, status);
}

/* A handler is over: the thread stands where the signal came, at a breakpoint that it was counted at, maybe. */
static void due_return(pid_t tid, struct page_thread *own)
{
	struct user_regs_struct regs;

	if (sys_regs_get(tid, &regs) == 0 && regs.rip == own->due_at && regs.rsp == own->due_sp)
		own->is_due_aside = false;
}

static void call_end(struct engine *engine, struct process *process, struct thread *thread, int64_t result)
{
	struct page_thread *own = page_thread(engine, thread);

	own->is_in_call = thread_mark(thread)->is_spared = false;
	if (own->is_due_aside && own->nr == SYS_rt_sigreturn)
		due_return(own->tid, own);
	if (result == -EINTR)
		syscall_restart(own->tid); /* our interrupt; or a signal, and then the kernel sees to it */
	if (result == -EFAULT && own->is_handed_over)
		call_again(own->tid);
	own->is_handed_over = false;
	bounce_end(process->space, own, result);
	if (own->nr == SYS_rseq && own->space && result == 0)
		rseq_take(process->space, thread, own);
	call_shut(engine, own);
	segv_back(process->space, own);
	if (space_is_armed(process->space) && is_about_mask(own->nr))
		page_mask_take(own->tid, own);
	if (!space_is_watched(process->space))
		return;
	/* Where it was near to watched pages that are there, they have been open for it. */
	if (is_map_call(own->nr) && !call_is_error(result))
		space_look(process->space);
	space_retry(process->space);
}

/* Beginnings. */

/* The state of a thread, as /proc tells it; 'X' where there is none. */
static char state_of(pid_t tid)
{
	struct procfs_status status;

	return procfs_status(tid, &status) ? status.state : 'X';
}

void page_call_put_off(struct thread *thread)
{
	struct page_thread *own = thread_mark(thread)->own;
	pid_t tid = thread_tid(thread);
	uint64_t nr, own_nr, args[CALL_ARGUMENTS];
	struct user_regs_struct regs;
	enum stop_kind kind = stop_decode(thread_status(thread)).kind;
	int64_t result;
	int status;

	if (kind == STOP_CLONE || kind == STOP_FORK) {
		if (sys_syscall(tid, 0) == 0 && sys_wait_stop(tid, &status) == 0)
			thread_status_set(thread, status);
		return;
	}
	if (kind != STOP_CALL ||
		sys_call_info(tid, &nr, args, &result) != SYS_CALL_ENTRY || sys_regs_get(tid, &regs))
		return;
	own_nr = regs.orig_rax;
	regs.orig_rax = UINT64_MAX;
	if (sys_regs_set(tid, &regs) || sys_syscall(tid, 0) || sys_wait_stop(tid, &status))
		return;
	regs.rip -= SYSCALL_LENGTH;
	regs.rax = own_nr;
	sys_regs_set(tid, &regs);
	thread_status_set(thread, status);
	if (!own)
		return;
	own->nr = UINT64_MAX; /* what ends is no call */
	own->is_in_call = thread_mark(thread)->is_spared = false;
}

void page_rseq_restore(const struct process *process, struct thread *thread)
{
	struct page_thread *own = thread_mark(thread)->own;
	int status;

	if (!process || !own || !own->rseq.addr)
		return;
	page_call_put_off(thread);
	status = thread_status(thread);
	space_rseq_restore(process->space, own->tid, &status, &own->rseq);
	own->rseq.addr = 0;
	thread_status_set(thread, status);
}

void page_rseq_inherit(struct engine *engine, const struct process *child, struct thread *thread, uint64_t thread_pointer)
{
	const struct page_thread *parent;
	int status = thread_status(thread);

	LIST_FOREACH (parent, &engine->threads, all) {
		if (parent->pid == child->parent && parent->rseq.addr && parent->thread_pointer == thread_pointer)
			break;
	}
	if (!parent)
		return;
	if (child->is_counted) {
		page_thread(engine, thread)->rseq = parent->rseq;
		return;
	}
	space_rseq_restore(child->space, thread_tid(thread), &status, &parent->rseq);
	thread_status_set(thread, status);
}

/* Does it sleep in its call? */
static bool is_asleep(pid_t tid)
{
	return strchr("SDZX", state_of(tid));
}

/* Does it sleep until it is woken? A thread that waits for a page, or for a lock of the kernel, is in state D: it may have its futex
 * still to look at. */
static bool is_waiting(pid_t tid)
{
	return strchr("SZX", state_of(tid));
}

/* May the pages be shut again when the call sleeps, or the thread has ended? A futex is looked at before that; one with
 * priority inheritance is written to after it where its owner has died (call_again()), or where a thread of a higher priority has
 * taken the lock from one that it had been given to (fixup_pi_state_owner() in kernel/futex/pi.c): only real-time threads have one. */
static bool is_shut_asleep(pid_t tid, const struct call_plan *plan)
{
	int policy;

	if (plan->looks_once || plan->class == CALL_EXIT)
		return true;
	policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
	return plan->class == CALL_FUTEX && policy != SCHED_FIFO && policy != SCHED_RR && policy != SCHED_DEADLINE;
}

/* Does it come to its end, or sleep, as soon as it gets a processor? */
static bool is_short(const struct page_thread *own, const struct call_plan *plan)
{
	return plan->class == CALL_FORK || plan->class == CALL_MAP || plan->class == CALL_SIGRETURN || own->nr == SYS_rseq;
}

/* Let a thread make its call with open pages, nobody else running, if it is short; a longer one is left to itself. What
 * needs nothing any more when it sleeps must get there first, however long that takes on a busy machine. */
static void call_lift(struct engine *engine, struct process *process, struct thread *thread, const struct call_plan *plan)
{
	struct page_thread *own = page_thread(engine, thread);
	struct space *space = process->space;
	bool is_once = is_shut_asleep(own->tid, plan);
	uint64_t nr, args[CALL_ARGUMENTS], deadline = clock_now_ns() + (is_once || is_short(own, plan) ? LOOK_NS : ALONE_NS);
	int64_t result = 0;
	bool is_over;

	space_threads_stop(engine, space);
	call_open(own, space);
	is_over = tracee_finish_call(engine->tracees, thread, deadline, is_once ? is_waiting : is_asleep) &&
		sys_call_info(thread_tid(thread), &nr, args, &result) == SYS_CALL_EXIT;
	own->is_handed_over = !is_over && is_once && plan->class == CALL_FUTEX && !plan->looks_once;
	if (is_over)
		call_end(engine, process, thread, result);
	else if (is_once && (is_waiting(own->tid) || (!thread_is_stopped(thread) && clock_now_ns() < deadline)))
		call_shut(engine, own); /* it sleeps, or has slept and is awake again */
	else if (tracees_count(engine->tracees) > 1)
		own->opened_ns = clock_now_ns(); /* others run, and are not seen */
	space_threads_go(engine, space);
}

/* The last thread of a process but our agent: it is not to be kept alive by that. */
static bool is_last(const struct process *process, const struct page_thread *own)
{
	struct agent *agent = space_agent(process->space);

	return agent && space_pid(process->space) == process->pid && own->nr == SYS_exit && agent_is_alone(agent, own->tid);
}

static bool is_map_near(const struct space *space, const struct page_thread *own)
{
	const uint64_t *args = own->args;

	switch (own->nr) {
	case SYS_brk:
		/* What is above the new end goes, however much that is; what comes is below. */
		return args[0] && (space_is_near(space, args[0] - HEAP_BYTES, HEAP_BYTES) || space_is_near(space, args[0], HEAP_MOST));
	case SYS_mremap:
		return space_is_near(space, args[0], args[1]) || space_is_near(space, args[4], args[2]);
	case SYS_shmat:
		return args[1] && space_is_near(space, args[1], HEAP_BYTES);
	case SYS_shmdt:
		return space_is_near(space, args[0], HEAP_BYTES);
	default:
		return space_is_near(space, args[0], args[1]);
	}
}

/* Of a call that changes mappings, wherever these are: does it find its other arguments (mbind's mask, the lists of move_pages)? */
static bool has_shut_argument(const struct space *space, const struct call_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct call_piece *piece = &plan->pieces[i];

		if (!(piece->direction & CALL_MAPPED) && space_is_shut(space, piece->addr, piece->len, kind_of(piece->direction)))
			return true;
	}
	return !plan->is_complete;
}

/* May the call touch shut pages in ways that the pieces of its plan do not tell? */
static bool is_to_be_lifted(const struct space *space, const struct page_thread *own, const struct call_plan *plan,
	const struct user_regs_struct *regs)
{
	switch (plan->class) {
	case CALL_MAP:
		return is_map_near(space, own) || has_shut_argument(space, plan);
	case CALL_SIGRETURN:
		return space_is_shut(space, regs->rsp - 128, FRAME_BYTES, HIT_READ);
	case CALL_EXIT:
		/* The kernel clears the thread's id, and walks its list of robust locks; of all threads where a process ends. (A
		 * child of vfork(2) has neither.) */
		return own->nr == SYS_exit || own->pid == space_pid(space);
	case CALL_REGISTERS_POINTER:
		return own->nr == SYS_rseq && space_is_near(space, own->args[0], own->args[1]);
	case CALL_UNKNOWN:
	case CALL_ASYNC:
		return true;
	default:
		return false;
	}
}

static bool has_shut_piece(const struct space *space, const struct call_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		if (space_is_shut(space, plan->pieces[i].addr, plan->pieces[i].len, kind_of(plan->pieces[i].direction)))
			return true;
	}
	return !plan->is_complete;
}

/* Will the kernel work in memory of the program outside of calls? Who has system calls dispatched to itself gives it a byte that is
 * looked at ahead of each call, and of each stop of ours: shut, it would end the program (kernel/entry/syscall_user_dispatch.c). */
static bool is_kept(const struct space *space, const struct page_thread *own)
{
	return own->nr == SYS_io_uring_setup || own->nr == SYS_io_setup ||
		(own->nr == SYS_prctl && (int)own->args[0] == PR_SET_SYSCALL_USER_DISPATCH &&
			space_is_shut(space, own->args[4], 1, HIT_READ));
}

/* From now on the kernel has to find the pages open, for good. */
static void call_blind(struct engine *engine, struct space *space)
{
	if (space_is_blind(space))
		return;
	space_blind(space);
	engine->counts.blinded++;
	engine->counts.lost++;
}

static void call_begin(struct engine *engine, struct process *process, struct thread *thread)
{
	struct page_thread *own = page_thread(engine, thread);
	struct space *space = process->space;
	struct user_regs_struct regs;
	struct call_plan plan;
	bool is_lifted;

	/* The agent, its handler, and what a mask was are there while nothing is watched for the moment, too. */
	if (is_last(process, own)) {
		space_open_for_good(space);
		space_leave(space);
		return;
	}
	if (is_about_segv(process, own) && !own->is_aside)
		own->is_aside = space_aside(space);
	if (is_about_mask(own->nr))
		page_mask_restore(own->tid, own);
	if (!space_is_watched(space) || sys_regs_get(own->tid, &regs))
		return;
	if (own->nr == SYS_exit)
		page_place_end(engine, process, thread);
	call_plan(own->nr, own->args, &(struct call_memory){space, memory_read, memory_is_self}, &plan);
	if (is_kept(space, own))
		call_blind(engine, space);
	is_lifted = is_to_be_lifted(space, own, &plan, &regs);
	own->is_map = is_lifted && (plan.class == CALL_MAP || plan.class == CALL_UNKNOWN);
	/* What only changes mappings elsewhere needs nothing. */
	if (!is_lifted && plan.class != CALL_MAP && plan.class != CALL_SIGRETURN && has_shut_piece(space, &plan))
		is_lifted = bounce_begin(space, own, &plan, &regs) == BOUNCE_LIFT;
	if (is_lifted)
		call_lift(engine, process, thread, &plan);
}

void page_call_take(struct engine *engine, struct process *process, const struct tracee_event *event)
{
	struct page_thread *own = page_thread(engine, event->thread);
	uint64_t nr, args[CALL_ARGUMENTS];
	int64_t result = 0;

	switch (sys_call_info(event->tid, &nr, args, &result)) {
	case SYS_CALL_ENTRY:
		own->nr = nr;
		memcpy(own->args, args, sizeof(own->args));
		own->is_in_call = thread_mark(event->thread)->is_spared = true;
		call_begin(engine, process, event->thread);
		break;
	case SYS_CALL_EXIT:
		call_end(engine, process, event->thread, result);
		break;
	case SYS_CALL_NONE:
		break;
	}
	tracee_resume(engine->tracees, event->thread, 0);
}

/* May the call that a thread is in touch what will be shut? */
static bool is_call_met(struct space *space, const struct page_thread *own, const struct arming *arming,
	const struct places *places)
{
	struct call_plan plan;

	/* Where its restartable sequences are registered, behind the call the kernel writes. */
	if (places && space_will_shut(arming, places, own->thread_pointer - SPACE_PAGE, 2 * SPACE_PAGE))
		return true;

	call_plan(own->nr, own->args, &(struct call_memory){space, memory_read, memory_is_self}, &plan);
	/* What is mapped is about to be looked at, and must not change until that is shut. */
	if (plan.class == CALL_MAP)
		return true;
	for (size_t i = 0; i < plan.n; i++) {
		if (space_will_shut(arming, places, plan.pieces[i].addr, plan.pieces[i].len))
			return true;
	}
	return !plan.is_complete;
}

void page_calls_spare(struct engine *engine, const struct process *process, const struct arming *arming,
	const struct places *places)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		const struct page_thread *own = thread_mark(thread)->own;

		if (thread_pid(thread) == process->pid)
			thread_mark(thread)->is_spared =
				own && own->is_in_call && !is_call_met(process->space, own, arming, places);
	}
}

void page_call_undo(struct process *process, struct thread *thread)
{
	struct page_thread *own = thread_mark(thread)->own;
	struct user_regs_struct regs;

	if (!process || !own || !own->bounce || sys_regs_get(own->tid, &regs))
		return;
	bounce_end(process->space, own, (int64_t)regs.rax);
}

void page_call_forget(struct engine *engine, struct process *process, struct page_thread *own)
{
	call_shut(engine, own);
	if (own->bounce)
		bounce_drop(process->space, own);
}
