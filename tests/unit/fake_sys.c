/* fake_sys.c owns the world of the scripted kernel: threads, their stops, the order in which
 * they are told, and what a test lets happen. It never answers a request; fake_calls.c does. */
#include "fake_sys.h"

#include "watchprof/util.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define DR6_EMPTY 0xffff0ff0ULL
#define RIP_FIRST 0x401000

struct fake fake;

static const struct fake_thread nobody;

static uint64_t bit(int sig)
{
	return 1ULL << (sig - 1);
}

void fake_violate(const char *what, pid_t tid, uint64_t value)
{
	if (!fake.violation[0])
		snprintf(fake.violation, sizeof(fake.violation), "thread %d: %s (%llx)", tid, what,
			(unsigned long long)value);
}

void fake_check(void)
{
	if (fake.violation[0])
		fail_msg("%s", fake.violation);
}

void fake_step(uint64_t ns)
{
	fake.now_ns += ns;
	if (++fake.steps > FAKE_STEPS_MAX)
		fail_msg("an endless loop: more than %d requests", FAKE_STEPS_MAX);
}

/* Threads. */

void fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.now_ns = 1000 * NS_PER_S;
}

struct fake_thread *fake_find(pid_t tid)
{
	struct fake_thread *dead = NULL;

	for (size_t i = fake.n_threads; i-- > 0;) {
		struct fake_thread *t = &fake.threads[i];

		if (t->tid == tid && t->is_alive)
			return t;
		if (t->tid == tid && !dead)
			dead = t;
	}
	return dead;
}

struct fake_thread *fake_find_living(pid_t tid)
{
	struct fake_thread *t = fake_find(tid);

	return t && t->is_alive ? t : NULL;
}

struct fake_thread *fake_thread(pid_t tid)
{
	struct fake_thread *t = fake_find(tid);

	if (!t)
		fail_msg("the test names a thread %d that never was", tid);
	return t;
}

static struct fake_thread *thread_make(pid_t pid, pid_t tid)
{
	struct fake_thread *t;

	if (fake.n_threads == FAKE_THREADS_MAX)
		fail_msg("too many fake threads");
	t = &fake.threads[fake.n_threads++];
	*t = nobody;
	t->tid = tid;
	t->pid = pid;
	t->is_alive = true;
	t->name = "victim";
	t->dr[6] = DR6_EMPTY;
	t->len[0] = t->len[1] = t->len[2] = t->len[3] = 1;
	t->regs.rip = RIP_FIRST + 0x10 * (unsigned)(tid - pid);
	t->regs.rsp = 0x7ffc0000;
	t->regs.orig_rax = (unsigned long long)-1;
	t->syscall = -1;
	return t;
}

void fake_process(pid_t pid, size_t n)
{
	for (size_t i = 0; i < n; i++)
		thread_make(pid, pid + (pid_t)i);
}

bool fake_is_live(const struct fake_thread *t)
{
	return t->is_alive && !t->is_zombie;
}

size_t fake_count_others(const struct fake_thread *leader, bool with_zombies)
{
	size_t n = 0;

	for (size_t i = 0; i < fake.n_threads; i++) {
		struct fake_thread *t = &fake.threads[i];

		n += t->pid == leader->pid && t != leader &&
		     (with_zombies ? t->is_alive : fake_is_live(t));
	}
	return n;
}

/* Stops. */

void fake_report_put(pid_t tid, int status)
{
	if (fake.n_reports == FAKE_REPORTS_MAX)
		fail_msg("too many stops that nobody waits for");
	fake.reports[fake.n_reports++] = (struct fake_report){tid, status};
	if (fake.is_telling && !fake.told)
		fake.told = tid; /* one that is pending absorbs another */
}

void fake_report_remove(size_t i)
{
	memmove(&fake.reports[i], &fake.reports[i + 1],
		(fake.n_reports - i - 1) * sizeof(fake.reports[0]));
	fake.n_reports--;
}

static void reports_forget(pid_t tid)
{
	for (size_t i = fake.n_reports; i-- > 0;) {
		if (fake.reports[i].tid == tid)
			fake_report_remove(i);
	}
}

