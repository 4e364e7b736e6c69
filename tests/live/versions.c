/* versions: a program that is linked to the default version of a library's variable, or (-DOLD) to the old one.
 * By the default code model it has a copy of the variable; with -fPIC it has none. */
extern volatile int stock;
void library_bump(void);

#ifdef OLD
__asm__(".symver stock, stock@V1");
#endif

int main(void)
{
	library_bump();
	for (int i = 0; i < 20; i++)
		stock = i;
	return 0;
}
