/* trace.c owns a trace that is being made: its buffer, its file and its ring. Per hit it looks up
 * two numbers and appends some bytes; it never waits for a reader, and counts what it had to drop.
 */
#include "trace_private.h"
#include "watchprof/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_LIMIT (1U << 20) /* bytes that wait for a reader before hits are dropped */
#define FLUSH_AT     (1U << 16)
#define NAMES_MAX    100000   /* different paths, or threads: then the tables are begun anew */
#define COMM_NS      NS_PER_S /* how long a thread's name is believed */

/* What a path in the tables was made of. */
struct path_key {
	uint64_t hash;
	size_t first; /* into key_frames */
	uint32_t image;
	uint16_t n;
	uint8_t end;
	bool executes;
};

struct thread_key {
	pid_t pid, tid;
	uint64_t looked_ns;
};

/* Open addressing: number + 1, 0 is free. The size is a power of two, more than twice NAMES_MAX. */
#define BUCKETS (1U << 18)

struct trace {
	struct trace_options options;
	struct trace_source source;
	const struct trace_form *form;
	struct trace_tables tables;
	struct trace_counts counts;
	char *path;
	uint64_t start_ns;
	int fd;
	bool is_shared; /* a write would wait */
	int failure; /* errno of what ended the writing; 0: none */
	bool is_failure_told;

	struct trace_bytes buffer;
	size_t sent;      /* of the buffer */
	size_t *hit_ends; /* where in the buffer the hits end that are in it */
	size_t n_hit_ends, cap_hit_ends;
	uint64_t dropped_here; /* since the last hit that was written */

	uint32_t *path_buckets, *loc_buckets, *thread_buckets;
	struct path_key *path_keys;
	size_t n_path_keys, cap_path_keys;
	uint64_t *key_frames;
	size_t n_key_frames, cap_key_frames;
	uint32_t *loc_images; /* of the places in the tables */
	size_t cap_loc_images;
	struct thread_key *thread_keys;
	size_t cap_thread_keys;

	struct trace_bytes head; /* of a dump */
	struct trace_record *ring;
	size_t ring_size;
	uint64_t ring_hits; /* that ever came into it */
};

/* --- the file ----------------------------------------------------------------------------------
 */

/* A descriptor of our own for standard error, so that not waiting is not forced upon others that
 * have it. A regular file keeps the position that they share. *is_shared: there is none to be had (of a
 * socket, or of another user's pipe). */
static int open_standard_error(bool *is_shared)
{
	struct stat st = {0};
	int fd = -1;

	if (fstat(STDERR_FILENO, &st) == 0 && !S_ISREG(st.st_mode))
		fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	*is_shared = fd < 0 && !S_ISREG(st.st_mode);
	return fd >= 0 ? fd : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
}

/* Can a dump be made there? It replaces what is there, and a device is not to be replaced. */
static int dump_check(const char *path)
{
	char *temporary;
	FILE *out;
	int failure;

	if (!path_is_replaceable(path)) {
		errno = ENOTSUP;
		return -1;
	}
	out = temporary_open(path, &temporary);
	failure = errno;
	if (out) {
		fclose(out);
		unlink(temporary);
	}
	free(temporary);
	errno = failure;
	return out ? 0 : -1;
}

/* What else is to be known about a failure to open the trace. */
static const char *open_advice(int failure)
{
	if (failure == ENXIO)
		return " (a named pipe needs its reader first)";
	return failure == ENOTSUP ? " (--flight replaces a regular file at each dump)" : "";
}

static int file_open(struct trace *trace)
{
	const char *path = trace->options.path;

	if (trace->ring_size)
		return dump_check(path);
	trace->fd =
		path ? open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			       0666)
		     : open_standard_error(&trace->is_shared);
	return trace->fd >= 0 ? 0 : -1;
}

/* The first of each are what is not known, for when the tables of a ring are full. */
static void names_begin(struct trace *trace)
{
	tables_thread(&trace->tables, 0, 0, "?");
	tables_path(&trace->tables, NULL, 0, PATH_NONE);
	trace->path_keys =
		tables_room(trace->path_keys, 0, &trace->cap_path_keys, 1, sizeof(*trace->path_keys));
	trace->path_keys[0] = (struct path_key){0};
	trace->n_path_keys = 1;
	trace->n_key_frames = 0;
	trace->thread_keys = tables_room(
		trace->thread_keys, 0, &trace->cap_thread_keys, 1, sizeof(*trace->thread_keys));
	trace->thread_keys[0] = (struct thread_key){0};
	memset(trace->path_buckets, 0, BUCKETS * sizeof(*trace->path_buckets));
	memset(trace->loc_buckets, 0, BUCKETS * sizeof(*trace->loc_buckets));
	memset(trace->thread_buckets, 0, BUCKETS * sizeof(*trace->thread_buckets));
}

