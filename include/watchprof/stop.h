/* stop: what a wait status of a seized tracee means. Pure; the manual page of ptrace is the source of the rules. */
#ifndef WATCHPROF_STOP_H
#define WATCHPROF_STOP_H

enum stop_kind {
	STOP_EXITED,   /* the thread is gone; value: exit code */
	STOP_KILLED,   /* the thread is gone; value: signal */
	STOP_SIGNAL,   /* a signal is about to be delivered; value: signal */
	STOP_GROUP,    /* a job-control stop; value: signal */
	STOP_TRAPPED,  /* the first stop of a new thread, or the answer to PTRACE_INTERRUPT */
	STOP_CLONE,    /* it made a thread */
	STOP_FORK,     /* it made a process with fork */
	STOP_VFORK,    /* it made a process with vfork */
	STOP_EXEC,     /* it has a new image */
	STOP_CALL,     /* at the beginning or the end of a system call */
	STOP_OTHER,    /* a stop that was not asked for; it only needs to go on */
};

struct stop {
	enum stop_kind kind;
	int value;
};

/* Decode a status of waitpid(2) for a thread that was attached with PTRACE_SEIZE. */
struct stop stop_decode(int status);

#endif
