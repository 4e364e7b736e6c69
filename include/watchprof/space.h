/* space: the watched bytes of one address space, and the protection of the pages that they lie in. An access
 * to a shut page is a fault of the thread that makes it. */
#ifndef WATCHPROF_SPACE_H
#define WATCHPROF_SPACE_H

#include "watchprof/emulate.h"
#include "watchprof/engine.h"
#include "watchprof/err.h"
#include "watchprof/places.h"
#include "watchprof/sys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPACE_WATCH_MAX (1UL << 20) /* bytes of one watch */
#define SPACE_PAGE	4096UL

struct space;
struct agent;

/* Times in which pages were open that are to be shut, as the kernel did not do it: mprotect(2) may need two mappings more, and there
 * are no more than vm.max_map_count. Of all spaces that have the same one of these. */
struct space_gaps {
	uint64_t n;
	uint64_t n_now; /* in so many spaces that is so now */
	uint64_t ns;	/* all those times added up, but that of those of now only the beginnings are subtracted, modulo 2^64 */
};

/* The address space of a process; one user. gaps must outlive it. */
struct space *space_new(pid_t pid, struct space_gaps *gaps);

/* One more user; and one fewer: with the last one it is freed, and nothing is done to the process. */
struct space *space_use(struct space *space);
void space_drop(struct space *space);

/* A copy for a forked child: the same pages are shut in it, nothing else is there yet. */
struct space *space_fork(const struct space *space, pid_t pid);

/* The thread group whose memory it is. */
pid_t space_pid(const struct space *space);

/* Can these spans be watched by pages at all? Pure. */
int space_plan(const struct arming *arming, struct err *err);

/* The same with the mappings as they are: every page can be shut. Touches nothing. */
int space_check(const struct space *space, const struct arming *arming, struct err *err);

/* Will pages of these bytes be shut for this arming and these places (NULL: none)? */
bool space_will_shut(const struct arming *arming, const struct places *places, uint64_t addr, uint64_t len);

/* Restartable sequences of a stopped thread, whose area lies in pages that are open still, or again (rseq_registration.h). *status
 * as for space_arm(). 0, -EBUSY, or -errno. */
int space_rseq_withdraw(const struct space *space, pid_t tid, int *status, struct sys_rseq *former);
int space_rseq_restore(const struct space *space, pid_t tid, int *status, const struct sys_rseq *former);

/* From now on these are watched (bit i of a watch set is spans[i]). tid is a stopped thread and *status that of its stop, both
 * used as by agent_new() if an agent is needed and there is none. Thread-local spans have no length here, but places
 * (NULL: there are none), which become the space's. All or nothing. */
int space_arm(struct space *space, pid_t tid, int *status, const struct arming *arming, struct places *places, struct err *err);

/* Where threads have thread-local variables; NULL: none is watched. And others instead, which become the space's; on failure
 * nothing has changed. */
const struct places *space_places(const struct space *space);
int space_place(struct space *space, pid_t tid, int *status, struct places *places, struct err *err);

/* Are all pages shut that these places need? */
bool space_is_placed(const struct space *space, const struct places *places);

/* Some page is shut, or would be if it were not open for a moment. */
bool space_is_watched(const struct space *space);

/* The same, or there are breakpoints: threads get SIGSEGVs of ours. */
bool space_is_armed(const struct space *space);

/* Would the user's access of this kind (HIT_READ, HIT_WRITE) to these bytes fault because of us? Open or not. */
bool space_is_shut(const struct space *space, uint64_t addr, uint64_t len, unsigned kind);

/* Was its page shut once, and can it be read and written now, and run where it is code? An access that ran into it before is to be
 * made again. (Of memory like that there is no SEGV_ACCERR.) */
bool space_was_shut(const struct space *space, uint64_t addr, bool is_code);

/* Do these bytes lie in, or next to, mappings that have shut pages? */
bool space_is_near(const struct space *space, uint64_t addr, uint64_t len);

/* Are its pages all shut now? */
bool space_is_closed(const struct space *space);

