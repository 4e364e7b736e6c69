/* control_socket: the socket that takes commands while a run goes on: one a line, answered by a line of
 * JSON each. Only the user that watchprof runs as may connect. */
#ifndef WATCHPROF_CONTROL_SOCKET_H
#define WATCHPROF_CONTROL_SOCKET_H

#include "watchprof/err.h"

#include <stdbool.h>

struct control_socket;
struct session;

/* Listen at path, with mode 0600. A socket that nobody listens at any more is replaced; anything else that is
 * there is left alone, and refused. NULL with err set. */
struct control_socket *control_socket_open(const char *path, struct err *err);

/* Do what came since the last time. Never waits. */
void control_socket_serve(struct control_socket *socket, struct session *session);

/* Say farewell to clients and remove the socket. NULL is fine. */
void control_socket_close(struct control_socket *socket);

/* Does a command take so long that it is better done apart from the run? */
bool control_is_long(const char *line);

/* One command; its answer, a line without the newline, is the caller's. */
char *control_answer(struct session *session, const char *line);

#endif
