/* control_socket.c owns the control socket and its clients. It understands no command. */
#include "watchprof/control_socket.h"

#include "session_private.h"
#include "watchprof/util.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENTS_MAX  16
#define LINE_MAX_LEN 65536       /* of a command */
#define PATIENCE_S   10
#define UNSENT_MAX   (64U << 20) /* of answers that a client does not read */

/* Bytes on their way. */
struct bytes {
	char *at;
	size_t len;
};

struct client {
	int fd;
	bool is_ended; /* it sends no more */
	uint64_t job;  /* of session_writer_begin(), which answers; 0: none */
	struct bytes in, out;
};

struct control_socket {
	char *path;
	int fd;
	dev_t device; /* of the socket, so that another one is not removed */
	ino_t inode;
	struct client clients[CLIENTS_MAX];
	size_t n_clients;
};

static void bytes_append(struct bytes *bytes, const char *from, size_t len)
{
	bytes->at = mem_resize(bytes->at, bytes->len + len + 1, 1);
	memcpy(bytes->at + bytes->len, from, len);
	bytes->len += len;
}

static void bytes_drop(struct bytes *bytes, size_t len)
{
	if (len == 0)
		return; /* there may be none at all */
	bytes->len -= len;
	memmove(bytes->at, bytes->at + len, bytes->len);
}

static int failed(const char *path, struct err *err)
{
	return err_set(err, "--control: no socket can be made at %s: %s", path, strerror(errno));
}

/* Make place for the socket: remove one that nobody listens at. */
static int place_clear(const struct sockaddr_un *address, struct err *err)
{
	const char *path = address->sun_path;
	struct stat st;
	int fd, result;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : failed(path, err);
	if (!S_ISSOCK(st.st_mode))
		return err_set(
			err, "--control: %s is there and is no socket; give another name", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return failed(path, err);
	result = connect(fd, (const struct sockaddr *)address, sizeof(*address)) ? errno : 0;
	close(fd);
	if (result == 0 || result == EAGAIN)
		return err_set(
			err, "--control: another program listens at %s; give another name", path);
	if (result != ECONNREFUSED) {
		errno = result;
		return failed(path, err);
	}
	return unlink(path) && errno != ENOENT ? failed(path, err) : 0;
}

/* Only its owner may even connect, from the first moment on. */
static int listen_at(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), failure;
	mode_t mask = umask(0177);

	if (fd >= 0 && (bind(fd, (const struct sockaddr *)address, sizeof(*address)) ||
			       listen(fd, CLIENTS_MAX))) {
		failure = errno;
		close(fd);
		fd = -1;
		errno = failure;
	}
	umask(mask);
	return fd;
}

struct control_socket *control_socket_open(const char *path, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct control_socket *control;
	struct stat st = {0};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path)) {
		err_set(err, "--control: the name of a socket has %zu characters at most: %s",
			sizeof(address.sun_path) - 1, path);
		return NULL;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (place_clear(&address, err))
		return NULL;
	fd = listen_at(&address);
	if (fd < 0 || stat(path, &st)) {
		failed(path, err);
		return NULL;
	}
	control = mem_new(1, sizeof(*control));
	control->path = text_copy(path);
	control->fd = fd;
	control->device = st.st_dev;
	control->inode = st.st_ino;
	return control;
}

static void client_free(struct client *client)
{
	close(client->fd);
	free(client->in.at);
	free(client->out.at);
}

/* The mode of the socket keeps others out; root, whom no mode stops, is kept out of a user's run as
 * well. */
static void client_accept(struct control_socket *control, int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.uid != geteuid() ||
		control->n_clients == CLIENTS_MAX)
		close(fd);
	else
		control->clients[control->n_clients++] = (struct client){.fd = fd};
}

/* Read what there is. False: the connection has failed. */
static bool client_read(struct client *client)
{
	char buffer[4096];
	ssize_t n;

	while (!client->is_ended && client->in.len < LINE_MAX_LEN) {
		n = recv(client->fd, buffer, sizeof(buffer), MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		client->is_ended = n == 0;
		bytes_append(&client->in, buffer, (size_t)n);
	}
	return true;
}

/* flags: MSG_DONTWAIT, or to wait for the reader, as long as the socket's timeout allows. */
static bool client_write(struct client *client, int flags)
{
	size_t sent = 0;
	ssize_t n = 0;

	while (sent < client->out.len && n >= 0) {
		n = send(client->fd, client->out.at + sent, client->out.len - sent, flags | MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
	}
	bytes_drop(&client->out, sent);
	return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static void client_answer(struct client *client, struct session *session, const char *line)
{
	char *answer = control_answer(session, line);

	bytes_append(&client->out, answer, strlen(answer));
	bytes_append(&client->out, "\n", 1);
	free(answer);
}

/* In a process that may wait, for a reader that is not too slow. The line is the first one that came in. */
static char *answer_apart(struct session *session, const void *what)
{
	struct client client = *(const struct client *)what;
	struct timeval patience = {.tv_sec = PATIENCE_S};

	setsockopt(client.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	client_answer(&client, session, client.in.at);
	client_write(&client, 0);
	return NULL;
}

/* Have the first line answered apart from the run. False: not now. */
static bool client_put_off(struct client *client, struct session *session)
{
	int begun = session_writer_begin(session, answer_apart, client, NULL);

	if (begun > 0) {
		client->job = session_writer_job(session);
		client->out.len = 0; /* it is sent there */
	} else if (begun < 0) {
		client_answer(client, session, client->in.at);
	}
	return begun != 0;
}

/* Answer every whole line. */
static void client_obey(struct client *client, struct session *session)
{
	char *end;

	while (!client->job && client->in.len > 0 && (end = memchr(client->in.at, '\n', client->in.len))) {
		*end = '\0';
		if (end > client->in.at && end[-1] == '\r')
			end[-1] = '\0';
		if (!control_is_long(client->in.at)) {
			client_answer(client, session, client->in.at);
		} else if (!client_put_off(client, session)) {
			*end = '\n';
			return;
		}
		bytes_drop(&client->in, (size_t)(end + 1 - client->in.at));
	}
}

static bool client_has_line(const struct client *client)
{
	return client->in.len > 0 && memchr(client->in.at, '\n', client->in.len);
}

/* False: the client is done with, or not to be helped. */
static bool client_serve(struct client *client, struct session *session)
{
	if (client->job && client->job == session_writer_job(session))
		return true;
	client->job = 0;
	if (!client_read(client))
		return false;
	client_obey(client, session);
	if (client->job)
		return true;
	return client_write(client, MSG_DONTWAIT) && client->in.len < LINE_MAX_LEN &&
	       client->out.len < UNSENT_MAX && !(client->is_ended && client->out.len == 0 && !client_has_line(client));
}

void control_socket_serve(struct control_socket *control, struct session *session)
{
	int fd;

	while ((fd = accept4(control->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		client_accept(control, fd);
	for (size_t i = 0; i < control->n_clients;) {
		if (client_serve(&control->clients[i], session)) {
			i++;
			continue;
		}
		client_free(&control->clients[i]);
		control->clients[i] = control->clients[--control->n_clients];
	}
}

void control_socket_close(struct control_socket *control)
{
	struct stat st;

	if (!control)
		return;
	if (stat(control->path, &st) == 0 && st.st_dev == control->device &&
		st.st_ino == control->inode)
		unlink(control->path);
	for (size_t i = 0; i < control->n_clients; i++) {
		client_write(&control->clients[i], MSG_DONTWAIT);
		client_free(&control->clients[i]);
	}
	close(control->fd);
	free(control->path);
	free(control);
}
