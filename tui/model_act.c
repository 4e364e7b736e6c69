/* model_act.c owns what keys do. What concerns the run becomes a wish. */
#include "model_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WHEEL	   3
#define SHIFT	   8
#define INTERVAL_LEAST 0.1 /* the session looks ten times a second */

static void text_set(char **text, const char *to)
{
	free(*text);
	*text = to && *to ? text_copy(to) : NULL;
}

static void pager_move(struct model *model, long by)
{
	struct pager *pager = &model->pager;
	long most = (long)pager->n - (long)model->height + 1, to = (long)pager->top + by;

	to = to > most ? most : to;
	pager->top = to < 0 ? 0 : (size_t)to;
}

static void select_move(struct model *model, long by)
{
	long to = (long)model->selected + by;

	if (model->pager.page) {
		pager_move(model, by);
		return;
	}
	to = to >= (long)model->n_rows ? (long)model->n_rows - 1 : to;
	model->selected = to < 0 ? 0 : (size_t)to;
}

static long page_rows(const struct model *model)
{
	size_t first, room = model_room(model, &first);

	return model->pager.page ? (long)model->height - 1 : (long)room;
}

static void act_down(struct model *model)
{
	select_move(model, 1);
}

static void act_up(struct model *model)
{
	select_move(model, -1);
}

static void act_page_down(struct model *model)
{
	select_move(model, page_rows(model));
}

static void act_page_up(struct model *model)
{
	select_move(model, -page_rows(model));
}

static void act_first(struct model *model)
{
	select_move(model, -(long)(model->n_rows + model->pager.n));
}

static void act_last(struct model *model)
{
	select_move(model, (long)(model->n_rows + model->pager.n));
}

static void act_wheel_down(struct model *model)
{
	select_move(model, WHEEL);
}

static void act_wheel_up(struct model *model)
{
	select_move(model, -WHEEL);
}

static void act_left(struct model *model)
{
	model->shift -= model->shift < SHIFT ? model->shift : SHIFT;
}

static void act_right(struct model *model)
{
	const char *full = model->selected < model->n_rows ? model->rows[model->selected].full : NULL;

	if (full && model->shift + SHIFT < cell_width(full))
		model->shift += SHIFT;
}

static void page_open(struct model *model, enum page page)
{
	bool was_open = model->pager.page == page;

	pager_clear(&model->pager);
	model->pager = (struct pager){.page = was_open ? PAGE_NONE : page};
	model->is_stale = true;
}

static void act_help(struct model *model)
{
	page_open(model, PAGE_HELP);
	if (model->pager.page)
		page_help(model);
}

static void act_log(struct model *model)
{
	page_open(model, PAGE_LOG);
}

static void view_open(struct model *model, const struct view *view)
{
	pager_clear(&model->pager);
	model->pager = (struct pager){0};
	if (model->view != view) {
		model->selected = model->top = model->shift = 0;
		rates_fini(&model->rates);
	}
	model->view = view;
	model->is_stale = true;
}

static void watch_choose(struct model *model, size_t watch)
{
	model->watch = (unsigned)watch;
	if (model->view != &view_watches)
		model->selected = model->top = 0;
	rates_fini(&model->rates);
	source_fini(&model->source);
	instructions_fini(&model->instructions);
	model->choice = SOURCE_HOTTEST;
	model->is_stale = true;
}

/* In the list of watches: to the one that is selected. Elsewhere: the details of the row. */
static void act_details(struct model *model)
{
	if (model->pager.page) {
		page_open(model, model->pager.page);
		return;
	}
	if (model->view == &view_watches && model->selected < model->n_watches) {
		watch_choose(model, model->selected);
		view_open(model, &view_functions);
		return;
	}
	page_open(model, PAGE_DETAILS);
}

static void act_back(struct model *model)
{
	if (model->pager.page)
		page_open(model, model->pager.page);
	else if (model->filter)
		text_set(&model->filter, NULL);
	model->shift = 0;
	model->is_stale = true;
}

static void act_next_watch(struct model *model)
{
	if (model->n_watches)
		watch_choose(model, (model->watch + 1) % model->n_watches);
}

static void act_functions(struct model *model)
{
	view_open(model, &view_functions);
}

static void act_callers(struct model *model)
{
	view_open(model, model->view == &view_callers ? &view_functions : &view_callers);
}

