/* test_profile.c checks the counts: grouping, merging, sharing, bounds and order on small
 * profiles written out by hand, then 200,000 random hits against a naive model. */
#include "watchprof/profile.h"

#include "unit_help.h"
#include "watchprof/blame.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The program under watch: code of 16 bytes per line of source, 256 bytes per function. */
#define LINE_BYTES     16
#define FUNCTION_BYTES 256

/* Functions 2 and 3 share a name and differ by file, 2 and 4 by module. */
static const struct {
	const char *function, *file, *module;
} functions[] = {
	{"main", "main.c", "/bin/prog"},
	{"f", "f.c", "/bin/prog"},
	{"init", "a.c", "/bin/prog"},
	{"init", "b.c", "/bin/prog"},
	{"init", "a.c", "/lib/l.so"},
	{"g", "f.c", "/bin/prog"},
	{"libc+0x40", NULL, "/lib/libc.so"},
	{NULL, NULL, NULL},
};

/* An instruction of a function: the address behind it, as a stop gives it. */
static uint64_t at(unsigned function, unsigned line)
{
	return 0x10000 + (uint64_t)function * FUNCTION_BYTES + line * LINE_BYTES + 8;
}

/* What locate() was asked for. */
struct calls {
	size_t n;
	uint64_t addr[4096];
	uint32_t image[4096];
	pid_t pid;
};

/* A copy that only lives until the next call, as locate() promises no more. */
static const char *passing(unsigned slot, const char *text)
{
	static char kept[3][32];

	if (!text)
		return NULL;
	snprintf(kept[slot], sizeof(kept[slot]), "%s", text);
	return kept[slot];
}

static void locate(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out)
{
	struct calls *calls = context;
	uint64_t offset = addr - 0x10000, function = offset / FUNCTION_BYTES;

	if (calls && calls->n < ARRAY_LEN(calls->addr)) {
		calls->addr[calls->n] = addr;
		calls->image[calls->n++] = image;
		calls->pid = pid;
	}
	if (function >= ARRAY_LEN(functions))
		return;
	out->function = passing(0, functions[function].function);
	/* Here each function begins in the file that its accesses are in. */
	out->unit = out->file = passing(1, functions[function].file);
	out->module = passing(2, functions[function].module);
	if (out->file)
		out->line = (unsigned)(offset % FUNCTION_BYTES / LINE_BYTES) + 1;
	out->is_entry = (offset + 1) % FUNCTION_BYTES == 0;
	out->addr = 0xbad; /* the profile knows better */
}

/* A hit of the watches with these frames (0 ends them). */
static struct hit hit_of(uint64_t watches, unsigned kind, pid_t tid, const uint64_t *frames)
{
	struct hit hit = {
		.watches = watches, .kind = (uint8_t)kind, .is_at = kind & HIT_EXECUTE, .pid = 100, .tid = tid, .image = 1};

	while (frames[hit.n_frames]) {
		hit.frames[hit.n_frames] = frames[hit.n_frames];
		hit.n_frames++;
	}
	return hit;
}

static void add(struct profile *profile, unsigned times, uint64_t watches, unsigned kind, pid_t tid,
	const uint64_t *frames)
{
	struct hit hit = hit_of(watches, kind, tid, frames);

	while (times--)
		profile_add(profile, &hit);
}

static struct row *rows_of(
	const struct profile *profile, enum group group, size_t limit, size_t expected)
{
	size_t n;
	struct row *rows = profile_rows(profile, &(struct query){.group = group, .limit = limit}, &n);

	assert_int_equal(n, expected);
	return rows;
}

static void assert_share(double share, double expected)
{
	assert_true(share > expected - 1e-12 && share < expected + 1e-12);
}

/* A row by its names in one text: "function file module line". */
static void assert_loc(const struct loc *loc, const char *expected)
{
	char *text = text_format("%s %s %s %u", loc->function ? loc->function : "-",
		loc->file ? loc->file : "-", loc->module ? loc->module : "-", loc->line);

	assert_string_equal(text, expected);
	free(text);
}

static void test_empty(void **state)
{
	struct profile *profile = profile_new(10, NULL, NULL);

	(void)state;
	for (int group = GROUP_FUNCTION; group <= GROUP_INSTRUCTION; group++)
		free(rows_of(profile, (enum group)group, 0, 0));
	assert_true(profile_hits(profile) == 0 && profile_overrun(profile) == 0);
	assert_true(profile_count(profile, 0).hits == 0 && profile_count(profile, 63).overrun == 0);
	profile_free(profile);
	profile_free(NULL);
}

/* Case 1: two writers, and nothing else. */
static void test_two_writers(void **state)
{
	const uint64_t f[] = {at(1, 2), at(0, 1), 0}, g[] = {at(5, 3), at(0, 2), 0};
	struct profile *profile = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	add(profile, 500, 1, HIT_WRITE | HIT_READ_UNKNOWN, 100, g);
	add(profile, 1000, 1, HIT_WRITE | HIT_READ_UNKNOWN, 100, f);
	rows = rows_of(profile, GROUP_FUNCTION, 0, 2);
	assert_loc(rows[0].loc, "f f.c /bin/prog 3");
	assert_true(rows[0].hits == 1000 && rows[0].writes == 1000 && rows[0].reads == 0);
	assert_true(!rows[0].writes_unknown && rows[0].reads_unknown);
	assert_share(rows[0].share, 2.0 / 3);
	assert_loc(rows[1].loc, "g f.c /bin/prog 4");
	assert_true(rows[1].hits == 500);
	assert_share(rows[1].share, 1.0 / 3);
	assert_true(profile_hits(profile) == 1500 && profile_count(profile, 0).hits == 1500);
	free(rows);
	profile_free(profile);
}

/* Two lines of one function are one row; one name in two files or modules is several. */
static void test_functions_apart(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	for (unsigned function = 2; function <= 4; function++) {
		add(profile, function, 1, HIT_WRITE, 100, (uint64_t[]){at(function, 1), 0});
		add(profile, 10, 1, HIT_WRITE, 100, (uint64_t[]){at(function, 2), 0});
	}
	rows = rows_of(profile, GROUP_FUNCTION, 0, 3);
	assert_loc(rows[0].loc, "init a.c /lib/l.so 3");
	assert_true(rows[0].hits == 14);
	assert_loc(rows[1].loc, "init b.c /bin/prog 3");
	assert_true(rows[1].hits == 13);
	assert_loc(rows[2].loc, "init a.c /bin/prog 3");
	assert_true(rows[2].hits == 12);
	free(rows);
	profile_free(profile);
}

