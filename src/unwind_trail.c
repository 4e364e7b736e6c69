/* unwind_trail.c owns the paths that were walked by rules before, as a tree: each frame's stride has been found below
 * that of the frame inside it. A path is known again where each return address is the same word, at the same distance
 * from the innermost stack pointer, as the rules put it then; then the rules would lead there again, frame by frame:
 * the same instructions have the same rules, and what those start from is either fixed by the frames before or
 * compared as well. It reads no memory but the copy of the stack, and knows no rule that takes an expression, no
 * signal's frame, no frame of another size than that of the first time: these take the rules again. */
#include "unwind_private.h"

#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

#define STRIDES_FIRST 32
#define STRIDES_MAX   (1U << 16) /* then all are found anew: some 3 MB */

enum stride_kind {
	STRIDE_UNKNOWN, /* not gone yet, or only rules can tell */
	STRIDE_FIXED,
	STRIDE_END, /* the outermost frame */
};

/* One frame of the paths that have the same frames inside it. Offsets are from the innermost frame's stack pointer. */
struct stride {
	uint64_t ip;
	uint32_t inner; /* the frame that this one called */
	uint32_t last;	/* the caller that was seen last, or 0 */
	uint8_t kind;	/* enum stride_kind */
	/* What its frame address was made from, where the frames inside do not fix that. */
	uint8_t check; /* enum origin_kind */
	uint8_t reg;
	int32_t check_slot, check_offset;
	int32_t slot; /* where its return address lies */
};

struct trail {
	struct stride *strides; /* 0: none, inside all innermost frames */
	uint32_t n, cap;
	uint32_t epoch;	    /* of the numbers of strides: they begin anew with each */
	uint32_t *bucket;   /* stride; 0: free */
	uint32_t n_buckets; /* a power of two, twice cap */
};

static uint32_t bucket_of(const struct trail *trail, uint32_t inner, uint64_t ip)
{
	return (uint32_t)(((ip + inner) * 0x9e3779b97f4a7c15ULL) >> 32) & (trail->n_buckets - 1);
}

static void bucket_put(struct trail *trail, uint32_t i)
{
	uint32_t b = bucket_of(trail, trail->strides[i].inner, trail->strides[i].ip);

	while (trail->bucket[b])
		b = (b + 1) & (trail->n_buckets - 1);
	trail->bucket[b] = i;
}

static void trail_resize(struct trail *trail, uint32_t cap)
{
	trail->cap = cap;
	trail->strides = mem_resize(trail->strides, cap, sizeof(*trail->strides));
	free(trail->bucket);
	trail->n_buckets = cap * 2;
	trail->bucket = mem_new(trail->n_buckets, sizeof(*trail->bucket));
	for (uint32_t i = 1; i < trail->n; i++)
		bucket_put(trail, i);
}

struct trail *trail_new(void)
{
	struct trail *trail = mem_new(1, sizeof(*trail));

	trail_resize(trail, STRIDES_FIRST);
	trail_clear(trail);
	return trail;
}

void trail_free(struct trail *trail)
{
	if (!trail)
		return;
	free(trail->strides);
	free(trail->bucket);
	free(trail);
}

void trail_clear(struct trail *trail)
{
	trail->n = 1;
	trail->epoch++;
	trail->strides[0] = (struct stride){0};
	memset(trail->bucket, 0, trail->n_buckets * sizeof(*trail->bucket));
}

/* The stride of a frame, or 0. */
static uint32_t stride_find(const struct trail *trail, uint32_t inner, uint64_t ip)
{
	uint32_t b = bucket_of(trail, inner, ip);

	while (trail->bucket[b]) {
		const struct stride *stride = &trail->strides[trail->bucket[b]];

		if (stride->ip == ip && stride->inner == inner)
			return trail->bucket[b];
		b = (b + 1) & (trail->n_buckets - 1);
	}
	return 0;
}

