/* access.c owns the way from a stopped thread to what its access did: which code is decoded, which registers are
 * read, and what that means for each watch. It leaves the thread as it is. */
#include "watchprof/access.h"

#include "watchprof/insn_cache.h"
#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

#define XSAVE_BYTES_MAX 16384
#define HIT_UNKNOWN	(HIT_READ_UNKNOWN | HIT_WRITE_UNKNOWN)

struct accesses {
	struct unwinder *unwinder;
	struct boundaries further;
	struct insn_cache *cache;
	struct insn_xsave layout;
	unsigned char xsave[XSAVE_BYTES_MAX];
};

struct accesses *accesses_new(struct unwinder *unwinder)
{
	struct accesses *accesses = mem_new(1, sizeof(*accesses));

	accesses->unwinder = unwinder;
	accesses->cache = insn_cache_new();
	accesses->layout = insn_xsave_here();
	return accesses;
}

void accesses_free(struct accesses *accesses)
{
	if (!accesses)
		return;
	insn_cache_free(accesses->cache);
	free(accesses);
}

HIT_PATH void accesses_boundaries(struct accesses *accesses, const struct boundaries *boundaries)
{
	accesses->further = *boundaries;
}

/* First the one sure boundary that the unwind tables give: the start of the function with the instruction that
 * ends at ip. */
static bool boundary(void *context, uint64_t ip, unsigned nth, uint64_t *start)
{
	struct accesses *accesses = context;

	if (nth > 0)
		return accesses->further.find && accesses->further.find(accesses->further.context, ip, nth - 1, start);
	if (!unwind_function(accesses->unwinder, ip - 1, start))
		*start = ip; /* none, but there may be further ones */
	return true;
}

HIT_PATH static size_t code_read(void *context, uint64_t addr, void *out, size_t len)
{
	struct accesses *accesses = context;

	return unwind_code(accesses->unwinder, addr, out, len);
}

HIT_PATH static const struct insn_place *place_find(struct accesses *accesses, uint64_t ip)
{
	const struct insn_source source = {accesses, boundary, code_read};

	return insn_cache_find(accesses->cache, ip, &source);
}

HIT_PATH bool access_shoot_plain(struct accesses *accesses, const struct user_regs_struct *regs, uint64_t addr, uint64_t len,
	struct access_shot *out)
{
	out->regs = regs;
	out->has_vectors = false;
	out->place = *place_find(accesses, regs->rip);
	out->place.is_entry = unwind_is_entry(accesses->unwinder, regs->rip);
	return insn_is_plain(&out->place, addr, len);
}

static bool vectors_take(struct accesses *accesses, pid_t tid, struct insn_vectors *out)
{
	ssize_t n = sys_xstate_get(tid, accesses->xsave, sizeof(accesses->xsave));

	return n > 0 && insn_vectors_read(accesses->xsave, (size_t)n, &accesses->layout, out);
}

void access_shoot(struct accesses *accesses, pid_t tid, const struct user_regs_struct *regs, uint64_t back,
	struct access_shot *out)
{
	out->regs = regs;
	out->place = *place_find(accesses, regs->rip);
	out->place.is_entry = unwind_is_entry(accesses->unwinder, regs->rip);
	if (out->place.is_entry && back)
		out->place.caller = place_find(accesses, back)->before;
	out->has_vectors = (insn_needs_vectors(&out->place.before) || insn_needs_vectors(&out->place.at)) &&
		vectors_take(accesses, tid, &out->vectors);
}

/* Is what was done to a watch what it asks for? What is not known may be. */
static bool is_asked(const struct dr_image *dr, unsigned watch, uint8_t kind)
{
	return (dr->readers >> watch & 1 && kind & (HIT_READ | HIT_READ_UNKNOWN)) ||
		(dr->writers >> watch & 1 && kind & (HIT_WRITE | HIT_WRITE_UNKNOWN));
}

/* Where a slot for writes has fired, there was a write: a verdict without one was wrong. */
static uint8_t kind_with_write(uint8_t kind)
{
	if (kind & HIT_WRITE)
		return kind;
	return kind & HIT_WRITE_UNKNOWN ? (uint8_t)((kind & ~HIT_WRITE_UNKNOWN) | HIT_WRITE) : HIT_WRITE | HIT_READ_UNKNOWN;
}

/* What is known of a hit but for the watch: what the slots that fired say, and the thread. */
struct evidence {
	const struct dr_image *dr;
	const struct insn_place *place; /* NULL: nothing is known of the thread */
	struct insn_state state;
	uint64_t touched, written, executed;
	bool is_masked_off;
	bool is_at; /* the instruction at ip did it */
};

HIT_PATH static uint8_t data_kind(struct evidence *evidence, unsigned watch)
{
	struct insn_access access = {.kind = HIT_UNKNOWN};
	uint64_t bit = 1ULL << watch, addr, len;

	if (!dr_watch_range(evidence->dr, watch, &addr, &len))
		return 0;
	if (!(evidence->touched & bit)) {
		if (!evidence->place || !insn_covers(evidence->place, &evidence->state, addr, len, &access))
			return 0;
		evidence->is_at |= access.is_at;
		return access.kind;
	}
	if (evidence->place)
		access = insn_judge(evidence->place, &evidence->state, addr, len);
	if (access.touched == TOUCHED_NO) {
		evidence->is_masked_off = true;
		return 0;
	}
	evidence->is_at |= access.is_at;
	return evidence->written & bit ? kind_with_write(access.kind) : access.kind;
}

/* 0: not a hit of this watch. */
HIT_PATH static uint8_t watch_kind(struct evidence *evidence, unsigned watch)
{
	uint64_t bit = 1ULL << watch;
	uint8_t kind;

	if (evidence->executed & bit) {
		evidence->is_at = true;
		return HIT_EXECUTE;
	}
	kind = data_kind(evidence, watch);
	return is_asked(evidence->dr, watch, kind) ? kind : 0;
}

static struct evidence evidence_of(const struct access_shot *shot, const struct dr_image *dr, uint64_t dr6)
{
	uint64_t writes = dr6 & dr_slots_of(dr, ACCESS_WRITE), executes = dr6 & dr_slots_of(dr, ACCESS_EXECUTE);

	return (struct evidence){
		.dr = dr,
		.place = shot ? &shot->place : NULL,
		.state = {shot ? shot->regs : NULL, shot && shot->has_vectors ? &shot->vectors : NULL},
		.touched = dr_watches_hit(dr, dr6) | dr_watches_possible(dr, dr6),
		.written = dr_watches_hit(dr, writes) | dr_watches_possible(dr, writes),
		.executed = dr_watches_hit(dr, executes),
	};
}

HIT_PATH bool access_judge(const struct access_shot *shot, const struct dr_image *dr, uint64_t dr6, uint64_t counted,
	struct hit *hit)
{
	struct evidence evidence = evidence_of(shot, dr, dr6);
	uint64_t known = (dr->readers | dr->writers | evidence.executed) & counted;

	hit->watches = 0;
	hit->kind = 0;
	memset(hit->kinds, 0, sizeof(hit->kinds));
	for (; known; known &= known - 1) {
		unsigned i = (unsigned)__builtin_ctzll(known);

		hit->kinds[i] = watch_kind(&evidence, i);
		hit->watches |= (uint64_t)(hit->kinds[i] != 0) << i;
		hit->kind |= hit->kinds[i];
	}
	hit->is_at = evidence.is_at;
	return hit->watches || !evidence.is_masked_off;
}
