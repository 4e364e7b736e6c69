/* profile.c owns the tables of sites, call paths and locations. It knows no process; names come
 * from the locate function it was given. */
#include "watchprof/profile.h"

#include "profile_private.h"
#include "watchprof/blame.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>

void *profile_room(void *array, size_t n, size_t *cap, size_t more, size_t size)
{
	if (n + more <= *cap)
		return array;
	while (n + more > *cap)
		*cap = *cap ? *cap * 2 : 256;
	return mem_resize(array, *cap, size);
}

void profile_index_put(struct index *index, uint64_t hash, uint32_t entry)
{
	size_t i = hash & (index->n_buckets - 1);

	while (index->bucket[i])
		i = (i + 1) & (index->n_buckets - 1);
	index->bucket[i] = entry + 1;
}

void profile_index_grow(struct index *index, size_t n_entries, const struct profile *profile,
	uint64_t (*hash_of)(const struct profile *, uint32_t))
{
	if (n_entries * 2 < index->n_buckets)
		return;
	free(index->bucket);
	index->n_buckets = index->n_buckets ? index->n_buckets * 2 : 1024;
	index->bucket = mem_new(index->n_buckets, sizeof(*index->bucket));
	for (uint32_t i = 0; i < n_entries; i++)
		profile_index_put(index, hash_of(profile, i), i);
}

static uint64_t loc_hash(const struct profile *profile, uint32_t i)
{
	return hash_mix(hash_mix(0, profile->locs[i].image), profile->locs[i].loc.addr);
}

static uint64_t path_hash(const struct profile *profile, uint32_t i)
{
	return profile->paths[i].hash;
}

static uint64_t site_key_hash(const struct site *site)
{
	uint64_t hash = hash_mix(0, site->path);

	hash = hash_mix(hash, (uint64_t)site->watch << 8 | site->kind);
	return hash_mix(hash, (uint64_t)(uint32_t)site->pid << 32 | (uint32_t)site->tid);
}

static uint64_t site_hash(const struct profile *profile, uint32_t i)
{
	return site_key_hash(&profile->sites[i]);
}

struct profile *profile_new(size_t max_sites, locate_fn *locate, void *context)
{
	struct profile *profile = mem_new(1, sizeof(*profile));

	profile->max_sites = max_sites;
	profile->locate = locate;
	profile->context = context;
	profile_index_grow(&profile->loc_index, 0, profile, loc_hash);
	profile_index_grow(&profile->path_index, 0, profile, path_hash);
	profile_index_grow(&profile->site_index, 0, profile, site_hash);
	profile_index_grow(&profile->function_index, 0, profile, NULL);
	return profile;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < profile->n_locs; i++) {
		free((char *)profile->locs[i].loc.function);
		free((char *)profile->locs[i].loc.file);
		free((char *)profile->locs[i].loc.unit);
		free((char *)profile->locs[i].loc.module);
	}
	free(profile->locs);
	free(profile->functions);
	free(profile->paths);
	free(profile->frame_addrs);
	free(profile->frame_locs);
	free(profile->sites);
	free(profile->loc_index.bucket);
	free(profile->path_index.bucket);
	free(profile->site_index.bucket);
	free(profile->function_index.bucket);
	free(profile);
}

void profile_blame(struct profile *profile, const struct blame_rules *rules)
{
	profile->rules = rules;
}

static const char *keep(const char *text)
{
	return text ? text_copy(text) : NULL;
}

/* Add a location, with copies of its strings. */
static uint32_t loc_append(struct profile *profile, uint32_t image, bool is_signal, const struct loc *found)
{
	uint32_t entry = (uint32_t)profile->n_locs;
	struct loc *loc;

	profile->locs = profile_room(
		profile->locs, profile->n_locs, &profile->cap_locs, 1, sizeof(*profile->locs));
	profile->locs[entry] = (struct loc_entry){.image = image, .is_signal = is_signal, .loc = *found};
	loc = &profile->locs[entry].loc;
	loc->function = keep(found->function);
	loc->file = keep(found->file);
	loc->unit = keep(found->unit);
	loc->module = keep(found->module);
	loc->inlined = NULL;
	profile_order_add(profile, entry);
	profile->locs[entry].is_skipped = profile->rules && blame_is_skipped(profile->rules, loc);
	profile_index_put(&profile->loc_index, loc_hash(profile, entry), entry);
	profile->n_locs++;
	profile_index_grow(&profile->loc_index, profile->n_locs, profile, loc_hash);
	return entry;
}

