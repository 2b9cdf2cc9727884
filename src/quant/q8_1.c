// SPDX-License-Identifier: MIT
// q8_1: activations for products with q4_1 and q5_1, whose minimum is multiplied by the sum of a block.
#include "quant/q8_1.h"

#include "quant/code.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q8_1 * b = x;
    for (int64_t i = 0; i < n / TN_Q8_1_LEN; i++, y += TN_Q8_1_LEN) {
        const float d = tn_f16_to_f32(b[i].d);
        for (int j = 0; j < TN_Q8_1_LEN; j++) {
            y[j] = d * (float) b[i].qs[j];
        }
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_q8_1 * b = y;
    for (int64_t i = 0; i < n / TN_Q8_1_LEN; i++, x += TN_Q8_1_LEN) {
        const float d = tn_code_saturate(tn_code_max_abs(x, TN_Q8_1_LEN) / 127.0f);
        tn_code_eight_bits(x, tn_code_inverse(d), b[i].qs);
        int sum = 0;
        for (int j = 0; j < TN_Q8_1_LEN; j++) {
            sum += b[i].qs[j];
        }
        b[i].d = tn_f16_from_f32(d);
        b[i].s = tn_f16_scale((float) sum * d);
    }
}

const struct tn_type tn_type_q8_1 = {
    .block_size = TN_Q8_1_LEN,
    .type_size = sizeof(struct tn_block_q8_1),
    .is_quantized = true,
    .no_chunk = true,
    .hidden_decode = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .half_offset = offsetof(struct tn_block_q8_1, d),
    .n_halves = 2,
};
