// SPDX-License-Identifier: MIT
// Blocks of weights taken apart into small integers, a scale and a minimum for every 16 of them, and their
// product with codes of eight bits. Shared by the families dot_legacy, dot_k, dot_iq and dot_fp4.
//
//     element j = scale[j / 16] * q[j] - min[j / 16]
//
// Sums of 16 products are exact integers; they are scaled and added in double, in order. So nothing but the
// result is rounded to f32, nothing overflows before it does, and every level gives the same bits.
#ifndef TN_CPU_KERNELS_CODES_H
#define TN_CPU_KERNELS_CODES_H

#include <stdint.h>

#include "base/compiler.h"

enum { TN_CODES_LEN = 256, TN_CODES_GROUP = 16 };

struct tn_codes {
    int8_t q[TN_CODES_LEN];
    float scale[TN_CODES_LEN / TN_CODES_GROUP];
    float min[TN_CODES_LEN / TN_CODES_GROUP];
};

// n elements from `from` on, both multiples of 16.
TN_INLINE double tn_codes_dot(const struct tn_codes * x, int from, int n, const int8_t * y) {
    double sum = 0.0;
    for (int i = from; i < from + n; i += TN_CODES_GROUP, y += TN_CODES_GROUP) {
        int32_t products = 0;
        for (int j = 0; j < TN_CODES_GROUP; j++)
            products += x->q[i + j] * y[j];
        sum += (double) x->scale[i / TN_CODES_GROUP] * products;
    }
    return sum;
}

// The same for types with minima.
TN_INLINE double tn_codes_dot_min(const struct tn_codes * x, int from, int n, const int8_t * y) {
    double sum = 0.0;
    for (int i = from; i < from + n; i += TN_CODES_GROUP, y += TN_CODES_GROUP) {
        int32_t products = 0, codes = 0;
        for (int j = 0; j < TN_CODES_GROUP; j++) {
            products += x->q[i + j] * y[j];
            codes += y[j];
        }
        sum += (double) x->scale[i / TN_CODES_GROUP] * products - (double) x->min[i / TN_CODES_GROUP] * codes;
    }
    return sum;
}

// One scale for n elements from `from` on.
TN_INLINE void tn_codes_set_scale(struct tn_codes * x, int from, int n, float scale) {
    for (int g = from / TN_CODES_GROUP; g < (from + n) / TN_CODES_GROUP; g++)
        x->scale[g] = scale;
}

TN_INLINE void tn_codes_set_min(struct tn_codes * x, int from, int n, float min) {
    for (int g = from / TN_CODES_GROUP; g < (from + n) / TN_CODES_GROUP; g++)
        x->min[g] = min;
}

// A dot product by `take`, which takes a block of LEN elements apart; activations come in blocks of Y_LEN
// with a scale that `unit` reads. dot: one of the two above.
#define TN_CODES_DOT(name, X, LEN, take, Y, Y_LEN, unit, dot)                                                \
    float TN_FN(name)(int64_t n, const void * x, const void * y) {                                           \
        const struct X * a = x;                                                                              \
        const struct Y * b = y;                                                                              \
        double sum = 0.0;                                                                                    \
        for (int64_t i = 0; i < n / LEN; i++) {                                                              \
            struct tn_codes c;                                                                               \
            take(&a[i], &c);                                                                                 \
            for (int k = 0; k < LEN; k += Y_LEN, b++)                                                        \
                sum += (double) unit(b) * dot(&c, k, Y_LEN, b->qs);                                          \
        }                                                                                                    \
        return (float) sum;                                                                                  \
    }

#endif
