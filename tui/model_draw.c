/* model_draw.c owns the layout: which lines and columns there is room for. It changes nothing of
 * what is shown. */
#include "model_private.h"

#include <stdlib.h>
#include <string.h>

#define HEIGHT_FULL 12 /* from here on with the names of the views, and the full text of the row */
#define FLEX_LEAST  10
#define TEXT_LEAST  4

/* The screen while it is made. */
struct canvas {
	struct model_line *lines;
	size_t n, width, height;
};

static void line_put(struct canvas *canvas, enum line_style style, const char *text)
{
	if (canvas->n >= canvas->height)
		return;
	canvas->lines[canvas->n].text = cell_part(text, 0, canvas->width);
	canvas->lines[canvas->n].style = style;
	canvas->n++;
}

static bool is_full(const struct model *model)
{
	return model->height >= HEIGHT_FULL;
}

/* Lines of the header that there is room for. */
static size_t header_lines(const struct model *model)
{
	size_t others = is_full(model) ? 7 : 3; /* heading, keys and rows; names of views, text of the row */
	size_t room = model->height > others + 1 ? model->height - others : 1;
	size_t most = model->height / 3 > 3 ? model->height / 3 : 3; /* most lines are for the rows */

	room = room < most ? room : most;
	return model->n_header < room ? model->n_header : room;
}

size_t model_room(const struct model *model, size_t *first)
{
	size_t n_before = header_lines(model) + 1 + is_full(model), n_behind = 1 + is_full(model);

	*first = n_before;
	return model->height > n_before + n_behind ? model->height - n_before - n_behind : 1;
}

static void header_draw(const struct model *model, struct canvas *canvas)
{
	size_t n = header_lines(model), ranks = 0;

	/* The n lines of the lowest ranks. */
	for (unsigned rank = 0; rank < 2 * WATCHES_MAX && ranks < n; rank++) {
		for (size_t i = 0; i < model->n_header; i++)
			ranks += model->header_rank[i] == rank;
		if (ranks == n) {
			for (size_t i = 0; i < model->n_header; i++) {
				if (model->header_rank[i] <= rank)
					line_put(canvas, model->header_style[i], model->header[i]);
			}
		}
	}
	if (model->n_header == 0)
		line_put(canvas, LINE_TITLE, "watchprof: starting");
}

/* Which columns are shown, and how wide. */
struct layout {
	size_t widths[CELLS_MAX];
	bool is_shown[CELLS_MAX];
};

/* What the lines take at least; n counts the columns. */
static size_t layout_least(const struct view *view, const struct layout *layout, bool is_least)
{
	size_t total = 0, n = 0;

	for (size_t c = 0; c < view->n_columns; c++) {
		size_t width = layout->widths[c];

		if (!layout->is_shown[c])
			continue;
		if (is_least && view->columns[c].is_flexible && width > FLEX_LEAST)
			width = FLEX_LEAST;
		total += width + (n++ > 0);
	}
	return total;
}

/* Leave out the least important column; false: only one is left. */
static bool layout_drop(const struct view *view, struct layout *layout)
{
	size_t least = CELLS_MAX, n = 0;

	for (size_t c = 0; c < view->n_columns; c++) {
		if (!layout->is_shown[c])
			continue;
		n++;
		if (least == CELLS_MAX || view->columns[c].importance > view->columns[least].importance)
			least = c;
	}
	if (n > 1)
		layout->is_shown[least] = false;
	return n > 1;
}

/* Cut the flexible columns until all fits: the last ones first, but to what they need at least. */
static void layout_shrink(const struct view *view, struct layout *layout, size_t width)
{
	for (size_t c = view->n_columns; c-- > 0;) {
		size_t total = layout_least(view, layout, false), more = total > width ? total - width : 0;
		size_t may = layout->widths[c] > FLEX_LEAST ? layout->widths[c] - FLEX_LEAST : 0;

		if (view->columns[c].is_flexible && layout->is_shown[c])
			layout->widths[c] -= more < may ? more : may;
	}
}

