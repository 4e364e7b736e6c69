/* same: one of two files (the other with SECOND) that each have a static function of the same name; both
 * write one variable, 10 and 20 times. */
#ifdef SECOND
#define ENTRY second
#define TIMES 20
#else
#define ENTRY first
#define TIMES 10
#endif
extern volatile int v;
void first(void);
void second(void);

static __attribute__((noinline)) void bump(void)
{
	v++;
}

void ENTRY(void)
{
	for (int i = 0; i < TIMES; i++)
		bump();
}

#ifndef SECOND
volatile int v;

int main(void)
{
	first();
	second();
	return 0;
}
#endif
