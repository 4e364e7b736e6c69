/* stage2: what stage1 executes: it has a v of its own, at another address, writes it 7 times and exits
 * with 4. With OTHER its variable has another name. */
#ifdef OTHER
#define v w
#endif
volatile char before_v[4096] = {1};
volatile long v = 1;

__attribute__((noinline)) static void late(void)
{
	for (int i = 0; i < 7; i++)
		v = i;
}

int main(void)
{
	late();
	return 4;
}
