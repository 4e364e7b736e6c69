/* unique.cc: a variable that is one in the whole process, however many libraries have it (STB_GNU_UNIQUE),
 * and one that each library has for itself. Built as two libraries and as the program that loads them, each
 * with RTLD_LOCAL, in the order of its arguments. -DUSES: the program has the variable, too. */
#include <dlfcn.h>

#if defined(BUMP) || defined(USES)
namespace depot
{
inline volatile int shared;
#ifdef BUMP
static volatile int own;
#endif
}
#endif

#ifdef BUMP
extern "C" void BUMP()
{
	for (int i = 0; i < TIMES; i++) {
		depot::shared = depot::shared + 1;
		depot::own = depot::own + 1;
	}
}
#else
int main(int, char **argv)
{
	const char *const names[] = {"first_bump", "second_bump"};
	void *handles[2];

	for (int i = 0; argv[1] && argv[i + 1]; i++)
		handles[i] = dlopen(argv[i + 1], RTLD_NOW | RTLD_LOCAL);
	for (int i = 0; argv[1] && argv[i + 1]; i++) {
		for (const char *name : names) {
			void *bump = dlsym(handles[i], name);

			if (bump)
				reinterpret_cast<void (*)()>(bump)();
		}
	}
#ifdef USES
	for (int i = 0; i < 5; i++)
		depot::shared = depot::shared + 1;
#endif
	return 0;
}
#endif
