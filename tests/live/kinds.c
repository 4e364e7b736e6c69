/* kinds.c: reads, writes and both, by instructions that are known, each a number of times that no
 * other one has. */
volatile int cell;
volatile int both[2] __attribute__((aligned(8)));
struct {
	volatile long first, second;
} pair __attribute__((aligned(16)));
volatile long source, copy;

__attribute__((noinline)) static void reader(void)
{
	int value;

	__asm__ volatile("mov %1, %0" : "=r"(value) : "m"(cell));
}

__attribute__((noinline)) static void writer(void)
{
	__asm__ volatile("movl $5, %0" : "=m"(cell));
}

__attribute__((noinline)) static void changer(void)
{
	__asm__ volatile("lock incl %0" : "+m"(cell));
}

__attribute__((noinline)) static void write_first(void)
{
	__asm__ volatile("movl $1, %0" : "=m"(both[0]));
}

__attribute__((noinline)) static void read_second(void)
{
	int value;

	__asm__ volatile("mov %1, %0" : "=r"(value) : "m"(both[1]));
}

__attribute__((noinline)) static void write_both(void)
{
	__asm__ volatile("movq $1, %0" : "=m"(both));
}

/* Two slots, no piece of which lies in the other. */
__attribute__((noinline)) static void write_pair(void)
{
	__asm__ volatile("pxor %%xmm0, %%xmm0\n\tmovdqa %%xmm0, %0" : "=m"(pair) : : "xmm0");
}

__attribute__((noinline)) static void read_pair(void)
{
	__asm__ volatile("movdqa %0, %%xmm0" : : "m"(pair) : "xmm0");
}

/* Reads one variable and writes the other. */
__attribute__((noinline)) static void copies(void)
{
	const volatile long *from = &source;
	volatile long *to = &copy;

	__asm__ volatile("movsq" : "+S"(from), "+D"(to) : : "memory");
}

static void times(int n, void (*function)(void))
{
	while (n-- > 0)
		function();
}

int main(void)
{
	times(100, reader);
	times(40, writer);
	times(7, changer);
	times(3, write_first);
	times(2, read_second);
	times(5, write_both);
	times(11, write_pair);
	times(6, read_pair);
	times(9, copies);
	return 0;
}
