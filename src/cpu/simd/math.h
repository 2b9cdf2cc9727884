// SPDX-License-Identifier: MIT
// Functions of vectors in the vocabulary, which is included before. Errors, in units in the last place, which
// tests/kernel/test_series.c holds: exp, expm1, log below 2; softplus 3; tanh 3.5; erfc 6.
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

// e^x - 1 = 2^n * (e^r - 1 + (1 - 2^-n)), without cancellation for n = 0, and never much of it.
TN_INLINE tn_v tn_v_expm1(tn_v x) {
    const tn_v bounded = tn_v_max(tn_v_all(-30.0f), tn_v_min(tn_v_all(100.0f), x));
    const tn_v n = tn_v_round(bounded * tn_v_all(1.44269504f));
    tn_v r = tn_v_mul_add(n, tn_v_all(-0x1.62e43p-1f), bounded);
    r = tn_v_mul_add(n, tn_v_all(1.9046543e-9f), r);
    tn_v p = tn_v_all(1.0f / 40320.0f);
    p = tn_v_mul_add(p, r, tn_v_all(1.0f / 5040.0f));
    p = tn_v_mul_add(p, r, tn_v_all(1.0f / 720.0f));
    p = tn_v_mul_add(p, r, tn_v_all(1.0f / 120.0f));
    p = tn_v_mul_add(p, r, tn_v_all(1.0f / 24.0f));
    p = tn_v_mul_add(p, r, tn_v_all(1.0f / 6.0f));
    p = tn_v_mul_add(p, r, tn_v_all(0.5f));
    p = tn_v_mul_add(p, r * r, r);
    const tn_v one = tn_v_all(1.0f);
    const tn_v y = tn_v_scale(p + (one - tn_v_scale(one, -n)), n);
    return tn_v_choose(tn_v_greater(x * x, tn_v_all(0.0f)), y, x); // x itself: -0, numbers near it, NaN
}

// With e = e^2x - 1: e / (e + 2). Beyond 10 it is 1 in f32.
TN_INLINE tn_v tn_v_tanh(tn_v x) {
    const tn_v e = tn_v_expm1(tn_v_all(2.0f) * tn_v_max(tn_v_all(-10.0f), tn_v_min(tn_v_all(10.0f), x)));
    return e / (e + tn_v_all(2.0f));
}

// Of a normal number: x = 2^e * (1 + f) with 1 + f in sqrt(1/2) .. sqrt(2), and log(1 + f) by the series of
// log((1 + s)/(1 - s)) with s = f/(2 + f): f - (f^2/2 - s*(f^2/2 + R)) loses less than 2s + s*R.
TN_INLINE tn_v tn_v_log_of_normal(tn_v x) {
    tn_v e = tn_v_exponent(x);
    tn_v m = tn_v_scale(x, -e);
    const tn_m upper = tn_v_greater(m, tn_v_all(1.41421356f));
    m = tn_v_choose(upper, tn_v_all(0.5f) * m, m);
    e = tn_v_choose(upper, e + tn_v_all(1.0f), e);
    const tn_v f = m - tn_v_all(1.0f), s = f / (tn_v_all(2.0f) + f), z = s * s, half = tn_v_all(0.5f) * f * f;
    tn_v r = tn_v_all(2.0f / 11.0f);
    r = tn_v_mul_add(r, z, tn_v_all(2.0f / 9.0f));
    r = tn_v_mul_add(r, z, tn_v_all(2.0f / 7.0f));
    r = tn_v_mul_add(r, z, tn_v_all(2.0f / 5.0f));
    r = z * tn_v_mul_add(r, z, tn_v_all(2.0f / 3.0f));
    // ln 2 in two parts, the first of 16 bits: its product with e is exact.
    const tn_v low = tn_v_mul_add(e, tn_v_all(1.42860677e-6f), s * (half + r));
    return tn_v_mul_add(e, tn_v_all(0x1.62e4p-1f), f - (half - low));
}

