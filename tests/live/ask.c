/* ask PATH COMMAND...: gives commands to a control socket, one after the other, and prints the answers.
 * It waits for the socket to come. Status 1: no answer came. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	FILE *in, *out;
	int byte;

	strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
	for (int i = 0; connect(fd, (struct sockaddr *)&address, sizeof(address)); i++) {
		if (i > 600 || (errno != ENOENT && errno != ECONNREFUSED)) {
			perror(argv[1]);
			return 1;
		}
		usleep(50000);
	}
	in = fdopen(dup(fd), "r");
	out = fdopen(fd, "w");
	for (int i = 2; i < argc; i++) {
		fprintf(out, "%s\n", argv[i]);
		fflush(out);
		do {
			byte = getc(in);
			if (byte == EOF)
				return 1;
			putchar(byte);
		} while (byte != '\n');
	}
	return 0;
}
