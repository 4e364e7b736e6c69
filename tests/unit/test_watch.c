/* test_watch.c checks the grammar of -e: every form of watch.h, the C++ names that look like
 * something else, what is refused and why, and random texts that must not crash or leak. */
#include "watchprof/watch.h"

#include "unit_help.h"
#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { R = ACCESS_READ, W = ACCESS_WRITE, RW = ACCESS_READ_WRITE, X = ACCESS_EXECUTE };

/* A text, and what it must be taken for. */
struct good {
	const char *text, *module, *file, *name;
	int64_t offset;
	uint64_t address, length;
	int access;
	const char *steps; /* as steps_text() writes them */
};

/* A text that must be refused, and a part of the reason. */
struct bad {
	const char *text, *reason;
};

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The steps as text: * .NAME [N] (TYPE) */
static char *steps_text(const struct watch *watch)
{
	char *text = text_copy("");

	for (size_t i = 0; i < watch->n_steps; i++) {
		const struct step *step = &watch->steps[i];
		char *before = text;

		if (step->kind == STEP_DEREF)
			text = text_format("%s*", before);
		else if (step->kind == STEP_MEMBER)
			text = text_format("%s.%s", before, step->name);
		else if (step->kind == STEP_ELEMENT)
			text = text_format("%s[%llu]", before, (unsigned long long)step->index);
		else
			text = text_format("%s(%s%s%s)", before, step->file ? step->file : "",
				step->file ? "::" : "", step->name);
		free(before);
	}
	return text;
}

static bool has_steps(const struct watch *watch, const char *expected)
{
	char *text = steps_text(watch);
	bool is_same = strcmp(text, expected ? expected : "") == 0;

	if (!is_same)
		print_error("%s: steps %s\n", watch->text, text);
	free(text);
	return is_same;
}

static bool is_taken_for(const struct watch *watch, const struct good *good)
{
	return same(watch->text, good->text) && same(watch->module, good->module) &&
	       same(watch->file, good->file) && same(watch->name, good->name) &&
	       watch->offset == good->offset && watch->length == good->length &&
	       (int)watch->access == good->access &&
	       (watch->name || watch->address == good->address) && has_steps(watch, good->steps);
}

static const char *shown(const char *text)
{
	return text ? text : "(none)";
}

/* Parse one good text; returns the number of failures, 0 or 1. */
static int good_check(const struct good *good)
{
	struct watch watch;
	struct err err = {0};
	bool is_right;

	if (watch_parse(good->text, &watch, &err)) {
		print_error("%s: refused: %s\n", good->text, err.text);
		return 1;
	}
	is_right = is_taken_for(&watch, good);
	if (!is_right)
		print_error(
			"%s: taken for module %s, file %s, name %s, offset %lld, address 0x%llx, "
			"length %llu, access %s\n",
			good->text, shown(watch.module), shown(watch.file), shown(watch.name),
			(long long)watch.offset, (unsigned long long)watch.address,
			(unsigned long long)watch.length, access_name(watch.access));
	watch_fini(&watch);
	return !is_right;
}

static int bad_check(const struct bad *bad)
{
	static const struct watch nothing;
	struct watch watch;
	struct err err = {0};

	memset(&watch, 0x5a, sizeof(watch));
	if (watch_parse(bad->text, &watch, &err) == 0) {
		print_error("'%s' is accepted (name %s, offset %lld, length %llu, access %s)\n",
			bad->text, shown(watch.name), (long long)watch.offset,
			(unsigned long long)watch.length, access_name(watch.access));
		watch_fini(&watch);
		return 1;
	}
	assert_int_equal(err.status, ERR_FAILED);
	assert_memory_equal(&watch, &nothing, sizeof(watch));
	if (strstr(err.text, bad->reason))
		return 0;
	print_error("'%s': '%s' does not say '%s'\n", bad->text, err.text, bad->reason);
	return 1;
}

static void goods_check(const struct good *goods, size_t n)
{
	int failures = 0;

	for (size_t i = 0; i < n; i++)
		failures += good_check(&goods[i]);
	assert_int_equal(failures, 0);
}

static void bads_check(const struct bad *bads, size_t n)
{
	int failures = 0;

	for (size_t i = 0; i < n; i++)
		failures += bad_check(&bads[i]);
	assert_int_equal(failures, 0);
}

