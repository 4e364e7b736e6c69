/* cutoff LIBRARY: the function through() of the library calls back into the program, which cuts the library's file off to
 * nothing and writes v ten times (once before that). Then it ends, without a step back into the library. */
#ifdef IN_LIBRARY
/* Symbols and unwind rules lie far behind the code. */
const char padding[1 << 20] = {1};

void through(void (*function)(void))
{
	function();
	function = 0; /* no tail call */
}
#else
#include <dlfcn.h>
#include <unistd.h>

volatile int v;
static const char *library;

static void cut(void)
{
	if (truncate(library, 0))
		_exit(1);
	for (int i = 1; i <= 10; i++)
		v = i;
	_exit(7);
}

int main(int argc, char **argv)
{
	void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*through)(void (*)(void)) = handle ? (void (*)(void (*)(void)))dlsym(handle, "through") : NULL;

	if (!through)
		return 2;
	library = argv[1];
	v = -1; /* from now on watchprof knows the library */
	through(cut);
	return 3;
}
#endif
