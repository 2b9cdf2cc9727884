// SPDX-License-Identifier: MIT
// iq3_s: 512 words of four magnitudes, signs at will.
#include "quant/iq3_s.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/type.h"

static uint64_t word(const struct tn_block_iq3_s * b, int k) {
    return tn_codebook_iq3s[b->qs[k] | (b->qh[k / 8] >> (k % 8) & 1) << 8];
}

static void decode_block(const struct tn_block_iq3_s * restrict b, float * restrict y) {
    const float d = tn_f16_to_f32(b->d);
    for (int g = 0; g < 32; g++, y += 8) {
        const int code = b->scales[g / 8] >> (g % 8 < 4 ? 0 : 4) & 15;
        const float scale = d * (float) (1 + 2 * code);
        tn_codebook_decode(word(b, 2 * g) | word(b, 2 * g + 1) << 32, b->signs[g], scale, y);
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq3_s * b = x;
    for (int64_t i = 0; i < n / TN_IQ3_S_LEN; i++) {
        decode_block(&b[i], y + i * TN_IQ3_S_LEN);
    }
}

const struct tn_type tn_type_iq3_s = {
    .block_size = TN_IQ3_S_LEN,
    .type_size = sizeof(struct tn_block_iq3_s),
    .is_quantized = true,
    .decode = decode,
    .half_offset = offsetof(struct tn_block_iq3_s, d),
    .n_halves = 1,
};
