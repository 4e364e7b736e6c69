/* engine: the door to whatever catches accesses. One of the two tables of function
 * pointers of the program. Nothing above it may assume a stopped thread. */
#ifndef WATCHPROF_ENGINE_H
#define WATCHPROF_ENGINE_H

#include "watchprof/boundaries.h"
#include "watchprof/err.h"
#include "watchprof/guardian.h"
#include "watchprof/hit.h"
#include "watchprof/watch.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct engine;

struct target {
	pid_t pid;		/* attach to this thread group; 0: launch */
	char *const *command;	/* launch this */
	const sigset_t *mask;	/* signal mask of a launched program */
	int input_fd, output_fd; /* of a launched program, errors included; -1: it has ours */
	bool is_followed;	/* forked children, too */
	unsigned stack;		/* frames wanted per hit; 0: only the instruction pointer */
	bool has_cpu;		/* hits tell their processor */
};

enum engine_event {
	ENGINE_HIT,	 /* note->hit is filled */
	ENGINE_IMAGE,	 /* note->pid runs a new image, nothing of which is watched yet */
	ENGINE_MODULES,	 /* note->pid reached the hook that was armed */
	ENGINE_FORK,	 /* note->pid is a child of note->parent; watched as that is */
	ENGINE_EXITED,	 /* note->pid has ended with wait status note->status */
	ENGINE_DEADLINE, /* nothing until the deadline */
	ENGINE_END,	 /* there is nothing left to watch */
};

/* After ENGINE_IMAGE and ENGINE_MODULES the process is held until the next call of next(), so that
 * it can be armed before it goes on. */
struct engine_note {
	pid_t pid, parent;
	pid_t tid;	/* ENGINE_MODULES: the thread that reached the hook */
	uint32_t image; /* that pid runs; a forked child shares its parent's until it execs */
	bool is_last;	/* ENGINE_EXITED, ENGINE_IMAGE: nobody runs old_image any more */
	uint32_t old_image;
	int status;
	struct hit hit;
};

/* Where one thread has its own of a thread-local variable. */
struct place {
	uint64_t addr;	/* 0: nowhere yet */
	uint64_t due;	/* then: eight bytes that are written when it gets one; 0: not known */
	uint64_t moved; /* and eight bytes that are written if those move; 0: they do not */
};

/* What is to be watched in one process. Bit i of hit.watches is spans[i]; a span of
 * length 0 is skipped. */
struct arming {
	const struct span *spans;
	const char *const *text; /* names the spans in messages */
	size_t n;
	uint64_t off;  /* bit i: span i is not watched for now */
	/* Nothing but off is another one than at the last arming, and what is off now may still be reported
	 * once by each thread. So no thread is interrupted that does not hit it. */
	bool is_limit;
	uint64_t hook; /* report when this instruction is reached; 0: no hook */
	/* Not NULL: where modules[i] is not 0, spans[i] is a thread-local variable of the module that lies
	 * there. Every thread has its own; the address is the offset in the module's thread-local storage. */
	const uint64_t *modules;
	/* Tells where a thread has that; thread_pointer is the base of its fs segment. Called when a
	 * thread is armed of any process that runs the image. */
	void (*locate)(void *context, pid_t tid, uint64_t thread_pointer, uint64_t module, uint64_t offset,
		struct place *out);
	void *context;
	/* Called where it is not NULL and the arming has succeeded, before the threads that were stopped for it run. */
	void (*stopped)(void *observer, pid_t pid);
	void *observer;
	struct boundaries boundaries;
};

struct engine_counts {
	uint64_t threads_armed;	  /* threads whose registers were written at least once */
	uint64_t threads_born;	  /* of these, created while watched */
	uint64_t threads_unarmed; /* threads that could not be armed */
	uint64_t traps_unblocked; /* hits that found SIGTRAP blocked (the mask was put back) */
	uint64_t masked_off;	  /* hits reported for bytes that a masked access left out: not counted */
	uint64_t threads_now;	  /* threads that live */
	uint64_t stopped_ns;	  /* how long threads stood at hits, from when the stop was seen, all added up */
	uint64_t neighbours; /* page engine: stops at accesses to other bytes of watched pages */
	uint64_t stepped;    /* of all its stops, those at instructions that the thread had to run itself, the others standing */
	uint64_t windows, window_ns; /* page engine: how often, and how long in all, threads ran while pages were open */
	uint64_t unshut; /* page engine: of these, those in which pages could not be shut again */
	uint64_t blinded; /* page engine: processes whose pages are open for good, as the kernel works in them by itself */
	uint64_t lost;		  /* accesses known to have happened that were not reported */
};

struct engine_ops {
	const char *name;

	/* What is told where it was taken because the better one does not work here; NULL: it is the better one. */
	const char *instead;

	/* Hits raise SIGTRAP in the target. */
	bool is_trapping;

	/* Does it really catch accesses on this machine? One write and one read of a dummy
	 * must give two hits. -1: no, and err tells why (status ERR_NO_ENGINE) or what failed. */
	int (*probe)(struct err *err);

	/* Can these spans be watched together? Pure; touches nothing. slots[i], where slots is
	 * not NULL, becomes what span i takes by itself. */
	int (*plan)(const struct arming *arming, unsigned *slots, struct err *err);

	/* Attach or launch; nothing is watched yet. A launched program is held: the first event
	 * is its ENGINE_IMAGE. NULL: failed, and nothing is attached or left running. */
	struct engine *(*open)(const struct target *target, pid_t *pid, struct err *err);

	/* Replace the whole set of watches of a process, all or nothing, while it runs. */
	int (*arm)(struct engine *engine, pid_t pid, const struct arming *arming, struct err *err);

	/* The next event, waiting until deadline_ns (CLOCK_MONOTONIC) at most. */
	enum engine_event (*next)(struct engine *engine, struct engine_note *note, uint64_t deadline_ns);

	struct engine_counts (*counts)(const struct engine *engine);

	/* In another process, at the death of the one that watched: disarm a target. */
	guardian_rescue_fn *rescue;

	/* Disarm, drain, detach, free. Cannot fail. Targets go on as if never watched. */
	void (*close)(struct engine *engine);
};

extern const struct engine_ops engine_dr, engine_page;

#endif
