/* session_trace.c owns the way of a run's hits into its trace: what the trace begins with, and the
 * names that it asks for. */
#include "session_private.h"
#include "watchprof/control.h"
#include "watchprof/procfs.h"
#include "watchprof/trace.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

static void trace_locate(
	void *context, pid_t pid, uint32_t image, uint64_t addr, struct loc *out, uint64_t *offset)
{
	const struct session *session = context;
	struct session_image *found = session_image_find(session, image);

	(void)pid;
	if (!found)
		return;
	symbols_locate(found->symbols, addr, out);
	*offset = symbols_offset(found->symbols, addr);
}

static void trace_comm(void *context, pid_t tid, char comm[TRACE_COMM_MAX])
{
	struct procfs_status status;

	(void)context;
	if (procfs_status(tid, &status))
		snprintf(comm, TRACE_COMM_MAX, "%.*s", TRACE_COMM_MAX - 1, status.name);
}

int session_trace_open(struct session *session, struct err *err)
{
	struct trace_source source = {trace_locate, trace_comm, session};
	struct trace_options options = {.format = session->options->trace_format,
		.path = session->options->trace_path,
		.with_stack = session->options->trace_stack,
		.flight = session->options->flight};

	if (!session->options->is_traced)
		return 0;
	session->trace = trace_open(&options, &source, err);
	session->is_tracing = true;
	return session->trace ? 0 : -1;
}

/* A module that the trace has not told of yet. */
static void module_add(void *context, const char *path, const char *build_id)
{
	struct session *session = context;
	char *known = text_format("%s\t%s", path, build_id ? build_id : "");

	for (size_t i = 0; i < session->n_trace_modules; i++) {
		if (strcmp(session->trace_modules[i], known) == 0) {
			free(known);
			return;
		}
	}
	session->trace_modules = mem_resize(session->trace_modules, session->n_trace_modules + 1,
		sizeof(*session->trace_modules));
	session->trace_modules[session->n_trace_modules++] = known;
	trace_module(session->trace, path, build_id);
}

static void begin(struct session *session)
{
	struct report_watch watches[WATCHES_MAX];
	struct report report = session_report(session, watches);
	size_t n = 0;
	pid_t *tids = procfs_threads(session->pid, &n);

	session->is_trace_begun = true;
	trace_begin(session->trace, session->start_ns, &report);
	for (size_t i = 0; i < n; i++) {
		char comm[TRACE_COMM_MAX] = "?";

		trace_comm(session, tids[i], comm);
		trace_thread(session->trace, session->pid, tids[i], comm);
	}
	free(tids);
	for (size_t i = 0; i < session->options->n_watches; i++)
		trace_watch(session->trace, (unsigned)i, session->text[i], &session->watches[i].type);
}

void session_trace_modules(struct session *session, struct session_image *image)
{
	if (!session->trace || !image)
		return;
	if (!session->is_trace_begun)
		begin(session);
	symbols_modules(image->symbols, module_add, session);
}

static uint8_t value_put(const struct value *value, uint8_t bytes[TRACE_VALUE_MAX])
{
	if (value->len > TRACE_VALUE_MAX)
		return 0;
	memcpy(bytes, value->bytes, value->len);
	return (uint8_t)value->len;
}

void session_trace_values(struct session *session, const struct hit *hit, uint64_t passed)
{
	struct trace_values *values = &session->trace_values;
	struct value from, to;
	unsigned first;

	*values = (struct trace_values){0};
	if (!session->trace || !passed)
		return;
	first = (unsigned)__builtin_ctzll(passed);
	values_pair(session->values, hit, first, &from, &to);
	values->n_new = value_put(&to, values->new);
	if (hit->kind & HIT_WRITE)
		values->n_old = value_put(&from, values->old);
}

/* A filter fires: what led to the first hit of such a watch is kept. */
static void dump_for_filters(struct session *session, const struct hit *hit)
{
	uint64_t fires = 0;
	struct err err;

	for (uint64_t left = session->options->flight ? hit->watches : 0; left; left &= left - 1) {
		if (session->options->watches[__builtin_ctzll(left)].filters.n > 0)
			fires |= left & -left;
	}
	if (!(fires & ~session->dumped_for))
		return;
	session->dumped_for |= fires;
	if (session_trace_dump(session, &err))
		session_warn(session, text_copy(err.text));
}

void session_trace_hit(struct session *session, const struct hit *hit)
{
	if (!session->trace)
		return;
	for (uint64_t left = hit->watches; left; left &= left - 1) {
		unsigned number = (unsigned)__builtin_ctzll(left);

		trace_watch(session->trace, number, session->text[number], &session->watches[number].type);
	}
	trace_hit(session->trace, hit, &session->trace_values);
	dump_for_filters(session, hit);
}

void session_trace_tick(struct session *session)
{
	struct err err;

	if (session->trace && trace_flush(session->trace, &err))
		session_warn(session, text_copy(err.text));
}

/* Each dump has a file of its own: FILE.1, FILE.2, ... */
int session_trace_dump(struct session *session, struct err *err)
{
	char *path;
	int result;

	if (!session->trace || !session->is_trace_begun || !session->options->flight)
		return err_set(
			err, "there is no ring to dump: start with --trace=FILE --flight=SIZE");
	path = text_format("%s.%u", session->options->trace_path, session->n_dumps + 1);
	result = trace_dump(session->trace, path, "running", err);
	session->n_dumps += result == 0;
	free(path);
	return result;
}

/* A trace that begins in the middle of a run. */
static int start(struct session *session, const char *path, struct err *err)
{
	struct session_image *image;
	char *own = text_copy(path);

	session->own.is_traced = true;
	session->own.trace_path = own;
	if (session_trace_open(session, err)) {
		session->own.is_traced = false;
		session->own.trace_path = NULL;
		free(own);
		return -1;
	}
	session->trace_path = own;
	LIST_FOREACH (image, &session->images, all)
		session_trace_modules(session, image);
	return 0;
}

int session_trace(struct session *session, bool on, const char *path, struct err *err)
{
	if (!session->trace && on && path)
		return start(session, path, err);
	if (!session->trace)
		return err_set(err, "there is no trace: start with --trace=FILE, or turn it on with a file");
	if (path)
		return err_set(err, "there is a trace already, to %s",
			session->options->trace_path ? session->options->trace_path : "the standard error");
	session->is_tracing = on;
	return 0;
}

void session_trace_close(struct session *session)
{
	struct err err;

	if (!session->trace)
		return;
	if (!session->is_trace_begun)
		begin(session);
	if (trace_close(session->trace, session->end, session->signal_fd, &err))
		session_warn(session, text_copy(err.text));
}

void session_trace_free(struct session *session)
{
	trace_free(session->trace);
	free(session->trace_path);
	for (size_t i = 0; i < session->n_trace_modules; i++)
		free(session->trace_modules[i]);
	free(session->trace_modules);
}
