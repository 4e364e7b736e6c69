/* plugin.c: a library that is loaded at run time. Its constructor writes pv 3 times, plugin_write() so many
 * times, its destructor twice. where is filled in by a relocation, and written by nobody else. */
volatile int pv;
volatile int *volatile where = &pv;

__attribute__((constructor)) static void construct(void)
{
	for (int i = 0; i < 3; i++)
		pv = i;
}

__attribute__((destructor)) static void destruct(void)
{
	for (int i = 0; i < 2; i++)
		pv = i;
}

volatile int *plugin_write(int times)
{
	for (int i = 0; i < times; i++)
		pv = i;
	return where;
}
