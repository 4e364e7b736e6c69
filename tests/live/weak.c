/* weak.c: a weak and (-DSTRONG) a strong definition of one variable, linked into one program, and a variable
 * with a weak second name. */
#ifdef STRONG
volatile int both = 1;

void strong_bump(void)
{
	for (int i = 0; i < 4; i++)
		both = i;
}
#else
__attribute__((weak)) volatile int both;
volatile int full;
extern volatile int nick __attribute__((weak, alias("full")));
void strong_bump(void);

int main(void)
{
	strong_bump();
	for (int i = 0; i < 3; i++)
		both = i;
	for (int i = 0; i < 2; i++)
		full = nick = i;
	return 0;
}
#endif
