/* values.c owns what was in the watched bytes: it compares what hits left there. It reads no memory and knows no
 * names. */
#include "watchprof/values.h"

#include "watchprof/util.h"
#include "watchprof/value_text.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Processes, or threads, times watches whose last value is remembered: then the oldest one is forgotten. */
#define HOLDERS_MAX 65536

/* The last value of a watch in one process. */
struct holder {
	unsigned watch;
	pid_t pid; /* or thread */
	struct value value;
};

HIT_PATH static int holder_compare(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->watch != y->watch)
		return x->watch < y->watch ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* The least and the greatest value, as numbers. */
struct range {
	struct value_number min, max;
};

struct values {
	void *by_holder; /* tsearch tree */
	struct holder **holders;
	size_t n_holders, cap_holders;
	size_t oldest; /* where all have a place: the one that the next takes */
	uint64_t by_thread, without_writes; /* bit sets of watches */
	uint64_t hits[WATCHES_MAX];
	bool is_used[WATCHES_MAX];
	struct value_stats stats[WATCHES_MAX];
	struct range ranges[WATCHES_MAX]; /* of those whose stats have one */
	struct value_history *histories[WATCHES_MAX]; /* NULL: there were no writes */
	const struct value_type *types[WATCHES_MAX];
};

struct values *values_new(void)
{
	return mem_new(1, sizeof(struct values));
}

static void holder_drop(struct values *values, struct holder *holder)
{
	tdelete(holder, &values->by_holder, holder_compare);
	free(holder);
}

void values_free(struct values *values)
{
	if (!values)
		return;
	for (size_t i = 0; i < values->n_holders; i++)
		holder_drop(values, values->holders[i]);
	for (size_t i = 0; i < WATCHES_MAX; i++)
		free(values->histories[i]);
	free(values->holders);
	free(values);
}

/* NULL: there is none. */
static struct holder *holder_look(const struct values *values, unsigned watch, pid_t pid)
{
	const struct holder key = {.watch = watch, .pid = pid};
	struct holder **found = tfind(&key, &values->by_holder, holder_compare);

	return found ? *found : NULL;
}

/* A place in the list for one more: at its end, or that of the oldest one. */
static struct holder **place_make(struct values *values)
{
	struct holder **place;

	if (values->n_holders == HOLDERS_MAX) {
		place = &values->holders[values->oldest];
		values->oldest = (values->oldest + 1) % HOLDERS_MAX;
		holder_drop(values, *place);
		return place;
	}
	if (values->n_holders == values->cap_holders) {
		values->cap_holders = values->cap_holders ? 2 * values->cap_holders : 16;
		values->holders = mem_resize(values->holders, values->cap_holders, sizeof(*values->holders));
	}
	return &values->holders[values->n_holders++];
}

HIT_PATH static struct holder *holder_find(struct values *values, unsigned watch, pid_t pid)
{
	struct holder *holder = holder_look(values, watch, pid);

	if (holder)
		return holder;
	holder = mem_new(1, sizeof(*holder));
	holder->watch = watch;
	holder->pid = pid;
	*place_make(values) = holder;
	if (!tsearch(holder, &values->by_holder, holder_compare))
		die("out of memory");
	return holder;
}

/* Asked many times a hit, nearly always of a word. */
HIT_PATH static bool is_same(const struct value *a, const struct value *b)
{
	uint64_t x, y;

	if (a->len != b->len)
		return false;
	if (a->len != sizeof(x))
		return memcmp(a->bytes, b->bytes, a->len) == 0;
	memcpy(&x, a->bytes, sizeof(x));
	memcpy(&y, b->bytes, sizeof(y));
	return x == y;
}

/* Count a value, and keep those that were written most in front. */
HIT_PATH static void top_count(struct value_stats *stats, const struct value *value)
{
	size_t i = 0;

	while (i < stats->n_top && !is_same(&stats->top[i].value, value))
		i++;
	if (i == VALUES_TOP_MAX) {
		stats->others++;
		return;
	}
	if (i == stats->n_top)
		stats->top[stats->n_top++] = (struct value_count){*value, 0};
	stats->top[i].writes++;
	while (i > 0 && stats->top[i - 1].writes < stats->top[i].writes) {
		struct value_count former = stats->top[i - 1];

		stats->top[i - 1] = stats->top[i];
		stats->top[i--] = former;
	}
}

/* Does a come before b? */
static bool is_less(const struct value_number *a, const struct value_number *b)
{
	int order;

	return value_number_order(a, b, &order) && order < 0;
}

HIT_PATH static void range_extend(struct value_stats *stats, struct range *range, const struct value *value,
	const struct value_type *type)
{
	struct value_number number;
	int order;

	/* What is not even in order with itself is not a number. */
	if (!value_number(value, type, &number) || !value_number_order(&number, &number, &order))
		return;
	if (!stats->has_range || is_less(&number, &range->min)) {
		stats->min = *value;
		range->min = number;
	}
	if (!stats->has_range || is_less(&range->max, &number)) {
		stats->max = *value;
		range->max = number;
	}
	stats->has_range = true;
}

static void history_note(struct value_history **history, const struct value_event *event)
{
	if (!*history)
		*history = mem_new(1, sizeof(**history));
	(*history)->events[(*history)->n++ % VALUES_HISTORY_MAX] = *event;
}

