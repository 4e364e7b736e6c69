/* startup_part: code with much debug information: functions of templates. bench/startup links many copies of it. */
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>
namespace { template <int N> struct Tag { int v[N % 7 + 1]; long w; }; }
template <int N> long work(long x)
{
	struct Local { Tag<N> t; long a; };
	std::map<long, std::vector<Local>> m;
	std::function<long(long)> f = [&](long y) { m[y].push_back(Local{{}, y}); return y + N; };
	auto p = std::make_shared<std::map<std::string, Local>>();
	(*p)["a"].a = x;
	std::set<Local *> s;
	s.insert(&(*p)["b"]);
	return f(x) + (long)s.size();
}
template <int A, int B> struct Range { static long run(long x) { return Range<A, (A + B) / 2>::run(x) + Range<(A + B) / 2 + 1, B>::run(x); } };
template <int A> struct Range<A, A> { static long run(long x) { return work<A>(x); } };
long PART(long x) { return Range<START, START + COUNT - 1>::run(x); }
