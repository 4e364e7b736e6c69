/* bare.c: calls functions without unwind tables, written by hand (bare_*.S). */
volatile int plain, lined, nameless;

void plain_function(void);
void lined_label(void);
void nameless_label(void);

int main(void)
{
	for (int i = 0; i < 3; i++) {
		plain_function();
		lined_label();
		nameless_label();
	}
	return 0;
}
