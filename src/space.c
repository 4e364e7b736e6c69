/* space.c owns which pages of an address space are shut, and what their own protection is. It never looks at a thread's registers, and never decides what an access means. */
#include "space_private.h"

#include "watchprof/agent.h"
#include "watchprof/hit.h"
#include "watchprof/inject.h"
#include "watchprof/procfs.h"
#include "watchprof/rescue.h"
#include "watchprof/rseq_registration.h"
#include "watchprof/safety.h"
#include "watchprof/sys.h"
#include "watchprof/thread_image.h"
#include "watchprof/util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SCRATCH_PARTS 16
#define SCRATCH_PART  (64UL << 10)

static uint64_t page_of(uint64_t addr)
{
	return addr & ~(SPACE_PAGE - 1);
}

struct space *space_new(pid_t pid, struct space_gaps *gaps)
{
	struct space *space = mem_new(1, sizeof(*space));

	space->pid = pid;
	space->gaps = gaps;
	space->users = 1;
	space->memory_fd = sys_memory_open(procfs_living_thread(pid));
	return space;
}

struct space *space_use(struct space *space)
{
	space->users++;
	return space;
}

void space_drop(struct space *space)
{
	if (--space->users)
		return;
	space_forget(space);
	if (space->memory_fd >= 0)
		close(space->memory_fd);
	places_free(space->places);
	free(space->pages);
	free(space->former);
	free(space->gone);
	free(space);
}

struct space *space_fork(const struct space *space, pid_t pid)
{
	struct space *child = space_new(pid, space->gaps);

	memcpy(child->spans, space->spans, sizeof(child->spans));
	child->n_spans = space->n_spans;
	child->off = space->off;
	child->places = places_copy(space->places);
	child->n_pages = space->n_pages;
	child->pages = mem_new(space->n_pages + 1, sizeof(*child->pages));
	memcpy(child->pages, space->pages, space->n_pages * sizeof(*child->pages));
	memcpy(child->breakpoints, space->breakpoints, sizeof(child->breakpoints));
	child->n_breakpoints = space->n_breakpoints;
	return child;
}

pid_t space_pid(const struct space *space)
{
	return space->pid;
}

HIT_PATH int space_memory(const struct space *space)
{
	return space->memory_fd;
}

HIT_PATH size_t space_peek(const struct space *space, uint64_t addr, void *out, size_t len)
{
	ssize_t n = sys_memory_force_read(space->memory_fd, addr, out, len);

	return n > 0 ? (size_t)n : 0;
}

HIT_PATH bool space_read(const struct space *space, uint64_t addr, void *out, size_t len)
{
	return space_peek(space, addr, out, len) == len;
}

HIT_PATH bool space_write(const struct space *space, uint64_t addr, const void *data, size_t len)
{
	return sys_memory_force_write(space->memory_fd, addr, data, len) == (ssize_t)len;
}

/* Pages. */

