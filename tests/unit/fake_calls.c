/* fake_calls.c owns the requests: it answers what sys.c and procfs.c answer, from the world of
 * fake_sys.c, refuses what the kernel refuses, and keeps the log. It replaces both at link
 * time, and clock_gettime(2) and geteuid(2) with them; it never touches a real process. */
#include "fake_sys.h"

#include "watchprof/maps_watch.h"
#include "watchprof/procfs.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define TRACE_MAX  8192
#define LAUNCH_PID 300
#define USER_END   (1ULL << 47)

static char trace_text[TRACE_MAX];

/* The two calls of libc that would make a test depend on where it runs. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	out->tv_sec = (time_t)(fake.now_ns / NS_PER_S);
	out->tv_nsec = (long)(fake.now_ns % NS_PER_S);
	return 0;
}

uid_t geteuid(void)
{
	return fake.euid;
}

void fake_fail(enum fake_request what, unsigned k, int error)
{
	fake.fail_what = what;
	fake.fail_at = k;
	fake.fail_with = error;
	fake.fail_do = NULL;
	fake.has_failed = false;
}

void fake_at(enum fake_request what, unsigned k, void (*happen)(pid_t tid))
{
	fake_fail(what, k, 0);
	fake.fail_do = happen;
}

static int log_result(int result)
{
	fake.requests[fake.n_requests - 1].result = result;
	return result;
}

/* Log a request; the planned failure, or 0. */
static int begin(enum fake_request what, pid_t tid, uint64_t a, uint64_t b)
{
	void (*happen)(pid_t) = fake.fail_do;

	fake_step(1000);
	if (fake.n_requests == FAKE_LOG_MAX)
		fake.n_requests = 0;
	fake.requests[fake.n_requests++] = (struct fake_entry){what, tid, a, b, 0};
	if (!fake.fail_at || (fake.fail_what != FAKE_ANY && fake.fail_what != what) ||
		--fake.fail_at)
		return 0;
	fake.has_failed = true;
	if (happen) {
		fake.fail_do = NULL;
		happen(tid);
	}
	return log_result(-fake.fail_with);
}

/* The same for a request that needs a stopped thread, which becomes *out. */
static int begin_stopped(
	enum fake_request what, pid_t tid, uint64_t a, uint64_t b, struct fake_thread **out)
{
	int result = begin(what, tid, a, b);
	struct fake_thread *t = fake_find_living(tid);

	if (result)
		return result;
	if (!t || !t->is_traced || t->is_zombie || !t->is_stopped || t->is_listening)
		return log_result(-ESRCH);
	*out = t;
	return 0;
}

int sys_seize(pid_t tid, bool with_children)
{
	(void)with_children;
	int result = begin(FAKE_SEIZE, tid, 0, 0);
	struct fake_thread *t;

	if (result)
		return result;
	if (!fake_find(tid) && fake.adopts)
		fake_process(tid, 1);
	t = fake_find_living(tid);
	if (!t)
		return log_result(-ESRCH);
	if (t->is_zombie || t->is_traced || t->tracer)
		return log_result(-EPERM);
	t->is_traced = true;
	t->must_stop = t->job_sig != 0;
	fake_advance(t);
	return 0;
}

int sys_interrupt(pid_t tid)
{
	int result = begin(FAKE_INTERRUPT, tid, 0, 0);
	struct fake_thread *t = fake_find_living(tid);

	if (result)
		return result;
	if (!t || !t->is_traced)
		return log_result(-ESRCH);
	t->must_stop = true;
	fake_advance(t);
	return 0;
}

/* A signal goes with a thread that leaves its stop. */
static void deliver(struct fake_thread *t, int sig)
{
	if (!sig)
		return;
	if (t->in_event)
		fake_violate("a signal is given where none is awaited", t->tid, (unsigned)sig);
	if (sig == SIGTRAP && t->info.si_code == FAKE_HWBKPT)
		fake_violate("a trap of ours is passed on to it", t->tid, t->dr[6]);
	t->delivered[sig]++;
	if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU) {
		t->is_stopped = false;
		fake_group_stop(t->pid, sig);
	}
}

