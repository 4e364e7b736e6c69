/* session_private: what the parts of the session share. session.c runs it, session_arm.c finds and arms the watches,
 * session_report.c tells what came of it; the others are told of where their functions are. */
#ifndef WATCHPROF_SESSION_PRIVATE_H
#define WATCHPROF_SESSION_PRIVATE_H

#include "watchprof/report_values.h"
#include "watchprof/code.h"
#include "watchprof/dr.h"
#include "watchprof/guardian.h"
#include "watchprof/session.h"
#include "watchprof/symbols.h"
#include "watchprof/trace.h"
#include "watchprof/tls.h"

#include <sys/queue.h>

/* What the self-test gave: a run ends before it begins otherwise. */
#define SELF_TEST_OK "ok, 2 of 2 hits"

enum watch_state {
	WATCH_PENDING, /* no module has the name yet */
	WATCH_ARMED,
	WATCH_ENDED,   /* the image that had it is gone */
	WATCH_UNLOADED, /* its library is gone; it may be loaded again */
	WATCH_CLEARED, /* by the user, while the run went on */
	WATCH_REFUSED, /* found too late for a refusal of the whole run, and cannot be armed */
};

/* A time that is measured piece by piece. */
struct session_clock {
	uint64_t since_ns; /* it runs; 0: it stands */
	uint64_t sum_ns;   /* of the former pieces */
};

/* A watch as the report shows it: as it was found in the first process that had it. */
struct session_watch {
	char *object; /* what the name was resolved to */
	struct value_type type; /* of it */
	unsigned slots;
	bool was_told; /* that it is pending */
	/* The watched bytes when it was armed, and whether they differ at the end. */
	unsigned char before[DR_BYTES_MAX];
	size_t before_len;
	bool compared, changed;
	uint64_t filtered; /* hits that its filters left out */
	struct span last; /* as last armed */
	bool is_tls;	  /* it has another address in each thread */
	uint64_t cleared_ns; /* when it was cleared; 0: it was not */
	struct session_clock wanted, armed; /* how long it was to be watched, and how long it was */
	uint64_t second;	    /* of the run, that hits_of_second is about */
	uint64_t hits_of_second;
};

/* One program image: what exec made, and forked children share. */
struct session_image {
	struct session *session;
	uint32_t id;   /* the engine's number, or one of a child's own */
	uint32_t base; /* the engine's number */
	pid_t pid;     /* the process that runs it (others may have been forked from it) */
	struct symbols *symbols;
	struct tls *tls;
	struct loader loader;
	uint64_t hook; /* the address armed for changes of the list of libraries; 0: none */
	bool is_hook_spare; /* nothing waits: it only tells of libraries that go */
	bool is_started;    /* what the program is linked with was loaded */
	bool was_blind;	    /* a library was gone before that was noticed */
	pid_t loading;	    /* the thread that loads a library, which is not ready; 0: none */
	struct home homes[WATCHES_MAX]; /* libraries of watches that may be unloaded */
	struct span spans[WATCHES_MAX];
	uint64_t modules[WATCHES_MAX]; /* of thread-local variables; 0: it is none */
	enum watch_state state[WATCHES_MAX];
	bool is_new[WATCHES_MAX]; /* found since the last arming */
	uint64_t changes;	       /* how often a watch was found or lost */
	uint64_t changed[WATCHES_MAX]; /* which of these was the last of a watch */
	uint64_t settled;	       /* how many there were at the start: all children know those */
	LIST_ENTRY(session_image) all;
};

/* A process that was followed. */
struct session_process {
	pid_t pid, parent; /* 0: there is none in this place */
	uint32_t image;	  /* that it runs */
	uint64_t changes; /* of this image: those up to here are its own, too */
	char *command;
	char *end; /* NULL: it still ran */
	size_t older; /* the next one in its chain of PROCESS_CHAINS, and 1; 0: none */
};

