/* agent.c owns the agent's life, its scratch area and its calls. It decides nothing about what is
 * protected, and waits for no thread but the agent and the one that makes it.
 *
 * Between calls the agent stands at the exit of its last one, made by the `syscall` instruction of
 * our code (agent_code.h): let go by a tracer that has died, it goes on with what follows there. It
 * is gone from the process's view of signals, with all of them blocked; it has no stack, no
 * thread-local memory, no restartable sequences, and no memory that is cleared at its end (clone(2)
 * without the flags for them). */
#include "watchprof/agent.h"

#include "watchprof/agent_code.h"
#include "watchprof/inject.h"
#include "watchprof/procfs.h"
#include "watchprof/stop.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGENT_FLAGS                                                                                \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
#define CS_64        0x33 /* the code segment of 64-bit code */
#define SYSCALL_STOP (SIGTRAP | 0x80)

struct agent {
	pid_t pid, tid; /* tid 0: it has ended, or was never made */
	int memory_fd;
	struct inject_site site; /* the process's own code */
	uint64_t syscall_at;     /* what calls are made with */
	struct user_regs_struct regs;
	bool has_way; /* a frame lies in the process by which it ends if we do (inject_site.h) */
	uint64_t scratch; /* 0: none */
	size_t size, data_size;
};

pid_t agent_tid(const struct agent *agent)
{
	return agent->tid;
}

int agent_memory(const struct agent *agent)
{
	return agent->memory_fd;
}

const struct inject_site *agent_site(const struct agent *agent)
{
	return &agent->site;
}

uint64_t agent_scratch(const struct agent *agent, size_t *size)
{
	*size = agent->data_size;
	return agent->scratch + AGENT_CODE_SIZE + AGENT_TABLE_SIZE;
}

uint64_t agent_code_at(const struct agent *agent)
{
	return agent->scratch;
}

/* Let it run to the next entry into or exit from a call; job-control stops on the way are passed.
 */
static int agent_run(struct agent *agent)
{
	int status = 0, result;

	do {
		result = sys_syscall(agent->tid, 0);
		if (!result)
			result = sys_wait_stop(agent->tid, &status);
	} while (!result && status >> 8 != SYSCALL_STOP);
	return result ? -ESRCH : 0;
}

