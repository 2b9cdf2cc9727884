// SPDX-License-Identifier: MIT
// iq1_m: 2048 words of eight lanes -1 0 1, each shifted by an eighth; the block scale lies in pieces.
#include "quant/iq1_m.h"

#include <string.h>

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/ternary.h"
#include "quant/type.h"

static void decode_block(const struct tn_block_iq1_m * restrict b, float * restrict y) {
    const float d = tn_f16_to_f32(tn_iq1_m_scale(b->scales));
    for (int g = 0; g < 32; g++, y += 8) {
        const int code = b->scales[g / 8] >> (3 * (g / 2 % 4)) & 7;
        const unsigned rest = b->qh[g / 2] >> (4 * (g % 2)) & 15u;
        const unsigned word = b->qs[g] | (rest & 7u) << 8;
        const float shift = rest & 8u ? -0.125f : 0.125f;
        tn_codebook_decode_shifted(tn_codebook_iq1s[word], shift, d * (float) (2 * code + 1), y);
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq1_m * b = x;
    for (int64_t i = 0; i < n / TN_IQ1_M_LEN; i++) {
        decode_block(&b[i], y + i * TN_IQ1_M_LEN);
    }
}

static const struct tn_ternary_type kind = { .sub_len = 16, .groups_a_shift = 1 };

static void encode_block(const float * x, const float * weights, struct tn_block_iq1_m * b) {
    struct tn_ternary t;
    tn_ternary_encode(&kind, x, weights, &t);
    for (int g = 0; g < 32; g++) {
        const unsigned rest = (unsigned) t.words[g] >> 8 | (unsigned) t.down[g] << 3;
        b->qs[g] = (uint8_t) t.words[g];
        b->qh[g / 2] = (uint8_t) (g % 2 == 0 ? rest : b->qh[g / 2] | rest << 4);
    }
    for (int k = 0; k < 4; k++) {
        unsigned scales = (unsigned) t.d >> (4 * k) << 12;
        for (int s = 0; s < 4; s++) {
            scales |= (unsigned) t.scales[4 * k + s] << (3 * s);
        }
        b->scales[k] = (uint16_t) scales;
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    tn_ternary_prepare();
    struct tn_block_iq1_m * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ1_M_LEN) {
        encode_block(x + i, weights ? weights + i : NULL, b++);
    }
    return true;
}

static bool validate(const void * y, int64_t n_blocks, int64_t * bad) {
    for (*bad = 0; *bad < n_blocks; ++*bad) {
        struct tn_block_iq1_m b;
        memcpy(&b, (const char *) y + *bad * (int64_t) sizeof(b), sizeof(b));
        if ((tn_iq1_m_scale(b.scales) & 0x7c00u) == 0x7c00u) return false;
    }
    return true;
}

const struct tn_type tn_type_iq1_m = {
    .block_size = TN_IQ1_M_LEN,
    .type_size = sizeof(struct tn_block_iq1_m),
    .is_quantized = true,
    .decode = decode,
    .encode = encode,
    .validate = validate,
    .prepare = tn_ternary_prepare,
};
