/* bits32: a 32-bit program without any library: says "ready", waits for input, writes v 10 times and exits
 * with 7. */
volatile int v;

static int call(int number, int a, const void *b, int c)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "0"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}

void _start(void)
{
	static char line[8];

	call(4, 1, "ready\n", 6);
	call(3, 0, line, 1);
	for (int i = 0; i < 10; i++)
		v = i;
	call(1, 7, 0, 0);
}