static void act_callees(struct model *model)
{
	view_open(model, &view_callees);
}

static void act_threads(struct model *model)
{
	view_open(model, &view_threads);
}

static void act_source(struct model *model)
{
	const struct view_row *row = model->selected < model->n_rows ? &model->rows[model->selected] : NULL;
	bool has_code = model->view != &view_threads && model->view != &view_watches && model->view != &view_source;

	model->choice = SOURCE_HOTTEST;
	/* Without a path nothing was read yet, or there is none to read. */
	model->is_code = model->view == &view_source && !model->is_code && (model->source.bytes || !model->source.path);
	if (row && (has_code || model->is_code) && model->selected > 0) {
		model->choice = row->file ? SOURCE_WANTED : SOURCE_LIST;
		text_set(&model->wanted, row->file);
		model->wanted_line = row->line;
		model->wanted_addr = row->addr;
		model->wanted_image = row->image;
	}
	source_fini(&model->source);
	instructions_fini(&model->instructions);
	view_open(model, &view_source);
}

static void act_values(struct model *model)
{
	view_open(model, model->view == &view_values ? &view_history : &view_values);
}

static void act_watches(struct model *model)
{
	view_open(model, &view_watches);
	model->selected = model->watch;
}

static void act_fold(struct model *model)
{
	uint64_t key = model->selected < model->n_rows ? model->rows[model->selected].fold_key : 0;
	size_t i = 0;

	if (!key)
		return;
	while (i < model->n_folds && model->folds[i].key != key)
		i++;
	if (i == model->n_folds)
		model->folds = mem_resize(model->folds, ++model->n_folds, sizeof(*model->folds));
	model->folds[i] = (struct fold){key, !model->rows[model->selected].is_folded};
	model->is_stale = true;
}

static void act_fold_all(struct model *model)
{
	model->is_all_folded = !model->is_all_folded;
	model->n_folds = 0;
	model->is_stale = true;
}

static void act_search(struct model *model)
{
	prompt_open(&model->prompt, ACTION_SEARCH, "/", NULL, NULL);
}

static void act_search_next(struct model *model)
{
	model->is_search_due = model->search != NULL;
	if (!model->search)
		model_tell(model, "nothing is searched for: / asks");
}

static void act_filter(struct model *model)
{
	prompt_open(&model->prompt, ACTION_FILTER, "filter: ", NULL, model->filter);
}

static void act_sort(struct model *model)
{
	prompt_open(&model->prompt, ACTION_SORT, "sort by h hits  r reads  w writes  n name ", "hrwn", NULL);
}

static void act_reverse(struct model *model)
{
	model->is_reversed = !model->is_reversed;
	model->is_stale = true;
}

static void act_pause(struct model *model)
{
	model->is_paused = !model->is_paused && !model->is_finished;
	model->is_stale = true;
}

static void act_zero(struct model *model)
{
	if (!model->is_finished)
		model->wish.kind = WISH_ZERO;
	model->is_stale = true;
}

static void act_write(struct model *model)
{
	prompt_open(&model->prompt, ACTION_WRITE, "report: t text  s tsv  c csv  j json  f folded  p pprof ", "tscjfp", NULL);
}

/* The one that is selected in their list, or the current one; -1 where there is none. */
static long watch_meant(const struct model *model)
{
	size_t watch = model->view == &view_watches ? model->selected : model->watch;

	return watch < model->n_watches ? (long)watch : -1;
}

static void act_add(struct model *model)
{
	if (model->is_finished)
		return;
	picker_fini(&model->picker);
	pager_clear(&model->pager);
	model->pager = (struct pager){.page = PAGE_PICKER};
	prompt_open(&model->prompt, ACTION_ADD, "watch: ", NULL, NULL);
}

static void act_change(struct model *model)
{
	if (watch_meant(model) >= 0 && !model->is_finished)
		prompt_open(&model->prompt, ACTION_CHANGE, "access: r reads  w writes  b both  x executions ", "rwbx", NULL);
}

/* Ask for something about a watch. */
static void wish_text(struct model *model, enum wish_kind kind, char *text)
{
	free(model->wish_text);
	model->wish_text = text;
	model->wish.kind = kind;
	model->wish.text = text;
	model->is_newest_due = kind != WISH_CLEAR;
	model->is_stale = true;
}

