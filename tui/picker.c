/* picker.c owns the list of variables that a watch can be chosen from, and the search in it. It arms
 * nothing: what was chosen is a text like any other that is typed. */
#include "model_private.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS	      4 /* of the processor */
#define PROGRAM_BONUS 6 /* the program's own variables before those of libraries */
#define PART_EXACT    1000000 /* a part that was typed in full */

void picker_fini(struct picker *picker)
{
	variables_fini(&picker->list);
	branches_fini(&picker->branches);
	free(picker->found);
	free(picker->rows);
	free(picker->numbered_name);
	*picker = (struct picker){0};
}

/* How well a pattern fits a name: all its characters must be there, in order. 0: it does not. More for
 * those that follow each other, stand at the beginning of a word, or are the whole name. */
static unsigned fuzzy_score(const char *name, const char *pattern, size_t len)
{
	unsigned score = 1, run = 0;
	const char *at = name;

	for (size_t i = 0; i < len; i++) {
		const char *found = at;

		while (*found && tolower((unsigned char)*found) != tolower((unsigned char)pattern[i]))
			found++;
		if (!*found)
			return 0;
		run = found == at && i > 0 ? run + 1 : 0;
		score += 1 + 8 * run;
		if (found == name)
			score += 10;
		else if (!isalnum((unsigned char)found[-1]))
			score += 5;
		at = found + 1;
	}
	return score + (len && !*at ? 5 : 0) + (len && strlen(name) == len ? 100 : 0);
}

static int found_compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int order;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	order = strcmp(x->variable->name, y->variable->name);
	return order ? order : (x->variable > y->variable) - (x->variable < y->variable);
}

/* Parts stay in the order of their places. */
static int part_compare(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return (x->variable > y->variable) - (x->variable < y->variable);
}

/* The name in what was typed: up to an access or a length. */
static size_t pattern_len(const char *typed)
{
	const char *access = strrchr(typed, ':'), *length = strrchr(typed, '/');
	size_t len = strlen(typed);

	if (access && (access == typed || access[-1] != ':') &&
		strchr(",", access[1 + strspn(access + 1, "rwx-")])) /* its end, or filters */
		len = (size_t)(access - typed);
	if (length && (size_t)(length - typed) < len && strspn(length + 1, "0123456789") > 0)
		len = (size_t)(length - typed);
	return len;
}

/* Of a.b[3].c the length of a.b[3], and *part is where c begins; 0: what was typed is no such path. */
static size_t path_len(const char *typed, size_t len, size_t *part)
{
	size_t base = 0;

	if (*typed == '*' || *typed == '(')
		return 0;
	for (size_t i = 0; i < len; i++) {
		bool is_arrow = typed[i] == '-' && i + 1 < len && typed[i + 1] == '>';

		if (!is_arrow && typed[i] != '.' && typed[i] != '[')
			continue;
		base = i;
		*part = i + 1 + is_arrow;
		i += is_arrow;
	}
	/* FILE.c::NAME, libc.so!NAME */
	return base && !memmem(typed + base, len - base, "::", 2) && !memchr(typed + base, '!', len - base) ? base : 0;
}

static void found_add(struct picker *picker, const struct variable *variable, unsigned score)
{
	if (picker->n_found == picker->cap_found) {
		picker->cap_found = picker->cap_found ? 2 * picker->cap_found : 256;
		picker->found = mem_resize(picker->found, picker->cap_found, sizeof(*picker->found));
	}
	picker->found[picker->n_found++] = (struct found){score, variable};
}

/* An element of a number that is not in the list of the first ones. */
static void number_add(struct picker *picker, const struct variables *members, const char *typed, size_t len, size_t base)
{
	size_t digits = strspn(typed + base + 1, "0123456789"), end = base + 1 + digits;
	const char *first = members->n ? members->all[0].name : "";

	if (typed[base] != '[' || !digits || (end != len && !(end + 1 == len && typed[end] == ']')) ||
		strncmp(first, typed, base) != 0 || strncmp(first + base, "[0]", 3) != 0)
		return;
	free(picker->numbered_name);
	picker->numbered_name = text_format("%.*s]", (int)end, typed);
	picker->numbered = members->all[0];
	picker->numbered.name = picker->numbered_name;
	picker->numbered.place = "-";
	for (size_t i = 0; i < members->n; i++) {
		if (strcmp(members->all[i].name, picker->numbered_name) == 0)
			return;
	}
	found_add(picker, &picker->numbered, PART_EXACT);
}

