/* fuzz_control takes bytes as a command of the control socket. The session is a dummy: what it is asked to do it
 * refuses or does by the last byte. Each answer must be one line of JSON that says whether it went well. */
#include "fuzz.h"
#include "../src/session_private.h"
#include "watchprof/control.h"
#include "watchprof/control_socket.h"
#include "watchprof/util.h"

#include <json-c/json.h>
#include <string.h>

static int asked(struct session *session, const char *text, struct err *err)
{
	struct watch watch;

	if (watch_parse(text, &watch, err))
		return -1;
	watch_fini(&watch);
	return session->is_paused ? err_set(err, "%s: not now", text) : 0;
}

int session_watch_add(struct session *session, const char *text, struct err *err)
{
	return asked(session, text, err);
}

int session_watch_change(struct session *session, const char *text, struct err *err)
{
	return asked(session, text, err);
}

int session_watch_clear(struct session *session, const char *text, struct err *err)
{
	return asked(session, text, err);
}

int session_pause(struct session *session, bool on, struct err *err)
{
	return session->is_paused == on ? err_set(err, "not now") : 0;
}

void session_zero(struct session *session)
{
	session->was_paused = true;
}

int session_trace(struct session *session, bool on, const char *path, struct err *err)
{
	if (path && !*path)
		return err_set(err, "an empty name");
	return session_pause(session, on, err);
}

int session_trace_dump(struct session *session, struct err *err)
{
	return session_pause(session, true, err);
}

void session_end(struct session *session, char *why)
{
	session->is_done = true;
	free(why);
}

uint64_t session_off(const struct session *session)
{
	return session->is_paused;
}

struct report session_report(const struct session *session, struct report_watch *watches)
{
	watches[0] = (struct report_watch){.text = "v:w", .access = "w", .addr = 0x1000, .len = 4, .slots = 1, .state = "armed"};
	return (struct report){.profile = session->profile, .watches = watches, .n_watches = 1, .pid = 1};
}

int session_report_write(struct session *session, FILE *out, enum report_format format, struct err *err)
{
	struct report_watch watches[WATCHES_MAX];
	struct report report = session_report(session, watches);

	return report_write(out, format, &report, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *line = mem_new(size + 1, 1), *answer;
	struct session session = {.profile = profile_new(10, NULL, NULL), .is_paused = size && bytes[size - 1] & 1};
	struct json_object *object, *ok;

	if (size)
		memcpy(line, bytes, size);
	answer = control_answer(&session, line);
	must(!strchr(answer, '\n'));
	object = json_tokener_parse(answer);
	must(object && json_object_object_get_ex(object, "ok", &ok));
	must(json_object_object_get_ex(object, "error", NULL) == !json_object_get_boolean(ok));
	json_object_put(object);
	free(answer);
	free(line);
	profile_free(session.profile);
	return 0;
}
