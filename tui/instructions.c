/* instructions.c owns the list of instructions with the hits of each: the functions that made hits, the hottest first. Where
 * the code cannot be had, the places of the hits are left. It reads no code itself. */
#include "model_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_MAX 64  /* that are listed; of the others the places alone */
#define WHOLE_MAX     200 /* instructions of a function that is shown whole, ... */
#define AROUND	      6   /* ... and so many before and behind those with hits of a longer one */
#define OFFSET_WIDTH  8

/* A function in the list. */
struct listed {
	uint32_t image;
	uint64_t start, end;
	struct code code; /* none where the code cannot be had */
	uint64_t hits;
	struct insn_hits {
		uint64_t hits;
		const struct row *row; /* the one with most of them; only within model_update() */
		uint64_t most;
	} *insns;
};

static void listed_free(struct listed *listed)
{
	code_fini(&listed->code);
	free(listed->insns);
	free(listed);
}

void instructions_fini(struct instructions *instructions)
{
	for (size_t i = 0; i < instructions->n; i++)
		listed_free(instructions->all[i]);
	free(instructions->all);
	free(instructions->rows);
	*instructions = (struct instructions){0};
}

/* Where the function of a place stands in the list, or would: they are in the order of their addresses. */
static size_t listed_place(const struct instructions *instructions, uint32_t image, uint64_t addr)
{
	size_t low = 0, high = instructions->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct listed *listed = instructions->all[middle];

		if (listed->image < image || (listed->image == image && listed->end <= addr))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct listed *listed_read(const struct report *report, const struct loc *loc)
{
	struct listed *listed = mem_new(1, sizeof(*listed));
	struct code_insn *last;

	*listed = (struct listed){.image = profile_image(loc), .start = loc->addr, .end = loc->addr + 1};
	if (report->code.read && report->code.read(report->code.context, listed->image, loc->addr, &listed->code) &&
		listed->code.n) {
		last = &listed->code.insns[listed->code.n - 1];
		listed->start = listed->code.insns[0].addr;
		listed->end = last->addr + last->length;
	}
	listed->insns = mem_new(listed->code.n, sizeof(*listed->insns));
	return listed;
}

/* The function that a place is in, read the first time; NULL: there are too many. */
static struct listed *listed_find(struct instructions *instructions, const struct report *report, const struct loc *loc)
{
	size_t i = listed_place(instructions, profile_image(loc), loc->addr);
	struct listed *listed = i < instructions->n ? instructions->all[i] : NULL;

	if (listed && listed->image == profile_image(loc) && loc->addr >= listed->start)
		return listed;
	if (instructions->n == FUNCTIONS_MAX)
		return NULL;
	instructions->all = mem_resize(instructions->all, instructions->n + 1, sizeof(struct listed *));
	memmove(&instructions->all[i + 1], &instructions->all[i], (instructions->n - i) * sizeof(struct listed *));
	instructions->n++;
	return instructions->all[i] = listed_read(report, loc);
}

/* The number of the instruction that an address lies in; SIZE_MAX: it is in none. */
static size_t insn_find(const struct listed *listed, uint64_t addr)
{
	size_t low = 0, high = listed->code.n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct code_insn *insn = &listed->code.insns[middle];

		if (addr < insn->addr)
			high = middle;
		else if (addr >= insn->addr + insn->length)
			low = middle + 1;
		else
			return middle;
	}
	return SIZE_MAX;
}

static void row_add(struct instructions *instructions, struct code_row row)
{
	if (instructions->n_rows == instructions->cap) {
		instructions->cap = instructions->cap ? 2 * instructions->cap : 256;
		instructions->rows = mem_resize(instructions->rows, instructions->cap, sizeof(*instructions->rows));
	}
	instructions->rows[instructions->n_rows++] = row;
}

/* Count a row of the profile for its instruction; false: that is not listed. */
static bool hits_take(struct instructions *instructions, const struct report *report, const struct row *row)
{
	struct listed *listed = row->loc ? listed_find(instructions, report, row->loc) : NULL;
	size_t i = listed ? insn_find(listed, row->loc->addr) : SIZE_MAX;
	struct insn_hits *insn;

	if (i == SIZE_MAX)
		return false;
	insn = &listed->insns[i];
	listed->hits += row->hits;
	insn->hits += row->hits;
	if (row->hits > insn->most) {
		insn->most = row->hits;
		insn->row = row;
	}
	return true;
}