static const char *sort_name(enum sort sort)
{
	static const char *const names[] = {
		[SORT_HITS] = "hits", [SORT_READS] = "reads", [SORT_WRITES] = "writes", [SORT_NAME] = "function"};

	return names[sort];
}

/* What stands over a column, owned by the caller. The one that is sorted by has a mark where the order is reversed. */
static char *heading_text(const struct model *model, size_t c)
{
	const char *name = column_name(&model->view->columns[c]);
	bool has_mark = model->is_reversed && strcmp(name, sort_name(model->sort)) == 0;

	return text_format("%s%s", name, has_mark ? "^" : "");
}

static void layout_make(const struct model *model, size_t room, struct layout *layout)
{
	const struct view *view = model->view;

	for (size_t c = 0; c < view->n_columns; c++) {
		char *heading = heading_text(model, c);

		layout->is_shown[c] = true;
		layout->widths[c] = strlen(heading);
		free(heading);
		for (size_t i = model->top; i < model->n_rows && i < model->top + room; i++) {
			const char *cell = model->rows[i].cells[c];
			size_t width = model->rows[i].cells[0] && cell ? cell_width(cell) : 0;

			if (width > layout->widths[c])
				layout->widths[c] = width;
		}
		if (column_is_number(&view->columns[c]) && layout->widths[c] < TEXT_LEAST + 2)
			layout->widths[c] = TEXT_LEAST + 2; /* so that numbers may grow */
	}
	if (strcmp(column_name(&view->columns[0]), "#") == 0)
		layout->widths[0] -= layout->widths[0] > 3 && model->n_rows < 1000 ? layout->widths[0] - 3 : 0;
	while (layout_least(view, layout, true) > model->width && layout_drop(view, layout))
		;
	layout_shrink(view, layout, model->width);
}

/* How far a name agrees with another one that is cut, too: what differs has to be seen. */
static size_t agreement(char *const *names, size_t n, size_t i)
{
	size_t longest = 0;

	for (size_t k = 0; k < n; k++) {
		size_t same = 0;

		if (k == i || !names[k])
			continue;
		while (names[i][same] && names[i][same] == names[k][same])
			same++;
		if (names[i][same] && same > longest)
			longest = same;
	}
	return longest;
}

static bool is_among(char *const *names, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++) {
		if (k != i && names[k] && strcmp(names[k], names[i]) == 0)
			return true;
	}
	return false;
}

/* The names in a column that are too long, without template arguments where they are told apart
 * all the same. The others stay NULL. */
static void names_collapse(const struct model *model, size_t c, size_t n, size_t width, char **names)
{
	bool *is_twin = mem_new(n, sizeof(*is_twin));

	for (size_t i = 0; i < n; i++) {
		const char *cell = model->rows[model->top + i].cells[c];

		names[i] = cell && cell_width(cell) > width ? cell_collapse(cell, model->is_utf8) : NULL;
	}
	for (size_t i = 0; i < n; i++)
		is_twin[i] = names[i] && is_among(names, n, i);
	for (size_t i = 0; i < n; i++) {
		if (!is_twin[i])
			continue;
		free(names[i]);
		names[i] = text_copy(model->rows[model->top + i].cells[c]);
	}
	free(is_twin);
}

/* The n cells of a column in its width: names lose their template arguments first, then their
 * middle. The texts are the caller's. */
static char **column_fit(const struct model *model, size_t c, size_t n, size_t width)
{
	const struct view_column *column = &model->view->columns[c];
	char **names = mem_new(n, sizeof(*names)), **cells = mem_new(n, sizeof(*cells));

	if (column->is_flexible && !column->is_cut_last && !model->shift)
		names_collapse(model, c, n, width, names);
	for (size_t i = 0; i < n; i++) {
		const char *cell = model->rows[model->top + i].cells[c];

		if (names[i])
			cells[i] = cell_middle(names[i], width, agreement(names, n, i), model->is_utf8);
		else
			cells[i] = cell_part(cell ? cell : "", column->is_flexible ? model->shift : 0, width);
	}
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return cells;
}

