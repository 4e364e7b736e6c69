/* test_blame.c checks which code is passed over when it comes to whom to blame. */
#include "watchprof/blame.h"

#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool skipped(const struct blame_rules *rules, const char *function, const char *module)
{
	return blame_is_skipped(rules, &(struct loc){.function = function, .module = module});
}

/* The C library's string and memory functions, under all of their names, and nothing else. */
static void test_helpers(void **state)
{
	static const char *const yes[] = {"memset", "memcpy", "__memset_avx2_unaligned_erms", "__memcpy_chk",
		"__strcpy_sse2_unaligned", "strtok_r", "__strncpy_evex", "__memmove_avx512_unaligned_erms",
		"wmemset", "__bzero", "__strcasecmp_l_avx2", "bcmp", "swab", "__strlen_avx2"};
	static const char *const no[] = {"memset_s_mine", "strbuf_add", "my_memset", "memsets", "main", "qsort",
		"fgets", "strtol", "str", "", "_", "memory", "strcpy_avx2", "std::string::assign", "memset_all"};
	struct blame_rules rules;

	(void)state;
	blame_rules_init(&rules);
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (!skipped(&rules, yes[i], "/lib/libc.so.6"))
			print_error("%s\n", yes[i]);
		assert_true(skipped(&rules, yes[i], "/lib/libc.so.6"));
		assert_true(skipped(&rules, yes[i], "/bin/static")); /* linked in */
		assert_true(skipped(&rules, yes[i], NULL));
	}
	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		if (skipped(&rules, no[i], "/lib/libc.so.6"))
			print_error("%s\n", no[i]);
		assert_false(skipped(&rules, no[i], "/lib/libc.so.6"));
	}
	blame_rules_fini(&rules);
}

/* Code of the C library that has no name is what its functions are made of. */
static void test_nameless(void **state)
{
	struct blame_rules rules;

	(void)state;
	blame_rules_init(&rules);
	assert_true(skipped(&rules, "libc.so.6+0x15f2c0", "/usr/lib/libc.so.6"));
	assert_true(skipped(&rules, NULL, "/usr/lib/libc-2.31.so"));
	assert_true(skipped(&rules, "libc.musl-x86_64.so.1+0x10", "/lib/libc.musl-x86_64.so.1"));
	assert_false(skipped(&rules, "libcurl.so.4+0x10", "/usr/lib/libcurl.so.4"));
	assert_false(skipped(&rules, NULL, "/bin/prog"));
	assert_false(skipped(&rules, NULL, "/usr/lib/libcrypto.so.3"));
	assert_false(skipped(&rules, NULL, NULL));
	blame_rules_fini(&rules);
}

static void test_modules(void **state)
{
	struct blame_rules rules;

	(void)state;
	blame_rules_init(&rules);
	blame_rules_add(&rules, "libstdc++,,libfoo");
	blame_rules_add(&rules, "prog");
	assert_int_equal(rules.n_modules, 3);
	assert_true(skipped(&rules, "std::string::assign", "/usr/lib/libstdc++.so.6.0.30"));
	assert_true(skipped(&rules, "f", "/opt/libfoo-1.2.so"));
	assert_true(skipped(&rules, NULL, "/opt/libfoo.so"));
	assert_true(skipped(&rules, "main", "/bin/prog"));
	assert_true(skipped(&rules, "memset", "/usr/lib/libc.so.6")); /* as by default */
	assert_false(skipped(&rules, "f", "/opt/libfoobar.so"));
	assert_false(skipped(&rules, "f", "/opt/libfoo.so/other.so"));
	assert_false(skipped(&rules, "f", "/bin/prog2"));
	blame_rules_fini(&rules);
}

/* An empty list takes away all rules, those before it and the default. */
static void test_no_rules(void **state)
{
	struct blame_rules rules;

	(void)state;
	blame_rules_init(&rules);
	blame_rules_add(&rules, "libfoo");
	blame_rules_add(&rules, "");
	assert_false(skipped(&rules, "memset", "/usr/lib/libc.so.6"));
	assert_false(skipped(&rules, NULL, "/usr/lib/libc.so.6"));
	assert_false(skipped(&rules, "f", "libfoo.so"));
	blame_rules_add(&rules, "libbar");
	assert_true(skipped(&rules, "f", "libbar.so"));
	assert_false(skipped(&rules, "memset", "/usr/lib/libc.so.6"));
	blame_rules_fini(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_helpers),
		cmocka_unit_test(test_nameless),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_no_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
