/* offspring: has a child, then waits for a line; then it writes b 5 times, and its child a 3 times and b 10 times. */
#include "handshake.h"

#include <sys/wait.h>

volatile long a, b;

static int child(int go)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < 10; i++)
		b++;
	for (int i = 0; i < 3; i++)
		a++;
	return 0;
}

int main(void)
{
	int go[2];
	char byte;

	if (pipe(go))
		return 1;
	if (fork() == 0) {
		close(go[1]);
		_exit(child(go[0]));
	}
	say("ready");
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < 5; i++)
		b++;
	if (write(go[1], "", 1) != 1)
		return 1;
	wait(NULL);
	return 0;
}
