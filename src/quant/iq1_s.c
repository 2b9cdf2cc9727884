// SPDX-License-Identifier: MIT
// iq1_s: 2048 words of eight lanes -1 0 1; a sub-block is shifted up or down by an eighth.
#include "quant/iq1_s.h"

#include "base/error.h"
#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/ternary.h"
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

static const struct tn_ternary_type kind = { .sub_len = 32, .groups_a_shift = 4 };

static void encode_block(const float * x, const float * weights, struct tn_block_iq1_s * b) {
    struct tn_ternary t;
    tn_ternary_encode(&kind, x, weights, &t);
    b->d = t.d;
    for (int s = 0; s < 8; s++) {
        unsigned rest = (unsigned) t.scales[s] << 12 | (unsigned) t.down[4 * s] << 15;
        for (int l = 0; l < 4; l++) {
            b->qs[4 * s + l] = (uint8_t) t.words[4 * s + l];
            rest |= (unsigned) t.words[4 * s + l] >> 8 << (3 * l);
        }
        b->qh[s] = (uint16_t) rest;
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    if (!weights) return tn_refuse("iq1_s: needs importance weights");
    tn_ternary_prepare();
    struct tn_block_iq1_s * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ1_S_LEN) {
        encode_block(x + i, weights + i, b++);
    }
    return true;
}

const struct tn_type tn_type_iq1_s = {
    .block_size = TN_IQ1_S_LEN,
    .type_size = sizeof(struct tn_block_iq1_s),
    .is_quantized = true,
    .needs_weights = true,
    .decode = decode,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_iq1_s, d),
    .n_halves = 1,
    .prepare = tn_ternary_prepare,
};
