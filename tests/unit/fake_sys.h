/* fake_sys: a scripted kernel in place of sys.c and procfs.c. A test makes processes and
 * threads, lets things happen to them (signals, hits, clone, exec, ends), makes single
 * requests fail, and looks at what was asked of each thread. Time is its own, too: it moves
 * by one tick whenever a wait finds nothing, so that no test ever waits.
 *
 * What it knows of the kernel is what tests/vm/contract*.c pin. */
#ifndef WATCHPROF_FAKE_SYS_H
#define WATCHPROF_FAKE_SYS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define FAKE_THREADS_MAX 160
#define FAKE_REPORTS_MAX 256
#define FAKE_LOG_MAX     8192
#define FAKE_SLOTS       4
#define FAKE_TICK_NS     100000000ULL
#define FAKE_STEPS_MAX   100000

/* Signal codes: a hit, an int3, a tgkill(2). */
#define FAKE_HWBKPT 4
#define FAKE_INT3   128
#define FAKE_TKILL  (-6)

enum fake_request {
	FAKE_ANY, /* in a plan of failures: every request below */
	FAKE_SEIZE,
	FAKE_INTERRUPT,
	FAKE_CONT,
	FAKE_LISTEN,
	FAKE_DETACH,
	FAKE_DR_GET,
	FAKE_DR_SET,
	FAKE_REGS_GET,
	FAKE_REGS_SET,
	FAKE_SIGINFO,
	FAKE_EVENTMSG,
	FAKE_SIGMASK,
	FAKE_RSEQ,
	FAKE_TASKS, /* procfs_threads() */
	FAKE_REQUESTS,
};

struct fake_thread {
	pid_t tid, pid;
	bool is_alive;
	bool is_zombie;    /* ended and not yet waited for; a leader whose threads live */
	bool is_traced;    /* by us */
	bool is_stopped;   /* in a ptrace-stop */
	bool is_listening; /* in a job-control stop, after PTRACE_LISTEN */
	bool is_deaf;      /* sleeps uninterruptibly: stops for nothing until fake_wake() */
	bool must_stop;    /* a PTRACE_INTERRUPT is pending */
	bool must_notify;  /* the job-control stop ended while it stood there */
	bool in_event;     /* its stop takes no signal: everything but a signal-delivery stop */
	bool in_group;     /* its stop is a job-control stop */
	int stop_sig;      /* of a signal-delivery stop */
	int job_sig;       /* its process is in a job-control stop by this signal */
	pid_t tracer;      /* somebody else traces it */
	uid_t uid, euid;
	char state; /* 0: told from the rest */
	const char *name;
	uint64_t dr[8];    /* as PTRACE_PEEKUSER shows them */
	uint64_t rseq;	   /* its struct rseq; 0: it has none */
	int32_t cpu_id;	   /* in that */
	int processor;	   /* in its stat */
	uint64_t live_dr7; /* what is really armed */
	unsigned reserved; /* bit n: the address of slot n was set once */
	unsigned len[4];   /* of each slot when it was last enabled */
	siginfo_t info;    /* of the present stop */
	siginfo_t trap;    /* of a pending SIGTRAP; si_signo 0: none */
	uint64_t pending;  /* other signals on their way: bit n-1 */
	uint64_t blocked, ignored, caught;
	struct user_regs_struct regs;
	long syscall; /* it sleeps in this call, which ends with EINTR; -1: none */
	unsigned long message;
	unsigned delivered[65]; /* how often it got each signal */
	int end;                /* wait status of its end */
};

/* A request as it was made, and what it gave. */
struct fake_entry {
	enum fake_request what;
	pid_t tid;
	uint64_t a, b;
	int result;
};

/* What a wait will tell. */
struct fake_report {
	pid_t tid;
	int status;
};

