// SPDX-License-Identifier: MIT
// Instruction-set levels by row.
#include "cpu/isa.h"

#include <string.h>

#include "base/arch.h"

#define TN_ARCH_ANY 1

static const struct level {
    const char * name;
    bool is_ours; // of the architecture that this is compiled for
    uint64_t features;
} levels[TN_ISA_COUNT] = {
#define TN_ISA(name, arch, flags, features) [TN_ISA_##name] = { #name, TN_ARCH_##arch, features },
#include "cpu/isa.def"
#undef TN_ISA
};

const char * tn_isa_name(enum tn_isa isa) {
    return levels[isa].name;
}

uint64_t tn_isa_features(enum tn_isa isa) {
    return levels[isa].features;
}

enum tn_isa tn_isa_find(const char * name) {
    for (int i = 0; i < TN_ISA_COUNT; i++) {
        const char * level = strchr(levels[i].name, '_');
        if (!levels[i].is_ours) continue;
        if (strcmp(name, levels[i].name) == 0 || (level && strcmp(name, level + 1) == 0))
            return (enum tn_isa) i;
    }
    return TN_ISA_COUNT;
}

uint64_t tn_isa_up_to(enum tn_isa highest) {
    return (UINT64_C(2) << highest) - 1;
}

uint64_t tn_isa_machine(void) {
    const uint64_t offered = tn_detect_features();
    uint64_t set = 0;
    for (int i = 0; i < TN_ISA_COUNT; i++) {
        const bool runs = levels[i].is_ours && (levels[i].features & ~offered) == 0;
        set |= (uint64_t) runs << i;
    }
    return set;
}
