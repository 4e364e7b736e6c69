/* test_trace: a trace in every format, decoded again, cut off and damaged; what is dropped for a
 * slow reader, and what the ring gives up. */
#include "watchprof/trace.h"

#include "unit_help.h"
#include "watchprof/util.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define HOSTILE "operator\"\"_kg<int, char>\t\n\x1b[31m\xff"

static void locate(
	void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out, uint64_t *offset)
{
	static const struct inlined inlined[] = {{HOSTILE, "a.h", 3}, {"mid", "a.h", 4}, {"f", "a,b.c", 5}};
	unsigned *n_located = context;

	(void)pid;
	++*n_located;
	assert_int_equal(image, 1);
	if (addr >= 0x9000)
		return; /* nothing is known there */
	*out = (struct loc){.function = addr < 0x2000 ? "f" : HOSTILE,
		.file = "a,b.c",
		.line = (unsigned)addr & 0xff,
		.module = "/bin/prog",
		.is_entry = addr + 1 == 0x5000,
		.inlined = inlined,
		.n_inlined = addr == 0x1012 ? ARRAY_LEN(inlined) : 0};
	*offset = addr & 0xff;
}

static void comm(void *context, pid_t tid, char text[TRACE_COMM_MAX])
{
	(void)context;
	snprintf(text, TRACE_COMM_MAX, "wo\trk %d", tid);
}

struct fixture {
	char path[64];
	unsigned n_located;
	struct trace *trace;
};

static struct value_name counter_names[] = {{(char *)"BUSY", 0x201}, {(char *)"GONE", -1}};
static const struct value_type counter_type = {
	.kind = VALUE_ENUM, .name = (char *)"enum \"state\"", .size = 4, .names = counter_names, .n_names = 2};

static void begin(struct fixture *fixture, struct trace_options options)
{
	static const struct report run = {
		.version = "1.2", .command = "prog \"a\" b", .pid = 10, .start_unix_s = 77};
	struct trace_source source = {locate, comm, &fixture->n_located};
	struct err err;

	options.path = *fixture->path ? fixture->path : NULL;
	fixture->trace = trace_open(&options, &source, &err);
	assert_non_null(fixture->trace);
	trace_begin(fixture->trace, 1000, &run);
	trace_thread(fixture->trace, 10, 10, "wo\trk 10");
	trace_module(fixture->trace, "/bin/prog", "0123ab");
	trace_watch(fixture->trace, 0, "counter:w", &counter_type);
	trace_watch(fixture->trace, 5, "std::map<int, \"x\">::v:rw", &(struct value_type){0});
}

static void fixture_new(struct fixture *fixture)
{
	int fd;

	*fixture = (struct fixture){.path = "/tmp/test_trace.XXXXXX"};
	fd = mkstemp(fixture->path);
	assert_true(fd >= 0);
	close(fd);
}

static char *file_text(const char *path, size_t *len)
{
	FILE *in = fopen(path, "re");
	char *text = mem_new(1 << 20, 1);

	assert_non_null(in);
	*len = fread(text, 1, (1 << 20) - 1, in);
	fclose(in);
	return text;
}

static struct hit hit_at(unsigned i)
{
	struct hit hit = {.time_ns = 1000 + i * 1500000001ULL,
		.watches = i % 3 == 2 ? 0x21 : 1,
		.pid = 10,
		.tid = 10 + (pid_t)(i % 2),
		.image = 1,
		.kind = (uint8_t)(i % 4 == 3 ? HIT_READ_UNKNOWN | HIT_WRITE_UNKNOWN
				  : i % 4    ? HIT_READ | HIT_WRITE
					     : HIT_WRITE),
		.cpu = (uint16_t)(i % 5 == 3 ? 0 : i == 4 ? 8192 : i + 1),
		.path = i % 5 == 4 ? PATH_TRUNCATED : PATH_WHOLE,
		.n_frames = 3,
		.frames = {0x1010 + i % 4, 0x3000, 0x9001}};

	return hit;
}

static void hits_add(struct trace *trace, unsigned from, unsigned to)
{
	static const struct trace_values values = {
		.n_old = 4, .n_new = 4, .old = {1, 2}, .new = {0xff, 0, 0, 0x80}};

	for (unsigned i = from; i < to; i++) {
		struct hit hit = hit_at(i);

		trace_hit(trace, &hit, i % 2 ? &values : NULL);
	}
}