static int page_compare(const void *a, const void *b)
{
	const struct page *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static struct page *page_find(const struct page *pages, size_t n, uint64_t addr)
{
	struct page key = {.addr = page_of(addr)};

	return n ? bsearch(&key, pages, n, sizeof(*pages), page_compare) : NULL;
}

/* Append the pages of a span, with what has to fault. */
static void pages_add(struct page *pages, size_t *n, const struct span *span)
{
	for (uint64_t addr = page_of(span->addr); addr < span->addr + span->len; addr += SPACE_PAGE)
		pages[(*n)++] = (struct page){.addr = addr,
			.want = (uint8_t)((span->access & ACCESS_READ ? HIT_READ : 0) | HIT_WRITE)};
}

/* The pages of the spans that are on, and of places, each once. */
static struct page *pages_list(const struct arming *arming, const struct places *places, size_t *n)
{
	size_t total = 0, kept = 0, n_placed;
	const struct placed *placed = places_list(places, &n_placed);
	struct page *pages;

	for (size_t i = 0; i < arming->n; i++)
		total += arming->spans[i].len / SPACE_PAGE + 2;
	for (size_t i = 0; i < n_placed; i++)
		total += placed[i].span.len / SPACE_PAGE + 2;
	pages = mem_new(total + 1, sizeof(*pages));
	*n = 0;
	for (size_t i = 0; i < arming->n; i++) {
		if (arming->spans[i].len && arming->spans[i].access != ACCESS_EXECUTE && !(arming->off >> i & 1))
			pages_add(pages, n, &arming->spans[i]);
	}
	for (size_t i = 0; i < n_placed; i++)
		pages_add(pages, n, &placed[i].span);
	qsort(pages, *n, sizeof(*pages), page_compare);
	for (size_t i = 0; i < *n; i++) {
		if (kept && pages[kept - 1].addr == pages[i].addr)
			pages[kept - 1].want |= pages[i].want;
		else
			pages[kept++] = pages[i];
	}
	*n = kept;
	return pages;
}

/* Their own protections: of pages that are shut already it is known, of others the mappings tell. */
static void pages_protections(const struct space *space, struct page *pages, size_t n, bool is_known)
{
	struct maps maps = maps_get(space->pid);

	for (size_t i = 0; i < n; i++) {
		const struct page *known = is_known ? page_find(space->pages, space->n_pages, pages[i].addr) : NULL;
		const struct procfs_map *map = maps_find(&maps, pages[i].addr);

		if (known && known->is_there)
			pages[i].prot = known->prot;
		else if (map)
			pages[i].prot = map_protection(map);
		pages[i].is_there = map != NULL;
	}
	maps_free(&maps);
}

static int protection_shut(const struct page *page)
{
	return page->want & HIT_READ ? PROT_NONE : page->prot & ~PROT_WRITE;
}

/* Give pages their own protection, or the shut one, as few calls as there are pieces. 0 or -errno. */
static int pages_protect(const struct space *space, const struct page *pages, size_t n, bool is_shut)
{
	int result = 0;

	for (size_t i = 0, end; i < n && result == 0; i = end) {
		int prot = is_shut ? protection_shut(&pages[i]) : pages[i].prot;

		for (end = i + 1; end < n && pages[end].addr == pages[end - 1].addr + SPACE_PAGE && pages[end].is_there == pages[i].is_there &&
				  (is_shut ? protection_shut(&pages[end]) : pages[end].prot) == prot;)
			end++;
		if (pages[i].is_there)
			result = agent_protect(space->agent, pages[i].addr, (end - i) * SPACE_PAGE, prot);
	}
	return result;
}

/* The runs of pages, with the program's own protections. Returns how many; at most max are noted. */
static size_t pages_ranges(const struct page *pages, size_t n, struct safety_range *out, size_t max)
{
	size_t runs = 0;

	for (size_t i = 0; i < n; i++) {
		struct safety_range *last = runs && runs <= max ? &out[runs - 1] : NULL;

		if (!pages[i].is_there)
			continue;
		if (last && last->start + last->len == pages[i].addr && last->prot == pages[i].prot)
			last->len += SPACE_PAGE;
		else if (runs++ < max)
			out[runs - 1] = (struct safety_range){pages[i].addr, SPACE_PAGE, pages[i].prot};
	}
	return runs;
}

/* Note the pages that are, or will be, shut, where they are found if we are killed. more may be NULL. 0 or -errno. */
static int pages_note(const struct space *space, const struct page *pages, size_t n, const struct page *more, size_t n_more)
{
	struct safety_range *ranges;
	size_t n_ranges;
	int result;

	if (!space->safety)
		return 0;
	ranges = mem_new(SAFETY_RANGES_MAX, sizeof(*ranges));
	n_ranges = pages_ranges(pages, n, ranges, SAFETY_RANGES_MAX);
	if (n_ranges < SAFETY_RANGES_MAX && n_more)
		n_ranges += pages_ranges(more, n_more, ranges + n_ranges, SAFETY_RANGES_MAX - n_ranges);
	result = n_ranges > SAFETY_RANGES_MAX ? -E2BIG : safety_ranges_set(space->safety, ranges, n_ranges);
	free(ranges);
	return result;
}

static void gap_note(struct space *space, bool is_ajar)
{
	uint64_t now_ns = clock_now_ns();

	if (is_ajar == space->is_ajar)
		return;
	space->is_ajar = is_ajar;
	space->gaps->n += is_ajar;
	space->gaps->n_now += is_ajar ? 1 : UINT64_MAX;
	space->gaps->ns += is_ajar ? -now_ns : now_ns;
}

static void pages_shut(struct space *space)
{
	int result = pages_note(space, space->pages, space->n_pages, NULL, 0);

	if (!result)
		result = pages_protect(space, space->pages, space->n_pages, true);
	gap_note(space, result && result != -ESRCH);
}

bool space_is_watched(const struct space *space)
{
	return space->n_pages > 0;
}

bool space_is_armed(const struct space *space)
{
	return space->n_pages > 0 || space->n_breakpoints > 0;
}

/* The number of the first page that ends behind addr. */
HIT_PATH static size_t page_first(const struct space *space, uint64_t addr)
{
	size_t first = 0, last = space->n_pages;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (space->pages[middle].addr + SPACE_PAGE > addr)
			last = middle;
		else
			first = middle + 1;
	}
	return first;
}

