/* twins_a: one of two files that each have a static variable of the same name. */
static volatile int counter;
void bump_a(void);
void bump_b(void);

void bump_a(void)
{
	counter++;
}

int main(void)
{
	for (int i = 0; i < 10; i++)
		bump_a();
	for (int i = 0; i < 20; i++)
		bump_b();
	return 0;
}
