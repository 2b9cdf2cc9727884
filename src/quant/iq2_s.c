// SPDX-License-Identifier: MIT
// iq2_s: 1024 words of eight magnitudes, signs at will.
#include "quant/iq2_s.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/type.h"

static void decode_block(const struct tn_block_iq2_s * restrict b, float * restrict y) {
    const float d = tn_f16_to_f32(b->d);
    for (int g = 0; g < 32; g++, y += 8) {
        const int code = b->scales[g / 4] >> (g % 4 < 2 ? 0 : 4) & 15;
        const float scale = d * (0.5f + (float) code) * 0.25f;
        const int word = b->qs[g] | (b->qh[g / 4] >> (2 * (g % 4)) & 3) << 8;
        tn_codebook_decode(tn_codebook_iq2s[word], b->signs[g], scale, y);
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq2_s * b = x;
    for (int64_t i = 0; i < n / TN_IQ2_S_LEN; i++) {
        decode_block(&b[i], y + i * TN_IQ2_S_LEN);
    }
}

const struct tn_type tn_type_iq2_s = {
    .block_size = TN_IQ2_S_LEN,
    .type_size = sizeof(struct tn_block_iq2_s),
    .is_quantized = true,
    .decode = decode,
    .half_offset = offsetof(struct tn_block_iq2_s, d),
    .n_halves = 1,
};
