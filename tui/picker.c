/* picker.c owns the list of variables that a watch can be chosen from, and the search in it. It arms
 * nothing: what was chosen is a text like any other that is typed. */
#include "model_private.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS	      4 /* of the processor */
#define PROGRAM_BONUS 6 /* the program's own variables before those of libraries */

void picker_fini(struct picker *picker)
{
	free(picker->text);
	free(picker->all);
	free(picker->found);
	*picker = (struct picker){0};
}

/* The next field of a line of --list-vars, made a string of its own. */
static const char *field(char **at)
{
	char *begin = *at, *end = begin + strcspn(begin, "\t\n");

	*at = *end == '\t' ? end + 1 : end;
	if (*end == '\t')
		*end = '\0';
	return begin;
}

static void variables_split(struct picker *picker)
{
	size_t cap = 0;

	for (char *line = picker->text; *line;) {
		char *end = line + strcspn(line, "\n"), *at = line;
		struct variable *variable;
		bool is_last = *end == '\0';

		*end = '\0';
		if (picker->n_all == cap) {
			cap = cap ? 2 * cap : 256;
			picker->all = mem_resize(picker->all, cap, sizeof(*picker->all));
		}
		variable = &picker->all[picker->n_all];
		variable->name = field(&at);
		variable->size = field(&at);
		variable->type = field(&at);
		field(&at); /* the section */
		variable->module = field(&at);
		variable->place = field(&at);
		picker->n_all += *variable->name != '\0';
		line = is_last ? end : end + 1;
	}
	picker->found = mem_new(picker->n_all, sizeof(*picker->found));
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

static int found_compare(const void *a, const void *b, void *context)
{
	const struct picker *picker = context;
	const struct found *x = a, *y = b;
	int order;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	order = strcmp(picker->all[x->variable].name, picker->all[y->variable].name);
	return order ? order : (x->variable > y->variable) - (x->variable < y->variable);
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

static void search(struct picker *picker, const char *typed)
{
	size_t len = pattern_len(typed);

	picker->n_found = 0;
	for (size_t i = 0; i < picker->n_all; i++) {
		unsigned score = fuzzy_score(picker->all[i].name, typed, len);

		if (score && !strstr(path_base(picker->all[i].module), ".so"))
			score += PROGRAM_BONUS;
		if (score)
			picker->found[picker->n_found++] = (struct found){score, i};
	}
	if (picker->n_found)
		qsort_r(picker->found, picker->n_found, sizeof(*picker->found), found_compare, picker);
	if (picker->selected >= picker->n_found)
		picker->selected = picker->n_found ? picker->n_found - 1 : 0;
}

/* Slots that the watches leave free. */
static unsigned slots_free(const struct report *report)
{
	unsigned used = 0;

	for (size_t i = 0; i < report->n_watches; i++)
		used += strcmp(report->watches[i].state, "armed") == 0 ? report->watches[i].slots : 0;
	return used < SLOTS ? SLOTS - used : 0;
}

static void row_put(struct model *model, const struct variable *variable)
{
	char *text = NULL, *name = cell_collapse(variable->name, model->is_utf8);
	size_t len, width = model->width > 60 ? model->width / 2 - 8 : 22;
	char *fitted = cell_middle(name, width, 0, model->is_utf8), *type = cell_part(variable->type, 0, 16);
	FILE *out = cell_open(&text, &len);

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

void picker_update(struct model *model, const struct report *report)
{
	struct picker *picker = &model->picker;
	size_t room = model->height > 3 ? model->height - 3 : 1;

	if (!picker->is_there && model->eyes.variables && model->eyes.variables(model->eyes.context, report->pid, &picker->text)) {
		picker->is_there = true;
		if (picker->text)
			variables_split(picker);
	}
	if (picker->is_there)
		search(picker, model->prompt.text);
	picker->slots_free = slots_free(report);
	picker->top = picker->selected < picker->top ? picker->selected
		: picker->selected >= picker->top + room ? picker->selected - room + 1
							  : picker->top;
	pager_clear(&model->pager);
	pager_add(&model->pager,
		picker->is_there ? text_format("Variables: %zu of %zu, %u of %d slots free", picker->n_found, picker->n_all, picker->slots_free, SLOTS)
				 : text_copy("Variables: being listed ..."));
	for (size_t i = picker->top; i < picker->n_found && i < picker->top + room; i++)
		row_put(model, &picker->all[picker->found[i].variable]);
	model->pager.selected = picker->n_found ? picker->selected - picker->top + 1 : 0;
}

static const struct variable *chosen(const struct picker *picker)
{
	return picker->selected < picker->n_found ? &picker->all[picker->found[picker->selected].variable] : NULL;
}

/* The name of a variable as a watch: with its file or module, where the name alone says too little. */
static char *watch_name(const struct picker *picker, const struct variable *variable)
{
	size_t n = 0;
	char *file, *name;

	for (size_t i = 0; i < picker->n_all; i++)
		n += strcmp(picker->all[i].name, variable->name) == 0;
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

bool picker_key(struct model *model, int key)
{
	struct picker *picker = &model->picker;
	size_t page = model->height > 3 ? model->height - 3 : 1, most;

	search(picker, model->prompt.text); /* keys may come faster than pictures are made */
	most = picker->n_found ? picker->n_found - 1 : 0;
	if (key == KEY_CODE_DOWN || key == KEY_CODE_WHEEL_DOWN)
		picker->selected += picker->selected < most;
	else if (key == KEY_CODE_UP || key == KEY_CODE_WHEEL_UP)
		picker->selected -= picker->selected > 0;
	else if (key == KEY_CODE_PAGE_DOWN)
		picker->selected = picker->selected + page < most ? picker->selected + page : most;
	else if (key == KEY_CODE_PAGE_UP)
		picker->selected -= picker->selected < page ? picker->selected : page;
	else if (key == '\t' && chosen(picker)) {
		char *name = watch_name(picker, chosen(picker));

		prompt_open(&model->prompt, ACTION_ADD, model->prompt.label, NULL, name);
		free(name);
	} else
		return false;
	picker->is_moved = true;
	return true;
}

/* An expression is taken as it was typed; a name stands for the variable that is selected. */
char *picker_choice(struct model *model, const char *typed)
{
	const struct variable *variable;
	size_t len = pattern_len(typed);
	char *name, *choice;

	search(&model->picker, typed);
	variable = chosen(&model->picker);
	if (!variable || (!model->picker.is_moved && strpbrk(typed, ".[]*&>+!~")))
		return text_copy(typed);
	name = watch_name(&model->picker, variable);
	choice = text_format("%s%s", name, typed + len);
	free(name);
	return choice;
}
