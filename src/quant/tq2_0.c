// SPDX-License-Identifier: MIT
// tq2_0: 256 elements, each -1, 0 or 1 times one scale, two bits each (code 3 decodes as 2 and is never
// written).
#include "quant/tq2_0.h"

#include "quant/code.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_tq2_0 * b = x;
    for (int64_t i = 0; i < n / TN_TQ2_0_LEN; i++) {
        const float d = tn_f16_to_f32(b[i].d);
        for (int run = 0; run < 8; run++, y += 32) {
            const uint8_t * qs = b[i].qs + 32 * (run / 4);
            for (int j = 0; j < 32; j++) {
                y[j] = d * (float) ((qs[j] >> 2 * (run % 4) & 3) - 1);
            }
        }
    }
}

static void encode_block(const float * restrict x, struct tn_block_tq2_0 * restrict b) {
    const float d = tn_code_saturate(tn_code_max_abs(x, TN_TQ2_0_LEN));
    const float unit = d > 0.0f ? d : 1.0f;
    b->d = tn_f16_from_f32(d);
    for (int j = 0; j < 64; j++) {
        const float * from = x + 128 * (j / 32) + j % 32;
        int bits = 0;
        for (int k = 0; k < 4; k++) {
            bits |= (tn_code_round(from[32 * k] / unit, -1, 1) + 1) << 2 * k;
        }
        b->qs[j] = (uint8_t) bits;
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_tq2_0 * b = y;
    for (int64_t i = 0; i < n / TN_TQ2_0_LEN; i++) {
        encode_block(x + i * TN_TQ2_0_LEN, &b[i]);
    }
}

const struct tn_type tn_type_tq2_0 = {
    .block_size = TN_TQ2_0_LEN,
    .type_size = sizeof(struct tn_block_tq2_0),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .half_offset = offsetof(struct tn_block_tq2_0, d),
    .n_halves = 1,
};
