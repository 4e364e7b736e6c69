/* daemons MODE: makes a child, which makes a grandchild, which writes v 10 times. Meanwhile the child has ended,
 * and the first process has ended (exit) or executed sleep(1) (exec). */
#include <string.h>
#include <unistd.h>

volatile long v;

int main(int argc, char **argv)
{
	if (fork() == 0) {
		if (fork() == 0) {
			usleep(1000);
			for (int i = 0; i < 10; i++)
				v = i;
		}
		_exit(0);
	}
	if (argc > 1 && strcmp(argv[1], "exec") == 0)
		execlp("sleep", "sleep", "0.2", NULL);
	return argc > 1 && strcmp(argv[1], "exec") == 0;
}
