/* unignore COMMAND...: run a command with default signal dispositions: a shell starts
 * background jobs with SIGINT and SIGQUIT ignored, and nohup(1) all with SIGHUP. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)argc;
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	execvp(argv[1], argv + 1);
	perror("unignore");
	return 127;
}