/* The line of a row is the hottest of the function, summed over threads and callers. */
static void test_hottest_line(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	for (pid_t tid = 1; tid <= 3; tid++)
		add(profile, 10, 1, HIT_WRITE, tid, (uint64_t[]){at(1, 2), at(0, 1), 0});
	add(profile, 15, 1, HIT_WRITE, 1, (uint64_t[]){at(1, 7), at(0, 1), 0});
	rows = rows_of(profile, GROUP_FUNCTION, 0, 1);
	assert_true(rows[0].hits == 45);
	assert_loc(rows[0].loc, "f f.c /bin/prog 3");
	free(rows);
	profile_free(profile);
}

static void test_unknown_functions(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL),
		       *nameless = profile_new(100, NULL, NULL);
	struct row *rows;

	(void)state;
	add(profile, 2, 1, HIT_READ, 100, (uint64_t[]){at(6, 1), 0});
	add(profile, 3, 1, HIT_READ, 100, (uint64_t[]){at(7, 1), 0});
	rows = rows_of(profile, GROUP_FUNCTION, 0, 2);
	assert_loc(rows[0].loc, "- - - 0");
	assert_loc(rows[1].loc, "libc+0x40 - /lib/libc.so 0");
	free(rows);
	add(nameless, 4, 1, HIT_READ, 100, (uint64_t[]){at(1, 1), at(0, 1), 0});
	rows = rows_of(nameless, GROUP_PATH, 0, 1);
	assert_loc(rows[0].loc, "- - - 0");
	assert_true(rows[0].loc->addr == at(1, 1) - 1);
	assert_true(profile_loc(nameless, rows[0].frames[1])->addr == at(0, 1) - 1);
	free(rows);
	profile_free(profile);
	profile_free(nameless);
}

/* An access that touches several watches counts for each, and once in the total. */
static void test_several_watches(void **state)
{
	const uint64_t f[] = {at(1, 1), 0};
	struct profile *profile = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	add(profile, 5, 0x3, HIT_WRITE, 100, f);
	add(profile, 3, 0x2, HIT_READ, 100, f);
	add(profile, 1, 1ULL << 63 | 1, HIT_WRITE, 100, f);
	assert_true(profile_hits(profile) == 9);
	assert_true(profile_count(profile, 0).hits == 6 && profile_count(profile, 1).hits == 8);
	assert_true(profile_count(profile, 63).hits == 1 && profile_count(profile, 2).hits == 0);
	rows = rows_of(profile, GROUP_FUNCTION, 0, 3);
	assert_true(rows[0].watch == 0 && rows[0].hits == 6 && rows[0].writes == 6);
	assert_true(rows[1].watch == 1 && rows[1].hits == 8 && rows[1].writes == 5 &&
		    rows[1].reads == 3);
	assert_true(rows[2].watch == 63 && rows[2].hits == 1);
	for (int i = 0; i < 3; i++)
		assert_share(rows[i].share, 1.0);
	free(rows);
	profile_free(profile);
}

