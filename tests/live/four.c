/* four: four variables of different sizes, written 10, 20, 30 and 40 times and read 5 times
 * each, and one struct too large to watch; neighbours are written and must not count. */
#include <stdint.h>

struct {
	volatile uint8_t before, a, after;
	volatile uint16_t b;
	volatile uint32_t c;
	volatile uint64_t d;
} four_unused; /* keeps the layout honest: never watched */

volatile uint8_t neighbour1, a, neighbour2;
volatile uint16_t b;
volatile uint32_t c;
volatile uint64_t d;
struct {
	volatile uint64_t word[5];
} large; /* 40 bytes */
volatile int fifth;
static volatile uint64_t sink;

__attribute__((noinline)) static void write_all(int round)
{
	neighbour1 = neighbour2 = 1;
	if (round < 10)
		a = (uint8_t)round;
	if (round < 20)
		b = (uint16_t)round;
	if (round < 30)
		c = (uint32_t)round;
	d = (uint64_t)round;
	large.word[round % 5] = 1;
	fifth = round;
}

__attribute__((noinline)) static void read_all(void)
{
	sink = a;
	sink = b;
	sink = c;
	sink = d;
}

int main(void)
{
	four_unused.a = 1;
	for (int round = 0; round < 40; round++)
		write_all(round);
	for (int round = 0; round < 5; round++)
		read_all();
	return 0;
}
