/* table.c owns the columns: their names, cells and alignment. It knows no file format. */
#include "watchprof/table.h"

#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

const struct column table_columns[N_COLUMNS] = {
	[COLUMN_HITS] = {"hits", true},
	[COLUMN_SHARE] = {"share", true},
	[COLUMN_READS] = {"reads", true},
	[COLUMN_WRITES] = {"writes", true},
	[COLUMN_WATCH] = {"watch", false},
	[COLUMN_FUNCTION] = {"function", false},
	[COLUMN_FILE] = {"file", false},
	[COLUMN_LINE] = {"line", true},
	[COLUMN_MODULE] = {"module", false},
	[COLUMN_PID] = {"pid", true},
	[COLUMN_TID] = {"tid", true},
	[COLUMN_BLAME] = {"blame", false},
	[COLUMN_PATH] = {"path", false},
	[COLUMN_UNKNOWN] = {"unknown", true},
};

const struct column *table_column(enum column_id id)
{
	return &table_columns[id];
}

static char *count_cell(uint64_t count, bool known)
{
	return known ? text_format("%" PRIu64, count) : text_copy("-");
}

bool table_is_open(uint64_t count, uint64_t unknown, uint64_t hits)
{
	return count == 0 && unknown > 0 && unknown == hits;
}

char *table_bound(uint64_t count, uint64_t unknown, uint64_t hits)
{
	if (table_is_open(count, unknown, hits))
		return text_copy("-");
	return text_format("%" PRIu64 "%s", count, unknown ? "+" : "");
}

static char *text_cell(const char *text)
{
	return text_copy(text && *text ? text : "-");
}

const char *table_path_end(const struct row *row)
{
	static const char *const ends[] = {[PATH_TRUNCATED] = "[truncated]", [PATH_BROKEN] = "[broken]"};

	return row->path < ARRAY_LEN(ends) ? ends[row->path] : NULL;
}

char *table_path(const struct profile *profile, const struct row *row)
{
	const char *end = table_path_end(row);
	char *path = NULL;
	size_t len;
	FILE *out = open_memstream(&path, &len);

	if (!out)
		die("out of memory");
	for (size_t i = 0; i < row->n_frames; i++) {
		const struct loc *loc = profile_loc(profile, row->frames[i]);

		fprintf(out, "%s%s%s", i ? " < " : "", loc->function ? loc->function : "?",
			loc->is_inlined ? INLINED : "");
	}
	if (end)
		fprintf(out, " < %s", end);
	if (fclose(out) || !path)
		die("out of memory");
	return path;
}

char *table_cell(enum column_id id, const struct row *row, const struct naming *naming)
{
	static const struct loc nowhere;
	const struct loc *loc = row->loc ? row->loc : &nowhere;

	switch (id) {
	case COLUMN_HITS:
		return count_cell(row->hits, true);
	case COLUMN_SHARE:
		return text_format("%.4f", row->share);
	case COLUMN_READS:
		return count_cell(row->reads, !table_is_open(row->reads, row->reads_unknown, row->hits));
	case COLUMN_WRITES:
		return count_cell(row->writes, !table_is_open(row->writes, row->writes_unknown, row->hits));
	case COLUMN_WATCH:
		return text_cell(naming->watches[row->watch]);
	case COLUMN_FUNCTION:
		return loc->is_inlined ? text_format("%s%s", loc->function ? loc->function : "?", INLINED)
				       : text_cell(loc->function);
	case COLUMN_FILE:
		return text_cell(loc->file);
	case COLUMN_LINE:
		return count_cell(loc->line, loc->line != 0);
	case COLUMN_MODULE:
		return text_cell(loc->module);
	case COLUMN_PID:
		return count_cell((uint64_t)row->pid, row->pid != 0);
	case COLUMN_TID:
		return count_cell((uint64_t)row->tid, row->tid != 0);
	case COLUMN_BLAME:
		return text_cell(row->blame ? row->blame->function : NULL);
	case COLUMN_PATH:
		return row->n_frames ? table_path(naming->profile, row) : text_copy("-");
	case COLUMN_UNKNOWN:
		return count_cell(row->unknown, true);
	case N_COLUMNS:
		break;
	}
	return text_copy("-");
}

/* Screen columns that a text takes: one per character, two for wide ones; bytes if the
 * locale cannot tell. */
static size_t text_width(const char *text)
{
	wchar_t wide[1024];
	size_t n = mbstowcs(wide, text, ARRAY_LEN(wide) - 1);
	int width;

	if (n == (size_t)-1 || n == ARRAY_LEN(wide) - 1)
		return strlen(text);
	wide[n] = L'\0';
	width = wcswidth(wide, n);
	return width < 0 ? strlen(text) : (size_t)width;
}

char *table_people_cell(enum column_id id, const struct row *row, const struct naming *naming)
{
	char *cell, *escaped;

	if (id == COLUMN_SHARE)
		return text_format("%.1f%%", row->share * 100);
	if (id == COLUMN_READS)
		return table_bound(row->reads, row->reads_unknown, row->hits);
	if (id == COLUMN_WRITES)
		return table_bound(row->writes, row->writes_unknown, row->hits);
	cell = table_cell(id, row, naming);
	escaped = text_escaped(cell);
	free(cell);
	return escaped;
}

static void line_write(FILE *out, const char *indent, const enum column_id *ids, size_t n_ids,
	char *const *cells, const size_t *widths)
{
	fputs(indent, out);
	for (size_t c = 0; c < n_ids; c++) {
		int pad = (int)(widths[c] - text_width(cells[c]));

		if (table_columns[ids[c]].is_number)
			fprintf(out, "%*s", pad, "");
		fputs(cells[c], out);
		if (c + 1 == n_ids)
			break;
		if (!table_columns[ids[c]].is_number)
			fprintf(out, "%*s", pad, "");
		fputs("  ", out);
	}
	fputc('\n', out);
}

void table_write(FILE *out, const char *indent, const enum column_id *ids, size_t n_ids,
	const struct row *rows, size_t n_rows, const struct naming *naming)
{
	char **cells = mem_new((n_rows + 1) * n_ids, sizeof(*cells));
	size_t widths[N_COLUMNS] = {0};

	for (size_t r = 0; r <= n_rows; r++) {
		for (size_t c = 0; c < n_ids; c++) {
			char *cell = r == 0 ? text_copy(table_columns[ids[c]].name)
					    : table_people_cell(ids[c], &rows[r - 1], naming);

			cells[r * n_ids + c] = cell;
			if (text_width(cell) > widths[c])
				widths[c] = text_width(cell);
		}
	}
	for (size_t r = 0; r <= n_rows; r++)
		line_write(out, indent, ids, n_ids, cells + r * n_ids, widths);
	for (size_t i = 0; i < (n_rows + 1) * n_ids; i++)
		free(cells[i]);
	free(cells);
}
