/* expr_c: objects that only an expression reaches. Each is written a number of times of its own, at
 * -O0: one write each. It says where the heap objects are, and begins when it is told to. */
#include "expr_c.h"
#include "handshake.h"

#include <stdlib.h>

enum color { RED, GREEN = 7 };

struct part {
	int a;
	union {
		int u;
		float f;
	};
	struct {
		short s1, s2;
	};
};

typedef struct node {
	struct node *next;
	long val;
	struct part parts[3];
	unsigned b1 : 1, b2 : 3, b3 : 12;
	enum color color;
	double d;
} node_t;

struct flexible {
	int n;
	short data[];
};

struct trailing {
	int n;
	int last[1];
};

node_t tree;
static volatile node_t third;
node_t *head;
node_t *const *const to_head = &head;
void *any;
void *nowhere = (void *)0x10;
node_t *nothing;
volatile int matrix[3][4];
volatile node_t *table[3];
struct flexible *flexible;
struct trailing *trailing;
volatile char name[16];
int counts[5] = {1, 2, 3, 4, 5};

static volatile struct {
	int a, b;
} hidden;

static void step(void)
{
	static volatile struct {
		int calls, other;
	} tally;

	tally.calls++;
	tally.other = 1;
}

static void touch(void)
{
	volatile node_t *r = &tree, *h = head;
	volatile struct flexible *f = flexible;
	volatile struct trailing *t = trailing;

	TIMES(3, r->val = times);
	TIMES(4, r->parts[2].u = times);
	TIMES(5, r->parts[1].s2 = (short)times);
	TIMES(6, r->b2 = times & 7);
	TIMES(7, r->color = GREEN);
	TIMES(8, h->val = times);
	TIMES(9, third.parts[1].f = (float)times);
	TIMES(10, third.next = NULL);
	TIMES(11, matrix[1][2] = times);
	TIMES(12, matrix[2][3] = times);
	TIMES(13, f->data[5] = (short)times);
	TIMES(14, t->last[3] = times);
	opaque_touch(15);
	TIMES(16, table[1]->d = times);
	TIMES(17, name[3] = 'x');
	TIMES(18, hidden.b = times);
	TIMES(19, step());
	hidden_touch();
}

int main(void)
{
	head = calloc(1, sizeof(*head));
	head->next = (node_t *)&third;
	third.next = &tree;
	any = head;
	table[1] = head->next;
	flexible = calloc(1, 64);
	trailing = calloc(1, 64);
	say("head %p", (void *)head);
	say("ready");
	if (!told(NULL))
		return 1;
	touch();
	return 0;
}
