/* names_library: a library, which comes before the program by path and by address or not; its
 * static has the name of one of the program's. */
static volatile int shade;
void beside(void);

void beside(void)
{
	shade++;
}