static uint32_t stride_search(struct trail *trail, uint32_t inner, uint64_t ip)
{
	uint32_t found = stride_find(trail, inner, ip);

	if (found)
		trail->strides[inner].last = found;
	return found;
}

/* The stride of a frame's caller, or 0. */
static inline uint32_t stride_next(struct trail *trail, uint32_t inner, uint64_t ip)
{
	uint32_t last = trail->strides[inner].last;

	return last && trail->strides[last].ip == ip ? last : stride_search(trail, inner, ip);
}

static uint32_t stride_add(struct trail *trail, uint32_t inner, uint64_t ip)
{
	if (trail->n == STRIDES_MAX) {
		trail_clear(trail);
		if (inner)
			return 0; /* it is gone with them */
	}
	if (trail->n == trail->cap)
		trail_resize(trail, trail->cap * 2);
	trail->strides[trail->n] = (struct stride){.ip = ip, .inner = inner};
	trail->strides[inner].last = trail->n;
	bucket_put(trail, trail->n);
	return trail->n++;
}

/* --- following -------------------------------------------------------------------------------- */

/* The word of the stack at an offset from the stack pointer. */
static bool slot_read(const struct stack_image *stack, uint64_t sp, int32_t slot, uint64_t *value)
{
	uint64_t offset = sp + (uint64_t)(int64_t)slot - stack->start;

	if (stack->len < sizeof(*value) || offset > stack->len - sizeof(*value))
		return false;
	memcpy(value, stack->bytes + offset, sizeof(*value));
	return true;
}

/* Is what this frame's address is made from what it was? */
static bool is_as_before(const struct stride *stride, const uint64_t *regs, uint32_t known,
	const struct stack_image *stack, struct unwinding *out)
{
	uint64_t value = regs[stride->reg];

	if (stride->check == ORIGIN_FIXED)
		return true;
	out->lacks_regs = stride->check == ORIGIN_REGISTER && !(known & 1U << stride->reg);
	if (out->lacks_regs)
		return false;
	if (stride->check == ORIGIN_SLOT && !slot_read(stack, regs[DWARF_RSP], stride->check_slot, &value))
		return false;
	return value - regs[DWARF_RSP] == (uint64_t)(int64_t)stride->check_offset;
}

HIT_PATH bool trail_follow(struct trail *trail, const uint64_t *regs, uint32_t known, const struct stack_image *stack,
	struct unwinding *out)
{
	uint32_t at = stride_next(trail, 0, regs[DWARF_RA]);
	uint64_t ip;

	for (out->n = 1; at; out->frames[out->n++] = ip) {
		const struct stride *stride = &trail->strides[at];

		if (stride->kind == STRIDE_END) {
			out->end = PATH_WHOLE;
			return true;
		}
		if (stride->kind != STRIDE_FIXED || !is_as_before(stride, regs, known, stack, out) ||
			!slot_read(stack, regs[DWARF_RSP], stride->slot, &ip))
			return false;
		out->used = regs[DWARF_RSP] + (uint64_t)(int64_t)stride->slot + sizeof(ip) - stack->start;
		if (ip == 0 || out->n == out->max) {
			out->end = ip == 0 ? PATH_WHOLE : PATH_TRUNCATED;
			return true;
		}
		at = stride_next(trail, at, ip);
	}
	return false;
}

/* --- taking note ------------------------------------------------------------------------------ */

void trail_begin(struct trail *trail, const uint64_t *regs, struct trail_walk *walk)
{
	uint32_t at = stride_next(trail, 0, regs[DWARF_RA]);

	walk->sp = regs[DWARF_RSP];
	walk->at = at ? at : stride_add(trail, 0, regs[DWARF_RA]);
	walk->epoch = trail->epoch;
	for (unsigned i = 0; i < DWARF_REGS; i++)
		walk->origins[i] = (struct origin){ORIGIN_REGISTER, 0};
	walk->origins[DWARF_RSP] = (struct origin){ORIGIN_FIXED, 0};
}

