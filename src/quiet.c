/* quiet.c owns the frontend that shows nothing: for reports and scripts. */
#include "watchprof/frontend.h"

#include <stddef.h>

static char *quiet_farewell(void)
{
	return NULL;
}

static int quiet_open(struct frontend **out, uint64_t interval_ns, bool may_leave, struct err *err)
{
	(void)interval_ns;
	(void)may_leave;
	(void)err;
	*out = NULL;
	return 0;
}

static struct frontend_wish quiet_tick(struct frontend *frontend, const struct report *report,
	uint64_t now_ns)
{
	(void)frontend;
	(void)report;
	(void)now_ns;
	return (struct frontend_wish){.kind = WISH_NONE};
}

static void quiet_tell(struct frontend *frontend, const char *text)
{
	(void)frontend;
	(void)text;
}

static void quiet_finish(struct frontend *frontend)
{
	(void)frontend;
}

static void quiet_close(struct frontend *frontend)
{
	(void)frontend;
}

const struct frontend_ops frontend_quiet = {
	.name = "quiet",
	.farewell = quiet_farewell,
	.open = quiet_open,
	.tick = quiet_tick,
	.tell = quiet_tell,
	.finish = quiet_finish,
	.close = quiet_close,
};
