/* insn_vectors.c owns the layout of an xsave area: it takes vector and mask registers out of a copy. It
 * never reads the registers of a processor or a thread. */
#include "watchprof/insn.h"

#include <cpuid.h>
#include <string.h>

/* Intel SDM volume 1, chapter "Managing state using the XSAVE feature set": the legacy region, the
 * header with the set of parts that are not in their initial state (all zero), then the parts. */
#define LEGACY_XMM    160
#define HEADER	      512
#define HEADER_END    576
#define PART_SSE      1
#define PART_YMM      2
#define PART_K	      5
#define PART_ZMM_HIGH 6
#define PART_ZMM_MORE 7
#define LEAF_XSAVE    13

static uint32_t part_offset(unsigned part)
{
	unsigned size = 0, offset = 0, c, d;

	if (!__get_cpuid_count(LEAF_XSAVE, part, &size, &offset, &c, &d) || size == 0)
		return 0;
	return offset;
}

struct insn_xsave insn_xsave_here(void)
{
	return (struct insn_xsave){
		.ymm = part_offset(PART_YMM),
		.k = part_offset(PART_K),
		.zmm_high = part_offset(PART_ZMM_HIGH),
		.zmm_more = part_offset(PART_ZMM_MORE),
	};
}

/* Copy n pieces of size bytes, the first to out, the others stride bytes apart. */
static void part_read(const unsigned char *area, size_t len, uint32_t offset, unsigned n, size_t size,
	unsigned char *out, size_t stride)
{
	if (offset == 0 || offset + n * size > len)
		return;
	for (unsigned i = 0; i < n; i++)
		memcpy(out + i * stride, area + offset + i * size, size);
}

bool insn_vectors_read(const unsigned char *area, size_t len, const struct insn_xsave *layout,
	struct insn_vectors *out)
{
	uint64_t parts;

	*out = (struct insn_vectors){0};
	if (len < HEADER_END)
		return false;
	memcpy(&parts, area + HEADER, sizeof(parts));
	if (parts & 1U << PART_SSE)
		part_read(area, len, LEGACY_XMM, 16, 16, out->v[0], 64);
	if (parts & 1U << PART_YMM)
		part_read(area, len, layout->ymm, 16, 16, out->v[0] + 16, 64);
	if (parts & 1U << PART_ZMM_HIGH)
		part_read(area, len, layout->zmm_high, 16, 32, out->v[0] + 32, 64);
	if (parts & 1U << PART_ZMM_MORE)
		part_read(area, len, layout->zmm_more, 16, 64, out->v[16], 64);
	if (parts & 1U << PART_K)
		part_read(area, len, layout->k, 8, 8, (unsigned char *)out->k, 8);
	return true;
}
