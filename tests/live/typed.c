/* typed.c: writes values of many types, a few each. */
#include <stdbool.h>

enum state { STATE_IDLE, STATE_BUSY = 4, STATE_GONE = -1 };

struct flags {
	unsigned low : 3;
	signed middle : 5;
	unsigned high : 8;
};

volatile int balance;
volatile unsigned char octet;
volatile short small;
volatile enum state state;
volatile double rate;
volatile float share;
volatile long double wide;
volatile bool is_open;
char title[16];
const char *volatile text;
void (*volatile handler)(void);
volatile struct flags flags;
int numbers[8];

__attribute__((noinline)) static void handle(void)
{
}

int main(void)
{
	for (int i = -2; i <= 2; i++)
		balance = i * 1000;
	octet = 200;
	small = -200;
	state = STATE_BUSY;
	state = (enum state)7;
	state = STATE_GONE;
	for (int i = 0; i < 4; i++) {
		rate = i * 0.75 - 1;
		share = (float)i / 8;
	}
	wide = 0.1L;
	is_open = true;
	*(volatile char *)&title[0] = 'a';
	*(volatile char *)&title[1] = '"';
	*(volatile char *)&title[2] = '\t';
	text = &title[2];
	text = (const char *)&numbers[3];
	handler = handle;
	handler = (void (*)(void))0x1234;
	flags.low = 5;
	flags.middle = -3;
	flags.high = 200;
	return 0;
}
