/* values.c: writes that change a variable and writes that do not, reads that find what nobody here wrote. */
#include <sys/mman.h>
#include <unistd.h>

volatile int phase;
volatile unsigned char wide[16] __attribute__((aligned(16)));
volatile long outside;

__attribute__((noinline)) static void store(int value)
{
	__asm__ volatile("movl %1, %0" : "=m"(phase) : "r"(value));
}

__attribute__((noinline)) static void fill(void)
{
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n\tmovdqa %%xmm0, %0" : "=m"(wide) : : "xmm0");
}

__attribute__((noinline)) static void look(void)
{
	long value;

	__asm__ volatile("mov %1, %0" : "=r"(value) : "m"(outside));
}

/* By the kernel: no hit. */
static void change(int memory, long value)
{
	if (pwrite(memory, &value, sizeof(value), 0) != sizeof(value) ||
		pread(memory, (void *)&outside, sizeof(outside), 0) != sizeof(outside))
		_exit(3);
}

int main(void)
{
	int memory = memfd_create("values", 0);

	/* Every second store writes the value that is there: 1 1 2 2 ... 30 30. */
	for (int i = 2; i < 62; i++)
		store(i / 2);
	fill();
	fill();
	look();
	look();
	change(memory, 7);
	look();
	look();
	change(memory, 8);
	change(memory, 9);
	look();
	return 0;
}
