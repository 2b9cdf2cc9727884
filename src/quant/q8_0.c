// SPDX-License-Identifier: MIT
// q8_0: 32 elements, eight bits each, one scale.
#include "quant/q8_0.h"

#include "quant/code.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q8_0 * b = x;
    for (int64_t i = 0; i < n / TN_Q8_0_LEN; i++, y += TN_Q8_0_LEN) {
        const float d = tn_f16_to_f32(b[i].d);
        for (int j = 0; j < TN_Q8_0_LEN; j++) {
            y[j] = d * (float) b[i].qs[j];
        }
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_q8_0 * b = y;
    for (int64_t i = 0; i < n / TN_Q8_0_LEN; i++, x += TN_Q8_0_LEN) {
        const float d = tn_code_saturate(tn_code_max_abs(x, TN_Q8_0_LEN) / 127.0f);
        b[i].d = tn_f16_from_f32(d);
        tn_code_eight_bits(x, tn_code_inverse(d), b[i].qs);
    }
}

const struct tn_type tn_type_q8_0 = {
    .block_size = TN_Q8_0_LEN,
    .type_size = sizeof(struct tn_block_q8_0),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .half_offset = offsetof(struct tn_block_q8_0, d),
    .n_halves = 1,
};
