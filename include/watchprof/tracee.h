/* tracee: the set of traced threads. It owns who is traced, who is stopped and why; it
 * follows new threads, exec, exit and job control by itself, and hands every stop that
 * matters for watching to the engine, with the thread held until the engine resumes it. */
#ifndef WATCHPROF_TRACEE_H
#define WATCHPROF_TRACEE_H

#include "watchprof/err.h"
#include "watchprof/hit_cpu.h"
#include "watchprof/thread_image.h"
#include "watchprof/trap_mask.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tracees;
struct thread;

/* What the engine notes about a thread; zero for a new one and after exec. */
struct thread_mark {
	uint32_t generation; /* of the registers last written into it */
	struct thread_image image; /* these registers */
	bool armed;	     /* something was watched in it at least once */
	pid_t origin;	     /* the process whose fork made it; 0: not known */
	bool is_spared;	     /* tracees_stop() lets it run */
	void *own;	     /* what an engine keeps of it; of a thread that is gone, the engine finds it by itself */
	struct trap_mask trap_mask;
	struct thread_rseq rseq;
	/* A hit before a change of the registers, reported after it: the slots that fired (0: none is under
	 * way), and the registers that they are of. */
	uint64_t noted_dr6;
	struct thread_image noted;
};

enum tracee_event_kind {
	TRACEE_DEADLINE, /* nothing happened until the deadline */
	TRACEE_TRAP,	 /* a SIGTRAP is about to be delivered: is it ours? */
	TRACEE_VISIT,	 /* a new thread's first stop, or one that was asked for */
	TRACEE_EXEC,	 /* a new image, before its first instruction */
	TRACEE_CALL,	 /* a system call begins or ends: only after tracees_report_all() */
	TRACEE_SIGNAL,	 /* a signal is about to be delivered: likewise */
	TRACEE_HALT,	 /* it is in a job-control stop: likewise; tracee_resume() leaves it there */
	TRACEE_EXITED,	 /* a process has ended; thread is NULL */
	TRACEE_NONE,	 /* nothing is traced any more */
};

struct tracee_event {
	enum tracee_event_kind kind;
	struct thread *thread; /* held; to be given to tracee_resume() */
	pid_t pid, tid;
	int sig;    /* the signal to resume with, unless the engine knows better */
	int status; /* TRACEE_EXITED: the wait status */
	bool born;  /* TRACEE_VISIT: the thread was created while traced */
};

/* with_children: trace forked children as well. */
struct tracees *tracees_new(bool with_children);

/* Forget everything. Threads should have left before. */
void tracees_free(struct tracees *tracees);

/* Seize all threads of a process, again and again until no new one appears. Stops nobody.
 * On failure nothing of the process is traced. The message tells the cause. */
int tracees_attach(struct tracees *tracees, pid_t pid, struct err *err);

/* Seize a process whose tracer is just dying, each thread the moment that it is let go: traced, it
 * cannot die of a trap of ours. Stops nobody. False: nothing could be seized within the time. From now
 * on the end of ward, a child that is not traced, is noted in *ward_status. */
bool tracees_take_over(struct tracees *tracees, pid_t pid, pid_t ward, int *ward_status,
	uint64_t timeout_ns);

/* Start a program and hold it at its exec, which tracees_next() then reports as
 * TRACEE_EXEC. mask, input_fd and output_fd: see sys_launch(). */
int tracees_launch(struct tracees *tracees, char *const *argv, const sigset_t *mask, int input_fd, int output_fd,
	pid_t *pid, struct err *err);

/* What the clock showed just now: tracees_next() need not read it again to know whether its deadline is over. */
void tracees_saw_time(struct tracees *tracees, uint64_t now_ns);

/* From now on, look for the next stop again and again for so many nanoseconds before sleeping until it comes;
 * 0: sleep at once. */
void tracees_stay_awake(struct tracees *tracees, uint64_t ns);

/* From now on threads stop at the beginning and the end of each system call as well, and every signal is
 * reported. */
void tracees_report_all(struct tracees *tracees);

/* The next event, waiting until deadline_ns (CLOCK_MONOTONIC) as far as sys_ticks() allows. */
void tracees_next(struct tracees *tracees, uint64_t deadline_ns, struct tracee_event *out);

/* Let a held thread run on, delivering sig; a thread in a job-control stop stays in it. */
void tracee_resume(struct tracees *tracees, struct thread *thread, int sig);

/* Stop every thread of a process (0: of all) without taking any event away: what had
 * stopped by itself is reported by tracees_next() later. Returns false if some thread did
 * not stop in time (it sleeps uninterruptibly); its next stop is a TRACEE_VISIT. */
bool tracees_stop(struct tracees *tracees, pid_t pid, uint64_t timeout_ns);

/* Does a thread that was asked to stop still owe that only because it waits for a processor? (Not one that
 * sleeps uninterruptibly.) */
bool tracees_are_due(const struct tracees *tracees);

/* End tracees_stop(): those that were stopped only by it run on. */
void tracees_go(struct tracees *tracees, pid_t pid);

/* After a crash of our own, anywhere: a thread may have stopped, or not have been resumed, without
 * our having noted it, and the heap may be in pieces. Ask the kernel about those believed to run,
 * before they are stopped; from now on nothing is allocated or freed. */
void tracees_recover(struct tracees *tracees);

/* Let a stopped thread run on until its next stop, which stays unreported; ten seconds at most.
 * It may end instead; it must be given to tracee_leave() in any case. */
void tracee_await(struct tracees *tracees, struct thread *thread);

/* Let a held thread run one instruction, or with a signal that it has a handler for, to the first of the
 * handler, and hold it again. False: it stopped for something else, which tracees_next() reports, or has ended. */
bool tracee_step(struct tracees *tracees, struct thread *thread, int sig);

/* Let a held thread go on with its system call, and hold it at the end of that. False: there is no end until the
 * deadline, or not before is_asleep() says that it sleeps, or another stop came; tracees_next() reports what comes. */
bool tracee_finish_call(struct tracees *tracees, struct thread *thread, uint64_t deadline_ns,
	bool (*is_asleep)(pid_t tid));

/* Let a stopped thread go for good. ours: the signal it stands at is a trap of ours, which must not
 * reach it. */
void tracee_leave(struct tracees *tracees, struct thread *thread, bool ours);

/* Walk the threads: tracees_first(t, NULL), then with the former one, until NULL. The
 * successor must be fetched before a thread leaves. */
struct thread *tracees_first(const struct tracees *tracees, const struct thread *former);

pid_t thread_tid(const struct thread *thread);
pid_t thread_pid(const struct thread *thread);
/* Is its first stop still to be reported (or is it that one)? */
bool thread_is_fresh(const struct thread *thread);
/* Was it created while traced? */
bool thread_is_born(const struct thread *thread);
bool thread_is_stopped(const struct thread *thread);
/* The signal of the signal-delivery stop it is in; 0: another stop, or none. */
int thread_stop_signal(const struct thread *thread);
/* The wait status of its present stop; and another one, where somebody else has let it run and waited for it since. */
int thread_status(const struct thread *thread);
void thread_status_set(struct thread *thread, int status);
struct thread_mark *thread_mark(struct thread *thread);
size_t tracees_count(const struct tracees *tracees);

#endif