/* The trace of n hits in a format, as text. */
static char *traced(enum trace_format format, bool with_stack, unsigned n, size_t *len)
{
	struct fixture fixture;
	struct err err;
	char *text;

	fixture_new(&fixture);
	begin(&fixture, (struct trace_options){.format = format, .with_stack = with_stack});
	hits_add(fixture.trace, 0, n);
	assert_int_equal(trace_close(fixture.trace, "ended, \"well\"", -1, &err), 0);
	assert_true(trace_counts(fixture.trace).hits == n);
	assert_true(trace_counts(fixture.trace).dropped == 0);
	trace_free(fixture.trace);
	text = file_text(fixture.path, len);
	unlink(fixture.path);
	return text;
}

/* Decode bytes; the text is the caller's. */
static char *decoded(
	const char *bytes, size_t len, enum trace_format format, int *result, struct err *err)
{
	FILE *in = fmemopen((void *)bytes, len ? len : 1, "r");
	char *text = NULL;
	size_t text_len;
	FILE *out = open_memstream(&text, &text_len);

	assert_non_null(in);
	assert_non_null(out);
	*err = (struct err){0};
	if (!len)
		getc(in);
	*result = trace_decode(in, "t", out, format, err);
	fclose(in);
	fclose(out);
	return text;
}

static void test_text(void **state)
{
	static const char expected[] =
		"# watchprof-trace 1\n# version\t1.2\n# command\tprog \"a\" b\n# pid\t10\n# "
		"start\t77\n"
		"# time\ttask\tcpu\twatch\tkind\told\tnew\tfunction\tpath\n"
		"# thread\t10\t10\two\\trk 10\n# module\t/bin/prog\t0123ab\n"
		"# watch\tcounter:w\n# watch\tstd::map<int, \"x\">::v:rw\n"
		"0.000000000\two\\trk 10-10\t0\tcounter:w\tw\t-\t-\tf+0x10\tf+0x10 < "
		"operator\"\"_kg<int, char>\\t\\n\\x1b[31m\\xff+0x100 < ?+0x1\n"
		"# thread\t10\t11\two\\trk 11\n"
		"1.500000001\two\\trk 11-11\t1\tcounter:w\trw\tBUSY\t-2147483393\tf+0x11\tf+0x11 < "
		"operator\"\"_kg<int, char>\\t\\n\\x1b[31m\\xff+0x100 < ?+0x1\n"
		"3.000000002\two\\trk 10-10\t2\tcounter:w std::map<int, "
		"\"x\">::v:rw\trw\t-\t-\tf+0x12\tf+0x12 < "
		"operator\"\"_kg<int, char>\\t\\n\\x1b[31m\\xff+0x100 < ?+0x1\n"
		"4.500000003\two\\trk 11-11\t-\tcounter:w\t?\tBUSY\t-2147483393\t"
		"operator\"\"_kg<int, char>\\t\\n\\x1b[31m\\xff (inlined) < mid (inlined) < f+0x13\t"
		"operator\"\"_kg<int, char>\\t\\n\\x1b[31m\\xff (inlined) < mid (inlined) < f+0x13 < "
		"operator\"\"_kg<int, char>\\t\\n\\x1b[31m\\xff+0x100 < ?+0x1\n"
		"6.000000004\two\\trk 10-10\t8191\tcounter:w\tw\t-\t-\tf+0x10\tf+0x10 < "
		"operator\"\"_kg<int, char>\\t\\n\\x1b[31m\\xff+0x100 < ?+0x1 [truncated]\n"
		"# hits\t5\n# dropped_in_all\t0\n# overwritten\t0\n# end\tended, \"well\"\n";
	size_t len;
	char *text = traced(TRACE_TEXT, true, 5, &len);

	(void)state;
	assert_string_equal(text, expected);
	free(text);
}

/* What is decoded is what the format would have been at once, in both formats, with and without
 * paths. */
