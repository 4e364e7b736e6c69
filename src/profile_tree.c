/* profile_tree.c owns the tree of callers: the call paths of a watch, those with the same functions
 * from the access outward put together as far as they agree. */
#include "profile_private.h"
#include "watchprof/util.h"

#include <stdlib.h>

/* A node; children are a list. */
struct node {
	struct row row;
	size_t child, next; /* index + 1; 0: none */
};

struct tree {
	const struct profile *profile;
	const struct query *query;
	struct node *nodes;
	size_t n, cap;
	size_t first; /* the roots' list */
	struct row *out;
	size_t n_out;
};

/* A frame of a path, counted from where the tree begins. */
static uint32_t frame_at(const struct tree *tree, const struct row *row, size_t depth)
{
	return row->frames[tree->query->is_inverted ? row->n_frames - 1 - depth : depth];
}

static int frame_compare(const struct tree *tree, const struct row *x, const struct row *y, size_t depth)
{
	uint32_t a = frame_at(tree, x, depth), b = frame_at(tree, y, depth);

	return a == b ? 0
		      : profile_function_compare(profile_loc(tree->profile, a), profile_loc(tree->profile, b));
}

/* Order of paths by their functions, from where the tree begins; then what ends first. */
static int path_order(const void *a, const void *b, void *context)
{
	const struct tree *tree = context;
	const struct row *x = a, *y = b;

	if (x->watch != y->watch)
		return x->watch < y->watch ? -1 : 1;
	for (size_t i = 0; i < x->n_frames && i < y->n_frames; i++) {
		int order = frame_compare(tree, x, y, i);

		if (order)
			return order;
	}
	return (x->n_frames > y->n_frames) - (x->n_frames < y->n_frames);
}

static size_t node_add(struct tree *tree, const struct row *row, unsigned depth)
{
	if (tree->n == tree->cap) {
		tree->cap = tree->cap ? tree->cap * 2 : 256;
		tree->nodes = mem_resize(tree->nodes, tree->cap, sizeof(*tree->nodes));
	}
	tree->nodes[tree->n] = (struct node){.row = *row};
	tree->nodes[tree->n].row.n_frames = (uint16_t)(depth + 1);
	if (tree->query->is_inverted)
		tree->nodes[tree->n].row.frames = row->frames + row->n_frames - 1 - depth;
	tree->nodes[tree->n].row.loc = profile_loc(tree->profile, frame_at(tree, row, depth));
	tree->nodes[tree->n].row.blame = NULL;
	tree->nodes[tree->n].row.path = PATH_NONE;
	tree->nodes[tree->n].row.tid = 0;
	tree->nodes[tree->n].row.hits = 0; /* those of the rows are added by path_add() */
	tree->nodes[tree->n].row.reads = 0;
	tree->nodes[tree->n].row.writes = 0;
	return ++tree->n;
}

/* Add the rest of a path below the nodes that it shares with the former one. trail[i] is the node of
 * depth i of the former path, of which n_same are the same. */
static void path_add(struct tree *tree, const struct row *row, size_t *trail, size_t n_same)
{
	for (unsigned depth = (unsigned)n_same; depth < row->n_frames; depth++) {
		size_t node = node_add(tree, row, depth);
		size_t *link = depth ? &tree->nodes[trail[depth - 1] - 1].child : &tree->first;

		tree->nodes[node - 1].next = *link;
		*link = node;
		trail[depth] = node;
	}
	for (size_t depth = 0; depth < row->n_frames; depth++)
		profile_row_merge(&tree->nodes[trail[depth] - 1].row, row);
	if (row->n_frames && !tree->query->is_inverted)
		tree->nodes[trail[row->n_frames - 1] - 1].row.path = row->path;
}

/* How many functions, from where the tree begins, two paths share. */
static size_t n_shared(const struct tree *tree, const struct row *x, const struct row *y)
{
	size_t i = 0;

	if (x->watch != y->watch)
		return 0;
	while (i < x->n_frames && i < y->n_frames && frame_compare(tree, x, y, i) == 0)
		i++;
	return i;
}

static int node_order(const void *a, const void *b, void *context)
{
	const struct tree *tree = context;
	const struct row *x = &tree->nodes[*(const size_t *)a - 1].row;
	const struct row *y = &tree->nodes[*(const size_t *)b - 1].row;
	uint64_t x_weight = profile_row_weight(x, tree->query->sort);
	uint64_t y_weight = profile_row_weight(y, tree->query->sort);

	if (x->watch != y->watch)
		return x->watch < y->watch ? -1 : 1;
	if (x_weight != y_weight)
		return x_weight > y_weight ? -1 : 1;
	return profile_function_compare(x->loc, y->loc);
}

/* Write a list of siblings in order, each before its callers. Paths are STACK_DEPTH_MAX
 * deep at most. */
static void siblings_write(struct tree *tree, size_t first)
{
	size_t n = 0, of_watch = 0, *order;

	for (size_t i = first; i; i = tree->nodes[i - 1].next)
		n++;
	order = mem_new(n + 1, sizeof(*order));
	n = 0;
	for (size_t i = first; i; i = tree->nodes[i - 1].next)
		order[n++] = i;
	qsort_r(order, n, sizeof(*order), node_order, tree);
	for (size_t i = 0; i < n; i++) {
		const struct node *node = &tree->nodes[order[i] - 1];
		bool is_same = i > 0 && node->row.watch == tree->nodes[order[i - 1] - 1].row.watch;

		of_watch = is_same ? of_watch + 1 : 1;
		if (tree->query->limit && of_watch > tree->query->limit)
			continue;
		tree->out[tree->n_out++] = node->row;
		siblings_write(tree, node->child);
	}
	free(order);
}

struct row *profile_tree(const struct profile *profile, const struct query *query, size_t *n)
{
	struct tree tree = {.profile = profile, .query = query};
	size_t trail[STACK_DEPTH_MAX], n_rows;
	struct row *rows = profile_site_rows(profile, query, &n_rows);

	qsort_r(rows, n_rows, sizeof(*rows), path_order, &tree);
	for (size_t i = 0; i < n_rows; i++)
		path_add(&tree, &rows[i], trail, i ? n_shared(&tree, &rows[i - 1], &rows[i]) : 0);
	free(rows);
	tree.out = mem_new(tree.n + 1, sizeof(*tree.out));
	siblings_write(&tree, tree.first);
	free(tree.nodes);
	profile_share(profile, tree.out, tree.n_out);
	*n = tree.n_out;
	return tree.out;
}