static void test_access(void **state)
{
	static const struct good goods[] = {
		{"v", .name = "v", .access = RW},
		{"v:rw", .name = "v", .access = RW},
		{"v:w", .name = "v", .access = W},
		{"v:r", .name = "v", .access = R},
		{"v:x", .name = "v", .access = X},
		{"v:rw-", .name = "v", .access = RW},
		{"v:-w-", .name = "v", .access = W},
		{"v:r--", .name = "v", .access = R},
		{"v:--x", .name = "v", .access = X},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

static void test_access_refused(void **state)
{
	static const struct bad bads[] = {
		{"v:", "bad access ''"},
		{"v:---", "clears"},
		{"v:r-x", "bad access 'r-x'"},
		{"v:rwx", "bad access 'rwx'"},
		{"v:-wx", "bad access '-wx'"},
		{"v:-w", "bad access '-w'"},
		{"v:w-", "bad access 'w-'"},
		{"v:wr", "bad access 'wr'"},
		{"v:RW", "bad access 'RW'"},
		{"v:W", "bad access 'W'"},
		{"v:rr", "bad access 'rr'"},
		{"v:w ", "bad access 'w '"},
		{"v: w", "bad access ' w'"},
		{"v:write", "bad access 'write'"},
		{"v:8", "bad access '8'"},
		{"ns::v:", "bad access"},
		{"v:w/4", "bad access"},
	};

	(void)state;
	bads_check(bads, ARRAY_LEN(bads));
}

static void test_access_names(void **state)
{
	(void)state;
	assert_string_equal(access_name(ACCESS_READ_WRITE), "rw");
	assert_string_equal(access_name(ACCESS_WRITE), "w");
	assert_string_equal(access_name(ACCESS_READ), "r");
	assert_string_equal(access_name(ACCESS_EXECUTE), "x");
}

static void test_length_and_offset(void **state)
{
	static const struct good goods[] = {
		{"v/4", .name = "v", .length = 4, .access = RW},
		{"v/32:w", .name = "v", .length = 32, .access = W},
		{"v/0x10", .name = "v", .length = 16, .access = RW},
		{"v/0XA:w", .name = "v", .length = 10, .access = W},
		{"v/18446744073709551615", .name = "v", .length = UINT64_MAX, .access = RW},
		{"v+8", .name = "v", .offset = 8, .access = RW},
		{"v-8:w", .name = "v", .offset = -8, .access = W},
		{"v+0x10", .name = "v", .offset = 16, .access = RW},
		{"v-0x10/2:w", .name = "v", .offset = -16, .length = 2, .access = W},
		{"v+0/1", .name = "v", .length = 1, .access = RW},
		{"v+2147483647", .name = "v", .offset = INT32_MAX, .access = RW},
		{"v-2147483647", .name = "v", .offset = -INT32_MAX, .access = RW},
		{"ns::v+8/4:rw-", .name = "ns::v", .offset = 8, .length = 4, .access = RW},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

static void test_length_and_offset_refused(void **state)
{
	static const struct bad bads[] = {
		{"v/0", "length of 0"},
		{"v/0x0:w", "length of 0"},
		{"v/18446744073709551616", "bad length"},
		{"v/0x1ffffffffffffffff", "bad length"},
		{"v/4x", "bad length '4x'"},
		{"v/0x", "bad length"},
		{"v/0xg", "bad length"},
		{"v/4+8", "bad length"},
		{"v/4/4 ", "bad length"},
		{"v+2147483648", "bad offset"},
		{"v-2147483648", "bad offset"},
		{"v+99999999999999999999", "bad offset"},
		{"v-0x8000000000000000", "bad offset"},
		{"v+8x", "bad offset"},
		{"v+0x", "bad offset"},
		{"v+1.5", "bad offset"},
	};

	(void)state;
	bads_check(bads, ARRAY_LEN(bads));
}

/* A length that cannot be read must not become a part of the name. */
static void test_broken_length_is_no_name(void **state)
{
	static const struct bad bads[] = {
		{"v/", "length"},
		{"v/:w", "length"},
		{"v/-4", "length"},
		{"v/+4:w", "length"},
	};

	(void)state;
	bads_check(bads, ARRAY_LEN(bads));
}

/* Numbers are decimal or, with 0x, hexadecimal: nobody means octal. */
static void test_no_octal(void **state)
{
	static const char *const texts[] = {"v/010", "v+010/8", "v-010"};
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct watch watch;

		if (watch_parse(texts[i], &watch, &err))
			continue;
		if (watch.length == 10 || llabs(watch.offset) == 10) {
			watch_fini(&watch);
			continue;
		}
		print_error("%s: offset %lld, length %llu\n", texts[i], (long long)watch.offset,
			(unsigned long long)watch.length);
		watch_fini(&watch);
		fail();
	}
}

static void test_cplusplus(void **state)
{
	static const struct good goods[] = {
		{"ns::v", .name = "ns::v", .access = RW},
		{"ns::v:w", .name = "ns::v", .access = W},
		{"::v:w", .name = "::v", .access = W},
		{"v::w", .name = "v::w", .access = RW},
		{"v::w:w", .name = "v::w", .access = W},
		{"a::b::c::d:r", .name = "a::b::c::d", .access = R},
		{"func(int, char)::n.0:w", .name = "func(int, char)::n.0", .access = W},
		{"func(ns::a, ...)::n", .name = "func(ns::a, ...)::n", .access = RW},
		{"m<int, p<a::b, c> >::x:rw", .name = "m<int, p<a::b, c> >::x", .access = RW},
		{"m<a::b>", .name = "m<a::b>", .access = RW},
		{"m<1.5f>::x:w", .name = "m<1.5f>::x", .access = W},
		{"t<a, b>::v/8:w", .name = "t<a, b>::v", .length = 8, .access = W},
		{"t<-1>::v", .name = "t<-1>::v", .access = RW},
		{"t<-1>::v+4/2:w", .name = "t<-1>::v", .offset = 4, .length = 2, .access = W},
		{"t<(e)-1>::v-4", .name = "t<(e)-1>::v", .offset = -4, .access = RW},
		{"{lambda(int)#1}::v:w", .name = "{lambda(int)#1}::v", .access = W},
		{"main.counter:w", .name = "main.counter", .access = W},
		{"n.0", .name = "n.0", .access = RW},
		{"host.org/x/pkg.V:w", .name = "host.org/x/pkg.V", .access = W},
		{"crate::m::COUNTER", .name = "crate::m::COUNTER", .access = RW},
		{"<m::T as m::R>::X:w", .name = "<m::T as m::R>::X", .access = W},
		{"gr\xc3\xb6\xc3\x9f"
		 "e:w",
			.name = "gr\xc3\xb6\xc3\x9f"
				"e",
			.access = W},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

static void test_operators(void **state)
{
	static const struct good goods[] = {
		{"A::operator+:x", .name = "A::operator+", .access = X},
		{"A::operator-:x", .name = "A::operator-", .access = X},
		{"A::operator++:x", .name = "A::operator++", .access = X},
		{"A::operator--", .name = "A::operator--", .access = RW},
		{"A::operator-=:x", .name = "A::operator-=", .access = X},
		{"A::operator!=:x", .name = "A::operator!=", .access = X},
		{"A::operator!=(A const&):x", .name = "A::operator!=(A const&)", .access = X},
		{"lib.so!A::operator!=:x", .module = "lib.so",
			.name = "A::operator!=", .access = X},
		{"lib.so!A::operator!:x", .module = "lib.so", .name = "A::operator!", .access = X},
		{"A::operator,:x", .name = "A::operator,", .access = X},
		{"A::operator/:x", .name = "A::operator/", .access = X},
		{"A::operator/=:x", .name = "A::operator/=", .access = X},
		{"A::operator<:x", .name = "A::operator<", .access = X},
		{"A::operator<<:x", .name = "A::operator<<", .access = X},
		{"A::operator>>", .name = "A::operator>>", .access = RW},
		{"A::operator():x", .name = "A::operator()", .access = X},
		{"A::operator*:x", .name = "A::operator*", .access = X},
		{"A::operator&:x", .name = "A::operator&", .access = X},
		{"A::operator bool:x", .name = "A::operator bool", .access = X},
		{"A::operator std::string:x", .name = "A::operator std::string", .access = X},
		{"operator\"\" _kg:x", .name = "operator\"\" _kg", .access = X},
		{"operator\"\"_kg", .name = "operator\"\"_kg", .access = RW},
		{"f<&A::operator+>:x", .name = "f<&A::operator+>", .access = X},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

/* These operators look like what is refused for a variable. */
static void test_operators_like_expressions(void **state)
{
	static const struct good goods[] = {
		{"A::operator->:x", .name = "A::operator->", .access = X},
		{"A::operator->*:x", .name = "A::operator->*", .access = X},
		{"A::operator[]:x", .name = "A::operator[]", .access = X},
		{"operator new[]:x", .name = "operator new[]", .access = X},
		{"A::operator!:x", .name = "A::operator!", .access = X},
		{"operator/(ns::A const&):x", .name = "operator/(ns::A const&)", .access = X},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

/* Demanglers write unnamed namespaces and ABI tags like this. */
static void test_anonymous_and_tagged(void **state)
{
	static const struct good goods[] = {
		{"(anonymous namespace)::counter:w", .name = "(anonymous namespace)::counter",
			.access = W},
		{"a.cc::(anonymous namespace)::v", .file = "a.cc",
			.name = "(anonymous namespace)::v", .access = RW},
		{"ns::(anonymous namespace)::v", .name = "ns::(anonymous namespace)::v",
			.access = RW},
		{"tag[abi:cxx11]:w", .name = "tag[abi:cxx11]", .access = W},
		{"A::tag[abi:cxx11]", .name = "A::tag[abi:cxx11]", .access = RW},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

static void test_module_and_file(void **state)
{
	static const struct good goods[] = {
		{"a.c::name", .file = "a.c", .name = "name", .access = RW},
		{"a.cpp::ns::v:w", .file = "a.cpp", .name = "ns::v", .access = W},
		{"src/a.c::v/4:w", .file = "src/a.c", .name = "v", .length = 4, .access = W},
		{"/abs/2024/a.c::v:w", .file = "/abs/2024/a.c", .name = "v", .access = W},
		{"../a.c::v+8", .file = "../a.c", .name = "v", .offset = 8, .access = RW},
		{"src/2048.c::v", .file = "src/2048.c", .name = "v", .access = RW},
		{"a.c::func::n", .file = "a.c", .name = "func::n", .access = RW},
		{"a.c::t<b.c::d>::v", .file = "a.c", .name = "t<b.c::d>::v", .access = RW},
		{"mod!v", .module = "mod", .name = "v", .access = RW},
		{"mod.so.1!name+8/4:rw-", .module = "mod.so.1", .name = "name", .offset = 8,
			.length = 4, .access = RW},
		{"libstdc++.so.6!std::v:w", .module = "libstdc++.so.6", .name = "std::v",
			.access = W},
		{"/usr/lib/x.so!v/8", .module = "/usr/lib/x.so", .name = "v", .length = 8,
			.access = RW},
		{"x.so!src/a.c::v:w", .module = "x.so", .file = "src/a.c", .name = "v",
			.access = W},
		{"libc-2.31.so!v+8:w", .module = "libc-2.31.so", .name = "v", .offset = 8,
			.access = W},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

/* A sign or a slash before a digit belongs to a file name where one follows. */
static void test_numbers_in_file_names(void **state)
{
	static const struct good goods[] = {
		{"libc-2.31.so!environ:w", .module = "libc-2.31.so", .name = "environ",
			.access = W},
		{"/lib/ld-2.31.so!v/8", .module = "/lib/ld-2.31.so", .name = "v", .length = 8,
			.access = RW},
		{"part-2.c::v:w", .file = "part-2.c", .name = "v", .access = W},
		{"c++20/a.c::v", .file = "c++20/a.c", .name = "v", .access = RW},
		{"/usr/lib/7z.so!v:w", .module = "/usr/lib/7z.so", .name = "v", .access = W},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

static void test_address(void **state)
{
	static const struct good goods[] = {
		{"0x7f12/4", .address = 0x7f12, .length = 4, .access = RW},
		{"0x7fffdeadbee8/8:w", .address = 0x7fffdeadbee8, .length = 8, .access = W},
		{"0xABCDEF/0x10:rw-", .address = 0xabcdef, .length = 16, .access = RW},
		{"0x00000000000000000000000012/1", .address = 0x12, .length = 1, .access = RW},
		{"0x401000:x", .address = 0x401000, .access = X},
		{"0x401000/1:--x", .address = 0x401000, .length = 1, .access = X},
		{"0x0/1:r", .address = 0, .length = 1, .access = R},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

static void test_address_refused(void **state)
{
	static const struct bad bads[] = {
		{"0x", "bad address"},
		{"0x/4", "bad address"},
		{"0x:w", "bad address"},
		{"0xg/4", "bad address"},
		{"0x12zz/4", "bad address"},
		{"0x12 /4", "bad address"},
		{"0x 12/4", "bad address"},
		{"0x-12/4", "bad address"},
		{"0x0x12/4", "bad address"},
		{"0x1000+8/4", "bad address"},
		{"0x10000000000000000/4", "bad address"},
		{"0x1ffffffffffffffffff:x", "bad address"},
		{"0x7f12", "needs a length"},
		{"0x7f12:w", "0x7f12/4:w"},
		{"0xffffffffffffffff/2", "beyond the last address"},
		{"0xfffffffffffffffc/8:w", "beyond the last address"},
		{"0x10/18446744073709551615", "beyond the last address"},
		{"mod!0x1000/4", "stands alone"},
		{"a.c::0x1000/4:w", "stands alone"},
	};

	(void)state;
	bads_check(bads, ARRAY_LEN(bads));
}

static void test_nothing_named(void **state)
{
	static const struct bad bads[] = {
		{"", "empty"},
		{":w", "no variable"},
		{"/4", "no variable"},
		{"/4:w", "no variable"},
		{"mod!", "no variable"},
		{"mod!:w", "no variable"},
		{"mod!/4", "no variable"},
		{"mod!+8", "no variable"},
		{"a.c::", "no variable"},
		{"a.c::/4:w", "no variable"},
		{"a.c::+8", "no variable"},
		{"!v", "no module"},
		{"!", "no module"},
		{"+8", "no variable"},
		{"-8/4:w", "no variable"},
	};

	(void)state;
	bads_check(bads, ARRAY_LEN(bads));
}

/* Filters are cut off behind the access; their colons are not those of the variable. */
static void test_filters(void **state)
{
	static const struct {
		const char *text, *name;
		unsigned access;
		size_t n;
	} cases[] = {
		{"state:w,changed", "state", W, 1},
		{"state:w,new==3", "state", W, 1},
		{"v:rw,thread=worker*,func=parse_*", "v", RW, 2},
		{"v:w,func=ns::f", "v", W, 1},
		{"ns::v:rw,func=a::b::c", "ns::v", RW, 1},
		{"v:w,thread=a:rw,changed", "v", W, 2},
		{"m<int, int>::v:w,changed", "m<int, int>::v", W, 1},
		{"v:w", "v", W, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct watch watch, copy;
		struct err err = {0};

		assert_int_equal(watch_parse(cases[i].text, &watch, &err), 0);
		copy = watch_copy(&watch);
		assert_string_equal(watch.text, cases[i].text);
		assert_int_equal(watch.access, cases[i].access);
		assert_int_equal(watch.filters.n, cases[i].n);
		assert_int_equal(copy.filters.n, cases[i].n);
		watch_fini(&copy);
		watch_fini(&watch);
	}
}

static void test_filters_refused(void **state)
{
	static const struct bad bads[] = {
		{"v:,changed", "access"},
		{"v:w,", "filter"},
		{"v:w,new=3", "filter"},
		{"v:w,fast", "changed"},
	};

	(void)state;
	bads_check(bads, ARRAY_LEN(bads));
}

static void test_members(void **state)
{
	static const struct good goods[] = {
		{"a.b", .name = "a.b", .access = RW},
		{"a[3]", .name = "a", .steps = "[3]", .access = RW},
		{"a[0x10]/4:w", .name = "a", .steps = "[16]", .length = 4, .access = W},
		{"a.b[3].c:w", .name = "a.b", .steps = "[3].c", .access = W},
		{"m[1][2]+4", .name = "m", .steps = "[1][2]", .offset = 4, .access = RW},
		{"p->x", .name = "p", .steps = "*.x", .access = RW},
		{"p->x-8/4:w", .name = "p", .steps = "*.x", .offset = -8, .length = 4, .access = W},
		{"p->x.y[2]", .name = "p", .steps = "*.x.y[2]", .access = RW},
		{"p -> x . y [2]", .name = "p ", .steps = "*.x.y[2]", .access = RW},
		{"g.p->q->r", .name = "g.p", .steps = "*.q*.r", .access = RW},
		{"p->t.0", .name = "p", .steps = "*.t.0", .access = RW},
		{"p->base::x", .name = "p", .steps = "*.base::x", .access = RW},
		{"p->box<a.b, int>::x[1]", .name = "p", .steps = "*.box<a.b, int>::x[1]", .access = RW},
		{"*p", .name = "p", .steps = "*", .access = RW},
		{"**p", .name = "p", .steps = "**", .access = RW},
		{"* p/4:w", .name = "p", .steps = "*", .length = 4, .access = W},
		{"*p->q", .name = "p", .steps = "*.q*", .access = RW},
		{"*p[2]", .name = "p", .steps = "[2]*", .access = RW},
		{"(*p).x", .name = "p", .steps = "*.x", .access = RW},
		{"(*p)[2]:w", .name = "p", .steps = "*[2]", .access = W},
		{"*(p)+8", .name = "p", .steps = "*", .offset = 8, .access = RW},
		{"((a)).b[1]", .name = "a", .steps = ".b[1]", .access = RW},
		{"(*(*p).q).r", .name = "p", .steps = "*.q*.r", .access = RW},
		{"ns::v[2].x:w", .name = "ns::v", .steps = "[2].x", .access = W},
		{"(anonymous namespace)::p->x", .name = "(anonymous namespace)::p", .steps = "*.x", .access = RW},
		{"*(anonymous namespace)::p", .name = "(anonymous namespace)::p", .steps = "*", .access = RW},
		{"t<a->b>::v->x", .name = "t<a->b>::v", .steps = "*.x", .access = RW},
		{"tag[abi:cxx11][3]:w", .name = "tag[abi:cxx11]", .steps = "[3]", .access = W},
		{"f(int)::n[1]", .name = "f(int)::n", .steps = "[1]", .access = RW},
		{"main.list[2].next->val:w", .name = "main.list", .steps = "[2].next*.val", .access = W},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

static void test_members_with_files(void **state)
{
	static const struct good goods[] = {
		{"a.c::v.x[1]", .file = "a.c", .name = "v.x", .steps = "[1]", .access = RW},
		{"src/a.c::p->x/4:w", .file = "src/a.c", .name = "p", .steps = "*.x", .length = 4, .access = W},
		{"*a.c::p", .file = "a.c", .name = "p", .steps = "*", .access = RW},
		{"a.c::*p", .file = "a.c", .name = "p", .steps = "*", .access = RW},
		{"libx.so.1!v.x", .module = "libx.so.1", .name = "v.x", .access = RW},
		{"libx.so!a[0]", .module = "libx.so", .name = "a", .steps = "[0]", .access = RW},
		{"*libx-2.so!a.c::p->q", .module = "libx-2.so", .file = "a.c", .name = "p", .steps = "*.q*", .access = RW},
		{"libx.so!*p", .module = "libx.so", .name = "p", .steps = "*", .access = RW},
		{"(*libx.so!p).x:w", .module = "libx.so", .name = "p", .steps = "*.x", .access = W},
		{"p->x::y.z", .name = "p", .steps = "*.x::y.z", .access = RW},
		{"a.c::(struct s *)0x10->x", .file = "a.c", .address = 16, .steps = "(a.c::struct s)*.x", .access = RW},
		{"libx.so!a.c::(s *)0x10", .module = "libx.so", .file = "a.c", .address = 16, .steps = "(a.c::s)",
			.access = RW},
		{"a.c::((s *)p)->x:w", .file = "a.c", .name = "p", .steps = "(a.c::s)*.x", .access = W},
		{"a.c::(s *)p->x", .file = "a.c", .name = "p", .steps = "*.x(a.c::s)", .access = RW},
		{"a.c::((s *)b.c::p)->x", .file = "b.c", .name = "p", .steps = "(a.c::s)*.x", .access = RW},
		{"((s *)b.c::p)->x", .file = "b.c", .name = "p", .steps = "(s)*.x", .access = RW},
		{"a.c::(s *)b.c::((t *)p)->x", .file = "b.c", .name = "p", .steps = "(b.c::t)*.x(a.c::s)", .access = RW},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

static void test_casts(void **state)
{
	static const struct good goods[] = {
		{"(struct s *)0x7f12->x", .address = 0x7f12, .steps = "(struct s)*.x", .access = RW},
		{"((struct s *)0x7f12)->x:w", .address = 0x7f12, .steps = "(struct s)*.x", .access = W},
		{"*(T*)0x7f12", .address = 0x7f12, .steps = "(T)*", .access = RW},
		{"(T *)0xABC", .address = 0xabc, .steps = "(T)", .access = RW},
		{"(ns::box<int, a.b> *)0x10[3]/4:w", .address = 0x10, .steps = "(ns::box<int, a.b>)[3]", .length = 4,
			.access = W},
		{"(unsigned long ** )0x10+8", .address = 0x10, .steps = "(unsigned long *)", .offset = 8, .access = RW},
		{"libx.so!(struct s *)0x10->x", .module = "libx.so", .address = 0x10, .steps = "(struct s)*.x",
			.access = RW},
		{"(struct s *)p", .name = "p", .steps = "(struct s)", .access = RW},
		{"((struct s *)p)->x", .name = "p", .steps = "(struct s)*.x", .access = RW},
		{"((struct s *)p->q)->x", .name = "p", .steps = "*.q(struct s)*.x", .access = RW},
		{"*(int *)*pp", .name = "pp", .steps = "*(int)*", .access = RW},
	};

	(void)state;
	goods_check(goods, ARRAY_LEN(goods));
}

static void test_members_refused(void **state)
{
	static const struct bad bads[] = {
		{"a[-1]", "negative element, '-1'"},
		{"a[]", "bad element ''"},
		{"a[i]", "bad element 'i'"},
		{"a[1x]", "bad element '1x'"},
		{"a[1 ]", "bad element '1 '"},
		{"a[99999999999999999999]", "bad element"},
		{"a[1", "'[' without ']'"},
		{"a[1]b", "what does 'b' mean"},
		{"[1]", "no variable"},
		{"p->", "no member"},
		{"p->x->", "no member is named behind '->'"},
		{"a[1].", "no member is named behind '.'"},
		{"p->.x", "no member"},
		{"->x", "no variable"},
		{"*", "no variable"},
		{"()", "no variable"},
		{"(*p", "without ')'"},
		{"&v", "no '&'"},
		{"(int)p", "no pointer"},
		{"( * )p", "a cast without a type"},
		{"(struct s *)", "a cast of what"},
		{"(struct s)0x7f12->x", "a cast to 'struct s', which is no pointer"},
		{"(s *)0x", "bad address"},
		{"(s *)0x10000000000000000", "bad address"},
		{"(s *)0x12zz", "what does 'zz' mean"},
		{"(0x12)->x", "stands alone"},
		{"mod!0x12", "stands alone"},
		{"a!b!v", "two modules"},
		{"p->f:x", "without members"},
		{"*f:x", "without members"},
		{"(s *)0x10:x", "without members"},
	};
	char deep[201];

	(void)state;
	bads_check(bads, ARRAY_LEN(bads));
	for (size_t i = 0; i < 200; i += 2)
		memcpy(deep + i, "->", 2);
	for (size_t i = 0; i < 200; i += 4)
		memcpy(deep + i, "a->b", 4);
	memset(deep, '*', 100);
	deep[200] = '\0';
	bads_check(&(struct bad){deep, "more than 64"}, 1);
	memset(deep + 100, ')', 100);
	memset(deep, '(', 100);
	bads_check(&(struct bad){deep, "more than 64"}, 1);
}

/* A name with dots, read in every way. */
static void test_shorten(void **state)
{
	static const struct {
		const char *text, *names[4], *steps[4];
	} all[] = {
		{"a", {NULL}, {NULL}},
		{"a.b.c[3]", {"a.b", "a"}, {".c[3]", ".b.c[3]"}},
		{"t<1.5>::v.f(x.y)::n.0", {"t<1.5>::v.f(x.y)::n", "t<1.5>::v"}, {".0", ".f(x.y)::n.0"}},
		{".a.", {NULL}, {NULL}},
		{"a..b", {"a."}, {".b"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct watch watch, copy;
		struct err err = {0};

		assert_int_equal(watch_parse(all[i].text, &watch, &err), 0);
		copy = watch_copy(&watch);
		watch_fini(&watch);
		for (size_t j = 0; all[i].names[j]; j++) {
			assert_true(watch_name_shorten(&copy));
			assert_string_equal(copy.name, all[i].names[j]);
			assert_true(has_steps(&copy, all[i].steps[j]));
		}
		assert_false(watch_name_shorten(&copy));
		watch_fini(&copy);
	}
}

static void test_huge(void **state)
{
	char *text = mem_new(1000001, 1);
	struct watch watch;
	struct err err = {0};

	(void)state;
	memset(text, 'a', 16384);
	assert_int_equal(watch_parse(text, &watch, &err), 0);
	assert_int_equal(strlen(watch.name), 16384);
	watch_fini(&watch);
	text[16384] = 'a'; /* one more */
	assert_int_equal(watch_parse(text, &watch, &err), -1);
	text[16384] = '\0';
	memset(text, '<', 16384);
	if (watch_parse(text, &watch, &err) == 0)
		watch_fini(&watch);
	memset(text, '[', 16384);
	assert_int_equal(watch_parse(text, &watch, &err), -1);
	memset(text, ':', 1000000);
	assert_int_equal(watch_parse(text, &watch, &err), -1);
	assert_non_null(strstr(err.text, "too long"));
	memset(text, '9', 10000);
	memcpy(text, "v/", 2);
	text[10000] = '\0';
	assert_int_equal(watch_parse(text, &watch, &err), -1);
	assert_int_equal(err.status, ERR_FAILED);
	free(text);
}

/* Every combination of valid parts gives back its parts. */
static void test_combinations(void **state)
{
	static const char *const modules[] = {
		NULL, "prog", "libx.so.1", "libstdc++.so.6", "/opt/a-b/c.so"};
	static const char *const files[] = {NULL, "a.c", "src/a.cpp", "../b.c", "/w/a.c"};
	static const char *const names[] = {
		"v", "a::b", "t<a::b, c>::v", "f(int)::n.0", "A::operator+"};
	static const char *const offsets[] = {"", "+8", "-0x10"}, *const lengths[] = {
									  "", "/4", "/0x20"};
	static const char *const accesses[] = {"", ":rw", ":w", ":r--", ":--x"};
	static const int64_t offset[] = {0, 8, -16};
	static const uint64_t length[] = {0, 4, 32};
	static const int access[] = {RW, RW, W, R, X};
	int failures = 0;

	(void)state;
	for (unsigned i = 0; i < 5 * 5 * 5 * 3 * 3 * 5; i++) {
		const char *module = modules[i % 5], *file = files[i / 5 % 5],
			   *name = names[i / 25 % 5];
		unsigned o = i / 125 % 3, l = i / 375 % 3, a = i / 1125;
		char *text = text_format("%s%s%s%s%s%s%s%s", module ? module : "",
			module ? "!" : "", file ? file : "", file ? "::" : "", name, offsets[o],
			lengths[l], accesses[a]);
		struct good good = {text, module, file, name, offset[o], 0, length[l], access[a], NULL};

		failures += good_check(&good);
		free(text);
	}
	assert_int_equal(failures, 0);
}

/* A random text: bytes of any value, or of those that mean something here. */
static size_t random_text(char *text, size_t max, uint64_t *seed)
{
	static const char special[] = "abv019x:::///++--!..<>()[]{}*&,\"rw 0x::c";
	size_t len = random_next(seed) % max;
	bool is_special = random_next(seed) % 4;

	for (size_t i = 0; i < len; i++) {
		uint64_t n = random_next(seed);

		text[i] = is_special ? special[n % (sizeof(special) - 1)] : (char)(n % 255 + 1);
	}
	text[len] = '\0';
	return len;
}

static void random_check(const char *text)
{
	static const struct watch nothing;
	struct watch watch;
	struct err err = {0};

	memset(&watch, 0x5a, sizeof(watch));
	if (watch_parse(text, &watch, &err)) {
		assert_int_equal(err.status, ERR_FAILED);
		assert_true(err.text[0] != '\0');
		assert_memory_equal(&watch, &nothing, sizeof(watch));
		return;
	}
	assert_int_equal(err.status, 0);
	assert_string_equal(watch.text, text);
	assert_true(watch.name ? *watch.name
			       : watch.length || watch.access == ACCESS_EXECUTE ||
				       (watch.n_steps && watch.steps[0].kind == STEP_CAST));
	assert_true(!watch.module || (*watch.module && (watch.name || watch.n_steps)));
	assert_true(!watch.file || (*watch.file && (watch.name || watch.n_steps)));
	for (size_t i = 0; i < watch.n_steps; i++)
		assert_true(!watch.steps[i].name || *watch.steps[i].name);
	assert_true(watch.offset >= -INT32_MAX && watch.offset <= INT32_MAX);
	assert_string_not_equal(access_name(watch.access), "?");
	watch_fini(&watch);
	assert_memory_equal(&watch, &nothing, sizeof(watch));
}

static void test_random(void **state)
{
	uint64_t seed = 42;

	(void)state;
	for (int round = 0; round < 300000; round++) {
		char text[41];

		random_text(text, sizeof(text), &seed);
		random_check(text);
	}
}

/* Good texts with one byte changed, added or cut. */
static void test_mutations(void **state)
{
	static const char *const texts[] = {"mod.so.1!src/a.c::ns::v+8/4:rw-", "0x7fffdeadbee8/8:w",
		"t<(e)-1>::v-4:w", "A::operator!=(A const&):x", "*m.so!(*a.c::p)[0x3].q->r+8/4:w",
		"((struct s *)0x7f12)->x[1][2].y", "*(ns::t<a.b> *)p->q"};
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		char text[64], any[2];
		size_t len, at;

		strcpy(text, texts[round % ARRAY_LEN(texts)]);
		for (int change = 0; change < 3; change++) {
			len = strlen(text);
			at = random_next(&seed) % (len + 1);
			if (random_next(&seed) % 3 == 0)
				text[at] = '\0';
			else if (random_text(any, sizeof(any), &seed) && at < len)
				text[at] = any[0];
		}
		random_check(text);
	}
}

/* Where the access of a watch begins. */
static void test_stem(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} cases[] = {{"", 0}, {"v", 1}, {"v:w", 1}, {"v:-w-", 1}, {"v:---", 1}, {"v:rw,changed", 1}, {"ns::v", 5},
		{"ns::v:r", 5}, {"ns::w", 5}, {"f.c::v/4:--x", 8}, {"v[abi:cxx11]", 12}, {"v:q", 3}, {":w", 0},
		{"v:w,thread=a:b", 1}, {"v:---,x", 7}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(watch_stem(cases[i].text), cases[i].len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_access_refused),
		cmocka_unit_test(test_access_names),
		cmocka_unit_test(test_length_and_offset),
		cmocka_unit_test(test_length_and_offset_refused),
		cmocka_unit_test(test_broken_length_is_no_name),
		cmocka_unit_test(test_no_octal),
		cmocka_unit_test(test_cplusplus),
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_operators_like_expressions),
		cmocka_unit_test(test_anonymous_and_tagged),
		cmocka_unit_test(test_module_and_file),
		cmocka_unit_test(test_numbers_in_file_names),
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_address_refused),
		cmocka_unit_test(test_nothing_named),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_filters_refused),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_members_with_files),
		cmocka_unit_test(test_casts),
		cmocka_unit_test(test_members_refused),
		cmocka_unit_test(test_shorten),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_combinations),
		cmocka_unit_test(test_stem),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
