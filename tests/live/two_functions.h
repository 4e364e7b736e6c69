/* two_functions: the counter and its two writers, in the program or in a library. */
#ifdef PADDED
volatile char before[4096];
#endif
volatile int counter;
void f(void);
void g(void);

__attribute__((noinline)) void f(void)
{
	counter++;
}

__attribute__((noinline)) void g(void)
{
	counter += 2;
}
