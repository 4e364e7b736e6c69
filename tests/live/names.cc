/* names.cc: names that only C++ makes: scopes, parameters, templates, operators. Built without
 * its library. `level` is also a variable of names_more.c, where it is the exact name. */
extern "C" void more(void);

int count();
int pick(int);
int pick(long);

namespace ns
{
volatile int level;

__attribute__((noinline)) int count()
{
	return level += 2;
}

int deep()
{
	static volatile int depth;
	return ++depth;
}

struct coin {
	int value;
	bool operator<(const coin &other) const
	{
		return value < other.value;
	}
	coin(int n) : value(n) {}
};
}

namespace
{
volatile int hidden;
}

template <class T> struct box {
	static volatile T total;
	static T add(T n)
	{
		return total += n;
	}
};
template <class T> volatile T box<T>::total;

template <class T, class U> struct pair {
	static int f(T, U)
	{
		return 1;
	}
};

template <class T> T twice(T n)
{
	return n + n;
}

int count()
{
	return 1;
}

int pick(int n)
{
	return n;
}

int pick(long n)
{
	return n > 0;
}

int main()
{
	int sum = 0;

	for (int i = 0; i < 3; i++)
		sum += count() + ns::deep();
	for (int i = 0; i < 4; i++)
		sum += ns::count();
	for (int i = 0; i < 5; i++)
		sum += pick(1);
	for (int i = 0; i < 6; i++)
		sum += pick(1L) + (hidden = i);
	for (int i = 0; i < 7; i++)
		sum += pair<int, long>::f(i, i) + box<int>::add(1);
	for (int i = 0; i < 8; i++)
		sum += pair<long, pair<int, long> *>::f(i, 0) + box<long>::add(1);
	for (int i = 0; i < 9; i++)
		sum += ns::coin(i) < ns::coin(sum);
	for (int i = 0; i < 10; i++)
		sum += twice(i);
	sum += twice(1L);
	more();
	return sum == 0;
}