/* Has any page of the range this property? */
HIT_PATH static bool any_page(const struct space *space, uint64_t addr, uint64_t len, unsigned kind,
	bool (*has)(const struct page *page, unsigned kind))
{
	uint64_t end = len ? addr + len : addr + 1;

	if (!space->n_pages || end < addr || end <= space->pages[0].addr ||
		addr >= space->pages[space->n_pages - 1].addr + SPACE_PAGE)
		return false;
	for (size_t i = page_first(space, addr); i < space->n_pages && space->pages[i].addr < end; i++) {
		if (has(&space->pages[i], kind))
			return true;
	}
	return false;
}

HIT_PATH static bool page_is_shut(const struct page *page, unsigned kind)
{
	return page->is_there && (((kind & HIT_READ) && (page->want & HIT_READ) && (page->prot & PROT_READ)) ||
					 ((kind & HIT_WRITE) && (page->prot & PROT_WRITE)));
}

HIT_PATH static bool page_forbids(const struct page *page, unsigned kind)
{
	return page->is_there &&
		(((kind & HIT_READ) && !(page->prot & PROT_READ)) || ((kind & HIT_WRITE) && !(page->prot & PROT_WRITE)) ||
			((kind & HIT_EXECUTE) && !(page->prot & PROT_EXEC)));
}

HIT_PATH static bool page_is_any(const struct page *page, unsigned kind)
{
	(void)page;
	(void)kind;
	return true;
}

bool space_is_shut(const struct space *space, uint64_t addr, uint64_t len, unsigned kind)
{
	return any_page(space, addr, len, kind, page_is_shut);
}

HIT_PATH bool space_allows(const struct space *space, uint64_t addr, uint64_t len, unsigned kind)
{
	return !any_page(space, addr, len, kind, page_forbids);
}

HIT_PATH bool space_is_near(const struct space *space, uint64_t addr, uint64_t len)
{
	return any_page(space, addr, len, 0, page_is_any);
}

HIT_PATH bool space_is_closed(const struct space *space)
{
	return space->n_open == 0 && !space->is_ajar;
}

void space_open(struct space *space)
{
	if (space->n_open++ == 0 && space->agent)
		pages_protect(space, space->pages, space->n_pages, false);
}

void space_shut(struct space *space)
{
	if (--space->n_open == 0 && space->agent)
		pages_shut(space);
}

void space_blind(struct space *space)
{
	if (!space->is_blind)
		space_open(space);
	space->is_blind = true;
}

bool space_is_blind(const struct space *space)
{
	return space->is_blind;
}

void space_refresh(struct space *space)
{
	pages_protections(space, space->pages, space->n_pages, false);
}

static bool is_any_gone(const struct space *space)
{
	for (size_t i = 0; i < space->n_pages; i++) {
		if (!space->pages[i].is_there)
			return true;
	}
	return false;
}

void space_look(struct space *space)
{
	if (!is_any_gone(space))
		return;
	pages_protections(space, space->pages, space->n_pages, true);
	if (space->n_open == 0)
		pages_shut(space);
}

void space_retry(struct space *space)
{
	if (space->is_ajar && space->n_open == 0 && space->agent)
		pages_shut(space);
}

/* Watches. */

