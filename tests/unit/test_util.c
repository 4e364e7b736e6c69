/* test_util.c checks what libc does not have: escaping and UTF-8 against RFC 3629, byte by
 * byte; the emergency exit, in children that may die; allocation, hashing and the clock. */
#include "watchprof/cut_file.h"
#include "watchprof/message.h"
#include "watchprof/util.h"

#include "unit_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* AddressSanitizer must let a hopeless allocation fail, as libc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void assert_escaped(const char *text, const char *expected)
{
	char *escaped = text_escaped(text);

	assert_string_equal(escaped, expected);
	free(escaped);
}

static void test_escape_every_byte(void **state)
{
	(void)state;
	for (unsigned byte = 1; byte < 256; byte++) {
		char text[2] = {(char)byte, '\0'}, expected[8];

		if (byte == '\t')
			strcpy(expected, "\\t");
		else if (byte == '\n')
			strcpy(expected, "\\n");
		else if (byte == '\r')
			strcpy(expected, "\\r");
		else if (byte == '\\')
			strcpy(expected, "\\\\");
		else if (byte >= 0x20 && byte <= 0x7e)
			strcpy(expected, text);
		else
			snprintf(expected, sizeof(expected), "\\x%02x", byte);
		assert_escaped(text, expected);
	}
}

