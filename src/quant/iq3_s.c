// SPDX-License-Identifier: MIT
// iq3_s: 512 words of four magnitudes, signs at will.
#include "quant/iq3_s.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/magnitudes.h"
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

static struct tn_codebook book = {
    .n_words = 512,
    .lanes = 4,
    .levels = { 1.0f, 3.0f, 5.0f, 7.0f, 9.0f, 11.0f, 13.0f, 15.0f },
    .words4 = tn_codebook_iq3s,
};

static const struct tn_magnitudes_type kind = {
    .book = &book,
    .sub_len = 32,
    .even_signs = false,
    .first = 1.0f,
    .step = 2.0f,
};

static bool prepare(void) {
    return tn_codebook_prepare(&book);
}

static void encode_block(const float * x, const float * weights, struct tn_block_iq3_s * b) {
    struct tn_magnitudes m;
    tn_magnitudes_encode(&kind, x, weights, &m);
    b->d = m.d;
    for (int s = 0; s < 8; s++) {
        b->qh[s] = 0;
    }
    for (int k = 0; k < 64; k++) {
        b->qs[k] = (uint8_t) m.words[k];
        b->qh[k / 8] |= (uint8_t) (m.words[k] >> 8 << (k % 8));
    }
    for (int g = 0; g < 32; g++) {
        b->signs[g] = m.signs[g];
    }
    for (int k = 0; k < 4; k++) {
        b->scales[k] = (uint8_t) (m.scales[2 * k] | m.scales[2 * k + 1] << 4);
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    prepare();
    struct tn_block_iq3_s * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ3_S_LEN) {
        encode_block(x + i, weights ? weights + i : NULL, b++);
    }
    return true;
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    encode(x, y, n, NULL);
}

const struct tn_type tn_type_iq3_s = {
    .block_size = TN_IQ3_S_LEN,
    .type_size = sizeof(struct tn_block_iq3_s),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_iq3_s, d),
    .n_halves = 1,
    .prepare = prepare,
};
