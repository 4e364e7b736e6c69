/* names_left: built without debug info; names_right has a variable of the same name. */
static volatile int side;
void left(void);

void left(void)
{
	for (int i = 0; i < 10; i++)
		side++;
}