/* Kinds of one row add up; one unknown part makes the sum a lower bound. */
static void test_kinds(void **state)
{
	static const struct {
		unsigned kinds[3]; /* one hit of each; 0: none */
		uint64_t reads, writes;
		bool reads_known, writes_known;
	} cases[] = {
		{{HIT_READ}, 1, 0, true, true},
		{{HIT_WRITE}, 0, 1, true, true},
		{{HIT_READ | HIT_WRITE}, 1, 1, true, true},
		{{HIT_READ, HIT_WRITE, HIT_READ | HIT_WRITE}, 2, 2, true, true},
		{{HIT_WRITE | HIT_READ_UNKNOWN}, 0, 1, false, true},
		{{HIT_WRITE | HIT_READ_UNKNOWN, HIT_READ}, 1, 1, false, true},
		{{HIT_READ_UNKNOWN | HIT_WRITE_UNKNOWN}, 0, 0, false, false},
		{{HIT_READ_UNKNOWN | HIT_WRITE_UNKNOWN, HIT_READ, HIT_WRITE}, 1, 1, false, false},
		{{HIT_READ | HIT_WRITE_UNKNOWN, HIT_WRITE}, 1, 1, true, false},
		{{HIT_EXECUTE}, 0, 0, true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct profile *profile = profile_new(100, locate, NULL);
		struct row *rows;
		uint64_t hits = 0;

		for (int k = 0; k < 3 && cases[i].kinds[k]; k++, hits++)
			add(profile, 1, 1, cases[i].kinds[k], 100, (uint64_t[]){at(1, 1), 0});
		rows = rows_of(profile, GROUP_THREAD, 0, 1);
		assert_true(rows[0].hits == hits);
		assert_true(rows[0].reads == cases[i].reads && rows[0].writes == cases[i].writes);
		assert_int_equal(!rows[0].reads_unknown, cases[i].reads_known);
		assert_int_equal(!rows[0].writes_unknown, cases[i].writes_known);
		free(rows);
		profile_free(profile);
	}
}

static void test_paths(void **state)
{
	const uint64_t f_set[] = {at(6, 1), at(1, 1), at(0, 1), 0},
		       g_set[] = {at(6, 1), at(5, 1), at(0, 1), 0};
	const uint64_t f_line[] = {at(6, 1), at(1, 9), at(0, 4), 0},
		       f_short[] = {at(6, 1), at(1, 1), 0};
	struct profile *profile = profile_new(100, locate, NULL);
	struct hit hit = hit_of(1, HIT_WRITE, 100, f_set);
	struct row *rows;

	(void)state;
	add(profile, 10, 1, HIT_WRITE, 100, f_set);
	add(profile, 5, 1, HIT_WRITE, 100, g_set);
	add(profile, 2, 1, HIT_WRITE, 101, f_line); /* the same functions: the same path */
	add(profile, 3, 1, HIT_WRITE, 100, f_short);
	hit.path = PATH_TRUNCATED;
	profile_add(profile, &hit);
	rows = rows_of(profile, GROUP_PATH, 0, 4);
	assert_true(
		rows[0].hits == 12 && rows[1].hits == 5 && rows[2].hits == 3 && rows[3].hits == 1);
	assert_int_equal(rows[0].n_frames, 3);
	assert_loc(profile_loc(profile, rows[0].frames[0]), "libc+0x40 - /lib/libc.so 0");
	assert_loc(profile_loc(profile, rows[0].frames[1]), "f f.c /bin/prog 2");
	assert_loc(profile_loc(profile, rows[0].frames[2]), "main main.c /bin/prog 2");
	assert_loc(profile_loc(profile, rows[1].frames[1]), "g f.c /bin/prog 2");
	assert_int_equal(rows[2].n_frames, 2);
	assert_int_equal(rows[3].path, PATH_TRUNCATED);
	free(rows);
	rows = rows_of(profile, GROUP_FUNCTION, 0, 1);
	assert_true(rows[0].hits == 21);
	free(rows);
	profile_free(profile);
}

static void test_threads(void **state)
{
	const uint64_t f[] = {at(1, 1), 0}, g[] = {at(5, 1), 0};
	struct profile *profile = profile_new(100, locate, NULL);
	struct hit other = hit_of(1, HIT_WRITE, 7, f);
	struct row *rows;

	(void)state;
	add(profile, 4, 1, HIT_WRITE, 9, f);
	add(profile, 3, 1, HIT_READ, 9, g);
	add(profile, 7, 1, HIT_WRITE, 8, f);
	add(profile, 9, 1, HIT_WRITE, 7, f);
	other.pid = 200; /* the same thread id in another process or name space */
	profile_add(profile, &other);
	rows = rows_of(profile, GROUP_THREAD, 0, 4);
	assert_true(rows[0].tid == 7 && rows[0].pid == 100 && rows[0].hits == 9);
	assert_true(rows[1].tid == 8 && rows[1].hits == 7); /* before 9: as many hits */
	assert_true(
		rows[2].tid == 9 && rows[2].hits == 7 && rows[2].reads == 3 && rows[2].writes == 4);
	assert_true(rows[3].tid == 7 && rows[3].pid == 200 && rows[3].hits == 1);
	free(rows);
	profile_free(profile);
}

/* The access lies before the saved address and a call before its return address; an execute
 * watch stops before its instruction. Each is asked for once per image. */
static void test_locate_calls(void **state)
{
	struct calls *calls = mem_new(1, sizeof(*calls));
	struct profile *profile = profile_new(100, locate, calls);
	const uint64_t f[] = {at(1, 1), at(0, 1), 0}, g[] = {at(1, 2), at(0, 1), 0};
	struct hit hit = hit_of(1, HIT_WRITE, 100, f);

	(void)state;
	add(profile, 3, 3, HIT_WRITE, 100, f);
	add(profile, 3, 1, HIT_READ, 101, f);
	assert_int_equal(calls->n, 2);
	assert_true(calls->addr[0] == at(1, 1) - 1 && calls->addr[1] == at(0, 1) - 1);
	assert_true(calls->image[0] == 1 && calls->pid == 100);
	add(profile, 1, 1, HIT_WRITE, 100, g); /* one frame is known */
	assert_int_equal(calls->n, 3);
	assert_true(calls->addr[2] == at(1, 2) - 1);
	add(profile, 2, 1, HIT_EXECUTE, 100, f);
	assert_int_equal(calls->n, 4);
	assert_true(calls->addr[3] == at(1, 1));
	hit.image = 2; /* the same addresses after exec are another program */
	hit.pid = 300;
	profile_add(profile, &hit);
	profile_add(profile, &hit);
	assert_int_equal(calls->n, 6);
	assert_true(calls->image[4] == 2 && calls->image[5] == 2 && calls->pid == 300);
	profile_free(profile);
	free(calls);
}

/* Case 5: an indirect call through a watched pointer stops at the callee's first instruction. */
static void test_entry_belongs_to_the_caller(void **state)
{
	uint64_t entry = 0x10000 + 5 * FUNCTION_BYTES; /* of g; the byte before it is init's */
	const uint64_t frames[] = {entry, at(1, 4), at(0, 1), 0}, alone[] = {entry, 0};
	struct profile *profile = profile_new(100, locate, NULL),
		       *executed = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	add(profile, 200, 1, HIT_READ, 100, frames);
	rows = rows_of(profile, GROUP_FUNCTION, 0, 1);
	assert_loc(rows[0].loc, "f f.c /bin/prog 5");
	free(rows);
	rows = rows_of(profile, GROUP_PATH, 0, 1);
	assert_int_equal(rows[0].n_frames, 2); /* the callee has not run yet */
	assert_loc(profile_loc(profile, rows[0].frames[0]), "f f.c /bin/prog 5");
	assert_loc(profile_loc(profile, rows[0].frames[1]), "main main.c /bin/prog 2");
	free(rows);
	add(executed, 3, 1, HIT_EXECUTE, 100, frames);
	rows = rows_of(executed, GROUP_PATH, 0, 1);
	assert_loc(rows[0].loc, "g f.c /bin/prog 1");
	assert_int_equal(rows[0].n_frames, 3);
	free(rows);
	add(executed, 1, 2, HIT_READ, 100, alone);
	rows = rows_of(
		executed, GROUP_FUNCTION, 0, 2); /* no caller is known: it is still counted */
	assert_true(rows[1].hits == 1);
	free(rows);
	profile_free(profile);
	profile_free(executed);
}

/* An execute watch on the last byte of a function, often a ret: what follows is an entry, and
 * the byte still belongs to its own function. */
static void test_execute_before_an_entry(void **state)
{
	const uint64_t last = 0x10000 + 6 * FUNCTION_BYTES - 1; /* of g */
	struct profile *profile = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	add(profile, 4, 1, HIT_EXECUTE, 100, (uint64_t[]){last, at(0, 1), 0});
	rows = rows_of(profile, GROUP_PATH, 0, 1);
	assert_loc(rows[0].loc, "g f.c /bin/prog 16");
	assert_int_equal(rows[0].n_frames, 2);
	free(rows);
	profile_free(profile);
}

/* A hit whose stack could not be read at all is still a hit. */
static void test_no_frames(void **state)
{
	const uint64_t none[] = {0}, f[] = {at(1, 1), 0};
	struct profile *profile = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	add(profile, 3, 1, HIT_WRITE, 100, none);
	add(profile, 2, 1, HIT_WRITE, 100, f);
	for (int group = GROUP_FUNCTION; group <= GROUP_PATH; group++) {
		rows = rows_of(profile, (enum group)group, 0, 2);
		assert_true(rows[0].hits == 3 && rows[0].n_frames == 0 && !rows[0].loc);
		assert_true(rows[1].hits == 2);
		free(rows);
	}
	profile_free(profile);
}

/* A signal's frame is named by what it is, and it and the frame that it interrupted are looked up
 * where they stand; the same address under no signal is another location. */
static void test_signal_frames(void **state)
{
	struct calls calls = {0};
	struct profile *profile = profile_new(100, locate, &calls);
	uint64_t frames[] = {at(1, 2), at(4, 1), at(5, 3), at(0, 1), 0};
	struct hit hit = hit_of(1, HIT_WRITE, 100, frames);
	struct row *rows;

	(void)state;
	hit.signals[0] = 1 << 1;
	profile_add(profile, &hit);
	assert_int_equal(calls.n, 4);
	assert_int_equal(calls.addr[0], frames[0] - 1);
	assert_int_equal(calls.addr[1], frames[1]);
	assert_int_equal(calls.addr[2], frames[2]);
	assert_int_equal(calls.addr[3], frames[3] - 1);
	rows = rows_of(profile, GROUP_PATH, 0, 1);
	assert_loc(profile_loc(profile, rows[0].frames[1]), SIGNAL_FRAME " a.c /lib/l.so 2");
	free(rows);
	frames[0] = at(1, 3);
	frames[1]++;
	add(profile, 1, 1, HIT_WRITE, 100, frames);
	rows = rows_of(profile, GROUP_PATH, 0, 2);
	assert_loc(profile_loc(profile, rows[1].frames[1]), "init a.c /lib/l.so 2");
	free(rows);
	profile_free(profile);
}

static void test_deepest_path(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);
	struct hit hit = {.watches = 1,
		.kind = HIT_WRITE,
		.pid = 1,
		.tid = 1,
		.path = PATH_TRUNCATED,
		.n_frames = STACK_DEPTH_MAX};
	struct row *rows;

	(void)state;
	for (unsigned i = 0; i < STACK_DEPTH_MAX; i++)
		hit.frames[i] = at(1 + i % 2, i % 16); /* recursion is kept as it is */
	profile_add(profile, &hit);
	hit.frames[STACK_DEPTH_MAX - 1] = at(0, 1); /* differs in the last frame only */
	profile_add(profile, &hit);
	rows = rows_of(profile, GROUP_PATH, 0, 2);
	assert_int_equal(rows[0].n_frames, STACK_DEPTH_MAX);
	free(rows);
	profile_free(profile);
}