/* The parts of something that fit the last one of what was typed. */
static void parts_search(struct picker *picker, const char *typed, size_t len)
{
	size_t part = 0, base = path_len(typed, len, &part);
	const struct branch *branch;

	picker->is_path = false;
	if (!base)
		return;
	branch = branches_find(&picker->branches, NULL, typed, base);
	if (!branch)
		branch = branches_add(&picker->branches, NULL, text_format("%.*s", (int)base, typed));
	number_add(picker, &branch->members, typed, len, base);
	for (size_t i = 0; i < branch->members.n; i++) {
		const struct variable *variable = &branch->members.all[i];
		bool is_below = strncmp(variable->name, typed, base) == 0;
		size_t all = strlen(variable->name);
		bool is_it = strncmp(variable->name, typed, len) == 0 &&
			(all == len || (all == len + 1 && variable->name[len] == ']'));
		unsigned score = variable->is_note ? 0
			: fuzzy_score(variable->name + (is_below ? base : 0), typed + part, len - part);

		if (score)
			found_add(picker, variable, is_it ? PART_EXACT : part == len ? 1 : score);
	}
	picker->is_path = picker->n_found > 0;
	if (picker->is_path)
		qsort(picker->found, picker->n_found, sizeof(*picker->found), part_compare);
}

static void names_search(struct picker *picker, const char *typed, size_t len)
{
	for (size_t i = 0; i < picker->list.n; i++) {
		const struct variable *variable = &picker->list.all[i];
		unsigned score = fuzzy_score(variable->name, typed, len);

		if (score && !strstr(path_base(variable->module), ".so"))
			score += PROGRAM_BONUS;
		if (score)
			found_add(picker, variable, score);
	}
	if (picker->n_found)
		qsort(picker->found, picker->n_found, sizeof(*picker->found), found_compare);
}

/* A row, and what is unfolded below it. */
static void rows_add(struct picker *picker, const struct variable *variable, unsigned depth)
{
	static const struct variable waiting = {.name = "being listed ...", .is_note = true};
	const struct branch *branch = branches_find(&picker->branches, variable, NULL, 0);
	bool is_open = branch && branch->is_open;

	if (picker->n_rows == picker->cap_rows) {
		picker->cap_rows = picker->cap_rows ? 2 * picker->cap_rows : 256;
		picker->rows = mem_resize(picker->rows, picker->cap_rows, sizeof(*picker->rows));
	}
	picker->rows[picker->n_rows++] = (struct picked){variable, depth, is_open};
	if (is_open && !branch->is_there)
		rows_add(picker, &waiting, depth + 1);
	for (size_t i = 0; is_open && i < branch->members.n; i++)
		rows_add(picker, &branch->members.all[i], depth + 1);
}

static void search(struct picker *picker, const char *typed)
{
	size_t len = pattern_len(typed);

	picker->n_found = picker->n_rows = 0;
	parts_search(picker, typed, len);
	if (!picker->is_path)
		names_search(picker, typed, len);
	for (size_t i = 0; i < picker->n_found; i++)
		rows_add(picker, picker->found[i].variable, 0);
	if (picker->selected >= picker->n_rows)
		picker->selected = picker->n_rows ? picker->n_rows - 1 : 0;
}

/* Slots that the watches leave free. */
static unsigned slots_free(const struct report *report)
{
	unsigned used = 0;

	for (size_t i = 0; i < report->n_watches; i++)
		used += strcmp(report->watches[i].state, "armed") == 0 ? report->watches[i].slots : 0;
	return used < SLOTS ? SLOTS - used : 0;
}

/* Is it likely that there is something to unfold? Pressing the key is allowed everywhere. */
static bool has_parts(const struct variable *variable)
{
	size_t len = strlen(variable->type);

	return strstr(variable->type, "struct ") || strstr(variable->type, "union ") ||
		(len && strchr("*&]", variable->type[len - 1])) || (strcmp(variable->type, "-") != 0 && atoi(variable->size) > 16);
}