static void test_escape_texts(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{"", ""},
		{NULL, ""},
		{"std::map<int, char>", "std::map<int, char>"},
		{"a\tb\nc\rd\\e", "a\\tb\\nc\\rd\\\\e"},
		{"\\n is not a newline", "\\\\n is not a newline"},
		{"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
		{"\x1b]0;title\a", "\\x1b]0;title\\x07"},
		/* Letters, wide characters and the last code point stay. */
		{"gr\xc3\xb6\xc3\x9f"
		 "e",
			"gr\xc3\xb6\xc3\x9f"
			"e"},
		{"\xe6\x97\xa5\xe6\x9c\xac", "\xe6\x97\xa5\xe6\x9c\xac"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		/* C1 controls are valid UTF-8 and terminals obey them; U+00A0 is none. */
		{"\xc2\x80", "\\xc2\\x80"},
		{"\xc2\x9b"
		 "31m",
			"\\xc2\\x9b31m"},
		{"\xc2\x9f", "\\xc2\\x9f"},
		{"\xc2\xa0", "\xc2\xa0"},
		/* Cut off, continued by nothing, or with what does not belong. */
		{"\xc3", "\\xc3"},
		{"\xc3"
		 "A",
			"\\xc3A"},
		{"\xe2\x82", "\\xe2\\x82"},
		{"\xe2\x82"
		 "A",
			"\\xe2\\x82A"},
		{"\xf0\x9f\x98", "\\xf0\\x9f\\x98"},
		{"\x80\xc3\xb6", "\\x80\xc3\xb6"},
		{"\xe2\xc3\xb6", "\\xe2\xc3\xb6"},
		/* Overlong forms of NUL, newline and others. */
		{"\xc0\x80", "\\xc0\\x80"},
		{"\xc0\x8a", "\\xc0\\x8a"},
		{"\xc1\xbf", "\\xc1\\xbf"},
		{"\xe0\x80\x8a", "\\xe0\\x80\\x8a"},
		{"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
		{"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
		/* Surrogates, beyond the last code point, and bytes UTF-8 never has. */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"},
		{"\xed\xbf\xbf", "\\xed\\xbf\\xbf"},
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
		{"\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"},
		{"\xfe\xff", "\\xfe\\xff"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_escaped(cases[i].text, cases[i].expected);
}

/* RFC 3629, section 4, as it stands there. */
static size_t rfc3629_sequence(const unsigned char *byte)
{
	static const struct {
		unsigned char first_low, first_high, second_low, second_high;
		size_t len;
	} rules[] = {
		{0x01, 0x7f, 0, 0xff, 1},
		{0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (byte[0] < rules[i].first_low || byte[0] > rules[i].first_high ||
			byte[1] < rules[i].second_low || byte[1] > rules[i].second_high)
			continue;
		for (size_t tail = 2; tail < rules[i].len; tail++) {
			if (byte[tail] < 0x80 || byte[tail] > 0xbf)
				return 0;
		}
		return rules[i].len;
	}
	return 0;
}

/* Every first and second byte, with tails on both sides of every border. */
static void test_utf8_sequence(void **state)
{
	static const unsigned char tails[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0xa0, 0xbf, 0xc0, 0xff};

	(void)state;
	for (unsigned first = 1; first < 256; first++) {
		for (unsigned second = 0; second < 256; second++) {
			for (size_t t = 0; t < ARRAY_LEN(tails) * ARRAY_LEN(tails); t++) {
				unsigned char text[5] = {(unsigned char)first,
					(unsigned char)second, tails[t / ARRAY_LEN(tails)],
					tails[t % ARRAY_LEN(tails)], 0};

				assert_int_equal(
					utf8_sequence((const char *)text), rfc3629_sequence(text));
			}
		}
	}
}

/* A sequence that is cut off at the end of an allocation must not be read beyond it. */
static void test_utf8_at_the_end(void **state)
{
	static const char *const cut[] = {
		"\xc3", "\xe2", "\xe2\x82", "\xf0", "\xf0\x9f", "\xf0\x9f\x98"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cut); i++) {
		char *text = text_copy(cut[i]);

		assert_int_equal(utf8_sequence(text), 0);
		free(text);
	}
}

/* Whatever goes in, what comes out is one line that no terminal obeys, and it tells
 * different texts apart. */
static void test_escape_random(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 50000; round++) {
		size_t len = random_next(&seed) % 20;
		char text[21] = {0}, *escaped;

		for (size_t i = 0; i < len; i++)
			text[i] = (char)(random_next(&seed) % 255 + 1);
		escaped = text_escaped(text);
		for (const unsigned char *at = (unsigned char *)escaped; *at;
			at += rfc3629_sequence(at)) {
			assert_true(rfc3629_sequence(at) > 0);
			assert_true(*at >= 0x20 && *at != 0x7f);
			assert_false(at[0] == 0xc2 && at[1] < 0xa0);
		}
		free(escaped);
	}
}

/* What a target may have called its file or its variables never reaches a terminal as it is; lines stay lines. */
static void test_message(void **state)
{
	static const struct {
		const char *kind, *text, *expected;
	} cases[] = {
		{"", "plain", "watchprof: plain\n"},
		{"", "", "watchprof: \n"},
		{"warning: ", "a \033[2Jb", "watchprof: warning: a \\x1b[2Jb\n"},
		{"", "/tmp/new\nline: b\nc", "watchprof: /tmp/new\\nline: b\\nc\n"},
		{"", "two match:\n  a\tb\n  \302\233c", "watchprof: two match:\n  a\\tb\n  \\xc2\\x9bc\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		assert_non_null(out);
		message_write(out, cases[i].kind, cases[i].text);
		assert_int_equal(fclose(out), 0);
		assert_string_equal(text, cases[i].expected);
		free(text);
	}
}

static void hook_say(void *context)
{
	fputs(context, stderr);
}

static void hook_die(void *context)
{
	die("hook %s", (char *)context);
}

static void die_with_hooks(void *context)
{
	(void)context;
	die_hook_push(hook_say, "one ");
	die_hook_push(hook_say, "two ");
	die_hook_push(hook_say, "popped ");
	die_hook_pop();
	die_hook_push(hook_say, "three ");
	die("%s: %d bytes", "no room", 7);
}

static void die_in_a_hook(void *context)
{
	(void)context;
	die_hook_push(hook_say, "one ");
	die_hook_push(hook_die, "itself");
	die_hook_push(hook_say, "three ");
	die("outer");
}

static void die_of_too_many_hooks(void *context)
{
	(void)context;
	for (int i = 0; i < 4; i++)
		die_hook_push(hook_say, "h ");
	fputs("four ", stderr);
	die_hook_push(hook_say, "fifth ");
}

static void hooks_run_twice(void *context)
{
	(void)context;
	die_hook_pop();
	die_hook_push(hook_say, "one ");
	die_hook_push(hook_say, "two ");
	die_hooks_run();
	fputs("| ", stderr);
	die_hooks_run();
	for (int i = 0; i < 4; i++)
		die_hook_push(hook_say, "");
}

static void die_in_mem_new(void *context)
{
	volatile size_t count = SIZE_MAX;

	(void)context;
	die_hook_push(hook_say, "undone ");
	free(mem_new(count, 2));
}

static void die_in_mem_resize(void *context)
{
	volatile size_t count = SIZE_MAX / 2;

	(void)context;
	free(mem_resize(NULL, count, 16));
}

static void test_die(void **state)
{
	static const struct {
		void (*body)(void *);
		int status;
		const char *output;
	} cases[] = {
		{die_with_hooks, 125, "three two one watchprof: no room: 7 bytes\n"},
		{die_in_a_hook, 125, "three one watchprof: hook itself\n"},
		{die_of_too_many_hooks, 125,
			"four h h h h watchprof: bug: more than 4 die hooks\n"},
		{hooks_run_twice, CHILD_RETURNED, "two one | "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char output[4096];

		assert_int_equal(
			child_run(cases[i].body, NULL, output, sizeof(output)), cases[i].status);
		assert_string_equal(output, cases[i].output);
	}
}

static void test_out_of_memory(void **state)
{
	char output[65536];

	(void)state;
	assert_int_equal(child_run(die_in_mem_new, NULL, output, sizeof(output)), 125);
	assert_non_null(strstr(output, "undone watchprof: out of memory"));
	assert_int_equal(child_run(die_in_mem_resize, NULL, output, sizeof(output)), 125);
	assert_non_null(strstr(output, "watchprof: out of memory"));
}

static void test_memory(void **state)
{
	unsigned char *bytes = mem_new(1000, 3);

	(void)state;
	for (size_t i = 0; i < 3000; i++)
		assert_int_equal(bytes[i], 0);
	memset(bytes, 7, 3000);
	bytes = mem_resize(bytes, 100000, 3);
	for (size_t i = 0; i < 3000; i++)
		assert_int_equal(bytes[i], 7);
	bytes = mem_resize(bytes, 0, 8);
	assert_non_null(bytes);
	free(bytes);
	bytes = mem_new(0, 0);
	assert_non_null(bytes);
	free(bytes);
}

static void test_reach(void **state)
{
	size_t n = 0;
	uint64_t *numbers = mem_reach(NULL, 0, &n, sizeof(*numbers));

	(void)state;
	assert_true(n > 0);
	for (size_t i = 0; i < 5000; i += 7) {
		numbers = mem_reach(numbers, i, &n, sizeof(*numbers));
		assert_true(i < n);
		numbers[i] = i + 1;
	}
	for (size_t i = 0; i < n; i++)
		assert_true(numbers[i] == (i < 5000 && i % 7 == 0 ? i + 1 : 0));
	free(numbers);
}

static void test_texts(void **state)
{
	const char *original = "text";
	char *text = text_copy(original);

	(void)state;
	assert_string_equal(text, "text");
	assert_ptr_not_equal(text, original);
	free(text);
	text = text_format("%s-%04d-%5000s", "a", 12, "end");
	assert_int_equal(strlen(text), 2 + 4 + 1 + 5000);
	assert_int_equal(strncmp(text, "a-0012-  ", 9), 0);
	free(text);
	text = text_line("a\n  b\t\\\n");
	assert_string_equal(text, "a\\n  b\t\\\\n");
	free(text);
}

/* Vectors of the FNV authors (64 bits, FNV-1a). */
static void test_hash(void **state)
{
	(void)state;
	assert_true(hash_bytes(0, "", 0) == 0xcbf29ce484222325ULL);
	assert_true(hash_bytes(0, "a", 1) == 0xaf63dc4c8601ec8cULL);
	assert_true(hash_bytes(0, "foobar", 6) == 0x85944171f73967e8ULL);
	assert_true(hash_bytes(0, "a\0b", 3) != hash_bytes(0, "a\0c", 3));
	assert_true(hash_bytes(1, "a", 1) != hash_bytes(2, "a", 1));
}

static void test_clock(void **state)
{
	uint64_t before = clock_now_ns(), after = clock_now_ns();

	(void)state;
	assert_true(before > 0 && after >= before && after - before < 60 * NS_PER_S);
}

/* As execvp(3) finds commands: by PATH, where an empty entry is this directory; a slash needs none. */
static void test_path_search(void **state)
{
	char *old = text_copy(getenv("PATH")), *found;

	(void)state;
	setenv("PATH", "/nonexistent::/bin", 1);
	found = path_search("sh");
	assert_string_equal(found, "/bin/sh");
	free(found);
	found = path_search("./a/b");
	assert_string_equal(found, "./a/b");
	free(found);
	assert_null(path_search("no-such-command"));
	assert_null(path_search(""));
	/* A directory of that name comes first, and is no command. */
	setenv("PATH", "/:/usr/bin", 1);
	assert_null(path_search("bin"));
	unsetenv("PATH");
	assert_null(path_search("sh"));
	setenv("PATH", old, 1);
	free(old);
}

static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (!cut_file_go_on(info))
		signal(sig, SIG_DFL);
}

/* Of a file that is cut off while it is mapped, zeros are read. */
static void test_cut_file(void **state)
{
	const siginfo_t sent = {.si_signo = SIGBUS, .si_code = SI_USER};
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO}, former;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = memfd_create("cut", MFD_CLOEXEC);
	volatile unsigned char *bytes;

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)(3 * page)), 0);
	assert_int_equal(pwrite(fd, "abc", 3, 0), 3);
	assert_int_equal(pwrite(fd, "def", 3, (off_t)(2 * page)), 3);
	bytes = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true((void *)bytes != MAP_FAILED);
	assert_int_equal(ftruncate(fd, 1), 0);
	assert_int_equal(sigaction(SIGBUS, &action, &former), 0);
	assert_int_equal(bytes[0], 'a');
	assert_int_equal(bytes[1], 0);
	assert_int_equal(cut_file_pages(), 0);
	assert_int_equal(bytes[2 * page + 2], 0);
	assert_int_equal(cut_file_pages(), 1);
	assert_int_equal(bytes[2 * page], 0);
	assert_int_equal(cut_file_pages(), 1);
	assert_int_equal(bytes[page], 0);
	assert_int_equal(cut_file_pages(), 2);
	assert_false(cut_file_go_on(&sent)); /* somebody else's signal */
	assert_int_equal(cut_file_pages(), 2);
	sigaction(SIGBUS, &former, NULL);
	munmap((void *)bytes, 3 * page);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escape_every_byte),
		cmocka_unit_test(test_escape_texts),
		cmocka_unit_test(test_escape_random),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_utf8_sequence),
		cmocka_unit_test(test_utf8_at_the_end),
		cmocka_unit_test(test_die),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_reach),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_path_search),
		cmocka_unit_test(test_cut_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