struct fake {
	struct fake_thread threads[FAKE_THREADS_MAX];
	size_t n_threads;
	struct fake_report reports[FAKE_REPORTS_MAX];
	size_t n_reports;
	struct fake_entry requests[FAKE_LOG_MAX];
	size_t n_requests;
	uint64_t now_ns;
	unsigned steps;
	bool is_signalled;	/* a signal to end waits for us */
	unsigned foreign_slots; /* debug register slots that other tools hold */
	bool is_old_kernel;     /* checks addresses against a disabled slot's stale length */
	bool is_telling;        /* state changes are told by SIGCHLD; told: the one that is pending */
	pid_t told;
	unsigned n_walks; /* waits that looked at every thread */
	bool by_list;           /* waits look at threads in order of creation, not of events */
	uid_t euid;
	int ptrace_scope;
	bool has_memory; /* zeros, for sys_memory_gather(); a struct rseq is there always */
	bool adopts; /* an unknown tid may be seized: it becomes a process */
	/* -errno of sys_launch(); errno of its exec, or -1: the test says what happens. */
	int launch_result, exec_result;
	void (*idle)(void); /* a wait found nothing: let something happen, or not */
	/* A failure, or a happening, at one request. */
	enum fake_request fail_what;
	unsigned fail_at; /* counts down; 0: done or never */
	int fail_with;    /* errno; 0: the request itself succeeds */
	void (*fail_do)(pid_t tid);
	bool has_failed;
	char violation[256]; /* the first thing that must never be done; "" */
};

extern struct fake fake;

/* A world without processes. */
void fake_reset(void);

/* A process with n threads: pid, pid+1, ... */
void fake_process(pid_t pid, size_t n);
struct fake_thread *fake_thread(pid_t tid);

/* The k-th request from now (1: the next) fails with this errno and does nothing. */
void fake_fail(enum fake_request what, unsigned k, int error);

/* Before the k-th request from now, this happens; tid is the request's. */
void fake_at(enum fake_request what, unsigned k, void (*happen)(pid_t tid));

/* What happens to a thread by its own doing or from outside. */
void fake_signal(pid_t tid, int sig, int code);
void fake_exit(pid_t tid, int code);
void fake_kill(pid_t pid); /* SIGKILL to the process */
void fake_wake(pid_t tid); /* the end of is_deaf */
void fake_exec(pid_t tid);
void fake_syscall(pid_t tid, long call, int result); /* sleeps in it; a stop ends it thus */
void fake_call_stop(pid_t tid); /* it stops at a system call, as after PTRACE_SYSCALL */

/* A new thread of tid's process. Its first stop comes after the creator's event, before it, or
 * (late) when fake_wake() is called for it. */
enum fake_order { FAKE_PARENT_FIRST, FAKE_CHILD_FIRST, FAKE_CHILD_LATE };
void fake_clone(pid_t tid, pid_t child, enum fake_order order);

/* clone(2) without CLONE_THREAD and SIGCHLD: the child, a process, is traced by itself. */
void fake_clone_process(pid_t tid, pid_t child, enum fake_order order);

/* The thread touches what these slots (bits of DR6) watch. late: it has, and a stop that was asked
 * for comes before the trap. */
void fake_hit(pid_t tid, uint64_t slots);
void fake_hit_late(pid_t tid, uint64_t slots);

/* SIGSTOP has been delivered to the process; SIGCONT is sent to it. */
void fake_group_stop(pid_t pid, int sig);
void fake_group_cont(pid_t pid);

/* Is it alive and in no stop of ours? A job-control stop without a tracer counts as stopped. */
bool fake_is_running(pid_t tid);

/* Enabled slots of a thread: bits 0-7 of the DR7 that is really in force. */
uint64_t fake_armed(pid_t tid);

/* Requests that changed something, thread by thread, since the log was cleared:
 * "INT DR7=0 DR0=1000 DR7=d0001 CONT:10!3" (number after a colon: signal; after !: errno).
 * The text is valid until the next call. tid 0: of all threads, each with its tid before it. */
const char *fake_trace(pid_t tid);
void fake_trace_clear(void);

/* Fails the test if something forbidden was done. */
void fake_check(void);

/* Between fake_sys.c and fake_calls.c. */
struct fake_thread *fake_find(pid_t tid); /* NULL: none; rather a living one than a dead one */
struct fake_thread *fake_find_living(pid_t tid);
bool fake_is_live(const struct fake_thread *t);
size_t fake_count_others(const struct fake_thread *leader, bool with_zombies);
bool fake_slot_enabled(uint64_t dr7, unsigned slot);
void fake_report_put(pid_t tid, int status);
void fake_report_remove(size_t i);
void fake_advance(struct fake_thread *t); /* it does what it does next */
void fake_step(uint64_t ns);              /* time goes on; endless loops end here */
void fake_violate(const char *what, pid_t tid, uint64_t value);

#endif
