/* model_private: the state of the live screen, shared by the files that make up the model. */
#ifndef WATCHPROF_MODEL_PRIVATE_H
#define WATCHPROF_MODEL_PRIVATE_H

#include "cell.h"
#include "watchprof/model.h"
#include "watchprof/table.h"
#include "watchprof/util.h"
#include "watchprof/watch.h"

#define CELLS_MAX     12
#define BAR_WIDTH     10
#define HISTORY	      24 /* values of the graph of hits per second */
#define PROMPT_MAX    240
#define HEADER_MAX    16
#define WIDTH_LEAST   20
#define HEIGHT_LEAST  5
#define RATE_NS	      (NS_PER_S / 2) /* over which rates are measured, at least */

struct model;

/* A column of a view. */
struct view_column {
	const struct column *shared; /* it has the name and the texts of the reports' column; NULL: its own */
	const char *name;
	bool is_number;
	char *(*text)(const struct model *model, const struct row *row); /* NULL: the view makes its texts */
	bool is_flexible;    /* gets what is left of the line, and is cut in its middle */
	bool is_cut_last;    /* is cut at its end instead */
	unsigned importance; /* columns with a high number are left out first where the screen is narrow */
};

const char *column_name(const struct view_column *column);
bool column_is_number(const struct view_column *column);

/* Texts that columns of several views have. */
char *column_bar(const struct model *model, const struct row *row);
char *column_rate(const struct model *model, const struct row *row);
char *column_place(const struct model *model, const struct row *row);

/* A row: its texts are made when it is (nearly) in sight. */
struct view_row {
	char *cells[CELLS_MAX]; /* [0] is NULL: not made yet */
	char *full;		/* the line below the rows, for the selected one */
	char *file;		/* where its code is: for the view of the source; NULL: not known */
	unsigned line;
	uint64_t addr; /* the same as an address of an image; 0: not known */
	uint32_t image;
	const struct row *raw; /* what it shows; NULL: nothing that was counted. Only within model_update() */
	uint64_t fold_key; /* of a node of the tree that has others below it; else 0 */
	bool is_hot, is_folded;
};

/* A way to look at the counts. */
struct view {
	enum action action; /* that leads to it */
	const char *name;
	const struct view_column *columns;
	size_t n_columns;

	/* Make the rows: model->raw, model->n_raw. */
	void (*build)(struct model *model, const struct report *report);
	/* Make the texts of row i. */
	void (*format)(struct model *model, const struct report *report, size_t i, struct view_row *row);
	/* What a row is, from sample to sample, for rates; NULL: this view has none. */
	uint64_t (*key)(const struct row *row);
};

extern const struct view view_functions, view_callers, view_callees, view_threads, view_source, view_values, view_history,
	view_watches;

/* Hits of rows at the last sample, by key. */
struct rate {
	uint64_t key, hits;
	double rate;
	bool is_known;
};

struct rates {
	struct rate *entries; /* open addressing; hits 0: free */
	size_t n_buckets;
	uint64_t time_ns;
};

/* Ask for the rate of a row; false: it was not there before. */
bool rates_get(const struct rates *rates, uint64_t key, double *rate);
/* Take the hits of all rows at now_ns. */
void rates_sample(struct rates *rates, const struct row *rows, size_t n, uint64_t (*key)(const struct row *),
	uint64_t now_ns);
void rates_fini(struct rates *rates);

/* A line that is being typed. */
struct prompt {
	enum action action; /* what for; ACTION_NONE: no prompt */
	const char *label;
	const char *letters; /* one of these is enough; NULL: a text up to Enter */
	char text[PROMPT_MAX];
	size_t len, cursor;
};

/* Begin with a text. */
void prompt_open(struct prompt *prompt, enum action action, const char *label, const char *letters, const char *text);

enum prompt_end {
	PROMPT_GOES_ON,
	PROMPT_TAKEN,
	PROMPT_LEFT,
};

/* A key for the prompt. It stays in place for the texts to be read; the caller clears action. */
enum prompt_end prompt_key(struct prompt *prompt, int key);

