/* stack.c owns the copies of the stack and the decision how much is read. The thread must stand
 * meanwhile: its stack, and the one that a signal interrupted, cannot be had later. It knows
 * nothing of frames. */
#include "watchprof/stack.h"

#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Below the stack pointer: at the end of a function, rules may lead to saved registers that have
 * been taken off the stack already. The red zone (System V ABI for x86-64, 3.2.2) keeps them. */
#define LEN_BELOW 128U
#define LEN_FIRST 2048U
#define LEN_STEP  256U  /* the first copy is a multiple of this */
#define LEN_ADD   4096U /* what is read at least once the first copy did not do */
#define GAP_MAX                                                                                    \
	(64U << 10) /* what is read although it is not needed, before another piece is begun */
#define TOTAL_MAX   (4U << 20)
#define PIECES_MAX  32
#define NEEDS_MAX   1024 /* a power of two */
#define DECAY_SHIFT 4
#define ALSO_MAX    5
#define UNKNOWN_RUN 8	     /* after a path that was not known */
#define LACKING_RUN (1U << 20) /* after one that registers were needed for: they will be at that instruction */

struct stack_reader {
	int memory_fd; /* of the process; < 0: there is none */
	/* What is read with the next path's stack. */
	const struct iovec *also_local, *also_remote;
	size_t n_also;
	bool has_also;
	unsigned char *bytes;
	size_t cap, total;
	struct piece {
		uint64_t start;
		size_t len, offset; /* into bytes */
	} pieces[PIECES_MAX];
	struct stack_image images[PIECES_MAX];
	size_t n;
	/* How much the paths from an instruction needed, by a hash of its address. */
	struct need {
		uint64_t ip;
		uint32_t len;
		uint32_t n_unknown; /* paths from now on that are not looked for among those known */
	} needs[NEEDS_MAX];
};

struct stack_reader *stack_reader_new(void)
{
	struct stack_reader *reader = mem_new(1, sizeof(*reader));

	reader->memory_fd = -1;
	reader->cap = 4 * (size_t)LEN_FIRST;
	reader->bytes = mem_new(reader->cap, 1);
	return reader;
}

void stack_reader_free(struct stack_reader *reader)
{
	if (!reader)
		return;
	free(reader->bytes);
	free(reader);
}

HIT_PATH void stack_through(struct stack_reader *reader, int memory_fd)
{
	reader->memory_fd = memory_fd;
}

HIT_PATH void stack_also(struct stack_reader *reader, const struct iovec *local, const struct iovec *remote, size_t n)
{
	reader->also_local = local;
	reader->also_remote = remote;
	reader->n_also = n < ALSO_MAX ? n : ALSO_MAX;
	reader->has_also = false;
}

HIT_PATH bool stack_has_also(const struct stack_reader *reader)
{
	return reader->has_also;
}

/* Read the other pieces and a piece of the stack in one call. */
static ssize_t both_read(struct stack_reader *reader, pid_t pid, uint64_t addr, void *out, size_t len)
{
	struct iovec local[ALSO_MAX + 1], remote[ALSO_MAX + 1];
	size_t n = reader->n_also, also = 0;
	ssize_t got;

	for (size_t i = 0; i < n; i++) {
		local[i] = reader->also_local[i];
		remote[i] = reader->also_remote[i];
		also += local[i].iov_len;
	}
	local[n] = (struct iovec){out, len};
	remote[n] = (struct iovec){(void *)(uintptr_t)addr, len};
	reader->n_also = 0;
	got = sys_memory_gather(pid, local, remote, n + 1);
	reader->has_also = got >= (ssize_t)also;
	return reader->has_also ? got - (ssize_t)also : sys_memory_read(pid, addr, out, len);
}

HIT_PATH static ssize_t stack_read(const struct stack_reader *reader, pid_t pid, uint64_t addr, void *out, size_t len)
{
	return reader->memory_fd < 0 ? sys_memory_read(pid, addr, out, len)
				     : sys_memory_force_read(reader->memory_fd, addr, out, len);
}

/* Read len more bytes from address addr to the end of what was read. */
HIT_PATH static size_t bytes_read(struct stack_reader *reader, pid_t pid, uint64_t addr, size_t len)
{
	ssize_t n;

	if (reader->cap < reader->total + len) {
		while (reader->cap < reader->total + len)
			reader->cap *= 2;
		reader->bytes = mem_resize(reader->bytes, reader->cap, 1);
	}
	n = reader->n_also ? both_read(reader, pid, addr, reader->bytes + reader->total, len)
			   : stack_read(reader, pid, addr, reader->bytes + reader->total, len);
	reader->total += n > 0 ? (size_t)n : 0;
	return n > 0 ? (size_t)n : 0;
}

