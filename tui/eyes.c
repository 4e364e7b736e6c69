/* eyes.c owns the look at files that the screen shows: sources as the target sees them, names of threads,
 * the output of a launched program. It writes nothing. */
#include "eyes.h"

#include "watchprof/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SOURCE_MAX (16 << 20)
#define LOG_MAX	   (64 << 10)
#define NAME_MAX_LEN 64
#define LIST_MAX   (64 << 20)

/* Up to max bytes from an offset on, with a NUL behind them. */
static char *bytes_read(int fd, off_t from, size_t max, size_t *len)
{
	char *bytes = mem_new(max + 1, 1);
	ssize_t n;

	*len = 0;
	while (*len < max && (n = pread(fd, bytes + *len, max - *len, from + (off_t)*len)) > 0)
		*len += (size_t)n;
	return bytes;
}

/* A path below another root, links included (openat2(2), RESOLVE_IN_ROOT). */
static int open_below(const char *root, const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_IN_ROOT};
	int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;

	if (root_fd < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	close(root_fd);
	return fd;
}

/* A regular file of at most SOURCE_MAX bytes. After the target's end, as we see it. */
static char *source_read(void *context, pid_t pid, const char *path, size_t *len)
{
	char *root = text_format("/proc/%d/root", (int)pid), *bytes = NULL;
	int fd = open_below(root, path);
	struct stat st;

	(void)context;
	if (fd < 0 && access(root, F_OK) != 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	free(root);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= SOURCE_MAX)
		bytes = bytes_read(fd, 0, (size_t)st.st_size, len);
	close(fd);
	return bytes;
}

static char *thread_name(void *context, pid_t pid, pid_t tid)
{
	char *path = text_format("/proc/%d/task/%d/comm", (int)pid, (int)tid), *name;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len;

	(void)context;
	free(path);
	if (fd < 0)
		return NULL;
	name = bytes_read(fd, 0, NAME_MAX_LEN, &len);
	name[strcspn(name, "\n")] = '\0';
	close(fd);
	return name;
}

static char *log_read(void *context, int fd, size_t *len)
{
	struct stat st;
	off_t from = 0;

	(void)context;
	if (fstat(fd, &st))
		return NULL;
	if (st.st_size > LOG_MAX)
		from = st.st_size - LOG_MAX;
	return bytes_read(fd, from, LOG_MAX, len);
}

/* The answer of another watchprof, while it comes. */
struct lister {
	int fd; /* -1: nobody was asked */
	char *expr; /* whose members were asked for; NULL: the variables were */
	char *text;
	size_t len;
};

/* In a process of its own, so that no hit ever waits for a long list. It is nobody's child afterwards: the
 * tracer's own waiting is not disturbed. */
static int lister_start(pid_t pid, const char *expr)
{
	char *option = text_format("--pid=%d", (int)pid);
	char *what = expr ? text_format("--list-members=%s", expr) : text_copy("--list-vars");
	char *argv[] = {"watchprof", "-q", what, option, NULL};
	int ends[2] = {-1, -1};
	sigset_t none;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
		child = fork();
		if (child == 0) {
			int null = open("/dev/null", O_RDWR | O_CLOEXEC);

			if (fork() != 0)
				_exit(0);
			fcntl(ends[1], F_SETFL, 0);
			if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(expr ? ends[1] : null, STDERR_FILENO) < 0 ||
				dup2(ends[1], STDOUT_FILENO) < 0)
				_exit(1);
			/* It ends by signals as any program does; we take ours by signalfd. */
			sigemptyset(&none);
			sigprocmask(SIG_SETMASK, &none, NULL);
			execv("/proc/self/exe", argv);
			_exit(1);
		}
		close(ends[1]);
	}
	free(option);
	free(what);
	return ends[0];
}

static void lister_reset(struct lister *lister)
{
	if (lister->fd >= 0)
		close(lister->fd);
	free(lister->expr);
	*lister = (struct lister){.fd = -1};
}

/* Is that what was asked for last? */
static bool is_asked(const struct lister *lister, const char *expr)
{
	if (lister->fd < 0 || !expr != !lister->expr)
		return false;
	return !expr || strcmp(expr, lister->expr) == 0;
}

static bool answer_read(struct lister *lister, pid_t pid, const char *expr, char **text)
{
	char bytes[65536];
	ssize_t n = 0;

	*text = NULL;
	if (!is_asked(lister, expr)) {
		free(lister->text); /* of what nobody waits for any more */
		lister_reset(lister);
		lister->fd = lister_start(pid, expr);
		lister->expr = expr ? text_copy(expr) : NULL;
	}
	while (lister->fd >= 0 && (n = read(lister->fd, bytes, sizeof(bytes))) > 0 && lister->len < LIST_MAX) {
		lister->text = mem_resize(lister->text, lister->len + (size_t)n + 1, 1);
		memcpy(lister->text + lister->len, bytes, (size_t)n);
		lister->len += (size_t)n;
		lister->text[lister->len] = '\0';
	}
	if (lister->fd >= 0 && n < 0 && errno == EAGAIN)
		return false;
	*text = lister->text;
	lister_reset(lister);
	return true;
}

static bool variables_read(void *context, pid_t pid, char **text)
{
	return answer_read(context, pid, NULL, text);
}

static bool members_read(void *context, pid_t pid, const char *expr, char **text)
{
	return answer_read(context, pid, expr, text);
}

struct model_eyes eyes_new(void)
{
	struct lister *lister = mem_new(1, sizeof(*lister));

	lister->fd = -1;
	return (struct model_eyes){.context = lister,
		.source = source_read,
		.thread_name = thread_name,
		.log = log_read,
		.variables = variables_read,
		.members = members_read};
}

void eyes_free(struct model_eyes *eyes)
{
	struct lister *lister = eyes->context;

	free(lister->text);
	lister_reset(lister);
	free(lister);
}