static void test_round_trip(void **state)
{
	static const enum trace_format formats[] = {TRACE_TEXT, TRACE_JSON};
	struct err err;

	(void)state;
	for (size_t f = 0; f < 2; f++) {
		for (int with_stack = 0; with_stack < 2; with_stack++) {
			size_t len, binary_len;
			char *direct = traced(formats[f], with_stack, 1000, &len);
			char *binary = traced(TRACE_BINARY, with_stack, 1000, &binary_len);
			int result;
			char *text = decoded(binary, binary_len, formats[f], &result, &err);

			assert_int_equal(result, 0);
			assert_string_equal(text, direct);
			free(text);
			free(binary);
			free(direct);
		}
	}
}

/* Cut off anywhere: refused in one line, with all hits before it. */
static void test_cut_off(void **state)
{
	size_t len;
	char *binary = traced(TRACE_BINARY, true, 20, &len);

	(void)state;
	for (size_t cut = 0; cut < len; cut++) {
		struct err err;
		int result;
		char *text = decoded(binary, cut, TRACE_TEXT, &result, &err);

		assert_int_equal(result, -1);
		assert_null(strchr(err.text, '\n'));
		assert_non_null(strstr(
			err.text, cut < 8 ? "not a binary trace" : "the trace is cut off after"));
		free(text);
	}
	free(binary);
}

/* Every byte changed in several ways: it never crashes, and a failure is one line. */
static void test_damaged(void **state)
{
	size_t len, refused = 0;
	char *binary = traced(TRACE_BINARY, true, 40, &len);

	(void)state;
	for (size_t at = 0; at < len; at++) {
		static const unsigned char flips[] = {0x01, 0x80, 0xff, 0x7f};

		for (size_t f = 0; f < sizeof(flips); f++) {
			struct err err;
			int result;
			char *text;

			binary[at] ^= (char)flips[f];
			text = decoded(binary, len, f % 2 ? TRACE_TEXT : TRACE_JSON, &result, &err);
			assert_true(result == 0 || (err.text[0] && !strchr(err.text, '\n')));
			refused += result != 0;
			free(text);
			binary[at] ^= (char)flips[f];
		}
	}
	assert_true(refused > len); /* texts may hold anything, lengths and numbers may not */
	free(binary);
}

/* A record type of a later version is passed over. */
static void test_later_version(void **state)
{
	size_t len;
	char *binary = traced(TRACE_BINARY, false, 3, &len), *more = mem_new(len + 5, 1);
	size_t end = len;
	struct err err;
	int result;
	char *text, *expected = decoded(binary, len, TRACE_TEXT, &result, &err);

	(void)state;
	while (binary[end - 1] != 'E' || memcmp(binary + end + 1, "\x80\x80\x00", 3) != 0)
		end--;
	memcpy(more, binary, end - 1);
	memcpy(more + end - 1, "Z\x03xyz", 5);
	memcpy(more + end + 4, binary + end - 1, len - end + 1);
	text = decoded(more, len + 5, TRACE_TEXT, &result, &err);
	assert_int_equal(result, 0);
	assert_string_equal(text, expected);
	free(text);
	free(expected);
	free(more);
	free(binary);
}

/* A build id that no linker made does not reach the terminal as it is. */
static void test_hostile_build_id(void **state)
{
	static const char part[] = "M\x09\x02/x\x05\x1b[2Jz";
	size_t len;
	char *binary = traced(TRACE_BINARY, false, 3, &len), *more = mem_new(len + sizeof(part), 1), *text;
	size_t end = len, part_len = sizeof(part) - 1;
	struct err err;
	int result;

	(void)state;
	while (binary[end - 1] != 'E' || memcmp(binary + end + 1, "\x80\x80\x00", 3) != 0)
		end--;
	memcpy(more, binary, end - 1);
	memcpy(more + end - 1, part, part_len);
	memcpy(more + end - 1 + part_len, binary + end - 1, len - end + 1);
	text = decoded(more, len + part_len, TRACE_TEXT, &result, &err);
	assert_int_equal(result, 0);
	assert_non_null(strstr(text, "# module\t/x\t\\x1b[2Jz\n"));
	free(text);
	free(more);
	free(binary);
}

