/* report_pprof.c owns the pprof form of a report: one protocol buffer, packed with gzip, as profile
 * stores and `go tool pprof` read it. Each sample is a call path in a thread, with how many hits,
 * reads and writes it made. The parts of a protocol buffer may stand one behind the other, so
 * samples are written as they are made. */
#include "report_private.h"
#include "src/pprof.pb-c.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib.h: 16 more than the window bits asks for a gzip header */
#define PARTS_MAX   256       /* samples, places and functions kept in memory */

/* Something that stands in the profile once, by its key: a text, a function, a module. */
struct known {
	char *key; /* of a text: the one in the string table */
	size_t number;
};

/* The labels of a sample. */
enum label {
	LABEL_WATCH,
	LABEL_THREAD,
	LABEL_PID,
	LABEL_PATH,
	N_LABELS,
};

struct pprof {
	const struct report *report;
	Pprof__Profile profile;
	void *texts, *functions, *mappings; /* trees (tsearch) of struct known */
	uint64_t *locations; /* number of each location of the profile; 0: none yet */
	size_t n_locations_known;
	size_t n_locations, n_functions;        /* made so far */
	int64_t label_keys[N_LABELS], *watches; /* numbers of their texts */
	FILE *out;
	z_stream stream;
};

static int known_compare(const void *a, const void *b)
{
	return strcmp(((const struct known *)a)->key, ((const struct known *)b)->key);
}

static void known_free(void *node)
{
	free(((struct known *)node)->key);
	free(node);
}

/* The number of a key, which becomes next if it is new. Takes ownership of key, which is freed if
 * it is known. */
static size_t known_number(void **tree, char *key, size_t next)
{
	struct known *known = mem_new(1, sizeof(*known)), **found;

	*known = (struct known){key, next};
	found = tsearch(known, tree, known_compare);
	if (!found)
		die("out of memory");
	if (*found != known)
		known_free(known);
	return (*found)->number;
}

/* Append to an array of protobuf-c, whose length doubles at powers of two. */
static void *array_append(void *array, size_t n, size_t size)
{
	return n & (n - 1) ? array : mem_resize(array, n ? n * 2 : 1, size);
}

/* The index of a text in the string table. Texts must be UTF-8: what is not is escaped, as
 * control characters are. */
static int64_t text_number(struct pprof *pprof, const char *text)
{
	Pprof__Profile *profile = &pprof->profile;
	char *escaped = text_escaped(text ? text : "");
	size_t number = known_number(&pprof->texts, escaped, profile->n_string_table);

	if (number < profile->n_string_table)
		return (int64_t)number;
	profile->string_table =
		array_append(profile->string_table, number, sizeof(*profile->string_table));
	profile->string_table[profile->n_string_table++] = escaped;
	return (int64_t)number;
}

static Pprof__ValueType *value_type(struct pprof *pprof, const char *name)
{
	Pprof__ValueType *type = mem_new(1, sizeof(*type));

	pprof__value_type__init(type);
	type->type = text_number(pprof, name);
	type->unit = text_number(pprof, "count");
	return type;
}

static uint64_t mapping_number(struct pprof *pprof, const struct loc *loc)
{
	Pprof__Profile *profile = &pprof->profile;
	const char *module = loc->module ? loc->module : "?";
	size_t id = known_number(&pprof->mappings, text_copy(module), profile->n_mapping + 1);
	Pprof__Mapping *mapping;

	if (id <= profile->n_mapping)
		return id;
	mapping = mem_new(1, sizeof(*mapping));
	pprof__mapping__init(mapping);
	mapping->id = id;
	mapping->filename = text_number(pprof, module);
	/* Readers shall not look for names by themselves: addresses are those of one run. */
	mapping->has_functions = mapping->has_filenames = mapping->has_line_numbers = true;
	if (pprof->report->command && strcmp(module, pprof->report->command) == 0)
		mapping->build_id = text_number(pprof, pprof->report->build_id);
	profile->mapping =
		array_append(profile->mapping, profile->n_mapping, sizeof(*profile->mapping));
	profile->mapping[profile->n_mapping++] = mapping;
	return id;
}

static uint64_t function_number(struct pprof *pprof, const struct loc *loc)
{
	Pprof__Profile *profile = &pprof->profile;
	const char *name = loc->function ? loc->function : "?", *file = loc->file ? loc->file : "";
	int64_t name_number = text_number(pprof, name), file_number = text_number(pprof, file);
	char *key = text_format("%" PRId64 " %" PRId64 " %" PRIu64, name_number, file_number,
		mapping_number(pprof, loc));
	size_t id = known_number(&pprof->functions, key, pprof->n_functions + 1);
	Pprof__Function *function;

	if (id <= pprof->n_functions)
		return id;
	pprof->n_functions++;
	function = mem_new(1, sizeof(*function));
	pprof__function__init(function);
	function->id = id;
	function->name = function->system_name = name_number;
	function->filename = file_number;
	profile->function =
		array_append(profile->function, profile->n_function, sizeof(*profile->function));
	profile->function[profile->n_function++] = function;
	return id;
}

