/* scopes.cc: names in scopes that C++ lets out: inline and unnamed namespaces, and the same names in others.
 * Each variable is written another number of times. */
namespace ns
{
inline namespace v1
{
volatile int x;
volatile int y;
struct part {
	long left, right;
	static volatile int made;
};
volatile int part::made;
__attribute__((noinline)) int count(int n)
{
	static volatile int calls;

	return calls += n;
}
inline namespace deep
{
volatile int bottom;
}
}
namespace v2
{
volatile int z;
volatile int x;
}
namespace
{
volatile int unnamed;
namespace inner
{
volatile int unnamed_too;
}
}
}

namespace other
{
namespace ns
{
volatile int y;
}
}

namespace
{
volatile int x;
volatile int hidden;
}

class counter
{
      public:
	static volatile int n;
	struct nested {
		static volatile int n;
		inline static volatile int in_class;
	};
};
volatile int counter::n;
volatile int counter::nested::n;

ns::part piece;

int main()
{
	void *volatile any = &piece;

	for (int i = 0; i < 3; i++)
		ns::x = i;
	for (int i = 0; i < 4; i++)
		ns::y = i;
	for (int i = 0; i < 5; i++)
		ns::part::made = i;
	for (int i = 0; i < 6; i++)
		ns::count(1);
	for (int i = 0; i < 7; i++)
		ns::bottom = i;
	for (int i = 0; i < 8; i++)
		ns::v2::z = i;
	for (int i = 0; i < 9; i++)
		ns::v2::x = i;
	for (int i = 0; i < 10; i++)
		ns::unnamed = i;
	for (int i = 0; i < 11; i++)
		ns::inner::unnamed_too = i;
	for (int i = 0; i < 12; i++)
		other::ns::y = i;
	for (int i = 0; i < 13; i++)
		x = i;
	for (int i = 0; i < 14; i++)
		hidden = i;
	for (int i = 0; i < 15; i++)
		counter::n = i;
	for (int i = 0; i < 16; i++)
		counter::nested::n = i;
	for (int i = 0; i < 17; i++)
		counter::nested::in_class = i;
	for (int i = 0; i < 18; i++)
		piece.right = i;
	return any == nullptr;
}
