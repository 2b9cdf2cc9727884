// SPDX-License-Identifier: MIT
// What is used beyond the architecture's baseline: nothing yet, all kernels are portable.
#include "ggml-cpu.h"

#define TN_ROW(name, used)                                                                                   \
    int ggml_cpu_has_##name(void) {                                                                          \
        return used;                                                                                         \
    }
#include "cpu/features.def"
#undef TN_ROW

int ggml_cpu_get_sve_cnt(void) {
    return 0;
}

int ggml_cpu_get_rvv_vlen(void) {
    return 0;
}