static Pprof__Line **line_new(struct pprof *pprof, const struct loc *loc)
{
	Pprof__Line **lines = mem_new(1, sizeof(*lines));

	lines[0] = mem_new(1, sizeof(**lines));
	pprof__line__init(lines[0]);
	lines[0]->function_id = function_number(pprof, loc);
	lines[0]->line = loc->line;
	return lines;
}

static uint64_t location_number(struct pprof *pprof, uint32_t index)
{
	Pprof__Profile *profile = &pprof->profile;
	const struct loc *loc = profile_loc(pprof->report->profile, index);
	Pprof__Location *location;

	pprof->locations = mem_reach(pprof->locations, index, &pprof->n_locations_known, sizeof(*pprof->locations));
	if (pprof->locations[index])
		return pprof->locations[index];
	location = mem_new(1, sizeof(*location));
	pprof__location__init(location);
	location->id = ++pprof->n_locations;
	location->mapping_id = mapping_number(pprof, loc);
	location->address = loc->addr;
	location->n_line = 1;
	location->line = line_new(pprof, loc);
	profile->location =
		array_append(profile->location, profile->n_location, sizeof(*profile->location));
	profile->location[profile->n_location++] = location;
	return pprof->locations[index] = location->id;
}

/* text: the number of a text, or 0 for a label that is a number. */
static Pprof__Label *label_new(
	const struct pprof *pprof, enum label key, int64_t text, int64_t number)
{
	Pprof__Label *label = mem_new(1, sizeof(*label));

	pprof__label__init(label);
	label->key = pprof->label_keys[key];
	label->str = text;
	label->num = number;
	return label;
}

/* Pack bytes with gzip and write them; the last ones (end) as well as what is still in work. */
static void gzip_write(struct pprof *pprof, const uint8_t *bytes, size_t len, bool end)
{
	z_stream *stream = &pprof->stream;
	uint8_t packed[16384];

	stream->next_in = (uint8_t *)bytes;
	do {
		size_t piece = len < UINT32_MAX ? len : UINT32_MAX;

		if (stream->avail_in == 0) {
			stream->avail_in = (unsigned)piece;
			len -= piece;
		}
		stream->next_out = packed;
		stream->avail_out = sizeof(packed);
		deflate(stream, end && len == 0 ? Z_FINISH : Z_NO_FLUSH);
		fwrite(packed, 1, sizeof(packed) - stream->avail_out, pprof->out);
	} while (len > 0 || stream->avail_in > 0 || stream->avail_out == 0);
}

static void message_write(struct pprof *pprof, const Pprof__Profile *part, bool end)
{
	size_t len = pprof__profile__get_packed_size(part);
	uint8_t *bytes = mem_new(len + 1, 1);

	pprof__profile__pack(part, bytes);
	gzip_write(pprof, bytes, len, end);
	free(bytes);
}

static void samples_free(Pprof__Profile *profile)
{
	for (size_t i = 0; i < profile->n_sample; i++) {
		for (size_t k = 0; k < profile->sample[i]->n_label; k++)
			free(profile->sample[i]->label[k]);
		free(profile->sample[i]->label);
		free(profile->sample[i]->location_id);
		free(profile->sample[i]->value);
		free(profile->sample[i]);
	}
	profile->n_sample = 0;
}

static void places_free(Pprof__Profile *profile)
{
	for (size_t i = 0; i < profile->n_location; i++) {
		free(profile->location[i]->line[0]);
		free(profile->location[i]->line);
		free(profile->location[i]);
	}
	for (size_t i = 0; i < profile->n_function; i++)
		free(profile->function[i]);
	profile->n_location = profile->n_function = 0;
}

/* Write the samples made so far, with their places and functions, and forget them. */
static void parts_write(struct pprof *pprof)
{
	Pprof__Profile *profile = &pprof->profile, part;

	pprof__profile__init(&part);
	part.sample = profile->sample;
	part.n_sample = profile->n_sample;
	part.location = profile->location;
	part.n_location = profile->n_location;
	part.function = profile->function;
	part.n_function = profile->n_function;
	message_write(pprof, &part, false);
	samples_free(profile);
	places_free(profile);
}

