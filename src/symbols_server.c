/* symbols_server.c owns the questions to debuginfod servers: what they gave, how long they are waited for, and what is said of
 * it. It goes to the network only within symbols_fetch(), where it was told that it may. */
#include "symbols_private.h"
#include "watchprof/util.h"

#include "config.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As libdw names it. */
#define SERVER_LIBRARY "libdebuginfod.so.1"

/* How long a silent or slow debuginfod server is waited for (debuginfod_find_debuginfo(3)), where
 * the environment says nothing else. */
static const struct {
	const char *name, *value;
} server_limits[] = {
	{"DEBUGINFOD_TIMEOUT", "5"},   /* seconds */
	{"DEBUGINFOD_MAXTIME", "120"}, /* seconds */
	{"DEBUGINFOD_RETRY_LIMIT", "1"},
};

/* Set a variable of the environment or take it out; what it was is owned by the caller. */
static char *env_swap(const char *name, const char *value)
{
	const char *set = getenv(name);
	char *old = set ? text_copy(set) : NULL;

	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
	return old;
}

/* Put back what env_swap() gave. */
static void env_restore(const char *name, char *old)
{
	free(env_swap(name, old));
	free(old);
}

#ifdef HAVE_DWFL_GET_DEBUGINFOD_CLIENT
typedef int progress_fn(debuginfod_client *client, long done, long total);
typedef void set_progress_fn(debuginfod_client *client, progress_fn *progress);
typedef void set_data_fn(debuginfod_client *client, void *data);
typedef void *get_data_fn(debuginfod_client *client);

/* A function of the library that libdw has loaded, and keeps, or NULL. (Linked with it, it would be needed by all.) */
static void *server_function(const char *name)
{
	void *library = dlopen(SERVER_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
	void *function = library ? dlsym(library, name) : NULL;

	if (library)
		dlclose(library);
	return function;
}

/* Called about once a second while a server is waited for; all but 0 ends that (debuginfod_set_progressfn(3)). */
static int has_waited(debuginfod_client *client, long done, long total)
{
	get_data_fn *get_data = (get_data_fn *)server_function("debuginfod_get_user_data");
	struct symbols_source *source = get_data ? get_data(client) : NULL;

	(void)done;
	(void)total;
	if (source && source->is_ended && source->is_ended(source->context))
		source->has_failed = true;
	return source && source->has_failed;
}

/* Have the wait ended when nobody wants it any more. That takes the place of what DEBUGINFOD_PROGRESS would show. */
static void wait_prepare(struct symbols *symbols)
{
	debuginfod_client *client = dwfl_get_debuginfod_client(symbols->dwfl); /* first: this loads the library */
	set_progress_fn *set_progress = (set_progress_fn *)server_function("debuginfod_set_progressfn");
	set_data_fn *set_data = (set_data_fn *)server_function("debuginfod_set_user_data");

	if (!client || !set_progress || !set_data)
		return;
	set_data(client, symbols->source);
	set_progress(client, has_waited);
}
#else
/* It ends by its limits only. */
static void wait_prepare(struct symbols *symbols)
{
	(void)symbols;
}
#endif

static int limited_find(struct symbols *symbols, const char *path, Dwfl_Module *module, char **found)
{
	char *former[ARRAY_LEN(server_limits)];
	int fd;

	for (size_t i = 0; i < ARRAY_LEN(server_limits); i++)
		former[i] = env_swap(server_limits[i].name, getenv(server_limits[i].name) ?: server_limits[i].value);
	wait_prepare(symbols);
	fd = dwfl_standard_find_debuginfo(module, NULL, NULL, 0, path, NULL, 0, found);
	for (size_t i = 0; i < ARRAY_LEN(server_limits); i++)
		env_restore(server_limits[i].name, former[i]);
	return fd;
}

/* Ask the debuginfod servers of the environment, with a line on stderr before and after. A server
 * that failed once is not asked again. */
static int server_ask(struct symbols *symbols, const char *id, const char *file, Dwfl_Module *module, char **found)
{
	struct symbols_source *source = symbols->source;
	char *path = text_escaped(file);
	uint64_t start_ns = clock_now_ns();
	int fd;

	if (!source->is_quiet)
		fprintf(stderr, "watchprof: debuginfod: asking for the debug info of %s (build-id %s) ...\n", path, id);
	fd = limited_find(symbols, file, module, found);
	if (!source->is_quiet)
		fprintf(stderr, "watchprof: debuginfod: %s for %s after %.1f s\n", fd >= 0 ? "an answer" : "nothing", path,
			(double)(clock_now_ns() - start_ns) / NS_PER_S);
	/* Not found (ENOENT) is an answer. */
	if (fd < 0 && !source->has_failed && clock_now_ns() - start_ns >= NS_PER_S) {
		source->has_failed = true;
		if (!source->is_quiet)
			fprintf(stderr, "watchprof: debuginfod: too slow; it is not asked again\n");
	}
	free(path);
	return fd;
}

int server_find(struct symbols *symbols, const char *id, const char *file, Dwfl_Module *module, char **found)
{
	struct symbols_source *source = symbols->source;
	char *link, target[PATH_MAX];
	ssize_t len;
	int fd;

	if (!source->is_debuginfod)
		return -1;
	for (size_t i = 0; i < source->n_fetched; i++) {
		if (strcmp(source->fetched[i].id, id) != 0)
			continue;
		*found = text_copy(source->fetched[i].path);
		return file_open(*found);
	}
	fd = symbols->is_online && !source->has_failed ? server_ask(symbols, id, file, module, found) : -1;
	if (fd < 0)
		return -1;
	link = text_format("/proc/self/fd/%d", fd);
	len = readlink(link, target, sizeof(target) - 1);
	free(link);
	source->fetched =
		mem_resize(source->fetched, source->n_fetched + 1, sizeof(*source->fetched));
	target[len > 0 ? len : 0] = '\0';
	source->fetched[source->n_fetched].id = text_copy(id);
	source->fetched[source->n_fetched++].path = text_copy(target);
	return fd;
}

void symbols_source_fini(struct symbols_source *source)
{
	for (size_t i = 0; i < source->n_fetched; i++) {
		free(source->fetched[i].id);
		free(source->fetched[i].path);
	}
	free(source->fetched);
	*source = (struct symbols_source){0};
}

static int module_fetch(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, void *arg)
{
	GElf_Addr bias;

	(void)userdata;
	(void)base;
	(void)arg;
	/* Not the vdso and its like. */
	if (name[0] == '/')
		dwfl_module_getdwarf(module, &bias);
	return DWARF_CB_OK;
}

void symbols_fetch(struct symbols *symbols)
{
	if (!symbols->source || !symbols->source->is_debuginfod)
		return;
	symbols->is_online = true;
	dwfl_getmodules(symbols->dwfl, module_fetch, NULL, 0);
	symbols->is_online = false;
}

void symbols_fetch_process(pid_t pid, struct symbols_source *source)
{
	struct symbols *symbols = symbols_new(pid, source);

	symbols_fetch(symbols);
	symbols_free(symbols);
}
