/* report: what a profile of many sites and its reports cost: report [SITES [FORMAT|all [FRAMES]]]. It makes a
 * profile of SITES sites (100,000) with as many functions, call paths of FRAMES frames (15) and 8 threads, met
 * in no order of names, and writes it in every format to a null file; then the 20 hottest rows as text. It
 * prints a line for each, with the seconds of the processor, and at last the greatest memory in MiB. It
 * asserts no time. */
#include "watchprof/report.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define DEPTH  15	/* STACK_DEPTH_MAX at most */
#define STRIDE 15485863 /* a prime number: a multiple of it, modulo any smaller one, meets each site once */

static void locate(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out)
{
	char *name = context;

	(void)pid;
	(void)image;
	snprintf(name, 128,
		"workload::module_%" PRIu64 "::Container<int, std::string>::function_%" PRIu64,
		addr / 1600, addr / 16);
	*out = (struct loc){.addr = addr,
		.function = name,
		.file = "/usr/src/workload/source.cc",
		.unit = "/usr/src/workload/source.cc",
		.line = (unsigned)(addr / 16 % 4000 + 1),
		.module = "/usr/lib/x86_64-linux-gnu/libworkload.so.1"};
}

static void hit_add(struct profile *profile, unsigned i, unsigned depth)
{
	struct hit hit = {.pid = 1000,
		.tid = (pid_t)(1000 + i % 8),
		.watches = 1,
		.kind = i % 3 ? HIT_WRITE : HIT_READ,
		.image = 1,
		.n_frames = (uint16_t)depth};

	for (unsigned d = 0; d < depth; d++)
		hit.frames[d] = 16ULL * (d == 0 ? i : i >> d) + 16000000ULL * d + 9;
	for (unsigned n = 0; n <= i % 7; n++)
		profile_add(profile, &hit);
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int measure(const char *name, enum report_format format, const struct report *report)
{
	double begin = cpu_s();
	struct err err;

	if (report_save("/dev/null", format, report, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	printf("%-24s %8.3f s\n", name, cpu_s() - begin);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"text", "tsv", "csv", "json", "folded", "pprof"};
	unsigned n_sites = argc > 1 ? (unsigned)atoi(argv[1]) : 100000;
	struct report_watch watch = {.text = "v:w",
		.object = "v, source.cc:1",
		.access = "w",
		.addr = 0x1000,
		.len = 8,
		.slots = 1,
		.state = "armed",
		.armed_share = 1};
	struct report report = {
		.watches = &watch, .n_watches = 1, .engine = "dr", .end = "running", .pid = 1000};
	const char *only = argc > 2 && strcmp(argv[2], "all") != 0 ? argv[2] : NULL;
	unsigned depth = argc > 3 ? (unsigned)atoi(argv[3]) : DEPTH;
	double begin = cpu_s();
	struct rusage usage;
	enum report_format format;
	struct err err;
	char name[128];
	int result = 0;

	report.profile = profile_new(n_sites, locate, name);
	for (uint64_t i = 0; i < n_sites; i++)
		hit_add((struct profile *)report.profile, (unsigned)(i * STRIDE % n_sites), depth);
	printf("%-24s %8.3f s\n", "hits counted", cpu_s() - begin);
	getrusage(RUSAGE_SELF, &usage);
	printf("%-24s %8ld MiB\n", "the profile", usage.ru_maxrss / 1024);
	for (size_t i = 0; i < ARRAY_LEN(names) && result == 0; i++) {
		if (only && strcmp(only, names[i]) != 0)
			continue;
		result = report_format_parse(names[i], &format, &err) ||
			 measure(names[i], format, &report);
	}
	report.view.query.limit = 20;
	if (!only)
		result |= measure("text, the 20 hottest", REPORT_TEXT, &report);
	getrusage(RUSAGE_SELF, &usage);
	printf("%-24s %8ld MiB\n", "at most", usage.ru_maxrss / 1024);
	profile_free((struct profile *)report.profile);
	return result;
}
