// SPDX-License-Identifier: MIT
// q4_1: 32 elements, four bits each, one scale and one minimum.
#include "quant/q4_1.h"

#include "quant/code.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q4_1 * b = x;
    for (int64_t i = 0; i < n / TN_Q4_1_LEN; i++, y += TN_Q4_1_LEN) {
        const float d = tn_f16_to_f32(b[i].d);
        const float m = tn_f16_to_f32(b[i].m);
        for (int j = 0; j < 16; j++) {
            y[j] = d * (float) (b[i].qs[j] & 15) + m;
            y[j + 16] = d * (float) (b[i].qs[j] >> 4) + m;
        }
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_q4_1 * b = y;
    for (int64_t i = 0; i < n / TN_Q4_1_LEN; i++, x += TN_Q4_1_LEN) {
        const struct tn_code_range r = tn_code_range(x, TN_Q4_1_LEN);
        const float m = tn_code_saturate(r.min);
        const float d = tn_code_saturate((r.max - m) / 15.0f);
        const float inverse = tn_code_inverse(d);
        b[i].d = tn_f16_from_f32(d);
        b[i].m = tn_f16_from_f32(m);
        for (int j = 0; j < 16; j++) {
            const int low = tn_code_trunc((x[j] - m) * inverse + 0.5f, 15.0f);
            const int high = tn_code_trunc((x[j + 16] - m) * inverse + 0.5f, 15.0f);
            b[i].qs[j] = (uint8_t) (low | high << 4);
        }
    }
}

const struct tn_type tn_type_q4_1 = {
    .block_size = TN_Q4_1_LEN,
    .type_size = sizeof(struct tn_block_q4_1),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .half_offset = offsetof(struct tn_block_q4_1, d),
    .n_halves = 2,
};
