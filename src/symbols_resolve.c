/* symbols_resolve.c owns the answer to what a watch means: which part of its text is the name of a
 * variable, and what to say when that is none or several. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *candidate_place(const struct candidate *candidate)
{
	return candidate->line > 0 ? text_format("%s:%d", candidate->file, candidate->line)
				   : text_copy(candidate->file);
}

/* As a line of a list, owned by the caller. */
static char *candidate_describe(const struct candidate *candidate)
{
	char *place = candidate->file ? candidate_place(candidate) : NULL;
	const char *sign = candidate->is_default ? "@@" : "@";
	bool has_version = candidate->version && !strchr(candidate->name, '@');
	char *text = text_format("%s%s%s at 0x%" PRIx64 ", %" PRIu64 " bytes%s%s%s%s, in %s",
		candidate->name, has_version ? sign : "", has_version ? candidate->version : "",
		candidate->addr, candidate->size, place ? ", " : "",
		place ? place : "", candidate->function ? ", function " : "",
		candidate->function ? candidate->function : "", module_path(candidate->module));
	char *line = text_line(text);

	free(place);
	free(text);
	return line;
}

static bool has_version(const struct search *search)
{
	for (size_t i = 0; i < search->n; i++) {
		if (search->found[i].version && !search->asked.version)
			return true;
	}
	return false;
}

static enum resolve_result ambiguous(const struct search *search, struct err *err)
{
	const char *name = search->watch->name;
	size_t shown;

	err_set(err, "%s: ambiguous, %zu %s match; name one as FILE.c::%s, ", search->watch->text,
		search->n, search->found[0].is_code ? "functions" : "variables", name);
	if (search->found[0].function && !search->asked.scope)
		err_append(err, "FUNCTION::%s, ", name);
	if (has_version(search))
		err_append(err, "%s@VERSION, ", name);
	err_append(err, "MODULE!%s or by address:", name);
	for (shown = 0; shown < search->n && shown < CANDIDATES_SHOWN; shown++) {
		char *text = candidate_describe(&search->found[shown]);
		bool fits = strlen(err->text) + strlen(text) + sizeof("\n  \n  and 99999999 more") <
			sizeof(err->text);

		if (fits)
			err_append(err, "\n  %s", text);
		free(text);
		if (!fits)
			break;
	}
	if (search->n > shown)
		err_append(err, "\n  and %zu more", search->n - shown);
	return RESOLVE_REFUSED;
}

/* A function was named where a variable was asked for, or the other way. */
static bool tell_other_kind(const struct search *search, struct err *err)
{
	struct watch other = watch_copy(search->watch);
	struct search again = {0};
	bool is_code = other.access != ACCESS_EXECUTE, is_found;

	other.access = is_code ? ACCESS_EXECUTE : ACCESS_WRITE;
	search_run(&again, search->symbols, &other);
	is_found = again.n && again.found[0].match >= MATCH_SUFFIX;
	if (is_found)
		err_append(err, is_code ? "; there is a function of that name: %s:x counts its calls"
					: "; there is a variable of that name: %s:rw counts its accesses",
			other.name);
	search_fini(&again);
	watch_fini(&other);
	return is_found;
}

static enum resolve_result unknown(struct search *search, struct err *err)
{
	const struct watch *watch = search->watch;
	const struct asked *asked = &search->asked;
	bool is_other;

	search_near(search);
	err_set(err, "%s: no %s named '%s' in %s%s%s", watch->text,
		watch->access == ACCESS_EXECUTE ? "function" : "variable", watch->name,
		watch->module ? "a module named " : "any module that is loaded",
		watch->module ? watch->module : "", watch->file ? " with that source file" : "");
	for (size_t i = 0; i < asked->n_near; i++)
		err_append(err, "%s%s", i ? ", " : "; did you mean ", asked->near[i].name);
	is_other = tell_other_kind(search, err);
	if (search->local)
		err_append(err, "; there is %s of that name, which has no fixed place in memory", search->local);
	if (search->stripped)
		debug_searched(search->symbols, search->stripped, err);
	else if (asked->n_near == 0 && !is_other)
		err_append(err, "; --list-vars tells what there is (a stripped program has few names)");
	return RESOLVE_UNKNOWN;
}

/* One candidate is left: turn it into a span. */
static enum resolve_result settle(const struct search *search, const struct candidate *found,
	struct answer *answer, struct err *err)
{
	const struct watch *watch = search->watch;
	char *place;

