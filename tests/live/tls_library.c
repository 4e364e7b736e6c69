/* tls_library.c: thread-local variables of a library, as compiled: LIBRARY_VAR names the variable, so that
 * the same code makes several libraries. */
#include "tls_library.h"

static __thread char padding[100]; /* so that the variable does not begin the block */
__thread int LIBRARY_VAR;

int LIBRARY_BUMP(int times)
{
	for (int i = 0; i < times; i++)
		LIBRARY_VAR = i;
	padding[99] = 1;
	return LIBRARY_VAR;
}
