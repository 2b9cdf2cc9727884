// SPDX-License-Identifier: MIT
// iq4_nl: 32 elements, four bits each number one of 16 uneven values, one scale.
#include "quant/iq4_nl.h"

#include "quant/code.h"
#include "quant/codebook_tables.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_iq4_nl * b = x;
    for (int64_t i = 0; i < n / TN_IQ4_NL_LEN; i++, y += TN_IQ4_NL_LEN) {
        tn_codebook_decode_nibbles(b[i].qs, tn_f16_to_f32(b[i].d), y);
    }
}

const struct tn_type tn_type_iq4_nl = {
    .block_size = TN_IQ4_NL_LEN,
    .type_size = sizeof(struct tn_block_iq4_nl),
    .is_quantized = true,
    .decode = decode,
    .half_offset = offsetof(struct tn_block_iq4_nl, d),
    .n_halves = 1,
};
