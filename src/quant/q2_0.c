// SPDX-License-Identifier: MIT
// q2_0: 64 elements, each -1, 0, 1 or 2 times one scale.
#include "quant/q2_0.h"

#include "quant/code.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q2_0 * b = x;
    for (int64_t i = 0; i < n / TN_Q2_0_LEN; i++, y += TN_Q2_0_LEN) {
        const float d = tn_f16_to_f32(b[i].d);
        for (int j = 0; j < TN_Q2_0_LEN; j++) {
            y[j] = d * (float) ((b[i].qs[j / 4] >> 2 * (j % 4) & 3) - 1);
        }
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_q2_0 * b = y;
    for (int64_t i = 0; i < n / TN_Q2_0_LEN; i++, x += TN_Q2_0_LEN) {
        const float d = tn_code_saturate(tn_code_max_abs(x, TN_Q2_0_LEN));
        const float inverse = tn_code_inverse(d);
        b[i].d = tn_f16_from_f32(d);
        for (int k = 0; k < 16; k++) {
            int bits = 0;
            for (int j = 0; j < 4; j++) {
                bits |= (tn_code_round(x[4 * k + j] * inverse, -1, 2) + 1) << 2 * j;
            }
            b[i].qs[k] = (uint8_t) bits;
        }
    }
}

const struct tn_type tn_type_q2_0 = {
    .block_size = TN_Q2_0_LEN,
    .type_size = sizeof(struct tn_block_q2_0),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .half_offset = offsetof(struct tn_block_q2_0, d),
    .n_halves = 1,
};