/* Traces of before had no processor, which is what the record of a hit ends with. */
static void test_earlier_version(void **state)
{
	size_t len, at = 8, n = 0;
	char *binary = traced(TRACE_BINARY, false, 3, &len);
	struct err err;
	int result;
	char *text;

	(void)state;
	while (at < len) {
		size_t record_len = 0, head = 1;

		for (unsigned shift = 0;; shift += 7, head++) {
			record_len |= (size_t)(binary[at + head] & 0x7f) << shift;
			if (!(binary[at + head] & 0x80))
				break;
		}
		record_len += head + 1;
		if (binary[at] == 'H') {
			binary[at + 1]--;
			memmove(binary + at + record_len - 1, binary + at + record_len, len - at - record_len);
			record_len--;
			len--;
			n++;
		}
		at += record_len;
	}
	text = decoded(binary, len, TRACE_TEXT, &result, &err);
	assert_int_equal(n, 3);
	assert_int_equal(result, 0);
	assert_non_null(strstr(text, "\n3.000000002\two\\trk 10-10\t-\tcounter:w "));
	free(text);
	free(binary);
}

/* The callee of an indirect call through a watched pointer is left out. */
static void test_owner(void **state)
{
	struct hit hit = {.time_ns = 2000,
		.watches = 1,
		.pid = 10,
		.tid = 10,
		.image = 1,
		.kind = HIT_READ,
		.n_frames = 2,
		.frames = {0x5000, 0x1020}};
	struct fixture fixture;
	struct err err;
	size_t len;
	char *text;

	(void)state;
	fixture_new(&fixture);
	begin(&fixture, (struct trace_options){.format = TRACE_TEXT});
	trace_hit(fixture.trace, &hit, NULL);
	trace_hit(fixture.trace, &hit, NULL);
	assert_int_equal(fixture.n_located, 2); /* names are looked up once */
	assert_int_equal(trace_close(fixture.trace, "x", -1, &err), 0);
	trace_free(fixture.trace);
	text = file_text(fixture.path, &len);
	assert_non_null(strstr(text, "\tr\t-\t-\tf+0x20\n"));
	unlink(fixture.path);
	free(text);
}

/* A signal's frame, and the one that it interrupted. */
static void test_signal(void **state)
{
	struct hit hit = {.time_ns = 2000,
		.watches = 1,
		.pid = 10,
		.tid = 10,
		.image = 1,
		.kind = HIT_WRITE,
		.n_frames = 4,
		.frames = {0x1010, 0x1020, 0x1030, 0x1040},
		.signals = {2}};
	struct fixture fixture;
	struct err err;
	size_t len;
	char *text;

	(void)state;
	fixture_new(&fixture);
	begin(&fixture, (struct trace_options){.format = TRACE_TEXT, .with_stack = true});
	trace_hit(fixture.trace, &hit, NULL);
	assert_int_equal(trace_close(fixture.trace, "x", -1, &err), 0);
	trace_free(fixture.trace);
	text = file_text(fixture.path, &len);
	assert_non_null(strstr(text, "\tf+0x10\tf+0x10 < [signal]+0x20 < f+0x30 < f+0x40\n"));
	unlink(fixture.path);
	free(text);
}

static size_t count_hits(const char *text)
{
	size_t n = 0;

	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		n += *line != '#';
	return n;
}

/* The ring keeps the newest, and says how many went; each dump is whole. */
static void test_flight(void **state)
{
	struct fixture fixture;
	struct trace_counts counts;
	struct err err;
	size_t len;
	int result;
	char *binary, *text, *dump, *dump_path;

	(void)state;
	fixture_new(&fixture);
	begin(&fixture, (struct trace_options){.format = TRACE_BINARY, .flight = 8192});
	hits_add(fixture.trace, 0, 10);
	dump_path = text_format("%s.1", fixture.path);
	assert_int_equal(trace_dump(fixture.trace, dump_path, "running", &err), 0);
	hits_add(fixture.trace, 10, 1000);
	assert_int_equal(trace_close(fixture.trace, "x", -1, &err), 0);
	counts = trace_counts(fixture.trace);
	trace_free(fixture.trace);
	binary = file_text(fixture.path, &len);
	text = decoded(binary, len, TRACE_TEXT, &result, &err);
	assert_int_equal(result, 0);
	assert_true(counts.hits == 1000 && counts.dropped == 0 && counts.overwritten > 800);
	assert_int_equal(count_hits(text), 1000 - counts.overwritten);
	/* The newest: number 999. */
	assert_non_null(strstr(text, "\n1498.500000999\two\\trk 11-11\t999\tcounter:w\t"));
	assert_non_null(strstr(text, "# hits\t1000\n"));
	free(binary);
	binary = file_text(dump_path, &len);
	dump = decoded(binary, len, TRACE_TEXT, &result, &err);
	assert_int_equal(result, 0);
	assert_int_equal(count_hits(dump), 10);
	unlink(dump_path);
	unlink(fixture.path);
	free(dump);
	free(dump_path);
	free(binary);
	free(text);
}