int sys_cont(pid_t tid, int sig)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_CONT, tid, (uint64_t)sig, 0, &t);

	if (result)
		return result;
	if (t->in_group && t->job_sig && !t->trap.si_signo)
		fake_violate("it runs on out of a job-control stop", tid, 0);
	t->is_stopped = t->in_group = false;
	deliver(t, sig);
	fake_advance(t);
	return 0;
}

/* Nobody here makes a system call by itself: the thread runs to its next stop of another kind. */
int sys_syscall(pid_t tid, int sig)
{
	return sys_cont(tid, sig);
}

int sys_listen(pid_t tid)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_LISTEN, tid, 0, 0, &t);

	if (result)
		return result;
	if (t->info.si_code >> 8 != PTRACE_EVENT_STOP)
		return log_result(-EIO);
	t->is_listening = true;
	fake_advance(t);
	return 0;
}

int sys_detach(pid_t tid, int sig)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_DETACH, tid, (uint64_t)sig, 0, &t);

	if (result)
		return result;
	if (t->live_dr7 & 0xff)
		fake_violate("it is let go armed", tid, t->live_dr7);
	t->is_traced = t->is_stopped = t->must_stop = t->must_notify = false;
	deliver(t, sig);
	fake_advance(t);
	return 0;
}

int sys_debugreg_get(pid_t tid, unsigned n, uint64_t *value)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_DR_GET, tid, n, 0, &t);

	if (result == 0)
		*value = t->dr[n];
	return result;
}

static bool slot_reserve(unsigned n, unsigned *reserved)
{
	if (*reserved & 1U << n)
		return true;
	if ((unsigned)__builtin_popcount(*reserved) + fake.foreign_slots >= FAKE_SLOTS)
		return false;
	*reserved |= 1U << n;
	return true;
}

static int dr_addr_set(struct fake_thread *t, unsigned n, uint64_t addr)
{
	bool is_checked = fake.is_old_kernel || fake_slot_enabled(t->live_dr7, n);

	if (addr >= USER_END || (is_checked && addr % t->len[n]))
		return -EINVAL;
	if (!slot_reserve(n, &t->reserved))
		return -ENOSPC;
	t->dr[n] = addr;
	return 0;
}

/* All slots or none. */
static int dr7_set(struct fake_thread *t, uint64_t dr7)
{
	static const unsigned lengths[] = {1, 2, 8, 4};
	unsigned reserved = t->reserved, len[FAKE_SLOTS];

	memcpy(len, t->len, sizeof(len));
	for (unsigned s = 0; s < FAKE_SLOTS; s++) {
		unsigned type = dr7 >> (16 + 4 * s) & 3;

		if (!fake_slot_enabled(dr7, s))
			continue;
		len[s] = lengths[dr7 >> (18 + 4 * s) & 3];
		if (type == 2 || (type == 0 && len[s] != 1) || t->dr[s] % len[s])
			return -EINVAL;
		if (!slot_reserve(s, &reserved))
			return -ENOSPC;
	}
	memcpy(t->len, len, sizeof(len));
	t->reserved = reserved;
	t->dr[7] = t->live_dr7 = dr7;
	return 0;
}

int sys_debugreg_set(pid_t tid, unsigned n, uint64_t value)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_DR_SET, tid, n, value, &t);

	if (result)
		return result;
	if (n == 4 || n == 5)
		return log_result(-EIO);
	if (n == 7)
		return log_result(dr7_set(t, value));
	if (n < FAKE_SLOTS)
		return log_result(dr_addr_set(t, n, value));
	t->dr[n] = value;
	return 0;
}

int sys_regs_get(pid_t tid, struct user_regs_struct *regs)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_REGS_GET, tid, 0, 0, &t);

	if (result == 0)
		*regs = t->regs;
	return result;
}

int sys_sp_get(pid_t tid, uint64_t *sp)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_REGS_GET, tid, 2, 0, &t);

	if (result == 0)
		*sp = t->regs.rsp;
	return result;
}

ssize_t sys_xstate_get(pid_t tid, void *out, size_t len)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_REGS_GET, tid, 1, 0, &t);

	(void)out, (void)len;
	return result ? result : -ENODEV;
}

int sys_regs_set(pid_t tid, const struct user_regs_struct *regs)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_REGS_SET, tid, 0, 0, &t);

	if (result == 0)
		t->regs = *regs;
	return result;
}

int sys_ip_set(pid_t tid, uint64_t ip)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_REGS_SET, tid, 1, ip, &t);

	if (result == 0)
		t->regs.rip = ip;
	return result;
}

