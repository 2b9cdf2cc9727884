// SPDX-License-Identifier: MIT
// iq3_xxs: 256 words of four magnitudes, an even number of negative signs among eight.
#include "quant/iq3_xxs.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/magnitudes.h"
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

static struct tn_codebook book = {
    .n_words = 256,
    .lanes = 4,
    .levels = { 4.0f, 12.0f, 20.0f, 28.0f, 36.0f, 44.0f, 52.0f, 62.0f },
    .words4 = tn_codebook_iq3xxs,
};

static const struct tn_magnitudes_type kind = {
    .book = &book,
    .sub_len = 32,
    .even_signs = true,
    .first = 0.25f,
    .step = 0.5f,
};

static bool prepare(void) {
    return tn_codebook_prepare(&book);
}

static void encode_block(const float * x, const float * weights, struct tn_block_iq3_xxs * b) {
    struct tn_magnitudes m;
    tn_magnitudes_encode(&kind, x, weights, &m);
    b->d = m.d;
    for (int k = 0; k < 64; k++) {
        b->qs[k] = (uint8_t) m.words[k];
    }
    for (int s = 0; s < 8; s++) {
        uint32_t rest = (uint32_t) m.scales[s] << 28;
        for (int l = 0; l < 4; l++) {
            rest |= (m.signs[4 * s + l] & 127u) << (7 * l);
        }
        b->rest[2 * s] = (uint16_t) rest;
        b->rest[2 * s + 1] = (uint16_t) (rest >> 16);
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    prepare();
    struct tn_block_iq3_xxs * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ3_XXS_LEN) {
        encode_block(x + i, weights ? weights + i : NULL, b++);
    }
    return true;
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    encode(x, y, n, NULL);
}

const struct tn_type tn_type_iq3_xxs = {
    .block_size = TN_IQ3_XXS_LEN,
    .type_size = sizeof(struct tn_block_iq3_xxs),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_iq3_xxs, d),
    .n_halves = 1,
    .prepare = prepare,
};