TN_INLINE tn_v tn_v_log(tn_v x) {
    const tn_m is_small = tn_v_greater(tn_v_all(0x1p-126f), x);
    const tn_v normal = tn_v_choose(is_small, tn_v_all(0x1p24f) * x, x);
    tn_v y = tn_v_log_of_normal(normal);
    y = tn_v_choose(is_small, y - tn_v_all(16.6355324f), y); // 24 ln 2
    y = tn_v_choose(tn_v_greater(x, tn_v_all(0x1.fffffep127f)), x, y);
    const tn_v root = tn_v_sqrt(x); // 0, or NaN
    return tn_v_choose(tn_v_greater(x, tn_v_all(0.0f)), y, tn_v_all(-1.0f) / (root * root));
}

// log(1 + e^x). What 1 + e^x loses comes back as a part of it.
TN_INLINE tn_v tn_v_softplus(tn_v x) {
    const tn_v one = tn_v_all(1.0f), y = tn_v_exp(x), u = one + y;
    const tn_v l = tn_v_log_of_normal(u) + (y - (u - one)) / u;
    return tn_v_choose(tn_v_greater(x, tn_v_all(20.0f)), x, l);
}

// erf(x)/x for |x| < 1/2, by the series in z = x^2.
TN_INLINE tn_v tn_v_erf_by_x(tn_v z) {
    const float c = 1.12837917f; // 2 / sqrt(pi)
    tn_v p = tn_v_all(c / 9360.0f);
    p = tn_v_mul_add(p, z, tn_v_all(-c / 1320.0f));
    p = tn_v_mul_add(p, z, tn_v_all(c / 216.0f));
    p = tn_v_mul_add(p, z, tn_v_all(-c / 42.0f));
    p = tn_v_mul_add(p, z, tn_v_all(c / 10.0f));
    p = tn_v_mul_add(p, z, tn_v_all(-c / 3.0f));
    return tn_v_mul_add(p, z, tn_v_all(c));
}

// x^2 = big + small, so that e^-x^2 is right where x^2 has more bits than f32; e^(x^2)*erfc(x) for x >= 0 is
// t*Q(t) with t = 1/(1 + 0.4x), Q fitted to 2^-26 up to x = 10.3.
TN_INLINE tn_v tn_v_erfc(tn_v x) {
    static const float q[] = { 0x1.4f45eep-4f,  -0x1.647840p-4f, -0x1.42504ap-4f, 0x1.3956acp-3f,
                               -0x1.39fd42p-5f, 0x1.5a12d8p-3f,  0x1.4429bap-3f,  0x1.addd58p-3f,
                               0x1.cdbbf4p-3f,  0x1.ce33ecp-3f };
    const tn_v zero = tn_v_all(0.0f), one = tn_v_all(1.0f);
    const tn_v a = tn_v_min(tn_v_all(11.0f), tn_v_choose(tn_v_greater(zero, x), -x, x));
    const tn_v big = a * a, small = tn_v_mul_add(a, a, -big);
    const tn_v t = one / tn_v_mul_add(a, tn_v_all(0.4f), one);
    tn_v p = tn_v_all(-0x1.38fec4p-6f);
    for (int i = 0; i < 10; i++)
        p = tn_v_mul_add(p, t, tn_v_all(q[i]));
    p = p * t;
    const tn_v far = tn_v_mul_add(-small, p, p) * tn_v_exp(-big);
    const tn_v y = tn_v_choose(tn_v_greater(zero, x), tn_v_all(2.0f) - far, far);
    return tn_v_choose(tn_v_greater(tn_v_all(0.5f), a), one - x * tn_v_erf_by_x(big), y);
}

// As tn_gelu_erf of kernels/functions.h: its argument must not be rounded differently.
TN_INLINE tn_v tn_v_gelu_erf(tn_v x) {
    return tn_v_all(0.5f) * x * tn_v_erfc(tn_v_all(-0.70710678118654752f) * x);
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
