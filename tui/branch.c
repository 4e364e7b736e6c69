/* branch.c owns the lists that the picker is made from: the variables, and the parts of those that were
 * unfolded. It draws nothing. */
#include "model_private.h"

#include <stdlib.h>
#include <string.h>

/* The next field of a line, made a string of its own. */
static const char *field(char **at)
{
	char *begin = *at, *end = begin + strcspn(begin, "\t\n");

	*at = *end == '\t' ? end + 1 : end;
	if (*end == '\t')
		*end = '\0';
	return begin;
}

static struct variable variable_of(char *line)
{
	struct variable variable = {.is_note = strchr(line, '\t') == NULL};
	char *at = line;

	variable.name = field(&at);
	variable.size = field(&at);
	variable.type = field(&at);
	field(&at); /* the section */
	variable.module = field(&at);
	variable.place = field(&at);
	return variable;
}

void variables_split(struct variables *variables, char *text)
{
	size_t cap = 0;

	*variables = (struct variables){.text = text};
	for (char *line = text; line && *line;) {
		char *end = line + strcspn(line, "\n");
		bool is_last = *end == '\0';

		*end = '\0';
		if (variables->n == cap) {
			cap = cap ? 2 * cap : 256;
			variables->all = mem_resize(variables->all, cap, sizeof(*variables->all));
		}
		variables->all[variables->n] = variable_of(line);
		variables->n += *variables->all[variables->n].name != '\0';
		line = is_last ? end : end + 1;
	}
}

void variables_fini(struct variables *variables)
{
	free(variables->text);
	free(variables->all);
	*variables = (struct variables){0};
}

struct branch *branches_find(const struct branches *branches, const struct variable *owner, const char *expr, size_t len)
{
	for (size_t i = 0; i < branches->n; i++) {
		struct branch *branch = branches->all[i];

		if (branch->owner != owner)
			continue;
		if (owner || (strlen(branch->expr) == len && memcmp(branch->expr, expr, len) == 0))
			return branch;
	}
	return NULL;
}

struct branch *branches_add(struct branches *branches, const struct variable *owner, char *expr)
{
	struct branch *branch = mem_new(1, sizeof(*branch));

	branches->all = mem_resize(branches->all, branches->n + 1, sizeof(struct branch *));
	branches->all[branches->n++] = branch;
	*branch = (struct branch){.expr = expr, .owner = owner};
	return branch;
}

bool branches_are_there(const struct branches *branches)
{
	for (size_t i = 0; i < branches->n; i++) {
		if (!branches->all[i]->is_there)
			return false;
	}
	return true;
}

bool branches_ask(struct branches *branches, const struct model_eyes *eyes, pid_t pid)
{
	for (size_t i = 0; i < branches->n; i++) {
		struct branch *branch = branches->all[i];
		char *text = NULL;

		if (branch->is_there)
			continue;
		if (eyes->members && !eyes->members(eyes->context, pid, branch->expr, &text))
			return false;
		branch->is_there = true;
		variables_split(&branch->members, text);
	}
	return true;
}

void branches_fini(struct branches *branches)
{
	for (size_t i = 0; i < branches->n; i++) {
		variables_fini(&branches->all[i]->members);
		free(branches->all[i]->expr);
		free(branches->all[i]);
	}
	free(branches->all);
	*branches = (struct branches){0};
}
