/* restorer.c installs a signal handler whose restorer has no unwind rules. */
#include "restorer.h"

#include <sys/syscall.h>
#include <unistd.h>

#define SA_RESTORER 0x04000000

void bare_restorer(void);
__asm__(".text\n"
	".type bare_restorer, @function\n"
	"bare_restorer:\n"
	"	mov $15, %rax\n"
	"	syscall\n"
	".size bare_restorer, . - bare_restorer\n");

int restorer_install(int sig, void (*handler)(int))
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = {handler, SA_RESTORER, bare_restorer, 0};

	return (int)syscall(SYS_rt_sigaction, sig, &action, NULL, sizeof(action.mask));
}