int sys_siginfo_get(pid_t tid, siginfo_t *info)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_SIGINFO, tid, 0, 0, &t);

	if (result == 0)
		*info = t->info;
	return result;
}

int sys_siginfo_set(pid_t tid, const siginfo_t *info)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_SIGINFO, tid, 1, 0, &t);

	if (result == 0)
		t->info = *info;
	return result;
}

int sys_eventmsg_get(pid_t tid, unsigned long *message)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_EVENTMSG, tid, 0, 0, &t);

	if (result == 0)
		*message = t->message;
	return result;
}

int sys_sigmask_get(pid_t tid, uint64_t *mask)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_SIGMASK, tid, 0, 0, &t);

	if (result == 0)
		*mask = t->blocked;
	return result;
}

int sys_sigmask_set(pid_t tid, uint64_t mask)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_SIGMASK, tid, 1, mask, &t);

	if (result == 0)
		t->blocked = mask;
	return result;
}

int sys_rseq_get(pid_t tid, struct sys_rseq *out)
{
	struct fake_thread *t;
	int result = begin_stopped(FAKE_RSEQ, tid, 0, 0, &t);

	if (result == 0)
		*out = (struct sys_rseq){.addr = t->rseq};
	return result;
}

int procfs_processor(pid_t tid)
{
	return fake_thread(tid)->processor;
}

/* The report that a wait gives next; fake.n_reports: none. */
static size_t report_pick(void)
{
	size_t best = fake.n_reports;

	for (size_t i = 0; i < fake.n_reports; i++) {
		struct fake_thread *t = fake_find(fake.reports[i].tid);

		if (t->is_zombie && t->tid == t->pid && fake_count_others(t, true) > 0)
			continue;
		if (best == fake.n_reports ||
			(fake.by_list && t < fake_find(fake.reports[best].tid)))
			best = i;
	}
	return best;
}

static bool is_anyone_traced(void)
{
	for (size_t i = 0; i < fake.n_threads; i++) {
		if (fake.threads[i].is_alive && fake.threads[i].is_traced)
			return true;
	}
	return false;
}

static pid_t report_give(size_t i, int *status)
{
	pid_t tid = fake.reports[i].tid;

	*status = fake.reports[i].status;
	fake_report_remove(i);
	if (fake_find(tid)->is_zombie)
		fake_find(tid)->is_alive = false;
	return tid;
}

pid_t sys_wait(int *status, bool block)
{
	size_t i;

	fake_step(1000);
	fake.n_walks++;
	if (!is_anyone_traced())
		return -ECHILD;
	i = report_pick();
	if (i == fake.n_reports && block && fake.idle) {
		fake.idle();
		i = report_pick();
	}
	if (i == fake.n_reports && block) {
		fake.now_ns += FAKE_TICK_NS;
		return -EINTR;
	}
	return i == fake.n_reports ? 0 : report_give(i, status);
}

pid_t sys_wait_one(pid_t tid, int *status)
{
	const struct fake_thread *t = fake_find_living(tid);

	fake_step(1000);
	if (!t || !t->is_traced)
		return -ECHILD;
	if (t->is_zombie && tid == t->pid && fake_count_others(t, true) > 0)
		return 0;
	for (size_t i = 0; i < fake.n_reports; i++) {
		if (fake.reports[i].tid == tid)
			return report_give(i, status);
	}
	return 0;
}

int sys_wait_stop(pid_t tid, int *status)
{
	const struct fake_thread *t = fake_find_living(tid);

	fake_step(1000);
	if (!t || !t->is_traced || t->is_zombie)
		return -ESRCH;
	for (size_t i = 0; i < fake.n_reports; i++) {
		if (fake.reports[i].tid == tid) {
			report_give(i, status);
			return 0;
		}
	}
	fake_violate("a wait for a stop that nobody has asked for", tid, 0);
	return -ESRCH;
}

void sys_tell(bool on)
{
	fake.is_telling = on;
	fake.told = 0;
}

pid_t sys_wait_told(uint64_t timeout_ns)
{
	pid_t told;

	fake_step(1000);
	if (!fake.is_telling)
		fake_violate("a wait for SIGCHLD, which nobody keeps", 0, timeout_ns);
	if (!fake.told && fake.idle)
		fake.idle();
	told = fake.told;
	fake.told = 0;
	if (!told)
		fake.now_ns += timeout_ns;
	return told;
}