struct trace *trace_open(
	const struct trace_options *options, const struct trace_source *source, struct err *err)
{
	struct trace *trace = mem_new(1, sizeof(*trace));

	trace->options = *options;
	trace->source = *source;
	trace->form = trace_form_of(options->format);
	trace->tables.with_stack = options->with_stack;
	trace->fd = -1;
	trace->ring_size = options->flight / sizeof(*trace->ring);
	trace->path = options->path ? text_copy(options->path) : text_copy("standard error");
	if (file_open(trace)) {
		err_set(err, "%s: the trace cannot be written there: %s%s", trace->path, strerror(errno),
			open_advice(errno));
		free(trace->path);
		free(trace);
		return NULL;
	}
	trace->ring = mem_new(trace->ring_size, sizeof(*trace->ring));
	trace->path_buckets = mem_new(BUCKETS, sizeof(*trace->path_buckets));
	trace->loc_buckets = mem_new(BUCKETS, sizeof(*trace->loc_buckets));
	trace->thread_buckets = mem_new(BUCKETS, sizeof(*trace->thread_buckets));
	return trace;
}

/* Take what was sent out of the buffer, once it is much. */
static void buffer_compact(struct trace *trace)
{
	size_t kept = 0;

	if (trace->sent < FLUSH_AT && trace->sent < trace->buffer.len)
		return;
	trace->buffer.len -= trace->sent;
	if (trace->buffer.len > 0)
		memmove(trace->buffer.at, trace->buffer.at + trace->sent, trace->buffer.len);
	for (size_t i = 0; i < trace->n_hit_ends; i++) {
		if (trace->hit_ends[i] > trace->sent)
			trace->hit_ends[kept++] = trace->hit_ends[i] - trace->sent;
	}
	trace->n_hit_ends = kept;
	trace->sent = 0;
}

