/* tracee.c owns every thread's tracing state and the order in which stops are served.
 * It never looks at a debug register and never decides what a trap means.
 *
 * Rules that it relies on (manual page of ptrace, tests/vm/contract_life.c): a seized thread's status
 * word tells its stop apart; any stop satisfies a pending PTRACE_INTERRUPT; a leader's end is
 * reported after those of all its threads; exec is reported under the leader's id. */
#include "tracee_private.h"
#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/syscall_restart.h"
#include "watchprof/util.h"

#include <errno.h>
#include <sched.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

/* After this many stops taken one at a time, all that are ready are collected, so that
 * a thread that always is ready first cannot starve the others. */
#define EVENTS_BETWEEN_DRAINS 16

/* A wait for anyone looks at every tracee in turn, once before it sleeps and again when it wakes
 * (do_wait() in the kernel): with thousands that is longer than all the rest of a hit. From this
 * many on, it is SIGCHLD that says which thread has stopped. Signals merge; so those that stopped
 * lately are looked at as well, and when nobody has told anything for a moment, all are. */
#define THREADS_MANY 128
#define TOLD_NS      (NS_PER_S / 1000)

/* A trap in flight comes as soon as its thread is given a processor; on a busy machine that may
 * take long. */
#define AWAIT_NS (10 * NS_PER_S)

void tracees_report_all(struct tracees *tracees)
{
	tracees->reports_all = true;
}

HIT_PATH void tracees_saw_time(struct tracees *tracees, uint64_t now_ns)
{
	tracees->seen_ns = now_ns;
}

HIT_PATH void tracees_stay_awake(struct tracees *tracees, uint64_t ns)
{
	tracees->awake_ns = ns;
}

