// SPDX-License-Identifier: MIT
// q6_K: 256 elements of six bits, a scale of eight bits for every 16.
#include "quant/q6_k.h"

#include <stddef.h>

#include "base/half.h"
#include "quant/scale_search.h"
#include "quant/type.h"

static const struct tn_scale_shape shape = {
    .n_subs = 16, .sub_len = 16, .q_min = -32, .q_max = 31, .s_min = -128, .s_max = 127
};

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q6_k * b = x;
    for (int64_t i = 0; i < n / TN_Q6_K_LEN; i++) {
        const float d = tn_f16_to_f32(b[i].d);
        for (int k = 0; k < 16; k++, y += 16) {
            const int quarter = k % 8 / 2; // of the 128 elements
            const uint8_t * ql = b[i].ql + 64 * (k / 8) + 32 * (quarter % 2) + 16 * (k % 2);
            const uint8_t * qh = b[i].qh + 32 * (k / 8) + 16 * (k % 2);
            const float scale = d * (float) b[i].scales[k];
            for (int j = 0; j < 16; j++) {
                const int low = ql[j] >> 4 * (quarter / 2) & 15;
                const int high = qh[j] >> 2 * quarter & 3;
                y[j] = scale * (float) ((low | high << 4) - 32);
            }
        }
    }
}

static void pack(const struct tn_scale_fit * fit, struct tn_block_q6_k * b) {
    b->d = fit->d;
    for (int k = 0; k < 16; k++) {
        b->scales[k] = (int8_t) fit->s[k];
    }
    for (int half = 0; half < 2; half++) {
        const int8_t * q = fit->q + 128 * half;
        for (int j = 0; j < 64; j++) {
            b->ql[64 * half + j] = (uint8_t) (((q[j] + 32) & 15) | ((q[j + 64] + 32) & 15) << 4);
        }
        for (int j = 0; j < 32; j++) {
            b->qh[32 * half + j] = (uint8_t) ((q[j] + 32) >> 4 | (q[j + 32] + 32) >> 4 << 2 |
                                              (q[j + 64] + 32) >> 4 << 4 | (q[j + 96] + 32) >> 4 << 6);
        }
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    struct tn_block_q6_k * b = y;
    for (int64_t i = 0; i < n; i += TN_Q6_K_LEN, b++) {
        struct tn_scale_fit fit;
        tn_scale_search(&shape, x + i, weights ? weights + i : NULL, &fit);
        pack(&fit, b);
    }
    return true;
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    encode(x, y, n, NULL);
}

const struct tn_type tn_type_q6_k = {
    .block_size = TN_Q6_K_LEN,
    .type_size = sizeof(struct tn_block_q6_k),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_q6_k, d),
    .n_halves = 1,
};
