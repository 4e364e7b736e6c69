/* profile_query.c owns the answers: rows of the sites, put together and sorted as a query asks. It
 * changes nothing and does no formatting. */
#include "profile_private.h"
#include "watchprof/util.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Frames before the owner of a hit. */
static unsigned frames_before_owner(const struct profile *profile, const struct path *path)
{
	return hit_is_of_caller(profile_loc(profile, path->owner[0])->is_entry, path->executes, path->n_frames);
}

/* The first frame from the owner outward that is not passed over; the owner, if all are. Inlined
 * functions belong to the one that they are in. */
static const struct loc *row_blame(const struct profile *profile, const struct row *row)
{
	for (size_t i = 0; i < row->n_frames; i++) {
		const struct loc_entry *entry = &profile->locs[row->frames[i]];

		if (!entry->is_skipped && !entry->loc.is_inlined)
			return profile_loc(profile, row->frames[i]);
	}
	return row->loc;
}

struct row profile_row_of(uint64_t hits, uint8_t kind)
{
	return (struct row){.hits = hits,
		.reads = kind & HIT_READ ? hits : 0,
		.writes = kind & HIT_WRITE ? hits : 0,
		.reads_unknown = kind & HIT_READ_UNKNOWN ? hits : 0,
		.writes_unknown = kind & HIT_WRITE_UNKNOWN ? hits : 0,
		.unknown = kind & (HIT_READ_UNKNOWN | HIT_WRITE_UNKNOWN) ? hits : 0};
}

static struct row site_row(const struct profile *profile, const struct site *site)
{
	const struct path *path = &profile->paths[site->path];
	struct row row = profile_row_of(site->hits, site->kind);
	unsigned skip;

	row.watch = site->watch;
	row.pid = site->pid;
	row.tid = site->tid;
	row.path = path->end;
	if (path->n_frames == 0)
		return row;
	skip = frames_before_owner(profile, path);
	row.frames = profile->frame_locs + path->first_loc + (skip ? path->n_inner : 0);
	row.n_frames = (uint16_t)(path->n_locs - (skip ? path->n_inner : 0));
	row.loc = profile_loc(profile, path->owner[skip]);
	row.blame = row_blame(profile, &row);
	return row;
}

/* Leave to a row only what is the same for all that it will stand for. */
static void row_reduce(struct row *row, const struct query *query)
{
	enum group group = query->group;


	if (group == GROUP_BLAME)
		row->loc = row->blame;
	if (group == GROUP_THREAD || group == GROUP_WATCH) {
		row->loc = row->blame = NULL;
		row->n_frames = 0;
		row->path = PATH_NONE;
	}
	if (group != GROUP_THREAD && !query->by_thread)
		row->tid = 0;
}

