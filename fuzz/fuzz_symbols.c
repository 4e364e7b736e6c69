/* fuzz_symbols takes bytes as the file of a program, and as the package (.dwp) of what was split off from it, and
 * asks it everything that symbols.h can be asked about a file. */
#include "fuzz.h"
#include "watchprof/profile.h"
#include "watchprof/symbols.h"
#include "watchprof/util.h"
#include "watchprof/watch.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void resolve(struct symbols *symbols, const char *text)
{
	struct watch watch;
	struct span span;
	struct err err;
	uint64_t module;
	char *object = NULL;

	if (watch_parse(text, &watch, &err))
		return;
	symbols_resolve(symbols, &watch, &span, &module, &object, &err);
	free(object);
	watch_fini(&watch);
}

static void ask(struct symbols *symbols)
{
	static const char *const names[] = {"counter", "box<int>::total:w", "two.c::counter", "main:x", "a::n", "no_such_name",
		"tree.parts[2].u:w", "tree.b2", "step::tally.other", "*head", "head->next->val", "matrix[1][2]",
		"((struct node *)0x10)->parts[1].f", "(node_t *)any", "object.c", "ns::nested.in.q[2]"};
	static const uint64_t addrs[] = {0, 0x1000, 0x1139, 0x1160, 0x401136, 0x4010, UINT64_MAX};
	FILE *out = fopen("/dev/null", "w");

	if (!out)
		abort();
	symbols_build_id(symbols);
	symbols_list(symbols, NULL, out);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		resolve(symbols, names[i]);
	for (size_t i = 0; i < ARRAY_LEN(addrs); i++) {
		struct loc loc;

		symbols_locate(symbols, addrs[i], &loc);
	}
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char dir[] = "/tmp/fuzzXXXXXX";
	char *file = text_format("/proc/self/fd/%d", fd), *path, *package;
	struct symbols *symbols;
	struct err err;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || !mkdtemp(dir))
		abort();
	path = text_format("%s/program", dir);
	package = text_format("%s.dwp", path);
	if (symlink(file, path) || symlink(file, package))
		abort();
	symbols = symbols_new_file(path, NULL, &err);
	if (symbols)
		ask(symbols);
	symbols_free(symbols);
	unlink(package);
	unlink(path);
	rmdir(dir);
	free(package);
	free(path);
	free(file);
	close(fd);
	return 0;
}
