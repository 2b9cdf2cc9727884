// SPDX-License-Identifier: MIT
// The vocabulary of kernel bodies for every processor: four f32 lanes by the compiler's own vectors.
#ifndef TN_CPU_SIMD_SCALAR_H
#define TN_CPU_SIMD_SCALAR_H

#include <string.h>

#include "base/compiler.h"

#define TN_FN(name) tn_##name##_scalar

enum { TN_V_LANES = 4, TN_V_TILE_ROWS = 4, TN_V_TILE_VECTORS = 2 };
typedef float tn_v TN_VECTOR(16);

TN_INLINE tn_v tn_v_load(const float * p) {
    tn_v v;
    memcpy(&v, p, sizeof(v));
    return v;
}

TN_INLINE void tn_v_store(float * p, tn_v v) {
    memcpy(p, &v, sizeof(v));
}

TN_INLINE tn_v tn_v_all(float x) {
    return (tn_v){ x, x, x, x };
}

// a*b + c, rounded twice
TN_INLINE tn_v tn_v_mul_add(tn_v a, tn_v b, tn_v c) {
    return a * b + c;
}

#endif