/* What a row shows of the name: of a part what the row above does not say. */
static char *row_name(const struct model *model, size_t i)
{
	const struct picked *row = &model->picker.rows[i];
	const char *name = row->variable->name;
	const struct branch *branch;
	char *shown, *text;
	size_t above = i, len;

	while (row->depth && above > 0 && model->picker.rows[above].depth >= row->depth)
		above--;
	branch = row->depth ? branches_find(&model->picker.branches, model->picker.rows[above].variable, NULL, 0) : NULL;
	len = branch ? strlen(branch->expr) : 0;
	shown = row->variable->is_note ? cell_safe(name, model->is_utf8)
				       : cell_collapse(branch && strncmp(name, branch->expr, len) == 0 ? name + len : name, model->is_utf8);
	text = text_format("%*s%c %s", (int)(2 * row->depth), "",
		row->is_open ? '-' : !row->variable->is_note && has_parts(row->variable) ? '+' : ' ', shown);
	free(shown);
	return text;
}

static void row_put(struct model *model, size_t i)
{
	const struct variable *variable = model->picker.rows[i].variable;
	char *text = NULL, *name = row_name(model, i);
	size_t len, width = model->width > 60 ? model->width / 2 - 8 : 22;
	char *fitted, *type;
	FILE *out;

	if (variable->is_note) {
		pager_add(&model->pager, name);
		return;
	}
	fitted = cell_middle(name, width, 0, model->is_utf8);
	type = cell_part(variable->type, 0, 16);
	out = cell_open(&text, &len);
	cell_pad(out, fitted, width, false);
	fputs(" ", out);
	cell_pad(out, variable->size, 7, true);
	fputs(" ", out);
	cell_pad(out, type, 16, false);
	fprintf(out, " %s  %s", strcmp(variable->place, "-") == 0 ? "" : path_base(variable->place), path_base(variable->module));
	cell_close(out);
	pager_add(&model->pager, text);
	free(type);
	free(fitted);
	free(name);
}

/* Ask for what is missing. */
static void picker_ask(struct model *model, pid_t pid)
{
	struct picker *picker = &model->picker;
	char *text = NULL;

	if (!picker->is_there && model->eyes.variables && model->eyes.variables(model->eyes.context, pid, &text)) {
		picker->is_there = true;
		variables_split(&picker->list, text);
	}
	if (picker->is_there)
		branches_ask(&picker->branches, &model->eyes, pid);
}

static char *title(const struct picker *picker)
{
	char *what, *line;

	if (!picker->is_there)
		return text_copy("Variables: being listed ...");
	what = picker->is_path ? text_format("Parts: %zu", picker->n_found)
			       : text_format("Variables: %zu of %zu", picker->n_found, picker->list.n);
	line = picker->has_slots
		? text_format("%s, %u of %d slots free. Right unfolds, Enter watches", what, picker->slots_free, SLOTS)
		: text_format("%s. Right unfolds, Enter watches", what);
	free(what);
	return line;
}

void picker_update(struct model *model, const struct report *report)
{
	struct picker *picker = &model->picker;
	size_t room = model->height > 3 ? model->height - 3 : 1;

	picker_ask(model, report->pid);
	if (picker->is_there)
		search(picker, model->prompt.text);
	picker->slots_free = slots_free(report);
	picker->has_slots = report->engine && strcmp(report->engine, "dr") == 0;
	picker->top = picker->selected < picker->top ? picker->selected
		: picker->selected >= picker->top + room ? picker->selected - room + 1
							  : picker->top;
	pager_clear(&model->pager);
	pager_add(&model->pager, title(picker));
	for (size_t i = picker->top; i < picker->n_rows && i < picker->top + room; i++)
		row_put(model, i);
	model->pager.selected = picker->n_rows ? picker->selected - picker->top + 1 : 0;
}

static const struct variable *chosen(const struct picker *picker)
{
	const struct variable *variable = picker->selected < picker->n_rows ? picker->rows[picker->selected].variable : NULL;

	return variable && !variable->is_note ? variable : NULL;
}

