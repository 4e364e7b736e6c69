/* circle.c: its dynamic linker's list of libraries is a circle. v is written 10 times. */
#include "handshake.h"

#include <link.h>

int v;

int main(void)
{
	struct link_map *last = _r_debug.r_map;

	while (last->l_next)
		last = last->l_next;
	last->l_next = _r_debug.r_map;
	say("ready");
	told(NULL);
	for (int i = 0; i < 10; i++)
		v = i;
	last->l_next = NULL;
	return 0;
}
