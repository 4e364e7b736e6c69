/* test_symbols.c checks where expressions lead and what the bytes there are, by the debug
 * information of this program itself, in its own memory. */
#include "watchprof/symbols.h"

#include "watchprof/procfs.h"
#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum own_color { OWN_RED = -1, OWN_GREEN = 7 };

struct own_object {
	int number;
	unsigned long word;
	unsigned one : 1, three : 3, twelve : 12;
	enum own_color color;
	char name[16];
	double real;
	float reals[2];
	_Bool flag;
	struct own_object *next;
	short list[2][3];
};

struct own_object own_object = {.number = 1, .next = &own_object};
struct own_object *own_pointer = &own_object;

/* An expression, where it leads, and of what type that is. */
struct wanted {
	const char *text;
	const void *addr;
	uint64_t len;
	enum value_kind kind;
	unsigned bit_size, bit_offset;
};

static struct symbols *own_symbols(void)
{
	static struct symbols *symbols; /* one for all tests: reading takes a while */

	if (!symbols)
		symbols = symbols_new(getpid(), NULL);
	return symbols;
}

static enum resolve_result resolve(const char *text, struct span *span, char **object, struct err *err)
{
	struct watch watch;
	enum resolve_result result;
	uint64_t module;

	assert_int_equal(watch_parse(text, &watch, err), 0);
	result = symbols_resolve(own_symbols(), &watch, span, &module, object, err);
	watch_fini(&watch);
	return result;
}

static void wanted_check(const struct wanted *wanted)
{
	const struct value_type *type = symbols_type(own_symbols());
	struct span span;
	struct err err = {0};
	char *object = NULL;

	if (resolve(wanted->text, &span, &object, &err) != RESOLVE_FOUND)
		fail_msg("%s: %s", wanted->text, err.text);
	if (span.addr != (uintptr_t)wanted->addr || span.len != wanted->len || type->kind != wanted->kind ||
		type->size != wanted->len || type->bit_size != wanted->bit_size || type->bit_offset != wanted->bit_offset)
		fail_msg("%s: 0x%llx, %llu bytes, kind %d, size %llu, %u bits from %u", wanted->text,
			(unsigned long long)span.addr, (unsigned long long)span.len, type->kind,
			(unsigned long long)type->size, type->bit_size, type->bit_offset);
	free(object);
}