/* Enter a ptrace-stop. Any of them satisfies a pending PTRACE_INTERRUPT. */
static void stop_enter(struct fake_thread *t, int sig, int event)
{
	if (t->is_stopped && !t->is_listening)
		fail_msg("the test lets thread %d do something while it stands", t->tid);
	t->is_stopped = true;
	t->is_listening = t->must_stop = false;
	t->in_event = event != 0;
	t->in_group = event == PTRACE_EVENT_STOP && sig != SIGTRAP;
	t->stop_sig = event ? 0 : sig;
	if (event) {
		t->info = (siginfo_t){0};
		t->info.si_signo = sig;
		t->info.si_code = sig | event << 8;
	}
	if (t->syscall >= 0) {
		t->regs.orig_rax = (unsigned long long)t->syscall;
		t->syscall = -1;
	}
	fake_report_put(t->tid, event << 16 | sig << 8 | 0x7f);
}

static void untraced_deliver(struct fake_thread *t)
{
	if (t->trap.si_signo && t->trap.si_code == FAKE_HWBKPT)
		fake_violate("a trap of ours reached it after it was let go", t->tid, t->dr[6]);
	if (t->trap.si_signo)
		t->delivered[SIGTRAP]++;
	t->trap.si_signo = 0;
	for (int sig = 1; sig < 64; sig++)
		t->delivered[sig] += t->pending >> (sig - 1) & 1;
	t->pending = 0;
}

static void signal_stop(struct fake_thread *t)
{
	uint64_t ready = t->pending & ~t->blocked;
	bool is_trap = t->trap.si_signo && !(t->blocked & bit(SIGTRAP));
	int sig;

	if (is_trap) {
		t->info = t->trap;
		t->trap.si_signo = 0;
		stop_enter(t, SIGTRAP, 0);
	} else if (ready) {
		sig = __builtin_ctzll(ready) + 1;
		t->pending &= ~bit(sig);
		t->info = (siginfo_t){0};
		t->info.si_signo = sig;
		stop_enter(t, sig, 0);
	}
}

/* Let a thread do what it does next: the stops that are asked for come before signals, a
 * synchronous signal before others. */
void fake_advance(struct fake_thread *t)
{
	if (!fake_is_live(t) || t->is_deaf || (t->is_stopped && !t->is_listening))
		return;
	if (!t->is_traced) {
		untraced_deliver(t);
	} else if (t->must_stop || t->must_notify) {
		t->must_notify = false;
		stop_enter(t, t->job_sig ? t->job_sig : SIGTRAP, PTRACE_EVENT_STOP);
	} else if (!t->is_listening) {
		signal_stop(t);
	}
}

/* What happens. */

void fake_signal(pid_t tid, int sig, int code)
{
	struct fake_thread *t = fake_thread(tid);

	if (sig != SIGTRAP) {
		t->pending |= bit(sig);
	} else if (!t->trap.si_signo) { /* one that is pending absorbs another */
		t->trap = (siginfo_t){0};
		t->trap.si_signo = SIGTRAP;
		t->trap.si_code = code;
		t->trap.si_addr = (void *)(uintptr_t)t->regs.rip;
	}
	fake_advance(t);
}

bool fake_slot_enabled(uint64_t dr7, unsigned slot)
{
	return dr7 >> (2 * slot) & 3;
}

void fake_hit_late(pid_t tid, uint64_t slots)
{
	struct fake_thread *t = fake_thread(tid);
	bool was_deaf = t->is_deaf;

	for (unsigned s = 0; s < FAKE_SLOTS; s++) {
		if (!fake_slot_enabled(t->live_dr7, s))
			slots &= ~(1ULL << s);
	}
	if (!slots)
		return; /* not watched: a plain access */
	t->dr[6] = (t->dr[6] & ~0xfULL) | slots;
	t->blocked &= ~bit(SIGTRAP); /* as a forced signal does */
	t->is_deaf = true;
	fake_signal(tid, SIGTRAP, FAKE_HWBKPT);
	t->is_deaf = was_deaf;
}

void fake_hit(pid_t tid, uint64_t slots)
{
	fake_hit_late(tid, slots);
	fake_advance(fake_thread(tid));
}

void fake_wake(pid_t tid)
{
	struct fake_thread *t = fake_thread(tid);

	t->is_deaf = false;
	fake_advance(t);
}

void fake_syscall(pid_t tid, long call, int result)
{
	struct fake_thread *t = fake_thread(tid);

	t->syscall = call;
	t->regs.rax = (unsigned long long)(long)result;
}

/* A stop at a system call has no event, and 0x80 beside its signal (PTRACE_O_TRACESYSGOOD). */
void fake_call_stop(pid_t tid)
{
	struct fake_thread *t = fake_thread(tid);

	stop_enter(t, SIGTRAP | 0x80, 0);
	t->in_event = true;
	t->stop_sig = 0;
	t->info = (siginfo_t){0};
	t->info.si_signo = SIGTRAP;
	t->info.si_code = SIGTRAP | 0x80;
}

