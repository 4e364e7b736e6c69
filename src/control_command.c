/* control_command.c owns the commands of the control socket and their answers in JSON. What they do
 * is control.h's. */
#include "json_private.h"
#include "session_private.h"
#include "watchprof/control.h"
#include "watchprof/control_socket.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

static struct json_object *watch_object(
	const struct session *session, const struct report *report, unsigned i)
{
	struct json_object *object = json_watch_head(report, i);

	json_put(object, "disarmed", json_object_new_boolean(session_off(session) >> i & 1));
	json_put(object, "armed_share", json_object_new_double(report->watches[i].armed_share));
	json_put(object, "filtered", json_count(session->watches[i].filtered));
	return object;
}

static int list_command(
	struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	struct report_watch watches[WATCHES_MAX];
	struct report report = session_report(session, watches);
	struct json_object *list = json_object_new_array();

	(void)argument;
	(void)err;
	json_put(answer, "pid", json_count((uint64_t)report.pid));
	json_put(answer, "command", json_text(report.command));
	json_put(answer, "paused", json_object_new_boolean(session->is_paused));
	json_put(answer, "duration", json_object_new_double((double)report.duration_ns / NS_PER_S));
	json_put(answer, "threads_armed", json_count(report.threads_armed));
	json_put(answer, "hits", json_count(profile_hits(report.profile)));
	json_put(answer, "lost", json_count(report.lost));
	json_put(answer, "overrun", json_count(profile_overrun(report.profile)));
	for (unsigned i = 0; i < report.n_watches; i++)
		json_add(list, watch_object(session, &report, i));
	json_put(answer, "watches", list);
	return 0;
}

static int add_command(
	struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	(void)answer;
	return session_watch_add(session, argument, err);
}

static int change_command(
	struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	(void)answer;
	return session_watch_change(session, argument, err);
}

static int clear_command(
	struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	(void)answer;
	return session_watch_clear(session, argument, err);
}

static int pause_command(
	struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	(void)argument;
	(void)answer;
	return session_pause(session, true, err);
}

static int resume_command(
	struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	(void)argument;
	(void)answer;
	return session_pause(session, false, err);
}

static int zero_command(
	struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	(void)argument;
	(void)answer;
	(void)err;
	session_zero(session);
	return 0;
}

static int trace_command(struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	bool has_file = strncmp(argument, "on ", 3) == 0 && argument[3];

	(void)answer;
	if (strcmp(argument, "dump") == 0)
		return session_trace_dump(session, err);
	if (!has_file && strcmp(argument, "on") != 0 && strcmp(argument, "off") != 0)
		return err_set(err, "trace: '%s' is none of on, on FILE, off, dump", argument);
	return session_trace(session, argument[1] == 'n', has_file ? argument + 3 : NULL, err);
}

static int quit_command(
	struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	(void)argument;
	(void)answer;
	(void)err;
	session_end(session, text_copy("ended by the control socket"));
	return 0;
}

/* Bytes as text (RFC 4648, section 4), for what is no text; the caller frees it. */
static char *base64(const unsigned char *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = mem_new((len + 2) / 3 * 4 + 1, 1), *out = text;

	for (size_t i = 0; i < len; i += 3) {
		size_t n = len - i < 3 ? len - i : 3;
		uint32_t word = (uint32_t)bytes[i] << 16 |
				(uint32_t)(n > 1 ? bytes[i + 1] : 0) << 8 |
				(n > 2 ? bytes[i + 2] : 0);

		for (size_t d = 0; d < 4; d++)
			*out++ = d <= n ? digits[word >> (18 - 6 * d) & 63] : '=';
	}
	return text;
}

static int report_command(
	struct session *session, const char *argument, struct json_object *answer, struct err *err)
{
	enum report_format format;
	char *text = NULL;
	size_t len;
	FILE *out;
	int result;

	if (report_format_parse(argument, &format, err))
		return -1;
	out = open_memstream(&text, &len);
	if (!out)
		die("out of memory");
	result = session_report_write(session, out, format, err);
	if (fclose(out) || !text)
		die("out of memory");
	if (result == 0) {
		char *coded = format == REPORT_PPROF ? base64((const unsigned char *)text, len)
						     : text_copy(text);

		json_put(answer, "format", json_text(argument));
		json_put(answer, "encoding", json_text(format == REPORT_PPROF ? "base64" : "text"));
		json_put(answer, "report", json_object_new_string(coded));
		free(coded);
	}
	free(text);
	return result;
}

static const struct {
	const char *name;
	const char *argument; /* what it is called in messages; NULL: there is none */
	int (*run)(struct session *session, const char *argument, struct json_object *answer,
		struct err *err);
	bool is_long; /* it changes nothing, and may take long */
} commands[] = {
	{"list", NULL, list_command, false},
	{"add", "WATCH", add_command, false},
	{"change", "EXPR:ACCESS", change_command, false},
	{"clear", "WATCH", clear_command, false},
	{"pause", NULL, pause_command, false},
	{"resume", NULL, resume_command, false},
	{"zero", NULL, zero_command, false},
	{"report", "FORMAT", report_command, true},
	{"trace", "on [FILE]|off|dump", trace_command, false},
	{"quit", NULL, quit_command, false},
};

static int unknown_command(const char *name, size_t len, struct err *err)
{
	err_set(err, "unknown command '%.*s': use", (int)len, name);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		err_append(err, "%s %s", i ? "," : "", commands[i].name);
	return -1;
}

static int command_run(
	struct session *session, const char *line, struct json_object *answer, struct err *err)
{
	size_t len = strcspn(line, " ");
	const char *argument = line + len + strspn(line + len, " ");

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const char *name = commands[i].name;

		if (strlen(name) != len || strncmp(line, name, len) != 0)
			continue;
		if (!commands[i].argument && *argument)
			return err_set(err, "%s takes no argument", name);
		if (commands[i].argument && !*argument)
			return err_set(err, "%s needs an argument: %s %s", name, name,
				commands[i].argument);
		return commands[i].run(session, argument, answer, err);
	}
	return unknown_command(line, len, err);
}

bool control_is_long(const char *line)
{
	size_t len = strcspn(line, " ");

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strlen(commands[i].name) == len && strncmp(line, commands[i].name, len) == 0)
			return commands[i].is_long;
	}
	return false;
}

char *control_answer(struct session *session, const char *line)
{
	struct json_object *answer = json_object_new_object();
	struct err err = {0};
	bool is_good;
	char *text;

	json_put(answer, "ok", json_object_new_boolean(true));
	is_good = command_run(session, line, answer, &err) == 0;
	if (!is_good) {
		json_put(answer, "ok", json_object_new_boolean(false));
		json_put(answer, "error", json_text(err.text));
	}
	text = text_copy(json_object_to_json_string_ext(
		answer, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(answer);
	return text;
}
