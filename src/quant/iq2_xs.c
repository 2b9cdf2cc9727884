// SPDX-License-Identifier: MIT
// iq2_xs: 512 words of eight magnitudes, an even number of negative signs.
#include "quant/iq2_xs.h"

#include "base/error.h"
#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/magnitudes.h"
#include "quant/type.h"

static void decode_block(const struct tn_block_iq2_xs * restrict b, float * restrict y) {
    const float d = tn_f16_to_f32(b->d);
    for (int g = 0; g < 32; g++, y += 8) {
        const int code = b->scales[g / 4] >> (g % 4 < 2 ? 0 : 4) & 15;
        const float scale = d * (0.5f + (float) code) * 0.25f;
        tn_codebook_decode(tn_codebook_iq2xs[b->qs[g] & 511], tn_codebook_signs(b->qs[g] >> 9), scale, y);
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq2_xs * b = x;
    for (int64_t i = 0; i < n / TN_IQ2_XS_LEN; i++) {
        decode_block(&b[i], y + i * TN_IQ2_XS_LEN);
    }
}

static struct tn_codebook book = {
    .n_words = 512,
    .lanes = 8,
    .levels = { 8.0f, 25.0f, 43.0f },
    .words8 = tn_codebook_iq2xs,
};

static const struct tn_magnitudes_type kind = {
    .book = &book,
    .sub_len = 16,
    .even_signs = true,
    .first = 0.125f,
    .step = 0.25f,
};

static bool prepare(void) {
    return tn_codebook_prepare(&book);
}

static void encode_block(const float * x, const float * weights, struct tn_block_iq2_xs * b) {
    struct tn_magnitudes m;
    tn_magnitudes_encode(&kind, x, weights, &m);
    b->d = m.d;
    for (int g = 0; g < 32; g++) {
        b->qs[g] = (uint16_t) (m.words[g] | (m.signs[g] & 127) << 9);
    }
    for (int s = 0; s < 8; s++) {
        b->scales[s] = (uint8_t) (m.scales[2 * s] | m.scales[2 * s + 1] << 4);
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    if (!weights) return tn_refuse("iq2_xs: needs importance weights");
    prepare();
    struct tn_block_iq2_xs * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ2_XS_LEN) {
        encode_block(x + i, weights + i, b++);
    }
    return true;
}

const struct tn_type tn_type_iq2_xs = {
    .block_size = TN_IQ2_XS_LEN,
    .type_size = sizeof(struct tn_block_iq2_xs),
    .is_quantized = true,
    .needs_weights = true,
    .decode = decode,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_iq2_xs, d),
    .n_halves = 1,
    .prepare = prepare,
};
