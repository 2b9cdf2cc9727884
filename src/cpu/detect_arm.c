// SPDX-License-Identifier: MIT
// What a 64-bit Arm processor offers, as Linux tells each process. NEON with fused multiply-add belongs to
// the architecture; what cannot be found out counts as missing.
#include <stdio.h>

#include "cpu/isa.h"

// Entries of the auxiliary vector, and bits in them.
enum { AT_END = 0, AT_CAPS = 16, AT_CAPS2 = 26 };
enum { CAPS_DOTPROD = 20, CAPS2_I8MM = 13 };

struct entry {
    uint64_t type, value;
};

uint64_t tn_detect_features(void) {
    uint64_t set = TN_F(NEON) | TN_F(ARM_FMA);
    FILE * file = fopen("/proc/self/auxv", "rb");
    if (!file) return set;
    struct entry e;
    while (fread(&e, sizeof(e), 1, file) == 1 && e.type != AT_END) {
        if (e.type == AT_CAPS && (e.value >> CAPS_DOTPROD & 1)) set |= TN_F(DOTPROD);
        if (e.type == AT_CAPS2 && (e.value >> CAPS2_I8MM & 1)) set |= TN_F(MATMUL_INT8);
    }
    fclose(file);
    return set;
}
