/* hold PID: traces a process, as a debugger does, until its input ends. */
#include "handshake.h"
#include <stdlib.h>
#include <sys/ptrace.h>

int main(int argc, char **argv)
{
	if (argc < 2 || ptrace(PTRACE_SEIZE, atoi(argv[1]), NULL, NULL))
		return 1;
	say("holding");
	told(NULL);
	return 0;
}
