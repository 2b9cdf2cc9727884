// SPDX-License-Identifier: MIT
// mxfp4: 32 elements of E2M1 with a common power of two.
#include "quant/mxfp4.h"

#include <stddef.h>

#include "quant/code.h"
#include "quant/fp4.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_mxfp4 * b = x;
    for (int64_t i = 0; i < n / TN_MXFP4_LEN; i++, y += TN_MXFP4_LEN) {
        const float d = tn_e8m0_half_to_f32(b[i].e);
        for (int j = 0; j < 16; j++) {
            y[j] = d * (float) tn_fp4_doubled[b[i].qs[j] & 15];
            y[j + 16] = d * (float) tn_fp4_doubled[b[i].qs[j] >> 4];
        }
    }
}

// floor(log2(max)) - 2 with a bias of 127, both of them also those of a float: its exponent bits, less 2.
static uint8_t exponent_of(float max) {
    const int e = (int) (tn_f32_to_bits(max) >> 23) - 2;
    return (uint8_t) (e > 0 ? e : 0);
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_mxfp4 * b = y;
    for (int64_t i = 0; i < n / TN_MXFP4_LEN; i++, x += TN_MXFP4_LEN) {
        b[i].e = exponent_of(tn_code_max_abs(x, TN_MXFP4_LEN));
        const float d = tn_e8m0_half_to_f32(b[i].e);
        for (int j = 0; j < 16; j++) {
            b[i].qs[j] = (uint8_t) (tn_fp4_nearest(x[j], d) | tn_fp4_nearest(x[j + 16], d) << 4);
        }
    }
}

// Exponent 255 decodes here, but the format means NaN by it.
static bool validate(const void * y, int64_t n_blocks, int64_t * bad) {
    const struct tn_block_mxfp4 * b = y;
    for (*bad = 0; *bad < n_blocks; ++*bad) {
        if (b[*bad].e == 255) return false;
    }
    return true;
}

const struct tn_type tn_type_mxfp4 = {
    .block_size = TN_MXFP4_LEN,
    .type_size = sizeof(struct tn_block_mxfp4),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .validate = validate,
};
