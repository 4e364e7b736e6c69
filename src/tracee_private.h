/* tracee_private: what the files of the set of traced threads share. tracee.c serves stops,
 * tracee_attach.c makes threads traced. */
#ifndef WATCHPROF_TRACEE_PRIVATE_H
#define WATCHPROF_TRACEE_PRIVATE_H

#include "watchprof/stop.h"
#include "watchprof/tracee.h"

#include <sys/queue.h>

#define LATELY_MAX 4 /* threads that stopped last, and are looked at first where there are many */

enum thread_state {
	THREAD_RUNNING,
	THREAD_READY,  /* stopped; its stop waits in the ready queue */
	THREAD_HELD,   /* stopped; its stop was handed to the engine */
	THREAD_PARKED, /* stopped by tracees_stop(), with nothing to report */
};

struct thread {
	pid_t tid, pid;
	enum thread_state state;
	struct stop stop;
	int status;
	bool gone;       /* it has ended; it is only kept for its entry in the queue */
	bool fresh;      /* its first stop is still to come */
	bool born;       /* created while traced */
	bool stray;      /* a process of its own; let go at its first stop */
	bool visit;      /* the engine wants to see its next stop, whatever that is */
	bool group_stop; /* its present stop is a job-control stop */
	struct thread_mark mark;
	LIST_ENTRY(thread) all;
	STAILQ_ENTRY(thread) ready;
};

struct tracees {
	void *by_tid; /* tsearch tree */
	LIST_HEAD(, thread) all;
	STAILQ_HEAD(, thread) ready;
	size_t n_threads;
	unsigned since_drain;
	bool is_told; /* SIGCHLD says which thread has stopped */
	pid_t lately[LATELY_MAX];
	bool with_children;
	bool reports_all; /* see tracees_report_all() */
	struct thread *recent; /* the one that had the last status, or NULL */
	uint64_t awake_ns; /* see tracees_stay_awake() */
	uint64_t seen_ns; /* the clock, read since the last wait; 0: not */
	pid_t ward; /* a child that is not traced, whose end is noted; 0: none */
	int *ward_status;
	bool is_emergency; /* the heap may be in pieces: nothing is allocated or freed any more */
};

/* The thread with this id; NULL: it is not traced. */
struct thread *thread_find(const struct tracees *tracees, pid_t tid);

/* From now on it is traced, and runs. */
struct thread *thread_add(struct tracees *tracees, pid_t pid, pid_t tid);

/* Put a stopped thread into the queue of those to be served. */
void ready_put(struct tracees *tracees, struct thread *thread, int status);

/* Take note of a status that was waited for. */
void status_take(struct tracees *tracees, pid_t tid, int status);

#endif
