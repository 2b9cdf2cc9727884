// SPDX-License-Identifier: MIT
// Maps of one argument, portable: a loop for each row of formulas.def.
#include "cpu/kernels/map1/map1.h"

#include "cpu/kernels/functions.h"

#define TN_MAP1(name, value)                                                                                 \
    void tn_map1_##name##_scalar(int64_t n, float * y, const float * x, const float * p) {                   \
        (void) p;                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const float v = x[i];                                                                            \
            y[i] = value;                                                                                    \
        }                                                                                                    \
    }
#include "cpu/kernels/map1/formulas.def"
#undef TN_MAP1
