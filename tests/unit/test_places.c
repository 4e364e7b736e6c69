/* test_places.c: what each thread has of thread-local variables, what waits for it, and how threads that begin and end change
 * that; and which spans pages can watch at all. */
#include "watchprof/places.h"

#include "watchprof/hit.h"
#include "watchprof/space.h"
#include "watchprof/thread_image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MODULE 0x7f0000000000
#define PLAIN  0x5000
#define RW     ACCESS_READ_WRITE

/* Where threads have the module's storage, by thread pointer / 0x1000. */
struct storage {
	uint64_t block[8], due[8], moved[8];
};

static void locate(void *context, pid_t tid, uint64_t thread_pointer, uint64_t module, uint64_t offset, struct place *out)
{
	const struct storage *storage = context;
	uint64_t i = thread_pointer / 0x1000;

	assert_int_equal(tid, 100 + i);
	assert_int_equal(module, MODULE);
	*out = (struct place){storage->block[i] ? storage->block[i] + offset : 0, storage->due[i], storage->moved[i]};
}

/* w: 8 bytes, written; a plain variable; rw: 4 bytes. */
static const struct span spans[] = {{0x10, 8, ACCESS_WRITE}, {PLAIN, 8, ACCESS_WRITE}, {0x20, 4, RW}};
static const uint64_t modules[] = {MODULE, 0, MODULE};
static const char *const text[] = {"w", "plain", "rw"};

static struct arming arming_of(struct storage *storage)
{
	return (struct arming){.spans = spans, .text = text, .n = 3, .modules = modules, .locate = locate, .context = storage};
}

static struct places *places_of(struct storage *storage)
{
	const struct arming arming = arming_of(storage);

	return places_new(&arming);
}

static bool take(struct places *places, unsigned i, bool *is_partial)
{
	return places_take(places, (pid_t)(100 + i), 0x1000 * i, is_partial);
}

static size_t count(const struct places *places)
{
	size_t n;

	places_list(places, &n);
	return n;
}

static void test_each_thread_has_its_own(void **state)
{
	struct storage storage = {.block = {0, 0x10000, 0x20000}};
	struct places *places = places_of(&storage);
	bool is_partial;
	uint64_t addr;

	(void)state;
	assert_true(take(places, 1, &is_partial));
	assert_false(is_partial);
	assert_true(take(places, 2, &is_partial));
	assert_false(take(places, 1, &is_partial)); /* as before */
	assert_int_equal(count(places), 4);
	assert_int_equal(places_touched(places, 0x1000, 0x10010, 8, HIT_WRITE), 1);
	assert_int_equal(places_touched(places, 0x1000, 0x10017, 1, HIT_READ | HIT_WRITE), 1);
	assert_int_equal(places_touched(places, 0x1000, 0x10010, 8, HIT_READ), 0);
	assert_int_equal(places_touched(places, 0x1000, 0x10018, 8, HIT_WRITE), 0);
	assert_int_equal(places_touched(places, 0x1000, 0x10018, 9, HIT_READ), 4);
	assert_int_equal(places_touched(places, 0x1000, 0x10000, 0x40, HIT_WRITE), 5);
	/* Another one's is not its own. */
	assert_int_equal(places_touched(places, 0x1000, 0x20010, 8, HIT_WRITE), 0);
	assert_int_equal(places_touched(places, 0x2000, 0x20010, 8, HIT_WRITE), 1);
	assert_int_equal(places_watch(places, 0x2000, 2, &addr), 4);
	assert_int_equal(addr, 0x20020);
	assert_int_equal(places_watch(places, 0x2000, 1, &addr), 0);
	assert_int_equal(places_watch(places, 0x3000, 0, &addr), 0);
	places_free(places);
}

