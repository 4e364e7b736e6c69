/* bare.c: calls functions without unwind tables, written by hand (bare_*.S). */
volatile int plain, lined, nameless;
volatile char area[8];

void plain_function(void);
void lined_label(void);
void nameless_label(void);
void fill_label(void);

int main(void)
{
	for (int i = 0; i < 3; i++) {
		plain_function();
		lined_label();
		nameless_label();
	}
	fill_label();
	return 0;
}
