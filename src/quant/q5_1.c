// SPDX-License-Identifier: MIT
// q5_1: 32 elements, five bits each, one scale and one minimum.
#include "quant/q5_1.h"

#include "quant/code.h"
#include "quant/q5_bits.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q5_1 * b = x;
    for (int64_t i = 0; i < n / TN_Q5_1_LEN; i++, y += TN_Q5_1_LEN) {
        const float d = tn_f16_to_f32(b[i].d);
        const float m = tn_f16_to_f32(b[i].m);
        uint8_t codes[TN_Q5_1_LEN];
        tn_q5_bits_unpack(b[i].qh, b[i].qs, codes);
        for (int j = 0; j < TN_Q5_1_LEN; j++) {
            y[j] = d * (float) codes[j] + m;
        }
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_q5_1 * b = y;
    for (int64_t i = 0; i < n / TN_Q5_1_LEN; i++, x += TN_Q5_1_LEN) {
        const struct tn_code_range r = tn_code_range(x, TN_Q5_1_LEN);
        const float m = tn_code_saturate(r.min);
        const float d = tn_code_saturate((r.max - m) / 31.0f);
        const float inverse = tn_code_inverse(d);
        uint8_t codes[TN_Q5_1_LEN];
        for (int j = 0; j < TN_Q5_1_LEN; j++) {
            codes[j] = tn_code_trunc((x[j] - m) * inverse + 0.5f, 31.0f);
        }
        b[i].d = tn_f16_from_f32(d);
        b[i].m = tn_f16_from_f32(m);
        tn_q5_bits_pack(codes, b[i].qh, b[i].qs);
    }
}

const struct tn_type tn_type_q5_1 = {
    .block_size = TN_Q5_1_LEN,
    .type_size = sizeof(struct tn_block_q5_1),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .half_offset = offsetof(struct tn_block_q5_1, d),
    .n_halves = 2,
};
