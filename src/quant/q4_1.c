// SPDX-License-Identifier: MIT
// q4_1: 32 elements, four bits each, one scale and one minimum.
#include "quant/q4_1.h"

#include "quant/code.h"
#include "quant/scale_search.h"
#include "quant/type.h"

static const struct tn_scale_shape shape = {
    .n_subs = 1, .sub_len = 32, .q_max = 15, .s_min = 1, .s_max = 1, .m_min = 1, .m_max = 1
};

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q4_1 * b = x;
    for (int64_t i = 0; i < n / TN_Q4_1_LEN; i++, y += TN_Q4_1_LEN) {
        const float d = tn_f16_to_f32(b[i].d);
        const float m = tn_f16_to_f32(b[i].m);
        for (int j = 0; j < 16; j++) {
            y[j] = d * (float) (b[i].qs[j] & 15) + m;
            y[j + 16] = d * (float) (b[i].qs[j] >> 4) + m;
        }
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_q4_1 * b = y;
    for (int64_t i = 0; i < n / TN_Q4_1_LEN; i++, x += TN_Q4_1_LEN) {
        const struct tn_code_range r = tn_code_range(x, TN_Q4_1_LEN);
        const float m = tn_code_saturate(r.min);
        const float d = tn_code_saturate((r.max - m) / 15.0f);
        const float inverse = tn_code_inverse(d);
        b[i].d = tn_f16_from_f32(d);
        b[i].m = tn_f16_from_f32(m);
        for (int j = 0; j < 16; j++) {
            const int low = tn_code_trunc((x[j] - m) * inverse + 0.5f, 15.0f);
            const int high = tn_code_trunc((x[j + 16] - m) * inverse + 0.5f, 15.0f);
            b[i].qs[j] = (uint8_t) (low | high << 4);
        }
    }
}

static bool encode(const float * x, void * y, int64_t n, const float * weights) {
    struct tn_block_q4_1 * b = y;
    if (!weights) {
        encode_ref(x, y, n);
        return true;
    }
    for (int64_t i = 0; i < n; i += TN_Q4_1_LEN, b++) {
        struct tn_scale_fit fit;
        tn_scale_search(&shape, x + i, weights + i, &fit);
        b->d = fit.d;
        b->m = fit.dmin ^ 0x8000; // added, not subtracted
        for (int j = 0; j < 16; j++) {
            b->qs[j] = (uint8_t) (fit.q[j] | fit.q[j + 16] << 4);
        }
    }
    return true;
}

const struct tn_type tn_type_q4_1 = {
    .block_size = TN_Q4_1_LEN,
    .type_size = sizeof(struct tn_block_q4_1),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .encode = encode,
    .half_offset = offsetof(struct tn_block_q4_1, d),
    .n_halves = 2,
};
