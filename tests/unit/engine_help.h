/* engine_help: what the tests of the debug register engine share: a process on the scripted
 * kernel with an engine attached to it, and short forms of its calls. */
#ifndef ENGINE_HELP_H
#define ENGINE_HELP_H

#include "watchprof/engine.h"
#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_sys.h"

#define P 100      /* the process; its threads are P, P+1, ... */
#define A 0x601040 /* what is watched first */
#define B 0x602080

/* DR7 for slot 0 alone, by access and length in bytes. */
#define DR7_RW8 0xb0001ULL
#define DR7_RW4 0xf0001ULL

int engine_setup(void **state);
int engine_teardown(void **state); /* fails the test if something forbidden was done */

/* A process of n threads and an engine on it; an empty log. */
struct engine *engine_on(size_t n);

/* Arm one span, as watch number i. */
int engine_arm_as(
	struct engine *engine, size_t i, struct span span, uint64_t hook, struct err *err);

/* The same as watch 0, read and write, without a hook; it must succeed. Clears the log. */
void engine_arm_rw(struct engine *engine, uint64_t addr, uint64_t len);

/* The next event within five ticks, and the same with what it must be. */
enum engine_event engine_next(struct engine *engine, struct engine_note *note);
void assert_quiet(struct engine *engine);
void assert_hit(struct engine *engine, pid_t tid, uint64_t watches);

/* Close, and see that every thread of P and its like runs untraced. Returns how long it took. */
uint64_t engine_end(struct engine *engine);

#endif