/* A reader that takes nothing: hits are dropped and counted, and none is torn. */
static void test_slow_reader(void **state)
{
	unsigned n = 200000;
	struct fixture fixture = {0};
	struct trace_counts counts;
	struct err err;
	int ends[2], stop[2];
	char *bytes, *text;
	size_t len = 0;
	ssize_t got;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(stop), 0);
	snprintf(fixture.path, sizeof(fixture.path), "/proc/self/fd/%d", ends[1]);
	begin(&fixture, (struct trace_options){.format = TRACE_TEXT});
	hits_add(fixture.trace, 0, n);
	assert_true(trace_counts(fixture.trace).dropped > n / 2);
	assert_int_equal(write(stop[1], "", 1), 1);
	assert_int_equal(trace_close(fixture.trace, "x", stop[0], &err), -1);
	assert_non_null(strstr(err.text, "was not read"));
	counts = trace_counts(fixture.trace);
	trace_free(fixture.trace);
	close(ends[1]);
	bytes = mem_new(1 << 20, 1);
	while ((got = read(ends[0], bytes + len, (1 << 20) - 1 - len)) > 0)
		len += (size_t)got;
	text = strrchr(bytes, '\n');
	text[1] = '\0'; /* the last line may be a part of one */
	assert_int_equal(count_hits(bytes) + counts.dropped, counts.hits);
	assert_true(counts.hits == n);
	free(bytes);
	close(ends[0]);
	close(stop[0]);
	close(stop[1]);
}

/* Standard error may be a socket, which cannot be opened anew so as not to wait. */
static void test_slow_socket(void **state)
{
	struct fixture fixture = {0};
	struct trace_counts counts;
	struct err err;
	char bytes[4096];
	int ends[2], standard_error = dup(STDERR_FILENO);
	ssize_t got;
	size_t lines = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	begin(&fixture, (struct trace_options){.format = TRACE_TEXT});
	assert_int_equal(dup2(standard_error, STDERR_FILENO), STDERR_FILENO);
	alarm(300); /* it would wait for ever */
	hits_add(fixture.trace, 0, 200000);
	alarm(0);
	counts = trace_counts(fixture.trace);
	assert_true(counts.dropped > 100000);
	assert_int_equal(close(ends[1]), 0);
	do {
		got = recv(ends[0], bytes, sizeof(bytes), MSG_DONTWAIT);
		for (ssize_t i = 0; i < got; i++)
			lines += bytes[i] == '\n';
		assert_false(trace_flush(fixture.trace, &err));
	} while (got > 0);
	assert_true(lines > 1000);
	assert_int_equal(trace_counts(fixture.trace).dropped, counts.dropped);
	trace_free(fixture.trace);
	close(ends[0]);
	close(standard_error);
}

/* Dropped hits are told of where they are missing, once the reader goes on. */
static void test_dropped_told(void **state)
{
	struct fixture fixture = {0};
	struct trace_counts counts;
	struct err err;
	int ends[2];
	char *bytes = mem_new(1 << 22, 1), *told;
	size_t len = 0;
	ssize_t got;

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	snprintf(fixture.path, sizeof(fixture.path), "/proc/self/fd/%d", ends[1]);
	begin(&fixture, (struct trace_options){.format = TRACE_TEXT});
	hits_add(fixture.trace, 0, 50000);
	do {
		while ((got = read(ends[0], bytes + len, 65536)) > 0)
			len += (size_t)got;
		assert_false(trace_flush(fixture.trace, &err));
	} while ((got = read(ends[0], bytes + len, 65536)) > 0 && (len += (size_t)got));
	hits_add(fixture.trace, 50000, 50001);
	assert_int_equal(trace_close(fixture.trace, "x", -1, &err), 0);
	while ((got = read(ends[0], bytes + len, 65536)) > 0)
		len += (size_t)got;
	counts = trace_counts(fixture.trace);
	trace_free(fixture.trace);
	assert_true(counts.dropped > 0);
	told = strstr(bytes, "# dropped\t");
	assert_non_null(told);
	assert_int_equal(strtoull(told + strlen("# dropped\t"), NULL, 10), counts.dropped);
	assert_int_equal(count_hits(bytes), counts.hits - counts.dropped);
	free(bytes);
	close(ends[0]);
	close(ends[1]);
}