static void regs_prepare(
	const struct agent *agent, struct user_regs_struct *regs, long nr, const uint64_t args[6])
{
	*regs = agent->regs;
	regs->rip = agent->syscall_at;
	regs->rax = (uint64_t)nr;
	regs->orig_rax = UINT64_MAX;
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

int agent_call(struct agent *agent, long nr, const uint64_t args[6], int64_t *result)
{
	struct user_regs_struct regs;

	if (!agent->tid)
		return -ESRCH;
	regs_prepare(agent, &regs, nr, args);
	if (sys_regs_set(agent->tid, &regs) || agent_run(agent) || agent_run(agent) ||
		sys_regs_get(agent->tid, &regs))
		return -ESRCH;
	*result = (int64_t)regs.rax;
	return 0;
}

int agent_protect(struct agent *agent, uint64_t addr, uint64_t len, int prot)
{
	const uint64_t args[6] = {addr, len, (uint64_t)prot};
	int64_t result;
	int failure = agent_call(agent, SYS_mprotect, args, &result);

	return failure ? failure : (int)result;
}

/* Let it make its last call, and wait for its end. */
static void agent_exit(struct agent *agent)
{
	struct user_regs_struct regs;
	int status;

	regs_prepare(agent, &regs, SYS_exit, (const uint64_t[6]){0});
	if (sys_regs_set(agent->tid, &regs) == 0) {
		do {
			sys_cont(agent->tid, 0);
		} while (sys_wait_stop(agent->tid, &status) == 0);
	}
	/* Ended, by itself or with its process; or waited for by somebody else already. */
	sys_wait_one(agent->tid, &status);
	agent->tid = 0;
}

void agent_forget(struct agent *agent)
{
	if (!agent)
		return;
	close(agent->memory_fd);
	free(agent);
}

/* From now on its calls are made with the process's own code, as ours goes. */
static void code_leave(struct agent *agent)
{
	agent->syscall_at = agent->site.syscall_at;
	if (!agent->has_way && inject_way_lay_child(&agent->site)) {
		agent->has_way = true;
		agent->regs.rsp = inject_way_child(&agent->site);
	}
}

void agent_free(struct agent *agent)
{
	int64_t result;

	if (!agent)
		return;
	if (agent->tid)
		code_leave(agent);
	if (agent->tid && agent->scratch)
		agent_call(agent, SYS_munmap, (const uint64_t[6]){agent->scratch, agent->size},
			&result);
	if (agent->tid)
		agent_exit(agent);
	if (agent->has_way)
		inject_way_clear(&agent->site, true);
	agent_forget(agent);
}

void agent_recover(struct agent *agent)
{
	uint64_t nr, args[6];
	int64_t result;
	siginfo_t info;
	int status;

	/* Only of a thread that is stopped there is an answer. EINVAL: in a job-control stop. */
	if (agent->tid && sys_siginfo_get(agent->tid, &info) == -ESRCH && sys_wait_stop(agent->tid, &status))
		agent->tid = 0;
	if (!agent->tid)
		return;
	/* A report that nobody has taken would be taken for one of somebody unknown. */
	sys_wait_one(agent->tid, &status);
	if (sys_call_info(agent->tid, &nr, args, &result) == SYS_CALL_ENTRY)
		agent_run(agent);
}

void agent_settle(struct agent *agent)
{
	int status;

	if (agent->tid && sys_interrupt(agent->tid) == 0 && sys_cont(agent->tid, 0) == 0)
		sys_wait_stop(agent->tid, &status);
}

bool agent_is_alone(const struct agent *agent, pid_t tid)
{
	size_t n;
	pid_t *tids = procfs_threads(agent->pid, &n);
	struct procfs_status status;
	bool is_alone = agent->tid != 0;

	for (size_t i = 0; i < n && is_alone; i++) {
		if (tids[i] != agent->tid && tids[i] != tid && procfs_status(tids[i], &status) &&
			status.state != 'Z' && status.state != 'X')
			is_alone = false;
	}
	free(tids);
	return is_alone;
}

static int fail(const struct agent *agent, const char *what, int failure, struct err *err)
{
	if (failure == -ESRCH)
		return err_set(err, "process %d has ended", (int)agent->pid);
	return err_set(err, "cannot watch process %d by its pages: it is refused %s: %s",
		(int)agent->pid, what, strerror(-failure));
}

/* What can be told before the process is touched. */
static int process_judge(const struct agent *agent, pid_t tid, struct err *err)
{
	struct user_regs_struct regs;
	int failure = sys_regs_get(tid, &regs);

	if (failure)
		return fail(agent, "a look at its registers", failure, err);
	if (procfs_is_filtered(tid))
		return err_set(err,
			"cannot watch process %d by its pages: its system calls are filtered "
			"(seccomp), "
			"ours in it would be as well",
			(int)agent->pid);
	if (regs.cs != CS_64)
		return err_set(err, "cannot watch process %d by its pages: it runs 32-bit code",
			(int)agent->pid);
	return 0;
}

/* Have tid make the agent, which is traced from its birth and stands before its first instruction.
 */
static int agent_bear(struct agent *agent, pid_t tid, int *status, struct err *err)
{
	struct inject inject;
	int failure = inject_begin(&inject, tid, *status, &agent->site), ending, first;
	int64_t result = 0;

	if (failure)
		return fail(agent, "a stop in which a call can be made", failure, err);
	failure = inject_call(&inject, SYS_clone,
		(const uint64_t[6]){AGENT_FLAGS, inject_child_stack(&inject)}, &result);
	ending = failure == -ESRCH ? failure : inject_end(&inject, status);
	agent->tid = inject_born(&inject);
	agent->has_way = agent->tid && inject_child_stack(&inject);
	if (!failure && result < 0)
		failure = (int)result;
	if (!failure && !agent->tid)
		failure = -ESRCH; /* it was not traced; that cannot be */
	if (!failure)
		failure = ending;
	if (agent->tid &&
		(sys_wait_stop(agent->tid, &first) || sys_regs_get(agent->tid, &agent->regs))) {
		agent->tid = 0;
		failure = -ESRCH;
	}
	if (failure)
		return fail(agent, "one more thread", failure, err);
	sys_sigmask_set(agent->tid, UINT64_MAX);
	/* If we are killed, the kernel finds pages shut for the calls of the program that come before the agent. */
	sys_run_first(agent->tid);
	return 0;
}

/* A place below where the kernel puts mappings (mmap_base() in arch/x86/mm/mmap.c: a terabyte and the stack's gap below the
 * end), so that the libraries of a program that has just begun come to lie where they do without us; within what
 * sanitizers call memory of the program. Nobody is to know where there is a `syscall`. */
#define PLACE_FIRST 0x7ea000000000ULL
#define PLACE_PAGES (1UL << 24)
#define PLACE_PAGE  4096

static uint64_t place_choose(void)
{
	uint32_t chance = 0;

	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
		chance = 0;
	return PLACE_FIRST + (chance % PLACE_PAGES) * PLACE_PAGE;
}

/* The agent's first calls. The code is written while its page is writable, then made executable:
 * never both. */
static int scratch_make(struct agent *agent, struct err *err)
{
	struct safety_table table = {.size = agent->size};
	size_t code_len = (size_t)(agent_code_end - agent_code);
	int64_t result = 0;
	int failure = agent_call(agent, SYS_mmap,
		(const uint64_t[6]){place_choose(), agent->size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX},
		&result);

	if (failure || result < 0)
		return fail(agent, "memory", failure ? failure : (int)result, err);
	agent->scratch = (uint64_t)result;
	if (sys_memory_force_write(agent->memory_fd, agent->scratch, agent_code, code_len) !=
			(ssize_t)code_len ||
		sys_memory_force_write(agent->memory_fd, agent->scratch + AGENT_CODE_SIZE, &table,
			sizeof(table)) != (ssize_t)sizeof(table))
		return fail(agent, "a change of its memory", -EACCES, err);
	failure = agent_protect(agent, agent->scratch, AGENT_CODE_SIZE, PROT_READ | PROT_EXEC);
	if (failure)
		return fail(agent, "executable memory", failure, err);
	agent->syscall_at = agent->scratch + (uint64_t)(agent_code_entry - agent_code);
	/* From now on it stands before our code. */
	if (agent_call(agent, SYS_getpid, (const uint64_t[6]){0}, &result))
		return fail(agent, "a call", -ESRCH, err);
	if (agent->has_way)
		inject_way_clear(&agent->site, true);
	agent->has_way = false;
	return 0;
}

struct agent *agent_new(pid_t pid, pid_t tid, int *status, size_t data_size, struct err *err)
{
	struct agent *agent = mem_new(1, sizeof(*agent));

	agent->pid = pid;
	agent->data_size = data_size;
	agent->size = AGENT_CODE_SIZE + AGENT_TABLE_SIZE + data_size;
	agent->memory_fd = sys_memory_open(tid);
	if (agent->memory_fd < 0) {
		fail(agent, "a look at its memory", agent->memory_fd, err);
		free(agent);
		return NULL;
	}
	inject_site_find(pid, agent->memory_fd, &agent->site);
	agent->syscall_at = agent->site.syscall_at;
	if (process_judge(agent, tid, err))
		goto undo;
	if (!agent->site.syscall_at) {
		err_set(err,
			"cannot watch process %d by its pages: no `syscall' instruction is found "
			"in it",
			(int)pid);
		goto undo;
	}
	if (agent_bear(agent, tid, status, err) || scratch_make(agent, err))
		goto undo;
	return agent;
undo:
	agent_free(agent);
	return NULL;
}
