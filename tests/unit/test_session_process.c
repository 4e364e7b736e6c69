/* test_session_process.c checks the list of followed processes: the newest one of an id is found, whatever others share
 * its chain, and what is beyond the list is
 * counted, and known while it runs. */
#include "session_private.h"
#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define LISTED 10000 /* PROCESSES_MAX of session_process.c */
#define PID    0x3f000000 /* beyond what the kernel gives (PID_MAX_LIMIT) */

/* In place of session_child.c: nobody has an image. */
struct session_image *session_image_find(const struct session *session, uint32_t id)
{
	(void)session;
	(void)id;
	return NULL;
}

struct session_image *session_image_run(struct session *session, pid_t pid, uint32_t engine_image)
{
	(void)session;
	(void)pid;
	(void)engine_image;
	return NULL;
}

void session_image_leave(struct session *session, uint32_t id)
{
	(void)session;
	(void)id;
}

static void session_free(struct session *session)
{
	for (size_t i = 0; i < session->n_processes; i++) {
		free(session->processes[i].command);
		free(session->processes[i].end);
	}
	free(session->processes);
	free(session);
}

static void test_newest(void **state)
{
	struct session *session = mem_new(1, sizeof(*session));
	const pid_t shared = PID + (pid_t)PROCESS_CHAINS;

	(void)state;
	assert_null(session_process_find(session, PID));
	session_take_fork(session, PID, 1, 7);
	session_take_fork(session, shared, PID, 8);
	assert_null(session_process_find(session, PID + 2 * (pid_t)PROCESS_CHAINS));
	assert_int_equal(session_process_find(session, PID)->image, 7);
	assert_int_equal(session_process_find(session, shared)->parent, PID);
	session_take_end(session, PID, 3 << 8);
	/* The id comes again. */
	session_take_fork(session, PID, shared, 9);
	assert_int_equal(session_process_find(session, PID)->image, 9);
	assert_null(session_process_find(session, PID)->end);
	session_take_exec(session, PID, 10);
	assert_int_equal(session_process_find(session, PID)->image, 10);
	assert_int_equal(session->processes[0].image, 7);
	assert_string_equal(session->processes[0].end, "exited with status 3");
	session_free(session);
}

static void test_full(void **state)
{
	struct session *session = mem_new(1, sizeof(*session));

	(void)state;
	for (pid_t i = 0; i < LISTED + 2; i++)
		session_take_fork(session, PID + i, 1, (uint32_t)i);
	assert_int_equal(session_processes_listed(session), LISTED);
	assert_int_equal(session->n_processes_left_out, 2);
	for (pid_t i = 0; i < LISTED + 2; i++)
		assert_int_equal(session_process_find(session, PID + i)->image, i);
	/* Those beyond are known while they run, so that they get changes of the watches. */
	session_take_exec(session, PID + LISTED, 5);
	assert_int_equal(session_process_find(session, PID + LISTED)->image, 5);
	assert_null(session_process_find(session, PID + LISTED)->command);
	session_take_end(session, PID + LISTED, 0);
	assert_null(session_process_find(session, PID + LISTED));
	assert_int_equal(session_process_find(session, PID + LISTED + 1)->image, LISTED + 1);
	session_take_end(session, PID + LISTED, 0); /* nothing, and no harm */
	/* Their places are used again. */
	session_take_fork(session, PID + LISTED + 2, 1, 77);
	session_take_fork(session, PID + LISTED + 3, 1, 78);
	assert_int_equal(session_process_find(session, PID + LISTED + 2)->image, 77);
	assert_int_equal(session_process_find(session, PID + LISTED + 3)->image, 78);
	assert_int_equal(session->n_processes, LISTED + 3);
	assert_int_equal(session->n_processes_left_out, 4);
	/* One that is listed stays when it ends. */
	session_take_end(session, PID, 0);
	assert_string_equal(session_process_find(session, PID)->end, "exited with status 0");
	assert_int_equal(session_processes_listed(session), LISTED);
	session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