static void act_clear(struct model *model)
{
	long watch = watch_meant(model);

	if (watch >= 0 && !model->is_finished)
		wish_text(model, WISH_CLEAR, text_copy(model->watch_texts[watch]));
}

static void act_trace(struct model *model)
{
	if (model->is_finished)
		return;
	if (!model->is_traced) {
		prompt_open(&model->prompt, ACTION_TRACE, "trace to file: ", NULL, "watchprof.trace");
		return;
	}
	model->is_tracing = !model->is_tracing; /* until the next sample tells */
	model->wish.kind = WISH_TRACE;
	model->wish.on = model->is_tracing;
}

static void act_interval(struct model *model)
{
	prompt_open(&model->prompt, ACTION_INTERVAL, "refresh every (seconds): ", NULL, NULL);
}

static void act_suspend(struct model *model)
{
	model->wish.kind = WISH_SUSPEND;
}

static void act_quit(struct model *model)
{
	model->wish.kind = WISH_QUIT;
}

static const struct {
	enum action action;
	void (*act)(struct model *model);
} acts[] = {
	{ACTION_QUIT, act_quit},
	{ACTION_HELP, act_help},
	{ACTION_DOWN, act_down},
	{ACTION_UP, act_up},
	{ACTION_PAGE_DOWN, act_page_down},
	{ACTION_PAGE_UP, act_page_up},
	{ACTION_FIRST, act_first},
	{ACTION_LAST, act_last},
	{ACTION_LEFT, act_left},
	{ACTION_RIGHT, act_right},
	{ACTION_WHEEL_DOWN, act_wheel_down},
	{ACTION_WHEEL_UP, act_wheel_up},
	{ACTION_DETAILS, act_details},
	{ACTION_BACK, act_back},
	{ACTION_NEXT_WATCH, act_next_watch},
	{ACTION_FUNCTIONS, act_functions},
	{ACTION_CALLERS, act_callers},
	{ACTION_CALLEES, act_callees},
	{ACTION_THREADS, act_threads},
	{ACTION_SOURCE, act_source},
	{ACTION_VALUES, act_values},
	{ACTION_WATCHES, act_watches},
	{ACTION_FOLD, act_fold},
	{ACTION_FOLD_ALL, act_fold_all},
	{ACTION_SEARCH, act_search},
	{ACTION_SEARCH_NEXT, act_search_next},
	{ACTION_FILTER, act_filter},
	{ACTION_SORT, act_sort},
	{ACTION_REVERSE, act_reverse},
	{ACTION_PAUSE, act_pause},
	{ACTION_ZERO, act_zero},
	{ACTION_WRITE, act_write},
	{ACTION_INTERVAL, act_interval},
	{ACTION_ADD, act_add},
	{ACTION_CHANGE, act_change},
	{ACTION_CLEAR, act_clear},
	{ACTION_TRACE, act_trace},
	{ACTION_LOG, act_log},
	{ACTION_SUSPEND, act_suspend},
};

static void click(struct model *model, size_t line)
{
	size_t first, room = model_room(model, &first);

	if (!model->pager.page && line >= first && line < first + room && model->top + line - first < model->n_rows)
		model->selected = model->top + line - first;
}

void model_act(struct model *model, enum action action, size_t line)
{
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		if (acts[i].action == action)
			acts[i].act(model);
	}
	if (action == ACTION_CLICK)
		click(model, line);
}

static void take_search(struct model *model, const char *text)
{
	if (*text)
		text_set(&model->search, text);
	model->is_search_due = model->search != NULL;
}

static void take_filter(struct model *model, const char *text)
{
	text_set(&model->filter, text);
	model->selected = 0;
	model->is_stale = true;
}

static void take_sort(struct model *model, const char *text)
{
	static const enum sort by[] = {['h'] = SORT_HITS, ['r'] = SORT_READS, ['w'] = SORT_WRITES, ['n'] = SORT_NAME};

	model->sort = by[(unsigned char)*text];
	model->selected = 0;
	model->is_stale = true;
}

static void take_interval(struct model *model, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !isfinite(seconds) || seconds < INTERVAL_LEAST || seconds > 1e6) {
		model_tell(model, "the interval is a number of seconds from 0.1 on");
		return;
	}
	model->wish = (struct frontend_wish){.kind = WISH_INTERVAL, .interval_ns = (uint64_t)(seconds * NS_PER_S)};
}

