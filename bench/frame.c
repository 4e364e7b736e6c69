/* frame: what a picture of the live screen costs. It fills a profile with SITES sites of as many functions,
 * deep call paths and 8 threads, and makes each view FRAMES times: sample and lines, as ten times a
 * second on the screen, without a terminal. It prints a line for each view: its name, and the median
 * and the greatest time of a frame in microseconds. It asserts no time. */
#include "watchprof/model.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEPTH 15

static void locate(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out)
{
	char *name = context;

	(void)pid;
	(void)image;
	snprintf(name, 128, "workload::module_%" PRIu64 "::Container<int, std::string>::function_%" PRIu64, addr / 1600, addr / 16);
	*out = (struct loc){.addr = addr,
		.function = name,
		.file = "/usr/src/workload/source.cc",
		.unit = "/usr/src/workload/source.cc",
		.line = (unsigned)(addr / 16 % 4000 + 1),
		.module = "/usr/lib/x86_64-linux-gnu/libworkload.so.1"};
}

/* Functions of 16 bytes. */
static bool code(void *context, uint32_t image, uint64_t addr, struct code *out)
{
	(void)context;
	(void)image;
	*out = (struct code){.function = text_format("function_%" PRIu64, addr / 16), .n = 4};
	out->insns = mem_new(4, sizeof(*out->insns));
	for (unsigned i = 0; i < 4; i++)
		out->insns[i] = (struct code_insn){addr / 16 * 16 + 4 * i, 4, text_copy("movl $0x1, 0x10(%rax)")};
	return true;
}

/* One hit more of site i. */
static void hit_add(struct profile *profile, struct hit *hit, unsigned i)
{
	hit->pid = 1000;
	hit->tid = (pid_t)(1000 + i % 8);
	hit->watches = 1;
	hit->kind = i % 3 ? HIT_WRITE : HIT_READ;
	hit->image = 1;
	hit->n_frames = DEPTH;
	for (unsigned d = 0; d < DEPTH; d++)
		hit->frames[d] = 16ULL * (d == 0 ? i : i >> d) + 160000ULL * d + 9;
	profile_add(profile, hit);
}

/* Of the processor: others may be at work. */
static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void view_measure(struct profile *profile, struct hit *hit, int key, const char *name, unsigned n_sites, unsigned n_frames)
{
	struct report_watch watch = {
		.text = "v:w", .object = "v, source.cc:1", .access = "w", .addr = 0x1000, .len = 8, .slots = 1, .state = "armed"};
	struct report report = {.profile = profile, .code = {.read = code}, .watches = &watch, .n_watches = 1, .engine = "dr", .end = "running", .pid = 1000};
	struct model *model = model_new(true, NULL);
	uint64_t *times = mem_new(n_frames, sizeof(*times)), now_ns = NS_PER_S;

	model_size(model, 160, 50);
	model_key(model, key, 0);
	for (unsigned i = 0; i < n_frames; i++) {
		uint64_t begin;

		for (unsigned k = 0; k < 1000; k++)
			hit_add(profile, hit, (i * 7919 + k * k) % n_sites);
		now_ns += NS_PER_S / 10;
		begin = cpu_ns();
		model_update(model, &report, now_ns);
		model_lines_free(model_draw(model), 50);
		times[i] = cpu_ns() - begin;
	}
	qsort(times, n_frames, sizeof(*times), compare);
	printf("frame %s %" PRIu64 " %" PRIu64 "\n", name, times[n_frames / 2] / 1000, times[n_frames - 1] / 1000);
	free(times);
	model_free(model);
}

int main(int argc, char **argv)
{
	static const struct {
		int key;
		const char *name;
	} views[] = {{'1', "functions"}, {'2', "callers"}, {'3', "callees"}, {'4', "threads"}, {'5', "instructions"}, {'6', "values"}, {'7', "watches"}};
	unsigned n_sites = argc > 1 ? (unsigned)atoi(argv[1]) : 10000, n_frames = argc > 2 ? (unsigned)atoi(argv[2]) : 50;
	struct hit *hit = mem_new(1, sizeof(*hit));
	char name[128];
	struct profile *profile = profile_new(2 * n_sites, locate, name);

	setlocale(LC_CTYPE, "");
	for (unsigned i = 0; i < n_sites; i++)
		hit_add(profile, hit, i);
	for (size_t i = 0; i < ARRAY_LEN(views); i++)
		view_measure(profile, hit, views[i].key, views[i].name, n_sites, n_frames);
	profile_free(profile);
	free(hit);
	return 0;
}
