// SPDX-License-Identifier: MIT
// q3_K: 256 elements of three bits, a scale of six bits for every 16.
#include "quant/q3_k.h"

#include <stddef.h>

#include "base/half.h"
#include "quant/scale_search.h"
#include "quant/type.h"

static const struct tn_scale_shape shape = {
    .n_subs = 16, .sub_len = 16, .q_min = -4, .q_max = 3, .s_min = -32, .s_max = 31
};

static void pack_scales(const int16_t scales[16], uint8_t packed[12]) {
    for (int k = 0; k < 8; k++) {
        packed[k] = (uint8_t) (((scales[k] + 32) & 15) | ((scales[k + 8] + 32) & 15) << 4);
    }
    for (int k = 0; k < 4; k++) {
        int bits = 0;
        for (int part = 0; part < 4; part++) {
            bits |= (scales[k + 4 * part] + 32) >> 4 << 2 * part;
        }
        packed[8 + k] = (uint8_t) bits;
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q3_k * b = x;
    for (int64_t i = 0; i < n / TN_Q3_K_LEN; i++) {
        const float d = tn_f16_to_f32(b[i].d);
        int8_t scales[16];
        tn_q3_k_unpack_scales(b[i].scales, scales);
        for (int k = 0; k < 16; k++, y += 16) {
            const uint8_t * qs = b[i].qs + 32 * (k / 8) + 16 * (k % 2);
            const uint8_t * hmask = b[i].hmask + 16 * (k % 2);
            const float scale = d * (float) scales[k];
            for (int j = 0; j < 16; j++) {
                const int low = qs[j] >> 2 * (k % 8 / 2) & 3;
                const int high = hmask[j] >> k / 2 & 1;
                y[j] = scale * (float) ((low | high << 2) - 4);
            }
        }
    }
}

static void pack(const struct tn_scale_fit * fit, struct tn_block_q3_k * b) {
    b->d = fit->d;
    pack_scales(fit->s, b->scales);
    for (int j = 0; j < 32; j++) {
        int high = 0;
        for (int k = 0; k < 8; k++) {
            high |= (fit->q[32 * k + j] + 4) >> 2 << k;
        }
        b->hmask[j] = (uint8_t) high;
    }
    for (int j = 0; j < 64; j++) {
        const int8_t * q = fit->q + 128 * (j / 32) + j % 32;
        b->qs[j] = (uint8_t) ((q[0] & 3) | (q[32] & 3) << 2 | (q[64] & 3) << 4 | (q[96] & 3) << 6);
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    struct tn_block_q3_k * b = y;
    for (int64_t i = 0; i < n; i += TN_Q3_K_LEN, b++) {
        struct tn_scale_fit fit;
        tn_scale_search(&shape, x + i, weights ? weights + i : NULL, &fit);
        pack(&fit, b);
    }
    return true;
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    encode(x, y, n, NULL);
}

const struct tn_type tn_type_q3_k = {
    .block_size = TN_Q3_K_LEN,
    .type_size = sizeof(struct tn_block_q3_k),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_q3_k, d),
    .n_halves = 1,
};