/* The leader's end is told when it is the last. */
static void leader_settle(pid_t pid)
{
	struct fake_thread *leader = fake_find_living(pid);

	if (!leader || !leader->is_zombie || fake_count_others(leader, false) > 0)
		return;
	if (leader->is_traced)
		fake_report_put(leader->tid, leader->end);
	else
		leader->is_alive = false;
}

static void end(struct fake_thread *t, int status)
{
	if (!fake_is_live(t))
		return;
	reports_forget(t->tid);
	t->is_zombie = true;
	t->is_stopped = t->is_listening = false;
	t->live_dr7 = 0;
	t->end = status;
	if (t->tid != t->pid) {
		if (t->is_traced)
			fake_report_put(t->tid, status);
		else
			t->is_alive = false;
	}
	leader_settle(t->pid);
}

void fake_exit(pid_t tid, int code)
{
	end(fake_thread(tid), code << 8);
}

static void end_others(pid_t pid, const struct fake_thread *but, int status)
{
	for (size_t i = 0; i < fake.n_threads; i++) {
		struct fake_thread *t = &fake.threads[i];

		if (t->pid == pid && t->tid != pid && t != but)
			end(t, status);
	}
}

void fake_kill(pid_t pid)
{
	end_others(pid, NULL, SIGKILL);
	if (fake_find_living(pid))
		end(fake_find_living(pid), SIGKILL);
}

/* All other threads end; the one that does it becomes the leader under the leader's id. */
void fake_exec(pid_t tid)
{
	struct fake_thread *t = fake_thread(tid), *leader = fake_find_living(t->pid);

	end_others(t->pid, t, 0);
	if (leader && leader != t) {
		reports_forget(leader->tid);
		leader->is_alive = false;
	}
	t->message = (unsigned long)t->tid;
	t->tid = t->pid;
	memset(t->dr, 0, sizeof(t->dr));
	t->live_dr7 = t->reserved = 0;
	t->must_stop = false;
	if (t->is_traced)
		stop_enter(t, SIGTRAP, PTRACE_EVENT_EXEC);
}

static struct fake_thread *clone_make(struct fake_thread *parent, pid_t pid, pid_t child)
{
	struct fake_thread *t = thread_make(pid, child);

	t->is_traced = parent->is_traced;
	t->dr[7] = parent->dr[7]; /* a lie: nothing is armed */
	t->uid = parent->uid;
	t->euid = parent->euid;
	t->must_stop = t->is_traced;
	t->is_deaf = t->is_traced;
	parent->message = (unsigned long)child;
	return t;
}

static void clone_order(struct fake_thread *parent, struct fake_thread *t, enum fake_order order)
{
	if (order == FAKE_CHILD_FIRST)
		fake_wake(t->tid);
	if (parent->is_traced)
		stop_enter(parent, SIGTRAP, PTRACE_EVENT_CLONE);
	if (order == FAKE_PARENT_FIRST)
		fake_wake(t->tid);
}

void fake_clone(pid_t tid, pid_t child, enum fake_order order)
{
	struct fake_thread *parent = fake_thread(tid);

	clone_order(parent, clone_make(parent, parent->pid, child), order);
}

void fake_clone_process(pid_t tid, pid_t child, enum fake_order order)
{
	struct fake_thread *parent = fake_thread(tid);

	clone_order(parent, clone_make(parent, child, child), order);
}

void fake_group_stop(pid_t pid, int sig)
{
	for (size_t i = 0; i < fake.n_threads; i++) {
		struct fake_thread *t = &fake.threads[i];

		if (t->pid != pid || !fake_is_live(t))
			continue;
		t->job_sig = sig;
		t->must_stop = t->is_traced;
		fake_advance(t);
	}
}

void fake_group_cont(pid_t pid)
{
	fake_find(pid)->pending |= bit(SIGCONT);
	for (size_t i = 0; i < fake.n_threads; i++) {
		struct fake_thread *t = &fake.threads[i];

		if (t->pid != pid || !fake_is_live(t))
			continue;
		t->must_notify = t->in_group && t->is_stopped;
		t->job_sig = 0;
		fake_advance(t);
	}
}

bool fake_is_running(pid_t tid)
{
	struct fake_thread *t = fake_thread(tid);

	return fake_is_live(t) && !t->is_stopped && (t->is_traced || !t->job_sig);
}

uint64_t fake_armed(pid_t tid)
{
	return fake_thread(tid)->live_dr7 & 0xff;
}