/* The table is full: every hit still counts for its watch, known sites go on, new ones are
 * overrun, in all numbers exactly. */
static void test_overrun(void **state)
{
	struct profile *profile = profile_new(3, locate, NULL);
	uint64_t sum = 0;
	struct row *rows;

	(void)state;
	add(profile, 10, 0x1, HIT_WRITE, 100, (uint64_t[]){at(1, 1), 0});
	add(profile, 10, 0x3, HIT_WRITE, 100, (uint64_t[]){at(2, 1), 0});
	assert_true(profile_overrun(profile) == 0);
	add(profile, 4, 0x1, HIT_WRITE, 100, (uint64_t[]){at(3, 1), 0}); /* new function */
	add(profile, 2, 0x1, HIT_WRITE, 101, (uint64_t[]){at(1, 1), 0}); /* new thread */
	add(profile, 5, 0x3, HIT_WRITE, 100, (uint64_t[]){at(1, 1), 0}); /* new for watch 1 only */
	add(profile, 1, 0x3, HIT_READ, 100, (uint64_t[]){at(2, 1), 0});  /* new kind, for both */
	assert_true(profile_hits(profile) == 32);
	assert_true(profile_overrun(profile) == 12);
	assert_true(profile_count(profile, 0).hits == 32 && profile_count(profile, 0).overrun == 7);
	assert_true(profile_count(profile, 1).hits == 16 && profile_count(profile, 1).overrun == 6);
	rows = rows_of(profile, GROUP_FUNCTION, 0, 3);
	for (int i = 0; i < 3; i++)
		sum += rows[i].hits;
	assert_true(sum == 32 + 16 - 7 - 6);
	assert_share(rows[0].share, 15.0 / 32);
	free(rows);
	profile_free(profile);
}

static void test_limit(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	for (unsigned line = 0; line < 7; line++)
		add(profile, 10 + line, 1, HIT_WRITE, (pid_t)line, (uint64_t[]){at(line, 1), 0});
	rows = rows_of(profile, GROUP_FUNCTION, 2, 2);
	assert_true(rows[0].hits == 16 && rows[1].hits == 15);
	assert_share(rows[0].share, 16.0 / (10 + 11 + 12 + 13 + 14 + 15 + 16));
	free(rows);
	free(rows_of(profile, GROUP_THREAD, 100, 7));
	free(rows_of(profile, GROUP_THREAD, 7, 7));
	profile_free(profile);
}

/* Equal counts: by name, then module, then file. */
static void test_order_of_equals(void **state)
{
	static const char *const expected[] = {"f f.c /bin/prog 2", "g f.c /bin/prog 2",
		"init a.c /bin/prog 2", "init b.c /bin/prog 2", "init a.c /lib/l.so 2",
		"main main.c /bin/prog 2"};
	struct profile *profile = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	for (unsigned function = 6; function-- > 0;)
		add(profile, 3, 1, HIT_WRITE, 100, (uint64_t[]){at(function, 1), 0});
	rows = rows_of(profile, GROUP_FUNCTION, 0, 6);
	for (size_t i = 0; i < 6; i++)
		assert_loc(rows[i].loc, expected[i]);
	free(rows);
	profile_free(profile);
}

/* The same hits in another order give the same answer, down to the line that is shown. */
static void test_order_of_arrival_is_nothing(void **state)
{
	static const enum group by_name[] = {GROUP_FUNCTION, GROUP_BLAME, GROUP_PATH};
	struct profile *one = profile_new(100, locate, NULL), *two = profile_new(100, locate, NULL);

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		unsigned j = 11 - i;

		add(one, 2, 1, HIT_WRITE, (pid_t)(i % 2), (uint64_t[]){at(i % 3, i), at(0, i), 0});
		add(two, 2, 1, HIT_WRITE, (pid_t)(j % 2), (uint64_t[]){at(j % 3, j), at(0, j), 0});
	}
	for (size_t g = 0; g < ARRAY_LEN(by_name); g++) {
		struct row *rows = rows_of(one, by_name[g], 0, 3);
		struct row *others = rows_of(two, by_name[g], 0, 3);

		for (int i = 0; i < 3; i++) {
			assert_true(rows[i].hits == others[i].hits);
			assert_true(rows[i].loc->addr == others[i].loc->addr);
		}
		free(rows);
		free(others);
	}
	profile_free(one);
	profile_free(two);
}

/* Paths by name: by their functions from the innermost on, however long they are. */
static void test_paths_by_name(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);
	struct query query = {.group = GROUP_PATH, .sort = SORT_NAME};
	struct row *rows;
	size_t n;

	(void)state;
	add(profile, 3, 1, HIT_WRITE, 100, (uint64_t[]){at(5, 1), at(0, 1), 0});
	add(profile, 2, 1, HIT_WRITE, 100, (uint64_t[]){at(1, 1), at(0, 1), 0});
	add(profile, 1, 1, HIT_WRITE, 100, (uint64_t[]){at(1, 1), at(5, 1), at(0, 1), 0});
	add(profile, 4, 1, HIT_WRITE, 100, (uint64_t[]){at(1, 1), 0});
	rows = profile_rows(profile, &query, &n);
	assert_int_equal(n, 4);
	assert_int_equal(rows[0].hits, 4); /* f */
	assert_int_equal(rows[1].hits, 1); /* f < g < main */
	assert_int_equal(rows[2].hits, 2); /* f < main */
	assert_int_equal(rows[3].hits, 3); /* g < main */
	free(rows);
	profile_free(profile);
}

