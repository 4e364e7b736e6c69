/* report_fixture.c owns the runs that test_report.c writes: constant texts, and profiles filled
 * with hits that are written out here. It checks nothing. */
#include "report_fixture.h"

#include "../../src/profile_private.h"
#include "watchprof/util.h"

const char *const hostile_names[HOSTILE_NAMES] = {
	"std::map<int, std::pair<double, float> >::insert(int, \"x\")",
	"operator\"\"_kg",
	"tab\there",
	"line\nfeed\rreturn",
	"\x1b[31mred\x1b[0m \xc2\x9b"
	"1m",
	"back\\slash\\n",
	"bad\xff\xc3utf8",
	"gr\xc3\xb6\xc3\x9f"
	"e_\xe6\x97\xa5\xe6\x9c\xac",
};

/* Code: 16 bytes for each function. 0: main, 1: update, 2: read_it, from 8: the hostile ones. */
#define CODE          0x401000
#define FIRST_HOSTILE 8

static void locate(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out)
{
	static const struct inlined inlined[] = {
		{.function = "state_set", .file = "src/state.h", .line = 7},
		{.function = "update", .file = "src/state.c", .line = 20},
	};
	static const struct loc plain[] = {
		{.function = "main", .file = "src/main.c", .line = 10, .module = "/bin/prog"},
		{.function = "update", .file = "src/state.c", .line = 20, .module = "/bin/prog", .inlined = inlined,
			.n_inlined = ARRAY_LEN(inlined)},
		{.function = "read_it", .file = "src/a, b.c", .line = 30, .module = "/bin/prog"},
		{.function = "libc.so.6+0x40", .module = "/lib/libc.so.6"},
		{.module = "[anonymous]"},
	};
	uint64_t n = (addr - CODE) / 16;

	(void)context;
	(void)pid;
	(void)image;
	if (n < ARRAY_LEN(plain))
		*out = plain[n];
	else if (n >= FIRST_HOSTILE && n < FIRST_HOSTILE + HOSTILE_NAMES)
		*out = (struct loc){.function = hostile_names[n - FIRST_HOSTILE],
			.file = "src/\ttab.c",
			.line = (unsigned)n,
			.module = "/lib/new\nline.so"};
	out->addr = addr;
}

static uint64_t at(unsigned function)
{
	return CODE + 16 * (uint64_t)function + 5;
}

/* Hits of the watches by function, called by caller, called by main. */
static void add(
	struct profile *profile, unsigned times, struct hit hit, unsigned function, unsigned caller)
{
	hit.pid = 1234;
	hit.image = 1;
	hit.n_frames = 3;
	hit.frames[0] = at(function);
	hit.frames[1] = at(caller);
	hit.frames[2] = at(0);
	while (times--)
		profile_add(profile, &hit);
}

static struct profile *profile_full(void)
{
	const struct hit write = {.watches = 1, .kind = HIT_WRITE | HIT_READ_UNKNOWN, .tid = 1234};
	const struct hit read = {.watches = 2, .kind = HIT_READ, .tid = 1235};
	const struct hit both = {.watches = 3, .kind = HIT_READ | HIT_WRITE, .tid = 1235};
	struct hit cut = {.watches = 2, .kind = HIT_READ | HIT_WRITE_UNKNOWN, .tid = 1236};
	struct profile *profile = profile_new(17, locate, NULL);

	add(profile, 1000, write, 1, 2);
	add(profile, 333, both, 1, 3);
	add(profile, 250, read, 2, 1);
	cut.path = PATH_TRUNCATED;
	add(profile, 70, cut, 2, 1);
	cut.path = PATH_BROKEN;
	add(profile, 60, cut, 3, 4);
	cut.path = PATH_NONE;
	add(profile, 5, cut, 4, 4);
	for (unsigned i = 0; i < HOSTILE_NAMES; i++)
		add(profile, 30 - i, read, FIRST_HOSTILE + i,
			FIRST_HOSTILE + (i + 1) % HOSTILE_NAMES);
	for (unsigned i = 0; i < 2; i++)
		add(profile, 1, write, 2, FIRST_HOSTILE + i);
	/* The table is full: these five are overrun, in the first watch, two also in the second. */
	add(profile, 3, write, 3, 3);
	add(profile, 2, both, 2, 3);
	add(profile, 10, write, 1, 2);
	return profile;
}

struct report fixture_full(void)
{
	static const struct report_watch watches[] = {
		{"counter:w", "counter, main.c:3, /bin/prog", "w", 0x404040, 4, 1, "armed", true,
			true, false, 1},
		{"std::map<int, \"a\tb\">::v/16", "std::map<int>::v\n, \x1b[1m.c:9", "rw",
			0x7f0000001008, 16, 2, "armed", true, true, false, 1},
		{"quiet:w", "quiet, main.c:4", "w", 0x404048, 1, 1, "armed", false, true, false, 1},
		{"by_the_kernel:rw", "by_the_kernel, main.c:5", "rw", 0x404050, 8, 1, "armed", true,
			true, false, 1},
		{"unmapped:w", "unmapped, main.c:6", "w", 0x404058, 8, 1, "armed", false, false, false, 0.25},
		{"plugin.so!later:w", NULL, "w", 0, 0, 0, "pending", false, false, false, 1},
		{"before:w", "before, old.c:1", "w", 0x601000, 4, 1, "ended at exec", false, false, false, 1},
	};
	static const char *const warnings[] = {
		"quiet: the memory at 0x404048 is read-only (/bin/prog)",
		"a warning with a\ttab and \x1b[7m"};

	return (struct report){
		.profile = profile_full(),
		.watches = watches,
		.n_watches = ARRAY_LEN(watches),
		.version = "9.8.7",
		.command_line = "watchprof -e counter:w -- prog a\tb",
		.command = "/bin/prog\x1b[0m",
		.build_id = "0123456789abcdef",
		.machine = "x86_64, 2 processors",
		.kernel = "6.1.0",
		.engine = "dr",
		.self_test = "ok, 2 of 2 hits",
		.pid = 1234,
		.start_unix_s = 1700000000,
		.duration_ns = 1234567890,
		.threads_armed = 5,
		.threads_born = 3,
		.threads_unarmed = 1,
		.lost = 4,
		.end = "exited with status 3",
		.complete = false,
		.warnings = warnings,
		.n_warnings = ARRAY_LEN(warnings),
	};
}

struct report fixture_bare(void)
{
	static const struct report_watch watch = {
		"v:w", NULL, "w", 0x404040, 4, 1, "armed", false, true, false, 1};

	return (struct report){
		.profile = profile_new(10, NULL, NULL),
		.watches = &watch,
		.n_watches = 1,
		.pid = 1,
		.complete = true,
	};
}

uint64_t fixture_long(struct report *report, uint64_t hits)
{
	struct profile *profile = (struct profile *)report->profile;

	profile->sites[0].hits += hits;
	profile->count[0].hits += hits;
	profile->hits += hits;
	report->duration_ns = LONG_NS;
	return profile->sites[0].hits;
}

void fixture_free(struct report *report)
{
	profile_free((struct profile *)report->profile);
	report->profile = NULL;
}