/* Take the text of a stream without the blanks at its end. */
static void line_put_trimmed(struct canvas *canvas, enum line_style style, char *text)
{
	size_t len = strlen(text);

	while (len > 0 && text[len - 1] == ' ')
		text[--len] = '\0';
	line_put(canvas, style, text);
	free(text);
}

static void row_draw(const struct model *model, struct canvas *canvas, size_t i, char **const *columns,
	const struct layout *layout)
{
	const struct view *view = model->view;
	bool is_selected = model->top + i == model->selected;
	char *text = NULL;
	size_t len, n = 0;
	FILE *out = cell_open(&text, &len);

	for (size_t c = 0; c < view->n_columns; c++) {
		if (!layout->is_shown[c])
			continue;
		fputs(n++ ? " " : "", out);
		cell_pad(out, columns[c][i], layout->widths[c], column_is_number(&view->columns[c]));
	}
	cell_close(out);
	line_put_trimmed(canvas,
		is_selected ? LINE_SELECTED : model->rows[model->top + i].is_hot ? LINE_HOT : LINE_PLAIN, text);
}

static void rows_draw(const struct model *model, struct canvas *canvas, size_t room, const struct layout *layout)
{
	const struct view *view = model->view;
	size_t n = model->n_rows - model->top < room ? model->n_rows - model->top : room;
	char **columns[CELLS_MAX] = {0};

	for (size_t c = 0; c < view->n_columns; c++) {
		if (layout->is_shown[c])
			columns[c] = column_fit(model, c, n, layout->widths[c]);
	}
	for (size_t i = 0; i < n; i++)
		row_draw(model, canvas, i, columns, layout);
	for (size_t c = 0; c < view->n_columns; c++) {
		for (size_t i = 0; columns[c] && i < n; i++)
			free(columns[c][i]);
		free(columns[c]);
	}
}

static void heading_draw(const struct model *model, struct canvas *canvas, const struct layout *layout)
{
	const struct view *view = model->view;
	char *text = NULL;
	size_t len, n = 0;
	FILE *out = cell_open(&text, &len);

	for (size_t c = 0; c < view->n_columns; c++) {
		char *name;

		if (!layout->is_shown[c])
			continue;
		name = heading_text(model, c);
		fputs(n++ ? " " : "", out);
		cell_pad(out, name, layout->widths[c], column_is_number(&view->columns[c]));
		free(name);
	}
	cell_close(out);
	line_put_trimmed(canvas, LINE_HEADING, text);
}

/* The names of the views, with so many blanks between them. */
static char *tabs_line(const struct model *model, int blanks)
{
	static const struct view *const views[] = {
		&view_functions, &view_callers, &view_callees, &view_threads, &view_source, &view_values,
		&view_watches};
	char *text = NULL;
	size_t len;
	FILE *out = cell_open(&text, &len);

	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		bool is_it = views[i]->action == model->view->action;

		fprintf(out, "%s%zu %s%s%*s", is_it ? "[" : " ", i + 1, views[i]->name, is_it ? "]" : " ", blanks, "");
	}
	cell_close(out);
	return text;
}

static char *keys_line(const struct model *model, int blanks)
{
	size_t n_bindings, len;
	const struct key_binding *bindings = keys_table(&n_bindings);
	char *text = NULL;
	FILE *out = cell_open(&text, &len);

	for (size_t i = 0; i < n_bindings; i++) {
		if (bindings[i].bar)
			fprintf(out, "%*s%s", ftell(out) ? blanks : 0, "", bindings[i].bar);
	}
	(void)model;
	cell_close(out);
	return text;
}

/* A line with as many blanks as there is room for: most, or one less. */
static char *line_fit(const struct model *model, char *(*line)(const struct model *, int), int most)
{
	char *text = line(model, most);

	if (cell_width(text) <= model->width)
		return text;
	free(text);
	return line(model, most - 1);
}

