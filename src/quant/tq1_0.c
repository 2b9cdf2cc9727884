// SPDX-License-Identifier: MIT
// tq1_0: 256 elements, each -1, 0 or 1 times one scale, five base-3 digits in a byte.
#include "quant/tq1_0.h"

#include "quant/code.h"
#include "quant/type.h"

// n_bytes bytes that hold n_digits digits each: digit k of byte j is element k * n_bytes + j.
struct run {
    int first_byte;
    int n_bytes;
    int n_digits;
};

static const struct run runs[3] = { { 0, 32, 5 }, { 32, 16, 5 }, { 48, 4, 4 } };

static void decode_run(const uint8_t * bytes, const struct run * run, float d, float * y) {
    for (int k = 0, power = 1; k < run->n_digits; k++, power *= 3, y += run->n_bytes) {
        for (int j = 0; j < run->n_bytes; j++) {
            y[j] = d * (float) tn_tq1_0_digit(bytes[j], power);
        }
    }
}

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_tq1_0 * b = x;
    for (int64_t i = 0; i < n / TN_TQ1_0_LEN; i++) {
        const float d = tn_f16_to_f32(b[i].d);
        for (int r = 0; r < 3; r++) {
            decode_run((const uint8_t *) &b[i] + runs[r].first_byte, &runs[r], d, y);
            y += runs[r].n_bytes * runs[r].n_digits;
        }
    }
}

// Missing digits count as zeros.
static uint8_t pack(const float * x, const struct run * run, float unit) {
    int value = 0;
    for (int k = 0; k < 5; k++) {
        value *= 3;
        if (k < run->n_digits) value += tn_code_round(x[k * run->n_bytes] / unit, -1, 1) + 1;
    }
    return (uint8_t) ((value * 256 + 242) / 243);
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_tq1_0 * b = y;
    for (int64_t i = 0; i < n / TN_TQ1_0_LEN; i++) {
        const float d = tn_code_saturate(tn_code_max_abs(x, TN_TQ1_0_LEN));
        const float unit = d > 0.0f ? d : 1.0f;
        b[i].d = tn_f16_from_f32(d);
        for (int r = 0; r < 3; r++) {
            uint8_t * bytes = (uint8_t *) &b[i] + runs[r].first_byte;
            for (int j = 0; j < runs[r].n_bytes; j++) {
                bytes[j] = pack(x + j, &runs[r], unit);
            }
            x += runs[r].n_bytes * runs[r].n_digits;
        }
    }
}

const struct tn_type tn_type_tq1_0 = {
    .block_size = TN_TQ1_0_LEN,
    .type_size = sizeof(struct tn_block_tq1_0),
    .is_quantized = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .half_offset = offsetof(struct tn_block_tq1_0, d),
    .n_halves = 1,
};
