// tls.cc: thread-local variables of C++: with an initial value that must be computed, static in a class, in a
// namespace, and in a function. Three threads and main write each.
#include <pthread.h>

static int seed()
{
	return 42;
}

namespace ns
{
thread_local int computed = seed();
thread_local long plain = 1;
} // namespace ns

struct counter {
	static thread_local int shared;
};
thread_local int counter::shared;

static void in_function()
{
	thread_local int local = seed();

	local += 1;
}

static void *work(void *arg)
{
	int times = *static_cast<int *>(arg);

	for (int i = 0; i < times; i++) {
		ns::computed = i;
		ns::plain = i;
		counter::shared = i;
		in_function();
	}
	return nullptr;
}

int main()
{
	pthread_t thread[3];
	int times[] = {10, 20, 30}, own = 5;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], nullptr, work, &times[i]);
	for (pthread_t t : thread)
		pthread_join(t, nullptr);
	work(&own);
	return 0;
}
