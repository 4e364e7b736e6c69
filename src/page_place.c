/* page_place.c owns when it is looked up where threads have their own of thread-local variables: when they are armed, when they
 * begin, when they get one, and when they end. Their pages are shut and opened by space.c. */
#include "page_private.h"

#include "watchprof/sys.h"

#include <string.h>

bool page_is_local(const struct arming *arming)
{
	for (size_t i = 0; arming->modules && i < arming->n; i++) {
		if (arming->spans[i].len && arming->modules[i])
			return true;
	}
	return false;
}

struct arming page_common(const struct arming *arming, struct span spans[WATCHES_MAX])
{
	struct arming common = *arming;

	memcpy(spans, arming->spans, arming->n * sizeof(*spans));
	for (size_t i = 0; arming->modules && i < arming->n; i++) {
		if (arming->modules[i])
			spans[i].len = 0;
	}
	common.spans = spans;
	common.modules = NULL;
	return common;
}

/* Look up what a stopped thread has. Returns whether that has changed. */
static bool thread_take(struct engine *engine, struct thread *thread, struct places *places)
{
	struct page_thread *own = page_thread(engine, thread);
	struct user_regs_struct regs;
	bool was_partial = own->is_partial, has_changed;

	if (sys_regs_get(own->tid, &regs))
		return false;
	own->thread_pointer = regs.fs_base;
	has_changed = places_take(places, own->tid, regs.fs_base, &own->is_partial);
	engine->counts.threads_unarmed += own->is_partial && !was_partial;
	return has_changed;
}

static bool is_in_space(struct engine *engine, const struct thread *thread, const struct space *space)
{
	const struct process *process = process_find(engine, thread_pid(thread));

	return process && process->space == space;
}

struct places *page_places(struct engine *engine, const struct process *process, const struct arming *arming)
{
	struct places *places = places_new(arming);
	struct thread *thread = NULL;

	while (places && (thread = tracees_first(engine->tracees, thread))) {
		if (thread_is_stopped(thread) && is_in_space(engine, thread, process->space))
			thread_take(engine, thread, places);
	}
	return places;
}

/* Others run: those are stopped that may be touched by what will be shut. */
static void threads_stop(struct engine *engine, const struct process *process, const struct places *places)
{
	const struct arming none = {0};

	if (space_agent(process->space) && space_is_watched(process->space))
		page_calls_spare(engine, process, &none, places);
	else
		page_spare_nobody(engine);
	space_threads_stop(engine, process->space);
}

/* All stand. On failure nothing has changed. */
static int places_arm(struct engine *engine, struct process *process, struct places *places)
{
	struct thread *thread = page_thread_stopped(engine, process->pid);
	const struct arming none = {0};
	int status = 0, result;
	struct err ignored;

	if (page_rseqs_withdraw(engine, process, &none, places, &ignored))
		return -1;
	if (thread && !space_agent(process->space)) {
		page_call_put_off(thread);
		page_signal_begin(thread);
	}
	if (thread)
		status = thread_status(thread);
	result = space_place(process->space, thread ? thread_tid(thread) : 0, &status, places, &ignored);
	if (thread)
		thread_status_set(thread, status);
	if (result == 0)
		page_threads_prepare(engine, process);
	return result;
}

void page_place(struct engine *engine, struct process *process, struct thread *thread)
{
	struct places *places = places_copy(space_places(process->space));
	struct err ignored;
	int result;

	if (!places || !thread_take(engine, thread, places)) {
		places_free(places);
		return;
	}
	if (space_is_placed(process->space, places)) {
		result = space_place(process->space, 0, NULL, places, &ignored);
	} else {
		threads_stop(engine, process, places);
		result = places_arm(engine, process, places);
		space_threads_go(engine, process->space);
	}
	if (result == 0)
		return;
	engine->counts.threads_unarmed++;
	places_free(places);
}

/* Does another thread that shares the memory have the same thread pointer? One that was made by vfork(2) has. */
static bool is_shared(struct engine *engine, const struct space *space, const struct page_thread *own)
{
	struct thread *thread = NULL;

	while ((thread = tracees_first(engine->tracees, thread))) {
		const struct page_thread *other = thread_mark(thread)->own;

		if (other && other != own && other->thread_pointer == own->thread_pointer && is_in_space(engine, thread, space))
			return true;
	}
	return false;
}

void page_place_end(struct engine *engine, struct process *process, struct thread *thread)
{
	struct page_thread *own = page_thread(engine, thread);
	struct places *places = places_copy(space_places(process->space));
	struct err ignored;

	if (!places || is_shared(engine, process->space, own) || !places_drop(places, own->thread_pointer) ||
		space_place(process->space, 0, NULL, places, &ignored))
		places_free(places);
}
