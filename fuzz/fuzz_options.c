/* fuzz_options takes bytes as a command line, the words between blanks. argp is kept from printing and from
 * ending the program (--wrap=argp_parse, see Makefile.am). */
#include "fuzz.h"
#include "watchprof/options.h"
#include "watchprof/util.h"

#include <argp.h>
#include <string.h>

#define WORDS_MAX 64

/* The linker's names for argp_parse as it is called, and as it is. */
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *at, void *input);
error_t __real_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *at, void *input);

error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags, int *at, void *input)
{
	return __real_argp_parse(argp, argc, argv, flags | ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP, at, input);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = mem_new(size + 1, 1), *rest = text, *word;
	char *argv[WORDS_MAX + 1] = {(char *)"watchprof"};
	struct options options;
	struct err err;
	int argc = 1;

	if (size)
		memcpy(text, bytes, size);
	while (argc < WORDS_MAX && (word = strsep(&rest, " ")))
		argv[argc++] = word;
	if (options_parse(argc, argv, &options, &err) == 0) {
		must(options.decode || options.self_test || options.list_vars || options.n_outputs > 0);
		options_fini(&options);
	} else {
		must(err.text[0] && err.status);
	}
	free(text);
	return 0;
}