/* The model: all that can happen, counted in a plain array. */
#define MODEL_WATCHES   3
#define MODEL_THREADS   5
#define MODEL_FUNCTIONS 7 /* no names are equal in all three parts */
#define MODEL_PATHS     (MODEL_FUNCTIONS * 8 * 8 * 2)

struct counts {
	uint64_t hits, reads, writes;
};

struct model {
	struct counts function[MODEL_WATCHES][MODEL_FUNCTIONS];
	struct counts thread[MODEL_WATCHES][MODEL_THREADS];
	struct counts path[MODEL_WATCHES][MODEL_PATHS];
	uint64_t watch[MODEL_WATCHES];
};

static void count(struct counts *counts, const struct hit *hit)
{
	counts->hits++;
	counts->reads += hit->kind & HIT_READ ? 1 : 0;
	counts->writes += hit->kind & HIT_WRITE ? 1 : 0;
}

/* One random hit, for the model and for the profile. Up to three frames; 7: no frame. */
static void random_hit(struct model *model, struct profile *profile, uint64_t *seed)
{
	struct hit hit = {.pid = 100, .image = 1};
	unsigned function[3] = {7, 7, 7}, thread, path;

	hit.watches = random_next(seed) % 7 + 1;
	hit.kind = (uint8_t)(random_next(seed) % 3 + 1);
	hit.path = random_next(seed) % 2 ? PATH_TRUNCATED : PATH_WHOLE;
	hit.n_frames = (uint16_t)(random_next(seed) % 3 + 1);
	thread = random_next(seed) % MODEL_THREADS;
	hit.tid = (pid_t)(1000 + thread);
	for (unsigned i = 0; i < hit.n_frames; i++) {
		function[i] = random_next(seed) % MODEL_FUNCTIONS;
		/* Any byte of the function but its first: that would be an entry. */
		hit.frames[i] = 0x10001 + function[i] * FUNCTION_BYTES + random_next(seed) % 255;
	}
	path = ((function[0] * 8 + function[1]) * 8 + function[2]) * 2 +
	       (hit.path == PATH_TRUNCATED);
	for (unsigned w = 0; w < MODEL_WATCHES; w++) {
		if (!(hit.watches & 1U << w))
			continue;
		count(&model->function[w][function[0]], &hit);
		count(&model->thread[w][thread], &hit);
		count(&model->path[w][path], &hit);
		model->watch[w]++;
	}
	profile_add(profile, &hit);
}

static unsigned function_of(const struct loc *loc)
{
	return (unsigned)((loc->addr - 0x10000) / FUNCTION_BYTES);
}

/* Where the model counts what a row shows. */
static struct counts *model_counts(
	struct model *model, const struct profile *profile, enum group group, const struct row *row)
{
	unsigned function[3] = {7, 7, 7};

	if (group == GROUP_THREAD)
		return &model->thread[row->watch][row->tid - 1000];
	if (group == GROUP_FUNCTION)
		return &model->function[row->watch][function_of(row->loc)];
	for (unsigned i = 0; i < row->n_frames; i++)
		function[i] = function_of(profile_loc(profile, row->frames[i]));
	return &model->path[row->watch][((function[0] * 8 + function[1]) * 8 + function[2]) * 2 +
					(row->path == PATH_TRUNCATED)];
}

/* Every row is in the model with the same counts (which are then cleared, so that none can
 * come twice); what they leave is nothing. */
static void model_check(struct model *model, const struct profile *profile, enum group group)
{
	size_t n;
	struct row *rows = profile_rows(profile, &(struct query){.group = group}, &n);
	uint64_t sums[MODEL_WATCHES] = {0};

	for (size_t i = 0; i < n; i++) {
		struct counts *counts = model_counts(model, profile, group, &rows[i]);

		assert_true(rows[i].hits == counts->hits && rows[i].hits > 0);
		assert_true(rows[i].reads == counts->reads && rows[i].writes == counts->writes);
		assert_true(!rows[i].reads_unknown && !rows[i].writes_unknown);
		assert_share(
			rows[i].share, (double)rows[i].hits / (double)model->watch[rows[i].watch]);
		assert_true(
			i == 0 || rows[i - 1].watch < rows[i].watch ||
			(rows[i - 1].watch == rows[i].watch && rows[i - 1].hits >= rows[i].hits));
		sums[rows[i].watch] += rows[i].hits;
		counts->hits = 0;
	}
	for (unsigned w = 0; w < MODEL_WATCHES; w++)
		assert_true(sums[w] == model->watch[w]);
	free(rows);
}

/* 200,000 hits on some 100,000 sites: all tables grow many times. */
static void test_against_a_model(void **state)
{
	struct profile *profile = profile_new(1000000, locate, NULL);
	struct model *model = mem_new(1, sizeof(*model));
	uint64_t seed = 2024;

	(void)state;
	for (int i = 0; i < 200000; i++)
		random_hit(model, profile, &seed);
	assert_true(profile_hits(profile) == 200000 && profile_overrun(profile) == 0);
	for (unsigned w = 0; w < MODEL_WATCHES; w++)
		assert_true(profile_count(profile, w).hits == model->watch[w]);
	model_check(model, profile, GROUP_FUNCTION);
	model_check(model, profile, GROUP_PATH);
	model_check(model, profile, GROUP_THREAD);
	free(model);
	profile_free(profile);
}

/* Each address is looked up once, however often the tables have grown since. */
static void test_growth(void **state)
{
	struct calls *calls = mem_new(1, sizeof(*calls));
	struct profile *profile = profile_new(100000, locate, calls);
	size_t n;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 1; i <= 4000; i++)
			add(profile, 1, 1, HIT_WRITE, (pid_t)(i % 50),
				(uint64_t[]){i * 4096, i * 4096, 0});
	}
	assert_int_equal(calls->n, 4000);
	free(profile_rows(profile, &(struct query){.group = GROUP_THREAD}, &n));
	assert_int_equal(n, 50);
	assert_true(profile_count(profile, 0).hits == 8000);
	profile_free(profile);
	free(calls);
}

/* Sites and locations that differ in one part of their key only, so many that they stand next
 * to each other in the tables. */