HIT_PATH uint64_t space_touched(const struct space *space, uint64_t thread_pointer, uint64_t addr, uint64_t len, unsigned kind)
{
	uint64_t touched = space->places ? places_touched(space->places, thread_pointer, addr, len, kind) : 0;

	for (size_t i = 0; i < space->n_spans; i++) {
		const struct span *span = &space->spans[i];
		unsigned asked = (span->access & ACCESS_READ ? HIT_READ : 0U) | (span->access & ACCESS_WRITE ? HIT_WRITE : 0U);

		if (span->len && addr < span->addr + span->len && span->addr < addr + len && (asked & kind) &&
			!(space->off >> i & 1))
			touched |= 1ULL << i;
	}
	return touched;
}

HIT_PATH uint64_t space_watch(const struct space *space, uint64_t thread_pointer, unsigned watch, uint64_t *addr)
{
	if (watch >= space->n_spans)
		return 0;
	if (space->places && !space->spans[watch].len)
		return places_watch(space->places, thread_pointer, watch, addr);
	*addr = space->spans[watch].addr;
	return space->spans[watch].len;
}

/* Arming. */

/* Do the pages of a span have any of these bytes? */
static bool is_page_met(const struct span *span, uint64_t addr, uint64_t len)
{
	return page_of(span->addr) < addr + len && addr < page_of(span->addr + span->len - 1) + SPACE_PAGE;
}

bool space_will_shut(const struct arming *arming, const struct places *places, uint64_t addr, uint64_t len)
{
	size_t n_placed;
	const struct placed *placed = places_list(places, &n_placed);

	for (size_t i = 0; i < arming->n; i++) {
		const struct span *span = &arming->spans[i];

		if (span->len && span->access != ACCESS_EXECUTE && !(arming->off >> i & 1) && is_page_met(span, addr, len))
			return true;
	}
	for (size_t i = 0; i < n_placed; i++) {
		if (is_page_met(&placed[i].span, addr, len))
			return true;
	}
	return false;
}

/* For calls in a thread of the space, whether there is an agent or not. */
static struct inject_site space_site(const struct space *space)
{
	struct inject_site site;

	if (space->agent)
		return *agent_site(space->agent);
	inject_site_find(space->pid, space->memory_fd, &site);
	return site;
}

int space_rseq_withdraw(const struct space *space, pid_t tid, int *status, struct sys_rseq *former)
{
	const struct inject_site site = space_site(space);

	return rseq_withdraw(tid, status, &site, former);
}

int space_rseq_restore(const struct space *space, pid_t tid, int *status, const struct sys_rseq *former)
{
	const struct inject_site site = space_site(space);

	return rseq_restore(tid, status, &site, former);
}

/* Pages that are open again: an access may have run into one just before. */
static void former_note(struct space *space, const struct page *pages, size_t n)
{
	const size_t n_known = space->n_former;

	space->former = mem_resize(space->former, n_known + n + 1, sizeof(*space->former));
	for (size_t i = 0; i < n; i++) {
		if (!page_find(space->former, n_known, pages[i].addr))
			space->former[space->n_former++] = pages[i];
	}
	if (space->n_former > n_known)
		qsort(space->former, space->n_former, sizeof(*space->former), page_compare);
}

bool space_was_shut(const struct space *space, uint64_t addr, bool is_code)
{
	struct procfs_map *maps;
	bool is_open = false;
	size_t n;

	if (!page_find(space->former, space->n_former, addr & -(uint64_t)SPACE_PAGE))
		return false;
	maps = procfs_maps(space->pid, &n);
	for (size_t i = 0; i < n; i++) {
		if (addr >= maps[i].start && addr < maps[i].end)
			is_open = maps[i].readable && maps[i].writable && (maps[i].executable || !is_code);
	}
	procfs_maps_free(maps, n);
	return is_open;
}

/* Those of some pages that others have not; with is_shut, or that are shut in another way there. */
static struct page *pages_beside(const struct page *pages, size_t n, const struct page *others, size_t n_others, bool is_shut,
	size_t *n_out)
{
	struct page *out = mem_new(n + 1, sizeof(*out));

	*n_out = 0;
	for (size_t i = 0; i < n; i++) {
		const struct page *other = page_find(others, n_others, pages[i].addr);

		if (!other || (is_shut && (other->is_there != pages[i].is_there ||
						  protection_shut(other) != protection_shut(&pages[i]))))
			out[(*n_out)++] = pages[i];
	}
	return out;
}

/* Open what is not watched any more, shut what is watched now; what is watched before and after is never open. Without an agent
 * there is neither. */
