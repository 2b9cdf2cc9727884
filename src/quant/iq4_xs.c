// SPDX-License-Identifier: MIT
// iq4_xs: as iq4_nl, with eight scales of six bits for 256 elements.
#include "quant/iq4_xs.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/type.h"

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

const struct tn_type tn_type_iq4_xs = {
    .block_size = TN_IQ4_XS_LEN,
    .type_size = sizeof(struct tn_block_iq4_xs),
    .is_quantized = true,
    .decode = decode,
    .half_offset = offsetof(struct tn_block_iq4_xs, d),
    .n_halves = 1,
};
