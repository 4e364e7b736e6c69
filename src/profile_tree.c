/* profile_tree.c owns the tree of callers: the call paths of a watch, those with the same functions
 * from the access outward put together as far as they agree. Or from the other end. */
#include "profile_private.h"
#include "watchprof/util.h"

#include <stdlib.h>

/* A path, and what it is sorted by at the depth in work. */
struct item {
	uint64_t order;
	const struct row *row;
};

/* A node, with the paths that go through it: a stretch of the items. */
struct node {
	struct row row;
	struct item *items;
	size_t n;
};

struct tree {
	const struct profile *profile;
	const struct query *query;
	struct row *out;
	size_t n_out, cap_out;
};

/* A frame of a path, counted from where the tree begins. */
static const struct loc *loc_at(const struct tree *tree, const struct row *row, size_t depth)
{
	return profile_loc(
		tree->profile, row->frames[tree->query->is_inverted ? row->n_frames - 1 - depth : depth]);
}

static int item_order(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->row->watch != y->row->watch)
		return x->row->watch < y->row->watch ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int node_order(const void *a, const void *b, void *context)
{
	const struct query *query = context;
	const struct row *x = &((const struct node *)a)->row, *y = &((const struct node *)b)->row;
	uint64_t x_weight = profile_row_weight(x, query->sort), y_weight = profile_row_weight(y, query->sort);

	if (x->watch != y->watch)
		return x->watch < y->watch ? -1 : 1;
	if (x_weight != y_weight)
		return x_weight > y_weight ? -1 : 1;
	return profile_function_compare(x->loc, y->loc);
}

/* Of the paths through a node, the one that it is shown by: that with the most hits; of these, the
 * one with the lowest addresses. */
static bool is_better(const struct tree *tree, const struct row *row, const struct row *than, size_t depth)
{
	if (row->hits != than->hits)
		return row->hits > than->hits;
	for (size_t i = 0; i <= depth; i++) {
		uint64_t a = loc_at(tree, row, i)->addr, b = loc_at(tree, than, i)->addr;

		if (a != b)
			return a < b;
	}
	return false;
}

/* A node of the items from begin on that have the same function at this depth. Those of paths that
 * end here are moved to the front, and do not belong to its items. */
static struct node node_make(const struct tree *tree, struct item *items, size_t n, size_t depth)
{
	const struct row *best = items[0].row;
	struct node node = {.row = {.watch = best->watch, .path = PATH_NONE}};
	size_t n_ended = 0;

	for (size_t i = 0; i < n; i++) {
		struct item item = items[i];

		if (is_better(tree, item.row, best, depth))
			best = item.row;
		profile_row_merge(&node.row, item.row);
		if (item.row->n_frames != depth + 1)
			continue;
		/* Where paths end in several ways, the one that is not whole is told. */
		if (!tree->query->is_inverted && (node.row.path == PATH_NONE || item.row->path > node.row.path))
			node.row.path = item.row->path;
		items[i] = items[n_ended];
		items[n_ended++] = item;
	}
	node.row.pid = best->pid;
	node.row.frames = best->frames + (tree->query->is_inverted ? best->n_frames - depth - 1 : 0);
	node.row.n_frames = (uint16_t)(depth + 1);
	node.row.loc = loc_at(tree, best, depth);
	node.items = items + n_ended;
	node.n = n - n_ended;
	return node;
}

static void out_put(struct tree *tree, const struct row *row)
{
	if (tree->n_out == tree->cap_out) {
		tree->cap_out = tree->cap_out ? 2 * tree->cap_out : 256;
		tree->out = mem_resize(tree->out, tree->cap_out, sizeof(*tree->out));
	}
	tree->out[tree->n_out++] = *row;
}

/* Put the items together by their functions at this depth; returns how many nodes that are. */
static size_t nodes_make(const struct tree *tree, struct item *items, size_t n, size_t depth, struct node *nodes)
{
	size_t n_nodes = 0, begin = 0;

	for (size_t i = 0; i < n; i++)
		items[i].order = profile_function_order(loc_at(tree, items[i].row, depth));
	qsort(items, n, sizeof(*items), item_order);
	for (size_t i = 1; i <= n; i++) {
		if (i < n && item_order(&items[begin], &items[i]) == 0)
			continue;
		nodes[n_nodes++] = node_make(tree, items + begin, i - begin, depth);
		begin = i;
	}
	qsort_r(nodes, n_nodes, sizeof(*nodes), node_order, (void *)tree->query);
	return n_nodes;
}

/* Write the nodes of the items at this depth in order, each before its callers. Paths are
 * STACK_DEPTH_MAX deep at most, some more with inlined functions. */
static void siblings_write(struct tree *tree, struct item *items, size_t n, size_t depth)
{
	const struct query *query = tree->query;
	struct node *nodes = mem_new(n, sizeof(*nodes));
	size_t n_nodes = nodes_make(tree, items, n, depth, nodes), of_watch = 0;

	for (size_t i = 0; i < n_nodes; i++) {
		of_watch = i > 0 && nodes[i].row.watch == nodes[i - 1].row.watch ? of_watch + 1 : 1;
		if (query->limit && of_watch > query->limit)
			continue;
		nodes[i].row.is_closed = nodes[i].n > 0 && query->opens && !query->opens(query->context, &nodes[i].row);
		out_put(tree, &nodes[i].row);
		if (nodes[i].n > 0 && !nodes[i].row.is_closed)
			siblings_write(tree, nodes[i].items, nodes[i].n, depth + 1);
	}
	free(nodes);
}

struct row *profile_tree(const struct profile *profile, const struct query *query, size_t *n)
{
	struct tree tree = {.profile = profile, .query = query};
	size_t n_rows, n_items = 0;
	struct row *rows = profile_site_rows(profile, query, &n_rows);
	struct item *items = mem_new(n_rows, sizeof(*items));

	for (size_t i = 0; i < n_rows; i++) {
		if (rows[i].n_frames)
			items[n_items++].row = &rows[i];
	}
	siblings_write(&tree, items, n_items, 0);
	free(items);
	free(rows);
	profile_share(profile, tree.out, tree.n_out);
	*n = tree.n_out;
	return tree.out ? tree.out : mem_new(1, sizeof(*tree.out));
}
