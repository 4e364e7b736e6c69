/* test_unwind.c: the unwinder and the reader of stacks on this very process: on its own stack, on
 * stacks of garbage, and on none. What is right at every instruction is for tests/oracle to say. */
#include "../../src/unwind_private.h"
#include "unit_help.h"
#include "watchprof/maps_watch.h"
#include "watchprof/procfs.h"
#include "watchprof/stack.h"
#include "watchprof/unwind.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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

/* --- paths that were walked before ------------------------------------------------------------ */

#define CASES	   12
#define CASE_WORDS 2048
#define ROUNDS	   1500

/* A place of this program: its registers, and its stack from there on. */
static struct place {
	struct user_regs_struct regs;
	uint64_t words[CASE_WORDS];
	size_t n;
} places[CASES];

/* Copies what lies between the variables, too, which a sanitizer minds. */
static void __attribute__((noinline, no_sanitize("address"))) place_take(struct place *place)
{
	const uint64_t *from;
	ucontext_t context;
	struct procfs_map *maps;
	size_t n;

	getcontext(&context);
	place->regs = regs_of(&context);
	maps = procfs_maps(getpid(), &n);
	for (size_t i = 0; i < n; i++) {
		if (place->regs.rsp < maps[i].start || place->regs.rsp >= maps[i].end)
			continue;
		place->n = (maps[i].end - place->regs.rsp) / sizeof(uint64_t);
		place->n = place->n < CASE_WORDS ? place->n : CASE_WORDS;
	}
	procfs_maps_free(maps, n);
	from = (const uint64_t *)place->regs.rsp;
	for (size_t i = 0; i < place->n; i++)
		place->words[i] = from[i];
}

static void __attribute__((noinline)) plain_down(unsigned depth, struct place *place)
{
	volatile char bytes[24] __attribute__((unused));

	if (depth)
		plain_down(depth - 1, place);
	else
		place_take(place);
	bytes[0] = 1;
}

/* Frames of one size, and of another one in each call. */
static void __attribute__((noinline)) fixed_down(unsigned depth, struct place *place);

static void __attribute__((noinline)) varied_down(unsigned depth, struct place *place)
{
	volatile char *bytes = alloca(16 + depth * 48);

	bytes[0] = 1;
	if (depth)
		fixed_down(depth - 1, place);
	else
		place_take(place);
	bytes[0] = 2;
}

static void __attribute__((noinline)) fixed_down(unsigned depth, struct place *place)
{
	volatile char bytes[32] __attribute__((unused));

	bytes[0] = 1;
	if (depth % 3 == 2)
		varied_down(depth - 1, place);
	else if (depth)
		fixed_down(depth - 1, place);
	else
		place_take(place);
	bytes[0] = 2;
}

static uint64_t below(uint64_t *seed, uint64_t n)
{
	return (random_next(seed) >> 32) % n;
}

/* Change a few words of a stack: into others of it, to near ones, to return addresses. */
static void words_spoil(struct place *place, uint64_t *seed)
{
	for (uint64_t n = below(seed, 4); n > 0; n--) {
		uint64_t *word = &place->words[below(seed, 96) % place->n];
		uint64_t how = below(seed, 3);

		*word = how == 0 ? place->words[below(seed, place->n)]
			: how == 1 ? *word + below(seed, 64) - 32
				   : places[below(seed, CASES)].words[below(seed, 96)];
	}
	if (below(seed, 4) == 0)
		place->regs.rbp += 16;
	if (below(seed, 8) == 0)
		place->n = below(seed, place->n) + 1;
}

/* Whatever was walked before: a path is the one that rules give, also where the stack differs in a word. */
static void test_known_paths(void **state)
{
	struct unwinder *warm = unwinder_new(getpid());
	uint64_t frames[3][64], seed = 7;
	size_t known __attribute__((unused)) = 0, whole = 0;

	(void)state;
	for (unsigned i = 0; i < CASES; i++)
		(i % 2 ? plain_down : varied_down)(i + 1, &places[i]);
	for (unsigned round = 0; round < ROUNDS; round++) {
		static struct place place;
		size_t max = 1 + below(&seed, 64);
		struct unwinding by_rules = {.frames = frames[0], .max = max}, path = {.frames = frames[1], .max = max};
		struct unwinding some = {.frames = frames[2], .max = max};
		struct unwinder *cold = unwinder_new(getpid());
		struct stack_image image;

		place = places[below(&seed, CASES)];
		if (round >= CASES * 4)
			words_spoil(&place, &seed);
		image = (struct stack_image){place.regs.rsp, place.n * sizeof(uint64_t), (unsigned char *)place.words};
		unwind_path(cold, &place.regs, &image, 1, &by_rules);
		unwinder_free(cold);
		if (unwind_known(warm, place.regs.rip, place.regs.rsp, &image, &some)) {
			assert_int_equal(some.n, by_rules.n);
			assert_memory_equal(some.frames, by_rules.frames, some.n * sizeof(uint64_t));
			assert_int_equal(some.end, by_rules.end);
			assert_false(by_rules.is_short);
			known++;
		}
		unwind_path(warm, &place.regs, &image, 1, &path);
		assert_int_equal(path.n, by_rules.n);
		assert_memory_equal(path.frames, by_rules.frames, path.n * sizeof(uint64_t));
		assert_int_equal(path.end, by_rules.end);
		assert_int_equal(path.is_short, by_rules.is_short);
		whole += path.end == PATH_WHOLE;
	}
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) /* otherwise frames take the frame pointer */
	assert_in_range(known, ROUNDS / 8, ROUNDS);
