// SPDX-License-Identifier: MIT
// iq1_s: 2048 words of eight lanes -1 0 1; a sub-block is shifted up or down by an eighth.
#include "quant/iq1_s.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/type.h"

static void decode_block(const struct tn_block_iq1_s * restrict b, float * restrict y) {
    const float d = tn_f16_to_f32(b->d);
    for (int g = 0; g < 32; g++, y += 8) {
        const unsigned rest = b->qh[g / 4];
        const float scale = d * (float) (2 * (rest >> 12 & 7) + 1);
        const unsigned word = b->qs[g] | (rest >> (3 * (g % 4)) & 7) << 8;
        tn_codebook_decode_shifted(tn_codebook_iq1s[word], rest >> 15 ? -0.125f : 0.125f, scale, y);
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq1_s * b = x;
    for (int64_t i = 0; i < n / TN_IQ1_S_LEN; i++) {
        decode_block(&b[i], y + i * TN_IQ1_S_LEN);
    }
}

const struct tn_type tn_type_iq1_s = {
    .block_size = TN_IQ1_S_LEN,
    .type_size = sizeof(struct tn_block_iq1_s),
    .is_quantized = true,
    .needs_weights = true,
    .decode = decode,
    .half_offset = offsetof(struct tn_block_iq1_s, d),
    .n_halves = 1,
};