/* The format is known; now for the file. */
static void take_format(struct model *model, const char *text)
{
	static const struct {
		char letter;
		enum report_format format;
		const char *file;
	} formats[] = {
		{'t', REPORT_TEXT, "watchprof.txt"},	 {'s', REPORT_TSV, "watchprof.tsv"},
		{'c', REPORT_CSV, "watchprof.csv"},	 {'j', REPORT_JSON, "watchprof.json"},
		{'f', REPORT_FOLDED, "watchprof.folded"}, {'p', REPORT_PPROF, "watchprof.pb.gz"},
	};

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (formats[i].letter != *text)
			continue;
		model->wish.format = formats[i].format;
		prompt_open(&model->prompt, ACTION_FILE, "to file: ", NULL, formats[i].file);
	}
}

static void take_file(struct model *model, const char *text)
{
	text_set(&model->wish_text, text);
	if (!model->wish_text)
		return;
	model->wish.kind = WISH_REPORT;
	model->wish.text = model->wish_text;
}

static void take_trace(struct model *model, const char *text)
{
	text_set(&model->wish_text, text);
	if (!model->wish_text)
		return;
	model->wish.kind = WISH_TRACE;
	model->wish.on = true;
	model->wish.text = model->wish_text;
}

static void take_add(struct model *model, const char *text)
{
	char *choice = picker_choice(model, text);

	if (*choice)
		wish_text(model, WISH_ADD, choice);
	else
		free(choice);
}

/* The watch without its access, and another one behind it. */
static void take_change(struct model *model, const char *text)
{
	static const char *const accesses[] = {['r'] = "r", ['w'] = "w", ['b'] = "rw", ['x'] = "x"};
	long watch = watch_meant(model);
	const char *former, *colon, *filters = "";
	size_t len;

	if (watch < 0)
		return;
	former = model->watch_texts[watch];
	colon = strrchr(former, ':');
	len = strlen(former);
	if (colon && colon > former && colon[-1] != ':' && strspn(colon + 1, "rwx-") > 0) {
		len = (size_t)(colon - former);
		filters = colon + 1 + strspn(colon + 1, "rwx-");
	}
	wish_text(model, WISH_CHANGE,
		text_format("%.*s:%s%s", (int)len, former, accesses[(unsigned char)*text], filters));
}

/* What is done with a line that was typed. */
static const struct {
	enum action action;
	void (*take)(struct model *model, const char *text);
} takes[] = {
	{ACTION_SEARCH, take_search},	  {ACTION_FILTER, take_filter}, {ACTION_SORT, take_sort},
	{ACTION_INTERVAL, take_interval}, {ACTION_WRITE, take_format},	{ACTION_FILE, take_file},
	{ACTION_ADD, take_add},		  {ACTION_CHANGE, take_change},
	{ACTION_TRACE, take_trace},
};

static void prompt_edit(struct model *model, int key)
{
	enum prompt_end end = prompt_key(&model->prompt, key);
	struct prompt taken = model->prompt;

	if (end == PROMPT_GOES_ON) {
		model->picker.is_moved = false;
		model->picker.selected = 0;
		return;
	}
	model->prompt.action = ACTION_NONE;
	if (model->pager.page == PAGE_PICKER)
		page_open(model, PAGE_PICKER);
	for (size_t i = 0; end == PROMPT_TAKEN && i < ARRAY_LEN(takes); i++) {
		if (takes[i].action == taken.action)
			takes[i].take(model, taken.text);
	}
}

static void prompt_take(struct model *model, int key, size_t line)
{
	if (model->prompt.action == ACTION_ADD && picker_key(model, key, line))
		return;
	prompt_edit(model, key);
}

struct frontend_wish model_key(struct model *model, int key, size_t line)
{
	enum report_format format = model->wish.format; /* chosen before its file is asked for */

	model->wish = (struct frontend_wish){.format = format};
	if (model->message && key != KEY_CODE_RESIZE)
		text_set(&model->message, NULL);
	if (model->prompt.action)
		prompt_take(model, key, line);
	else
		model_act(model, keys_action(key), line);
	return model->wish;
}
