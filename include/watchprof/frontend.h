/* frontend: the door to whoever looks at the counts while they are made. The other of the
 * two tables of function pointers of the program. */
#ifndef WATCHPROF_FRONTEND_H
#define WATCHPROF_FRONTEND_H

#include "watchprof/err.h"
#include "watchprof/report.h"

struct frontend;

enum wish_kind {
	WISH_NONE,
	WISH_QUIT,     /* the user wants to end the run */
	WISH_ZERO,     /* begin counting anew */
	WISH_REPORT,   /* write a report of what was counted up to now: format, to the file text */
	WISH_ADD,      /* watch text, as -e does */
	WISH_CHANGE,   /* text is EXPR:ACCESS */
	WISH_CLEAR,    /* stop watching text */
	WISH_TRACE,    /* trace on, or off; text: the file of a trace that is to begin, or NULL */
	WISH_INTERVAL, /* refresh every interval_ns; this and the next one are the frontend's own affair */
	WISH_SUSPEND,  /* give the terminal back to the shell for a while */
};

/* What the user wants of the run. */
struct frontend_wish {
	enum wish_kind kind;
	const char *text; /* belongs to the frontend, until it is called again */
	enum report_format format;
	uint64_t interval_ns;
	bool on;
};

struct frontend_ops {
	const char *name;

	/* What gives the terminal back if it is written when the frontend has died; NULL: nothing is needed. The caller
	 * frees it. */
	char *(*farewell)(void);

	/* Get ready to show; -1 with err set where that is impossible here. Called before the
	 * target is touched. interval_ns: how often the picture shall change. may_leave: the shell can have the terminal
	 * for a while, as it waits for another process than this one, which can be stopped (guardian.h). */
	int (*open)(struct frontend **out, uint64_t interval_ns, bool may_leave, struct err *err);

	/* Called about ten times a second with the state of the run. Must return soon. */
	struct frontend_wish (*tick)(struct frontend *frontend, const struct report *report, uint64_t now_ns);

	/* What came of a wish, in one line. */
	void (*tell)(struct frontend *frontend, const char *text);

	/* The run has ended and the target has been let go. The session goes on to call tick()
	 * until the user quits, where it ended by itself. */
	void (*finish)(struct frontend *frontend);

	/* Give the terminal back. NULL is fine. */
	void (*close)(struct frontend *frontend);
};

extern const struct frontend_ops frontend_quiet;
extern const struct frontend_ops frontend_tui;

#endif
