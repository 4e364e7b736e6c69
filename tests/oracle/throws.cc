// throws.cc is stepped by the oracle: C++ exceptions through frames with and without something to
// clean up, rethrown and nested.
#include <cstdio>
#include <stdexcept>
#include <string>

#define NOINLINE __attribute__((noinline))

static volatile long sum;

struct guard {
	explicit guard(long n) : n(n) {}
	~guard() { sum += n; }
	long n;
};

NOINLINE static void thrower(int n)
{
	if (n == 1)
		throw std::runtime_error("one");
	if (n == 2)
		throw n;
	sum += n;
}

NOINLINE static void middle(int n)
{
	guard held(n);
	std::string text(40, 'x');

	thrower(n);
	sum += static_cast<long>(text.size());
}

NOINLINE static void plain(int n)
{
	middle(n);
	sum++;
}

NOINLINE static int again(int n)
{
	try {
		plain(n);
	} catch (const std::exception &) {
		sum += 10;
		throw;
	}
	return 0;
}

int main()
{
	for (int n = 0; n < 3; n++) {
		try {
			again(n);
		} catch (const std::exception &error) {
			sum += error.what()[0];
		} catch (int number) {
			sum += number;
		}
	}
	std::printf("# sum %ld\n", sum);
	return 0;
}
