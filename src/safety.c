/* safety.c owns the disposition of SIGSEGV in a tracee and the table that our code there goes by.
 * It protects and opens no page itself. */
#include "watchprof/safety.h"

#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define KERNEL_RESTORER 0x04000000 /* SA_RESTORER of the kernel, which libc hides */
#define KERNEL_SIGSET   8          /* bytes of its signal sets */
/* Our handler wants no other one above it, and a thread's own signal stack, as its stack may be
 * what is protected. */
#define OUR_FLAGS ((uint64_t)SA_SIGINFO | SA_ONSTACK | KERNEL_RESTORER)

struct safety {
	struct agent *agent;
	uint64_t table; /* where it lies in the tracee */
	uint64_t which; /* the list in force */
	unsigned n_aside;
};

static int table_write(const struct safety *safety, size_t offset, const void *data, size_t len)
{
	ssize_t n = sys_memory_force_write(
		agent_memory(safety->agent), safety->table + offset, data, len);

	return n == (ssize_t)len ? 0 : -ESRCH;
}

#define TABLE_WRITE(safety, field, value)                                                          \
	table_write(safety, offsetof(struct safety_table, field), value,                           \
		sizeof(((struct safety_table *)0)->field))

/* rt_sigaction(SIGSEGV): with the fields of the table at these offsets; 0: none. */
static int action_set(const struct safety *safety, size_t in, size_t out)
{
	const uint64_t args[6] = {
		SIGSEGV, safety->table + in, out ? safety->table + out : 0, KERNEL_SIGSET};
	int64_t result;
	int failure = agent_call(safety->agent, SYS_rt_sigaction, args, &result);

	return failure ? failure : (int)result;
}

static bool is_function(uint64_t handler)
{
	return handler != (uint64_t)(uintptr_t)SIG_DFL && handler != (uint64_t)(uintptr_t)SIG_IGN;
}

/* Ours in force; the program's goes to the table in the same call. Whether calls that somebody's
 * SIGSEGV interrupts are started again is for the program's own flags to say. */
static int action_install(struct safety *safety)
{
	static const size_t ours_at = offsetof(struct safety_table, ours),
			    wanted_at = offsetof(struct safety_table, wanted);
	const uint64_t code = agent_code_at(safety->agent), installed = 1;
	struct safety_action ours = {
		.handler = code + (uint64_t)(agent_code_handler - agent_code),
		.flags = OUR_FLAGS | SA_RESTART,
		.restorer = code + (uint64_t)(agent_code_restorer - agent_code),
		.mask = UINT64_MAX,
	};
	struct safety_action wanted;
	int failure = TABLE_WRITE(safety, ours, &ours);

	if (!failure)
		failure = action_set(safety, ours_at, wanted_at);
	if (failure)
		return failure;
	if (sys_memory_force_read(agent_memory(safety->agent), safety->table + wanted_at,
		    &wanted, sizeof(wanted)) != sizeof(wanted))
		return -ESRCH;
	if (is_function(wanted.handler) && !(wanted.flags & SA_RESTART)) {
		ours.flags = OUR_FLAGS;
		failure = TABLE_WRITE(safety, ours, &ours);
		if (!failure)
			failure = action_set(safety, ours_at, 0);
	}
	return failure ? failure : TABLE_WRITE(safety, is_installed, &installed);
}

static int action_restore(const struct safety *safety)
{
	const uint64_t installed = 0;
	int failure = action_set(safety, offsetof(struct safety_table, wanted), 0);

	return failure ? failure : TABLE_WRITE(safety, is_installed, &installed);
}

struct safety *safety_new(struct agent *agent, struct err *err)
{
	struct safety *safety = mem_new(1, sizeof(*safety));
	int failure;

	safety->agent = agent;
	safety->table = agent_code_at(agent) + AGENT_CODE_SIZE;
	failure = action_install(safety);
	if (!failure)
		return safety;
	free(safety);
	err_set(err, "cannot set a handler in the process: %s", strerror(-failure));
	return NULL;
}

void safety_free(struct safety *safety)
{
	if (safety && safety->n_aside == 0)
		action_restore(safety);
	free(safety);
}

int safety_ranges_set(struct safety *safety, const struct safety_range *ranges, size_t n)
{
	const uint64_t which = !safety->which, count = n;
	const size_t list =
		offsetof(struct safety_table, lists) + which * sizeof(struct safety_list);
	int failure;

	if (n > SAFETY_RANGES_MAX)
		return -E2BIG;
	failure = n ? table_write(safety, list + offsetof(struct safety_list, ranges), ranges,
			      n * sizeof(*ranges))
		    : 0;
	if (!failure)
		failure = table_write(
			safety, list + offsetof(struct safety_list, n), &count, sizeof(count));
	if (!failure)
		failure = TABLE_WRITE(safety, which, &which);
	if (!failure)
		safety->which = which;
	return failure;
}

int safety_breakpoints_set(struct safety *safety, const struct safety_breakpoint *breakpoints, size_t n)
{
	const uint64_t none = 0, count = n;
	int failure;

	if (n > SAFETY_BREAKPOINTS_MAX)
		return -E2BIG;
	failure = TABLE_WRITE(safety, n_breakpoints, &none);
	if (!failure && n)
		failure = table_write(
			safety, offsetof(struct safety_table, breakpoints), breakpoints, n * sizeof(*breakpoints));
	return failure ? failure : TABLE_WRITE(safety, n_breakpoints, &count);
}

void safety_open(struct safety *safety)
{
	const int memory = agent_memory(safety->agent);
	struct safety_range range;
	uint64_t which, n, list;

	/* Which it is the table tells: the change of it may have been what was under way. */
	if (sys_memory_force_read(memory, safety->table + offsetof(struct safety_table, which), &which, sizeof(which)) !=
		sizeof(which))
		return;
	list = safety->table + offsetof(struct safety_table, lists) + (which & 1) * sizeof(struct safety_list);
	if (sys_memory_force_read(memory, list + offsetof(struct safety_list, n), &n, sizeof(n)) != sizeof(n))
		return;
	for (uint64_t i = 0; i < n && i < SAFETY_RANGES_MAX; i++) {
		uint64_t at = list + offsetof(struct safety_list, ranges) + i * sizeof(range);

		if (sys_memory_force_read(memory, at, &range, sizeof(range)) == sizeof(range))
			agent_protect(safety->agent, range.start, range.len, (int)range.prot);
	}
}

int safety_aside(struct safety *safety)
{
	return safety->n_aside++ ? 0 : action_restore(safety);
}

int safety_back(struct safety *safety)
{
	return --safety->n_aside ? 0 : action_install(safety);
}
