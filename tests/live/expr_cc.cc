/* expr_cc: objects that only C++ has: bases, references, static members, inline and template
 * variables, unnamed namespaces. Built without its library; each is written a number of times of
 * its own. */
#include "expr_c.h"

#include "handshake.h"

struct base {
	volatile int a, b;
	static volatile int made;
};
volatile int base::made;

struct other {
	volatile int a;
};

struct remote {
	volatile int v;
};

volatile int referred;

struct derived : base, other, virtual remote {
	volatile int c;
	volatile int &ref;
	derived() : ref(referred) {}
};

template <class T> struct box {
	volatile T value;
	static volatile T total;
	inline static volatile T inlined;
	box<T *> *next;
};
template <class T> volatile T box<T>::total;

template <class T> volatile T variable;

inline volatile int inline_variable;

namespace ns
{
namespace
{
struct {
	volatile int x, y;
} unnamed;
}
struct outer {
	struct inner {
		volatile short q[4];
	} in;
} nested;
}

derived object;
derived *pointer = &object;
volatile int &reference = referred;
box<int> of_int;
box<long> of_long;

static int count(int)
{
	static volatile struct {
		int calls;
	} tally;

	return tally.calls = 1;
}

int main()
{
	say("ready");
	if (!told(nullptr))
		return 1;
	TIMES(3, object.base::a = times);
	TIMES(4, object.b = times);
	TIMES(5, object.other::a = times);
	TIMES(6, object.c = times);
	TIMES(7, referred = times);
	TIMES(8, base::made = times);
	TIMES(9, of_int.value = times);
	TIMES(10, box<int>::total = times);
	TIMES(11, box<long>::total = times);
	TIMES(12, box<int>::inlined = times);
	TIMES(13, variable<int> = (times));
	TIMES(14, variable<short> = (short)times);
	TIMES(15, inline_variable = times);
	TIMES(16, ns::unnamed.y = times);
	TIMES(17, ns::nested.in.q[2] = (short)times);
	TIMES(18, count(times));
	TIMES(19, of_long.value = times);
	return 0;
}
