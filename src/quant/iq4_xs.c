// SPDX-License-Identifier: MIT
// iq4_xs: as iq4_nl, with eight scales of six bits for 256 elements.
#include "quant/iq4_xs.h"

#include "quant/block_scale.h"
#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/type.h"
#include "quant/uneven.h"

static void decode_block(const struct tn_block_iq4_xs * restrict b, float * restrict y) {
    const float d = tn_f16_to_f32(b->d);
    for (int s = 0; s < 8; s++, y += 32) {
        const int low = b->scales_low[s / 2] >> (4 * (s % 2)) & 15;
        const int high = b->scales_high >> (2 * s) & 3;
        tn_codebook_decode_nibbles(b->qs + 16 * s, d * (float) ((low | high << 4) - 32), y);
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq4_xs * b = x;
    for (int64_t i = 0; i < n / TN_IQ4_XS_LEN; i++) {
        decode_block(&b[i], y + i * TN_IQ4_XS_LEN);
    }
}

static struct tn_block_scale_fit fit(void * self, int s, float scale) {
    const struct tn_block_input * in = self;
    return tn_uneven_fit(in->x + 32 * s, in->w + 32 * s, scale);
}

static void encode_block(const float * x, const float * weights, struct tn_block_iq4_xs * b) {
    struct tn_block_input in;
    tn_block_input_set(&in, x, weights, TN_IQ4_XS_LEN, 32);
    *b = (struct tn_block_iq4_xs){ .d = 0 };
    if (in.is_zero) return;
    const struct tn_block_scale job = {
        .in = &in,
        .n_subs = 8,
        .n_codes = 64,
        .first = -32.0f,
        .step = 1.0f,
        .largest = 127.0f,
        .reach = 1.5f,
        .rung = 1.06f,
        .fit = fit,
        .self = &in,
    };
    uint8_t codes[TN_BLOCK_SCALE_SUBS];
    b->d = tn_block_scale_choose(&job, codes);
    const float d = tn_f16_to_f32(b->d) / in.unit;
    for (int s = 0; s < 8; s++) {
        tn_uneven_codes(in.x + 32 * s, d * (float) (codes[s] - 32), b->qs + 16 * s);
        b->scales_low[s / 2] |= (uint8_t) ((codes[s] & 15) << (4 * (s % 2)));
        b->scales_high |= (uint16_t) (codes[s] >> 4 << (2 * s));
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    tn_uneven_prepare();
    struct tn_block_iq4_xs * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ4_XS_LEN) {
        encode_block(x + i, weights ? weights + i : NULL, b++);
    }
    return true;
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    encode(x, y, n, NULL);
}

const struct tn_type tn_type_iq4_xs = {
    .block_size = TN_IQ4_XS_LEN,
    .type_size = sizeof(struct tn_block_iq4_xs),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_iq4_xs, d),
    .n_halves = 1,
    .prepare = tn_uneven_prepare,
};