static int text_compare(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

/* The same for locations that may be missing. */
static int loc_compare(const struct loc *x, const struct loc *y)
{
	if (!x || !y)
		return !!x - !!y;
	return profile_function_compare(x, y);
}

static int owner_compare(const struct row *x, const struct row *y, const struct profile *profile)
{
	int order = loc_compare(x->loc, y->loc);

	(void)profile;
	return order ? order : loc_compare(x->blame, y->blame);
}

static int blame_compare(const struct row *x, const struct row *y, const struct profile *profile)
{
	(void)profile;
	return loc_compare(x->blame, y->blame);
}

/* A line of a file belongs to each function that it was inlined into. */
static int line_compare(const struct row *x, const struct row *y, const struct profile *profile)
{
	int order = loc_compare(x->loc, y->loc);

	(void)profile;
	if (order || !x->loc || !y->loc)
		return order;
	order = text_compare(x->loc->file, y->loc->file);
	if (order)
		return order;
	if (x->loc->line != y->loc->line)
		return x->loc->line < y->loc->line ? -1 : 1;
	return x->loc->line ? 0 : (x->loc->addr > y->loc->addr) - (x->loc->addr < y->loc->addr);
}

static int instruction_compare(const struct row *x, const struct row *y, const struct profile *profile)
{
	int order = loc_compare(x->loc, y->loc);

	(void)profile;
	if (order || !x->loc || !y->loc)
		return order;
	if (profile_image(x->loc) != profile_image(y->loc))
		return profile_image(x->loc) < profile_image(y->loc) ? -1 : 1;
	return (x->loc->addr > y->loc->addr) - (x->loc->addr < y->loc->addr);
}

/* Paths are equal if their functions are, inlined or not: two lines of one function are one path. By their functions'
 * names from the innermost on, one that begins another before it. */
static int path_compare(const struct row *x, const struct row *y, const struct profile *profile)
{
	for (size_t i = 0; i < x->n_frames && i < y->n_frames; i++) {
		int order = x->frames[i] == y->frames[i] ? 0
							 : profile_function_compare(profile_loc(profile, x->frames[i]),
								   profile_loc(profile, y->frames[i]));

		if (order)
			return order;
	}
	if (x->n_frames != y->n_frames)
		return x->n_frames < y->n_frames ? -1 : 1;
	return (x->path > y->path) - (x->path < y->path);
}

static int thread_compare(const struct row *x, const struct row *y, const struct profile *profile)
{
	(void)profile;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int watch_compare(const struct row *x, const struct row *y, const struct profile *profile)
{
	(void)x;
	(void)y;
	(void)profile;
	return 0;
}

static int (*const group_compare[])(const struct row *, const struct row *, const struct profile *) = {
	[GROUP_FUNCTION] = owner_compare,
	[GROUP_BLAME] = blame_compare,
	[GROUP_LINE] = line_compare,
	[GROUP_PATH] = path_compare,
	[GROUP_THREAD] = thread_compare,
	[GROUP_WATCH] = watch_compare,
	[GROUP_INSTRUCTION] = instruction_compare,
};

/* What the sorting of an answer depends on. */
struct sorting {
	const struct profile *profile;
	enum group group;
	enum sort sort;
	bool by_process, by_thread;
};

/* Are two rows of one watch parts of the same row? 0: they are. */
static int part_compare(const struct row *x, const struct row *y, const struct sorting *sorting)
{
	if (sorting->by_process && x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (sorting->by_thread && x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return group_compare[sorting->group](x, y, sorting->profile);
}

/* An order of the places within one row that does not depend on the order of arrival. */
static int place_compare(const struct row *x, const struct row *y, const struct profile *profile)
{
	if (!x->loc || !y->loc)
		return !!x->loc - !!y->loc;
	if (x->loc->line != y->loc->line)
		return x->loc->line < y->loc->line ? -1 : 1;
	if (x->loc->addr != y->loc->addr)
		return x->loc->addr < y->loc->addr ? -1 : 1;
	for (size_t i = 0; i < x->n_frames && i < y->n_frames; i++) {
		uint64_t a = profile_loc(profile, x->frames[i])->addr;
		uint64_t b = profile_loc(profile, y->frames[i])->addr;

		if (a != b)
			return a < b ? -1 : 1;
	}
	return (x->n_frames > y->n_frames) - (x->n_frames < y->n_frames);
}

/* Order that brings together what is one row, and in it the sites of one line. */
static int row_group_compare(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	const struct row *x = a, *y = b;
	int order;

	if (x->watch != y->watch)
		return x->watch < y->watch ? -1 : 1;
	order = part_compare(x, y, sorting);
	return order ? order : place_compare(x, y, sorting->profile);
}

uint64_t profile_row_weight(const struct row *row, enum sort sort)
{
	switch (sort) {
	case SORT_HITS:
		return row->hits;
	case SORT_READS:
		return row->reads;
	case SORT_WRITES:
		return row->writes;
	case SORT_NAME:
		break;
	}
	return 0;
}

/* Order of the answer. */
static int row_order_compare(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	const struct row *x = a, *y = b;
	uint64_t x_weight = profile_row_weight(x, sorting->sort), y_weight = profile_row_weight(y, sorting->sort);

	if (x->watch != y->watch)
		return x->watch < y->watch ? -1 : 1;
	if (x_weight != y_weight)
		return x_weight > y_weight ? -1 : 1;
	return part_compare(x, y, sorting);
}

void profile_row_merge(struct row *into, const struct row *row)
{
	into->hits += row->hits;
	into->reads += row->reads;
	into->writes += row->writes;
	into->reads_unknown += row->reads_unknown;
	into->writes_unknown += row->writes_unknown;
	into->unknown += row->unknown;
}

static bool text_fits(const char *text, const char *filter)
{
	if (!text)
		return false;
	return strpbrk(filter, "*?[") ? fnmatch(filter, text, 0) == 0 : strstr(text, filter) != NULL;
}

/* Which locations a filter lets through; NULL: all. The caller frees it. */
static bool *locs_filter(const struct profile *profile, const char *filter)
{
	bool *fits = filter ? mem_new(profile->n_locs + 1, sizeof(*fits)) : NULL;

	for (size_t i = 0; fits && i < profile->n_locs; i++) {
		const struct loc *loc = &profile->locs[i].loc;

		fits[i] = text_fits(loc->function, filter) || text_fits(loc->file, filter) ||
			text_fits(loc->module, filter);
	}
	return fits;
}

static bool row_fits(const struct row *row, const bool *fits)
{
	for (size_t i = 0; fits && i < row->n_frames; i++) {
		if (fits[row->frames[i]])
			return true;
	}
	return !fits;
}

struct row *profile_site_rows(const struct profile *profile, const struct query *query, size_t *n)
{
	struct row *rows = mem_new(profile->n_sites + 1, sizeof(*rows));
	bool *fits = locs_filter(profile, query->filter);

	profile_order_make(profile);
	*n = 0;
	for (size_t i = 0; i < profile->n_sites; i++) {
		if (query->watches && !(query->watches >> profile->sites[i].watch & 1))
			continue;
		rows[*n] = site_row(profile, &profile->sites[i]);
		*n += row_fits(&rows[*n], fits);
	}
	free(fits);
	return rows;
}

/* Put together what is one row of the answer. The rows are sorted for that; returns how many remain.
 * Of the lines of a function, the hottest stands for it. */
static size_t rows_merge(struct row *rows, size_t n, const struct sorting *sorting)
{
	struct row line = {0}; /* the sites of one line of the last row, added up */
	uint64_t hottest = 0;
	size_t n_rows = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_same_line = i > 0 && line.loc && rows[i].loc && line.loc->line == rows[i].loc->line;

		if (n_rows > 0 && rows[n_rows - 1].watch == rows[i].watch &&
			part_compare(&rows[n_rows - 1], &rows[i], sorting) == 0) {
			if (is_same_line)
				line.hits += rows[i].hits;
			else
				line = rows[i];
			profile_row_merge(&rows[n_rows - 1], &rows[i]);
		} else {
			line = rows[n_rows++] = rows[i];
			hottest = 0;
		}
		if (line.hits > hottest) {
			hottest = line.hits;
			rows[n_rows - 1].loc = line.loc;
			rows[n_rows - 1].frames = line.frames;
			rows[n_rows - 1].n_frames = line.n_frames;
		}
	}
	return n_rows;
}

/* Keep the first rows of each watch. */
static size_t rows_limit(struct row *rows, size_t n, size_t limit)
{
	size_t kept = 0, of_watch = 0;

	for (size_t i = 0; i < n; i++) {
		of_watch = i > 0 && rows[i].watch == rows[i - 1].watch ? of_watch + 1 : 1;
		if (of_watch <= limit)
			rows[kept++] = rows[i];
	}
	return kept;
}

void profile_totals(const struct profile *profile, struct row rows[WATCHES_MAX])
{
	for (unsigned i = 0; i < WATCHES_MAX; i++) {
		rows[i] = (struct row){.watch = i};
		for (unsigned kind = 0; kind < HIT_KINDS; kind++) {
			struct row row = profile_row_of(profile->of_kind[i][kind], (uint8_t)kind);

			profile_row_merge(&rows[i], &row);
		}
	}
}

static int pid_compare(const void *a, const void *b)
{
	pid_t x = ((const struct process_hits *)a)->pid, y = ((const struct process_hits *)b)->pid;

	return (x > y) - (x < y);
}

/* Put together neighbours of one process; returns how many remain. */
static size_t processes_merge(struct process_hits *processes, size_t n)
{
	size_t n_merged = 0;

	for (size_t i = 0; i < n; i++) {
		if (n_merged > 0 && processes[n_merged - 1].pid == processes[i].pid)
			processes[n_merged - 1].hits += processes[i].hits;
		else
			processes[n_merged++] = processes[i];
	}
	return n_merged;
}

struct process_hits *profile_processes(const struct profile *profile, size_t *n)
{
	struct process_hits *processes = mem_new(profile->n_sites, sizeof(*processes));

	for (size_t i = 0; i < profile->n_sites; i++)
		processes[i] = (struct process_hits){profile->sites[i].pid, profile->sites[i].hits};
	/* Mostly the sites of one come one after the other. */
	*n = processes_merge(processes, profile->n_sites);
	qsort(processes, *n, sizeof(*processes), pid_compare);
	*n = processes_merge(processes, *n);
	return processes;
}

uint64_t process_hits_of(const struct process_hits *processes, size_t n, pid_t pid)
{
	const struct process_hits key = {.pid = pid};
	const struct process_hits *found = bsearch(&key, processes, n, sizeof(key), pid_compare);

	return found ? found->hits : 0;
}

void profile_share(const struct profile *profile, struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rows[i].share = (double)rows[i].hits / (double)profile->count[rows[i].watch].hits;
}

/* A row and the number that nearly always decides where it stands. */
struct keyed {
	uint64_t key;
	const struct row *row;
};

struct keyed_sorting {
	struct sorting *sorting;
	int (*compare)(const void *, const void *, void *);
};

static int keyed_compare(const void *a, const void *b, void *context)
{
	const struct keyed_sorting *how = context;
	const struct keyed *x = a, *y = b;

	if (x->row->watch != y->row->watch)
		return x->row->watch < y->row->watch ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return how->compare(x->row, y->row, how->sorting);
}

/* A number in the order of row_group_compare(), as far as it goes; the same for all that it does not tell. */
static uint64_t group_key(const struct row *row, const struct sorting *sorting)
{
	const struct loc *loc = sorting->group == GROUP_BLAME ? row->blame : row->loc;

	if (sorting->by_process || sorting->by_thread || sorting->group == GROUP_WATCH)
		return 0;
	if (sorting->group == GROUP_PATH)
		return row->n_frames;
	if (sorting->group == GROUP_THREAD)
		return (uint64_t)(uint32_t)row->pid << 32 | (uint32_t)row->tid;
	return loc ? profile_function_order(loc) : 0;
}

/* The same for row_order_compare(): most first. */
static uint64_t order_key(const struct row *row, const struct sorting *sorting)
{
	return UINT64_MAX - profile_row_weight(row, sorting->sort);
}

/* Sort rows by a key, and by compare where it is the same. */
static void rows_sort(struct row *rows, size_t n, struct sorting *sorting,
	uint64_t (*key)(const struct row *, const struct sorting *), int (*compare)(const void *, const void *, void *))
{
	struct keyed_sorting how = {sorting, compare};
	struct keyed *keyed = mem_new(n, sizeof(*keyed));
	struct row *sorted = mem_new(n, sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		keyed[i] = (struct keyed){key(&rows[i], sorting), &rows[i]};
	qsort_r(keyed, n, sizeof(*keyed), keyed_compare, &how);
	for (size_t i = 0; i < n; i++)
		sorted[i] = *keyed[i].row;
	memcpy(rows, sorted, n * sizeof(*rows));
	free(sorted);
	free(keyed);
}

struct row *profile_rows(const struct profile *profile, const struct query *query, size_t *n)
{
	struct sorting sorting = {profile, query->group, query->sort, query->by_process,
		query->by_thread};
	struct row *rows = profile_site_rows(profile, query, n);

	for (size_t i = 0; i < *n; i++)
		row_reduce(&rows[i], query);
	rows_sort(rows, *n, &sorting, group_key, row_group_compare);
	*n = rows_merge(rows, *n, &sorting);
	rows_sort(rows, *n, &sorting, order_key, row_order_compare);
	if (query->limit)
		*n = rows_limit(rows, *n, query->limit);
	for (size_t i = 0; i < *n; i++) {
		if (loc_compare(rows[i].blame, rows[i].loc) == 0)
			rows[i].blame = rows[i].loc;
		if (query->group != GROUP_PATH) {
			rows[i].n_frames = 0; /* there may be many */
			rows[i].path = PATH_NONE;
		}
	}
	profile_share(profile, rows, *n);
	return rows;
}