/* The prompt as a line, and where its cursor stands on it. */
char *prompt_line(const struct prompt *prompt, size_t width, bool is_utf8, size_t *cursor);

/* A page of lines in place of the view. */
enum page {
	PAGE_NONE,
	PAGE_HELP,
	PAGE_DETAILS,
	PAGE_LOG,
	PAGE_PICKER,
};

struct pager {
	enum page page;
	char **lines;
	size_t n, top;
	size_t selected; /* a line; 0: none */
};

void pager_clear(struct pager *pager);
void pager_add(struct pager *pager, char *line); /* takes the line */

/* A variable that can be watched, or a part of one; the texts are escaped and point into the list they came in. */
struct variable {
	const char *name; /* of a part the whole expression */
	const char *size, *type, *module, *place;
	bool is_note; /* nothing but a text to read */
};

/* Lines of --list-vars or --list-members. */
struct variables {
	char *text;
	struct variable *all;
	size_t n;
};

/* Take the text apart, which is taken; NULL: there are none. */
void variables_split(struct variables *variables, char *text);
void variables_fini(struct variables *variables);

/* What an expression can be continued with. */
struct branch {
	char *expr;
	const struct variable *owner; /* that was unfolded; NULL: the expression was typed */
	struct variables members;
	bool is_there; /* the answer has come */
	bool is_open;
};

struct branches {
	struct branch **all;
	size_t n;
};

/* The branch of a variable, or of an expression that was typed; NULL: it was not asked for. */
struct branch *branches_find(const struct branches *branches, const struct variable *owner, const char *expr, size_t len);
struct branch *branches_add(struct branches *branches, const struct variable *owner, char *expr);
/* Ask for the first one that is missing; true: all are there. */
bool branches_ask(struct branches *branches, const struct model_eyes *eyes, pid_t pid);
bool branches_are_there(const struct branches *branches);
void branches_fini(struct branches *branches);

struct found {
	unsigned score;
	const struct variable *variable;
};

/* A row of the picker. */
struct picked {
	const struct variable *variable;
	unsigned depth;
	bool is_open;
};

struct picker {
	bool is_there; /* the list has come */
	bool is_moved; /* the user has chosen a row */
	bool is_path;  /* what was typed ends in a part of something, and its parts are shown */
	struct variables list;
	struct branches branches;
	struct found *found; /* what fits what was typed, best first */
	size_t n_found, cap_found;
	struct picked *rows; /* the same, and what is unfolded below */
	size_t n_rows, cap_rows, selected, top;
	struct variable numbered; /* an element that was typed and is not listed */
	char *numbered_name;
	unsigned slots_free;
	bool has_slots; /* the engine watches by debug registers */
};

void picker_fini(struct picker *picker);

/* Make the page of what fits the text of the prompt. */
void picker_update(struct model *model, const struct report *report);

/* Take a key that moves in the list, or a click at a line; false: it is for the prompt. */
bool picker_key(struct model *model, int key, size_t line);

/* The watch to be added, after Enter; the caller frees it. */
char *picker_choice(struct model *model, const char *typed);

/* What the view of the source begins with. */
enum source_choice {
	SOURCE_HOTTEST, /* the file of the hottest place */
	SOURCE_WANTED,	/* one that was asked for */
	SOURCE_LIST,	/* a list of places, as the row that was selected has no line */
};

/* The source file in sight. */
struct source {
	char *path;	/* NULL: none asked for */
	char *bytes;	/* NULL: it cannot be read */
	char **lines;	/* into bytes */
	size_t n;
	uint64_t *hits; /* of line i + 1, at the last sample */
	bool is_settled; /* the selection has been put on the hottest line */
};

/* Read a file unless it is there already. */
void source_open(struct source *source, const struct model_eyes *eyes, pid_t pid, const char *path);
void source_fini(struct source *source);

enum code_kind {
	CODE_HEAD, /* a function begins */
	CODE_INSN,
	CODE_GAP,   /* some are left out */
	CODE_PLACE, /* a place whose code cannot be had */
};

struct listed;

struct code_row {
	enum code_kind kind;
	const struct listed *listed;
	size_t insn;
	const struct row *row; /* of a place; only within model_update() */
};

