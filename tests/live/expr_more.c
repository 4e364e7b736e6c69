/* expr_more: the second unit of expr-c: a type that the first one does not know, and a static of
 * the name of one of its own. */
#include "expr_c.h"

struct opaque {
	long padding[3];
	volatile int secret;
};

static struct opaque the_opaque;
struct opaque *opaque = &the_opaque;

static volatile struct {
	int a, b;
} hidden;

void opaque_touch(int n)
{
	TIMES(n, opaque->secret = times);
}

void hidden_touch(void)
{
	TIMES(21, hidden.b = times);
}
