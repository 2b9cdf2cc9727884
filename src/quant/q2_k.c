// SPDX-License-Identifier: MIT
// q2_K: 256 elements of two bits, a scale and a minimum of four bits for every 16.
#include "quant/q2_k.h"

#include <stddef.h>

#include "base/half.h"
#include "quant/scale_search.h"
#include "quant/type.h"

static const struct tn_scale_shape shape = {
    .n_subs = 16, .sub_len = 16, .q_max = 3, .s_max = 15, .m_max = 15
};

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q2_k * b = x;
    for (int64_t i = 0; i < n / TN_Q2_K_LEN; i++) {
        const float d = tn_f16_to_f32(b[i].d);
        const float dmin = tn_f16_to_f32(b[i].dmin);
        for (int k = 0; k < 16; k++, y += 16) {
            const uint8_t * qs = b[i].qs + 32 * (k / 8) + 16 * (k % 2);
            const float scale = d * (float) (b[i].scales[k] & 15);
            const float min = dmin * (float) (b[i].scales[k] >> 4);
            for (int j = 0; j < 16; j++) {
                y[j] = scale * (float) (qs[j] >> 2 * (k % 8 / 2) & 3) - min;
            }
        }
    }
}

static void pack(const struct tn_scale_fit * fit, struct tn_block_q2_k * b) {
    b->d = fit->d;
    b->dmin = fit->dmin;
    for (int k = 0; k < 16; k++) {
        b->scales[k] = (uint8_t) (fit->s[k] | fit->m[k] << 4);
    }
    for (int j = 0; j < 64; j++) {
        const int8_t * q = fit->q + 128 * (j / 32) + j % 32;
        b->qs[j] = (uint8_t) (q[0] | q[32] << 2 | q[64] << 4 | q[96] << 6);
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    struct tn_block_q2_k * b = y;
    for (int64_t i = 0; i < n; i += TN_Q2_K_LEN, b++) {
        struct tn_scale_fit fit;
        tn_scale_search(&shape, x + i, weights ? weights + i : NULL, &fit);
        pack(&fit, b);
    }
    return true;
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    encode(x, y, n, NULL);
}

const struct tn_type tn_type_q2_k = {
    .block_size = TN_Q2_K_LEN,
    .type_size = sizeof(struct tn_block_q2_k),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_q2_k, d),
    .n_halves = 2,
};