/* write(2) that never waits. What is ready takes so much at once: a pipe by POSIX, a socket by far. */
static ssize_t write_some(const struct trace *trace, const void *bytes, size_t len)
{
	struct pollfd fd = {.fd = trace->fd, .events = POLLOUT};

	if (!trace->is_shared)
		return write(trace->fd, bytes, len);
	if (poll(&fd, 1, 0) <= 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(trace->fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
}

/* Write what can be written without waiting. */
static void flush(struct trace *trace)
{
	while (trace->fd >= 0 && !trace->failure && trace->sent < trace->buffer.len) {
		ssize_t n = write_some(
			trace, trace->buffer.at + trace->sent, trace->buffer.len - trace->sent);

		if (n > 0)
			trace->sent += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			break;
		else if (n < 0 && errno != EINTR)
			trace->failure = errno;
	}
	buffer_compact(trace);
}

/* Hits in the buffer that will not be written any more. */
static void drop_rest(struct trace *trace)
{
	for (size_t i = 0; i < trace->n_hit_ends; i++)
		trace->counts.dropped += trace->hit_ends[i] > trace->sent;
	trace->sent = trace->buffer.len = trace->n_hit_ends = 0;
}

bool trace_flush(struct trace *trace, struct err *err)
{
	flush(trace);
	if (!trace->failure || trace->is_failure_told)
		return false;
	drop_rest(trace);
	trace->is_failure_told = true;
	err_set(err, "%s: the trace could not be written: %s; it ends here", trace->path,
		strerror(trace->failure));
	return true;
}

/* --- what it begins with ------------------------------------------------------------------------
 */

/* Where what is no hit goes: into a dump's head, or out. */
static struct trace_bytes *place_of_head(struct trace *trace)
{
	return trace->ring_size ? &trace->head : &trace->buffer;
}

void trace_begin(struct trace *trace, uint64_t start_ns, const struct report *run)
{
	trace->start_ns = start_ns;
	names_begin(trace);
	trace->form->about(place_of_head(trace), &trace->tables, run);
	if (trace->ring_size)
		return;
	/* Only now: a run that is refused leaves an earlier trace as it was. (What is no file has no length.) */
	if (trace->options.path && ftruncate(trace->fd, 0) && errno != EINVAL)
		trace->failure = errno;
	trace->form->thread(&trace->buffer, &trace->tables, 0);
	trace->form->path(&trace->buffer, &trace->tables, 0);
}

void trace_module(struct trace *trace, const char *path, const char *build_id)
{
	trace->form->module(place_of_head(trace), path, build_id);
}

void trace_watch(struct trace *trace, unsigned number, const char *text, const struct value_type *type)
{
	const struct value_type *former = &trace->tables.watch_type[number];

	if (trace->tables.watch_raw[number] && strcmp(trace->tables.watch_raw[number], text) == 0 &&
		former->kind == type->kind && former->size == type->size && former->n_names == type->n_names)
		return;
	tables_watch(&trace->tables, number, text);
	tables_type(&trace->tables, number, type);
	if (!trace->ring_size)
		trace->form->watch(&trace->buffer, &trace->tables, number);
}

/* --- names --------------------------------------------------------------------------------------
 */

/* A full table: begin anew; in a ring, older hits still need it. True: there is room. */
static bool names_room(struct trace *trace)
{
	if (trace->tables.n_paths < NAMES_MAX && trace->tables.n_threads < NAMES_MAX &&
		trace->tables.n_locs < NAMES_MAX)
		return true;
	if (trace->ring_size)
		return false;
	tables_reset(&trace->tables);
	trace->form->reset(&trace->buffer);
	names_begin(trace);
	trace->form->thread(&trace->buffer, &trace->tables, 0);
	trace->form->path(&trace->buffer, &trace->tables, 0);
	return true;
}

static uint32_t thread_add(
	struct trace *trace, pid_t pid, pid_t tid, const char *comm, size_t bucket)
{
	uint32_t number = tables_thread(&trace->tables, pid, tid, comm);

	trace->thread_keys = tables_room(trace->thread_keys, number, &trace->cap_thread_keys, 1,
		sizeof(*trace->thread_keys));
	trace->thread_keys[number] = (struct thread_key){pid, tid, clock_now_ns()};
	trace->thread_buckets[bucket] = number + 1;
	if (!trace->ring_size)
		trace->form->thread(&trace->buffer, &trace->tables, number);
	return number;
}

/* The bucket of a thread, or a free one. */
static size_t thread_bucket(const struct trace *trace, pid_t pid, pid_t tid)
{
	size_t b = hash_mix((uint64_t)(uint32_t)pid, (uint64_t)(uint32_t)tid) & (BUCKETS - 1);

	for (; trace->thread_buckets[b]; b = (b + 1) & (BUCKETS - 1)) {
		const struct thread_key *key = &trace->thread_keys[trace->thread_buckets[b] - 1];

		if (key->tid == tid && key->pid == pid)
			break;
	}
	return b;
}

void trace_thread(struct trace *trace, pid_t pid, pid_t tid, const char *comm)
{
	size_t bucket = thread_bucket(trace, pid, tid);

	if (!trace->thread_buckets[bucket] && names_room(trace))
		thread_add(trace, pid, tid, comm, bucket);
}

/* A thread's number. Threads are renamed, and their ids come again: then they get another one. */
static uint32_t thread_find(struct trace *trace, const struct hit *hit)
{
	size_t bucket = thread_bucket(trace, hit->pid, hit->tid);
	uint32_t number = trace->thread_buckets[bucket];
	char comm[TRACE_COMM_MAX] = "?";

	if (number && hit->time_ns < trace->thread_keys[number - 1].looked_ns + COMM_NS)
		return number - 1;
	trace->source.comm(trace->source.context, hit->tid, comm);
	if (number && (strcmp(comm, "?") == 0 ||
			      strcmp(comm, trace->tables.threads[number - 1].comm) == 0)) {
		trace->thread_keys[number - 1].looked_ns = hit->time_ns;
		return number - 1;
	}
	if (trace->tables.n_threads >= NAMES_MAX)
		return 0;
	return thread_add(trace, hit->pid, hit->tid, comm, bucket);
}

static uint32_t loc_find(struct trace *trace, const struct hit *hit, uint64_t addr, bool is_behind, bool is_signal)
{
	size_t b = hash_mix(hash_mix(is_signal, hit->image), addr) & (BUCKETS - 1);
	struct loc loc = {.addr = addr};
	uint64_t offset = 0;
	uint32_t number;

	for (; trace->loc_buckets[b]; b = (b + 1) & (BUCKETS - 1)) {
		number = trace->loc_buckets[b] - 1;
		if (trace->tables.locs[number].addr == addr && trace->tables.locs[number].is_signal == is_signal &&
			trace->loc_images[number] == hit->image)
			return number;
	}
	trace->source.locate(trace->source.context, hit->pid, hit->image, addr, &loc, &offset);
	loc.addr = addr;
	if (is_signal) {
		loc.function = SIGNAL_FRAME;
		loc.n_inlined = 0;
	}
	number = tables_loc(&trace->tables, &loc, offset + is_behind);
	trace->tables.locs[number].is_signal = is_signal;
	trace->loc_images = tables_room(
		trace->loc_images, number, &trace->cap_loc_images, 1, sizeof(*trace->loc_images));
	trace->loc_images[number] = hit->image;
	trace->loc_buckets[b] = number + 1;
	if (!trace->ring_size)
		trace->form->loc(&trace->buffer, &trace->tables, number);
	return number;
}

/* The place of a frame. */
static uint32_t frame_loc(struct trace *trace, const struct hit *hit, size_t i)
{
	bool is_behind = !hit_frame_is_exact(hit, i);

	return loc_find(trace, hit, hit->frames[i] - is_behind, is_behind, hit_is_signal(hit, i));
}

/* Add a path. Its first frame is left out where the access is not its own. */
static uint32_t path_add(
	struct trace *trace, const struct hit *hit, struct path_key key, size_t bucket)
{
	uint32_t locs[STACK_DEPTH_MAX], number;
	uint16_t skip;

	for (uint16_t i = 0; i < key.n; i++)
		locs[i] = frame_loc(trace, hit, i);
	skip = key.n > 0 && hit_is_of_caller(trace->tables.locs[locs[0]].is_entry, key.executes, key.n);
	number = tables_path(&trace->tables, locs + skip,
		trace->options.with_stack ? (uint16_t)(key.n - skip) : (uint16_t)(key.n > 0),
		key.end);
	trace->path_keys =
		tables_room(trace->path_keys, number, &trace->cap_path_keys, 1, sizeof(*trace->path_keys));
	trace->key_frames = tables_room(trace->key_frames, trace->n_key_frames, &trace->cap_key_frames,
		key.n, sizeof(*trace->key_frames));
	key.first = trace->n_key_frames;
	for (uint16_t i = 0; i < key.n; i++)
		trace->key_frames[trace->n_key_frames++] = hit->frames[i];
	trace->path_keys[number] = key;
	trace->path_buckets[bucket] = number + 1;
	if (!trace->ring_size)
		trace->form->path(&trace->buffer, &trace->tables, number);
	return number;
}

static uint32_t path_find(struct trace *trace, const struct hit *hit)
{
	struct path_key key = {.image = hit->image,
		.n = !trace->options.with_stack && hit->n_frames > 2 ? 2 : hit->n_frames,
		.end = trace->options.with_stack ? hit->path : PATH_NONE,
		.executes = hit->is_at};
	size_t b;

	key.hash = hit_path_hash(hit, key.n, key.end);
	for (b = key.hash & (BUCKETS - 1); trace->path_buckets[b]; b = (b + 1) & (BUCKETS - 1)) {
		const struct path_key *other = &trace->path_keys[trace->path_buckets[b] - 1];

		if (other->hash == key.hash && other->image == key.image && other->n == key.n &&
			other->end == key.end && other->executes == key.executes &&
			(key.n == 0 || memcmp(trace->key_frames + other->first, hit->frames,
					       key.n * sizeof(uint64_t)) == 0))
			return trace->path_buckets[b] - 1;
	}
	if (trace->tables.n_paths >= NAMES_MAX ||
		trace->tables.n_locs + key.n > NAMES_MAX + STACK_DEPTH_MAX)
		return 0;
	return path_add(trace, hit, key, b);
}

/* --- hits ---------------------------------------------------------------------------------------
 */

static void hit_write(struct trace *trace, const struct trace_record *record)
{
	if (trace->dropped_here)
		trace->form->dropped(&trace->buffer, trace->dropped_here);
	trace->dropped_here = 0;
	trace->form->hit(&trace->buffer, &trace->tables, record);
	trace->hit_ends = tables_room(trace->hit_ends, trace->n_hit_ends, &trace->cap_hit_ends, 1,
		sizeof(*trace->hit_ends));
	trace->hit_ends[trace->n_hit_ends++] = trace->buffer.len;
	if (trace->buffer.len - trace->sent >= FLUSH_AT)
		flush(trace);
}

/* Is there no room for another hit, even after another try to write? */
static bool is_full(struct trace *trace)
{
	if (!trace->ring_size && trace->buffer.len - trace->sent >= BUFFER_LIMIT)
		flush(trace);
	return trace->failure ||
	       (!trace->ring_size && trace->buffer.len - trace->sent >= BUFFER_LIMIT);
}

void trace_hit(struct trace *trace, const struct hit *hit, const struct trace_values *values)
{
	struct trace_record record = {
		.time_ns = hit->time_ns > trace->start_ns ? hit->time_ns - trace->start_ns : 0,
		.watches = hit->watches,
		.kind = hit->kind,
		.cpu = hit->cpu};

	trace->counts.hits++;
	if (is_full(trace)) {
		trace->counts.dropped++;
		trace->dropped_here++;
		return;
	}
	names_room(trace);
	record.thread = thread_find(trace, hit);
	record.path = path_find(trace, hit);
	if (values)
		record.values = *values;
	if (!trace->ring_size) {
		hit_write(trace, &record);
		return;
	}
	if (trace->ring_hits >= trace->ring_size)
		trace->counts.overwritten++;
	trace->ring[trace->ring_hits++ % trace->ring_size] = record;
}

struct trace_counts trace_counts(const struct trace *trace)
{
	return trace->counts;
}

/* --- dumps and the end ---------------------------------------------------------------------------
 */

/* The whole ring as a trace, into the buffer. */
static void dump_fill(struct trace *trace, const char *why)
{
	struct trace_tables *tables = &trace->tables;
	struct trace_bytes *out = &trace->buffer;
	uint64_t oldest =
		trace->ring_hits > trace->ring_size ? trace->ring_hits - trace->ring_size : 0;

	out->len = 0;
	tables->last_ns = 0;
	bytes_put(out, trace->head.at, trace->head.len);
	for (unsigned i = 0; i < WATCHES_MAX; i++) {
		if (tables->watch_raw[i])
			trace->form->watch(out, tables, i);
	}
	for (uint32_t i = 0; i < tables->n_threads; i++)
		trace->form->thread(out, tables, i);
	for (uint32_t i = 0; i < tables->n_locs; i++)
		trace->form->loc(out, tables, i);
	for (uint32_t i = 0; i < tables->n_paths; i++)
		trace->form->path(out, tables, i);
	for (uint64_t i = oldest; i < trace->ring_hits; i++)
		trace->form->hit(out, tables, &trace->ring[i % trace->ring_size]);
	trace->form->end(out, &trace->counts, why);
}

int trace_dump(struct trace *trace, const char *path, const char *why, struct err *err)
{
	char *temporary;
	FILE *out = temporary_open(path, &temporary);
	int result = 0;

	dump_fill(trace, why);
	if (!out || fwrite(trace->buffer.at, 1, trace->buffer.len, out) != trace->buffer.len)
		result = -1;
	if (out && fclose(out))
		result = -1;
	if (result || rename(temporary, path)) {
		result = err_set(
			err, "%s: the trace could not be written: %s", path, strerror(errno));
		unlink(temporary);
	}
	free(temporary);
	trace->buffer.len = 0;
	return result;
}

/* Wait for the reader, as any program in a pipeline does, until somebody wants that to end. */
static void flush_patiently(struct trace *trace, int stop_fd)
{
	struct pollfd fds[] = {
		{.fd = trace->fd, .events = POLLOUT}, {.fd = stop_fd, .events = POLLIN}};

	flush(trace);
	while (trace->buffer.len > 0 && !trace->failure && !(fds[1].revents & POLLIN)) {
		poll(fds, ARRAY_LEN(fds), -1);
		flush(trace);
	}
}

int trace_close(struct trace *trace, const char *why, int stop_fd, struct err *err)
{
	if (trace->ring_size)
		return trace_dump(trace, trace->path, why, err);
	if (trace->dropped_here)
		trace->form->dropped(&trace->buffer, trace->dropped_here);
	trace->form->end(&trace->buffer, &trace->counts, why);
	flush_patiently(trace, stop_fd);
	if (trace->buffer.len == 0 || trace->is_failure_told)
		return 0;
	drop_rest(trace);
	return trace->failure ? err_set(err, "%s: the trace could not be written: %s", trace->path,
					strerror(trace->failure))
			      : err_set(err, "%s: the end of the trace was not read", trace->path);
}

void trace_free(struct trace *trace)
{
	if (!trace)
		return;
	if (trace->fd >= 0)
		close(trace->fd);
	tables_free(&trace->tables);
	free(trace->path);
	free(trace->buffer.at);
	free(trace->head.at);
	free(trace->hit_ends);
	free(trace->path_buckets);
	free(trace->loc_buckets);
	free(trace->thread_buckets);
	free(trace->path_keys);
	free(trace->key_frames);
	free(trace->loc_images);
	free(trace->thread_keys);
	free(trace->ring);
	free(trace);
}