static bool piece_add(struct stack_reader *reader, pid_t pid, uint64_t start, size_t len)
{
	struct piece *piece = &reader->pieces[reader->n];

	piece->start = start;
	piece->offset = reader->total;
	piece->len = bytes_read(reader, pid, start, len);
	reader->n++;
	return piece->len > 0;
}

/* Read what a path lacks: by making the last piece longer, or, where it lies elsewhere (behind a
 * large array; on the stack that a signal interrupted), as another piece. */
static bool piece_more(struct stack_reader *reader, pid_t pid, uint64_t missing)
{
	struct piece *last = &reader->pieces[reader->n - 1];
	uint64_t end = last->start + last->len, lack = missing + sizeof(uint64_t) - end;
	size_t before = last->len;

	if (reader->total >= TOTAL_MAX)
		return false;
	if (lack - 1 < GAP_MAX) {
		last->len +=
			bytes_read(reader, pid, end, lack + (before > LEN_ADD ? before : LEN_ADD));
		return last->start + last->len >= missing + sizeof(uint64_t);
	}
	/* Whole steps never reach over a page's beginning. */
	return reader->n < PIECES_MAX &&
	       piece_add(reader, pid, missing & -(uint64_t)LEN_STEP, LEN_ADD);
}

static const struct stack_image *images_make(struct stack_reader *reader)
{
	for (size_t i = 0; i < reader->n; i++)
		reader->images[i] = (struct stack_image){.start = reader->pieces[i].start,
			.len = reader->pieces[i].len,
			.bytes = reader->bytes + reader->pieces[i].offset};
	return reader->images;
}

HIT_PATH static struct need *need_of(struct stack_reader *reader, uint64_t ip)
{
	struct need *need = &reader->needs[(ip * 0x9e3779b97f4a7c15ULL) >> 32 & (NEEDS_MAX - 1)];

	if (need->ip != ip)
		*need = (struct need){.ip = ip, .len = LEN_FIRST};
	return need;
}

/* At once up to what was needed, slowly down to it: a deep path now and then must not make all
 * others dear for ever. */
static void need_learn(struct need *need, size_t used)
{
	uint32_t len = (uint32_t)((used + LEN_STEP - 1) / LEN_STEP * LEN_STEP);

	if (len > GAP_MAX)
		len = GAP_MAX;
	if (len >= need->len)
		need->len = len;
	else
		need->len -= (need->len - len) >> DECAY_SHIFT;
}

/* The first piece, from the stack pointer up. */
static void first_add(struct stack_reader *reader, pid_t pid, uint64_t sp, size_t len)
{
	reader->n = 0;
	reader->total = 0;
	piece_add(reader, pid, sp - LEN_BELOW, len);
}

static void path_take(struct need *need, const struct unwinding *path, struct hit *hit)
{
	need_learn(need, path->used);
	hit->n_frames = (uint16_t)path->n;
	hit->path = path->end;
	memcpy(hit->signals, path->signals, sizeof(hit->signals));
}

HIT_PATH bool stack_is_promising(struct stack_reader *reader, uint64_t ip)
{
	struct need *need = need_of(reader, ip);

	if (need->n_unknown == 0)
		return true;
	need->n_unknown--;
	return false;
}

HIT_PATH bool stack_path_known(struct stack_reader *reader, struct unwinder *unwinder, pid_t pid, uint64_t ip, uint64_t sp,
	size_t max, struct hit *hit)
{
	struct need *need = need_of(reader, ip);
	struct unwinding path = {.frames = hit->frames, .max = max};

	first_add(reader, pid, sp, need->len);
	if (!unwind_known(unwinder, ip, sp, images_make(reader), &path)) {
		need->n_unknown = path.lacks_regs ? LACKING_RUN : UNKNOWN_RUN;
		return false;
	}
	path_take(need, &path, hit);
	return true;
}

HIT_PATH void stack_path(struct stack_reader *reader, struct unwinder *unwinder, pid_t pid,
	const struct user_regs_struct *regs, size_t max, struct hit *hit)
{
	struct need *need = need_of(reader, regs->rip);
	struct unwinding path = {.frames = hit->frames, .max = max};

	first_add(reader, pid, regs->rsp, need->len);
	for (;;) {
		unwind_path(unwinder, regs, images_make(reader), reader->n, &path);
		if (!path.is_short)
			break;
		if (!piece_more(reader, pid, path.missing)) {
			/* No such memory: the rules do not fit. */
			path.end = reader->total < TOTAL_MAX && reader->n < PIECES_MAX
					   ? PATH_BROKEN
					   : PATH_TRUNCATED;
			break;
		}
	}
	path_take(need, &path, hit);
}
