// SPDX-License-Identifier: MIT
// Instruction-set levels: the rows of isa.def, and which of them this machine runs.
#ifndef TN_CPU_ISA_H
#define TN_CPU_ISA_H

#include <stdbool.h>
#include <stdint.h>

enum tn_isa {
#define TN_ISA(name, arch, flags, features) TN_ISA_##name,
#include "cpu/isa.def"
#undef TN_ISA
    TN_ISA_COUNT
};

enum tn_feature {
#define TN_FEATURE(name, function) TN_FEATURE_##name,
#include "cpu/features.def"
#undef TN_FEATURE
    TN_FEATURE_COUNT
};

// Sets of features, and of levels: bit i is feature or level i.
#define TN_F(name) (UINT64_C(1) << TN_FEATURE_##name)
#define TN_AVX2    (TN_F(SSE3) | TN_F(SSSE3) | TN_F(AVX) | TN_F(AVX2) | TN_F(F16C) | TN_F(FMA))

// What processor and system offer together. One detect_<architecture>.c is compiled.
uint64_t tn_detect_features(void);

const char * tn_isa_name(enum tn_isa isa);
uint64_t tn_isa_features(enum tn_isa isa);
// By name, the architecture's part of it may be left out: "avx2" is x86_avx2. TN_ISA_COUNT: there is none.
enum tn_isa tn_isa_find(const char * name);
// This level and those below it; scalar is always among them.
uint64_t tn_isa_up_to(enum tn_isa highest);
// The levels that this machine runs.
uint64_t tn_isa_machine(void);

#endif
