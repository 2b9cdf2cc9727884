// SPDX-License-Identifier: MIT
// Products of f32, portable: 32 sums in 8 vectors.
#include "cpu/kernels/gemm_float/gemm_float.h"

#include "cpu/simd/scalar.h"

_Static_assert(TN_GEMM_COLS == 2 * TN_V_LANES, "a panel row is two vectors");

void tn_gemm_float_tile_scalar(int64_t n, const float * const a[TN_GEMM_ROWS], const float * panel,
                               float out[TN_GEMM_ROWS * TN_GEMM_COLS]) {
    const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
    tn_v l0 = { 0 }, l1 = { 0 }, l2 = { 0 }, l3 = { 0 };
    tn_v h0 = { 0 }, h1 = { 0 }, h2 = { 0 }, h3 = { 0 };
    for (int64_t k = 0; k < n; k++) {
        const tn_v low = tn_v_load(panel + k * TN_GEMM_COLS);
        const tn_v high = tn_v_load(panel + k * TN_GEMM_COLS + TN_V_LANES);
        l0 = tn_v_mul_add(tn_v_all(a0[k]), low, l0);
        h0 = tn_v_mul_add(tn_v_all(a0[k]), high, h0);
        l1 = tn_v_mul_add(tn_v_all(a1[k]), low, l1);
        h1 = tn_v_mul_add(tn_v_all(a1[k]), high, h1);
        l2 = tn_v_mul_add(tn_v_all(a2[k]), low, l2);
        h2 = tn_v_mul_add(tn_v_all(a2[k]), high, h2);
        l3 = tn_v_mul_add(tn_v_all(a3[k]), low, l3);
        h3 = tn_v_mul_add(tn_v_all(a3[k]), high, h3);
    }
    const tn_v sums[] = { l0, h0, l1, h1, l2, h2, l3, h3 };
    for (int i = 0; i < 8; i++)
        tn_v_store(out + i * TN_V_LANES, sums[i]);
}

void tn_gemm_float_axpy_scalar(int64_t n, float * restrict y, const float * restrict x, float factor) {
    for (int64_t i = 0; i < n; i++)
        y[i] += factor * x[i];
}
