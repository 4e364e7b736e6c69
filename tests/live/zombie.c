/* zombie: its child has ended, and it waits for it only after a line. */
#include "handshake.h"
#include <sys/wait.h>

int main(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		_exit(3);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	say("ready %d", pid);
	told(NULL);
	waitpid(pid, NULL, 0);
	return 7;
}
