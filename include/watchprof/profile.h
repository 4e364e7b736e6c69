/* profile: the counts. Hits are added as raw addresses; a name is looked up once, when
 * an address is seen for the first time. Bounded: when the table of sites is full, a hit of
 * a new site is still counted for its watch and shown as overrun. */
#ifndef WATCHPROF_PROFILE_H
#define WATCHPROF_PROFILE_H

#include "watchprof/hit.h"
#include "watchprof/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SITES_MAX_DEFAULT 100000

/* The function name of a frame that the kernel made to deliver a signal. */
#define SIGNAL_FRAME "[signal]"

/* What reports put behind the name of an inlined function. */
#define INLINED " (inlined)"

/* One function of those that lie in each other at an address. */
struct inlined {
	const char *function;
	const char *file; /* where in it: for all but the innermost the call of the next one */
	unsigned line;
};

/* Where an address lies. Strings are NULL and line is 0 where nothing is known. */
struct loc {
	uint64_t addr;	      /* the address looked up */
	const char *function; /* demangled; "module+0x123" for a function without a name */
	const char *file;     /* source file as the debug info names it */
	unsigned line;
	const char *unit;   /* source file that the function begins in: tells statics of one name apart */
	const char *module; /* path of the mapped file, or "[vdso]", "[anonymous]" */
	bool is_entry;	    /* addr + 1 is the first instruction of a function (see profile.c) */
	bool is_inlined;    /* a frame of a function that was inlined into the next frame's */
	/* From locate(): the functions inlined here, innermost first, and at last `function` itself;
	 * none where n_inlined is 0. The profile makes frames of them. */
	const struct inlined *inlined;
	size_t n_inlined;
};

/* Look up addr in a program image; fill *out with strings that live as long as the call.
 * Called once per (image, addr). addr is already adjusted to lie inside the instruction. */
typedef void locate_fn(void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out);

/* Totals of one watch. hits includes overrun. */
struct watch_count {
	uint64_t hits;
	uint64_t overrun; /* counted here and in no site, because the table was full */
};

enum group {
	GROUP_FUNCTION, /* one row per watch, function and function to blame */
	GROUP_BLAME,	/* one row per watch and function to blame */
	GROUP_LINE,	/* one row per watch and source line (instruction, where no line is known) */
	GROUP_PATH,	/* one row per watch and call path */
	GROUP_THREAD,	/* one row per watch and thread */
	GROUP_WATCH,	/* one row per watch */
	GROUP_INSTRUCTION, /* one row per watch and instruction */
};

enum sort {
	SORT_HITS, /* most first, as for the other counts */
	SORT_READS,
	SORT_WRITES,
	SORT_NAME, /* of the function, or of those of the path */
};

struct row;

struct query {
	enum group group;
	enum sort sort;
	bool by_process; /* rows of different processes are not merged */
	bool by_thread;	 /* GROUP_PATH: those of different threads neither */
	bool is_inverted; /* profile_tree(): from where the threads began, down to the accesses */
	size_t limit;	 /* rows kept of each watch, first ones; 0: all */
	uint64_t watches; /* bit i: rows of watch i; 0: of all */
	/* Only hits with a frame whose function, file or module has this text in it, or matches it if it
	 * has wildcards (* ? [); NULL: all. */
	const char *filter;
	/* profile_tree(): does this node have its callers in the answer? NULL: each has. Asked in the
	 * order of the answer. */
	bool (*opens)(void *context, const struct row *node);
	void *context;
};

/* One line of a result. Pointers belong to the profile and live until it is changed. */
struct row {
	unsigned watch;
	uint64_t hits, reads, writes;
	/* Hits of which it is not known whether they read, whether they wrote, and either: the numbers above are
	 * lower bounds by so much. */
	uint64_t reads_unknown, writes_unknown, unknown;
	double share;			/* of the hits of its watch, 0 to 1 */
	pid_t pid, tid;
	const struct loc *loc;		/* the owner: for GROUP_FUNCTION at its hottest line */
	const struct loc *blame;	/* the first that is not passed over; == loc if that is the owner */
	const uint32_t *frames;		/* of paths: profile_loc() indexes, innermost first */
	uint16_t n_frames;		/* 0 for other groups */
	uint8_t path;			/* enum hit_path */
	bool is_closed;			/* of a tree: it has callers, and they were left out */
};

struct profile;

/* max_sites > 0 bounds the memory. locate may be NULL: then nothing has a name. */
struct profile *profile_new(size_t max_sites, locate_fn *locate, void *context);
void profile_free(struct profile *profile);

/* Pass over the code that these rules name when it comes to whom to blame. To be called before the
 * first hit; the rules must live as long as the profile. Without: nothing is passed over. */
struct blame_rules;
void profile_blame(struct profile *profile, const struct blame_rules *rules);

/* Count one hit for each of its watches. */
void profile_add(struct profile *profile, const struct hit *hit);

/* Totals of watch i (0 <= i < WATCHES_MAX). */
struct watch_count profile_count(const struct profile *profile, unsigned watch);

/* The counts of watch i as a row: rows[i], for all of them. Overrun is in no row. It costs the same however many
 * sites there are. */
void profile_totals(const struct profile *profile, struct row rows[WATCHES_MAX]);

/* Hits counted: an access that touched several watches is one. */
uint64_t profile_hits(const struct profile *profile);

/* Hits of at least one watch that found no room for their site. */
uint64_t profile_overrun(const struct profile *profile);

/* Hits of which it is not known whether they read or whether they wrote; one that touched several
 * watches counts for each, one without a site not at all. */
uint64_t profile_unknown(const struct profile *profile);

/* The hits in a process. */
struct process_hits {
	pid_t pid;
	uint64_t hits;
};

/* The hits of every process that has any, by pid: an array that the caller frees, its length in *n. It walks all
 * sites, once. */
struct process_hits *profile_processes(const struct profile *profile, size_t *n);

/* The hits of one process in such an array: 0 where it is not there. */
uint64_t process_hits_of(const struct process_hits *processes, size_t n, pid_t pid);

/* The function that a hit belongs to, before it is counted; NULL: unknown. It lives as long as the profile. */
const char *profile_function(struct profile *profile, const struct hit *hit);

/* The location of an address that some hit has had in its path; NULL: none. */
const struct loc *profile_find(const struct profile *profile, uint32_t image, uint64_t addr);

/* A location by the index found in row.frames. */
const struct loc *profile_loc(const struct profile *profile, uint32_t index);

/* The program image that a location of the profile is in. */
uint32_t profile_image(const struct loc *loc);

/* Answer a query: rows sorted by watch, then as asked, then by name; an array that the
 * caller frees, its length in *n. */
struct row *profile_rows(const struct profile *profile, const struct query *query, size_t *n);

/* The tree of callers of each watch, each node before its callers: a row for all call paths that
 * begin with its frames, innermost first; so it stands n_frames - 1 below the function that made the hits.
 * An inverted tree has them the other way round: a row for all paths that end with its frames, loc
 * being the innermost of these.
 * Siblings are sorted as asked, then by name; the limit of the query bounds the siblings. path is how paths
 * end that end there, PATH_NONE where none does. An array that the caller frees. */
struct row *profile_tree(const struct profile *profile, const struct query *query, size_t *n);

#endif