/* A file that fails is told of once, and the rest is counted as dropped. */
static void test_full_disk(void **state)
{
	struct fixture fixture = {.path = "/dev/full"};
	struct err err = {0};

	(void)state;
	begin(&fixture, (struct trace_options){.format = TRACE_BINARY});
	hits_add(fixture.trace, 0, 10);
	assert_true(trace_flush(fixture.trace, &err));
	assert_string_equal(err.text,
		"/dev/full: the trace could not be written: No space left on device; it ends here");
	hits_add(fixture.trace, 10, 15);
	assert_false(trace_flush(fixture.trace, &err));
	assert_true(trace_counts(fixture.trace).dropped == 15);
	assert_int_equal(trace_close(fixture.trace, "x", -1, &err), 0);
	trace_free(fixture.trace);
}

static void test_no_place(void **state)
{
	struct trace_options options = {.path = "/no/such/place"};
	struct trace_source source = {locate, comm, NULL};
	struct err err = {0};

	(void)state;
	assert_null(trace_open(&options, &source, &err));
	assert_string_equal(err.text,
		"/no/such/place: the trace cannot be written there: No such file or directory");
	options.flight = 4096;
	err = (struct err){0};
	assert_null(trace_open(&options, &source, &err));
	assert_string_equal(err.text,
		"/no/such/place: the trace cannot be written there: No such file or directory");
}

/* A dump is renamed to its place: what stands there has to be a file. */
static void test_flight_to_a_pipe(void **state)
{
	struct trace_source source = {locate, comm, NULL};
	char path[] = "/tmp/watchprof-pipe-XXXXXX";
	struct trace_options options = {.path = path, .flight = 4096};
	struct stat st;
	struct err err = {0};

	(void)state;
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(trace_open(&options, &source, &err));
	assert_non_null(strstr(err.text, "--flight replaces a regular file"));
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	unlink(path);
}

/* More paths than the tables hold: they are begun anew, and every hit keeps its name. */
static void test_many_paths(void **state)
{
	struct fixture fixture;
	struct err err;
	size_t len, n = 0;
	int result;
	FILE *in, *out;
	char *text = NULL;

	(void)state;
	fixture_new(&fixture);
	begin(&fixture, (struct trace_options){.format = TRACE_BINARY});
	for (unsigned i = 0; i < 150000; i++) {
		struct hit hit = {.time_ns = 1000 + i,
			.watches = 1,
			.pid = 10,
			.tid = 10,
			.image = 1,
			.kind = HIT_WRITE,
			.n_frames = 1,
			.frames = {0x10000 + i}};

		trace_hit(fixture.trace, &hit, NULL);
	}
	assert_int_equal(fixture.n_located, 150000);
	assert_int_equal(trace_close(fixture.trace, "x", -1, &err), 0);
	trace_free(fixture.trace);
	in = fopen(fixture.path, "re");
	out = open_memstream(&text, &len);
	result = trace_decode(in, "t", out, TRACE_TEXT, &err);
	fclose(in);
	fclose(out);
	unlink(fixture.path);
	assert_int_equal(result, 0);
	n = count_hits(text);
	assert_int_equal(n, 150000);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_hostile_build_id),
		cmocka_unit_test(test_later_version),
		cmocka_unit_test(test_earlier_version),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_flight),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_slow_socket),
		cmocka_unit_test(test_dropped_told),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_no_place),
		cmocka_unit_test(test_flight_to_a_pipe),
		cmocka_unit_test(test_many_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