/* Add the frames of what is inlined at a location. */
static void inlined_append(struct profile *profile, const struct loc *found)
{
	for (size_t i = 0; i < found->n_inlined; i++) {
		const struct inlined *inlined = &found->inlined[i];
		struct loc loc = *found;

		loc.function = inlined->function;
		loc.file = inlined->file;
		loc.line = inlined->line;
		loc.is_inlined = i + 1 < found->n_inlined;
		loc.n_inlined = 0;
		loc_append(profile, IMAGE_NONE, false, &loc);
	}
}

/* The location of an address, looked up the first time. Named anew where it is that of a signal's
 * frame: the C library's name for it tells nothing. */
static uint32_t loc_find(struct profile *profile, pid_t pid, uint32_t image, uint64_t addr,
	bool is_signal)
{
	struct index *index = &profile->loc_index;
	size_t b = hash_mix(hash_mix(0, image), addr) & (index->n_buckets - 1);
	struct loc found = {.addr = addr};
	uint32_t entry;

	for (; index->bucket[b]; b = (b + 1) & (index->n_buckets - 1)) {
		entry = index->bucket[b] - 1;
		if (profile->locs[entry].loc.addr == addr && profile->locs[entry].image == image &&
			profile->locs[entry].is_signal == is_signal)
			return entry;
	}
	if (profile->locate)
		profile->locate(profile->context, pid, image, addr, &found);
	found.addr = addr;
	if (is_signal) {
		found.function = SIGNAL_FRAME;
		found.n_inlined = 0;
	}
	entry = loc_append(profile, image, is_signal, &found);
	inlined_append(profile, &found);
	return entry;
}

static bool path_equal(const struct profile *profile, const struct path *path, const struct path *key,
	const uint64_t *frames)
{
	return path->hash == key->hash && path->image == key->image &&
		path->n_frames == key->n_frames && path->end == key->end &&
		path->executes == key->executes &&
		(path->n_frames == 0 || memcmp(profile->frame_addrs + path->first, frames, path->n_frames * sizeof(*frames)) == 0);
}

/* The location of a frame. A signal's frame was called by nobody and is named by what it is. */
static uint32_t frame_loc(struct profile *profile, const struct hit *hit, size_t i)
{
	return loc_find(profile, hit->pid, hit->image, hit->frames[i] - !hit_frame_is_exact(hit, i), hit_is_signal(hit, i));
}

/* Append the frames of one address to the last path: its location, or what is inlined there. Returns
 * their number. */
static uint16_t frame_append(struct profile *profile, uint32_t loc)
{
	size_t n = profile->locs[loc].loc.n_inlined;
	uint32_t first = n ? loc + 1 : loc;

	n = n ? n : 1;
	profile->frame_locs = profile_room(profile->frame_locs, profile->n_frame_locs, &profile->cap_frame_locs,
		n, sizeof(uint32_t));
	for (size_t i = 0; i < n; i++)
		profile->frame_locs[profile->n_frame_locs++] = first + (uint32_t)i;
	return (uint16_t)n;
}

/* Append a path: its raw addresses, and the location of each. */
static uint32_t path_append(struct profile *profile, const struct hit *hit, struct path path)
{
	uint32_t entry = (uint32_t)profile->n_paths;

	path.first = profile->n_frames;
	path.first_loc = profile->n_frame_locs;
	profile->frame_addrs = profile_room(
		profile->frame_addrs, profile->n_frames, &profile->cap_frames, hit->n_frames, sizeof(uint64_t));
	for (size_t i = 0; i < hit->n_frames; i++) {
		uint32_t loc = frame_loc(profile, hit, i);

		profile->frame_addrs[path.first + i] = hit->frames[i];
		if (i < ARRAY_LEN(path.owner))
			path.owner[i] = loc;
		path.n_locs = (uint16_t)(path.n_locs + frame_append(profile, loc));
		if (i == 0)
			path.n_inner = path.n_locs;
	}
	profile->n_frames += hit->n_frames;
	profile->paths = profile_room(
		profile->paths, profile->n_paths, &profile->cap_paths, 1, sizeof(*profile->paths));
	profile->paths[entry] = path;
	profile->n_paths++;
	return entry;
}

