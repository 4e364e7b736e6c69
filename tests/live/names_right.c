/* names_right: built without debug info; names_left has a variable of the same name. */
static volatile int side;
void right(void);

void right(void)
{
	for (int i = 0; i < 30; i++)
		side++;
}
