/* profile_private: the tables of a profile. profile.c fills them, profile_query.c answers from them. */
#ifndef WATCHPROF_PROFILE_PRIVATE_H
#define WATCHPROF_PROFILE_PRIVATE_H

#include "watchprof/profile.h"
#include "watchprof/watch.h"

/* A hash index: open addressing over entries that live in an array of their own.
 * A bucket holds entry + 1; 0 is free. The bucket count is a power of two. */
struct index {
	uint32_t *bucket;
	size_t n_buckets;
};

/* Where functions are inlined at a location, the frames that they make follow it, as entries that are not
 * found by address. */
struct loc_entry {
	struct loc loc;
	uint32_t function; /* into functions */
	uint32_t order;	   /* place of its function among all, by name; ORDER_NONE: see profile_order_make() */
	uint32_t image;
	bool is_signal;
	bool is_skipped; /* when it comes to whom to blame */
};

/* The image of such entries. */
#define IMAGE_NONE UINT32_MAX

/* A function that has locations. */
struct function {
	uint32_t loc; /* the first of them */
	uint32_t hash; /* of its names */
};

#define ORDER_NONE UINT32_MAX

struct path {
	uint64_t hash;
	size_t first;	  /* into addrs */
	size_t first_loc; /* into locs: there may be more of them, of inlined functions */
	uint32_t image, owner[2]; /* the locations of the first two frames, inlined functions aside */
	uint16_t n_frames, n_locs;
	uint16_t n_inner; /* of them those of the first frame */
	uint8_t end; /* enum hit_path */
	bool executes; /* frames[0] is the instruction itself: see hit.is_at */
};

struct site {
	uint64_t hits;
	uint32_t path;
	pid_t pid, tid;
	uint8_t watch, kind;
};

struct profile {
	size_t max_sites;
	locate_fn *locate;
	void *context;
	const struct blame_rules *rules; /* or NULL */

	struct loc_entry *locs;
	size_t n_locs, cap_locs;
	struct index loc_index;

	struct function *functions; /* as they came */
	size_t n_functions, cap_functions;
	struct index function_index;

	struct path *paths;
	size_t n_paths, cap_paths;
	struct index path_index;
	uint64_t *frame_addrs; /* of all paths, one after the other */
	size_t n_frames, cap_frames;
	uint32_t *frame_locs;
	size_t n_frame_locs, cap_frame_locs;

	struct site *sites;
	size_t n_sites, cap_sites;
	struct index site_index;

	struct watch_count count[WATCHES_MAX];
	uint64_t of_kind[WATCHES_MAX][HIT_KINDS]; /* hits of all sites of a watch and kind */
	uint64_t hits, overrun;
};

/* Make room in an array for more elements; returns the array, moved where needed. */
void *profile_room(void *array, size_t n, size_t *cap, size_t more, size_t size);

/* Put a new entry into an index. */
void profile_index_put(struct index *index, uint64_t hash, uint32_t entry);

/* Keep the load of an index at or below one half. hash_of tells an entry's hash again. */
void profile_index_grow(struct index *index, size_t n_entries, const struct profile *profile,
	uint64_t (*hash_of)(const struct profile *, uint32_t));

/* Tell which function a new location belongs to. No location that is there already is touched. */
void profile_order_add(struct profile *profile, uint32_t loc);

/* Give all functions their places in the order by name: to be called before locations are compared. n log n of
 * what is new, linear in what is there; nothing is done where nothing is new. A profile is the same after it: a
 * place is only remembered. */
void profile_order_make(const struct profile *profile);

/* Functions of one name in different modules or source files are different functions. A function
 * with code that was inlined from a header is one all the same. */
int profile_function_compare(const struct loc *x, const struct loc *y);

/* The place of its function in the order by name; the same for all locations of one. */
uint32_t profile_function_order(const struct loc *loc);

/* The count that an answer is sorted by. */
uint64_t profile_row_weight(const struct row *row, enum sort sort);

/* The counts of so many hits of one kind, as a row. */
struct row profile_row_of(uint64_t hits, uint8_t kind);

/* Add the counts of a row to another. */
void profile_row_merge(struct row *into, const struct row *row);

/* Fill in the share of each row. */
void profile_share(const struct profile *profile, struct row *rows, size_t n);

/* A row of its own for every site that a query lets through: an array that the caller frees. */
struct row *profile_site_rows(const struct profile *profile, const struct query *query, size_t *n);

#endif
