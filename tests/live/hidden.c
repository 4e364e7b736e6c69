/* hidden: makes itself untraceable for other users, even for its own one (prctl(2), PR_SET_DUMPABLE). */
#include "handshake.h"
#include <sys/prctl.h>

volatile long counter;

int main(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	say("ready");
	told(NULL);
	return 7;
}
