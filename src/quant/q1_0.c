// SPDX-License-Identifier: MIT
// q1_0: 128 signs and one magnitude.
#include "quant/q1_0.h"

#include "quant/code.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q1_0 * b = x;
    for (int64_t i = 0; i < n / TN_Q1_0_LEN; i++, y += TN_Q1_0_LEN) {
        const uint32_t d = tn_f32_to_bits(tn_f16_to_f32(b[i].d));
        for (int j = 0; j < TN_Q1_0_LEN; j++) {
            const uint32_t negative = ~(uint32_t) b[i].qs[j / 8] >> j % 8 & 1;
            y[j] = tn_f32_from_bits(d ^ negative << 31);
        }
    }
}

static void encode_block(const float * restrict x, struct tn_block_q1_0 * restrict b) {
    float sum = 0.0f;
    for (int j = 0; j < TN_Q1_0_LEN; j++) {
        sum += fabsf(x[j]);
    }
    b->d = tn_f16_from_f32(tn_code_saturate(sum / TN_Q1_0_LEN));
    for (int k = 0; k < 16; k++) {
        int bits = 0;
        for (int j = 0; j < 8; j++) {
            bits |= (x[8 * k + j] >= 0.0f) << j;
        }
        b->qs[k] = (uint8_t) bits;
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_q1_0 * b = y;
    for (int64_t i = 0; i < n / TN_Q1_0_LEN; i++) {
        encode_block(x + i * TN_Q1_0_LEN, &b[i]);
    }
}

const struct tn_type tn_type_q1_0 = {
    .block_size = TN_Q1_0_LEN,
    .type_size = sizeof(struct tn_block_q1_0),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .half_offset = offsetof(struct tn_block_q1_0, d),
    .n_halves = 1,
};