/* The rows of one function. */
static void listed_show(struct instructions *instructions, const struct listed *listed)
{
	size_t n = listed->code.n, shown = 0; /* all before that one are dealt with */

	row_add(instructions, (struct code_row){.kind = CODE_HEAD, .listed = listed});
	for (size_t i = 0; i < n; i++) {
		size_t from = i > AROUND ? i - AROUND : 0, to = i + AROUND + 1 < n ? i + AROUND + 1 : n;

		if (n <= WHOLE_MAX) {
			to = n;
		} else if (!listed->insns[i].hits) {
			continue;
		}
		from = from < shown ? shown : from;
		if (from > shown)
			row_add(instructions, (struct code_row){.kind = CODE_GAP, .listed = listed});
		for (size_t k = from; k < to; k++)
			row_add(instructions, (struct code_row){CODE_INSN, listed, k, NULL});
		shown = to > shown ? to : shown;
		if (n <= WHOLE_MAX)
			return;
	}
}

static int listed_compare(const void *a, const void *b)
{
	const struct listed *x = *(struct listed *const *)a, *y = *(struct listed *const *)b;

	if (x->hits != y->hits)
		return x->hits > y->hits ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static bool is_same_row(const struct code_row *a, const struct code_row *b)
{
	return a->kind == CODE_INSN && b->kind == CODE_INSN && a->listed == b->listed && a->insn == b->insn;
}

/* Was this asked for, or its line? */
static bool is_wanted(const struct model *model, const struct code_row *row)
{
	const struct code_insn *insn = row->kind == CODE_INSN ? &row->listed->code.insns[row->insn] : NULL;
	const struct row *hits = insn ? row->listed->insns[row->insn].row : row->row;
	const struct loc *loc = hits ? hits->loc : NULL;

	if (model->choice == SOURCE_HOTTEST || row->kind == CODE_HEAD || row->kind == CODE_GAP)
		return false;
	if (!model->wanted_addr)
		return loc && loc->line == model->wanted_line;
	if (!insn)
		return loc && loc->addr == model->wanted_addr && profile_image(loc) == model->wanted_image;
	return model->wanted_image == row->listed->image && model->wanted_addr >= insn->addr &&
		model->wanted_addr < insn->addr + insn->length;
}

/* The row to begin with: the one that was asked for, or the hottest instruction. */
static size_t row_first(const struct model *model)
{
	const struct instructions *instructions = &model->instructions;
	uint64_t most = 0;
	size_t best = 0;

	for (size_t i = 0; i < instructions->n_rows; i++) {
		const struct code_row *row = &instructions->rows[i];
		uint64_t hits = row->kind == CODE_INSN ? row->listed->insns[row->insn].hits : 0;

		if (is_wanted(model, row))
			return i;
		if (hits > most) {
			most = hits;
			best = i;
		}
	}
	return best;
}

/* The rows move as hits come: the selection stays with its instruction. */
static void selection_keep(struct model *model, const struct code_row *former)
{
	const struct instructions *instructions = &model->instructions;

	for (size_t i = 0; i < instructions->n_rows; i++) {
		if (!is_same_row(&instructions->rows[i], former))
			continue;
		model->top = model->top + i > model->selected ? model->top + i - model->selected : 0;
		model->selected = i;
		return;
	}
}

static void hits_clear(struct instructions *instructions)
{
	for (size_t i = 0; i < instructions->n; i++) {
		struct listed *listed = instructions->all[i];

		listed->hits = 0;
		memset(listed->insns, 0, listed->code.n * sizeof(*listed->insns));
	}
	instructions->n_rows = 0;
}

void instructions_build(struct model *model, const struct report *report)
{
	struct instructions *instructions = &model->instructions;
	struct code_row former = model->selected < instructions->n_rows ? instructions->rows[model->selected] : (struct code_row){0};
	struct listed *hottest[FUNCTIONS_MAX];
	bool *is_listed;

	model->raw = model_rows(model, report, GROUP_INSTRUCTION, &model->n_raw);
	is_listed = mem_new(model->n_raw, sizeof(*is_listed));
	hits_clear(instructions);
	for (size_t i = 0; i < model->n_raw; i++)
		is_listed[i] = hits_take(instructions, report, &model->raw[i]);
	if (instructions->n)
		memcpy(hottest, instructions->all, instructions->n * sizeof(struct listed *));
	qsort(hottest, instructions->n, sizeof(struct listed *), listed_compare);
	for (size_t i = 0; i < instructions->n && hottest[i]->hits; i++)
		listed_show(instructions, hottest[i]);
	for (size_t i = 0; i < model->n_raw; i++) {
		if (!is_listed[i])
			row_add(instructions, (struct code_row){.kind = CODE_PLACE, .row = &model->raw[i]});
	}
	free(is_listed);
	model->n_rows = instructions->n_rows;
	model->rows = mem_new(model->n_rows, sizeof(*model->rows));
	if (!instructions->is_settled && model->n_rows)
		model->selected_rank = row_first(model) + 1;
	else
		selection_keep(model, &former);
	instructions->is_settled = model->n_rows > 0;
}

/* The cells of a row with so many hits; code is taken. */
static struct view_row cells(const struct model *model, uint64_t hits, char *line, char *code)
{
	uint64_t all = model->watches[model->watch].hits;
	double share = all ? (double)hits / (double)all : 0;

	return (struct view_row){.cells = {hits ? model_count(hits, true) : text_copy(""),
					 hits ? text_format("%.1f%%", share * 100) : text_copy(""),
					 cell_bar(share, BAR_WIDTH, model->is_utf8), line, code}};
}

/* A place without its code: its line, or the address of the instruction. */
static void place_format(struct model *model, const struct row *row, struct view_row *out)
{
	const struct loc *loc = row->loc;
	bool has_line = loc && loc->line;
	char *name = model_function(model, row);
	char *place = has_line ? model_place(model, loc) : text_format("0x%" PRIx64, loc ? loc->addr : 0);

	*out = cells(model, row->hits, has_line ? text_format("%u", loc->line) : text_copy("-"),
		text_format("%s  %s", name, place));
	out->full = model_full(model, row);
	out->raw = row;
	model_row_place(out, loc);
	free(name);
	free(place);
}

static void head_format(struct model *model, const struct listed *listed, struct view_row *out)
{
	char *name = model_name(model, listed->code.function);

	*out = cells(model, listed->hits, text_copy(""), text_format("%s:", name));
	out->full = text_format("%s  %zu instructions from 0x%" PRIx64, name, listed->code.n, listed->start);
	free(name);
}

static void insn_format(struct model *model, const struct code_row *row, struct view_row *out)
{
	const struct code_insn *insn = &row->listed->code.insns[row->insn];
	const struct insn_hits *hits = &row->listed->insns[row->insn];
	const struct loc *loc = hits->row ? hits->row->loc : NULL;
	char *name = model_name(model, row->listed->code.function), *text = cell_safe(insn->text, model->is_utf8);
	char *offset = text_format("+0x%" PRIx64, insn->addr - row->listed->start + row->listed->code.offset);
	char *place = model_place(model, loc);

	*out = cells(model, hits->hits, loc && loc->line ? text_format("%u", loc->line) : text_copy(""),
		text_format("%-*s %s", OFFSET_WIDTH, offset, text));
	out->full = text_format("%s%s  0x%" PRIx64 "  %s  %s", name, offset, insn->addr, text, loc ? place : "");
	out->is_hot = hits->hits > 0;
	out->raw = hits->row;
	model_row_place(out, loc);
	free(name);
	free(text);
	free(offset);
	free(place);
}

void instructions_format(struct model *model, size_t i, struct view_row *out)
{
	const struct code_row *row = &model->instructions.rows[i];

	switch (row->kind) {
	case CODE_HEAD:
		head_format(model, row->listed, out);
		break;
	case CODE_INSN:
		insn_format(model, row, out);
		break;
	case CODE_GAP:
		*out = cells(model, 0, text_copy(""), text_copy("..."));
		out->full = text_copy("");
		break;
	case CODE_PLACE:
		place_format(model, row->row, out);
		break;
	}
}
