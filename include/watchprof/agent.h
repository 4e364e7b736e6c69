/* agent: a thread of ours inside a tracee. It makes system calls there for us, while the tracee's
 * own threads run or sleep as they like, and stands still otherwise. With it comes a scratch area
 * of the tracee's memory: code of ours (agent_code.h), what the code needs to know (safety.h), and
 * room for data.
 *
 * Its place among the traced threads: the agent is traced by us, and only agent.c waits for it;
 * whoever holds the table of threads must not have it there. Its creator's clone event is consumed
 * here. Its end, when the process dies, may be waited for by anybody; sys_wait() then gives an id
 * that is in no table. */
#ifndef WATCHPROF_AGENT_H
#define WATCHPROF_AGENT_H

#include "watchprof/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;
struct inject_site;

/* Make the agent and its scratch area with data_size bytes for data (whole pages). tid is a stopped
 * thread of the process; *status is the wait status of its stop, of a kind that inject_begin()
 * takes; afterwards, also on failure, it is that of the like stop that it is in now (tid is as it
 * was otherwise, and has run nothing of its own); where tid has ended, *status is left alone, and
 * its end is still to be waited for. NULL: nothing is left behind, and *err tells why. */
struct agent *agent_new(pid_t pid, pid_t tid, int *status, size_t data_size, struct err *err);

pid_t agent_tid(const struct agent *agent);

/* The descriptor of the tracee's memory for sys_memory_force_read() and _write(); the agent's own.
 */
int agent_memory(const struct agent *agent);

/* What is needed for calls in the tracee's own threads: inject_begin(). */
const struct inject_site *agent_site(const struct agent *agent);

/* Where the room for data lies, readable and writable for the tracee, and how much there is. */
uint64_t agent_scratch(const struct agent *agent, size_t *size);

/* Where the code of ours and its table lie (agent_code.h). */
uint64_t agent_code_at(const struct agent *agent);

/* One system call; *result is what the kernel gave (-errno). Nothing but calls that do not sleep:
 * the tracer waits. -ESRCH: the process has ended, or the agent has (exec): forget it. */
int agent_call(struct agent *agent, long nr, const uint64_t args[6], int64_t *result);

/* mprotect(2). 0; the kernel's -errno; or -ESRCH as above. */
int agent_protect(struct agent *agent, uint64_t addr, uint64_t len, int prot);

/* After a crash of our own, anywhere, also within one of these functions: the agent comes to a stop in
 * which it can be called again. The call that it was in is over then. */
void agent_recover(struct agent *agent);

/* To be called when a thread of the process reports a job-control stop: a stop is complete, and the
 * parent told of it, when all threads have stopped, the agent as well. */
void agent_settle(struct agent *agent);

/* Have all threads of the process ended but the agent and tid (0: none)? Then nobody but the agent
 * keeps the process alive, and it must be freed, best while tid stands at the entry of its exit(2),
 * the only way to end that leaves other threads alive: the process's exit status is that of the
 * thread that ends last (synchronize_group_exit() in the kernel, since Linux 5.17). */
bool agent_is_alone(const struct agent *agent, pid_t tid);

/* End the agent: the scratch area is unmapped, the thread ends and is waited for. The protection of
 * pages and the disposition of SIGSEGV are to be restored before (safety.h). The process may be
 * dead already. */
void agent_free(struct agent *agent);

/* The agent without its process: after exec, which ends all other threads, and takes the memory
 * away. */
void agent_forget(struct agent *agent);

#endif
