/* session_code.c owns the listing of a function's instructions, for those who look at a run. It reads code, and stops
 * nothing for that. */
#include "session_private.h"
#include "watchprof/code.h"
#include "watchprof/insn.h"
#include "watchprof/util.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CODE_BYTES_MAX (64U << 10) /* of a longer function so much around the address */
#define TEXT_MAX       160

static char *target_name(void *context, uint64_t addr)
{
	return symbols_name(context, addr);
}

static void decode(struct symbols *symbols, const unsigned char *bytes, size_t len, uint64_t addr, struct code *out)
{
	size_t cap = 0, at = 0;

	while (at < len) {
		char text[TEXT_MAX];
		size_t length = insn_text(bytes + at, len - at, addr + at, target_name, symbols, text, sizeof(text));

		if (!length) {
			snprintf(text, sizeof(text), ".byte 0x%02x", bytes[at]);
			length = 1;
		}
		if (out->n == cap) {
			cap = cap ? 2 * cap : 64;
			out->insns = mem_resize(out->insns, cap, sizeof(*out->insns));
		}
		out->insns[out->n++] = (struct code_insn){addr + at, (uint8_t)length, text_copy(text)};
		at += length;
	}
}

static bool image_code(struct symbols *symbols, uint64_t addr, struct code *out)
{
	uint64_t start, end, from;
	struct loc loc;
	unsigned char *bytes;
	bool is_read;

	if (!symbols_code_range(symbols, addr, &start, &end))
		return false;
	from = start;
	/* Of a very long function what follows the line. */
	if (addr - start > CODE_BYTES_MAX / 2 && !symbols_boundary(symbols, addr + 1, 0, &from))
		return false;
	end = end - from > CODE_BYTES_MAX ? from + CODE_BYTES_MAX : end;
	bytes = mem_new(end - from, 1);
	is_read = symbols_code_bytes(symbols, from, bytes, end - from);
	if (is_read) {
		symbols_locate(symbols, start, &loc);
		out->function = loc.function ? text_copy(loc.function) : NULL;
		out->offset = from - start;
		decode(symbols, bytes, end - from, from, out);
	}
	free(bytes);
	return is_read;
}

bool session_code(void *context, uint32_t id, uint64_t addr, struct code *out)
{
	struct session *session = context;
	struct session_image *image;

	*out = (struct code){0};
	LIST_FOREACH (image, &session->images, all) {
		if (image->id == id)
			return image_code(image->symbols, addr, out);
	}
	return false;
}
