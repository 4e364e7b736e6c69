/* fuzz_report makes a profile of bytes, with the names of functions out of them, too, writes it in all formats and
 * reads tsv, csv and json back: the rows must be the same in all three, and add up to what the profile counted. */
#include "fuzz.h"
#include "watchprof/report.h"
#include "watchprof/table.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

#define CODE	  0x1000
#define NAMES	  8
#define NAME_MAX_ 24
#define WATCHES	  2
#define HITS_MAX  200

/* The bytes that are left, and the names made of the first ones. */
struct input {
	const uint8_t *bytes;
	size_t size;
	char names[NAMES][NAME_MAX_];
};

static unsigned take(struct input *input)
{
	if (!input->size)
		return 0;
	input->size--;
	return *input->bytes++;
}

static void locate(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out)
{
	struct input *input = context;
	const char *name = input->names[(addr - CODE) / 16 % NAMES];

	(void)pid;
	(void)image;
	*out = (struct loc){.addr = addr, .function = name[0] ? name : NULL, .file = name[0] & 1 ? name : NULL,
		.line = (unsigned)name[1] & 0x7f, .module = name[0] & 2 ? name : NULL};
}

static struct profile *profile_made(struct input *input)
{
	static const uint8_t kinds[] = {HIT_READ, HIT_WRITE, HIT_READ | HIT_WRITE, HIT_EXECUTE, HIT_READ_UNKNOWN | HIT_WRITE_UNKNOWN,
		HIT_WRITE | HIT_READ_UNKNOWN, HIT_READ | HIT_WRITE_UNKNOWN};
	struct profile *profile;
	struct hit *hit = mem_new(1, sizeof(*hit));

	for (size_t i = 0; i < NAMES; i++) {
		size_t len = take(input) % (NAME_MAX_ - 1);

		for (size_t k = 0; k < len; k++)
			input->names[i][k] = (char)take(input);
	}
	profile = profile_new(1 + take(input) % 32, locate, input);
	for (size_t i = 0; i < HITS_MAX && input->size; i++) {
		unsigned what = take(input);

		hit->watches = 1 + what % 3;
		hit->kind = kinds[what / 3 % ARRAY_LEN(kinds)];
		hit->path = (uint8_t)(what / 64);
		hit->pid = 1000;
		hit->tid = 1000 + (pid_t)(what & 1);
		hit->image = 1;
		hit->n_frames = (uint16_t)(1 + what % 4);
		for (unsigned f = 0; f < hit->n_frames; f++)
			hit->frames[f] = CODE + 16 * (take(input) % (NAMES + 2)) + 5;
		profile_add(profile, hit);
	}
	free(hit);
	return profile;
}

static char *written(const struct report *report, enum report_format format)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct err err;

	must(out && report_write(out, format, report, &err) == 0);
	fclose(out);
	return text;
}

/* The cells of the rows of a format, N_COLUMNS for each. */
struct cells {
	char **text;
	size_t n;
};

static void cell_add(struct cells *cells, char *text)
{
	cells->text = mem_resize(cells->text, cells->n + 1, sizeof(*cells->text));
	cells->text[cells->n++] = text;
}

static void cells_free(struct cells *cells)
{
	for (size_t i = 0; i < cells->n; i++)
		free(cells->text[i]);
	free(cells->text);
}

static struct cells tsv_read(char *text)
{
	struct cells cells = {0};
	char *line, *cell;
	bool has_header = false;

	while ((line = strsep(&text, "\n"))) {
		if (line[0] == '#' || !line[0])
			continue;
		if (!has_header) {
			has_header = true;
			continue;
		}
		while ((cell = strsep(&line, "\t")))
			cell_add(&cells, text_copy(cell));
		must(cells.n % N_COLUMNS == 0);
	}
	must(has_header);
	return cells;
}

/* Take one field of RFC 4180 off the text; *end is what follows it. */
static char *csv_field(char **text, char *end)
{
	char *from = *text, *cell = mem_new(strlen(from) + 1, 1), *to = cell;

	if (*from != '"') {
		size_t len = strcspn(from, ",\r");

		memcpy(cell, from, len);
		from += len;
	} else {
		for (from++; *from != '"' || from[1] == '"'; from++) {
			must(*from != '\0');
			from += *from == '"';
			*to++ = *from;
		}
		from++;
	}
	*end = *from;
	must(*from == ',' || (*from == '\r' && from[1] == '\n'));
	*text = from + (*from == ',' ? 1 : 2);
	return cell;
}

static struct cells csv_read(char *text)
{
	struct cells cells = {0};

	while (*text) {
		bool is_row = false;
		char end = ',';
		int n;

		for (n = 0; end == ','; n++) {
			char *cell = csv_field(&text, &end);

			if (n == 0)
				is_row = strcmp(cell, "row") == 0;
			if (is_row && n >= 3)
				cell_add(&cells, cell);
			else
				free(cell);
		}
		must(n == 3 + N_COLUMNS);
	}
	return cells;
}

static void totals_check(const struct report *report, const struct cells *tsv)
{
	uint64_t hits[WATCHES] = {0};

	for (size_t i = 0; i < tsv->n; i += N_COLUMNS)
		hits[strcmp(tsv->text[i + COLUMN_WATCH], report->watches[0].text) != 0] +=
			strtoull(tsv->text[i + COLUMN_HITS], NULL, 10);
	for (unsigned i = 0; i < WATCHES; i++) {
		struct watch_count count = profile_count(report->profile, i);

		must(hits[i] + count.overrun == count.hits);
	}
}

static void json_check(const char *text, const struct cells *tsv)
{
	struct json_object *object = json_tokener_parse(text), *rows, *hits;

	must(object && json_object_object_get_ex(object, "functions", &rows));
	must(json_object_array_length(rows) == tsv->n / N_COLUMNS);
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		must(json_object_object_get_ex(json_object_array_get_idx(rows, i), "hits", &hits));
		must(json_object_get_uint64(hits) == strtoull(tsv->text[i * N_COLUMNS + COLUMN_HITS], NULL, 10));
	}
	json_object_put(object);
}

static void formats_check(const struct report *report)
{
	char *tsv_text = written(report, REPORT_TSV), *csv_text = written(report, REPORT_CSV),
	     *json_text = written(report, REPORT_JSON);
	struct cells tsv = tsv_read(tsv_text), csv = csv_read(csv_text);

	must(tsv.n == csv.n);
	for (size_t i = 0; i < tsv.n; i++)
		must(strcmp(tsv.text[i], csv.text[i]) == 0);
	totals_check(report, &tsv);
	json_check(json_text, &tsv);
	cells_free(&tsv);
	cells_free(&csv);
	free(tsv_text);
	free(csv_text);
	free(json_text);
	free(written(report, REPORT_TEXT));
	free(written(report, REPORT_FOLDED));
	free(written(report, REPORT_PPROF));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct input input = {.bytes = bytes, .size = size};
	struct profile *profile = profile_made(&input);
	const struct report_watch watches[WATCHES] = {
		{.text = "one:w", .object = input.names[0], .access = "w", .addr = 0x4000, .len = 4, .slots = 1, .state = "armed"},
		{.text = "two", .object = input.names[1], .access = "rw", .addr = 0x5000, .len = 8, .slots = 1, .state = "armed"},
	};
	struct report report = {.profile = profile, .watches = watches, .n_watches = WATCHES, .version = input.names[2],
		.command_line = input.names[3], .command = input.names[4], .pid = 1000, .end = input.names[5], .complete = true};

	formats_check(&report);
	profile_free(profile);
	return 0;
}
