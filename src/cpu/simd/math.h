// SPDX-License-Identifier: MIT
// Functions of vectors in the vocabulary, which is included before. Errors stay below 2 units in the last
// place.
#ifndef TN_CPU_SIMD_MATH_H
#define TN_CPU_SIMD_MATH_H

// e^x = 2^n * e^r, |r| <= ln(2)/2, and e^r by its series. Too small: 0 by way of subnormals; too large:
// infinity.
TN_INLINE tn_v tn_v_exp(tn_v x) {
    x = tn_v_max(tn_v_all(-110.0f), tn_v_min(tn_v_all(100.0f), x));
    const tn_v n = tn_v_round(x * tn_v_all(1.44269504f));
    // ln 2 in two parts: what the first product loses, the second brings back.
    tn_v r = tn_v_mul_add(n, tn_v_all(-0x1.62e43p-1f), x);
    r = tn_v_mul_add(n, tn_v_all(1.9046543e-9f), r);
    tn_v p = tn_v_all(1.0f / 5040.0f);
    p = tn_v_mul_add(p, r, tn_v_all(1.0f / 720.0f));
    p = tn_v_mul_add(p, r, tn_v_all(1.0f / 120.0f));
    p = tn_v_mul_add(p, r, tn_v_all(1.0f / 24.0f));
    p = tn_v_mul_add(p, r, tn_v_all(1.0f / 6.0f));
    p = tn_v_mul_add(p, r, tn_v_all(0.5f));
    p = tn_v_mul_add(p, r, tn_v_all(1.0f));
    p = tn_v_mul_add(p, r, tn_v_all(1.0f));
    return tn_v_scale(p, n);
}

// 1 + e^-x
TN_INLINE tn_v tn_v_one_and_exp_neg(tn_v x) {
    return tn_v_all(1.0f) + tn_v_exp(-x);
}

// As tn_gelu of kernels/functions.h, step by step: its argument must not be rounded differently.
TN_INLINE tn_v tn_v_gelu(tn_v x) {
    const tn_v u2 = tn_v_all(1.5957691216057308f) * x * (tn_v_all(1.0f) + tn_v_all(0.044715f) * x * x);
    return x / tn_v_one_and_exp_neg(u2);
}

// As tn_silu_back of kernels/functions.h.
TN_INLINE tn_v tn_v_silu_back(tn_v g, tn_v x) {
    const tn_v one = tn_v_all(1.0f);
    const tn_v e = tn_v_exp(-x);
    const tn_v s = one / (one + e);
    const tn_v rest = tn_v_choose(tn_v_greater(e, tn_v_all(3e38f)), one, e * s);
    return g * (s * (one + x * rest));
}

#endif