static void tabs_draw(const struct model *model, struct canvas *canvas)
{
	char *text = line_fit(model, tabs_line, 1);

	line_put(canvas, LINE_DIM, text);
	free(text);
}

/* The last line: what is typed, a message, or the keys. */
static void foot_draw(const struct model *model, struct canvas *canvas)
{
	size_t cursor;
	char *text = model->prompt.action ? prompt_line(&model->prompt, model->width, model->is_utf8, &cursor)
		     : model->message	  ? text_copy(model->message)
		     : model->pager.page  ? text_copy("Esc back  j k PgDn PgUp  q quit")
		     : model->is_finished ? text_copy("The run has ended: q quit, w write a report, ? help")
		     : model->is_paused	  ? text_copy("PAUSED: space goes on, ? help")
					  : line_fit(model, keys_line, 2);
	bool is_alert = !model->prompt.action && (model->message || model->is_paused);

	line_put(canvas, model->prompt.action ? LINE_PLAIN : is_alert ? LINE_ALERT : LINE_HEADING, text);
	free(text);
}

/* Blank lines down to the last n. */
static void fill(struct canvas *canvas, size_t n)
{
	while (canvas->n + n < canvas->height)
		line_put(canvas, LINE_PLAIN, "");
}

static void detail_draw(const struct model *model, struct canvas *canvas)
{
	const char *full = model->selected < model->n_rows ? model->rows[model->selected].full : NULL;
	char *part = cell_part(full ? full : "", model->shift, model->width);

	line_put(canvas, LINE_DIM, part);
	free(part);
}

static void view_draw(const struct model *model, struct canvas *canvas)
{
	struct layout layout;
	size_t first, room = model_room(model, &first);

	header_draw(model, canvas);
	if (is_full(model))
		tabs_draw(model, canvas);
	layout_make(model, room, &layout);
	heading_draw(model, canvas, &layout);
	if (model->top < model->n_rows)
		rows_draw(model, canvas, room, &layout);
	if (model->n_rows == 0 && model->has_sample)
		line_put(canvas, LINE_PLAIN,
			model->n_watches == 0 ? "nothing is watched: + adds a watch"
			: model->view->action == ACTION_VALUES ? "no value is known yet"
			: model->filter	      ? "no hits pass the filter"
					      : "no hits yet");
	fill(canvas, 1 + is_full(model));
	if (is_full(model))
		detail_draw(model, canvas);
	foot_draw(model, canvas);
}

static void pager_draw(const struct model *model, struct canvas *canvas)
{
	for (size_t i = model->pager.top; i < model->pager.n && canvas->n + 1 < canvas->height; i++)
		line_put(canvas,
			i == 0 ? LINE_TITLE : i == model->pager.selected ? LINE_SELECTED : LINE_PLAIN, model->pager.lines[i]);
	fill(canvas, 1);
	foot_draw(model, canvas);
}

struct model_line *model_draw(struct model *model)
{
	struct canvas canvas = {mem_new(model->height, sizeof(*canvas.lines)), 0, model->width, model->height};

	if (model->width < WIDTH_LEAST || model->height < HEIGHT_LEAST)
		line_put(&canvas, LINE_ALERT, "too small");
	else if (model->pager.page)
		pager_draw(model, &canvas);
	else
		view_draw(model, &canvas);
	fill(&canvas, 0);
	return canvas.lines;
}

void model_lines_free(struct model_line *lines, size_t height)
{
	for (size_t i = 0; i < height; i++)
		free(lines[i].text);
	free(lines);
}

bool model_cursor(const struct model *model, size_t *line, size_t *column)
{
	if (!model->prompt.action || model->width < WIDTH_LEAST || model->height < HEIGHT_LEAST)
		return false;
	free(prompt_line(&model->prompt, model->width, model->is_utf8, column));
	*line = model->height - 1;
	return true;
}
