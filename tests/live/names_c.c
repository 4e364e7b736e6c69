/* names_c: statics of functions, functions that a compiler has specialised (their symbols are
 * given here, so that no compiler has to be talked into it), and names that are close. With an
 * argument it waits for a line on its input first. */
#include <stdio.h>

void left(void);
void right(void);
void beside(void);

volatile int ab, Xy;
volatile int kettle, kettles, kitten;

static int restock(int n) __asm__("restock.constprop.0");
static int restock_cold(int n) __asm__("restock.constprop.0.cold");
static int refill(int n) __asm__("refill.constprop.0");
static int refill_other(int n) __asm__("refill.isra.1");
static int remnant(int n) __asm__("remnant.part.0");

static volatile int shade;

static int restock(int n)
{
	return n + 1;
}

static int restock_cold(int n)
{
	return n + 2;
}

static int refill(int n)
{
	return n + 3;
}

static int refill_other(int n)
{
	return n + 4;
}

static int remnant(int n)
{
	return n + 5;
}

static void a(void)
{
	static volatile int n;

	n++;
}

static void b(void)
{
	static volatile int n;

	n++;
}

#define MANY                                                                                       \
	{                                                                                          \
		static volatile int many;                                                          \
		many++;                                                                            \
	}

static void crowd(void)
{
	MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY
}

int main(int argc, char **argv)
{
	int sum = 0;

	(void)argv;
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	for (int i = 0; i < 3; i++)
		a();
	for (int i = 0; i < 5; i++)
		b();
	for (int i = 0; i < 6; i++)
		sum += restock(i);
	sum += restock_cold(1) + refill(1) + refill_other(1) + remnant(1);
	crowd();
	left();
	right();
	beside();
	ab = Xy = kettle = kettles = kitten = shade = sum;
	return sum == 0;
}