/* A variable as a watch: with its file or module, where the name alone says too little. */
static char *watch_name(const struct picker *picker, const struct variable *variable)
{
	bool is_part = variable < picker->list.all || variable >= picker->list.all + picker->list.n;
	size_t n = 0;
	char *file, *name;

	for (size_t i = 0; !is_part && i < picker->list.n; i++)
		n += strcmp(picker->list.all[i].name, variable->name) == 0;
	if (n < 2)
		return text_copy(variable->name);
	if (strcmp(variable->place, "-") == 0)
		return text_format("%s!%s", path_base(variable->module), variable->name);
	file = text_copy(path_base(variable->place));
	file[strcspn(file, ":")] = '\0';
	name = text_format("%s::%s", file, variable->name);
	free(file);
	return name;
}

static void select_by(struct picker *picker, long by)
{
	long most = picker->n_rows ? (long)picker->n_rows - 1 : 0, to = (long)picker->selected + by;

	picker->selected = (size_t)(to < 0 ? 0 : to > most ? most : to);
}

static bool unfold(struct model *model)
{
	struct picker *picker = &model->picker;
	const struct variable *variable = chosen(picker);
	struct branch *branch;

	if (!variable || variable == &picker->numbered || model->prompt.cursor < model->prompt.len)
		return false;
	branch = branches_find(&picker->branches, variable, NULL, 0);
	if (!branch)
		branch = branches_add(&picker->branches, variable, watch_name(picker, variable));
	branch->is_open = true;
	return true;
}

/* Fold what is selected, or go to what it is a part of. */
static bool fold(struct picker *picker)
{
	const struct picked *row = picker->selected < picker->n_rows ? &picker->rows[picker->selected] : NULL;
	unsigned depth = row ? row->depth : 0;

	if (!row || (!row->is_open && !depth))
		return false;
	if (row->is_open)
		branches_find(&picker->branches, row->variable, NULL, 0)->is_open = false;
	while (!row->is_open && depth && picker->rows[picker->selected].depth >= depth)
		picker->selected--;
	return true;
}

static bool name_take(struct model *model)
{
	const struct variable *variable = chosen(&model->picker);
	char *name = variable ? watch_name(&model->picker, variable) : NULL;

	if (name)
		prompt_open(&model->prompt, ACTION_ADD, model->prompt.label, NULL, name);
	free(name);
	return name != NULL;
}

static bool click(struct picker *picker, size_t line)
{
	if (line > 0 && picker->top + line - 1 < picker->n_rows)
		picker->selected = picker->top + line - 1;
	return true;
}

bool picker_key(struct model *model, int key, size_t line)
{
	static const struct {
		int key;
		long rows, pages;
	} moves[] = {
		{KEY_CODE_DOWN, 1, 0},	    {KEY_CODE_UP, -1, 0},	 {KEY_CODE_WHEEL_DOWN, 3, 0},
		{KEY_CODE_WHEEL_UP, -3, 0}, {KEY_CODE_PAGE_DOWN, 0, 1}, {KEY_CODE_PAGE_UP, 0, -1},
	};
	struct picker *picker = &model->picker;
	long page = model->height > 3 ? (long)model->height - 3 : 1;
	bool is_taken = false;

	search(picker, model->prompt.text); /* keys may come faster than pictures are made */
	for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
		if (moves[i].key != key)
			continue;
		select_by(picker, moves[i].rows + moves[i].pages * page);
		is_taken = true;
	}
	if (key == KEY_CODE_RIGHT)
		is_taken = unfold(model);
	else if (key == KEY_CODE_LEFT)
		is_taken = fold(picker);
	else if (key == '\t')
		is_taken = name_take(model);
	else if (key == KEY_CODE_CLICK)
		is_taken = click(picker, line);
	picker->is_moved |= is_taken;
	return is_taken;
}

/* An expression is taken as it was typed; a name stands for the variable or part that is selected. */
char *picker_choice(struct model *model, const char *typed)
{
	struct picker *picker = &model->picker;
	const struct variable *variable;
	size_t len = pattern_len(typed);
	char *name, *choice;

	search(picker, typed);
	variable = chosen(picker);
	if (!variable || (!picker->is_moved && !picker->is_path && strpbrk(typed, ".[]*&>+!~")))
		return text_copy(typed);
	name = watch_name(picker, variable);
	choice = text_format("%s%s", name, typed + len);
	free(name);
	return choice;
}
