/* emulate_processor.c owns what this processor can do: which sets of instructions may be run here without
 * an invalid opcode. A set that is not in the table is left to the thread. */
#include "emulate_private.h"

#include "watchprof/util.h"

#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <string.h>

/* State parts (Intel SDM volume 1, "XSAVE-supported features and state-component bitmaps"). Of protection keys and
 * tiles nothing is loaded: the tracer would run with them. */
#define PARTS_AVX    0x7U
#define PARTS_AVX512 0xe7U
#define LEAF_XSAVE   13

enum leaf { LEAF_1, LEAF_7, LEAF_7_1, LEAF_AMD, LEAF_AMD_8, N_LEAVES, ALWAYS };
enum output { EAX, EBX, ECX, EDX };

static const struct {
	unsigned leaf, subleaf;
} leaves[N_LEAVES] = {{1, 0}, {7, 0}, {7, 1}, {0x80000001, 0}, {0x80000008, 0}};

/* Intel SDM volume 2, "CPUID", and AMD APM volume 3, appendix E. */
static const struct set {
	uint16_t set;
	uint8_t leaf, output, bit;
	uint8_t parts; /* of XCR0 */
	bool is_short; /* of AVX-512, with vectors shorter than 512 bits: VL is needed */
} sets[] = {
#define HERE(name)			   {ZYDIS_ISA_SET_##name, ALWAYS, 0, 0, 0, false}
#define PLAIN(name, leaf, output, bit)	   {ZYDIS_ISA_SET_##name, leaf, output, bit, 0, false}
#define VECTOR(name, leaf, output, bit)	   {ZYDIS_ISA_SET_##name, leaf, output, bit, PARTS_AVX, false}
#define WIDE(name, leaf, output, bit)	   {ZYDIS_ISA_SET_##name, leaf, output, bit, PARTS_AVX512, false}
#define SHORT(name, leaf, output, bit)	   {ZYDIS_ISA_SET_##name, leaf, output, bit, PARTS_AVX512, true}
#define ALL(name, leaf, output, bit) \
	SHORT(name##_128, leaf, output, bit), SHORT(name##_256, leaf, output, bit), WIDE(name##_512, leaf, output, bit)
	HERE(I86), HERE(I186), HERE(I386), HERE(I486), HERE(I486REAL), HERE(PENTIUMREAL), HERE(PPRO), HERE(LONGMODE),
	HERE(CMOV), HERE(X87), HERE(FCMOV), HERE(PENTIUMMMX), HERE(SSE), HERE(SSE2), HERE(SSE2MMX), HERE(SSEMXCSR),
	HERE(FXSAVE), HERE(FXSAVE64), HERE(CLFSH),
	PLAIN(SSE3, LEAF_1, ECX, 0), PLAIN(SSE3X87, LEAF_1, ECX, 0), PLAIN(PCLMULQDQ, LEAF_1, ECX, 1),
	PLAIN(SSSE3, LEAF_1, ECX, 9), PLAIN(SSSE3MMX, LEAF_1, ECX, 9), VECTOR(FMA, LEAF_1, ECX, 12),
	PLAIN(CMPXCHG16B, LEAF_1, ECX, 13), PLAIN(SSE4, LEAF_1, ECX, 19), PLAIN(SSE42, LEAF_1, ECX, 20),
	PLAIN(MOVBE, LEAF_1, ECX, 22), PLAIN(POPCNT, LEAF_1, ECX, 23), PLAIN(AES, LEAF_1, ECX, 25),
	VECTOR(AVX, LEAF_1, ECX, 28), VECTOR(AVXAES, LEAF_1, ECX, 25), VECTOR(F16C, LEAF_1, ECX, 29),
	PLAIN(BMI1, LEAF_7, EBX, 3), VECTOR(AVX2, LEAF_7, EBX, 5), VECTOR(AVX2GATHER, LEAF_7, EBX, 5),
	PLAIN(BMI2, LEAF_7, EBX, 8), PLAIN(ADOX_ADCX, LEAF_7, EBX, 19), PLAIN(CLFLUSHOPT, LEAF_7, EBX, 23),
	PLAIN(CLWB, LEAF_7, EBX, 24), PLAIN(SHA, LEAF_7, EBX, 29), PLAIN(GFNI, LEAF_7, ECX, 8),
	VECTOR(AVX_GFNI, LEAF_7, ECX, 8), VECTOR(VAES, LEAF_7, ECX, 9), VECTOR(VPCLMULQDQ, LEAF_7, ECX, 10),
	VECTOR(AVX_VNNI, LEAF_7_1, EAX, 4), PLAIN(LZCNT, LEAF_AMD, ECX, 5), PLAIN(SSE4A, LEAF_AMD, ECX, 6),
	VECTOR(XOP, LEAF_AMD, ECX, 11), VECTOR(FMA4, LEAF_AMD, ECX, 16), PLAIN(TBM, LEAF_AMD, ECX, 21),
	PLAIN(CLZERO, LEAF_AMD_8, EBX, 0), PLAIN(MOVDIR, LEAF_7, ECX, 27),
	ALL(AVX512F, LEAF_7, EBX, 16), WIDE(AVX512F_128N, LEAF_7, EBX, 16), WIDE(AVX512F_SCALAR, LEAF_7, EBX, 16),
	WIDE(AVX512F_KOP, LEAF_7, EBX, 16), ALL(AVX512DQ, LEAF_7, EBX, 17), WIDE(AVX512DQ_128N, LEAF_7, EBX, 17),
	WIDE(AVX512DQ_SCALAR, LEAF_7, EBX, 17), WIDE(AVX512DQ_KOP, LEAF_7, EBX, 17),
	ALL(AVX512_IFMA, LEAF_7, EBX, 21), ALL(AVX512CD, LEAF_7, EBX, 28), ALL(AVX512BW, LEAF_7, EBX, 30),
	WIDE(AVX512BW_128N, LEAF_7, EBX, 30), WIDE(AVX512BW_KOP, LEAF_7, EBX, 30),
	ALL(AVX512_VBMI, LEAF_7, ECX, 1), ALL(AVX512_VBMI2, LEAF_7, ECX, 6), ALL(AVX512_GFNI, LEAF_7, ECX, 8),
	ALL(AVX512_VAES, LEAF_7, ECX, 9), ALL(AVX512_VPCLMULQDQ, LEAF_7, ECX, 10),
	ALL(AVX512_VNNI, LEAF_7, ECX, 11), ALL(AVX512_BITALG, LEAF_7, ECX, 12),
	ALL(AVX512_VPOPCNTDQ, LEAF_7, ECX, 14), ALL(AVX512_VP2INTERSECT, LEAF_7, EDX, 8),
	ALL(AVX512_BF16, LEAF_7_1, EAX, 5),
	ALL(AVX512_FP16, LEAF_7, EDX, 23), WIDE(AVX512_FP16_SCALAR, LEAF_7, EDX, 23),
	WIDE(AVX512_FP16_128N, LEAF_7, EDX, 23),
#undef HERE
#undef PLAIN
#undef VECTOR
#undef WIDE
#undef SHORT
#undef ALL
};

/* Which parts the kernel lets programs use (Intel SDM volume 2, "XGETBV"). */
static uint32_t parts_enabled(const struct emulate_processor *processor)
{
	uint32_t low, high;

	if (!(processor->leaves[LEAF_1][ECX] & bit_OSXSAVE))
		return 0;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low & PARTS_AVX512;
}

/* Intel SDM volume 1, "Guidelines for writing to the MXCSR register". Not AMD's bit for misaligned operands: that
 * is for the thread. */
static uint32_t mxcsr_mask_read(void)
{
	unsigned char area[512] __attribute__((aligned(16))) = {0};
	uint32_t mask;

	__asm__ volatile("fxsave64 %0" : "=m"(area));
	memcpy(&mask, area + 28, sizeof(mask));
	return (mask ? mask : 0xffbf) & 0xffff;
}

void emulate_processor_read(struct emulate_processor *processor)
{
	uint32_t unused[3];

	*processor = (struct emulate_processor){0};
	for (unsigned i = 0; i < N_LEAVES; i++) {
		uint32_t *out = processor->leaves[i];

		if (!__get_cpuid_count(leaves[i].leaf, leaves[i].subleaf, &out[EAX], &out[EBX], &out[ECX], &out[EDX]))
			out[EAX] = out[EBX] = out[ECX] = out[EDX] = 0;
	}
	processor->parts = parts_enabled(processor);
	if (!__get_cpuid_count(LEAF_XSAVE, 0, &unused[0], &processor->area_len, &unused[1], &unused[2]))
		processor->area_len = 0;
	processor->mxcsr_mask = mxcsr_mask_read();
	processor->layout = insn_xsave_here();
}

static bool has_bit(const struct emulate_processor *processor, const struct set *set)
{
	return set->leaf == ALWAYS || processor->leaves[set->leaf][set->output] >> set->bit & 1;
}

bool emulate_processor_has(const struct emulate_processor *processor, unsigned set, unsigned mnemonic)
{
	bool has_short = processor->leaves[LEAF_7][EBX] >> 31 & 1;

	if (mnemonic == ZYDIS_MNEMONIC_MOVDIR64B) /* Zydis has it in one set with movdiri */
		return processor->leaves[LEAF_7][ECX] >> 28 & 1;
	for (unsigned i = 0; i < ARRAY_LEN(sets); i++) {
		if (sets[i].set == set)
			return has_bit(processor, &sets[i]) && (processor->parts & sets[i].parts) == sets[i].parts &&
				(!sets[i].is_short || has_short);
	}
	return false;
}
