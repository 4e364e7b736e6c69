/* order.c [LIBRARY]...: calls a_bump() and b_bump() of the libraries that it is linked with; or, built with LATE,
 * of those that are named. With DIRECT it writes v itself, too, 5 times. */
#include <dlfcn.h>
#include <stddef.h>

int a_bump(void), b_bump(void);
extern int v;

#ifdef DIRECT
static void direct(void)
{
	for (int i = 0; i < 5; i++)
		v = i;
}
#endif

int main(int argc, char **argv)
{
#ifdef LATE
	static const char *const names[] = {"a_bump", "b_bump"};

	for (int i = 1; i < argc && i < 3; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		int (*bump)(void) = library ? (int (*)(void))dlsym(library, names[i - 1]) : NULL;

		if (!bump)
			return 1;
		bump();
	}
#else
	(void)argc, (void)argv;
	a_bump();
	b_bump();
#endif
#ifdef DIRECT
	direct();
#endif
	return 0;
}
