// SPDX-License-Identifier: MIT
// iq2_s: 1024 words of eight magnitudes, signs at will.
#include "quant/iq2_s.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/magnitudes.h"
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

static struct tn_codebook book = {
    .n_words = 1024,
    .lanes = 8,
    .levels = { 8.0f, 25.0f, 43.0f },
    .words8 = tn_codebook_iq2s,
};

static const struct tn_magnitudes_type kind = {
    .book = &book,
    .sub_len = 16,
    .even_signs = false,
    .first = 0.125f,
    .step = 0.25f,
};

static bool prepare(void) {
    return tn_codebook_prepare(&book);
}

static void encode_block(const float * x, const float * weights, struct tn_block_iq2_s * b) {
    struct tn_magnitudes m;
    tn_magnitudes_encode(&kind, x, weights, &m);
    b->d = m.d;
    for (int s = 0; s < 8; s++) {
        b->scales[s] = (uint8_t) (m.scales[2 * s] | m.scales[2 * s + 1] << 4);
        b->qh[s] = 0;
    }
    for (int g = 0; g < 32; g++) {
        b->qs[g] = (uint8_t) m.words[g];
        b->qh[g / 4] |= (uint8_t) (m.words[g] >> 8 << (2 * (g % 4)));
        b->signs[g] = m.signs[g];
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    prepare();
    struct tn_block_iq2_s * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ2_S_LEN) {
        encode_block(x + i, weights ? weights + i : NULL, b++);
    }
    return true;
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    encode(x, y, n, NULL);
}

const struct tn_type tn_type_iq2_s = {
    .block_size = TN_IQ2_S_LEN,
    .type_size = sizeof(struct tn_block_iq2_s),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_iq2_s, d),
    .n_halves = 1,
    .prepare = prepare,
};
