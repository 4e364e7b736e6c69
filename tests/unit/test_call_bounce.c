/* test_call_bounce.c: system calls on a page that is shut give the same results as on an open one.
 * The cases of tests/live/calls_list.h are run as they are, and then through scratch memory with
 * the page really protected; results and memory must not differ. Further down: the rules of copying
 * back, on memory that is made up. */
#include "../live/calls_files.h"
#include "../live/calls_process.h"
#include "../live/calls_rare.h"
#include "unit_help.h"
#include "watchprof/call_bounce.h"
#include "watchprof/util.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include <cmocka.h>

#define SCRATCH 65536

/* This process as the one that makes calls: its memory by a file, whatever the protection. */
struct self {
	int fd;
	unsigned char *page, *scratch;
	int shut; /* what the page may be used for meanwhile: PROT_NONE, or PROT_READ */
	struct call_bounce *bounce;
	struct call_plan *plan;
	struct bounce_memory memory;
	size_t n_none, n_done, n_lift; /* calls */
	bool is_done[512];             /* numbers of those that were made through scratch memory */
};

static bool self_read(void *context, uint64_t addr, void *out, size_t len)
{
	return pread(((struct self *)context)->fd, out, len, (off_t)addr) == (ssize_t)len;
}

static bool self_write(void *context, uint64_t addr, const void *data, size_t len)
{
	return pwrite(((struct self *)context)->fd, data, len, (off_t)addr) == (ssize_t)len;
}

static bool self_is_shut(void *context, uint64_t addr, uint64_t len, unsigned direction)
{
	const struct self *self = context;
	uint64_t page = (uintptr_t)self->page;

	if (self->shut == PROT_READ && !(direction & CALL_OUT))
		return false;
	return addr < page + CALLS_PAGE && page < addr + len;
}

static bool self_is_self(void *context, int64_t pid)
{
	(void)context;
	return pid == getpid();
}

static void self_open(struct self *self, int shut)
{
	*self = (struct self){.fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC), .shut = shut};
	assert_true(self->fd >= 0);
	self->page = mmap(
		NULL, 2 * CALLS_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	self->scratch =
		mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	self->bounce = call_bounce_new((uintptr_t)self->scratch, SCRATCH);
	self->plan = mem_new(1, sizeof(*self->plan));
	self->memory = (struct bounce_memory){
		.memory = {.context = self, .read = self_read, .is_self = self_is_self},
		.write = self_write,
		.is_shut = self_is_shut,
	};
}

static void self_close(struct self *self)
{
	call_bounce_free(self->bounce);
	free(self->plan);
	munmap(self->page, 2 * CALLS_PAGE);
	munmap(self->scratch, SCRATCH);
	close(self->fd);
}

static long make_plainly(struct calls *calls, long nr, const long *args)
{
	(void)calls;
	return calls_raw(nr, args);
}

/* One call on the shut page, as an engine does it. */
static long make_shut(struct calls *calls, long nr, const long *args)
{
	struct self *self = calls->context;
	uint64_t now[CALL_ARGUMENTS];
	enum bounce_result how;
	long result;

	memcpy(now, args, sizeof(now));
	mprotect(self->page, CALLS_PAGE, self->shut);
	call_plan((uint64_t)nr, now, &self->memory.memory, self->plan);
	how = call_bounce_enter(self->bounce, self->plan, &self->memory, now);
	assert_true(how == BOUNCE_DONE || !memcmp(now, args, sizeof(now)));
	if (how == BOUNCE_LIFT)
		mprotect(self->page, CALLS_PAGE, PROT_READ | PROT_WRITE);
	result = calls_raw(nr, (const long *)now);
	self->n_none += how == BOUNCE_NONE;
	self->n_done += how == BOUNCE_DONE;
	self->n_lift += how == BOUNCE_LIFT;
	self->is_done[nr % (long)ARRAY_LEN(self->is_done)] |= how == BOUNCE_DONE;
	if (how == BOUNCE_DONE) {
		assert_true(call_bounce_is_busy(self->bounce));
		assert_true(call_bounce_leave(self->bounce, &self->memory, result, now));
		assert_memory_equal(now, args, sizeof(now));
	}
	assert_false(call_bounce_is_busy(self->bounce));
	mprotect(self->page, CALLS_PAGE, PROT_READ | PROT_WRITE);
	return result;
}

/* Cases with calls that have to be lifted: a bad pointer beside one to the page, buffers that stay
 * in use, futex words, arrays of unknown length, the page itself,
 * requests that nobody knows, children, mappings. */
