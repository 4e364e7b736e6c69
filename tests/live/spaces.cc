/* spaces: inlined functions of C++ in namespaces. clang describes a function inside its namespace, gcc outside. */
namespace outer_space {
namespace inner_space {
volatile int v;

static inline __attribute__((always_inline)) void inner(int i)
{
	v = i;
}

__attribute__((noinline)) void outer(int n)
{
	for (int i = 0; i < n; i++)
		inner(i);
}
} // namespace inner_space
} // namespace outer_space

int main()
{
	outer_space::inner_space::outer(40);
	return 0;
}
