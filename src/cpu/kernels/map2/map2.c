// SPDX-License-Identifier: MIT
// Maps of two arguments, portable: a loop for each row of formulas.def.
#include "cpu/kernels/map2/map2.h"

#include "cpu/kernels/functions.h"

#define TN_MAP2(name, value)                                                                                 \
    void tn_map2_##name##_scalar(int64_t n, float * y, const float * pa, const float * pb,                   \
                                 const float * p) {                                                          \
        (void) p;                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const float a = pa[i];                                                                           \
            const float b = pb[i];                                                                           \
            y[i] = value;                                                                                    \
        }                                                                                                    \
    }
#include "cpu/kernels/map2/formulas.def"
#undef TN_MAP2
