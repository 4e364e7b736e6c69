/* test_unwind.c: the unwinder and the reader of stacks on this very process: on its own stack, on
 * stacks of garbage, and on none. What is right at every instruction is for tests/oracle to say. */
#include "../../src/unwind_private.h"
#include "unit_help.h"
#include "watchprof/maps_watch.h"
#include "watchprof/stack.h"
#include "watchprof/unwind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#define WORDS_MAX 512

static struct user_regs_struct regs_of(const ucontext_t *context)
{
	const greg_t *g = context->uc_mcontext.gregs;

	return (struct user_regs_struct){.rip = (uint64_t)g[REG_RIP],
		.rsp = (uint64_t)g[REG_RSP],
		.rbp = (uint64_t)g[REG_RBP],
		.rbx = (uint64_t)g[REG_RBX],
		.r12 = (uint64_t)g[REG_R12],
		.r13 = (uint64_t)g[REG_R13],
		.r14 = (uint64_t)g[REG_R14],
		.r15 = (uint64_t)g[REG_R15]};
}

/* The path from in here, read as that of any process. */
__attribute__((noinline)) static void own_path(size_t max, struct hit *hit, uint64_t *caller)
{
	struct unwinder *unwinder = unwinder_new(getpid());
	struct stack_reader *reader = stack_reader_new();
	struct user_regs_struct regs;
	ucontext_t context;

	getcontext(&context);
	regs = regs_of(&context);
	*caller = (uint64_t)(uintptr_t)__builtin_return_address(0);
	for (int i = 0; i < 3; i++) /* cold, warm, warm */
		stack_path(reader, unwinder, getpid(), &regs, max, hit);
	stack_reader_free(reader);
	unwinder_free(unwinder);
}

static void test_own_stack(void **state)
{
	struct hit hit, other;
	uint64_t caller;

	(void)state;
	own_path(STACK_DEPTH_MAX, &hit, &caller);
	assert_int_equal(hit.path, PATH_WHOLE);
	assert_true(hit.n_frames > 4);
	assert_int_equal(hit.frames[1], caller);
	for (size_t max = 1; max < hit.n_frames; max++) {
		own_path(max, &other, &caller);
		assert_int_equal(other.n_frames, max);
		assert_int_equal(other.path, PATH_TRUNCATED);
		/* Behind the call here, which is another one, all is the same. */
		for (size_t i = 2; i < max; i++)
			assert_int_equal(other.frames[i], hit.frames[i]);
	}
}

/* Nothing that lies on a stack may lead astray for ever, or out of the copies. */
static void test_garbage(void **state)
{
	struct unwinder *unwinder = unwinder_new(getpid());
	uint64_t words[WORDS_MAX], frames[32], seed = 1, start = 0x7ff000000000;
	uint64_t code = (uint64_t)(uintptr_t)test_own_stack, libc = (uint64_t)(uintptr_t)getpid;
	size_t deepest = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t n_words = random_next(&seed) % WORDS_MAX;
		struct stack_image image = {
			start, n_words * sizeof(*words), (const unsigned char *)words};
		struct unwinding path = {.frames = frames, .max = 1 + random_next(&seed) % 32};
		struct user_regs_struct regs = {.rip = code + random_next(&seed) % 4096,
			.rsp = start + random_next(&seed) % 256,
			.rbp = start + random_next(&seed) % 4096,
			.rbx = start + random_next(&seed) % 4096};

		for (size_t i = 0; i < n_words; i++) {
			uint64_t value = random_next(&seed);

			words[i] = value % 4 == 0   ? code + value % 65536
				   : value % 4 == 1 ? libc + value % 1000000
				   : value % 4 == 2 ? start + value % 4096
						    : value;
		}
		unwind_path(unwinder, &regs, &image, 1, &path);
		assert_in_range(path.n, 1, path.max);
		assert_in_range(path.end, PATH_WHOLE, PATH_BROKEN);
		assert_int_equal(frames[0], regs.rip);
		assert_true(path.used <= image.len);
		assert_true(!path.is_short || path.end == PATH_TRUNCATED);
		deepest = path.n > deepest ? path.n : deepest;
	}
	assert_true(deepest > 3); /* it did go on where it could */
	unwinder_free(unwinder);
}

/* No stack at all where the pointer points, and no code where the thread stands. */
static void test_nothing_there(void **state)
{
	struct unwinder *unwinder = unwinder_new(getpid());
	struct stack_reader *reader = stack_reader_new();
	struct user_regs_struct regs = {
		.rip = (uint64_t)(uintptr_t)test_own_stack, .rsp = 0x1000, .rbp = 0x1000};
	struct hit hit;

	(void)state;
	stack_path(reader, unwinder, getpid(), &regs, 32, &hit);
	assert_int_equal(hit.n_frames, 1);
	assert_int_equal(hit.path, PATH_BROKEN);
	regs.rip = 0x1000;
	stack_path(reader, unwinder, getpid(), &regs, 32, &hit);
	assert_int_equal(hit.n_frames, 1);
	assert_int_equal(hit.path, PATH_BROKEN);
	stack_reader_free(reader);
	unwinder_free(unwinder);
}

static void test_row_cache(void **state)
{
	enum { N = 300000 }; /* more than it keeps */
	struct row_cache *cache = row_cache_new();
	struct row row = {.kind = ROW_RULES};
	size_t kept = 0;

	(void)state;
	assert_null(row_cache_find(cache, 0));
	for (uint64_t key = 0; key < N; key++) {
		row.cfa.offset = (int32_t)key;
		assert_int_equal(row_cache_put(cache, key * 8, &row)->cfa.offset, key);
	}
	for (uint64_t key = 0; key < N; key++) {
		const struct row *found = row_cache_find(cache, key * 8);

		if (!found)
			continue;
		kept++;
		assert_int_equal(found->cfa.offset, key);
		assert_null(row_cache_find(cache, key * 8 + 1));
	}
	assert_true(kept > 0 && kept < N);
	assert_non_null(row_cache_find(cache, (N - 1) * 8));
	row_cache_clear(cache);
	assert_null(row_cache_find(cache, (N - 1) * 8));
	row_cache_free(cache);
}

static void test_maps_watch(void **state)
{
	struct maps_watch *watch = maps_watch_new(getpid());
	void *page;

	(void)state;
	assert_non_null(watch);
	maps_watch_changed(watch); /* its own memory */
	assert_false(maps_watch_changed(watch));
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	assert_true(maps_watch_changed(watch));
	assert_false(maps_watch_changed(watch));
	munmap(page, 4096);
	assert_true(maps_watch_changed(watch));
	maps_watch_free(watch);
	maps_watch_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_nothing_there),
		cmocka_unit_test(test_row_cache),
		cmocka_unit_test(test_maps_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