/* Does the program's own protection allow it (HIT_READ, HIT_WRITE, HIT_EXECUTE)? As far as shut pages are concerned. */
bool space_allows(const struct space *space, uint64_t addr, uint64_t len, unsigned kind);

/* Open the pages for a moment; shut them again. They are open as long as anybody has them open; and if they cannot be shut
 * (struct space_gaps) until the next time, or until space_retry() can. */
void space_open(struct space *space);
void space_shut(struct space *space);

/* The same for good: nothing is watched here any more. */
void space_blind(struct space *space);
bool space_is_blind(const struct space *space);

/* Mappings have changed while the pages are open: what the program's own protections are now, and which pages are there. */
void space_refresh(struct space *space);

/* Something was mapped: where a watched page had gone and is there again, it is shut. The others stay shut meanwhile. */
void space_look(struct space *space);

/* If pages could not be shut, try that again. */
void space_retry(struct space *space);

/* The watches that an access of a thread (by its thread pointer) touches in a way that they ask for. */
uint64_t space_touched(const struct space *space, uint64_t thread_pointer, uint64_t addr, uint64_t len, unsigned kind);

/* The bytes of a watch, of such a thread; 0 where it has none. */
uint64_t space_watch(const struct space *space, uint64_t thread_pointer, unsigned watch, uint64_t *addr);

/* Memory, whatever its protection: all or nothing. */
bool space_read(const struct space *space, uint64_t addr, void *out, size_t len);
bool space_write(const struct space *space, uint64_t addr, const void *data, size_t len);
/* The descriptor that this goes through (sys_memory_open()); < 0: it could not be opened. */
int space_memory(const struct space *space);
/* As many bytes as there are. Of all ways to a few bytes the cheapest: process_vm_readv(2) asks each time who may. */
size_t space_peek(const struct space *space, uint64_t addr, void *out, size_t len);

/* Breakpoints: of the hook and of watches for execution. The bits are those of watches; 0: there is none. */
uint64_t space_breakpoint(const struct space *space, uint64_t addr);
/* Was there one, and is the program's own code there again? A thread may have run into it just before. */
bool space_was_breakpoint(const struct space *space, uint64_t addr);
/* A number that changes when the breakpoints do: from then on a thread runs once, at most, into one that is gone. */
uint64_t space_breakpoints_generation(const struct space *space);
/* Of len bytes that were read at addr, those that are breakpoints become the program's own. */
void space_code_mend(const struct space *space, uint64_t addr, unsigned char *bytes, size_t len);
/* Take them out of the code, or put them in again. */
void space_breakpoints_out(struct space *space);
void space_breakpoints_in(struct space *space);

/* A part of the scratch area: mapped in the process, and never shut. Returns its number and 1; 0: none is left. */
size_t space_scratch_take(struct space *space, uint64_t *addr, size_t *len);
void space_scratch_give(struct space *space, size_t part);

/* In a forked child, through its stopped thread tid (*status as for space_arm()): put everything back as it would be without
 * us; or go on watching there, of thread-local variables its own. -1: that could not be, and nothing is watched. */
void space_leave_child(struct space *space, pid_t tid, int *status);
int space_adopt(struct space *space, pid_t tid, int *status, uint64_t thread_pointer);

/* In a child that shares the memory but not the dispositions of signals: give it its own of SIGSEGV. */
void space_lend(pid_t pid, pid_t tid, int *status);

/* The end, the threads standing: first the pages are open, and breakpoints gone; when no thread has a fault of ours to come, all
 * else is put back. */
void space_open_for_good(struct space *space);
/* After a crash of our own, anywhere: in place of space_open_for_good(), the threads standing or not. Nothing is allocated. */
void space_recover(struct space *space);
void space_leave(struct space *space);

/* The process has ended or runs another program: there is nothing to be put back. */
void space_forget(struct space *space);

/* Around what the program, or the kernel for it, does with its disposition of SIGSEGV: safety_aside(). False: nothing of ours is
 * in force, and space_back() must not follow. */
bool space_aside(struct space *space);
void space_back(struct space *space);

/* NULL: there is none yet. */
struct agent *space_agent(const struct space *space);

#endif
