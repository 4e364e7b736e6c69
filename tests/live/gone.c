/* gone.c: variables that have no place in memory when this is compiled with -O2: what they were is in debug
 * information only. Those of the same names that have a place are volatile. */
static const int level = 5;
static int unused = 7;

__attribute__((noinline)) static int fill(int amount)
{
	static const int limit = 9;
	static volatile int kept;
	int local = amount * limit;

	for (int i = 0; i < 3; i++)
		kept = local;
	return kept + level;
}

__attribute__((noinline)) static int drain(int amount)
{
	static volatile int limit;
	volatile int place = amount;

	for (int i = 0; i < 4; i++)
		limit = place;
	return limit;
}

int main(void)
{
	int (*volatile pick)(int) = fill;

	unused++;
	return pick(2) == drain(3);
}
