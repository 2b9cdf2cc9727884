// SPDX-License-Identifier: MIT
// iq2_xxs: two bits an element and a little; 256 words of eight magnitudes, an even number of negative signs.
#include "quant/iq2_xxs.h"

#include "base/error.h"
#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/magnitudes.h"
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

static struct tn_codebook book = {
    .n_words = 256,
    .lanes = 8,
    .levels = { 8.0f, 25.0f, 43.0f },
    .words8 = tn_codebook_iq2xxs,
};

static const struct tn_magnitudes_type kind = {
    .book = &book,
    .sub_len = 32,
    .even_signs = true,
    .first = 0.125f,
    .step = 0.25f,
};

static bool prepare(void) {
    return tn_codebook_prepare(&book);
}

static void encode_block(const float * x, const float * weights, struct tn_block_iq2_xxs * b) {
    struct tn_magnitudes m;
    tn_magnitudes_encode(&kind, x, weights, &m);
    b->d = m.d;
    for (int s = 0; s < 8; s++) {
        uint32_t rest = (uint32_t) m.scales[s] << 28;
        for (int l = 0; l < 4; l++) {
            b->sub[s].words[l] = (uint8_t) m.words[4 * s + l];
            rest |= (m.signs[4 * s + l] & 127u) << (7 * l);
        }
        b->sub[s].rest[0] = (uint16_t) rest;
        b->sub[s].rest[1] = (uint16_t) (rest >> 16);
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    if (!weights) return tn_refuse("iq2_xxs: needs importance weights");
    prepare();
    struct tn_block_iq2_xxs * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ2_XXS_LEN) {
        encode_block(x + i, weights + i, b++);
    }
    return true;
}

const struct tn_type tn_type_iq2_xxs = {
    .block_size = TN_IQ2_XXS_LEN,
    .type_size = sizeof(struct tn_block_iq2_xxs),
    .is_quantized = true,
    .needs_weights = true,
    .decode = decode,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_iq2_xxs, d),
    .n_halves = 1,
    .prepare = prepare,
};