static int pages_replace(struct space *space, struct page *pages, size_t n)
{
	size_t n_gone, n_new;
	struct page *gone = pages_beside(space->pages, space->n_pages, pages, n, false, &n_gone);
	struct page *new = pages_beside(pages, n, space->pages, space->n_pages, true, &n_new);
	int result = pages_note(space, pages, n, gone, n_gone);

	if (space->n_open == 0 && n_gone && result == 0)
		result = pages_protect(space, gone, n_gone, false);
	if (space->n_open == 0 && n_new && result == 0)
		result = pages_protect(space, new, n_new, true);
	if (result) {
		pages_protect(space, new, n_new, false);
		if (space->n_pages && space->n_open == 0)
			pages_shut(space);
		free(pages);
	} else {
		free(space->pages);
		space->pages = pages;
		space->n_pages = n;
		former_note(space, gone, n_gone);
		result = pages_note(space, pages, n, NULL, 0);
		space_retry(space);
	}
	free(gone);
	free(new);
	return result;
}

/* The agent, and what stands by for the case that we are killed. */
static int agent_begin(struct space *space, pid_t tid, int *status, struct err *err)
{
	space->agent = agent_new(space->pid, tid, status, SCRATCH_PARTS * SCRATCH_PART, err);
	if (!space->agent)
		return -1;
	space->safety = safety_new(space->agent, err);
	space->is_noted = false;
	if (space->safety)
		return 0;
	agent_free(space->agent);
	space->agent = NULL;
	return -1;
}

static void agent_end(struct space *space, void (*end)(struct agent *agent))
{
	if (space->safety)
		safety_free(space->safety);
	space->safety = NULL;
	if (space->agent)
		end(space->agent);
	space->agent = NULL;
}

/* Watch the pages of an arming and of places from now on. */
static int pages_set(struct space *space, pid_t tid, int *status, const struct arming *arming, const struct places *places,
	struct err *err)
{
	size_t n;
	struct page *pages = pages_list(arming, places, &n);
	int result;

	pages_protections(space, pages, n, true);
	if (n && !space->agent && agent_begin(space, tid, status, err)) {
		free(pages);
		return -1;
	}
	result = pages_replace(space, pages, n);
	/* It may end meanwhile: the next wait tells. */
	if (!result || result == -ESRCH)
		return 0;
	if (result == -E2BIG)
		return err_set(err, "process %d: what is watched lies in more than %d separate runs of pages, which the page engine cannot "
			"shut all: watch less, or thread-local variables of fewer threads", space->pid, SAFETY_RANGES_MAX);
	return err_set(err, "the pages of the watched variables cannot be protected: %s%s", strerror(-result),
		result == -ENOMEM ? ": the process has as many mappings as vm.max_map_count allows" : "");
}

int space_arm(struct space *space, pid_t tid, int *status, const struct arming *arming, struct places *places, struct err *err)
{
	struct err ignored;

	if (space_check(space, arming, err) || pages_set(space, tid, status, arming, places, err))
		return -1;
	/* What takes breakpoints out of the code if we are killed. There are programs that it cannot be put into. */
	if (!space->agent && breakpoints_any(arming))
		agent_begin(space, tid, status, &ignored);
	memcpy(space->spans, arming->spans, arming->n * sizeof(*arming->spans));
	space->n_spans = arming->n;
	space->off = arming->off;
	places_free(space->places);
	space->places = places;
	space_breakpoints_set(space, arming);
	return 0;
}

/* What is watched wherever a thread may be. */
static struct arming space_arming(const struct space *space)
{
	return (struct arming){.spans = space->spans, .n = space->n_spans, .off = space->off};
}

const struct places *space_places(const struct space *space)
{
	return space->places;
}

int space_place(struct space *space, pid_t tid, int *status, struct places *places, struct err *err)
{
	const struct arming arming = space_arming(space);

	if (pages_set(space, tid, status, &arming, places, err))
		return -1;
	places_free(space->places);
	space->places = places;
	return 0;
}