/* The list of instructions. */
struct instructions {
	struct listed **all; /* functions */
	size_t n;
	struct code_row *rows; /* at the last sample */
	size_t n_rows, cap;
	bool is_settled; /* the selection has been put on the hottest one */
};

void instructions_build(struct model *model, const struct report *report);
void instructions_format(struct model *model, size_t i, struct view_row *out);
void instructions_fini(struct instructions *instructions);

struct fold {
	uint64_t key;
	bool is_folded;
};

/* Counts of a watch over the run. */
struct watch_sample {
	uint64_t hits;
	double rate;
	bool has_rate;
	double history[HISTORY];
	size_t n_history;
	struct row totals;
};

struct model {
	bool is_utf8, is_paused, is_finished;
	bool is_stale; /* a paused screen that has to be made anew all the same */
	struct model_eyes eyes;
	size_t width, height;

	/* Where the user is. */
	const struct view *view;
	unsigned watch;
	enum sort sort;
	bool is_reversed, is_all_folded;
	char *filter, *search;
	bool is_search_due;
	size_t selected, top, shift;
	enum source_choice choice;
	char *wanted; /* source file to show, and its line */
	unsigned wanted_line;
	uint64_t wanted_addr;
	uint32_t wanted_image;
	bool is_code; /* the source view shows instructions, also where there is a file */
	struct fold *folds; /* nodes of the tree that the user has folded or unfolded */
	size_t n_folds;
	struct prompt prompt;
	struct pager pager;
	struct picker picker;
	struct frontend_wish wish;
	bool is_newest_due; /* a watch was asked for: show it once it is there */
	bool is_traced, is_tracing; /* there is a trace; it is on */
	bool was_picked;   /* the picker has been opened for a run without a watch */
	char *wish_text;
	char *message;

	/* The last sample. */
	struct row *raw; /* only within model_update(): it points into the profile */
	size_t n_raw;
	struct view_row *rows;
	size_t n_rows;
	size_t selected_rank; /* what the view says to select, once: row + 1 */
	struct rates rates;
	struct source source;
	struct instructions instructions;
	struct watch_sample watches[WATCHES_MAX];
	uint64_t rate_ns, stopped_ns;
	double stopped_share; /* of the time of a thread, since the sample before; below 0: not known */
	unsigned n_watches;
	char *watch_texts[WATCHES_MAX];
	char *header[HEADER_MAX];
	enum line_style header_style[HEADER_MAX];
	unsigned header_rank[HEADER_MAX]; /* lines of high rank go first where there is little room */
	size_t n_header;
	bool has_sample;
	const struct report *report; /* only within model_update() */
	uint64_t now_ns;
};

/* The rows of the current watch that the user's filter lets through; ordered as asked. */
struct row *model_rows(const struct model *model, const struct report *report, enum group group, size_t *n);
/* Make them the rows of the view. */
void rows_of_group(struct model *model, const struct report *report, enum group group);

/* Make the texts of a row of counts, where the view has not made them, and remember what it is about. */
void row_fill(const struct model *model, const struct row *row, struct view_row *out);

/* Cells that several views have. */
char *model_count(uint64_t count, bool is_known);
char *model_name(const struct model *model, const char *name);
char *model_function(const struct model *model, const struct row *row);
char *model_place(const struct model *model, const struct loc *loc);
char *model_module(const struct model *model, const struct loc *loc);
char *model_full(const struct model *model, const struct row *row);
void model_row_place(struct view_row *out, const struct loc *loc);
const char *path_base(const char *path);

/* header.c: the lines above the rows. */
void header_sample(struct model *model, const struct report *report, uint64_t now_ns);
void header_clear(struct model *model);

/* model_act.c: what keys do. */
void model_act(struct model *model, enum action action, size_t line);

/* model_pages.c: help, details, log. */
void page_help(struct model *model);
void page_details(struct model *model, const struct report *report);
void page_log(struct model *model, const struct report *report);

/* Rows that the screen has room for; *first: its first line of rows. */
size_t model_room(const struct model *model, size_t *first);

#endif