ssize_t sys_memory_read(pid_t pid, uint64_t addr, void *out, size_t len)
{
	(void)pid, (void)addr, (void)out, (void)len;
	return -EFAULT;
}

int sys_word_get(pid_t tid, uint64_t addr, uint64_t *word)
{
	(void)tid, (void)addr, (void)word;
	return -EIO;
}

/* The thread whose struct rseq has its cpu_id at an address: at offset 4. */
static const struct fake_thread *rseq_owner(pid_t pid, uint64_t addr)
{
	for (size_t i = 0; i < fake.n_threads; i++) {
		const struct fake_thread *t = &fake.threads[i];

		if (t->is_alive && t->pid == pid && t->rseq && t->rseq + 4 == addr)
			return t;
	}
	return NULL;
}

ssize_t sys_memory_gather(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n)
{
	size_t got = 0;

	for (size_t i = 0; i < n; i++) {
		const struct fake_thread *t = rseq_owner(pid, (uint64_t)(uintptr_t)remote[i].iov_base);

		if (!t && !fake.has_memory)
			return got ? (ssize_t)got : -EFAULT;
		memset(local[i].iov_base, 0, local[i].iov_len);
		if (t)
			memcpy(local[i].iov_base, &t->cpu_id, sizeof(t->cpu_id));
		got += local[i].iov_len;
	}
	return (ssize_t)got;
}

int sys_memory_open(pid_t pid)
{
	(void)pid;
	return -EACCES;
}

ssize_t sys_memory_force_read(int fd, uint64_t addr, void *out, size_t len)
{
	(void)fd, (void)addr, (void)out, (void)len;
	return -EIO;
}

ssize_t sys_memory_force_write(int fd, uint64_t addr, const void *data, size_t len)
{
	(void)fd, (void)addr, (void)data, (void)len;
	return -EIO;
}

int procfs_map_open(pid_t pid, const struct procfs_map *map, char **name)
{
	(void)pid, (void)map;
	*name = NULL;
	return -1;
}

int sys_launch(char *const *argv, const sigset_t *mask, int input_fd, int output_fd, bool with_children,
	struct launch *launch)
{
	(void)argv, (void)mask, (void)input_fd, (void)output_fd, (void)with_children;
	if (fake.launch_result)
		return fake.launch_result;
	fake_process(LAUNCH_PID, 1);
	fake_thread(LAUNCH_PID)->is_traced = true;
	*launch = (struct launch){.pid = LAUNCH_PID, .go_fd = -1, .result_fd = -1};
	return 0;
}

void sys_launch_go(struct launch *launch)
{
	if (fake.exec_result == 0)
		fake_exec(launch->pid);
	else if (fake.exec_result > 0)
		fake_exit(launch->pid, 127);
}

int sys_launch_result(struct launch *launch)
{
	(void)launch;
	return fake.exec_result > 0 ? -fake.exec_result : 0;
}

void sys_kill(pid_t pid, int sig)
{
	if (sig == SIGKILL)
		fake_kill(pid);
}

void sys_ticks(uint64_t period_ns)
{
	(void)period_ns;
}

/* The log as text. */

static void trace_add(size_t *len, const struct fake_entry *r, bool with_tid)
{
	static const char *const names[FAKE_REQUESTS] = {
		[FAKE_SEIZE] = "SEIZE",
		[FAKE_INTERRUPT] = "INT",
		[FAKE_CONT] = "CONT",
		[FAKE_LISTEN] = "LISTEN",
		[FAKE_DETACH] = "DETACH",
		[FAKE_DR_SET] = "DR",
		[FAKE_REGS_SET] = "SETREGS",
	};
	char text[128];
	size_t n;

	if (!names[r->what])
		return;
	n = (size_t)snprintf(text, sizeof(text), "%s", *len ? " " : "");
	if (with_tid)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%d.", r->tid);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", names[r->what]);
	if (r->what == FAKE_DR_SET)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%llu=%llx",
			(unsigned long long)r->a, (unsigned long long)r->b);
	else if (r->a)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, ":%llu", (unsigned long long)r->a);
	if (r->result)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "!%d", -r->result);
	if (*len + n + 1 > sizeof(trace_text))
		return;
	memcpy(trace_text + *len, text, n + 1);
	*len += n;
}