bool space_is_placed(const struct space *space, const struct places *places)
{
	const struct arming arming = space_arming(space);
	size_t n, n_new;
	struct page *pages = pages_list(&arming, places, &n), *new;
	bool is_placed;

	for (size_t i = 0; i < n; i++) {
		const struct page *known = page_find(space->pages, space->n_pages, pages[i].addr);

		pages[i].is_there = known && known->is_there;
		pages[i].prot = known ? known->prot : 0;
	}
	new = pages_beside(pages, n, space->pages, space->n_pages, true, &n_new);
	is_placed = n_new == 0;
	free(new);
	free(pages);
	return is_placed;
}

/* Scratch. */

size_t space_scratch_take(struct space *space, uint64_t *addr, size_t *len)
{
	size_t size;

	for (size_t i = 0; i < SCRATCH_PARTS && space->agent; i++) {
		if (space->scratch_used >> i & 1)
			continue;
		space->scratch_used |= 1ULL << i;
		*addr = agent_scratch(space->agent, &size) + i * SCRATCH_PART;
		*len = SCRATCH_PART;
		return i + 1;
	}
	return 0;
}

void space_scratch_give(struct space *space, size_t part)
{
	if (part)
		space->scratch_used &= ~(1ULL << (part - 1));
}

struct agent *space_agent(const struct space *space)
{
	return space->agent;
}

/* Endings. */

void space_leave_child(struct space *space, pid_t tid, int *status)
{
	struct rescue rescue;

	space_breakpoints_out(space);
	space->n_breakpoints = space->n_pages = 0;
	if (!rescue_find(space->pid, &rescue))
		return;
	/* Those that there were at the fork: the parent may have had others since. */
	rescue_breakpoints_out(&rescue);
	if (rescue_open(&rescue, tid, status) == 0)
		rescue_close(&rescue, tid, status, false);
	rescue_end(&rescue);
}

void space_lend(pid_t pid, pid_t tid, int *status)
{
	struct rescue rescue;

	if (!rescue_find(pid, &rescue))
		return;
	rescue_close(&rescue, tid, status, true);
	rescue_end(&rescue);
}

/* Of a forked child's threads only this one is left: what the others had is not watched. */
static void pages_keep(struct space *space, uint64_t thread_pointer)
{
	const struct arming arming = space_arming(space);
	struct page *pages;
	size_t n;

	if (!space->places || !places_keep(space->places, thread_pointer))
		return;
	pages = pages_list(&arming, space->places, &n);
	pages_protections(space, pages, n, true);
	free(space->pages);
	space->pages = pages;
	space->n_pages = n;
}

int space_adopt(struct space *space, pid_t tid, int *status, uint64_t thread_pointer)
{
	size_t n_pages, n_breakpoints = space->n_breakpoints;
	struct err ignored;

	pages_keep(space, thread_pointer);
	n_pages = space->n_pages;

	space_leave_child(space, tid, status);
	if (n_pages || n_breakpoints)
		agent_begin(space, tid, status, &ignored);
	space->n_breakpoints = n_breakpoints;
	space_breakpoints_in(space);
	if (!n_pages || !space->agent)
		return n_pages ? -1 : 0;
	space->n_pages = n_pages;
	/* What is watched in the parent by now may have come there since the fork. */
	pages_protections(space, space->pages, n_pages, false);
	return pages_note(space, space->pages, n_pages, NULL, 0) ? -1 : pages_protect(space, space->pages, n_pages, true);
}

void space_open_for_good(struct space *space)
{
	space_breakpoints_out(space);
	space_open(space);
	gap_note(space, false);
}

void space_recover(struct space *space)
{
	if (space->agent) {
		agent_recover(space->agent);
		/* Whether pages are open is not known where that was being changed. */
		if (space->safety && space->n_open == 0)
			safety_open(space->safety);
		else
			pages_protect(space, space->pages, space->n_pages, false);
	}
	space->n_open++;
}

void space_leave(struct space *space)
{
	agent_end(space, agent_free);
}

void space_forget(struct space *space)
{
	/* A child by vfork may run on in the memory of a process that has ended, or runs another program. */
	if (space->users > 1)
		space_breakpoints_end(space);
	agent_end(space, agent_forget);
	gap_note(space, false);
	space->n_pages = 0;
	space->n_breakpoints = 0;
}

bool space_aside(struct space *space)
{
	if (space->safety)
		safety_aside(space->safety);
	return space->safety != NULL;
}

void space_back(struct space *space)
{
	if (space->safety)
		safety_back(space->safety);
}
