// SPDX-License-Identifier: MIT
// q5_K: 256 elements of five bits, a scale and a minimum of six bits for every 32.
#include "quant/q5_k.h"

#include <stddef.h>

#include "base/half.h"
#include "quant/k_scales.h"
#include "quant/scale_search.h"
#include "quant/type.h"

static const struct tn_scale_shape shape = {
    .n_subs = 8, .sub_len = 32, .q_max = 31, .s_max = 63, .m_max = 63
};

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q5_k * b = x;
    for (int64_t i = 0; i < n / TN_Q5_K_LEN; i++) {
        const float d = tn_f16_to_f32(b[i].d);
        const float dmin = tn_f16_to_f32(b[i].dmin);
        uint8_t scales[8], mins[8];
        tn_k_scales_unpack(b[i].scales, scales, mins);
        for (int k = 0; k < 8; k++, y += 32) {
            const uint8_t * qs = b[i].qs + 32 * (k / 2);
            const float scale = d * (float) scales[k];
            const float min = dmin * (float) mins[k];
            for (int j = 0; j < 32; j++) {
                const int low = qs[j] >> 4 * (k % 2) & 15;
                const int high = b[i].qh[j] >> k & 1;
                y[j] = scale * (float) (low | high << 4) - min;
            }
        }
    }
}

static void pack(const struct tn_scale_fit * fit, struct tn_block_q5_k * b) {
    b->d = fit->d;
    b->dmin = fit->dmin;
    tn_k_scales_pack(fit->s, fit->m, b->scales);
    for (int j = 0; j < 32; j++) {
        int high = 0;
        for (int k = 0; k < 8; k++) {
            high |= fit->q[32 * k + j] >> 4 << k;
        }
        b->qh[j] = (uint8_t) high;
    }
    for (int j = 0; j < 128; j++) {
        const int8_t * q = fit->q + 64 * (j / 32) + j % 32;
        b->qs[j] = (uint8_t) ((q[0] & 15) | (q[32] & 15) << 4);
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    struct tn_block_q5_k * b = y;
    for (int64_t i = 0; i < n; i += TN_Q5_K_LEN, b++) {
        struct tn_scale_fit fit;
        tn_scale_search(&shape, x + i, weights ? weights + i : NULL, &fit);
        pack(&fit, b);
    }
    return true;
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    encode(x, y, n, NULL);
}

const struct tn_type tn_type_q5_k = {
    .block_size = TN_Q5_K_LEN,
    .type_size = sizeof(struct tn_block_q5_k),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_q5_k, d),
    .n_halves = 2,
};
