// SPDX-License-Identifier: MIT
// iq4_nl: 32 elements, four bits each number one of 16 uneven values, one scale.
#include "quant/iq4_nl.h"

#include "quant/block_input.h"
#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/type.h"
#include "quant/uneven.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq4_nl * b = x;
    for (int64_t i = 0; i < n / TN_IQ4_NL_LEN; i++, y += TN_IQ4_NL_LEN) {
        tn_codebook_decode_nibbles(b[i].qs, tn_f16_to_f32(b[i].d), y);
    }
}

// Ratio of the scales that are tried. Encoding while computing, as for caches, shall be quick.
static const float fine = 1.035f;
static const float coarse = 1.1f;

struct choice {
    float scale; // least squares
    float gain;  // over zeros
};

static void consider(struct choice * best, struct tn_block_scale_fit f) {
    if (f.q > 0.0f && f.p * f.p > best->gain * f.q) *best = (struct choice){ f.p / f.q, f.p * f.p / f.q };
}

static float choose_scale(const struct tn_block_input * in, float ratio) {
    const struct tn_block_input_stats stats = tn_block_input_stats(in, 0, TN_IQ4_NL_LEN);
    const float end = 1.5f * stats.largest;
    struct choice best = { 0.0f, 0.0f };
    float reach = stats.rms;
    for (int i = 0; i < 100 && reach < end; i++, reach *= ratio) {
        consider(&best, tn_uneven_fit(in->x, in->w, reach / 127.0f));
        consider(&best, tn_uneven_fit(in->x, in->w, -reach / 127.0f));
    }
    for (int i = 0; i < 3; i++) {
        consider(&best, tn_uneven_fit(in->x, in->w, best.scale));
    }
    return best.scale;
}

// The half near `scale` that is best; among subnormal ones that need not be the nearest.
static uint16_t choose_half(const struct tn_block_input * in, float scale) {
    const uint16_t near = tn_f16_scale(scale * in->unit);
    uint16_t best = near;
    float least = 0.0f;
    for (int i = -1; i <= 1; i++) {
        const int magnitude = (near & 0x7fff) + i;
        if (magnitude < 0 || magnitude > 0x7bff) continue;
        const uint16_t half = (uint16_t) ((near & 0x8000) | magnitude);
        const float d = tn_f16_to_f32(half) / in->unit;
        const struct tn_block_scale_fit f = tn_uneven_fit(in->x, in->w, d);
        const float cost = d * (d * f.q - 2.0f * f.p);
        if (!(cost < least)) continue;
        least = cost;
        best = half;
    }
    return best;
}

static void encode_block(const float * x, const float * weights, float ratio, struct tn_block_iq4_nl * b) {
    struct tn_block_input in;
    tn_block_input_set(&in, x, weights, TN_IQ4_NL_LEN, TN_IQ4_NL_LEN);
    b->d = in.is_zero ? 0 : choose_half(&in, choose_scale(&in, ratio));
    tn_uneven_codes(in.x, tn_f16_to_f32(b->d) / in.unit, b->qs);
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    tn_uneven_prepare();
    struct tn_block_iq4_nl * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ4_NL_LEN) {
        encode_block(x + i, weights ? weights + i : NULL, fine, b++);
    }
    return true;
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    tn_uneven_prepare();
    struct tn_block_iq4_nl * b = y;
    for (int64_t i = 0; i < n; i += TN_IQ4_NL_LEN) {
        encode_block(x + i, NULL, coarse, b++);
    }
}

const struct tn_type tn_type_iq4_nl = {
    .block_size = TN_IQ4_NL_LEN,
    .type_size = sizeof(struct tn_block_iq4_nl),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_iq4_nl, d),
    .n_halves = 1,
    .prepare = tn_uneven_prepare,
};
