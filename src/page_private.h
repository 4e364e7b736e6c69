/* page_private: what the files of the page engine share. engine_page.c is the door, space.c owns the protected
 * pages of one address space, page_fault.c the accesses to them, page_call.c system calls, page_signal.c signals. */
#ifndef WATCHPROF_PAGE_PRIVATE_H
#define WATCHPROF_PAGE_PRIVATE_H

#include "watchprof/call_bounce.h"
#include "watchprof/call_table.h"
#include "watchprof/emulate.h"
#include "watchprof/engine.h"
#include "watchprof/space.h"
#include "watchprof/tracee.h"
#include "watchprof/unwind.h"
#include "watchprof/waiting.h"

#include <sys/queue.h>

#define STOP_TIMEOUT NS_PER_S

/* Processes are found at each stop, and there may be thousands. */
#define PROCESS_CHAINS 1024U

/* What runs in one process. */
struct process {
	pid_t pid, parent;
	uint32_t image;
	bool is_unborn;	     /* its first stop is still to come, and its parent is another program since, or has ended */
	bool is_counted;     /* its accesses are reported; else it only shares the memory of one whose are, until it execs */
	struct space *space; /* shared by processes between vfork and exec */
	struct unwinder *unwinder;
	LIST_ENTRY(process) all, chain;
};

/* What is noted of a thread. */
struct page_thread {
	pid_t tid, pid;
	bool is_traced; /* for a moment: so it was seen */
	struct space *space; /* where pages are open for its call; NULL: they are not */
	uint64_t opened_ns;
	bool is_in_call;
	bool is_stepped;      /* with nearly all signals blocked */
	bool is_vsyscall_tried; /* with pages open */
	uint64_t mask;	      /* and that is its own mask meanwhile */
	bool is_segv_blocked; /* it wants SIGSEGV blocked, which it cannot be while pages are shut */
	uint64_t nr, args[CALL_ARGUMENTS]; /* of the call that it is in */
	bool is_aside;	      /* for that call, the program's own disposition of SIGSEGV is in force */
	bool is_handed_over;  /* that call waits for a lock that the kernel may write into when it hands it over; the page is shut */
	bool is_map;	      /* that call changes mappings near watched pages */
	struct call_bounce *bounce; /* while its buffers are elsewhere; else NULL */
	size_t scratch;		    /* the number of the part of the scratch area that they are in, and 1 */
	uint64_t thread_pointer;    /* when thread-local variables were looked up; 0: they were not */
	bool is_partial;	    /* it has none of one, and nothing tells when it gets it */
	uint64_t due_at, due_sp;    /* it has been counted at this breakpoint, and has not run on; 0: none */
	bool is_due_aside;	    /* a handler has begun since: it has been counted if that returns there, not if it comes anew */
	bool is_protected;	    /* the instruction at the breakpoint has raised a general protection fault itself, which comes next */
	uint64_t gone_at, gone_in;  /* it ran into this breakpoint that was gone, and in which generation of them; 0: none */
	struct sys_rseq rseq;	    /* that was withdrawn, as its page is shut; addr 0: none was */
	LIST_ENTRY(page_thread) all;
};

struct engine {
	struct tracees *tracees;
	LIST_HEAD(, process) processes, chains[PROCESS_CHAINS]; /* all, and by their id */
	LIST_HEAD(, page_thread) threads;
	size_t n_threads;
	bool is_emergency; /* a crash of our own came in between */
	bool is_followed, has_cpu;
	unsigned stack;
	struct stack_reader *reader;
	struct emulator *emulator;
	struct waiting waiting;
	bool has_processors;
	struct thread *held; /* stopped until the next call of next() */
	int held_sig;
	bool is_passing; /* it is held at a breakpoint that it has reached, and passes next */
	bool hook_due;
	pid_t hook_pid, hook_tid;
	uint32_t hook_image, images;
	uint64_t repeats; /* the hit of the note is to be reported so many times more */
	struct engine_counts counts;
	struct space_gaps gaps;
};

struct process *process_find(struct engine *engine, pid_t pid);

/* What is noted of a held thread; made if there is nothing yet. */
struct page_thread *page_thread(struct engine *engine, struct thread *thread);

/* Stop all other threads that run code in the space of a held thread (those in system calls stay there: they stop
 * before they run code again), and let them go on. */
void space_threads_stop(struct engine *engine, const struct space *space);
void space_threads_go(struct engine *engine, const struct space *space);

/* A fault of a held thread that is of shut pages: run the instruction, count, let the thread go on. Returns true with
 * a hit to be reported. *is_foreign: it is the program's own fault. */
bool page_fault_take(struct engine *engine, struct process *process, const struct tracee_event *event, struct hit *hit,
	bool *is_foreign);

/* A SIGSEGV by the kernel of a held thread: of a call by the vsyscall page, which the kernel makes itself, and not into a shut
 * page (emulate_vsyscall() in the kernel)? Then it is made once more while pages are open. False: it is the program's own. */
