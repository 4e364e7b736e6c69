/* calls: makes many system calls whose arguments lie in one page (calls_page, 4096 bytes), and
 * prints a line for each case: its name, the results, and a sum of the page. Nothing in it differs
 * from run to run, so that a run under watchprof can be compared with one without. argv[1], if
 * given: an empty directory to work in; argv[2]: only this case. */
#include "calls_files.h"
#include "calls_process.h"
#include "calls_rare.h"

/* What is watched, and an open page behind it. */
unsigned char calls_page[2 * CALLS_PAGE] __attribute__((aligned(CALLS_PAGE)));

static long make_plainly(struct calls *calls, long nr, const long *args)
{
	(void)calls;
	return calls_raw(nr, args);
}

static void list_run(struct calls *calls, const struct calls_case *list, size_t n, const char *only)
{
	for (size_t i = 0; i < n; i++) {
		if (only && strcmp(only, list[i].name))
			continue;
		calls_run(calls, &list[i]);
		printf("%s:%s sum %016lx\n", list[i].name, calls->text,
			(unsigned long)calls_sum(calls));
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	struct calls calls = {.page = calls_page, .is_printed = true, .make = make_plainly};
	const char *only = argc > 2 ? argv[2] : NULL;

	if (argc > 1 && chdir(argv[1]))
		return 1;
	list_run(&calls, calls_files, sizeof(calls_files) / sizeof(calls_files[0]), only);
	list_run(&calls, calls_process, sizeof(calls_process) / sizeof(calls_process[0]), only);
	list_run(&calls, calls_rare, sizeof(calls_rare) / sizeof(calls_rare[0]), only);
	return 0;
}
