// SPDX-License-Identifier: MIT
// iq2_xxs: two bits an element and a little; 256 words of eight magnitudes, an even number of negative signs.
#include "quant/iq2_xxs.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/type.h"

static void decode_block(const struct tn_block_iq2_xxs * restrict b, float * restrict y) {
    const float d = tn_f16_to_f32(b->d);
    for (int s = 0; s < 8; s++) {
        const struct tn_iq2_xxs_sub * sub = &b->sub[s];
        const uint32_t rest = sub->rest[0] | (uint32_t) sub->rest[1] << 16;
        const float scale = d * (0.5f + (float) (rest >> 28)) * 0.25f;
        for (int l = 0; l < 4; l++, y += 8) {
            const unsigned signs = tn_codebook_signs(rest >> (7 * l) & 127u);
            tn_codebook_decode(tn_codebook_iq2xxs[sub->words[l]], signs, scale, y);
        }
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq2_xxs * b = x;
    for (int64_t i = 0; i < n / TN_IQ2_XXS_LEN; i++) {
        decode_block(&b[i], y + i * TN_IQ2_XXS_LEN);
    }
}

const struct tn_type tn_type_iq2_xxs = {
    .block_size = TN_IQ2_XXS_LEN,
    .type_size = sizeof(struct tn_block_iq2_xxs),
    .is_quantized = true,
    .needs_weights = true,
    .decode = decode,
    .half_offset = offsetof(struct tn_block_iq2_xxs, d),
    .n_halves = 1,
};
