/* heirs N: N children, one after the other; each finds 7 in v and writes 7 8 8, its parent 7 9 7. So two of
 * three writes of the parent, and one of three of each child, change it. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long v = 7;

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < n; i++) {
		if (fork() == 0) {
			v = 7;
			v = 8;
			v = 8;
			_exit(0);
		}
		v = 7;
		v = 9;
		v = 7;
		if (wait(NULL) < 0)
			return 1;
	}
	return 0;
}