const char *fake_trace(pid_t tid)
{
	size_t len = 0;

	trace_text[0] = '\0';
	for (size_t i = 0; i < fake.n_requests; i++) {
		if (tid == 0 || fake.requests[i].tid == tid)
			trace_add(&len, &fake.requests[i], tid == 0);
	}
	return trace_text;
}

void fake_trace_clear(void)
{
	fake.n_requests = 0;
}

/* What /proc tells. */

static char state_of(const struct fake_thread *t)
{
	if (t->state)
		return t->state;
	if (t->is_zombie)
		return 'Z';
	if (t->is_stopped)
		return 't';
	if (t->is_deaf)
		return 'D';
	return t->job_sig ? 'T' : 'S';
}

bool procfs_status(pid_t tid, struct procfs_status *out)
{
	const struct fake_thread *t = fake_find_living(tid);

	*out = (struct procfs_status){0};
	if (!t)
		return false;
	out->tgid = t->pid;
	out->tracer = t->is_traced ? getpid() : t->tracer;
	out->uid = t->uid;
	out->euid = t->euid;
	out->state = state_of(t);
	out->pending = t->pending | (t->trap.si_signo ? 1ULL << (SIGTRAP - 1) : 0);
	out->blocked = t->blocked;
	out->ignored = t->ignored;
	out->caught = t->caught;
	snprintf(out->name, sizeof(out->name), "%s", t->name);
	return true;
}

bool procfs_is_pending(pid_t tid, int sig)
{
	struct procfs_status status;

	return procfs_status(tid, &status) && (status.pending >> (sig - 1) & 1);
}

pid_t *procfs_threads(pid_t pid, size_t *n)
{
	pid_t *tids;

	begin(FAKE_TASKS, pid, 0, 0);
	*n = 0;
	tids = mem_new(FAKE_THREADS_MAX, sizeof(*tids));
	for (size_t i = 0; i < fake.n_threads; i++) {
		if (fake.threads[i].is_alive && fake.threads[i].pid == pid)
			tids[(*n)++] = fake.threads[i].tid;
	}
	if (*n)
		return tids;
	free(tids);
	return NULL;
}

pid_t procfs_living_thread(pid_t pid)
{
	for (size_t i = 0; i < fake.n_threads; i++) {
		if (fake.threads[i].pid == pid && fake_is_live(&fake.threads[i]))
			return fake.threads[i].tid;
	}
	return 0;
}

bool procfs_may_inspect(pid_t pid)
{
	return procfs_living_thread(pid) != 0;
}

bool sys_is_signalled(void)
{
	return fake.is_signalled;
}

unsigned sys_processors(void)
{
	return 1;
}

struct maps_watch *maps_watch_new(pid_t pid)
{
	(void)pid;
	return NULL;
}

void maps_watch_free(struct maps_watch *watch)
{
	(void)watch;
}

bool maps_watch_changed(struct maps_watch *watch)
{
	(void)watch;
	return false;
}

struct procfs_map *procfs_maps(pid_t pid, size_t *n)
{
	(void)pid;
	*n = 0;
	return NULL;
}

void procfs_maps_free(struct procfs_map *maps, size_t n)
{
	(void)maps, (void)n;
}

uint64_t procfs_auxv(pid_t pid, uint64_t type)
{
	(void)pid, (void)type;
	return 0;
}

bool procfs_is_64bit(pid_t pid)
{
	(void)pid;
	return true;
}

char *procfs_command(pid_t pid)
{
	(void)pid;
	return text_copy("victim");
}

int procfs_ptrace_scope(void)
{
	return fake.ptrace_scope;
}

/* What only the page engine asks for: no script has a program under it. */

int sys_step(pid_t tid, int sig)
{
	fake_violate("a single step", tid, (uint64_t)sig);
	return -ESRCH;
}

enum sys_call_stop sys_call_info(pid_t tid, uint64_t *nr, uint64_t args[6], int64_t *result)
{
	(void)nr;
	(void)args;
	(void)result;
	fake_violate("a question about a system call", tid, 0);
	return SYS_CALL_NONE;
}

bool procfs_is_filtered(pid_t pid)
{
	(void)pid;
	return false;
}
