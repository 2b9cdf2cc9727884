// SPDX-License-Identifier: MIT
// Rows of blocks of weights times rows of blocks of activations of eight bits: the loops that the families
// dot_legacy, dot_k, dot_iq and dot_fp4 share. A family takes blocks apart into codes of eight bits; the
// level's bytes (cpu/simd/bytes_<level>.h) multiply them.
//
//     blocks of 256   d * sum over 16 groups of scale * codes * y  -  dmin * sum of min * sums of y
//     blocks of 32    d * sum of codes * y  +  m * sum of y            four at a time
//
// What stands behind d, dmin and m is an integer, and exact; it is scaled and added in double: blocks of 256
// in order, of the others the k-th in sum k mod 4, those in pairs at the end. So nothing is rounded to f32 or
// overflows, and every level gives the same bits.
#ifndef TN_CPU_KERNELS_CODES_H
#define TN_CPU_KERNELS_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "quant/q8_k.h"

enum { TN_CODES_LEN = 256, TN_CODES_GROUP = 16 };

struct tn_codes {
    int8_t q[TN_CODES_LEN] TN_ALIGNED(64);
    int16_t scale[TN_CODES_LEN / TN_CODES_GROUP];
    int16_t min[TN_CODES_LEN / TN_CODES_GROUP]; // of types that have them
    float d, dmin;
};

TN_INLINE int32_t tn_codes_minima(const int16_t min[16], const int16_t sums[16]) {
    int32_t sum = 0;
    for (int g = 0; g < 16; g++)
        sum += min[g] * sums[g];
    return sum;
}

// Scales of 32 elements stand twice.
TN_INLINE void tn_codes_set_scale(struct tn_codes * c, int sub_block, int scale) {
    c->scale[2 * sub_block] = c->scale[2 * sub_block + 1] = (int16_t) scale;
}

TN_INLINE void tn_codes_set_min(struct tn_codes * c, int sub_block, int min) {
    c->min[2 * sub_block] = c->min[2 * sub_block + 1] = (int16_t) min;
}

// A dot product with q8_K. take(block, codes) takes a block of 256 apart.
#define TN_CODES_DOT_256(name, X, take, has_min)                                                             \
    double TN_FN(name)(int64_t n, const void * x, const void * y) {                                          \
        const struct X * a = x;                                                                              \
        const struct tn_block_q8_k * b = y;                                                                  \
        double sum = 0.0;                                                                                    \
        for (int64_t i = 0; i < n / TN_CODES_LEN; i++) {                                                     \
            struct tn_codes c;                                                                               \
            take(&a[i], &c);                                                                                 \
            const int32_t products = tn_bytes_dot_256(c.q, b[i].qs, c.scale);                                \
            double s = (double) c.d * (double) b[i].d * products;                                            \
            if (has_min) s -= (double) c.dmin * (double) b[i].d * tn_codes_minima(c.min, b[i].sums);         \
            sum += s;                                                                                        \
        }                                                                                                    \
        return sum;                                                                                          \
    }

// Two rows with two: sums[2 * r + j] is that of row r of x and row j of y, with the bits of four single ones.
#define TN_CODES_DOT_256_2X2(name, X, take, has_min)                                                         \
    void TN_FN(name)(int64_t n, const void * const x[2], const void * const y[2], double sums[4]) {          \
        const struct X * const a[2] = { x[0], x[1] };                                                        \
        const struct tn_block_q8_k * const b[2] = { y[0], y[1] };                                            \
        sums[0] = sums[1] = sums[2] = sums[3] = 0.0;                                                         \
        for (int64_t i = 0; i < n / TN_CODES_LEN; i++) {                                                     \
            struct tn_codes c[2];                                                                            \
            int32_t products[4];                                                                             \
            take(&a[0][i], &c[0]);                                                                           \
            take(&a[1][i], &c[1]);                                                                           \
            tn_bytes_dot_256_2x2((const int8_t * [2]){ c[0].q, c[1].q },                                     \
                                 (const int8_t * [2]){ b[0][i].qs, b[1][i].qs },                             \
                                 (const int16_t * [2]){ c[0].scale, c[1].scale }, products);                 \
            for (int k = 0; k < 4; k++) {                                                                    \
                const struct tn_codes * r = &c[k / 2];                                                       \
                const struct tn_block_q8_k * j = &b[k % 2][i];                                               \
                double s = (double) r->d * (double) j->d * products[k];                                      \
                if (has_min) s -= (double) r->dmin * (double) j->d * tn_codes_minima(r->min, j->sums);       \
                sums[k] += s;                                                                                \
            }                                                                                                \
        }                                                                                                    \
    }