static const char *const lifted[] = {
	"bad-pointers", "writev-bad", "vmsplice", "futex", "semaphores", "policies",
	"prctl", "clone", "futexes", "areas", "sysfs"};

static bool is_lifted(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(lifted); i++) {
		if (!strcmp(name, lifted[i]))
			return true;
	}
	return false;
}

static void memory_compare(const char *name, const unsigned char *want, const unsigned char *have)
{
	for (size_t i = 0; i < 2 * CALLS_PAGE; i++) {
		if (want[i] != have[i])
			fail_msg("%s: byte %zu of the page is 0x%02x, and 0x%02x when it is shut",
				name, i, want[i], have[i]);
	}
}

static void list_compare(struct self *self, const struct calls_case *list, size_t n)
{
	static unsigned char image[2 * CALLS_PAGE];

	for (size_t i = 0; i < n; i++) {
		struct calls plain = {.page = self->page, .make = make_plainly};
		struct calls shut = {.page = self->page, .make = make_shut, .context = self};
		size_t n_lift = self->n_lift;

		calls_run(&plain, &list[i]);
		memcpy(image, self->page, sizeof(image));
		calls_run(&shut, &list[i]);
		if (strcmp(plain.text, shut.text))
			fail_msg("%s: results are%s, and%s when the page is shut", list[i].name,
				plain.text, shut.text);
		memory_compare(list[i].name, image, self->page);
		if (n_lift != self->n_lift && !is_lifted(list[i].name))
			fail_msg("%s: %zu calls were lifted", list[i].name, self->n_lift - n_lift);
	}
}

/* All cases, in a directory of their own. */
static void lists_compare(struct self *self)
{
	char *name = scratch_new();
	int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(chdir(name), 0);
	list_compare(self, calls_files, ARRAY_LEN(calls_files));
	list_compare(self, calls_process, ARRAY_LEN(calls_process));
	list_compare(self, calls_rare, ARRAY_LEN(calls_rare));
	assert_int_equal(fchdir(here), 0);
	close(here);
	assert_int_equal(scratch_entries(name), 0);
	scratch_free(name);
}

static void test_page_shut(void **state)
{
	struct self self;
	size_t n_numbers = 0;

	(void)state;
	self_open(&self, PROT_NONE);
	lists_compare(&self);
	for (size_t i = 0; i < ARRAY_LEN(self.is_done); i++)
		n_numbers += self.is_done[i];
	print_message(
		"%zu calls of %zu numbers through scratch memory, %zu lifted, %zu as they are\n",
		self.n_done, n_numbers, self.n_lift, self.n_none);
	assert_true(n_numbers >= 130);
	assert_true(self.n_done > 250);
	self_close(&self);
}

static void test_page_read_only(void **state)
{
	struct self self;

	(void)state;
	self_open(&self, PROT_READ);
	lists_compare(&self);
	assert_true(self.n_done > 100);
	self_close(&self);
}

/* Without any cure the same cases fail: the page is really shut, and the cases really use it. */
static long make_without(struct calls *calls, long nr, const long *args)
{
	struct self *self = calls->context;
	long result;

	mprotect(self->page, CALLS_PAGE, self->shut);
	result = calls_raw(nr, args);
	mprotect(self->page, CALLS_PAGE, PROT_READ | PROT_WRITE);
	return result;
}

static void test_page_without_cure(void **state)
{
	static const char *const names[] = {"read", "readv", "writev", "poll", "stat", "sockopts"};
	struct self self;

	(void)state;
	self_open(&self, PROT_NONE);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct calls shut = {.page = self.page, .make = make_without, .context = &self};

		for (size_t k = 0; k < ARRAY_LEN(calls_files) + ARRAY_LEN(calls_process); k++) {
			const struct calls_case *one =
				k < ARRAY_LEN(calls_files)
					? &calls_files[k]
					: &calls_process[k - ARRAY_LEN(calls_files)];

			if (strcmp(one->name, names[i]))
				continue;
			calls_run(&shut, one);
			assert_non_null(strstr(shut.text, " -14")); /* EFAULT */
		}
	}
	self_close(&self);
}

/* Registers of a traced child: the kernel says how many bytes they are in the struct iovec itself. */
static long registers_get(struct calls *calls, long pid)
{
	struct iovec *io = put(calls, &(struct iovec){calls->page + 512, 1024}, sizeof(*io));
	long result = CALL(calls, SYS_ptrace, PTRACE_GETREGSET, pid, NT_PRSTATUS, io);

	assert_int_equal(io->iov_len, sizeof(struct user_regs_struct));
	assert_ptr_equal(io->iov_base, calls->page + 512);
	return result;
}

