/* expr_c.h: what the two units of expr-c share. `struct opaque` is declared here and defined in
 * expr_more.c alone. */
#define TIMES(n, statement)                                                                        \
	for (int times = 0; times < (n); times++)                                                  \
	statement

struct opaque;
extern struct opaque *opaque;
void opaque_touch(int n);
void hidden_touch(void);