	if (!found->is_code)
		return expr_resolve(search->symbols, watch, found, answer, err);
	*answer->span = (struct span){.addr = found->addr + (uint64_t)watch->offset, .len = 1, .access = watch->access};
	place = found->file ? candidate_place(found) : NULL;
	*answer->object = text_format("%s%s%s%s in %s%s%s", found->name, place ? " (" : "", place ? place : "",
		place ? ")" : "", module_path(found->module),
		found->named_in ? ", which is used instead of that in " : "",
		found->named_in ? module_path(found->named_in) : "");
	free(place);
	return RESOLVE_FOUND;
}

static uint64_t module_start(Dwfl_Module *module)
{
	Dwarf_Addr start = 0;

	dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	return start;
}

static enum resolve_result optimised(const struct search *search, struct err *err)
{
	err_set(err, "%s: %s was optimised away: debug information has it, and no place in memory for it; build with "
		     "-O0, or make it volatile",
		search->watch->text, search->watch->name);
	return RESOLVE_REFUSED;
}

static enum resolve_result automatic(const struct search *search, struct err *err)
{
	err_set(err, "%s: %s is %s, which has no fixed place in memory: it is on the stack or in registers while that "
		     "runs; make it static, or give an address",
		search->watch->text, search->watch->name, search->local);
	return RESOLVE_REFUSED;
}

/* What is known of a name that was looked for. */
struct outcome {
	size_t n_near;	    /* how many names are close to it */
	bool has_candidate; /* one has it, or several have */
};

/* Resolve a watch whose name is one. */
static enum resolve_result name_resolve(struct symbols *symbols, const struct watch *watch, struct answer *answer, struct outcome *outcome, struct err *err)
{
	struct search search;
	enum resolve_result result;

	search_run(&search, symbols, watch);
	if (search.n == 0 && search.is_optimised)
		result = optimised(&search, err);
	else if (search.n == 0 && search.local && search.asked.scope)
		result = automatic(&search, err);
	else if (search.n == 0)
		result = unknown(&search, err);
	else if (search.n > 1)
		result = ambiguous(&search, err);
	else
		result = settle(&search, &search.found[0], answer, err);
	if (result == RESOLVE_FOUND && search.found[0].is_tls)
		*answer->module = module_start(search.found[0].module);
	*outcome = (struct outcome){.n_near = search.asked.n_near, .has_candidate = search.n > 0};
	search_fini(&search);
	return result;
}

/* Resolve a watch whose name may end in members: the longest name that is one. */
static enum resolve_result dots_resolve(struct symbols *symbols, struct watch *watch, struct answer *answer,
	struct outcome *outcome, struct err *err)
{
	enum resolve_result result = RESOLVE_UNKNOWN;
	bool is_told = false;
	struct err last = {0};

	do {
		result = name_resolve(symbols, watch, answer, outcome, &last);
		/* Of the names that are unknown tell of the longest that is close to one. */
		if (!is_told || result != RESOLVE_UNKNOWN)
			*err = last;
		is_told |= outcome->n_near > 0;
	} while (result == RESOLVE_UNKNOWN && watch->access != ACCESS_EXECUTE && watch_name_shorten(watch));
	return result;
}

/* What looks like FILE::NAME may be a member of a base class, as in d.base::x. */
static enum resolve_result base_resolve(struct symbols *symbols, const struct watch *watch, struct answer *answer, struct err *err)
{
	struct watch member = watch_copy(watch);
	struct err told = *err;
	struct outcome outcome;
	enum resolve_result result;

	free(member.name);
	free(member.file);
	member.name = text_format("%s::%s", watch->file, watch->name);
	member.file = NULL;
	result = dots_resolve(symbols, &member, answer, &outcome, err);
	watch_fini(&member);
	if (outcome.has_candidate)
		return result;
	*err = told;
	return RESOLVE_UNKNOWN;
}

enum resolve_result symbols_resolve(struct symbols *symbols, const struct watch *watch, struct span *span,
	uint64_t *module, char **object, struct err *err)
{
	struct answer answer = {.span = span, .module = module, .object = object};
	struct watch reading;
	struct outcome outcome;
	enum resolve_result result;

	*object = NULL;
	*module = 0;
	value_type_fini(&symbols->type);
	symbols->found_module = NULL;
	if (!watch->name && watch->n_steps)
		return expr_resolve(symbols, watch, NULL, &answer, err);
	if (!watch->name) {
		*span = (struct span){.addr = watch->address,
			.len = watch->access == ACCESS_EXECUTE ? 1 : watch->length,
			.access = watch->access};
		return RESOLVE_FOUND;
	}
	reading = watch_copy(watch);
	result = dots_resolve(symbols, &reading, &answer, &outcome, err);
	watch_fini(&reading);
	if (result == RESOLVE_UNKNOWN && watch->file)
		result = base_resolve(symbols, watch, &answer, err);
	return result;
}

const struct value_type *symbols_type(const struct symbols *symbols)
{
	return &symbols->type;
}