/* Processes are found at each hit, and there may be thousands: by their id, the newest first. */
#define PROCESS_CHAINS 1024U

struct session {
	struct options own; /* what was asked for; the list of watches is ours, and changes */
	const struct options *options; /* the same, for reading */
	const struct engine_ops *ops;
	const struct frontend_ops *frontend_ops;
	struct frontend *frontend;
	struct engine *engine;
	struct guardian *guardian;
	struct control_socket *control; /* or NULL */
	struct session_writer *writer;	/* or NULL */
	uint64_t n_writers;		/* that there ever were */
	bool is_report_due;		/* SIGUSR1 came while it was at work */
	struct trace *trace;		/* or NULL */
	bool is_tracing, is_trace_begun;
	char *trace_path; /* of a trace that was begun in the middle of the run; or NULL */
	char **trace_modules; /* that the trace has told of */
	size_t n_trace_modules;
	unsigned n_dumps;
	uint64_t dumped_for; /* bit i: the first hit of watch i, which has filters, has dumped the ring */
	struct trace_values trace_values; /* of the hit in work */
	struct profile *profile;
	struct values *values;
	struct report_values *report_values; /* by watch, made anew for each report */
	struct symbols_source source;
	LIST_HEAD(, session_image) images;
	struct session_image *main_image; /* of the process that was named or launched */
	struct session_process *processes;
	size_t n_processes;
	size_t newest[PROCESS_CHAINS]; /* of each chain the first process, and 1; 0: none */
	size_t spare; /* the first place without a process, and 1; `older` is the next one; 0: none */
	uint64_t n_processes_left_out;
	uint32_t n_own_images; /* of children that do not share their parent's */

	pid_t pid;
	bool is_launch;
	bool is_held; /* the launched program waits for a watch, before it begins */
	bool was_armed; /* something was armed at least once */
	bool has_run;	/* the program's own code may have run: it must not be ended by us any more */
	size_t adding; /* number of a watch that is being added, and 1; 0: none */
	bool is_paused, was_paused;
	uint64_t regained; /* bit i: watch i is armed again just now: what it holds is not what its last hit left */
	uint64_t limited; /* bit i: watch i has had its hits of limited_second */
	uint64_t limited_second;
	bool was_limited, is_limiting; /* that changes just now, and nothing else */
	bool is_mask_told; /* that hits found SIGTRAP blocked */
	bool is_cut_told; /* that a file was cut off */
	bool is_blind_told; /* that pages are open for good */
	bool is_unshut_told; /* that they could not be shut again */
	bool is_cost_told; /* that most stops are of no use */

	const char *text[WATCHES_MAX];
	struct session_watch watches[WATCHES_MAX];

	int signal_fd;
	int input_fd, output_fd; /* of a launched program; -1: it has ours */
	uint64_t start_ns, end_ns, next_tick_ns, grace_ns;
	uint64_t start_unix_s;
	int signal;	     /* the one that ends the run; 0: none */
	bool is_done, has_exited;
	int status; /* wait status, if has_exited */
	char *end;	     /* why the run ended */

	/* For the report. */
	char *command, *build_id, *kernel, *machine;
	char **warnings;
	size_t n_warnings;
};

/* The watches of a hit that it meets the filters of; the others count it as filtered. */
uint64_t session_filter(struct session *session, const struct hit *hit);

/* Warn once where nearly all stops are at neighbours of what is watched. */
void session_check_cost(struct session *session);

/* Remember a warning for the report, and tell it now. Takes ownership of text, which is not escaped: reports and screens
 * do that. */
void session_warn(struct session *session, char *text);

