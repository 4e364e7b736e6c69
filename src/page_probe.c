/* page_probe.c owns the self-test of the page engine: the engine itself, on a child of our own. */
#include "watchprof/page_probe.h"

#include "watchprof/engine.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HITS_EXPECTED 2
#define PROBE_NS      (5 * NS_PER_S)

/* The child: wait until the dummy is watched, then touch it twice. */
static _Noreturn void probe_child(int go, volatile uint64_t *dummy)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		_exit(1);
	*dummy = 1;
	_exit(*dummy == 1 ? 0 : 1);
}

/* Watch the dummy of the child until it ends; how many hits it had, -1: it failed, and err tells. */
static int probe_count(pid_t child, int go, const volatile uint64_t *dummy, struct err *err)
{
	const struct span span = {(uint64_t)(uintptr_t)dummy, sizeof(*dummy), ACCESS_READ_WRITE};
	const char *text = "dummy";
	const struct arming arming = {.spans = &span, .text = &text, .n = 1};
	const struct target target = {.pid = child, .input_fd = -1, .output_fd = -1};
	struct engine_note *note = mem_new(1, sizeof(*note));
	uint64_t deadline = clock_now_ns() + PROBE_NS;
	struct engine *engine = engine_page.open(&target, &child, err);
	enum engine_event event = ENGINE_HIT;
	int hits = -1;

	if (engine && engine_page.arm(engine, child, &arming, err) == 0)
		hits = write(go, "", 1) == 1 ? 0 : err_set(err, "self-test: its process has ended: %s", strerror(errno));
	while (hits >= 0 && event != ENGINE_END && event != ENGINE_EXITED && clock_now_ns() < deadline) {
		event = engine_page.next(engine, note, clock_now_ns() + NS_PER_S / 10);
		hits += event == ENGINE_HIT;
	}
	engine_page.close(engine);
	free(note);
	return hits;
}

int page_probe(struct err *err)
{
	volatile uint64_t *dummy =
		mmap(NULL, sizeof(*dummy), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int go[2], hits, status, failure;
	pid_t child;

	if (dummy == MAP_FAILED || pipe(go))
		return err_set(err, "self-test: no memory or no pipe: %s", strerror(errno));
	child = fork();
	failure = errno;
	if (child == 0) {
		close(go[1]);
		probe_child(go[0], dummy);
	}
	close(go[0]);
	sys_ticks(NS_PER_S / 10);
	hits = child < 0 ? -1 : probe_count(child, go[1], dummy, err);
	sys_ticks(0);
	close(go[1]);
	munmap((void *)dummy, sizeof(*dummy));
	if (child < 0)
		return err_set(err, "self-test: no process: %s", strerror(failure));
	sys_kill(child, SIGKILL);
	while (sys_wait(&status, true) >= 0)
		;
	if (hits < 0) {
		err->status = ERR_NO_ENGINE;
		return -1;
	}
	if (hits != HITS_EXPECTED)
		return err_set_status(err, ERR_NO_ENGINE, "the page engine does not work here: %d hits instead of %d in the self-test",
			hits, HITS_EXPECTED);
	return 0;
}
