// SPDX-License-Identifier: MIT
// q8_K: activations for products with types of 256 elements.
#include "quant/q8_k.h"

#include <stddef.h>
#include <string.h>

#include "quant/code.h"
#include "quant/type.h"

static void decode(const void * restrict x, float * restrict y, int64_t n) {
    const struct tn_block_q8_k * b = x;
    for (int64_t i = 0; i < n / TN_Q8_K_LEN; i++, y += TN_Q8_K_LEN) {
        for (int j = 0; j < TN_Q8_K_LEN; j++) {
            y[j] = b[i].d * (float) b[i].qs[j];
        }
    }
}

// Codes per unit: what makes the extreme element -127, within what a float can hold.
static float codes_per_unit(float extreme) {
    return extreme == 0.0f ? 0.0f : tn_code_clamp(-127.0f / extreme, -FLT_MAX, FLT_MAX);
}

// The reverse, a little smaller where 127 of it would be infinite.
static float unit(float per_unit) {
    if (per_unit == 0.0f) return 0.0f;
    return tn_code_clamp(1.0f / per_unit, -FLT_MAX / 128.0f, FLT_MAX / 128.0f);
}

static void encode_block(const float * restrict x, struct tn_block_q8_k * restrict b) {
    const float per_unit = codes_per_unit(tn_code_extreme(x, TN_Q8_K_LEN));
    b->d = unit(per_unit);
    for (int j = 0; j < TN_Q8_K_LEN; j++) {
        b->qs[j] = (int8_t) tn_code_nearest(tn_code_clamp(x[j] * per_unit, -128.0f, 127.0f));
    }
    for (int k = 0; k < 16; k++) {
        int sum = 0;
        for (int j = 0; j < 16; j++) {
            sum += b->qs[16 * k + j];
        }
        b->sums[k] = (int16_t) sum;
    }
}

static void encode_ref(const float * restrict x, void * restrict y, int64_t n) {
    struct tn_block_q8_k * b = y;
    for (int64_t i = 0; i < n / TN_Q8_K_LEN; i++) {
        encode_block(x + i * TN_Q8_K_LEN, &b[i]);
    }
}

static bool validate(const void * y, int64_t n_blocks, int64_t * bad) {
    for (*bad = 0; *bad < n_blocks; ++*bad) {
        float d;
        memcpy(&d, (const char *) y + *bad * (int64_t) sizeof(struct tn_block_q8_k), sizeof(d));
        if (!isfinite(d)) return false;
    }
    return true;
}

const struct tn_type tn_type_q8_k = {
    .block_size = TN_Q8_K_LEN,
    .type_size = sizeof(struct tn_block_q8_k),
    .is_quantized = true,
    .no_chunk = true,
    .hidden_decode = true,
    .hidden_encode = true,
    .decode = decode,
    .encode_ref = encode_ref,
    .validate = validate,
};