static void test_neighbours_in_the_tables(void **state)
{
	struct calls *calls = mem_new(1, sizeof(*calls));
	struct profile *profile = profile_new(100000, locate, calls);
	struct hit hit = hit_of(1, HIT_WRITE, 1, (uint64_t[]){at(1, 1), 0});
	struct row *rows;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (hit.tid = 1; hit.tid <= 6000; hit.tid++) {
			hit.kind = HIT_WRITE;
			profile_add(profile, &hit);
			hit.kind = HIT_READ;
			profile_add(profile, &hit);
		}
	}
	rows = rows_of(profile, GROUP_THREAD, 0, 6000);
	for (int i = 0; i < 6000; i++)
		assert_true(rows[i].hits == 4 && rows[i].reads == 2 && rows[i].writes == 2);
	free(rows);
	for (hit.image = 2; hit.image <= 4000; hit.image++)
		profile_add(profile, &hit);
	assert_int_equal(calls->n, 4000);
	profile_free(profile);
	free(calls);
}

/* Passes over all of libc.so and l.so. */
static void rules_init(struct blame_rules *rules)
{
	blame_rules_init(rules);
	blame_rules_add(rules, "libc,l");
}

/* Of a helper's hits each caller has a row, with the helper as the function. */
static void test_blame(void **state)
{
	enum { MAIN = 0, INIT_OF_L = 4, LIBC = 6 };
	struct profile *profile = profile_new(100, locate, NULL);
	struct blame_rules rules;
	struct row *rows;

	(void)state;
	rules_init(&rules);
	profile_blame(profile, &rules);
	add(profile, 10, 1, HIT_WRITE, 100, (uint64_t[]){at(LIBC, 1), at(1, 3), at(MAIN, 1), 0});
	add(profile, 5, 1, HIT_WRITE, 100, (uint64_t[]){at(LIBC, 1), at(INIT_OF_L, 2), at(3, 1), at(MAIN, 1), 0});
	add(profile, 2, 1, HIT_WRITE, 100, (uint64_t[]){at(1, 2), at(MAIN, 1), 0});
	add(profile, 1, 1, HIT_WRITE, 100, (uint64_t[]){at(LIBC, 1), at(INIT_OF_L, 1), 0}); /* nobody else */
	rows = rows_of(profile, GROUP_FUNCTION, 0, 4);
	assert_true(rows[0].hits == 10 && rows[1].hits == 5 && rows[2].hits == 2 && rows[3].hits == 1);
	assert_loc(rows[0].loc, "libc+0x40 - /lib/libc.so 0");
	assert_loc(rows[0].blame, "f f.c /bin/prog 4");
	assert_loc(rows[1].blame, "init b.c /bin/prog 2");
	assert_true(rows[2].blame == rows[2].loc);
	assert_true(rows[3].blame == rows[3].loc);
	free(rows);
	rows = rows_of(profile, GROUP_BLAME, 0, 3);
	assert_true(rows[0].hits == 12 && rows[1].hits == 5 && rows[2].hits == 1);
	assert_string_equal(rows[0].loc->function, "f");
	assert_string_equal(rows[0].loc->file, "f.c");
	assert_true(rows[0].blame == rows[0].loc);
	free(rows);
	profile_free(profile);
	blame_rules_fini(&rules);
}

/* A line is a row for each function that it is in; without lines, an instruction. */
static void test_lines(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);
	struct row *rows;

	(void)state;
	add(profile, 4, 1, HIT_WRITE, 100, (uint64_t[]){at(1, 2), at(0, 1), 0});
	add(profile, 2, 1, HIT_WRITE, 101, (uint64_t[]){at(1, 2), at(0, 2), 0});
	add(profile, 3, 1, HIT_READ, 100, (uint64_t[]){at(1, 5), 0});
	add(profile, 1, 1, HIT_WRITE, 100, (uint64_t[]){at(6, 2), 0});
	add(profile, 2, 1, HIT_WRITE, 100, (uint64_t[]){at(6, 3), 0});
	rows = rows_of(profile, GROUP_LINE, 0, 4);
	assert_true(rows[0].hits == 6 && rows[0].writes == 6);
	assert_loc(rows[0].loc, "f f.c /bin/prog 3");
	assert_loc(rows[1].loc, "f f.c /bin/prog 6");
	assert_true(rows[2].hits == 2 && rows[3].hits == 1);
	assert_true(rows[0].n_frames == 0 && rows[0].tid == 0);
	free(rows);
	rows = rows_of(profile, GROUP_INSTRUCTION, 0, 4);
	assert_true(rows[0].hits == 6 && rows[0].loc->addr == at(1, 2) - 1 && profile_image(rows[0].loc) == 1);
	assert_true(rows[1].hits == 3 && rows[2].hits == 2 && rows[3].hits == 1);
	assert_true(rows[0].n_frames == 0 && rows[0].tid == 0);
	free(rows);
	rows = rows_of(profile, GROUP_WATCH, 0, 1);
	assert_true(rows[0].hits == 12 && rows[0].reads == 3 && rows[0].writes == 9 && !rows[0].loc);
	free(rows);
	profile_free(profile);
}

static void assert_order(const struct profile *profile, const struct query *query, const char *expected)
{
	size_t n;
	struct row *rows = profile_rows(profile, query, &n);
	char *text = text_copy("");

	for (size_t i = 0; i < n; i++) {
		char *more = text_format("%s%u:%s ", text, rows[i].watch, rows[i].loc->function);

		free(text);
		text = more;
	}
	assert_string_equal(text, expected);
	free(text);
	free(rows);
}

/* Sorted as asked, so many of each watch as asked, only what fits. */
static void test_queries(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);

	(void)state;
	add(profile, 9, 3, HIT_READ, 100, (uint64_t[]){at(0, 1), 0});
	add(profile, 5, 1, HIT_WRITE, 100, (uint64_t[]){at(1, 1), at(5, 1), 0});
	add(profile, 7, 2, HIT_READ | HIT_WRITE, 100, (uint64_t[]){at(6, 1), 0});
	add(profile, 1, 3, HIT_WRITE, 100, (uint64_t[]){at(5, 1), 0});
	assert_order(profile, &(struct query){.sort = SORT_HITS}, "0:main 0:f 0:g 1:main 1:libc+0x40 1:g ");
	assert_order(profile, &(struct query){.sort = SORT_WRITES}, "0:f 0:g 0:main 1:libc+0x40 1:g 1:main ");
	assert_order(profile, &(struct query){.sort = SORT_READS}, "0:main 0:f 0:g 1:main 1:libc+0x40 1:g ");
	assert_order(profile, &(struct query){.sort = SORT_NAME}, "0:f 0:g 0:main 1:g 1:libc+0x40 1:main ");
	assert_order(profile, &(struct query){.limit = 2}, "0:main 0:f 1:main 1:libc+0x40 ");
	assert_order(profile, &(struct query){.filter = "g"}, "0:main 0:f 0:g 1:main 1:g "); /* /bin/prog */
	assert_order(profile, &(struct query){.filter = "[g]"}, "0:f 0:g 1:g ");
	assert_order(profile, &(struct query){.filter = "libc.so"}, "1:libc+0x40 ");
	assert_order(profile, &(struct query){.filter = "*.c"}, "0:main 0:f 0:g 1:main 1:g ");
	assert_order(profile, &(struct query){.filter = "nothing"}, "");
	profile_free(profile);
}