static int tid_compare(const void *a, const void *b)
{
	const struct thread *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

struct tracees *tracees_new(bool with_children)
{
	struct tracees *tracees = mem_new(1, sizeof(*tracees));

	tracees->with_children = with_children;
	LIST_INIT(&tracees->all);
	STAILQ_INIT(&tracees->ready);
	sys_tell(false);
	return tracees;
}

static struct thread *thread_search(const struct tracees *tracees, pid_t tid)
{
	const struct thread key = {.tid = tid};
	struct thread **found = tfind(&key, &tracees->by_tid, tid_compare);

	return found ? *found : NULL;
}

HIT_PATH struct thread *thread_find(const struct tracees *tracees, pid_t tid)
{
	return tracees->recent && tracees->recent->tid == tid ? tracees->recent : thread_search(tracees, tid);
}

struct thread *thread_add(struct tracees *tracees, pid_t pid, pid_t tid)
{
	struct thread *thread = mem_new(1, sizeof(*thread));

	thread->pid = pid;
	thread->tid = tid;
	if (!tsearch(thread, &tracees->by_tid, tid_compare))
		die("out of memory");
	LIST_INSERT_HEAD(&tracees->all, thread, all);
	tracees->n_threads++;
	return thread;
}

/* Take a thread out of the tables; its memory stays while the ready queue has it. */
static void thread_remove(struct tracees *tracees, struct thread *thread)
{
	LIST_REMOVE(thread, all);
	tracees->n_threads--;
	if (tracees->recent == thread)
		tracees->recent = NULL;
	thread->gone = true;
	if (tracees->is_emergency)
		return;
	tdelete(thread, &tracees->by_tid, tid_compare);
	if (thread->state != THREAD_READY)
		free(thread);
}

void tracees_free(struct tracees *tracees)
{
	struct thread *thread;

	if (!tracees)
		return;
	if (tracees->is_told)
		sys_tell(false);
	while ((thread = LIST_FIRST(&tracees->all)))
		thread_remove(tracees, thread);
	while ((thread = STAILQ_FIRST(&tracees->ready))) {
		STAILQ_REMOVE_HEAD(&tracees->ready, ready);
		free(thread);
	}
	free(tracees);
}

HIT_PATH void ready_put(struct tracees *tracees, struct thread *thread, int status)
{
	thread->status = status;
	thread->stop = stop_decode(status);
	thread->state = THREAD_READY;
	thread->group_stop = thread->stop.kind == STOP_GROUP;
	STAILQ_INSERT_TAIL(&tracees->ready, thread, ready);
}

static bool is_known_process(const struct tracees *tracees, pid_t pid)
{
	struct thread *known;

	LIST_FOREACH(known, &tracees->all, all)
	{
		if (known->pid == pid)
			return true;
	}
	return false;
}

/* A thread that nobody announced: a new thread of a traced process (its first stop may come before
 * its creator's event), or of a new process. One that is not to be followed (made by a clone()
 * without CLONE_THREAD) is unarmed, so that it can leave at once. */
static struct thread *stranger_admit(struct tracees *tracees, pid_t tid, struct stop stop)
{
	struct procfs_status status;
	struct thread *thread;

	if (stop.kind == STOP_EXITED || stop.kind == STOP_KILLED)
		return NULL;
	if (!tracees->is_emergency && procfs_status(tid, &status) &&
		(tracees->with_children || is_known_process(tracees, status.tgid))) {
		thread = thread_add(tracees, status.tgid, tid);
		thread->fresh = thread->born = true;
		return thread;
	}
	sys_detach(tid, stop.kind == STOP_SIGNAL ? stop.value : 0);
	return NULL;
}

/* A clone (fork, vfork) event names the new thread: it is expected from now on, so that nobody can
 * leave before it. Not if it has ended and been waited for already. */
static void newborn_expect(struct tracees *tracees, const struct thread *parent)
{
	struct procfs_status status;
	struct thread *thread;
	unsigned long tid;

	if (sys_eventmsg_get(parent->tid, &tid))
		return;
	thread = thread_find(tracees, (pid_t)tid);
	if (thread)
		thread->mark.origin = parent->pid;
	if (thread || !procfs_status((pid_t)tid, &status) || status.tracer != getpid())
		return;
	thread = thread_add(tracees, status.tgid, (pid_t)tid);
	thread->mark.origin = parent->pid;
	thread->fresh = thread->born = true;
	thread->stray = status.tgid != parent->pid && !tracees->with_children;
}

/* Exec by any thread makes it the leader and ends all others without a word (manual page of
 * ptrace). One that the engine holds is kept until the queue comes to it. */
static void exec_settle(struct tracees *tracees, struct thread *leader)
{
	struct thread *thread, *next;

	for (thread = LIST_FIRST(&tracees->all); thread; thread = next) {
		next = LIST_NEXT(thread, all);
		if (thread->pid != leader->pid || thread == leader)
			continue;
		if (thread->state == THREAD_READY)
			STAILQ_REMOVE(&tracees->ready, thread, thread, ready);
		if (thread->state == THREAD_HELD) {
			thread->state = THREAD_READY;
			STAILQ_INSERT_TAIL(&tracees->ready, thread, ready);
		} else {
			thread->state = THREAD_RUNNING;
		}
		thread_remove(tracees, thread);
	}
	leader->mark = (struct thread_mark){0};
	leader->fresh = leader->visit = false;
}

HIT_PATH void status_take(struct tracees *tracees, pid_t tid, int status)
{
	struct stop stop = stop_decode(status);
	struct thread *thread = thread_find(tracees, tid);

	if (!thread && tid == tracees->ward &&
		(stop.kind == STOP_EXITED || stop.kind == STOP_KILLED))
		*tracees->ward_status = status;
	if (thread && thread->state == THREAD_READY) {
		/* Killed while its stop waited: the end replaces the stop. */
		STAILQ_REMOVE(&tracees->ready, thread, thread, ready);
		thread->state = THREAD_RUNNING;
	}
	if (!thread)
		thread = stranger_admit(tracees, tid, stop);
	if (!thread || thread->gone)
		return;
	tracees->recent = thread;
	if (thread->stray) {
		sys_detach(tid, 0);
		thread_remove(tracees, thread);
		return;
	}
	if (stop.kind == STOP_EXEC)
		exec_settle(tracees, thread);
	if ((stop.kind == STOP_CLONE || stop.kind == STOP_FORK || stop.kind == STOP_VFORK) &&
		!tracees->is_emergency)
		newborn_expect(tracees, thread);
	ready_put(tracees, thread, status);
	if (stop.kind == STOP_EXITED || stop.kind == STOP_KILLED)
		thread_remove(tracees, thread); /* the id may be used again at once */
}

static void drain(struct tracees *tracees)
{
	int status;
	pid_t tid;

	while ((tid = sys_wait(&status, false)) > 0)
		status_take(tracees, tid, status);
	tracees->since_drain = 0;
}

static void lately_note(struct tracees *tracees, pid_t tid)
{
	for (size_t i = 0; i < LATELY_MAX; i++) {
		if (tracees->lately[i] == tid)
			return;
	}
	memmove(&tracees->lately[1], &tracees->lately[0],
		sizeof(tracees->lately) - sizeof(tracees->lately[0]));
	tracees->lately[0] = tid;
}

/* Take the stop of the thread that told of one, and of those that may have stopped with it, untold.
 */
static bool told_take(struct tracees *tracees, pid_t told)
{
	pid_t tids[1 + LATELY_MAX] = {told};
	bool found = false;
	int status;

	for (size_t i = 0; i < LATELY_MAX; i++)
		tids[1 + i] = tracees->lately[i] == told ? 0 : tracees->lately[i];
	for (size_t i = 0; i < ARRAY_LEN(tids); i++) {
		if (tids[i] == 0 || sys_wait_one(tids[i], &status) <= 0)
			continue;
		status_take(tracees, tids[i], status);
		found = true;
	}
	if (found)
		lately_note(tracees, told);
	return found;
}

/* Wait for stops where there are many threads. 1: some were taken; 0: nobody tells, all
 * must be looked at; or -EINTR. */
static int told_wait(struct tracees *tracees)
{
	bool is_many = tracees->n_threads >= THREADS_MANY;
	pid_t tid;

	if (is_many != tracees->is_told)
		sys_tell(is_many);
	tracees->is_told = is_many;
	if (!is_many)
		return 0;
	do {
		tid = sys_wait_told(TOLD_NS);
	} while (tid > 0 && !told_take(tracees, tid));
	return tid > 0 ? 1 : tid;
}

/* The next status, which is waited for awake first, where that was asked for. */
HIT_PATH static pid_t wait_next(const struct tracees *tracees, int *status)
{
	uint64_t end = tracees->awake_ns ? clock_now_ns() + tracees->awake_ns : 0;
	pid_t tid = 0;

	while (tid == 0 && end && clock_now_ns() < end)
		tid = sys_wait(status, false);
	return tid ? tid : sys_wait(status, true);
}

/* Is the deadline over? The caller may have read the clock just now. */
static bool is_over(struct tracees *tracees, uint64_t deadline_ns)
{
	uint64_t now_ns = tracees->seen_ns ? tracees->seen_ns : clock_now_ns();

	tracees->seen_ns = 0;
	return now_ns >= deadline_ns;
}

/* Wait for stops until one is in the ready queue. False: the deadline came first, or there
 * is nobody left to wait for. */
HIT_PATH static bool ready_wait(struct tracees *tracees, uint64_t deadline_ns)
{
	int status, told;
	pid_t tid;

	if (tracees->n_threads > 1 && ++tracees->since_drain >= EVENTS_BETWEEN_DRAINS)
		drain(tracees);
	while (STAILQ_EMPTY(&tracees->ready)) {
		if (is_over(tracees, deadline_ns))
			return false;
		told = told_wait(tracees);
		if (told)
			continue; /* also after a signal: is it time? */
		tid = wait_next(tracees, &status);
		if (tid > 0)
			status_take(tracees, tid, status);
		else if (tid != -EINTR)
			return false;
	}
	return true;
}

HIT_PATH static struct thread *ready_take(struct tracees *tracees)
{
	struct thread *thread = STAILQ_FIRST(&tracees->ready);

	STAILQ_REMOVE_HEAD(&tracees->ready, ready);
	thread->state = THREAD_HELD;
	return thread;
}

/* Has the process ended with this thread? The leader's status is the process's. */
static bool is_process_end(const struct thread *thread)
{
	return thread->gone && thread->tid == thread->pid;
}

/* The event that a stop is for the engine; false: there is none, and the thread runs again. */
HIT_PATH static bool event_make(struct tracees *tracees, struct thread *thread, struct tracee_event *out)
{
	int sig = thread->stop.kind == STOP_SIGNAL ? thread->stop.value : 0;

	*out = (struct tracee_event){.thread = thread,
		.pid = thread->pid,
		.tid = thread->tid,
		.sig = sig,
		.born = thread->born};
	if (thread->stop.kind == STOP_EXEC) {
		out->kind = TRACEE_EXEC;
		return true;
	}
	if (sig == SIGTRAP) {
		out->kind = TRACEE_TRAP;
		thread->visit = false; /* this stop answered the interrupt, too */
		return true;
	}
	if (tracees->reports_all && (sig || thread->stop.kind == STOP_CALL)) {
		out->kind = sig ? TRACEE_SIGNAL : TRACEE_CALL;
		thread->visit = false;
		return true;
	}
	if (tracees->reports_all && thread->stop.kind == STOP_GROUP && !thread->fresh && !thread->visit) {
		out->kind = TRACEE_HALT;
		return true;
	}
	if (sig || thread->stop.kind == STOP_TRAPPED)
		syscall_restart(thread->tid);
	if (thread->fresh || thread->visit) {
		out->kind = TRACEE_VISIT;
		out->born = thread->fresh && thread->born;
		thread->fresh = thread->visit = false;
		return true;
	}
	tracee_resume(tracees, thread, sig);
	return false;
}

HIT_PATH void tracees_next(struct tracees *tracees, uint64_t deadline_ns, struct tracee_event *out)
{
	while (tracees->n_threads > 0 || !STAILQ_EMPTY(&tracees->ready)) {
		struct thread *thread;
		bool is_end;

		if (!ready_wait(tracees, deadline_ns)) {
			*out = (struct tracee_event){.kind = clock_now_ns() < deadline_ns
								     ? TRACEE_NONE
								     : TRACEE_DEADLINE};
			return;
		}
		thread = ready_take(tracees);
		if (thread->gone) {
			is_end = is_process_end(thread);
			*out = (struct tracee_event){.kind = TRACEE_EXITED,
				.pid = thread->pid,
				.tid = thread->tid,
				.status = thread->status};
			free(thread);
			if (is_end)
				return;
			continue;
		}
		if (event_make(tracees, thread, out))
			return;
	}
	*out = (struct tracee_event){.kind = TRACEE_NONE};
}

HIT_PATH void tracee_resume(struct tracees *tracees, struct thread *thread, int sig)
{
	if (thread->state != THREAD_HELD && thread->state != THREAD_PARKED)
		return; /* it has ended, or stopped anew by an exec, while it was held */
	thread->state = THREAD_RUNNING;
	if (thread->group_stop)
		sys_listen(thread->tid);
	else if (tracees->reports_all)
		sys_syscall(thread->tid, sig);
	else
		sys_cont(thread->tid, sig);
}

/* Take the stop that a held thread was resumed for. */
static void hold(struct thread *thread, int status)
{
	thread->status = status;
	thread->stop = stop_decode(status);
	thread->state = THREAD_HELD;
	thread->group_stop = false;
}

bool tracee_step(struct tracees *tracees, struct thread *thread, int sig)
{
	int status;

	if (thread->state != THREAD_HELD)
		return false;
	thread->state = THREAD_RUNNING;
	if (sys_step(thread->tid, sig) || sys_wait_stop(thread->tid, &status))
		return false;
	if (stop_decode(status).kind == STOP_SIGNAL && stop_decode(status).value == SIGTRAP) {
		hold(thread, status);
		return true;
	}
	status_take(tracees, thread->tid, status);
	return false;
}

/* Is it the stop of a fork or clone in the middle of the call? Then the new thread is expected, and it goes on. */
static bool birth_take(struct tracees *tracees, const struct thread *thread, int status)
{
	enum stop_kind kind = stop_decode(status).kind;

	if (kind != STOP_FORK && kind != STOP_CLONE)
		return false;
	newborn_expect(tracees, thread);
	return sys_syscall(thread->tid, 0) == 0;
}

bool tracee_finish_call(struct tracees *tracees, struct thread *thread, uint64_t deadline_ns,
	bool (*is_asleep)(pid_t tid))
{
	pid_t tid = thread->tid, found = 0;
	bool is_late = false;
	int status;

	tracee_resume(tracees, thread, 0);
	if (thread->state != THREAD_RUNNING)
		return false;
	while (!is_late) {
		found = sys_wait_one(tid, &status);
		if (found > 0 && birth_take(tracees, thread, status))
			continue;
		if (found)
			break;
		/* A last look, as it may have stopped just now. */
		is_late = is_asleep(tid) || clock_now_ns() >= deadline_ns;
		if (is_late)
			found = sys_wait_one(tid, &status);
		else
			sched_yield();
	}
	if (found <= 0)
		return false;
	if (stop_decode(status).kind == STOP_CALL) {
		hold(thread, status);
		return true;
	}
	status_take(tracees, tid, status);
	return false;
}

void tracees_recover(struct tracees *tracees)
{
	struct thread *thread;
	siginfo_t info;

	tracees->is_emergency = true;
	LIST_FOREACH(thread, &tracees->all, all)
	{
		if (thread->state != THREAD_RUNNING || sys_siginfo_get(thread->tid, &info))
			continue; /* a job-control stop (EINVAL) answers an interrupt anew */
		thread->state = THREAD_HELD;
		/* The code of an event stop is SIGTRAP and the event above it, that at a system call SIGTRAP | 0x80
		 * (manual page of ptrace). */
		if (info.si_code == (SIGTRAP | 0x80))
			thread->stop = (struct stop){STOP_CALL, 0};
		else if (info.si_code > 0 && (info.si_code & 0xff) == SIGTRAP && info.si_code >> 8)
			thread->stop = (struct stop){STOP_TRAPPED, 0};
		else
			thread->stop = (struct stop){STOP_SIGNAL, info.si_signo};
	}
}

/* While stopping all: a thread that answers with nothing of its own to say is parked. */
static void park(struct tracees *tracees)
{
	struct thread *thread, *next;

	for (thread = STAILQ_FIRST(&tracees->ready); thread; thread = next) {
		next = STAILQ_NEXT(thread, ready);
		if (thread->gone || thread->fresh || !thread->visit ||
			(thread->stop.kind != STOP_TRAPPED && thread->stop.kind != STOP_GROUP))
			continue;
		STAILQ_REMOVE(&tracees->ready, thread, thread, ready);
		if (thread->stop.kind == STOP_TRAPPED && !tracees->is_emergency)
			syscall_restart(thread->tid);
		thread->visit = false;
		thread->state = THREAD_PARKED;
	}
}

/* A leader that has exited before its threads: no stop and no status comes from it while
 * they live. */
static bool is_dead_leader(const struct thread *thread)
{
	struct procfs_status status;

	return thread->tid == thread->pid &&
	       (!procfs_status(thread->tid, &status) || status.state == 'Z');
}

/* Ask all running threads of pid (0: of all) to stop; how many were asked or still run. */
static size_t interrupt_running(struct tracees *tracees, pid_t pid)
{
	struct thread *thread;
	size_t n = 0;

	LIST_FOREACH(thread, &tracees->all, all)
	{
		if (thread->state != THREAD_RUNNING || (pid && thread->pid != pid) || thread->mark.is_spared)
			continue;
		if (!thread->visit && sys_interrupt(thread->tid) == 0)
			thread->visit = true;
		if (tracees->is_emergency || !is_dead_leader(thread))
			n++; /* also one that vanished (ESRCH): it owes its exit status */
	}
	return n;
}

/* Does a running thread of pid (0: of any) not sleep uninterruptibly? */
static bool is_any_due(const struct tracees *tracees, pid_t pid)
{
	struct procfs_status status;
	struct thread *thread;

	LIST_FOREACH(thread, &tracees->all, all)
	{
		if (thread->state == THREAD_RUNNING && (!pid || thread->pid == pid) && !thread->mark.is_spared &&
			procfs_status(thread->tid, &status) && !strchr("DZX", status.state))
			return true;
	}
	return false;
}

bool tracees_stop(struct tracees *tracees, pid_t pid, uint64_t timeout_ns)
{
	uint64_t deadline = clock_now_ns() + timeout_ns;
	bool is_late = false;
	int status;
	pid_t tid;

	while (interrupt_running(tracees, pid) > 0) {
		if (is_late)
			return false;
		/* It may be we who were not let run: a last look. */
		is_late = clock_now_ns() >= deadline;
		tid = sys_wait(&status, !is_late);
		if (tid == -EINTR && !tracees->is_emergency && !is_any_due(tracees, pid))
			return false; /* the others must not stand for one that sleeps */
		if (tid == -EINTR || tid == 0)
			continue;
		if (tid < 0)
			return true; /* nobody is left */
		status_take(tracees, tid, status);
		drain(tracees);
		park(tracees);
	}
	return true;
}

bool tracees_are_due(const struct tracees *tracees)
{
	return !tracees->is_emergency && is_any_due(tracees, 0);
}

void tracees_go(struct tracees *tracees, pid_t pid)
{
	struct thread *thread;

	LIST_FOREACH(thread, &tracees->all, all)
	{
		if (thread->state == THREAD_PARKED && (!pid || thread->pid == pid))
			tracee_resume(tracees, thread, 0);
		else if (thread->state != THREAD_RUNNING && (!pid || thread->pid == pid))
			thread->visit = false; /* its own stop answered the interrupt */
	}
}

void tracee_await(struct tracees *tracees, struct thread *thread)
{
	uint64_t deadline = clock_now_ns() + AWAIT_NS;
	bool is_late = false;
	int status;
	pid_t tid;

	if (thread->gone)
		return;
	if (thread->state == THREAD_READY)
		STAILQ_REMOVE(&tracees->ready, thread, thread, ready);
	/* PTRACE_CONT even from a job-control stop: the trap comes before any instruction, and
	 * detaching puts the thread back into the stop that its group is in. */
	thread->state = THREAD_RUNNING;
	sys_cont(thread->tid, 0);
	while (thread->state == THREAD_RUNNING && !is_late) {
		is_late = clock_now_ns() >= deadline;
		tid = sys_wait(&status, !is_late);
		if (tid > 0)
			status_take(tracees, tid, status);
		else if (tid != -EINTR)
			return;
	}
}

void tracee_leave(struct tracees *tracees, struct thread *thread, bool ours)
{
	int sig = thread->stop.kind == STOP_SIGNAL && !ours ? thread->stop.value : 0;

	if (thread->state == THREAD_PARKED)
		sig = 0;
	sys_detach(thread->tid, sig);
	if (thread->state == THREAD_READY) {
		STAILQ_REMOVE(&tracees->ready, thread, thread, ready);
		thread->state = THREAD_HELD;
	}
	if (!thread->gone)
		thread_remove(tracees, thread);
	else if (!tracees->is_emergency)
		free(thread);
}

struct thread *tracees_first(const struct tracees *tracees, const struct thread *former)
{
	return former ? LIST_NEXT(former, all) : LIST_FIRST(&tracees->all);
}

HIT_PATH pid_t thread_tid(const struct thread *thread)
{
	return thread->tid;
}

pid_t thread_pid(const struct thread *thread)
{
	return thread->pid;
}

bool thread_is_fresh(const struct thread *thread)
{
	return thread->fresh;
}

bool thread_is_born(const struct thread *thread)
{
	return thread->born;
}

bool thread_is_stopped(const struct thread *thread)
{
	return thread->state != THREAD_RUNNING;
}

int thread_stop_signal(const struct thread *thread)
{
	bool at_signal = (thread->state == THREAD_READY || thread->state == THREAD_HELD) &&
			 thread->stop.kind == STOP_SIGNAL;

	return at_signal ? thread->stop.value : 0;
}

int thread_status(const struct thread *thread)
{
	return thread->status;
}

void thread_status_set(struct thread *thread, int status)
{
	thread->status = status;
	thread->stop = stop_decode(status);
	thread->group_stop = thread->stop.kind == STOP_GROUP;
}

HIT_PATH struct thread_mark *thread_mark(struct thread *thread)
{
	return &thread->mark;
}

HIT_PATH size_t tracees_count(const struct tracees *tracees)
{
	return tracees->n_threads;
}