// Four runs of 32 codes; y: the activations of each; d, m: what their sums are multiplied with. Runs that do
// not exist have d and m of 0, and any y.
struct tn_codes_four {
    int8_t q[4 * 32] TN_ALIGNED(64);
    const int8_t * y[4];
    double d[4], m[4];
};

TN_INLINE void tn_codes_add_four(const struct tn_codes_four * c, bool has_min, double sums[4]) {
    static const int8_t ones[4 * 32] = {
#define EIGHT 1, 1, 1, 1, 1, 1, 1, 1
        EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT,
        EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT,
#undef EIGHT
    };
    int32_t products[4], codes[4];
    tn_bytes_dot_4x32(c->q, c->y, products);
    if (has_min) tn_bytes_dot_4x32(ones, c->y, codes);
    for (int k = 0; k < 4; k++)
        sums[k] += has_min ? c->d[k] * products[k] + c->m[k] * codes[k] : c->d[k] * products[k];
}

// A function that takes `count` runs from number k on apart. take(x, y, run, four, k) takes run `run` of
// block x apart and makes it number k of four; PER_X runs are a block of x, PER_Y one of y.
#define TN_CODES_TAKE_32(name, X, PER_X, Y, PER_Y, take)                                                     \
    TN_INLINE void name##_take(const struct X * a, const struct Y * b, int64_t k, int count,                 \
                               struct tn_codes_four * c) {                                                   \
        for (int i = count; i < 4; i++) {                                                                    \
            memset(c->q + 32 * i, 0, 32);                                                                    \
            c->y[i] = b[k / (PER_Y)].qs;                                                                     \
            c->d[i] = c->m[i] = 0.0;                                                                         \
        }                                                                                                    \
        TN_UNROLL                                                                                            \
        for (int i = 0; i < count; i++)                                                                      \
            take(&a[(k + i) / (PER_X)], &b[(k + i) / (PER_Y)], (int) ((k + i) % (PER_X)), c, i);             \
    }

// A dot product with blocks of 32, of type Y.
#define TN_CODES_DOT_32(name, X, PER_X, Y, PER_Y, take, has_min)                                             \
    TN_CODES_TAKE_32(name, X, PER_X, Y, PER_Y, take)                                                         \
    TN_INLINE void name##_four(const struct X * a, const struct Y * b, int64_t k, int count,                 \
                               double sums[4]) {                                                             \
        struct tn_codes_four c;                                                                              \
        name##_take(a, b, k, count, &c);                                                                     \
        tn_codes_add_four(&c, has_min, sums);                                                                \
    }                                                                                                        \
    double TN_FN(name)(int64_t n, const void * x, const void * y) {                                          \
        const int64_t count = n / 32 * (PER_Y);                                                              \
        double sums[4] = { 0 };                                                                              \
        int64_t k = 0;                                                                                       \
        for (; k + 4 <= count; k += 4)                                                                       \
            name##_four(x, y, k, 4, sums);                                                                   \
        if (k < count) name##_four(x, y, k, (int) (count - k), sums);                                        \
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);                                                    \
    }

// c[2 * r + j]: row r of x with row j of y. Of types without minima.
#define TN_CODES_DOT_32_2X2(name, X, PER_X, Y, PER_Y, take)                                                  \
    TN_CODES_TAKE_32(name, X, PER_X, Y, PER_Y, take)                                                         \
    TN_INLINE void name##_four(const void * const x[2], const void * const y[2], int64_t k, int count,       \
                               double sums[4][4]) {                                                          \
        struct tn_codes_four c[4];                                                                           \
        int32_t products[4];                                                                                 \
        for (int i = 0; i < 4; i++)                                                                          \
            name##_take(x[i / 2], y[i % 2], k, count, &c[i]);                                                \
        for (int run = 0; run < 4; run++) {                                                                  \
            tn_bytes_dot_32_2x2((const int8_t * [2]){ c[0].q + 32 * run, c[3].q + 32 * run },                \
                                (const int8_t * [2]){ c[0].y[run], c[3].y[run] }, products);                 \
            for (int i = 0; i < 4; i++)                                                                      \
                sums[i][run] += c[i].d[run] * products[i];                                                   \
        }                                                                                                    \
    }                                                                                                        \
    void TN_FN(name)(int64_t n, const void * const x[2], const void * const y[2], double sums[4]) {          \
        const int64_t count = n / 32 * (PER_Y);                                                              \
        double s[4][4] = { { 0 } };                                                                          \
        int64_t k = 0;                                                                                       \
        for (; k + 4 <= count; k += 4)                                                                       \
            name##_four(x, y, k, 4, s);                                                                      \
        if (k < count) name##_four(x, y, k, (int) (count - k), s);                                           \
        for (int i = 0; i < 4; i++)                                                                          \
            sums[i] = (s[i][0] + s[i][1]) + (s[i][2] + s[i][3]);                                             \
    }

#endif