static void assert_tree(const struct profile *profile, const struct query *query, const char *expected)
{
	size_t n;
	struct row *rows = profile_tree(profile, query, &n);
	char *text = text_copy("");

	for (size_t i = 0; i < n; i++) {
		char *more = text_format("%s%u%*s %s %" PRIu64 "%s\n", text, rows[i].watch, rows[i].n_frames, "",
			rows[i].loc->function, rows[i].hits,
			rows[i].path == PATH_NONE ? "" : rows[i].path == PATH_WHOLE ? "." : "!");

		assert_ptr_equal(rows[i].loc, profile_loc(profile, rows[i].frames[rows[i].n_frames - 1]));
		free(text);
		text = more;
	}
	assert_string_equal(text, expected);
	free(text);
	free(rows);
}

static void test_tree(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);
	struct hit cut = hit_of(1, HIT_WRITE, 100, (uint64_t[]){at(5, 1), at(1, 1), 0});

	(void)state;
	assert_tree(profile, &(struct query){0}, "");
	add(profile, 4, 1, HIT_WRITE, 100, (uint64_t[]){at(5, 1), at(1, 1), at(0, 1), 0});
	add(profile, 2, 1, HIT_READ, 101, (uint64_t[]){at(5, 9), at(1, 2), at(0, 2), 0});
	add(profile, 5, 3, HIT_WRITE, 100, (uint64_t[]){at(5, 1), at(0, 1), 0});
	add(profile, 8, 1, HIT_WRITE, 100, (uint64_t[]){at(0, 1), 0});
	cut.path = PATH_TRUNCATED;
	profile_add(profile, &cut);
	assert_tree(profile, &(struct query){0},
		"0  g 12\n"
		"0   f 7!\n"
		"0    main 6.\n"
		"0   main 5.\n"
		"0  main 8.\n"
		"1  g 5\n"
		"1   main 5.\n");
	assert_tree(profile, &(struct query){.limit = 1},
		"0  g 12\n"
		"0   f 7!\n"
		"0    main 6.\n"
		"1  g 5\n"
		"1   main 5.\n");
	assert_tree(profile, &(struct query){.sort = SORT_NAME, .filter = "[f]"},
		"0  g 7\n"
		"0   f 7!\n"
		"0    main 6.\n");
	profile_free(profile);
}

/* The code of f is that of a (at line 3) in b in f. */
static void locate_inlined(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out)
{
	static const struct inlined inlined[] = {{"a", "a.h", 3}, {"b", "b.h", 7}, {"f", "f.c", 9}};

	locate(context, pid, image, addr, out);
	if (strcmp(out->function, "f") != 0)
		return;
	out->inlined = inlined;
	out->n_inlined = ARRAY_LEN(inlined);
}

/* Inlined functions are frames of paths; a hit belongs to the function that they are in. */
static void test_inlined(void **state)
{
	uint64_t entry = 0x10000 + 2 * FUNCTION_BYTES; /* of init; the byte before it is f's */
	const uint64_t called[] = {at(5, 1), at(1, 2), at(0, 1), 0}, owner[] = {at(1, 2), at(0, 1), 0},
		       indirect[] = {entry, at(1, 2), at(0, 1), 0};
	static const char *const frames[] = {"a a.h /bin/prog 3", "b b.h /bin/prog 7", "f f.c /bin/prog 9",
		"main main.c /bin/prog 2"};
	struct calls *calls = mem_new(1, sizeof(*calls));
	struct profile *profile = profile_new(100, locate_inlined, calls);
	struct row *rows;

	(void)state;
	add(profile, 5, 1, HIT_WRITE, 100, owner);
	add(profile, 3, 1, HIT_WRITE, 100, called);
	add(profile, 2, 1, HIT_READ, 100, indirect);
	assert_int_equal(calls->n, 4);
	rows = rows_of(profile, GROUP_FUNCTION, 0, 2);
	assert_true(rows[0].hits == 7 && rows[1].hits == 3);
	assert_loc(rows[0].loc, "f f.c /bin/prog 3");
	free(rows);
	rows = rows_of(profile, GROUP_PATH, 0, 2);
	assert_true(rows[0].hits == 7 && rows[0].n_frames == ARRAY_LEN(frames));
	for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
		assert_loc(profile_loc(profile, rows[0].frames[i]), frames[i]);
		assert_true(profile_loc(profile, rows[0].frames[i])->is_inlined == (i < 2));
	}
	assert_int_equal(rows[1].n_frames, ARRAY_LEN(frames) + 1);
	assert_loc(profile_loc(profile, rows[1].frames[0]), "g f.c /bin/prog 2");
	assert_loc(profile_loc(profile, rows[1].frames[1]), frames[0]);
	free(rows);
	profile_free(profile);
	free(calls);
}

/* The other way round: each function, and below it those that it called. */
static void test_tree_inverted(void **state)
{
	static const struct {
		const char *function;
		uint64_t hits;
		unsigned depth;
	} expected[] = {{"main", 14, 1}, {"g", 8, 2}, {"f", 6, 2}, {"g", 6, 3}, {"f", 1, 1}, {"g", 1, 2}};
	struct profile *profile = profile_new(100, locate, NULL);
	size_t n;
	struct row *rows;

	(void)state;
	add(profile, 4, 1, HIT_WRITE, 100, (uint64_t[]){at(5, 1), at(1, 1), at(0, 1), 0});
	add(profile, 2, 1, HIT_READ, 101, (uint64_t[]){at(5, 9), at(1, 2), at(0, 2), 0});
	add(profile, 8, 1, HIT_WRITE, 100, (uint64_t[]){at(5, 1), at(0, 1), 0});
	add(profile, 1, 1, HIT_WRITE, 100, (uint64_t[]){at(5, 1), at(1, 1), 0});
	add(profile, 5, 2, HIT_WRITE, 100, (uint64_t[]){at(5, 1), at(0, 1), 0});
	rows = profile_tree(profile, &(struct query){.is_inverted = true, .watches = 1}, &n);
	assert_int_equal(n, ARRAY_LEN(expected));
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(rows[i].loc->function, expected[i].function);
		assert_int_equal(rows[i].hits, expected[i].hits);
		assert_int_equal(rows[i].n_frames, expected[i].depth);
		assert_ptr_equal(rows[i].loc, profile_loc(profile, rows[i].frames[0]));
		assert_int_equal(rows[i].path, PATH_NONE);
	}
	free(rows);
	profile_free(profile);
}