static void test_kinds(void **state)
{
	const char *bits = (const char *)&own_object.word + sizeof(long);
	const struct wanted all[] = {
		{"own_object.number", &own_object.number, 4, VALUE_SIGNED, 0, 0},
		{"own_object.word", &own_object.word, 8, VALUE_UNSIGNED, 0, 0},
		{"own_object.one", bits, 1, VALUE_UNSIGNED, 1, 0},
		{"own_object.three", bits, 1, VALUE_UNSIGNED, 3, 1},
		{"own_object.twelve", bits, 2, VALUE_UNSIGNED, 12, 4},
		{"own_object.color", &own_object.color, 4, VALUE_ENUM, 0, 0},
		{"own_object.name", &own_object.name, 16, VALUE_CHARS, 0, 0},
		{"own_object.real", &own_object.real, 8, VALUE_FLOAT, 0, 0},
		{"own_object.reals[1]", &own_object.reals[1], 4, VALUE_FLOAT, 0, 0},
		{"own_object.flag", &own_object.flag, 1, VALUE_BOOL, 0, 0},
		{"own_pointer", &own_pointer, 8, VALUE_POINTER, 0, 0},
		{"own_pointer->next->next->real", &own_object.real, 8, VALUE_FLOAT, 0, 0},
		{"own_object.list[1]", &own_object.list[1], 6, VALUE_OTHER, 0, 0},
		{"(*own_pointer).list[1][2]", &own_object.list[1][2], 2, VALUE_SIGNED, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		wanted_check(&all[i]);
}

static void test_enum_names(void **state)
{
	struct span span;
	struct err err = {0};
	struct value_type type;
	char *object;

	(void)state;
	assert_int_equal(resolve("own_object.color", &span, &object, &err), RESOLVE_FOUND);
	free(object);
	type = value_type_copy(symbols_type(own_symbols()));
	assert_int_equal(type.n_names, 2);
	assert_string_equal(type.names[0].name, "OWN_RED");
	assert_int_equal(type.names[0].value, -1);
	assert_string_equal(type.names[1].name, "OWN_GREEN");
	assert_int_equal(type.names[1].value, 7);
	assert_string_equal(type.name, "enum own_color");
	value_type_fini(&type);
	assert_int_equal(type.n_names, 0);
	/* An address alone has no type. */
	assert_int_equal(resolve("0x1000/4", &span, &object, &err), RESOLVE_FOUND);
	assert_int_equal(symbols_type(own_symbols())->kind, VALUE_OTHER);
	assert_null(symbols_type(own_symbols())->name);
}

static void test_objects(void **state)
{
	struct span span;
	struct err err = {0};
	char *object, *cast = text_format("(struct own_object *)0x%lx->list[1][2]", (unsigned long)&own_object);

	(void)state;
	assert_int_equal(resolve("own_pointer->twelve", &span, &object, &err), RESOLVE_FOUND);
	assert_non_null(strstr(object, "own_pointer->twelve, bits 4..15 of 2 bytes ("));
	assert_non_null(strstr(object, "test_symbols.c:"));
	free(object);
	assert_int_equal(resolve(cast, &span, &object, &err), RESOLVE_FOUND);
	assert_int_equal(span.addr, (uintptr_t)&own_object.list[1][2]);
	free(object);
	free(cast);
}

/* A name with a newline, as assemblers allow it. */
__asm__(".data\n"
	".globl \"own_new\\nline\"\n"
	".type \"own_new\\nline\", @object\n"
	".size \"own_new\\nline\", 4\n"
	"\"own_new\\nline\": .long 0\n"
	".text\n");

/* Such a name does not make a line of its own in what is said. */
static void test_newline(void **state)
{
	struct span span;
	struct err err = {0};
	char *object;

	(void)state;
	assert_int_equal(resolve("own_newline", &span, &object, &err), RESOLVE_UNKNOWN);
	if (!strstr(err.text, "did you mean own_new\\nline") || strchr(err.text, '\n'))
		fail_msg("%s", err.text);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *reason;
	} all[] = {
		{"own_object.nmae", "did you mean name"},
		{"own_object.list[2]", "has 2 elements"},
		{"own_pointer.word", "write own_pointer->word"},
		{"(struct own_nothing *)0x1000->x", "no type named"},
		{"(struct own_object *)0x10->word", "no memory can be read"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct span span;
		struct err err = {0};
		char *object;

		assert_int_equal(resolve(all[i].text, &span, &object, &err), RESOLVE_REFUSED);
		assert_null(object);
		if (!strstr(err.text, all[i].reason))
			fail_msg("'%s' does not say '%s'", err.text, all[i].reason);
	}
}

__attribute__((noinline, used)) static int own_function(int a)
{
	return own_object.number + a;
}

/* The code of a function: in the process, and in its file. */
static void test_code(void **state)
{
	struct err err = {0};
	struct symbols *file = symbols_new_file("/proc/self/exe", NULL, &err);
	uint64_t address = (uintptr_t)own_function, start, end, module;
	unsigned char bytes[64], of_file[64];
	struct watch watch;
	struct span span;
	char *object;

	(void)state;
	assert_true(symbols_code_range(own_symbols(), address + 1, &start, &end));
	assert_int_equal(start, address);
	assert_in_range(end - start, 4, 64);
	assert_true(symbols_code_bytes(own_symbols(), start, bytes, end - start));
	assert_memory_equal(bytes, (const void *)(uintptr_t)own_function, end - start);
	assert_non_null(file);
	assert_int_equal(watch_parse("own_function:x", &watch, &err), 0);
	assert_int_equal(symbols_resolve(file, &watch, &span, &module, &object, &err), RESOLVE_FOUND);
	assert_true(symbols_code_bytes(file, span.addr, of_file, end - start));
	assert_memory_equal(bytes, of_file, end - start);
	assert_false(symbols_code_range(own_symbols(), (uintptr_t)bytes, &start, &end));
	assert_false(symbols_code_bytes(file, 1ULL << 40, of_file, 1));
	free(object);
	watch_fini(&watch);
	symbols_free(file);
}

/* A named pipe where a mapped file was: no writer is waited for, as that would be for ever. */
static void test_pipe_in_place(void **state)
{
	char path[] = "/tmp/watchprof-pipe-XXXXXX", *name;
	const struct procfs_map map = {.start = 1, .end = 2, .inode = 1, .path = path};

	(void)state;
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(60); /* ends a test that hangs */
	assert_int_equal(procfs_map_open(getpid(), &map, &name), -1);
	alarm(0);
	unlink(path);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_enum_names),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_newline),
		cmocka_unit_test(test_pipe_in_place),
		cmocka_unit_test(test_code),
	};
	int result = cmocka_run_group_tests(tests, NULL, NULL);

	symbols_free(own_symbols());
	return result;
}
