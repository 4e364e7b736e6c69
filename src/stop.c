/* stop.c owns the decoding of wait statuses. With PTRACE_SEIZE the status alone tells
 * all stops apart ("Stopped states" in the manual page of ptrace; tests/vm/contract_life.c), so nothing here asks the kernel. */
#include "watchprof/stop.h"

#include "watchprof/util.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

HIT_PATH struct stop stop_decode(int status)
{
	static const struct {
		int event;
		enum stop_kind kind;
	} events[] = {
		{PTRACE_EVENT_CLONE, STOP_CLONE},
		{PTRACE_EVENT_FORK, STOP_FORK},
		{PTRACE_EVENT_VFORK, STOP_VFORK},
		{PTRACE_EVENT_EXEC, STOP_EXEC},
	};
	int event = status >> 16;

	if (WIFEXITED(status))
		return (struct stop){STOP_EXITED, WEXITSTATUS(status)};
	if (WIFSIGNALED(status))
		return (struct stop){STOP_KILLED, WTERMSIG(status)};
	if (!WIFSTOPPED(status))
		return (struct stop){STOP_OTHER, 0};
	if (event == 0 && WSTOPSIG(status) & 0x80)
		return (struct stop){STOP_CALL, 0}; /* PTRACE_O_TRACESYSGOOD */
	if (event == 0)
		return (struct stop){STOP_SIGNAL, WSTOPSIG(status)};
	if (event == PTRACE_EVENT_STOP) {
		/* A job-control stop carries its signal, everything else SIGTRAP. */
		if (WSTOPSIG(status) == SIGTRAP)
			return (struct stop){STOP_TRAPPED, 0};
		return (struct stop){STOP_GROUP, WSTOPSIG(status)};
	}
	for (unsigned i = 0; i < ARRAY_LEN(events); i++) {
		if (events[i].event == event)
			return (struct stop){events[i].kind, 0};
	}
	return (struct stop){STOP_OTHER, 0};
}