static void test_it_waits_for_its_own(void **state)
{
	struct storage storage = {.due = {0, 0x900000, 0, 0x900100}, .moved = {0, 0xa00000}};
	struct places *places = places_of(&storage);
	bool is_partial;
	uint64_t addr;

	(void)state;
	assert_true(take(places, 1, &is_partial));
	assert_false(is_partial);
	assert_int_equal(count(places), 4); /* two variables, two places each */
	assert_false(take(places, 2, &is_partial));
	assert_true(is_partial);
	assert_true(take(places, 3, &is_partial));
	assert_int_equal(count(places), 6);
	assert_true(places_is_due(places, 0x1000, 0x900004, 4));
	assert_true(places_is_due(places, 0x1000, 0xa00000, 8));
	assert_false(places_is_due(places, 0x1000, 0x900008, 8));
	assert_false(places_is_due(places, 0x1000, 0x900100, 8)); /* another one's */
	assert_int_equal(places_touched(places, 0x1000, 0x900000, 8, HIT_WRITE), 0);
	assert_int_equal(places_watch(places, 0x1000, 0, &addr), 0);
	/* What is waited at has moved; then it comes. */
	storage.due[1] = 0x900200;
	assert_true(take(places, 1, &is_partial));
	assert_true(places_is_due(places, 0x1000, 0x900200, 8));
	assert_false(places_is_due(places, 0x1000, 0x900000, 8));
	storage.block[1] = 0x10000;
	assert_true(take(places, 1, &is_partial));
	assert_false(places_is_due(places, 0x1000, 0x900200, 8));
	assert_int_equal(places_touched(places, 0x1000, 0x10010, 8, HIT_WRITE), 1);
	assert_int_equal(count(places), 4);
	places_free(places);
}

static void test_threads_end(void **state)
{
	struct storage storage = {.block = {0, 0x10000, 0x20000, 0x30000}};
	struct places *places = places_of(&storage), *child;
	bool is_partial;

	(void)state;
	for (unsigned i = 1; i <= 3; i++)
		take(places, i, &is_partial);
	child = places_copy(places);
	assert_true(places_drop(places, 0x2000));
	assert_false(places_drop(places, 0x2000));
	assert_int_equal(count(places), 4);
	assert_int_equal(places_touched(places, 0x2000, 0x20010, 8, HIT_WRITE), 0);
	assert_int_equal(places_touched(places, 0x3000, 0x30010, 8, HIT_WRITE), 1);
	/* Of a forked child's, the thread that forked is left; and new ones come. */
	assert_true(places_keep(child, 0x2000));
	assert_false(places_keep(child, 0x2000));
	assert_int_equal(count(child), 2);
	assert_int_equal(places_touched(child, 0x2000, 0x20010, 8, HIT_WRITE), 1);
	assert_true(take(child, 3, &is_partial));
	assert_int_equal(count(child), 4);
	places_free(places);
	places_free(child);
}

/* Each has its own, in whatever order they came. */
static void test_any_order(void **state)
{
	static const unsigned order[] = {5, 1, 7, 3, 1, 2, 6, 5, 4};
	struct storage storage = {.block = {0, 0x10000, 0x20000, 0x30000, 0x40000, 0x50000, 0x60000, 0x70000}};
	struct places *places = places_of(&storage);
	bool is_partial;
	uint64_t addr;

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		take(places, order[i], &is_partial);
	assert_int_equal(count(places), 14);
	for (uint64_t i = 1; i <= 7; i++) {
		for (uint64_t k = 1; k <= 7; k++)
			assert_int_equal(places_touched(places, i * 0x1000, k * 0x10000 + 0x20, 4, HIT_READ), i == k ? 4 : 0);
		assert_int_equal(places_watch(places, i * 0x1000, 0, &addr), 8);
		assert_int_equal(addr, i * 0x10000 + 0x10);
		assert_false(take(places, (unsigned)i, &is_partial));
	}
	storage.block[3] = 0x38000;
	assert_true(take(places, 3, &is_partial));
	assert_true(places_drop(places, 0x4000));
	assert_int_equal(count(places), 12);
	assert_int_equal(places_touched(places, 0x3000, 0x38010, 8, HIT_WRITE), 1);
	assert_int_equal(places_touched(places, 0x5000, 0x50010, 8, HIT_WRITE), 1);
	assert_int_equal(places_touched(places, 0x8000, 0x70010, 8, HIT_WRITE), 0);
	places_free(places);
}