static void test_regset(void **state)
{
	static const int ways[] = {PROT_NONE, PROT_READ};
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		struct self self;
		struct calls calls = {.make = make_shut, .context = &self};

		self_open(&self, ways[i]);
		calls.page = self.page;
		assert_int_equal(registers_get(&calls, pid), 0);
		assert_int_equal(self.n_done, 1);
		self_close(&self);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* Memory that is made up: two pages of which the first is shut, a scratch area, and nothing else.
 */
#define BASE  0x200000ULL
#define SPARE 0x400000ULL
#define PAGE  4096ULL

struct fake {
	unsigned char pages[2 * PAGE], spare[4 * PAGE];
	bool is_second_barred;
	size_t n_writes; /* to the pages */
	struct call_bounce *bounce;
	struct bounce_memory memory;
	struct call_plan plan;
	uint64_t args[CALL_ARGUMENTS];
};

static unsigned char *fake_at(struct fake *fake, uint64_t addr, size_t len)
{
	if (addr >= BASE && addr < SPARE && addr + len <= BASE + sizeof(fake->pages))
		return fake->pages + (addr - BASE);
	if (addr >= SPARE && addr < SPARE + sizeof(fake->spare) &&
		addr + len <= SPARE + sizeof(fake->spare))
		return fake->spare + (addr - SPARE);
	return NULL;
}

static bool fake_read(void *context, uint64_t addr, void *out, size_t len)
{
	const unsigned char *at = fake_at(context, addr, len);

	if (at)
		memcpy(out, at, len);
	return at != NULL;
}

static bool fake_write(void *context, uint64_t addr, const void *data, size_t len)
{
	unsigned char *at = fake_at(context, addr, len);

	if (at)
		memcpy(at, data, len);
	((struct fake *)context)->n_writes += addr < SPARE;
	return at != NULL;
}

static bool fake_is_shut(void *context, uint64_t addr, uint64_t len, unsigned direction)
{
	(void)context;
	return direction && addr < BASE + PAGE && BASE < addr + len;
}

static bool fake_is_granted(void *context, uint64_t addr, uint64_t len, unsigned direction)
{
	return !((struct fake *)context)->is_second_barred || !(direction & CALL_OUT) ||
	       addr + len <= BASE + PAGE;
}

static struct fake *fake_new(uint64_t scratch)
{
	struct fake *fake = mem_new(1, sizeof(*fake));

	fake->bounce = call_bounce_new(SPARE, scratch);
	fake->memory = (struct bounce_memory){
		.memory = {.context = fake, .read = fake_read},
		.write = fake_write,
		.is_shut = fake_is_shut,
		.is_granted = fake_is_granted,
	};
	return fake;
}

static void fake_free(struct fake *fake)
{
	call_bounce_free(fake->bounce);
	free(fake);
}

static enum bounce_result fake_enter(
	struct fake *fake, uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t args[CALL_ARGUMENTS] = {a, b, c, d};

	memcpy(fake->args, args, sizeof(args));
	call_plan(nr, fake->args, &fake->memory.memory, &fake->plan);
	return call_bounce_enter(fake->bounce, &fake->plan, &fake->memory, fake->args);
}

static bool fake_leave(struct fake *fake, int64_t result)
{
	return call_bounce_leave(fake->bounce, &fake->memory, result, fake->args);
}

/* Only as many bytes come back as were read, even if a thread writes behind them meanwhile. */
static void test_read_short(void **state)
{
	struct fake *fake = fake_new(PAGE);
	unsigned char *scratch;

	(void)state;
	memset(fake->pages, '.', sizeof(fake->pages));
	assert_int_equal(fake_enter(fake, SYS_read, 3, BASE + 100, 50, 0), BOUNCE_DONE);
	assert_true(fake->args[1] >= SPARE && fake->args[1] % 64 == (BASE + 100) % 64);
	scratch = fake_at(fake, fake->args[1], 50);
	memset(scratch, 'k', 50);
	memcpy(fake->pages + 100, "other", 5);
	fake->pages[120] = 'o';
	assert_true(fake_leave(fake, 10));
	assert_int_equal(fake->args[1], BASE + 100);
	assert_memory_equal(fake->pages + 100, "kkkkkkkkkk..........o", 21);
	fake_free(fake);
}

/* An error: only what changed comes back, and nothing else is written. */
static void test_error(void **state)
{
	struct fake *fake = fake_new(PAGE);
	unsigned char *scratch;

	(void)state;
	assert_int_equal(fake_enter(fake, SYS_read, 3, BASE + 100, 50, 0), BOUNCE_DONE);
	assert_true(fake_leave(fake, -EIO));
	assert_int_equal(fake->n_writes, 0);
	assert_int_equal(fake_enter(fake, SYS_read, 3, BASE + 100, 50, 0), BOUNCE_DONE);
	scratch = fake_at(fake, fake->args[1], 50);
	scratch[7] = 'k';
	fake->pages[106] = 'o';
	assert_true(fake_leave(fake, -EFAULT));
	assert_memory_equal(fake->pages + 106, "ok", 3);
	fake_free(fake);
}

/* What would be begun again: arguments are the program's, and nothing is left over. */
static void test_restart(void **state)
{
	struct fake *fake = fake_new(PAGE);

	(void)state;
	for (int64_t result = -512; result >= -514; result--) {
		assert_int_equal(fake_enter(fake, SYS_read, 3, BASE + 100, 50, 0), BOUNCE_DONE);
		assert_true(fake_leave(fake, result));
		assert_int_equal(fake->args[1], BASE + 100);
		assert_false(call_bounce_is_busy(fake->bounce));
		assert_int_equal(
			fake_enter(fake, SYS_restart_syscall, 3, BASE + 100, 50, 0), BOUNCE_NONE);
	}
	fake_free(fake);
}

/* With a restart block the kernel has kept the addresses: restart_syscall writes to the scratch
 * area. */
static void test_restart_block(void **state)
{
	struct fake *fake = fake_new(PAGE);
	struct pollfd *list = (void *)(fake->pages + 64), *scratch;

	(void)state;
	list->fd = 5;
	assert_int_equal(fake_enter(fake, SYS_poll, BASE + 64, 1, 1000, 0), BOUNCE_DONE);
	scratch = (void *)fake_at(fake, fake->args[0], sizeof(*scratch));
	assert_true(fake_leave(fake, -516));
	assert_true(call_bounce_is_busy(fake->bounce));
	assert_int_equal(fake->args[0], BASE + 64);
	assert_int_equal(fake_enter(fake, SYS_restart_syscall, BASE + 64, 1, 1000, 0), BOUNCE_DONE);
	scratch->revents = POLLHUP;
	list->events = POLLOUT; /* by another thread */
	assert_true(fake_leave(fake, 1));
	assert_int_equal(fake->args[0], BASE + 64);
	assert_int_equal(list->revents, POLLHUP);
	assert_int_equal(list->events, POLLOUT);
	assert_false(call_bounce_is_busy(fake->bounce));
	/* A handler ran instead: the next call is another one. */
	assert_int_equal(fake_enter(fake, SYS_poll, BASE + 64, 1, 1000, 0), BOUNCE_DONE);
	assert_true(fake_leave(fake, -516));
	assert_int_equal(fake_enter(fake, SYS_getpid, 0, 0, 0, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_restart_syscall, BASE + 64, 1, 1000, 0), BOUNCE_NONE);
	fake_free(fake);
}

/* A futex wait that is gone on with is lifted again, and is known as one. */
static void test_restart_lifted(void **state)
{
	struct fake *fake = fake_new(PAGE);

	(void)state;
	assert_int_equal(
		fake_enter(fake, SYS_futex, BASE, FUTEX_WAIT_PRIVATE, 0, BASE + PAGE), BOUNCE_LIFT);
	assert_true(fake->plan.class == CALL_FUTEX && fake->plan.looks_once);
	assert_true(fake_leave(fake, -516));
	assert_false(call_bounce_is_busy(fake->bounce));
	assert_int_equal(
		fake_enter(fake, SYS_restart_syscall, BASE, FUTEX_WAIT_PRIVATE, 0, 0), BOUNCE_LIFT);
	assert_true(fake->plan.class == CALL_FUTEX && fake->plan.looks_once);
	assert_true(fake_leave(fake, 0));
	assert_int_equal(fake_enter(fake, SYS_restart_syscall, 0, 0, 0, 0), BOUNCE_NONE);
	assert_int_equal(fake->n_writes, 0);
	fake_free(fake);
}

/* Any number, any arguments: nothing of the program changes unless something is to be written, and
 * all is undone. */
static void test_any_call(void **state)
{
	static const uint64_t places[] = {0, 8, 3, BASE, BASE + 4000, BASE + PAGE,
		BASE + 2 * PAGE - 5, 16, 100, UINT64_MAX, 1ULL << 47};
	struct fake *fake = fake_new(3 * PAGE), *copy = mem_new(1, sizeof(*copy));
	uint64_t seed = 20261130, n_done = 0;

	(void)state;
	for (size_t i = 0; i < 200000; i++) {
		uint64_t nr = random_next(&seed) % 480, args[CALL_ARGUMENTS];
		enum bounce_result how;

		for (size_t k = 0; k < 8; k++)
			memcpy(fake->pages + random_next(&seed) % 1023 * 8,
				&places[random_next(&seed) % ARRAY_LEN(places)], 8);
		for (size_t k = 0; k < CALL_ARGUMENTS; k++)
			args[k] = fake->args[k] = places[random_next(&seed) % ARRAY_LEN(places)] +
						  random_next(&seed) % 2 * 64;
		memcpy(copy->pages, fake->pages, sizeof(copy->pages));
		call_plan(nr, fake->args, &fake->memory.memory, &fake->plan);
		how = call_bounce_enter(fake->bounce, &fake->plan, &fake->memory, fake->args);
		n_done += how == BOUNCE_DONE;
		assert_true(how == BOUNCE_DONE || !memcmp(fake->args, args, sizeof(args)));
		assert_memory_equal(fake->pages, copy->pages, sizeof(copy->pages));
		/* The kernel wrote nothing, but what it says would be there: the same bytes. */
		assert_true(fake_leave(fake, (int64_t)(random_next(&seed) % 40) - 20));
		assert_memory_equal(fake->args, args, sizeof(args));
		assert_memory_equal(fake->pages, copy->pages, sizeof(copy->pages));
	}
	print_message("%lu of 200000 calls through scratch memory\n", (unsigned long)n_done);
	assert_true(n_done > 1000);
	free(copy);
	fake_free(fake);
}

/* Buffers and lists: only what is shut is redirected, with the list that names it. */
static void test_nested(void **state)
{
	struct fake *fake = fake_new(2 * PAGE);
	struct iovec list[2] = {{.iov_base = (void *)(BASE + 200), .iov_len = 8},
		{.iov_base = (void *)(BASE + PAGE + 8), .iov_len = 8}};
	struct iovec moved[2];

	(void)state;
	memcpy(fake->pages + PAGE + 512, list, sizeof(list));
	assert_int_equal(fake_enter(fake, SYS_readv, 3, BASE + PAGE + 512, 2, 0), BOUNCE_DONE);
	assert_true(fake->args[1] >= SPARE);
	memcpy(moved, fake_at(fake, fake->args[1], sizeof(moved)), sizeof(moved));
	assert_true((uint64_t)moved[0].iov_base >= SPARE);
	assert_ptr_equal(moved[1].iov_base, list[1].iov_base);
	assert_memory_equal(fake->pages + PAGE + 512, list, sizeof(list));
	memcpy(fake_at(fake, (uint64_t)moved[0].iov_base, 8), "12345678", 8);
	memcpy(fake->pages + PAGE + 8, "90", 2); /* the kernel, directly */
	assert_true(fake_leave(fake, 10));
	assert_memory_equal(fake->pages + 200, "12345678", 9);
	assert_memory_equal(fake->pages + PAGE + 8, "90", 3);
	fake_free(fake);
}

/* What cannot be done like this is lifted, and nothing is changed. */
static void test_lift(void **state)
{
	struct fake *fake = fake_new(PAGE);

	(void)state;
	assert_int_equal(fake_enter(fake, SYS_read, 3, BASE + 1, 1 << 20, 0),
		BOUNCE_LIFT); /* too long, and beyond memory */
	assert_int_equal(fake_enter(fake, SYS_write, 3, BASE, 2 * PAGE, 0),
		BOUNCE_LIFT); /* longer than the scratch area */
	assert_int_equal(fake_enter(fake, SYS_write, 3, BASE + PAGE, PAGE, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_mmap, 0, PAGE, 0, MAP_PRIVATE), BOUNCE_NONE);
	assert_int_equal(
		fake_enter(fake, SYS_mmap, BASE, PAGE, 0, MAP_PRIVATE | MAP_FIXED), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_munmap, BASE + PAGE, PAGE, 0, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_mprotect, BASE - PAGE, PAGE + 1, 0, 0), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_brk, 0, 0, 0, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_brk, BASE, 0, 0, 0), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_brk, BASE + PAGE, 0, 0, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_mremap, BASE + PAGE, PAGE, PAGE, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_mremap, BASE, PAGE, PAGE, 0), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, 9999, 0, 0, 0, 0), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_rt_sigreturn, 0, 0, 0, 0), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_futex, BASE, FUTEX_WAIT_PRIVATE, 0, 0), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_futex, BASE, FUTEX_WAKE_PRIVATE, 1, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_rseq, BASE, 32, 0, 0), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_clone, 0x100000, 0, BASE, 0), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_vmsplice, 1, BASE, 0, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_ioctl, 3, 0xabcdef, BASE + PAGE, 0), BOUNCE_LIFT);
	/* As many semaphores as a set may have. */
	assert_int_equal(fake_enter(fake, SYS_semctl, 1, 0, 13, BASE - 63999), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_semctl, 1, 0, 13, BASE - 64000), BOUNCE_NONE);
	/* The program may not write there itself: the kernel must say so. */
	fake->is_second_barred = true;
	assert_int_equal(fake_enter(fake, SYS_read, 3, BASE + PAGE - 8, 16, 0), BOUNCE_LIFT);
	assert_int_equal(fake_enter(fake, SYS_write, 3, BASE + PAGE - 8, 16, 0), BOUNCE_DONE);
	call_bounce_cancel(fake->bounce, fake->args);
	assert_int_equal(fake->args[1], BASE + PAGE - 8);
	assert_false(call_bounce_is_busy(fake->bounce));
	assert_int_equal(fake->n_writes, 0);
	fake_free(fake);
}