/* The counts of each watch without a query. */
static void test_totals(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);
	struct row rows[WATCHES_MAX];

	(void)state;
	add(profile, 4, 1, HIT_WRITE, 100, (uint64_t[]){at(5, 1), 0});
	add(profile, 2, 3, HIT_READ, 101, (uint64_t[]){at(5, 9), 0});
	add(profile, 1, 2, HIT_READ | HIT_WRITE_UNKNOWN, 101, (uint64_t[]){at(5, 9), 0});
	profile_totals(profile, rows);
	assert_int_equal(rows[0].hits, 6);
	assert_int_equal(rows[0].reads, 2);
	assert_int_equal(rows[0].writes, 4);
	assert_true(!rows[0].reads_unknown && !rows[0].writes_unknown);
	assert_int_equal(rows[1].hits, 3);
	assert_true(!rows[1].reads_unknown && rows[1].writes_unknown);
	assert_int_equal(rows[2].hits, 0);
	assert_int_equal(profile_unknown(profile), 1);
	profile_free(profile);
	/* One without a site is in none of them. */
	profile = profile_new(1, locate, NULL);
	add(profile, 2, 1, HIT_WRITE_UNKNOWN, 100, (uint64_t[]){at(5, 1), 0});
	add(profile, 3, 1, HIT_WRITE_UNKNOWN, 101, (uint64_t[]){at(6, 1), 0});
	profile_totals(profile, rows);
	assert_int_equal(rows[0].hits, 2);
	assert_int_equal(rows[0].unknown, 2);
	assert_int_equal(profile_unknown(profile), 2);
	assert_int_equal(profile_count(profile, 0).hits, 5);
	profile_free(profile);
}

/* Functions that come each in front of the former ones: the order of rows stays that of names. */
#define DESCENDING 3000

static void locate_descending(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out)
{
	static char name[16];

	(void)context;
	(void)pid;
	(void)image;
	snprintf(name, sizeof(name), "f%08lu", (unsigned long)(DESCENDING - (addr - 0x10000) / FUNCTION_BYTES));
	*out = (struct loc){.addr = addr, .function = name, .module = "/bin/prog"};
}

static void test_order_of_many(void **state)
{
	struct profile *profile = profile_new(DESCENDING, locate_descending, NULL);
	struct query query = {.group = GROUP_FUNCTION, .sort = SORT_NAME};
	struct row *rows;
	size_t n;

	(void)state;
	for (unsigned i = 0; i < DESCENDING; i++)
		add(profile, 1, 1, HIT_WRITE, 1, (const uint64_t[]){at(i, 1), 0});
	rows = profile_rows(profile, &query, &n);
	assert_int_equal(n, DESCENDING);
	for (size_t i = 1; i < n; i++)
		assert_true(strcmp(rows[i - 1].loc->function, rows[i].loc->function) < 0);
	free(rows);
	profile_free(profile);
}

/* Processes that come in turn, and in no order. */
static void test_processes(void **state)
{
	static const pid_t pids[] = {300, 100, 200, 300, 100, 100, 400};
	struct profile *profile = profile_new(5, locate, NULL);
	struct process_hits *processes = profile_processes(profile, &(size_t){0});
	size_t n;

	(void)state;
	assert_int_equal(process_hits_of(processes, 0, 100), 0);
	free(processes);
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		struct hit hit = hit_of(1, HIT_WRITE, 1, (const uint64_t[]){at(1, (unsigned)i), 0});

		hit.pid = pids[i];
		profile_add(profile, &hit);
	}
	processes = profile_processes(profile, &n);
	assert_int_equal(n, 3);
	/* Where there was no room for a site its hits are of no process. */
	assert_int_equal(process_hits_of(processes, n, 100), 2);
	assert_int_equal(process_hits_of(processes, n, 200), 1);
	assert_int_equal(process_hits_of(processes, n, 300), 2);
	assert_int_equal(process_hits_of(processes, n, 400), 0);
	for (size_t i = 1; i < n; i++)
		assert_true(processes[i - 1].pid < processes[i].pid);
	free(processes);
	profile_free(profile);
}

/* What is asked of single hits and addresses. */
static void test_questions(void **state)
{
	struct profile *profile = profile_new(100, locate, NULL);
	struct hit entry = hit_of(1, HIT_WRITE, 1, (const uint64_t[]){0x10000 + FUNCTION_BYTES, at(5, 2), 0});
	struct hit inside = hit_of(1, HIT_WRITE, 1, (const uint64_t[]){at(1, 3), at(0, 1), 0});

	(void)state;
	assert_string_equal(profile_function(profile, &inside), "f");
	/* It trapped at the first instruction of f: the call in g made the access. */
	assert_string_equal(profile_function(profile, &entry), "g");
	entry.signals[0] = 2; /* or it is a handler's first, whose frame the kernel made */
	assert_string_equal(profile_function(profile, &entry), SIGNAL_FRAME);
	entry.n_frames = 0; /* what is in frames[0] means nothing then */
	assert_null(profile_function(profile, &entry));
	assert_int_equal(profile_hits(profile), 0);
	profile_add(profile, &inside);
	profile_add(profile, &inside);
	assert_string_equal(profile_find(profile, 1, at(1, 3) - 1)->function, "f");
	assert_null(profile_find(profile, 2, at(1, 3) - 1));
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_two_writers),
		cmocka_unit_test(test_functions_apart),
		cmocka_unit_test(test_hottest_line),
		cmocka_unit_test(test_unknown_functions),
		cmocka_unit_test(test_several_watches),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_locate_calls),
		cmocka_unit_test(test_entry_belongs_to_the_caller),
		cmocka_unit_test(test_execute_before_an_entry),
		cmocka_unit_test(test_no_frames),
		cmocka_unit_test(test_signal_frames),
		cmocka_unit_test(test_deepest_path),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_blame),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_tree_inverted),
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_order_of_equals),
		cmocka_unit_test(test_order_of_arrival_is_nothing),
		cmocka_unit_test(test_paths_by_name),
		cmocka_unit_test(test_against_a_model),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_neighbours_in_the_tables),
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_order_of_many),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