static void test_none_is_asked_for(void **state)
{
	struct storage storage = {.block = {0, 0x10000}};
	struct arming arming = arming_of(&storage);
	struct places *places;
	bool is_partial;

	(void)state;
	arming.modules = NULL;
	assert_null(places_new(&arming));
	assert_null(places_copy(NULL));
	assert_int_equal(count(NULL), 0);
	places_free(NULL);
	/* One is off for now. */
	arming = arming_of(&storage);
	arming.off = 1;
	places = places_new(&arming);
	take(places, 1, &is_partial);
	assert_int_equal(count(places), 1);
	assert_int_equal(places_touched(places, 0x1000, 0x10000, 0x40, HIT_WRITE), 4);
	places_free(places);
}

static void test_what_pages_will_be_shut(void **state)
{
	struct storage storage = {.block = {0, 0x10ff0}};
	const struct span plain[] = {{0, 0, ACCESS_WRITE}, {PLAIN, 8, ACCESS_WRITE}, {0, 0, RW}};
	struct arming arming = arming_of(&storage);
	struct places *places = places_of(&storage);
	bool is_partial;

	(void)state;
	arming.spans = plain;
	take(places, 1, &is_partial); /* at 0x11000 and 0x11010 */
	assert_true(space_will_shut(&arming, places, 0x11fff, 1));
	assert_false(space_will_shut(&arming, places, 0x10fff, 1));
	assert_false(space_will_shut(&arming, places, 0x12000, 1));
	assert_true(space_will_shut(&arming, places, PLAIN + 0xfff, 1));
	assert_true(space_will_shut(&arming, NULL, PLAIN, 1));
	assert_false(space_will_shut(&arming, NULL, 0x11000, 1));
	places_free(places);
}

/* Of a module's storage nothing else is refused than of other memory; code is not there. */
static void test_plan(void **state)
{
	struct storage storage = {0};
	struct span own[WATCHES_MAX] = {{0x10, SPACE_WATCH_MAX, RW}};
	const uint64_t own_modules[WATCHES_MAX] = {MODULE};
	const char *own_text[WATCHES_MAX] = {"tv:x"};
	struct arming arming = {.spans = own, .text = own_text, .n = 1, .modules = own_modules, .locate = locate, .context = &storage};
	struct err err;

	(void)state;
	assert_int_equal(space_plan(&arming, &err), 0);
	own[0].len++;
	assert_int_equal(space_plan(&arming, &err), -1);
	assert_string_equal(err.text, "tv:x: 1048577 bytes; a watch has 1048576 at most");
	own[0] = (struct span){0x10, 1, ACCESS_EXECUTE};
	assert_int_equal(space_plan(&arming, &err), -1);
	assert_string_equal(err.text, "tv:x: a thread-local variable is not code: use rw, r or w");
	own[0].access = RW;
	arming.n = IMAGE_MOVED;
	assert_int_equal(space_plan(&arming, &err), 0);
	arming.n = IMAGE_MOVED + 1;
	assert_int_equal(space_plan(&arming, &err), -1);
	assert_string_equal(err.text, "tv:x: code or a thread-local variable; there are more than 62 watches");
	/* The bits of the two above are the engine's, where there are breakpoints. */
	arming.modules = NULL;
	assert_int_equal(space_plan(&arming, &err), 0);
	own[0] = (struct span){0x10, 1, ACCESS_EXECUTE};
	assert_int_equal(space_plan(&arming, &err), -1);
	assert_string_equal(err.text, "tv:x: code or a thread-local variable; there are more than 62 watches");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_thread_has_its_own),
		cmocka_unit_test(test_it_waits_for_its_own),
		cmocka_unit_test(test_threads_end),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_none_is_asked_for),
		cmocka_unit_test(test_what_pages_will_be_shut),
		cmocka_unit_test(test_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
