/* sendsig NAME PID: kill(1) for a process that a background shell job started with SIGINT
 * and SIGQUIT ignored; see unignore. Only sends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	for (int sig = 1; argc == 3 && sig < NSIG; sig++) {
		const char *name = sigabbrev_np(sig);

		if (name && strcmp(name, argv[1]) == 0)
			return kill(atoi(argv[2]), sig) ? 1 : 0;
	}
	fprintf(stderr, "sendsig: bad arguments\n");
	return 2;
}
