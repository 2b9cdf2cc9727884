// SPDX-License-Identifier: MIT
// What an x86-64 processor offers: CPUID, and XGETBV for the registers that the system saves. A vector
// register that it does not save may change at any moment, so such a feature counts as missing.
#include "cpu/isa.h"

enum { EAX, EBX, ECX, EDX };

enum {
    SAVES_AVX = 0x06,    // XMM, YMM
    SAVES_AVX512 = 0xe6, // and masks, upper halves, upper registers
};

// A feature: leaf and sub-leaf of CPUID, register, bit, and what the system must save.
static const struct row {
    enum tn_feature feature;
    uint32_t leaf, subleaf;
    int reg, bit;
    uint32_t saved;
} rows[] = {
    { TN_FEATURE_SSE3, 1, 0, ECX, 0, 0 },
    { TN_FEATURE_SSSE3, 1, 0, ECX, 9, 0 },
    { TN_FEATURE_FMA, 1, 0, ECX, 12, SAVES_AVX },
    { TN_FEATURE_AVX, 1, 0, ECX, 28, SAVES_AVX },
    { TN_FEATURE_F16C, 1, 0, ECX, 29, SAVES_AVX },
    { TN_FEATURE_AVX2, 7, 0, EBX, 5, SAVES_AVX },
    { TN_FEATURE_BMI2, 7, 0, EBX, 8, 0 },
    { TN_FEATURE_AVX512_VBMI, 7, 0, ECX, 1, SAVES_AVX512 },
    { TN_FEATURE_AVX512_VNNI, 7, 0, ECX, 11, SAVES_AVX512 },
    { TN_FEATURE_AVX_VNNI, 7, 1, EAX, 4, SAVES_AVX },
    { TN_FEATURE_AVX512_BF16, 7, 1, EAX, 5, SAVES_AVX512 },
};

// AVX512 stands for the set that ships together: F, DQ, BW and VL, bits of EBX of leaf 7.
enum { AVX512_F = 16, AVX512_DQ = 17, AVX512_BW = 30, AVX512_VL = 31 };
#define AVX512_SET (1u << AVX512_F | 1u << AVX512_DQ | 1u << AVX512_BW | 1u << AVX512_VL)

static void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t r[4]) {
    __asm__ volatile("cpuid"
                     : "=a"(r[EAX]), "=b"(r[EBX]), "=c"(r[ECX]), "=d"(r[EDX])
                     : "0"(leaf), "2"(subleaf));
}

// The components of state that the system saves; 0 if it does not say.
static uint32_t saved_state(void) {
    uint32_t r[4], low, high;
    cpuid(1, 0, r);
    if (!(r[ECX] >> 27 & 1)) return 0; // OSXSAVE
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

// Sub-leaves beyond the last one of leaf 7 hold nothing that can be relied on.
static int has_leaf(uint32_t leaf, uint32_t subleaf) {
    uint32_t r[4];
    cpuid(0, 0, r);
    if (r[EAX] < leaf) return 0;
    cpuid(leaf, 0, r);
    return leaf != 7 || subleaf <= r[EAX];
}

uint64_t tn_detect_features(void) {
    const uint32_t saved = saved_state();
    uint64_t set = 0;
    uint32_t r[4];
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row * row = &rows[i];
        if (!has_leaf(row->leaf, row->subleaf) || (row->saved & ~saved) != 0) continue;
        cpuid(row->leaf, row->subleaf, r);
        set |= (uint64_t) (r[row->reg] >> row->bit & 1) << row->feature;
    }
    if (has_leaf(7, 0) && (SAVES_AVX512 & ~saved) == 0) {
        cpuid(7, 0, r);
        if ((r[EBX] & AVX512_SET) == AVX512_SET) set |= TN_F(AVX512);
    }
    return set;
}