/* The path of a hit in the table; added if may_add, else -1 where it is new. */
HIT_PATH static int64_t path_find(struct profile *profile, const struct hit *hit, bool may_add)
{
	struct index *index = &profile->path_index;
	struct path key = {.image = hit->image, .n_frames = hit->n_frames, .end = hit->path,
		.executes = hit->is_at, .hash = hit_path_hash(hit, hit->n_frames, hit->path)};
	uint32_t entry;
	size_t b;

	for (b = key.hash & (index->n_buckets - 1); index->bucket[b];
		b = (b + 1) & (index->n_buckets - 1)) {
		entry = index->bucket[b] - 1;
		if (path_equal(profile, &profile->paths[entry], &key, hit->frames))
			return entry;
	}
	if (!may_add)
		return -1;
	entry = path_append(profile, hit, key);
	profile_index_put(index, key.hash, entry);
	profile_index_grow(index, profile->n_paths, profile, path_hash);
	return entry;
}

/* The site with this key; NULL where it is new and the table is full. */
HIT_PATH static struct site *site_find(struct profile *profile, const struct site *key)
{
	struct index *index = &profile->site_index;
	uint64_t hash = site_key_hash(key);
	struct site *site;

	for (size_t b = hash & (index->n_buckets - 1); index->bucket[b];
		b = (b + 1) & (index->n_buckets - 1)) {
		site = &profile->sites[index->bucket[b] - 1];
		if (site->path == key->path && site->watch == key->watch && site->kind == key->kind &&
			site->pid == key->pid && site->tid == key->tid)
			return site;
	}
	if (profile->n_sites >= profile->max_sites)
		return NULL;
	profile->sites = profile_room(
		profile->sites, profile->n_sites, &profile->cap_sites, 1, sizeof(*profile->sites));
	site = &profile->sites[profile->n_sites];
	*site = *key;
	profile_index_put(index, hash, (uint32_t)profile->n_sites);
	profile->n_sites++;
	profile_index_grow(index, profile->n_sites, profile, site_hash);
	return site;
}

HIT_PATH void profile_add(struct profile *profile, const struct hit *hit)
{
	/* A path is only added while there is room for its site: both tables stay bounded. */
	int64_t path = path_find(profile, hit, profile->n_sites < profile->max_sites);
	bool overrun = false;

	for (uint64_t left = hit->watches; left; left &= left - 1) {
		unsigned watch = (unsigned)__builtin_ctzll(left);
		struct site key = {.path = (uint32_t)path,
			.pid = hit->pid,
			.tid = hit->tid,
			.watch = (uint8_t)watch,
			.kind = hit_kind_of(hit, watch)};
		struct site *site = path < 0 ? NULL : site_find(profile, &key);

		profile->count[key.watch].hits++;
		if (site) {
			site->hits++;
			profile->of_kind[key.watch][key.kind]++;
		} else {
			profile->count[key.watch].overrun++;
			overrun = true;
		}
	}
	profile->hits++;
	profile->overrun += overrun;
}

struct watch_count profile_count(const struct profile *profile, unsigned watch)
{
	return profile->count[watch];
}

uint64_t profile_hits(const struct profile *profile)
{
	return profile->hits;
}

uint64_t profile_unknown(const struct profile *profile)
{
	struct row rows[WATCHES_MAX];
	uint64_t hits = 0;

	profile_totals(profile, rows);
	for (size_t i = 0; i < WATCHES_MAX; i++)
		hits += rows[i].unknown;
	return hits;
}

uint64_t profile_overrun(const struct profile *profile)
{
	return profile->overrun;
}

const char *profile_function(struct profile *profile, const struct hit *hit)
{
	uint32_t i;

	if (hit->n_frames == 0)
		return NULL;
	i = frame_loc(profile, hit, 0);
	if (hit_is_of_caller(profile->locs[i].loc.is_entry, hit->is_at, hit->n_frames))
		i = frame_loc(profile, hit, 1);
	return profile->locs[i].loc.function;
}

const struct loc *profile_find(const struct profile *profile, uint32_t image, uint64_t addr)
{
	const struct index *index = &profile->loc_index;
	size_t b = hash_mix(hash_mix(0, image), addr) & (index->n_buckets - 1);

	for (; index->bucket[b]; b = (b + 1) & (index->n_buckets - 1)) {
		const struct loc_entry *entry = &profile->locs[index->bucket[b] - 1];

		if (entry->loc.addr == addr && entry->image == image)
			return &entry->loc;
	}
	return NULL;
}

uint32_t profile_image(const struct loc *loc)
{
	return ((const struct loc_entry *)loc)->image;
}

const struct loc *profile_loc(const struct profile *profile, uint32_t index)
{
	return &profile->locs[index].loc;
}
