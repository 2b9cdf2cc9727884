// SPDX-License-Identifier: MIT
// iq3_xxs: 256 words of four magnitudes, an even number of negative signs among eight.
#include "quant/iq3_xxs.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/type.h"

static void decode_block(const struct tn_block_iq3_xxs * restrict b, float * restrict y) {
    const float d = tn_f16_to_f32(b->d);
    for (int g = 0; g < 32; g++, y += 8) {
        const uint32_t rest = b->rest[g / 4 * 2] | (uint32_t) b->rest[g / 4 * 2 + 1] << 16;
        const float scale = d * (0.5f + (float) (rest >> 28)) * 0.5f;
        const uint64_t low = tn_codebook_iq3xxs[b->qs[2 * g]];
        const uint64_t high = tn_codebook_iq3xxs[b->qs[2 * g + 1]];
        tn_codebook_decode(low | high << 32, tn_codebook_signs(rest >> (7 * (g % 4)) & 127u), scale, y);
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq3_xxs * b = x;
    for (int64_t i = 0; i < n / TN_IQ3_XXS_LEN; i++) {
        decode_block(&b[i], y + i * TN_IQ3_XXS_LEN);
    }
}

const struct tn_type tn_type_iq3_xxs = {
    .block_size = TN_IQ3_XXS_LEN,
    .type_size = sizeof(struct tn_block_iq3_xxs),
    .is_quantized = true,
    .decode = decode,
    .half_offset = offsetof(struct tn_block_iq3_xxs, d),
    .n_halves = 1,
};