HIT_PATH static void write_note(struct values *values, const struct hit *hit, unsigned watch, const struct value *from,
	const struct value *to)
{
	struct value_stats *stats = &values->stats[watch];

	stats->writes++;
	if (from->len) {
		stats->changed += !is_same(from, to);
		stats->silent += is_same(from, to);
	}
	stats->last = (struct value_event){.time_ns = hit->time_ns,
		.pid = hit->pid,
		.tid = hit->tid,
		.image = hit->image,
		.addr = hit->frames[0] - !hit->is_at,
		.from = *from,
		.to = *to};
	range_extend(stats, &values->ranges[watch], to, values->types[watch]);
	top_count(stats, to);
}

static void unseen_note(struct value_stats *stats, uint64_t hit)
{
	if (stats->unseen++ == 0)
		stats->unseen_first = hit;
	stats->unseen_last = hit;
}

/* Can a changed value only mean that somebody wrote who is not watched? */
static bool is_telling(const struct values *values, const struct hit *hit, unsigned watch)
{
	return hit->is_alone && !(hit_kind_of(hit, watch) & HIT_WRITE_UNKNOWN) && !(values->without_writes >> watch & 1);
}

HIT_PATH static void watch_note(struct values *values, const struct hit *hit, unsigned watch, const struct value *now)
{
	pid_t who = values->by_thread >> watch & 1 ? hit->tid : hit->pid;
	struct holder *holder = holder_find(values, watch, who);
	struct value_stats *stats = &values->stats[watch];
	struct value former = holder->value;

	if (hit_kind_of(hit, watch) & HIT_WRITE) {
		write_note(values, hit, watch, &former, now);
		history_note(&values->histories[watch], &stats->last);
		stats->among_others += !hit->is_alone && !(values->by_thread >> watch & 1);
	} else if (is_telling(values, hit, watch) && former.len && !is_same(&former, now))
		unseen_note(stats, values->hits[watch]);
	holder->value = *now;
	stats->current = *now;
	values->is_used[watch] = true;
}

void values_unknown(struct values *values, unsigned watch)
{
	size_t n = 0;

	for (size_t i = 0; i < values->n_holders; i++) {
		if (values->holders[i]->watch == watch)
			holder_drop(values, values->holders[i]);
		else
			values->holders[n++] = values->holders[i];
	}
	values->n_holders = n;
	values->oldest = 0;
}

void values_forget(struct values *values, unsigned watch)
{
	values_unknown(values, watch);
	values->by_thread &= ~(1ULL << watch);
	values->without_writes &= ~(1ULL << watch);
	values->hits[watch] = 0;
	values->is_used[watch] = false;
	values->stats[watch] = (struct value_stats){0};
	free(values->histories[watch]);
	values->histories[watch] = NULL;
	values->types[watch] = NULL;
}

void values_type(struct values *values, unsigned watch, const struct value_type *type)
{
	values->types[watch] = type;
	values->stats[watch].has_range = false;
}

void values_by_thread(struct values *values, unsigned watch)
{
	values->by_thread |= 1ULL << watch;
}

void values_without_writes(struct values *values, unsigned watch)
{
	values->without_writes |= 1ULL << watch;
}

void values_start(struct values *values, unsigned watch, pid_t pid, const void *bytes, size_t len)
{
	struct holder *holder = holder_find(values, watch, pid);

	if (len > HIT_VALUE_BYTES)
		return;
	holder->value.len = (uint8_t)len;
	if (len)
		memcpy(holder->value.bytes, bytes, len);
	value_mask(&holder->value, values->types[watch]);
}

void values_pair(const struct values *values, const struct hit *hit, unsigned watch, struct value *from,
	struct value *to)
{
	pid_t who = values->by_thread >> watch & 1 ? hit->tid : hit->pid;
	const struct holder *holder = holder_look(values, watch, who);

	*from = *to = (struct value){0};
	if (holder)
		*from = holder->value;
	for (unsigned i = 0; i < hit->n_values; i++) {
		if (hit->values[i].watch != watch)
			continue;
		to->len = hit->values[i].len;
		memcpy(to->bytes, hit->values[i].bytes, to->len);
		value_mask(to, values->types[watch]);
	}
}

HIT_PATH void values_add(struct values *values, const struct hit *hit)
{
	for (uint64_t left = hit->watches; left; left &= left - 1)
		values->hits[__builtin_ctzll(left)]++;
	for (unsigned i = 0; i < hit->n_values; i++) {
		const struct hit_value *value = &hit->values[i];
		struct value now = {.len = value->len};

		if (!(hit->watches >> value->watch & 1))
			continue;
		memcpy(now.bytes, value->bytes, value->len);
		value_mask(&now, values->types[value->watch]);
		watch_note(values, hit, value->watch, &now);
	}
}

bool values_stats(const struct values *values, unsigned watch, struct value_stats *out)
{
	*out = values->stats[watch];
	return values->is_used[watch];
}

const struct value_history *values_history(const struct values *values, unsigned watch)
{
	return values->histories[watch];
}

size_t value_history_len(const struct value_history *history)
{
	return history->n < VALUES_HISTORY_MAX ? (size_t)history->n : VALUES_HISTORY_MAX;
}

const struct value_event *value_history_event(const struct value_history *history, size_t back)
{
	return &history->events[(history->n - 1 - back) % VALUES_HISTORY_MAX];
}
