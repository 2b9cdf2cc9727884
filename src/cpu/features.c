// SPDX-License-Identifier: MIT
// What ggml-cpu.h tells of the processor: the features of the levels whose kernels are in use.
#include "cpu/features.h"

#include "base/thread.h"
#include "cpu/isa.h"
#include "cpu/kernels.h"
#include "ggml-cpu.h"

static struct ggml_backend_feature used[TN_FEATURE_COUNT + 1];
static struct tn_once used_once = TN_ONCE_INIT;

static uint64_t features(void) {
    const uint64_t levels = tn_kernels_used();
    uint64_t set = 0;
    for (int i = 0; i < TN_ISA_COUNT; i++) {
        if (levels >> i & 1) set |= tn_isa_features((enum tn_isa) i);
    }
    return set;
}

#define TN_FEATURE(name, function)                                                                           \
    int ggml_cpu_has_##function(void) {                                                                      \
        return (int) (features() >> TN_FEATURE_##name & 1);                                                  \
    }
#include "cpu/features.def"
#undef TN_FEATURE

// No kernel has vectors of a length that is known only at run time.
int ggml_cpu_get_sve_cnt(void) {
    return 0;
}

int ggml_cpu_get_rvv_vlen(void) {
    return 0;
}

static void list_used(void) {
    static const char * const names[] = {
#define TN_FEATURE(name, function) #name,
#include "cpu/features.def"
#undef TN_FEATURE
    };
    const uint64_t set = features();
    int n = 0;
    for (int i = 0; i < TN_FEATURE_COUNT; i++) {
        if (set >> i & 1) used[n++] = (struct ggml_backend_feature){ names[i], "1" };
    }
}

struct ggml_backend_feature * tn_features_list(void) {
    tn_once(&used_once, list_used);
    return used;
}
