/* versions_library: two versions of one variable, the second the default one; a variable that has old versions
 * only; two versions at one address. Writes each of them another number of times. */
volatile int stock_1, stock_2, relic_1, relic_2;
volatile int bin[2];
extern volatile int bin_1 __attribute__((alias("bin")));

__asm__(".symver stock_1, stock@V1");
__asm__(".symver stock_2, stock@@@V2"); /* so that the library, too, uses a program's copy */
__asm__(".symver relic_1, relic@V1");
__asm__(".symver relic_2, relic@V2");
__asm__(".symver bin_1, tray@V1");
__asm__(".symver bin, tray@@V2");

void library_bump(void)
{
	for (int i = 0; i < 3; i++)
		stock_1 = i;
	for (int i = 0; i < 5; i++)
		stock_2 = i;
	for (int i = 0; i < 7; i++)
		relic_1 = i;
	for (int i = 0; i < 9; i++)
		relic_2 = i;
	for (int i = 0; i < 11; i++)
		bin[0] = i;
	for (int i = 0; i < 13; i++)
		bin[1] = i;
}
