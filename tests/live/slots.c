/* slots: for each line it writes a once, b twice, c 3 times, d 4 times, and the last member of s 5 and of t 6
 * times, and says so; it exits with 7 at the end of input. s and t have 24 bytes, table is constant. */
#include "handshake.h"

struct triple {
	volatile long first, middle, last;
};

volatile long a, b, c, d;
struct triple s, t;
const long table[4] = {1, 2, 3, 4};

__attribute__((noinline)) static void write_all(int i)
{
	volatile long *const singles[] = {&a, &b, &c, &d, &s.last, &t.last};

	for (int n = 0; n < 6; n++) {
		if (i <= n)
			*singles[n] = i;
	}
}

int main(void)
{
	say("ready");
	for (int n = 1; told(NULL); n++) {
		for (int i = 0; i < 6; i++)
			write_all(i);
		say("done %d", n);
	}
	return 7;
}