/* The stride of the present frame, or 0. Rules may have changed in the middle of a walk. */
static uint32_t walk_at(const struct trail *trail, const struct trail_walk *walk)
{
	return walk->epoch == trail->epoch ? walk->at : 0;
}

/* Where the value that a rule gives comes from. */
static struct origin origin_by(const struct origin *origins, const struct rule *rule)
{
	const struct origin *base = &origins[rule->base];

	if (rule->kind == RULE_UNDEFINED || base->kind != ORIGIN_FIXED)
		return (struct origin){ORIGIN_NONE, 0};
	return (struct origin){rule->kind == RULE_IS ? ORIGIN_FIXED : ORIGIN_SLOT, base->offset + rule->offset};
}

/* The way from the frame address to the caller's registers. */
static void origins_go(struct trail_walk *walk, const struct row *row)
{
	struct origin callers[DWARF_REGS];

	memcpy(callers, walk->origins, sizeof(callers));
	callers[DWARF_RSP] = walk->origins[DWARF_CFA];
	for (unsigned i = 0; i < row->n; i++)
		callers[row->rules[i].reg] = origin_by(walk->origins, &row->rules[i]);
	memcpy(walk->origins, callers, sizeof(callers));
}

/* A distance from the stack pointer that a stride can hold: no stack is larger. */
static bool is_near(int64_t offset)
{
	return offset > INT32_MIN && offset < INT32_MAX;
}

/* How the present frame is left by its row: the origins become those of the caller. False: it has to be asked for each
 * time. */
static bool stride_make(struct trail_walk *walk, const struct row *row, const uint64_t *regs, struct stride *stride)
{
	const struct origin origin = walk->origins[row->cfa.base];
	int64_t offset = (int64_t)(regs[row->cfa.base] - walk->sp);

	if (row->kind != ROW_RULES || row->is_signal || row->cfa.kind != RULE_IS || origin.kind == ORIGIN_NONE ||
		!is_near(offset) || !is_near(origin.offset))
		return false;
	stride->kind = STRIDE_FIXED;
	stride->check = origin.kind;
	stride->reg = row->cfa.base;
	stride->check_slot = (int32_t)origin.offset;
	stride->check_offset = (int32_t)offset;
	walk->origins[row->cfa.base] = (struct origin){ORIGIN_FIXED, offset};
	walk->origins[DWARF_CFA] = (struct origin){ORIGIN_FIXED, offset + row->cfa.offset};
	origins_go(walk, row);
	stride->slot = (int32_t)walk->origins[DWARF_RA].offset;
	return walk->origins[DWARF_RA].kind == ORIGIN_SLOT && is_near(walk->origins[DWARF_RA].offset) &&
	       walk->origins[DWARF_RSP].kind == ORIGIN_FIXED;
}

static bool is_same_stride(const struct stride *a, const struct stride *b)
{
	return a->check == b->check && a->reg == b->reg && a->check_slot == b->check_slot &&
	       a->check_offset == b->check_offset && a->slot == b->slot;
}

void trail_rules(struct trail *trail, struct trail_walk *walk, const struct row *row, const uint64_t *regs)
{
	uint32_t at = walk_at(trail, walk);
	struct stride *stride = &trail->strides[at], found = *stride;

	walk->at = 0;
	if (!at || !stride_make(walk, row, regs, &found) || (stride->kind == STRIDE_FIXED && !is_same_stride(stride, &found)))
		return;
	*stride = found;
	walk->at = at;
}

void trail_caller(struct trail *trail, struct trail_walk *walk, uint64_t ip)
{
	uint32_t inner = walk_at(trail, walk);

	walk->at = 0;
	if (!inner)
		return;
	walk->at = stride_next(trail, inner, ip);
	if (!walk->at)
		walk->at = stride_add(trail, inner, ip);
}

void trail_end(struct trail *trail, const struct trail_walk *walk)
{
	uint32_t at = walk_at(trail, walk);

	if (at)
		trail->strides[at].kind = STRIDE_END;
}
