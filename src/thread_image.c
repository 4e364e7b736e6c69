/* thread_image.c owns what differs from thread to thread: the plan of the debug registers where
 * variables are thread-local. It never reads or writes a register. */
#include "watchprof/thread_image.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

struct armed {
	struct arming arming; /* without its arrays, which are below */
	struct span spans[WATCHES_MAX];
	const char *text[WATCHES_MAX];
	uint64_t modules[WATCHES_MAX];
};

/* The spans of an arming with the hook among them. */
static int arming_copy(const struct arming *arming, struct armed *out, struct err *err)
{
	if (arming->n > IMAGE_MOVED)
		return err_set(err, "more than %d watches", IMAGE_MOVED);
	memset(out, 0, sizeof(*out));
	memcpy(out->spans, arming->spans, arming->n * sizeof(out->spans[0]));
	memcpy(out->text, arming->text, arming->n * sizeof(out->text[0]));
	if (arming->modules)
		memcpy(out->modules, arming->modules, arming->n * sizeof(out->modules[0]));
	for (size_t i = 0; i < arming->n; i++) {
		if (arming->off >> i & 1)
			out->spans[i].len = 0;
	}
	if (arming->hook) {
		out->spans[IMAGE_HOOK] = (struct span){arming->hook, 1, ACCESS_EXECUTE};
		out->text[IMAGE_HOOK] = "the wait for libraries";
	}
	out->text[IMAGE_MOVED] = "the wait for thread-local storage";
	out->arming = *arming;
	out->arming.spans = NULL;
	out->arming.text = NULL;
	out->arming.modules = NULL;
	return 0;
}

int arming_plan(const struct arming *arming, struct dr_image *image, struct err *err)
{
	struct armed armed;

	if (arming_copy(arming, &armed, err))
		return -1;
	/* Storage begins as aligned as its module does, so that it is split in the same way; and what is
	 * in different modules is kept apart. */
	for (size_t i = 0; i < arming->n; i++)
		armed.spans[i].addr += armed.modules[i];
	return dr_plan(armed.spans, armed.text, WATCHES_MAX, image, err);
}

struct armed *armed_new(const struct arming *arming)
{
	struct armed *armed;
	struct err err;
	bool is_local = false;

	for (size_t i = 0; arming->modules && i < arming->n; i++)
		is_local |= arming->spans[i].len && arming->modules[i];
	if (!is_local)
		return NULL;
	armed = mem_new(1, sizeof(*armed));
	if (arming_copy(arming, armed, &err) == 0)
		return armed;
	free(armed);
	return NULL;
}

struct armed *armed_copy(const struct armed *armed)
{
	struct armed *copy;

	if (!armed)
		return NULL;
	copy = mem_new(1, sizeof(*copy));
	*copy = *armed;
	return copy;
}

void armed_free(struct armed *armed)
{
	free(armed);
}

bool armed_locate(const struct armed *armed, size_t i, pid_t tid, uint64_t thread_pointer, struct span *span,
	struct place *out)
{
	*span = armed->spans[i];
	*out = (struct place){0};
	if (!span->len || !armed->modules[i])
		return false;
	armed->arming.locate(armed->arming.context, tid, thread_pointer, armed->modules[i], span->addr, out);
	return true;
}

/* Put one thread-local span where the thread has it, or where it waits for it. Returns what would have
 * to be watched as well while it waits; 0: nothing. */
static uint64_t span_place(const struct arming *arming, pid_t tid, uint64_t thread_pointer, uint64_t module,
	struct span *span, bool *is_waiting)
{
	struct place place = {0};

	arming->locate(arming->context, tid, thread_pointer, module, span->addr, &place);
	*is_waiting = !place.addr;
	if (place.addr)
		span->addr = place.addr;
	else
		*span = (struct span){place.due, place.due ? 8 : 0, ACCESS_WRITE};
	return place.addr ? 0 : place.moved;
}

int armed_plan(const struct armed *armed, pid_t tid, uint64_t thread_pointer, bool with_spare,
	struct thread_image *out, struct err *err)
{
	struct armed own = *armed;
	uint64_t moved = 0;
	struct err ignored;

	*out = (struct thread_image){0};
	for (size_t i = 0; i < armed->arming.n; i++) {
		bool is_waiting;
		uint64_t also;

		if (!own.spans[i].len || !own.modules[i])
			continue;
		also = span_place(
			&armed->arming, tid, thread_pointer, own.modules[i], &own.spans[i], &is_waiting);
		moved = also ? also : moved;
		out->waiting |= (uint64_t)is_waiting << i;
		out->is_partial |= !own.spans[i].len;
	}
	if (moved && with_spare) {
		own.spans[IMAGE_MOVED] = (struct span){moved, 8, ACCESS_WRITE};
		out->waiting |= IMAGE_BIT(IMAGE_MOVED);
		out->has_spare = dr_plan(own.spans, own.text, WATCHES_MAX, &out->dr, &ignored) == 0;
		if (out->has_spare)
			return 0;
		own.spans[IMAGE_MOVED].len = 0;
	}
	return dr_plan(own.spans, own.text, WATCHES_MAX, &out->dr, err);
}

HIT_PATH int thread_image_only_slot(const struct thread_image *image, uint64_t ip)
{
	int found = -1;

	for (unsigned s = 0; s < image->dr.n_slots; s++) {
		const struct dr_slot *slot = &image->dr.slot[s];
		bool is_data = slot->access != ACCESS_EXECUTE;

		if ((is_data && found >= 0) || (!is_data && slot->addr == ip))
			return -1;
		if (is_data)
			found = (int)s;
	}
	return found;
}

HIT_PATH uint64_t thread_image_slots(const struct thread_image *image)
{
	const uint64_t others = image->waiting | IMAGE_BIT(IMAGE_HOOK);
	uint64_t bits = 0;

	for (unsigned s = 0; s < image->dr.n_slots; s++)
		bits |= (uint64_t)(((image->dr.slot[s].watches | image->dr.slot[s].possible) & ~others) != 0) << s;
	return bits;
}
