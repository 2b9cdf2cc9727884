// SPDX-License-Identifier: MIT
// q4_0: 32 elements, four bits each, one scale.
#include "quant/q4_0.h"

#include "quant/code.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q4_0 * b = x;
    for (int64_t i = 0; i < n / TN_Q4_0_LEN; i++, y += TN_Q4_0_LEN) {
        const float d = tn_f16_to_f32(b[i].d);
        for (int j = 0; j < 16; j++) {
            y[j] = d * (float) ((b[i].qs[j] & 15) - 8);
            y[j + 16] = d * (float) ((b[i].qs[j] >> 4) - 8);
        }
    }
}

// The element of largest magnitude gets code 0, the one end of the range that reaches farther.
static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_q4_0 * b = y;
    for (int64_t i = 0; i < n / TN_Q4_0_LEN; i++, x += TN_Q4_0_LEN) {
        const float d = tn_code_saturate(tn_code_extreme(x, TN_Q4_0_LEN) / -8.0f);
        const float inverse = tn_code_inverse(d);
        b[i].d = tn_f16_from_f32(d);
        for (int j = 0; j < 16; j++) {
            const int low = tn_code_trunc(x[j] * inverse + 8.5f, 15.0f);
            const int high = tn_code_trunc(x[j + 16] * inverse + 8.5f, 15.0f);
            b[i].qs[j] = (uint8_t) (low | high << 4);
        }
    }
}

const struct tn_type tn_type_q4_0 = {
    .block_size = TN_Q4_0_LEN,
    .type_size = sizeof(struct tn_block_q4_0),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .half_offset = offsetof(struct tn_block_q4_0, d),
    .n_halves = 1,
};