/* A line on stderr where -v asks for it. */
void session_say(const struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Take note of the signals that have come. Returns whether one of them ends a run. */
bool session_take_signals(struct session *session);

/* Give everybody but the target its turn: signals, limits, the trace, the control socket, the frontend. */
void session_tick(struct session *session, uint64_t now_ns);

/* Where a launched program has no watch yet, wait until the screen has given one. False: the run has been ended, and the
 * program as well. */
bool session_hold(struct session *session);

/* Before a held program begins: could all its watches be armed, as far as that can be told? Nothing is kept. */
int session_try(struct session *session, struct err *err);

/* Begin an image of a process; its watches are pending. */
struct session_image *session_image_new(struct session *session, pid_t pid, uint32_t id);
void session_image_free(struct session_image *image);

/* Before anything is touched: find the names in a running process and see that they fit. */
int session_prepare(struct session *session, struct err *err);

/* Arm in a process what was found in its image. */
int session_arm(struct session *session, struct session_image *image, struct err *err);

/* A process runs a new image. */
int session_take_image(struct session *session, pid_t pid, uint32_t id, struct err *err);

/* What a process with this image is to be armed with. */
struct arming session_arming(const struct session *session, const struct session_image *image);

/* Look for what is missing, and arm it. must_arm: something else has changed, too. */
int session_resolve_and_arm(struct session *session, struct session_image *image, bool must_arm, struct err *err);

/* Is anything that is missing there now? */
bool session_is_any_found(struct session *session, struct session_image *image);

/* Is something missing that a library may bring? */
bool session_is_waiting(const struct session *session, const struct session_image *image);

/* Decide on image->hook. */
void session_choose_hook(const struct session *session, struct session_image *image);

/* Remember the library in which a watch was found; forget those of all. */
void session_take_home(struct session_image *image, size_t i);
void session_drop_homes(struct session_image *image);

/* A thread reached the hook: libraries came or went. */
int session_take_modules(struct session *session, struct session_image *image, pid_t tid, struct err *err);

/* Where there was no slot for a hook: see whether libraries have gone; and take the watches that have lost
 * theirs out of a hit. */
int session_check_modules(struct session *session, struct err *err);
int session_check_hit(struct session *session, struct session_image *image, struct hit *hit, struct err *err);

/* Find a watch that is being added in an image, and see that it fits there. */
int session_find_added(struct session *session, struct session_image *image, size_t i, struct err *err);

/* Arm a forked child as the image that it shares with its parent, or, where that has come to differ, as its own. */
int session_arm_child(struct session *session, struct session_process *process, struct err *err);

/* The image of this number, of the engine or a child's own; NULL: it is gone. */
struct session_image *session_image_find(const struct session *session, uint32_t id);

/* The image of a process that the engine says runs that number. */
struct session_image *session_image_run(struct session *session, pid_t pid, uint32_t engine_image);

/* Nobody runs that number of the engine's any more: the names are not needed. (Not the first process's: the report
 * tells about that.) */
void session_images_drop(struct session *session, uint32_t engine_image);

/* A process runs an image no more: a child's own image goes with the last one that did. */
void session_image_leave(struct session *session, uint32_t id);

/* A child was forked, and stands. Where its parent's image is not what it was at the fork, it gets its own. */
int session_take_child(struct session *session, pid_t pid, struct err *err);

/* A thread of a forked child, which shares its parent's image, reached the hook: from now on it has one of its own. */
int session_take_child_modules(struct session *session, pid_t pid, pid_t tid, struct session_image *shared,
	struct err *err);

/* Bit i: watch i is not to be armed for now. */
uint64_t session_off(const struct session *session);

/* The list of watches, made from that of the options. */
void session_watches_begin(struct session *session, const struct options *options);
void session_watches_end(struct session *session);

/* --max-rate: count a hit against its watches' limits; those that are over are disarmed. At a tick, those
 * of a former second are armed again. session_limit_end: when that is due (CLOCK_MONOTONIC); 0: nothing is. */
void session_limit_hit(struct session *session, const struct hit *hit);
void session_limit_tick(struct session *session, uint64_t now_ns);
uint64_t session_limit_end(const struct session *session);

/* How much of the time that a watch was to be armed it was: 0 to 1; 1 where it never was to be. */
double session_armed_share(const struct session *session, size_t i);

/* Take note of which watches are armed from now on. */
void session_note_armed(struct session *session);

/* The trace: opened before the target is touched; begun, and told of new modules, when an image is known
 * or has changed; closed when the target has been let go. */
int session_trace_open(struct session *session, struct err *err);
void session_trace_modules(struct session *session, struct session_image *image);
/* What a hit changed, before the values take note of it; passed: the watches that it counts for. */
void session_trace_values(struct session *session, const struct hit *hit, uint64_t passed);
void session_trace_hit(struct session *session, const struct hit *hit);
void session_trace_tick(struct session *session);
void session_trace_close(struct session *session);
void session_trace_free(struct session *session);

/* The code of an image: see struct code_source; context is the session. */
bool session_code(void *context, uint32_t id, uint64_t addr, struct code *out);

/* How many of the processes, the first ones, are listed in reports. The others are known while they run. */
size_t session_processes_listed(const struct session *session);

/* The newest process of that id; NULL: it is not known. */
struct session_process *session_process_find(struct session *session, pid_t pid);

/* Processes for the report. */
void session_take_fork(struct session *session, pid_t pid, pid_t parent, uint32_t image);
void session_take_exec(struct session *session, pid_t pid, uint32_t image);
void session_take_end(struct session *session, pid_t pid, int status);

/* Warn of a target that blocks, ignores or handles SIGTRAP in a way that hits change. */
void session_check_traps(struct session *session);

/* A forked child has a copy of its parent's memory, and has not run yet: take note of what watches hold. */
void session_remember_child(struct session *session, const struct session_image *image, pid_t pid);

/* The watched bytes as they are now count as those at the start. */
void session_remember(struct session *session);

/* Compare the watched bytes with what they were, while the target lives. */
void session_compare(struct session *session);

/* A program that ends by itself is gone before that: take note of a change of what has no hits when it is seen, at a tick. */
void session_glance(struct session *session);

/* The state of the run as a report, which points into the session. watches has room for
 * all of them. */
struct report session_report(const struct session *session, struct report_watch *watches);

/* Do some work on a copy of the run as it is now, in a process of its own. It returns a line that tells what came of
 * it, owned by the caller, or NULL; done, which may be NULL, gets that at a tick (NULL as well where the process was
 * killed). The watched bytes are compared first: while the program may be writing them, that is how it stands just now.
 * 1: it has begun; 0: another one is at work; -1: there can be no such process, and the caller does the work. */
typedef char *writer_fn(struct session *session, const void *what);
typedef void writer_done_fn(struct session *session, const char *said);
int session_writer_begin(struct session *session, writer_fn *work, const void *what, writer_done_fn *done);

/* The number of the work that is being done; 0: none. */
uint64_t session_writer_job(const struct session *session);
void session_writer_tick(struct session *session);

/* Wait until it has done its work, or a signal that ends a run tells that nobody wants it. */
void session_writer_wait(struct session *session);

/* Before the run: can the reports be written? After it: write them. That one fails does not keep the others from being
 * written; the first failure is told. A signal that ends a run ends the program where nobody reads a report; files
 * are written before that. */
int session_reports_check(const struct options *options, struct err *err);
int session_reports_save(struct session *session, const struct report *report, struct err *err);

/* Show what a launched program wrote while the screen was up, from *from on. */
void session_output_show(const struct session *session, off_t *from);

/* Write the reports that have files (SIGUSR1); or the one that a user of the screen wants, also after the run. */
void session_write_files(struct session *session);
void session_write_wish(struct session *session, const struct frontend_wish *wish, const struct report *report);

/* Tell a report of the trace and of the warnings as they stand. */
void session_report_trace(const struct session *session, struct report *report);

/* Add what only the last report has: the processes, an array that the caller frees. */
void session_report_end(const struct session *session, struct report *report);

#endif
