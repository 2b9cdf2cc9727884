// SPDX-License-Identifier: MIT
// Types without blocks: floats, integers, and the public conversions between f32, f16 and bf16.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "quant/type.h"

float ggml_fp16_to_fp32(ggml_fp16_t x) {
    return tn_f16_to_f32(x);
}

ggml_fp16_t ggml_fp32_to_fp16(float x) {
    return tn_f16_from_f32(x);
}

float ggml_bf16_to_fp32(ggml_bf16_t x) {
    return tn_bf16_to_f32(x.bits);
}

ggml_bf16_t ggml_fp32_to_bf16(float x) {
    return (ggml_bf16_t){ tn_bf16_from_f32(x) };
}

void ggml_fp16_to_fp32_row(const ggml_fp16_t * x, float * y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = tn_f16_to_f32(x[i]);
    }
}

void ggml_fp32_to_fp16_row(const float * x, ggml_fp16_t * y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = tn_f16_from_f32(x[i]);
    }
}

void ggml_bf16_to_fp32_row(const ggml_bf16_t * x, float * y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i] = tn_bf16_to_f32(x[i].bits);
    }
}

void ggml_fp32_to_bf16_row(const float * x, ggml_bf16_t * y, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        y[i].bits = tn_bf16_from_f32(x[i]);
    }
}

void ggml_fp32_to_bf16_row_ref(const float * x, ggml_bf16_t * y, int64_t n) {
    ggml_fp32_to_bf16_row(x, y, n);
}

static void decode_f32(const void * restrict x, float * restrict y, int64_t n) {
    if (n > 0) memcpy(y, x, (size_t) n * sizeof(float));
}

static void encode_f32(const float * restrict x, void * restrict y, int64_t n) {
    if (n > 0) memcpy(y, x, (size_t) n * sizeof(float));
}

static void decode_f16(const void * restrict x, float * restrict y, int64_t n) {
    ggml_fp16_to_fp32_row(x, y, n);
}

static void encode_f16(const float * restrict x, void * restrict y, int64_t n) {
    ggml_fp32_to_fp16_row(x, y, n);
}

static void decode_bf16(const void * restrict x, float * restrict y, int64_t n) {
    ggml_bf16_to_fp32_row(x, y, n);
}

static void encode_bf16(const float * restrict x, void * restrict y, int64_t n) {
    ggml_fp32_to_bf16_row(x, y, n);
}

static void decode_f64(const void * restrict x, float * restrict y, int64_t n) {
    const double * in = x;
    for (int64_t i = 0; i < n; i++) {
        y[i] = (float) in[i];
    }
}

static void encode_f64(const float * restrict x, void * restrict y, int64_t n) {
    double * out = y;
    for (int64_t i = 0; i < n; i++) {
        out[i] = x[i];
    }
}

static void decode_i32(const void * restrict x, float * restrict y, int64_t n) {
    const int32_t * in = x;
    for (int64_t i = 0; i < n; i++) {
        y[i] = (float) in[i];
    }
}

// Truncates; what does not fit saturates, a NaN is 0.
static void encode_i32(const float * restrict x, void * restrict y, int64_t n) {
    int32_t * out = y;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] >= 0x1p31f) {
            out[i] = INT32_MAX;
        } else if (x[i] >= -0x1p31f) {
            out[i] = (int32_t) x[i];
        } else {
            out[i] = isnan(x[i]) ? 0 : INT32_MIN;
        }
    }
}

static bool validate_f32(const void * y, int64_t n, int64_t * bad) {
    for (*bad = 0; *bad < n; ++*bad) {
        uint32_t bits;
        memcpy(&bits, (const char *) y + *bad * (int64_t) sizeof(bits), sizeof(bits));
        if ((bits & 0x7f800000u) == 0x7f800000u) return false;
    }
    return true;
}

static bool validate_f64(const void * y, int64_t n, int64_t * bad) {
    for (*bad = 0; *bad < n; ++*bad) {
        uint64_t bits;
        memcpy(&bits, (const char *) y + *bad * (int64_t) sizeof(bits), sizeof(bits));
        if ((bits & 0x7ff0000000000000u) == 0x7ff0000000000000u) return false;
    }
    return true;
}

static bool validate_bf16(const void * y, int64_t n, int64_t * bad) {
    for (*bad = 0; *bad < n; ++*bad) {
        uint16_t bits;
        memcpy(&bits, (const char *) y + *bad * (int64_t) sizeof(bits), sizeof(bits));
        if ((bits & 0x7f80u) == 0x7f80u) return false;
    }
    return true;
}

const struct tn_type tn_type_f32 = {
    .block_size = 1,
    .type_size = 4,
    .hidden_decode = true,
    .hidden_encode = true,
    .decode = decode_f32,
    .encode_ref = encode_f32,
    .validate = validate_f32,
};

const struct tn_type tn_type_f16 = {
    .block_size = 1,
    .type_size = 2,
    .decode = decode_f16,
    .encode_ref = encode_f16,
    .n_halves = 1,
};

const struct tn_type tn_type_bf16 = {
    .block_size = 1,
    .type_size = 2,
    .decode = decode_bf16,
    .encode_ref = encode_bf16,
    .validate = validate_bf16,
};

const struct tn_type tn_type_f64 = {
    .block_size = 1,
    .type_size = 8,
    .no_chunk = true,
    .hidden_decode = true,
    .hidden_encode = true,
    .decode = decode_f64,
    .encode_ref = encode_f64,
    .validate = validate_f64,
};

const struct tn_type tn_type_i32 = {
    .block_size = 1,
    .type_size = 4,
    .no_chunk = true,
    .hidden_decode = true,
    .hidden_encode = true,
    .decode = decode_i32,
    .encode_ref = encode_i32,
};

const struct tn_type tn_type_i8 = { .block_size = 1, .type_size = 1, .no_chunk = true };
const struct tn_type tn_type_i16 = { .block_size = 1, .type_size = 2, .no_chunk = true };
const struct tn_type tn_type_i64 = { .block_size = 1, .type_size = 8, .no_chunk = true };