/* Bad pointers of the program are the kernel's to tell; where something else is shut, the pages
 * must be open for it. */
static void test_bad_pointers(void **state)
{
	struct fake *fake = fake_new(PAGE);

	(void)state;
	assert_int_equal(fake_enter(fake, SYS_read, 3, 8, 16, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_chdir, 8, 0, 0, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_readv, 3, 8, 2, 0), BOUNCE_NONE);
	assert_int_equal(fake_enter(fake, SYS_stat, 8, BASE, 0, 0), BOUNCE_LIFT);
	fake_free(fake);
}

/* A process whose memory is not this one's: its addresses mean nothing here. */
static bool is_other(void *context, int64_t pid)
{
	(void)context;
	(void)pid;
	return false;
}

static void test_other_process(void **state)
{
	struct fake *fake = fake_new(PAGE);
	struct iovec local = {.iov_base = (void *)(BASE + PAGE), .iov_len = 8},
		     remote = {.iov_base = (void *)BASE, .iov_len = 8};
	uint64_t args[CALL_ARGUMENTS] = {77, BASE + PAGE + 64, 1, BASE + PAGE + 96, 1};

	(void)state;
	memcpy(fake->pages + PAGE + 64, &local, sizeof(local));
	memcpy(fake->pages + PAGE + 96, &remote, sizeof(remote));
	call_plan(SYS_process_vm_readv, args, &fake->memory.memory, &fake->plan);
	assert_int_equal(
		call_bounce_enter(fake->bounce, &fake->plan, &fake->memory, args), BOUNCE_LIFT);
	fake->memory.memory.is_self = is_other;
	call_plan(SYS_process_vm_readv, args, &fake->memory.memory, &fake->plan);
	assert_int_equal(
		call_bounce_enter(fake->bounce, &fake->plan, &fake->memory, args), BOUNCE_NONE);
	fake_free(fake);
}

/* A large buffer keeps its place within the page, as O_DIRECT wants. */
static void test_place(void **state)
{
	struct fake *fake = fake_new(3 * PAGE);

	(void)state;
	assert_int_equal(fake_enter(fake, SYS_write, 3, BASE + 512, 1024, 0), BOUNCE_DONE);
	assert_int_equal(fake->args[1] % PAGE, 512);
	assert_true(fake_leave(fake, 1024));
	assert_int_equal(fake->n_writes, 0);
	fake_free(fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_shut),
		cmocka_unit_test(test_page_read_only),
		cmocka_unit_test(test_page_without_cure),
		cmocka_unit_test(test_regset),
		cmocka_unit_test(test_read_short),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_restart_block),
		cmocka_unit_test(test_restart_lifted),
		cmocka_unit_test(test_any_call),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_lift),
		cmocka_unit_test(test_bad_pointers),
		cmocka_unit_test(test_other_process),
		cmocka_unit_test(test_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