#endif
	assert_in_range(whole, ROUNDS / 8, ROUNDS);
	unwinder_free(warm);
}

/* Rules for a frame whose address is base + cfa, with the return address below that. */
static struct row row_of(uint8_t base, int32_t cfa)
{
	return (struct row){.kind = ROW_RULES,
		.cfa = {DWARF_CFA, RULE_IS, base, cfa},
		.n = 1,
		.rules = {{DWARF_RA, RULE_AT, DWARF_CFA, -8}}};
}

/* More frames than are kept: all are found anew, none is wrong. A walk in whose middle that happens is not noted. */
static void test_trail_is_bounded(void **state)
{
	struct trail *trail = trail_new();
	uint64_t word = 0x1000, regs[DWARF_REGS] = {[DWARF_RSP] = 0x7000}, frames[2], known = 0;
	struct stack_image image = {0x7000, sizeof(word), (unsigned char *)&word};
	struct row row = row_of(DWARF_RSP, 8);
	struct unwinding path = {.frames = frames, .max = 2};
	struct trail_walk walk;

	(void)state;
	for (uint64_t ip = 1; ip < 100000; ip++) {
		regs[DWARF_RA] = ip;
		trail_begin(trail, regs, &walk);
		trail_rules(trail, &walk, &row, regs);
		trail_caller(trail, &walk, word);
		trail_end(trail, &walk);
		known += trail_follow(trail, regs, 1U << DWARF_RSP, &image, &path);
	}
	assert_true(known > 99990);
	assert_int_equal(path.n, 2);
	assert_int_equal(path.end, PATH_WHOLE);
	trail_begin(trail, regs, &walk);
	trail_clear(trail);
	trail_rules(trail, &walk, &row, regs);
	trail_caller(trail, &walk, word);
	assert_int_equal(walk.at, 0);
	assert_false(trail_follow(trail, regs, 1U << DWARF_RSP, &image, &path));
	trail_free(trail);
	trail_free(NULL);
}

/* A frame address from a register is known only while that register holds it; a row that takes its address from
 * memory, or a signal's, is never known. */
static void test_trail_needs(void **state)
{
	uint64_t words[4] = {0, 0x1000, 0, 0x1000};
	struct stack_image image = {0x7000, sizeof(words), (unsigned char *)words};
	uint64_t regs[DWARF_REGS] = {[DWARF_RA] = 0x500, [DWARF_RSP] = 0x7000, [DWARF_RBP] = 0x7000}, frames[2];
	struct unwinding path = {.frames = frames, .max = 2};
	const uint32_t all = (1U << DWARF_CFA) - 1;
	struct row row = row_of(DWARF_RBP, 16);
	struct trail *trail = trail_new();
	struct trail_walk walk;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		row.cfa.kind = i == 1 ? RULE_AT : RULE_IS;
		row.is_signal = i == 2;
		regs[DWARF_RA] = 0x500 + i;
		trail_begin(trail, regs, &walk);
		trail_rules(trail, &walk, &row, regs);
		trail_caller(trail, &walk, 0x1000);
		trail_end(trail, &walk);
		assert_int_equal(trail_follow(trail, regs, all, &image, &path), i == 0);
	}
	regs[DWARF_RA] = 0x500;
	assert_true(trail_follow(trail, regs, all, &image, &path));
	assert_false(trail_follow(trail, regs, 1U << DWARF_RSP, &image, &path));
	regs[DWARF_RBP] += 16; /* the same return address lies there, in a frame of another size */
	assert_false(trail_follow(trail, regs, all, &image, &path));
	regs[DWARF_RBP] -= 16;
	words[1] = 0x1001;
	assert_false(trail_follow(trail, regs, all, &image, &path));
	image.len = 8;
	assert_false(trail_follow(trail, regs, all, &image, &path));
	trail_free(trail);
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
		cmocka_unit_test(test_known_paths),
		cmocka_unit_test(test_trail_is_bounded),
		cmocka_unit_test(test_trail_needs),
		cmocka_unit_test(test_maps_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