bool page_vsyscall_take(struct engine *engine, struct process *process, const struct tracee_event *event);

/* A system call begins or ends. */
void page_call_take(struct engine *engine, struct process *process, const struct tracee_event *event);

/* A stopped thread is to be let go for good, maybe in the middle of a call: what was changed for that is put back. A call
 * that was interrupted begins again with the program's own buffers. */
void page_call_undo(struct process *process, struct thread *thread);

/* A call that was interrupted begins anew by its number and arguments, not with what the kernel remembers of it (its timeout
 * begins anew as well). False: there is none; else the registers have changed. */
bool page_call_anew(struct user_regs_struct *regs);

/* Calls of ours cannot be made in a stopped thread that stands where a call begins, or in the middle of a clone or fork: it is brought
 * before the instruction, which it runs again, or to its end. */
void page_call_put_off(struct thread *thread);

/* Nothing is left of a thread or its program: forget the call that it was in. */
void page_call_forget(struct engine *engine, struct process *process, struct page_thread *own);

/* A breakpoint of watches was reached, with these registers: a hit. The thread is held. */
void page_execute_take(struct engine *engine, struct process *process, const struct tracee_event *event,
	const struct user_regs_struct *regs, uint64_t watches, struct hit *hit);

/* And now it goes on: with a hit to be reported where the instruction there accesses watched bytes itself. What was asked to stop just
 * before it came to the breakpoint does that, and what has a signal goes there first: it comes to the breakpoint again. */
bool page_breakpoint_pass(struct engine *engine, struct process *process, struct thread *thread, struct hit *hit);

/* A signal is about to be delivered: deliver it. */
void page_signal_take(struct engine *engine, struct process *process, const struct tracee_event *event);

/* Calls of ours cannot be made either in a thread at a signal that ends a call with a mask of its own (sigsuspend(2)): it is
 * delivered, and the thread stands before its handler. What has no handler begins the call again, and is left where it is. Only
 * while nothing is shut. */
void page_signal_begin(struct thread *thread);

/* SIGSEGV must not be blocked while pages are shut, or breakpoints in the code: the kernel would take the program's handler away (force_sig()). */
void page_mask_clear(pid_t tid, struct page_thread *own);
/* The same where the mask has been set by the program, as a whole. */
void page_mask_take(pid_t tid, struct page_thread *own);
void page_mask_restore(pid_t tid, struct page_thread *own);

/* A thread at a SIGSEGV: the watches of the breakpoint of ours that it stands at (0: it has been taken out meanwhile), and its
 * registers. False: it is another one. */
bool page_breakpoint(const struct process *process, pid_t tid, struct user_regs_struct *regs, uint64_t *watches);

/* At the next stop threads are spared that are in calls which have nothing to do with what will be shut. A call that was made when
 * pages were open has its buffers there, maybe: it begins again. */
void page_calls_spare(struct engine *engine, const struct process *process, const struct arming *arming,
	const struct places *places);

/* The next stop is one of all threads, also of those in calls, which they begin again. */
void page_spare_nobody(struct engine *engine);

/* Let all go. */
void page_release_all(struct engine *engine);

/* Is any span of an arming thread-local? And the arming of the others, whose spans are put into these. */
bool page_is_local(const struct arming *arming);
struct arming page_common(const struct arming *arming, struct span spans[WATCHES_MAX]);

/* Thread-local variables: where all stopped threads that share the memory of a process have them. NULL: none is watched. */
struct places *page_places(struct engine *engine, const struct process *process, const struct arming *arming);

/* A held thread may have got some, or has begun: look where, and watch it there. */
void page_place(struct engine *engine, struct process *process, struct thread *thread);

/* A held thread is about to end: what it has is not watched any more. */
void page_place_end(struct engine *engine, struct process *process, struct thread *thread);

/* All threads stand, and pages will be shut: registrations of restartable sequences are withdrawn there. 0 or -1. */
int page_rseqs_withdraw(struct engine *engine, struct process *process, const struct arming *arming, const struct places *places,
	struct err *err);

/* Pages are shut: threads must not have SIGSEGV blocked, and calls that were interrupted must come to their entry. */
void page_threads_prepare(struct engine *engine, const struct process *process);

/* A stopped thread of a process, one through which calls can be made where there is one; NULL: none is stopped. */
struct thread *page_thread_stopped(const struct engine *engine, pid_t pid);

/* A stopped thread's restartable sequences are registered again. */
void page_rseq_restore(const struct process *process, struct thread *thread);

/* A forked child would have the registration of the thread that it is a copy of, if that had not been withdrawn: it gets it, now or, where
 * it is watched, at the end. */
void page_rseq_inherit(struct engine *engine, const struct process *child, struct thread *thread, uint64_t thread_pointer);

/* See struct engine_ops; by what rescue.h finds in the process. */
guardian_rescue_fn page_rescue;

#endif
