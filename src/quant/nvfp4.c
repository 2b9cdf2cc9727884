// SPDX-License-Identifier: MIT
// nvfp4: four groups of 16 elements of E2M1, with a scale in E4M3 for each group.
#include "quant/nvfp4.h"

#include <stddef.h>
#include <string.h>

#include "quant/code.h"
#include "quant/fp4.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_nvfp4 * b = x;
    for (int64_t i = 0; i < n / TN_NVFP4_LEN; i++) {
        for (int g = 0; g < 4; g++, y += 16) {
            const float d = tn_ue4m3_half_to_f32(b[i].scales[g]);
            for (int j = 0; j < 8; j++) {
                y[j] = d * (float) tn_fp4_doubled[b[i].qs[g][j] & 15];
                y[j + 8] = d * (float) tn_fp4_doubled[b[i].qs[g][j] >> 4];
            }
        }
    }
}

// Unsigned E4M3, the mantissa rounded half up, at most 448.
static uint8_t e4m3_from_f32(float v) {
    if (!(v < 448.0f)) return 0x7e;
    if (v < 0x1p-6f) return (uint8_t) (v * 0x1p9f + 0.5f); // subnormal; 8 is the smallest normal
    const uint32_t code = (tn_f32_to_bits(v) - 0x3c000000u + 0x80000u) >> 20;
    return (uint8_t) (code < 0x7e ? code : 0x7e);
}

static void encode_group(const float * restrict x, uint8_t * restrict scale, uint8_t * restrict qs) {
    *scale = e4m3_from_f32(tn_code_max_abs(x, 16) / 6.0f);
    const float d = tn_ue4m3_half_to_f32(*scale);
    if (d == 0.0f) {
        memset(qs, 0, 8);
        return;
    }
    for (int j = 0; j < 8; j++) {
        qs[j] = (uint8_t) (tn_fp4_nearest(x[j], d) | tn_fp4_nearest(x[j + 8], d) << 4);
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_nvfp4 * b = y;
    for (int64_t i = 0; i < n / TN_NVFP4_LEN; i++) {
        for (int g = 0; g < 4; g++, x += 16) {
            encode_group(x, &b[i].scales[g], b[i].qs[g]);
        }
    }
}

const struct tn_type tn_type_nvfp4 = {
    .block_size = TN_NVFP4_LEN,
    .type_size = sizeof(struct tn_block_nvfp4),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
};
