/* twins_b: the other file. */
static volatile int counter;
void bump_b(void);

void bump_b(void)
{
	counter++;
}