static void sample_add(struct pprof *pprof, const struct row *row)
{
	Pprof__Profile *profile = &pprof->profile;
	const char *end = table_path_end(row);
	Pprof__Sample *sample = mem_new(1, sizeof(*sample));

	pprof__sample__init(sample);
	sample->location_id = mem_new(row->n_frames + 1U, sizeof(*sample->location_id));
	for (size_t i = 0; i < row->n_frames; i++)
		sample->location_id[sample->n_location_id++] =
			location_number(pprof, row->frames[i]);
	sample->value = mem_new(3, sizeof(*sample->value));
	sample->value[sample->n_value++] = (int64_t)row->hits;
	sample->value[sample->n_value++] = (int64_t)row->reads;
	sample->value[sample->n_value++] = (int64_t)row->writes;
	sample->label = mem_new(4, sizeof(*sample->label));
	sample->label[sample->n_label++] =
		label_new(pprof, LABEL_WATCH, pprof->watches[row->watch], 0);
	sample->label[sample->n_label++] = label_new(pprof, LABEL_THREAD, 0, row->tid);
	sample->label[sample->n_label++] = label_new(pprof, LABEL_PID, 0, row->pid);
	if (end)
		sample->label[sample->n_label++] =
			label_new(pprof, LABEL_PATH, text_number(pprof, end), 0);
	profile->sample =
		array_append(profile->sample, profile->n_sample, sizeof(*profile->sample));
	profile->sample[profile->n_sample++] = sample;
	if (profile->n_sample == PARTS_MAX)
		parts_write(pprof);
}

static void comment_add(struct pprof *pprof, char *text)
{
	Pprof__Profile *profile = &pprof->profile;

	profile->comment =
		array_append(profile->comment, profile->n_comment, sizeof(*profile->comment));
	profile->comment[profile->n_comment++] = text_number(pprof, text);
	free(text);
}

/* What is known of the run, as comments: `key: value`. */
static void comments_add(struct pprof *pprof)
{
	const struct report *report = pprof->report;
	struct report_field fields[REPORT_FIELDS_MAX];
	size_t n = report_fields(report, fields);

	for (size_t i = 0; i < n; i++) {
		char *value = report_field_text(&fields[i]);

		comment_add(pprof, text_format("%s: %s", fields[i].key, value));
		free(value);
	}
	for (unsigned i = 0; i < report->n_watches; i++) {
		char *line = report_watch_line(report, i);

		comment_add(pprof, text_format("watch: %s", line));
		free(line);
	}
	for (size_t i = 0; i < report->n_warnings; i++)
		comment_add(pprof, text_format("warning: %s", report->warnings[i]));
}

/* The texts of labels. */
static void labels_begin(struct pprof *pprof)
{
	static const char *const names[] = {[LABEL_WATCH] = "watch",
		[LABEL_THREAD] = "thread",
		[LABEL_PID] = "pid",
		[LABEL_PATH] = "path"};
	const struct report *report = pprof->report;

	for (size_t i = 0; i < N_LABELS; i++)
		pprof->label_keys[i] = text_number(pprof, names[i]);
	pprof->watches = mem_new(report->n_watches + 1, sizeof(*pprof->watches));
	for (size_t i = 0; i < report->n_watches; i++)
		pprof->watches[i] = text_number(pprof, report->watches[i].text);
}

static void pprof_fill(struct pprof *pprof)
{
	static const char *const values[] = {"hits", "reads", "writes"};
	const struct report *report = pprof->report;
	Pprof__Profile *profile = &pprof->profile;
	struct query query = report->view.query;
	size_t n;
	struct row *rows;

	pprof__profile__init(profile);
	text_number(pprof, "");
	profile->sample_type = mem_new(ARRAY_LEN(values), sizeof(*profile->sample_type));
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		profile->sample_type[profile->n_sample_type++] = value_type(pprof, values[i]);
	profile->default_sample_type = text_number(pprof, values[0]);
	profile->time_nanos = (int64_t)(report->start_unix_s * NS_PER_S);
	profile->duration_nanos = (int64_t)report->duration_ns;
	comments_add(pprof);
	labels_begin(pprof);
	/* Readers take the first mapping for the program's. */
	if (report->command)
		mapping_number(pprof, &(struct loc){.module = report->command});
	query.group = GROUP_PATH;
	query.by_process = query.by_thread = true;
	rows = profile_rows(report->profile, &query, &n);
	for (size_t i = 0; i < n; i++)
		sample_add(pprof, &rows[i]);
	parts_write(pprof);
	free(rows);
}

static void pprof_free(struct pprof *pprof)
{
	Pprof__Profile *profile = &pprof->profile;

	for (size_t i = 0; i < profile->n_sample_type; i++)
		free(profile->sample_type[i]);
	for (size_t i = 0; i < profile->n_mapping; i++)
		free(profile->mapping[i]);
	free(profile->sample);
	free(profile->location);
	free(profile->sample_type);
	free(profile->mapping);
	free(profile->function);
	free(profile->string_table);
	free(profile->comment);
	tdestroy(pprof->texts, known_free);
	tdestroy(pprof->functions, known_free);
	tdestroy(pprof->mappings, known_free);
	free(pprof->locations);
	free(pprof->watches);
}

void report_write_pprof(FILE *out, const struct report *report)
{
	struct pprof pprof = {.report = report, .out = out};

	if (deflateInit2(&pprof.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
		    Z_DEFAULT_STRATEGY) != Z_OK)
		die("out of memory");
	pprof_fill(&pprof);
	message_write(&pprof, &pprof.profile, true);
	deflateEnd(&pprof.stream);
	pprof_free(&pprof);
}
