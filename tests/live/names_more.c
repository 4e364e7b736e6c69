/* names_more: a variable whose plain name is only the end of a name in names.cc. */
volatile int level;
void more(void);

void more(void)
{
	for (int i = 0; i < 20; i++)
		level++;
}
